"""The trials of a figure as small nets on a distribution that is known (`tpauc.paper.figures.small_training`)."""

from __future__ import annotations

from tpauc._validation import FloatArray
from tpauc.paper.figures.figure import Row
from tpauc.paper.figures.small_training import Budget, cells, loss_of, parameters_of, trained_scores
from tpauc.paper.figures.trials import Experiment, Trial
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.region import Region


def measure_on_plane(experiment: Experiment, budget: Budget) -> list[Row]:
    """Train each trial with each seed, and measure it in each region.

    Returns
    -------
    list of Row
        Columns ``data``, ``method``, ``value``, ``negative_value``, ``warmup``, ``seed``, ``alpha``, ``beta``,
        ``tpauc``, and ``limit``, the largest TPAUC possible.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=2, n_positive=10, n_negative=20, side=20)
    >>> (row,) = measure_on_plane(Experiment([Trial("SqAUC")], [Region(0.5, 0.5)]), tiny)
    >>> row["method"], 0.0 <= row["tpauc"] <= row["limit"]
    ('SqAUC', True)
    """
    return [
        row
        for trial in experiment.trials
        for seed in budget.seed_list
        for row in _measured(trial, experiment, seed, budget)
    ]


def _measured(trial: Trial, experiment: Experiment, seed: int, budget: Budget) -> list[Row]:
    _, population = cells(budget.side)
    trained: dict[tuple[tuple[str, float], ...], FloatArray] = {}  # by parameters: most losses serve every region
    found = []
    for region in experiment.regions:
        parameters = _parameters(trial, region, budget)
        key = tuple(parameters.items())
        if key not in trained:
            loss, warmup = loss_of(trial.method, parameters, budget), int(parameters.get("warmup_epochs", 0))
            trained[key] = trained_scores("net", loss, warmup=warmup, seed=seed, budget=budget)
        for measured in experiment.measured_in(region):
            tpauc, limit = population.tpauc(trained[key], measured), bayes_tpauc(population, measured)
            found.append(trial.row(data="plane", seed=seed, region=measured, tpauc=tpauc, limit=limit))
    return found


def _parameters(trial: Trial, region: Region, budget: Budget) -> dict[str, float]:
    known = parameters_of(trial.method, region, budget)
    return {**known, **trial.replacing(known, budget.steps)}
