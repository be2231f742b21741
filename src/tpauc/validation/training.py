"""Settings of a training run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tpauc.validation.values import check_non_negative


def check_momentum(momentum: float, nesterov: bool) -> float:
    """Return ``momentum`` in [0, 1), above 0 where Nesterov's step needs one."""
    number = check_non_negative(momentum, "momentum")
    if number >= 1.0:
        raise ValueError(f"momentum must be below 1, got {momentum!r}")
    if nesterov and number == 0.0:
        raise ValueError(f"nesterov=True needs a momentum above 0, got {momentum!r}")
    return number


def check_same_settings(saved: Mapping[str, Any], now: Mapping[str, Any], where: object) -> None:
    """Raise if a run is to be continued with other settings than it was begun with."""
    if differences := [f"{key}={now[key]!r} (there {saved.get(key)!r})" for key in now if saved.get(key) != now[key]]:
        raise ValueError(
            f"{where} holds a run with other settings: {', '.join(differences)}; "
            "go on with those, or choose another out"
        )


def check_rows(n_inputs: int, n_labels: int, name: str) -> None:
    """Raise if the inputs and the labels of the data called ``name`` differ in number, or there are none."""
    if n_inputs != n_labels:
        raise ValueError(f"{name} must have as many labels as inputs, got {n_labels} labels and {n_inputs} inputs")
    if n_inputs == 0:
        raise ValueError(f"{name} must hold at least one example, got none")


def check_single_warmup(loss_warms_up: bool, warmup_epochs: int) -> None:
    """Raise if a loss that has a warm-up of its own is to get another."""
    if loss_warms_up and warmup_epochs:
        raise ValueError(f"loss is a WarmUp already; warmup_epochs must then be 0, got {warmup_epochs}")


def check_optimizer_fits(optimizer: str, n_minimax: int, loss_parameters: Collection[str]) -> None:
    """Raise if the optimiser would not move the parameters of the loss, or finds none to move by ascent."""
    if optimizer == "minimax" and n_minimax != 1:
        raise ValueError(f"optimizer='minimax' needs a MinimaxTPAUCLoss, found {n_minimax} in loss")
    if optimizer != "minimax" and n_minimax:
        raise ValueError(f"a MinimaxTPAUCLoss needs optimizer='minimax', got {optimizer!r}")
    if not n_minimax and loss_parameters:
        raise ValueError(f"loss has parameters that no optimizer here would move: {', '.join(loss_parameters)}")


def check_fresh_folder(resume: str, found: object) -> None:
    """Raise if a run that is not to be resumed would write over a checkpoint."""
    if resume == "never":
        raise FileExistsError(f"resume='never', but there is a checkpoint in {found}; choose another out, or remove it")


def check_patience(patience: int | None, has_validation: bool) -> None:
    """Raise if a run is to wait for a better validation TPAUC and has no validation data."""
    if patience is not None and not has_validation:
        raise ValueError(f"patience={patience} needs validation data, got validation=None")


def check_real(is_real: bool, name: str, kind: object) -> None:
    """Raise if the column called ``name`` is of a kind that is no real number."""
    if not is_real:
        raise ValueError(f"{name} must hold real numbers, found {kind}")


def check_world_size(processes: int, environment: Mapping[str, str]) -> None:
    """Raise if ``torchrun`` has started another number of processes than are to train together."""
    started = environment.get("WORLD_SIZE")
    if "TORCHELASTIC_RUN_ID" in environment and started is not None and int(started) != processes:
        raise ValueError(f"torchrun has started {started} processes, but devices * nodes is {processes}")


def check_strategy(strategy: str, nodes: int) -> None:
    """Raise if processes on several machines are to be started from one of them."""
    if nodes > 1 and strategy in ("ddp_spawn", "ddp_fork"):
        raise ValueError(f"strategy={strategy!r} starts processes on one machine, got nodes={nodes}; use 'ddp'")
