"""The training loop: epochs of steps, validation, checkpoints, and a look around about twice a second.

Everything that decides how a run goes on is in its `tpauc.training.run_state.RunState`: a loop that is given the state
of another goes on, bit for bit on a CPU, as if that one had never stopped. How often it looks around, saves or is
interrupted changes no number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tpauc._files import write_atomically
from tpauc.samplers import HardExampleSampler
from tpauc.training.checkpoints import CheckpointError
from tpauc.training.data import on_device
from tpauc.training.interruption import StopSignals, interrupted
from tpauc.training.launching import largest_over_processes, on_first_process
from tpauc.training.log import ProgressLine, TensorBoardLog
from tpauc.training.pacing import Pace
from tpauc.training.run_folder import RunFolder
from tpauc.training.run_state import RunState, Task, why_ended
from tpauc.training.scoring import Scorer, measure
from tpauc.training.vital_signs import NonFiniteError, TrainingDivergedError, VitalSigns

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class TrainingLoop:
    """A run, in one of the processes that share it. Call :meth:`run`; ``state`` then holds what came of it.

    Parameters
    ----------
    fabric : Fabric
        Launched.
    task : Task
        What to train, on what, and how.
    stop : StopSignals
        Says when the run is asked to stop.
    """

    def __init__(self, fabric: Fabric, task: Task, stop: StopSignals) -> None:
        self.fabric, self.task, self.config, self.stop = fabric, task, task.config, stop
        self.several = fabric.world_size > 1
        self.state = RunState(fabric, task)
        self.scorer = Scorer(fabric, task.model, self.config)
        # A gradient scaler ("16-mixed") meets infinite gradients by skipping the step: they are no fault there.
        scaled = getattr(fabric.strategy.precision, "scaler", None) is not None
        self.signs = VitalSigns([] if scaled else self.state.named_parameters())
        self.folder = None if self.config.out is None else RunFolder(self.config.out)
        self.pace = Pace(self.config.checkpoint_seconds, self.config.checkpoint_steps)
        self.line: ProgressLine | None = None
        self.tensorboard: TensorBoardLog | None = None
        self.time_is_up = False
        self.saved_at: tuple[int, int] | None = None  # epoch and step of the last checkpoint

    # ------------------------------------------------------------------------------------------------- the whole run

    def run(self) -> None:
        """Train to the end: the last epoch, the end of patience, or that of the time."""
        try:
            self.start_or_resume()
            self.look_around()
            # Fabric casts what a model returns to torch's default type: "64-true" would otherwise end with the model.
            with self.fabric.strategy.precision.tensor_init_context():
                while not (self.time_is_up or why_ended(self.state.progress, self.config)):
                    self.train_epoch()
            self.save()
            self.fabric.barrier()
        finally:
            self.close()

    # ------------------------------------------------------------------------------------------------------ an epoch

    def train_epoch(self) -> None:
        """Train what is left of the epoch under way, then validate; return early if the time is up."""
        state, fabric, progress = self.state, self.fabric, self.state.progress
        self.begin_epoch()
        for inputs, labels in self.batches():
            state.optimizer.zero_grad()
            loss = state.loss(state.model(inputs), labels)
            fabric.backward(loss)
            self.signs.note(loss)
            state.optimizer.step()
            progress.step += 1
            progress.total_steps += 1
            if progress.total_steps >= self.pace.next_look or (self.stop.requested and not self.several):
                self.look_around()
                if self.time_is_up:
                    return
        self.finish_epoch()
        self.look_around(epoch_ended=True)

    def begin_epoch(self) -> None:
        """Tell the parts which epoch it is, and choose the hard examples anew if that is asked for."""
        self.state.begin_epoch()
        sampler, warm = self.state.sampler, self.state.progress.epoch >= self.config.warmup_epochs
        if isinstance(sampler, HardExampleSampler) and warm and not sampler.resuming:
            scores = self.scorer.scores(self.task.train)
            if not scores.isfinite().all():
                raise self.diverged(self.state.progress.step, "scores of the training data are NaN or infinite")
            sampler.update(scores)

    def batches(self) -> Iterator[tuple[Any, torch.Tensor]]:
        """Yield the batches of this process that are left of the epoch, on the device and augmented."""
        transform, device, config = self.task.transform, self.fabric.device, self.config
        seed = (config.seed, self.state.progress.epoch, self.fabric.global_rank)
        for inputs, labels in self.task.train.batches(self.state.sampler, workers=config.workers, seed=seed):
            moved = on_device(inputs, device)
            yield (moved if transform is None else transform(moved, self.state.generator)), labels.to(device)

    def finish_epoch(self) -> None:
        """Validate, keep the model if it is the best so far, and turn to the next epoch."""
        self.read_signs()
        progress, on_epoch = self.state.progress, self.task.on_epoch
        scores = self.validation_scores()
        row = {
            "epoch": progress.epoch + 1,
            "step": progress.total_steps,
            "loss": progress.loss_sum / progress.step,
            "lr": self.state.optimizer.param_groups[0]["lr"],
            **self.validate(scores),
            "seconds": self.pace.seconds(),
        }
        best = progress.best
        if "tpauc" in row and (best is None or row["tpauc"] > best["metrics"]["tpauc"]):
            progress.best = {"epoch": row["epoch"], "metrics": row, "model": self.state.weights()}
        if on_epoch is not None:
            on_epoch(progress.epoch + 1, self.state.bare_model, scores)
        progress.history.append(row)
        progress.epoch, progress.step, progress.loss_sum = progress.epoch + 1, 0, 0.0
        if self.line is not None:
            best_epoch = None if progress.best is None else progress.best["epoch"]
            self.line.epoch(row, best_epoch, *self.steps_left_and_done())

    def validation_scores(self) -> torch.Tensor | None:
        """Return the scores of the validation data, None if there are none."""
        if self.task.validation is None:
            return None
        scores = self.scorer.scores(self.task.validation)
        if not scores.isfinite().all():
            raise self.diverged(self.state.progress.step, "scores of the validation data are NaN or infinite")
        return scores

    def validate(self, scores: torch.Tensor | None) -> dict[str, float]:
        """Return the metrics and the three risks on the validation data, nothing if there are none."""
        if self.task.validation is None or scores is None:
            return {}
        return measure(scores, self.task.validation.positive, self.task.loss, self.config.region)

    # ----------------------------------------------------------------------------------------------- a look around

    def look_around(self, *, epoch_ended: bool = False) -> None:
        """See, between two steps, whether all is finite, what the clock says, and whether a signal has arrived."""
        losses = self.read_signs()
        steps, limit = self.state.progress.total_steps, self.config.time_limit
        signal_number, time_is_up, save_is_due, seconds_per_step = largest_over_processes(
            self.fabric,
            [
                self.stop.requested,
                limit is not None and self.pace.seconds() >= limit,
                self.pace.save_is_due(steps, epoch_ended=epoch_ended),
                self.pace.seconds_per_step(steps),
            ],
        )
        self.time_is_up = bool(time_is_up)
        if signal_number or save_is_due:
            self.save()
        if signal_number:
            raise interrupted(int(signal_number), self.where(), self.last_checkpoint())
        self.pace.plan_next_look(steps, seconds_per_step)
        if losses:
            self.show(sum(losses) / len(losses))

    def read_signs(self) -> list[float]:
        """Add up the losses since the last look, or stop if one of them or a gradient is not finite."""
        progress = self.state.progress
        try:
            losses = self.signs.read(several_processes=self.several)
        except NonFiniteError as found:
            raise self.diverged(progress.step - found.steps_ago, found.cause) from None
        # One by one, so that the sum does not depend on how often it is taken.
        for loss in losses:
            progress.loss_sum += loss
        return losses

    def diverged(self, step: int, cause: str) -> TrainingDivergedError:
        """Return the error to raise; step 0 is the last one of the epoch before, if there is one."""
        epoch, last_step = self.state.progress.epoch, len(self.state.sampler)
        place = (epoch + 1, step) if step or not epoch else (epoch, last_step)
        return TrainingDivergedError(*place, cause, self.last_checkpoint())

    def show(self, loss: float) -> None:
        """Redraw the line of progress, and log the loss."""
        progress = self.state.progress
        if self.line is not None:
            of_epoch = (progress.epoch + 1, progress.step, len(self.state.sampler))
            self.line.step(*of_epoch, loss, *self.steps_left_and_done())
        if self.tensorboard is not None:
            self.tensorboard.step(progress.total_steps, loss)

    def steps_left_and_done(self) -> tuple[int, int]:
        """Return the steps to the end of the last epoch, and those of this session."""
        progress = self.state.progress
        left = (self.config.epochs - progress.epoch) * len(self.state.sampler) - progress.step
        return left, progress.total_steps - self.pace.first_step

    def where(self) -> str:
        """Return where the run stands, in words."""
        progress = self.state.progress
        return f"in epoch {progress.epoch + 1} after {progress.step} of {len(self.state.sampler)} steps"

    # --------------------------------------------------------------------------------------------------- checkpoints

    def start_or_resume(self) -> None:
        """Claim the folder, go on from what is in it, and open the logs."""
        config, folder = self.config, self.folder
        if folder is not None:
            on_first_process(self.fabric, folder.claim)
            saved = on_first_process(self.fabric, folder.load)
            if saved is not None:
                _check_fresh_folder(config.resume, folder.last)
                self.resume(saved, folder.last)
                # The session before may have ended between the checkpoint and these.
                on_first_process(self.fabric, lambda: folder.write_what_follows(saved))
            on_first_process(self.fabric, lambda: write_atomically(folder.config, config.to_json().encode()))
        progress = self.state.progress
        if self.fabric.is_global_zero and config.progress:
            time_left = None if config.time_limit is None else config.time_limit - progress.seconds
            self.line = ProgressLine(config.epochs, time_left)
        if self.fabric.is_global_zero and config.tensorboard and folder is not None:
            first_row = len(progress.history)
            self.tensorboard = TensorBoardLog(folder.tensorboard, first_step=progress.total_steps, first_row=first_row)

    def resume(self, saved: dict[str, Any], path: Path) -> None:
        """Go where ``saved`` stands."""
        try:
            self.state.load_state_dict(saved, path)
        except (KeyError, RuntimeError) as error:
            raise CheckpointError(f"{path} does not fit the model, the loss or this version: {error}") from error
        progress = self.state.progress
        self.saved_at = (progress.epoch, progress.step)
        self.pace = Pace(
            self.config.checkpoint_seconds,
            self.config.checkpoint_steps,
            seconds=progress.seconds,
            steps=progress.total_steps,
        )

    def save(self) -> None:
        """Write a checkpoint, if there is anything new; never one whose weights are not finite."""
        progress, folder = self.state.progress, self.folder
        if folder is None or self.saved_at == (progress.epoch, progress.step):
            return
        if (name := self.state.not_finite()) is not None:
            raise self.diverged(progress.step, f"{name} has NaN or infinite values")
        begun = time.monotonic()
        progress.seconds = self.pace.seconds()
        contents = self.state.state_dict()
        on_first_process(self.fabric, lambda: folder.save(contents))
        if self.tensorboard is not None:
            self.tensorboard.epochs(progress.history)
        self.saved_at = (progress.epoch, progress.step)
        self.pace.saved(progress.total_steps, cost=time.monotonic() - begun)

    def last_checkpoint(self) -> Path | None:
        """Return the path of the last checkpoint, None if none was written."""
        return None if self.folder is None or self.saved_at is None else self.folder.last

    def close(self) -> None:
        """Take the line of progress away, finish the logs, and let others into the folder."""
        if self.line is not None:
            self.line.close()
        if self.tensorboard is not None:
            self.tensorboard.close()
        if self.folder is not None:
            self.folder.release()


def _check_fresh_folder(resume: str, found: object) -> None:
    """Raise if a run that is not to be resumed would write over a checkpoint."""
    if resume == "never":
        raise FileExistsError(f"resume='never', but there is a checkpoint in {found}; choose another out, or remove it")
