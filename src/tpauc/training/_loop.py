"""The training loop: epochs of steps, validation, checkpoints, and a poll about twice per second.

Everything that decides how a run goes on is in its `tpauc.training._state.RunState`. A loop that loads the state of
another goes on, bit for bit on a CPU, as if that one had never stopped. How often it polls, saves or is interrupted
changes no number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tpauc._files import write_atomically
from tpauc.samplers import HardExampleSampler
from tpauc.training._monitor import NonFiniteError, ProgressLine, RunTimer, StepRecorder, TensorBoardLog
from tpauc.training._processes import StopSignals, largest_over_processes, on_first_process
from tpauc.training._state import RunState, Task
from tpauc.training.checkpoint import RunFolder
from tpauc.training.data import Examples, on_device
from tpauc.training.evaluation import measure, rank_of_epoch, scores_over_processes
from tpauc.training.exceptions import CheckpointError, TrainingDivergedError, interrupted

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class TrainingLoop:
    """A run, in one of the processes that share it. Call :meth:`run`; ``state`` then holds the result.

    The Fabric is launched; ``stop`` tells whether the run is asked to stop.
    """

    def __init__(self, fabric: Fabric, task: Task, stop: StopSignals) -> None:
        self.fabric, self.task, self.config, self.stop = fabric, task, task.config, stop
        self.several = fabric.world_size > 1
        self.state = RunState(fabric, task)
        # A gradient scaler ("16-mixed") answers infinite gradients by skipping the step: they are no fault there.
        scaled = getattr(fabric.strategy.precision, "scaler", None) is not None
        self.recorder = StepRecorder([] if scaled else self.state.named_parameters())
        self.folder = None if self.config.out is None else RunFolder(self.config.out)
        self.timer = RunTimer(self.config.checkpoint_seconds, self.config.checkpoint_steps)
        self.line: ProgressLine | None = None
        self.tensorboard: TensorBoardLog | None = None
        self.time_is_up = False
        self.saved_at: tuple[int, int] | None = None  # epoch and step of the last checkpoint

    # ------------------------------------------------------------------------------------------------- the whole run

    def run(self) -> None:
        """Train until the last epoch, until patience ends, or until the time is up."""
        try:
            self.start_or_resume()
            self.poll()
            # Fabric casts what a model returns to torch's default type: "64-true" would otherwise end with the model.
            with self.fabric.strategy.precision.tensor_init_context():
                while not (self.time_is_up or self.state.progress.end_reason(self.config)):
                    self.train_epoch()
            self.save()
            self.fabric.barrier()
        finally:
            self.close()

    # ------------------------------------------------------------------------------------------------------ an epoch

    def train_epoch(self) -> None:
        """Train the rest of the current epoch, then validate; return early if the time is up."""
        state, progress = self.state, self.state.progress
        self.begin_epoch()
        for inputs, labels in self.batches():
            state.optimizer.zero_grad()
            loss = state.loss(state.model(inputs), labels)
            self.fabric.backward(loss)
            self.recorder.record(loss)
            state.optimizer.step()
            progress.step += 1
            progress.total_steps += 1
            if progress.total_steps >= self.timer.next_poll or (self.stop.requested and not self.several):
                self.poll()
                if self.time_is_up:
                    return
        self.end_epoch()
        self.poll(epoch_ended=True)

    def begin_epoch(self) -> None:
        """Set the parts to the current epoch, and select the hard examples if the settings ask for them."""
        self.state.begin_epoch()
        sampler, warm = self.state.sampler, self.state.progress.epoch >= self.config.warmup_epochs
        if isinstance(sampler, HardExampleSampler) and warm and not sampler.resuming:
            sampler.update(self.scores(self.task.train, "training"))

    def batches(self) -> Iterator[tuple[Any, torch.Tensor]]:
        """Yield the remaining batches of the epoch for this process, on the device and augmented."""
        transform, device, config = self.task.transform, self.fabric.device, self.config
        seed = (config.seed, self.state.progress.epoch, self.fabric.global_rank)
        for inputs, labels in self.task.train.batches(self.state.sampler, workers=config.workers, seed=seed):
            moved = on_device(inputs, device)
            if transform is not None and (moved := transform(moved, self.state.generator)) is None:
                raise TypeError("transform must return the changed inputs, got None")
            yield moved, labels.to(device)

    def end_epoch(self) -> None:
        """Validate, keep the model if it is the best so far, and advance to the next epoch."""
        self.collect_losses()
        progress, on_epoch = self.state.progress, self.task.on_epoch
        scores, metrics = self.validate()
        row = {
            "epoch": progress.epoch + 1,
            "step": progress.total_steps,
            "loss": progress.loss_sum / progress.step,
            "lr": self.state.optimizer.param_groups[0]["lr"],
            **metrics,
            "seconds": self.timer.seconds(),
        }
        best = progress.best
        if metrics and (best is None or rank_of_epoch(row) > rank_of_epoch(best["metrics"])):
            progress.best = {"epoch": row["epoch"], "metrics": row, "model": self.state.weights()}
        if on_epoch is not None:
            on_epoch(progress.epoch + 1, self.state.bare_model, scores)
        progress.history.append(row)
        progress.epoch, progress.step, progress.loss_sum = progress.epoch + 1, 0, 0.0
        if self.line is not None:
            best_row = None if progress.best is None else progress.best["metrics"]
            self.line.epoch(row, best_row, *self.steps_left_and_done())

    def validate(self) -> tuple[torch.Tensor | None, dict[str, float]]:
        """Return scores, metrics and the three risks on the validation data, if there are any."""
        validation = self.task.validation
        if validation is None:
            return None, {}
        scores = self.scores(validation, "validation")
        return scores, measure(scores, validation.positive, self.task.loss, self.config.region)

    def scores(self, examples: Examples, name: str) -> torch.Tensor:
        """Return the scores of all rows, or raise if one is not finite."""
        scores = scores_over_processes(self.fabric, self.task.model, examples, self.config)
        if not scores.isfinite().all():
            raise self.diverged(self.state.progress.step, f"scores of the {name} data are NaN or infinite")
        return scores

    # --------------------------------------------------------------------------------------------------------- polls

    def poll(self, *, epoch_ended: bool = False) -> None:
        """Check, between two steps, for NaN, for the time limit, for a checkpoint that is due, and for a signal."""
        losses = self.collect_losses()
        steps, limit = self.state.progress.total_steps, self.config.time_limit
        signal_number, time_is_up, save_is_due, seconds_per_step = largest_over_processes(
            self.fabric,
            [
                self.stop.requested,
                limit is not None and self.timer.seconds() >= limit,
                self.timer.save_is_due(steps, epoch_ended=epoch_ended),
                self.timer.seconds_per_step(steps),
            ],
        )
        self.time_is_up = bool(time_is_up)
        if signal_number or save_is_due:
            self.save()
        if signal_number:
            progress = self.state.progress
            where = f"in epoch {progress.epoch + 1} after {progress.step} of {len(self.state.sampler)} steps"
            raise interrupted(int(signal_number), where, self.last_checkpoint())
        self.timer.plan_next_poll(steps, seconds_per_step)
        if losses:
            self.show(sum(losses) / len(losses))

    def collect_losses(self) -> list[float]:
        """Add up the losses since the last poll, or raise if one of them or a gradient is not finite."""
        progress = self.state.progress
        try:
            losses = self.recorder.collect(several_processes=self.several)
        except NonFiniteError as found:
            raise self.diverged(progress.step - found.steps_ago, found.cause) from None
        # One by one, so that the sum does not depend on how often it is taken.
        for loss in losses:
            progress.loss_sum += loss
        return losses

    def diverged(self, step: int, cause: str) -> TrainingDivergedError:
        """Return the error to raise; step 0 is the last step of the epoch before, if there is one."""
        epoch, last_step = self.state.progress.epoch, len(self.state.sampler)
        place = (epoch + 1, step) if step or not epoch else (epoch, last_step)
        return TrainingDivergedError(*place, cause, self.last_checkpoint())

    def show(self, loss: float) -> None:
        """Redraw the progress line, and log the loss."""
        progress = self.state.progress
        if self.line is not None:
            of_epoch = (progress.epoch + 1, progress.step, len(self.state.sampler))
            self.line.step(*of_epoch, loss, *self.steps_left_and_done())
        if self.tensorboard is not None:
            self.tensorboard.step(progress.total_steps, loss)

    def steps_left_and_done(self) -> tuple[int, int]:
        """Return the steps left until the last epoch ends, and the steps done in this session."""
        progress = self.state.progress
        left = (self.config.epochs - progress.epoch) * len(self.state.sampler) - progress.step
        return left, progress.total_steps - self.timer.first_step

    # --------------------------------------------------------------------------------------------------- checkpoints

    def start_or_resume(self) -> None:
        """Lock the folder, resume from the checkpoint in it, and open the logs."""
        config, folder = self.config, self.folder
        if folder is not None:
            on_first_process(self.fabric, folder.claim)
            saved = on_first_process(self.fabric, folder.load)
            if saved is not None:
                self.resume(saved, folder.last)
                # The session before may have ended between the checkpoint and these files.
                on_first_process(self.fabric, lambda: folder.write_derived(saved))
            on_first_process(self.fabric, lambda: write_atomically(folder.config, config.to_json().encode()))
        progress = self.state.progress
        if self.fabric.is_global_zero and config.progress:
            time_left = None if config.time_limit is None else config.time_limit - progress.seconds
            self.line = ProgressLine(config.epochs, time_left)
        if self.fabric.is_global_zero and config.tensorboard and folder is not None:
            first_row = len(progress.history)
            self.tensorboard = TensorBoardLog(folder.tensorboard, first_step=progress.total_steps, first_row=first_row)

    def resume(self, saved: dict[str, Any], path: Path) -> None:
        """Restore the state ``saved``, found at ``path``."""
        if self.config.resume == "never":
            raise FileExistsError(
                f"resume='never', but there is a checkpoint in {path}; choose another out, or remove it"
            )
        try:
            self.state.load_state_dict(saved, path)
        except (KeyError, RuntimeError) as error:
            raise CheckpointError(f"{path} does not fit the model, the loss or this version: {error}") from error
        progress = self.state.progress
        self.saved_at = (progress.epoch, progress.step)
        self.timer = RunTimer(
            self.config.checkpoint_seconds,
            self.config.checkpoint_steps,
            seconds=progress.seconds,
            steps=progress.total_steps,
        )

    def save(self) -> None:
        """Write a checkpoint if there is anything new; raise instead if its weights are not finite."""
        progress, folder = self.state.progress, self.folder
        if folder is None or self.saved_at == (progress.epoch, progress.step):
            return
        if (name := self.state.not_finite()) is not None:
            raise self.diverged(progress.step, f"{name} has NaN or infinite values")
        begun = time.monotonic()
        progress.seconds = self.timer.seconds()
        contents = self.state.state_dict()
        on_first_process(self.fabric, lambda: folder.save(contents))
        if self.tensorboard is not None:
            self.tensorboard.epochs(progress.history)
        self.saved_at = (progress.epoch, progress.step)
        self.timer.saved(progress.total_steps, cost=time.monotonic() - begun)

    def last_checkpoint(self) -> Path | None:
        """Return the path of the last checkpoint, None if none was written."""
        return None if self.folder is None or self.saved_at is None else self.folder.last

    def close(self) -> None:
        """Remove the progress line, close the logs, and unlock the folder."""
        if self.line is not None:
            self.line.close()
        if self.tensorboard is not None:
            self.tensorboard.close()
        if self.folder is not None:
            self.folder.release()
