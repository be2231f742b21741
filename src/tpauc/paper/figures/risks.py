"""The relaxed risk: when it bounds the truncated one, how both fall in training, and its saddle form.

**The paper's Figure 4(a).** The sufficient condition of Proposition 2 in 50 trials. Each trial draws 100 scores per
class (`gaussian_trial` of `tpauc.paper.theory.bounds`) and finds the largest ``rho_p - xi_q``; a value of at least 0
proves that the relaxed risk bounds the truncated one. The paper names neither the weighting nor the region of its
experiment, so several weightings are shown, from concave to convex, for the region (0.3, 0.3).

**The paper's Figure 4(b).** The relaxed, the truncated and the 0-1 risk while a model is trained on the relaxed one.
The paper trains on CIFAR-10-LT and reports that the relaxed risk is always above the other two. Here a small network
learns a synthetic problem with overlapping classes and ten negatives per positive. With a nearly flat weighting
(exponent 0.03) the order of the three curves is at first the paper's; in the full run the relaxed risk passes below the
truncated one after 58 of 100 epochs. With exponent 0.3, still concave, it soon falls below both: the network pushes
*all* scores to one side, here upwards, so that the weights of the positives vanish, and the 0-1 risk stops improving.
With a convex weighting the relaxed risk is below the truncated one from the start. A second row of panels trains on the
normalised risk (`tpauc.paper.theory.normalised`), which cannot fall this way: the 0-1 risk falls with each weighting.

**Not in the paper.** If ``psi(0) = 0``, the relaxed risk has infimum 0, whatever the ranking. All logits are lowered by
the same amount, so the order of the examples, TPAUC and the 0-1 risk cannot change. But the hardness of every negative
goes to 0, its weight with it, and the relaxed risk vanishes while the truncated risk does not. The risk with weights by
rank (`tpauc.Anchored`) cannot vanish this way: the sum of the weights does not depend on where the scores are. Their
mean is 1, so once the scores no longer differ the risk is 1, the square loss of a pair of equal scores. So does the
normalised risk of each weighting, divided by the mean weights of both classes.

**Theorem 1.** The paper's descent and ascent reach the pairwise risk without looking at pairs. The model is fixed;
``a`` and ``b`` start at zero and take the steps of Algorithm 1 on the whole sample. Their saddle value, computed from
six class means, equals the risk over all 100 x 1,000 pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.tpauc_loss import TPAUCLoss, empirical_risks
from tpauc.losses.weighting import Exponential, Polynomial, Weighting, WeightingFunction
from tpauc.paper.figures.figure import (
    FAINT,
    INK,
    REGION,
    PaperFigure,
    Row,
    distinct,
    draw_line,
    having,
    label,
    legend_above,
    new_canvas,
)
from tpauc.paper.figures.trials import draw_weights
from tpauc.paper.theory.bounds import check_bound, gaussian_trial
from tpauc.paper.theory.saddle import algorithm_1, class_means
from tpauc.samplers import StratifiedBatchSampler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = BETA = 0.3
POLY_AND_EXP: dict[str, WeightingFunction] = {
    "Poly, exponent 0.1": Polynomial.from_exponent(0.1),
    "Poly, exponent 0.5": Polynomial.from_exponent(0.5),
    "Exp, gamma 5": Exponential(5.0),
}

# ------------------------------------------------------------------------------------------- sufficient condition

TRIALS = 50
CONCAVE_TO_CONVEX: dict[str, WeightingFunction] = {
    **POLY_AND_EXP,
    "linear": Polynomial.from_exponent(1.0),
    "convex, exponent 2": Polynomial.from_exponent(2.0),
}


def condition_rows(full: bool) -> list[Row]:
    """Return one row per weighting and trial: the margin, its ``p``, both risks; 1,000 trials with ``full``."""
    found: list[Row] = []
    for name, weighting in CONCAVE_TO_CONVEX.items():
        rng = np.random.default_rng(0)  # the same draws for every weighting
        for trial in range(1000 if full else TRIALS):
            check = check_bound(*gaussian_trial(rng), weighting, alpha=ALPHA, beta=BETA)
            found.append(
                {
                    "weighting": name,
                    "trial": trial + 1,
                    "margin": check.margin,
                    "p": check.p,
                    "relaxed": check.relaxed,
                    "truncated": check.truncated,
                    "condition": check.promised,
                    "bound": check.holds,
                }
            )
    return found


def draw_condition(rows: Sequence[Row]) -> Figure:
    """Draw the margin of each trial by weighting, and the number of trials in which condition and bound hold."""
    figure, (left, right) = new_canvas(1, 2, width=4.6, height=3.8)
    names = distinct(rows, "weighting")
    for number, name in enumerate(names):
        draw_line(left, having(rows, weighting=name), "trial", "margin", number, name)
    left.axhline(0.0, color=INK, lw=0.8)
    left.set_yscale("symlog", linthresh=0.1)
    left.set_yticks([-0.1, 0.0, 0.1, 1.0, 10.0], ["-0.1", "0", "0.1", "1", "10"])
    label(left, "Condition: holds from 0 upwards", "trial", "largest rho - xi")
    trials = len(rows) // len(names)
    places = np.arange(len(names))
    for offset, column, colour in ((0.2, "condition", REGION), (-0.2, "bound", FAINT)):
        counts = [sum(row[column] for row in having(rows, weighting=name)) for name in names]
        bars = right.barh(places[::-1] + offset, counts, height=0.36, color=colour, label=column)
        right.bar_label(bars, padding=2, size=8, color=INK)
    right.set_yticks(places[::-1], names)
    right.set_xlim(0, 1.12 * trials)
    right.grid(axis="y", visible=False)
    label(right, f"Of {trials} trials, condition and bound hold in", "trials", "")
    right.legend(loc="lower right", frameon=False, fontsize=8)
    legend_above(figure, left, columns=5)
    return figure


CONDITION = PaperFigure(
    "Proposition 2: the sufficient condition and the bound in 50 trials, several weightings",
    "Figure 4(a)",
    condition_rows,
    draw_condition,
)

# -------------------------------------------------------------------------------------------------- risks in training

EXPONENTS = {"nearly flat": 0.03, "concave": 0.3, "convex": 2.0}
TRAINED = {"printed": "relaxed", "normalised": "normalised"}  # the risk that is trained, and its column
RISKS = {
    "relaxed": "relaxed risk",
    "normalised": "normalised risk",
    "truncated": "truncated surrogate risk",
    "zero_one": "0-1 risk",
}
FEATURES, SHIFT, HIDDEN = 10, 0.6, 32


def training_rows(full: bool) -> list[Row]:
    """Return the four risks and the mean scores of both classes on the training data, by trained risk and weighting.

    By default 16 epochs on 1,100 examples; with ``full`` 100 epochs on 11,000.
    """
    examples, epochs = (11_000, 100) if full else (1_100, 16)
    return [row for trained in TRAINED for shape in EXPONENTS for row in _training(trained, shape, examples, epochs)]


def _training(trained: str, shape: str, examples: int, epochs: int) -> list[Row]:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(examples) < examples // 11
    features = torch.randn(examples, FEATURES, generator=generator) + SHIFT * labels.unsqueeze(1)
    model = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
    draw_weights(model, generator)
    weighting = Polynomial.from_exponent(EXPONENTS[shape])
    normalised = TPAUCLoss(weighting, normalize=True)
    loss = normalised if trained == "normalised" else TPAUCLoss(weighting)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-5)
    sampler = StratifiedBatchSampler(labels.numpy(), 110, ratio=(1, 10), seed=0)
    found = []
    for epoch in range(epochs + 1):
        with torch.no_grad():
            logits = model(features).squeeze(1)
        risks = empirical_risks(logits, labels, weighting, alpha=ALPHA, beta=BETA)
        means = {
            "mean_positive": float(logits[labels].sigmoid().mean()),
            "mean_negative": float(logits[~labels].sigmoid().mean()),
        }
        found.append(
            {"trained": trained, "shape": shape, "exponent": EXPONENTS[shape], "epoch": epoch}
            | risks._asdict()
            | {"normalised": normalised(logits, labels).item()}
            | means
        )
        sampler.set_epoch(epoch)
        for batch in sampler if epoch < epochs else ():
            optimizer.zero_grad()
            loss(model(features[batch]), labels[batch]).backward()
            optimizer.step()
    return found


def draw_training(rows: Sequence[Row]) -> Figure:
    """Draw one row of panels per trained risk, one panel per weighting, the risks on a logarithmic scale."""
    shapes = distinct(rows, "shape")
    figure, panels = new_canvas(len(TRAINED), len(shapes), width=3.5, height=3.2)
    lowest = min(row["relaxed"] for row in rows)
    for axes, (trained, shape) in zip(panels, product(TRAINED, shapes), strict=True):
        own = having(rows, trained=trained, shape=shape)
        for number, (column, name) in enumerate(RISKS.items()):
            draw_line(axes, own, "epoch", column, number, name)
        axes.set_yscale("log")
        axes.locator_params(axis="x", integer=True)
        axes.set_ylim(0.5 * lowest, 2.5)
        label(axes, f"{TRAINED[trained]} trained, t^{own[0]['exponent']:g}", "epoch", "risk")
    legend_above(figure, panels[0], columns=4)
    return figure


TRAINING = PaperFigure(
    "relaxed, normalised, truncated and 0-1 risk in training, for three weightings",
    "Figure 4(b)",
    training_rows,
    draw_training,
)

# ------------------------------------------------------------------------------------------------ collapse of the risk

COLLAPSING: dict[str, Weighting] = {**POLY_AND_EXP, "Anchored": Anchored(ALPHA, BETA)}
LARGEST_SHIFT = 40.0


def collapse_rows(_full: bool) -> list[Row]:
    """Return the four risks of each weighting as all logits are lowered."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(1100) < 100
    logits = torch.randn(1100, generator=generator, dtype=torch.float64) + 2.0 * labels
    return [
        {"weighting": name, "shift": float(shift)}
        | empirical_risks(logits - shift, labels, weighting, alpha=ALPHA, beta=BETA)._asdict()
        | {"normalised": TPAUCLoss(weighting, normalize=True)(logits - shift, labels).item()}
        for name, weighting in COLLAPSING.items()
        for shift in np.linspace(0.0, LARGEST_SHIFT, 41)
    ]


def draw_collapse(rows: Sequence[Row]) -> Figure:
    """Draw one panel per kind of risk: a line per weighting, and the two risks that do not depend on the weighting."""
    figure, panels = new_canvas(1, 2, width=4.6, height=4.0)
    names = distinct(rows, "weighting")
    for axes, risk in zip(panels, ("relaxed", "normalised"), strict=True):
        for number, name in enumerate(names):
            draw_line(axes, having(rows, weighting=name), "shift", risk, number, name)
        own = having(rows, weighting=names[0])
        draw_line(axes, own, "shift", "truncated", len(names), "truncated surrogate")
        draw_line(axes, own, "shift", "zero_one", len(names) + 1, "0-1 risk", color=INK)
        axes.set_yscale("log")
        axes.set_ylim(1e-8, 4.0)
        label(axes, f"{risk} risk, the same ranking throughout", "all logits lowered by", "risk")
    legend_above(figure, panels[0], columns=3)
    return figure


COLLAPSE = PaperFigure(
    "the relaxed risk goes to 0 while the ranking stays as it is, the normalised one to 1",
    "not in the paper",
    collapse_rows,
    draw_collapse,
)

# -------------------------------------------------------------------------------------------------------- saddle form

SADDLE_WEIGHTINGS: dict[str, WeightingFunction] = {
    "Poly, gamma = 3": Polynomial(3.0),
    "Exp, gamma = 5": Exponential(5.0),
}
STEP_SIZES = (0.02, 0.05, 0.2)
STEPS = 200


def saddle_rows(_full: bool) -> list[Row]:
    """Return the saddle function after every step, and the pairwise risk."""
    rng = np.random.default_rng(0)
    logits = np.concatenate((rng.normal(1.0, 1.0, 100), rng.normal(-1.0, 1.0, 1000)))
    labels = np.arange(logits.size) < 100
    scores = 1.0 / (1.0 + np.exp(-logits))
    found: list[Row] = []
    for name, weighting in SADDLE_WEIGHTINGS.items():
        risk = float(TPAUCLoss(weighting)(torch.from_numpy(logits), torch.from_numpy(labels)))
        means = class_means(scores[labels], scores[~labels], weighting)
        for size in STEP_SIZES:
            values = algorithm_1(means, step=size, steps=STEPS, v_infinity=weighting.supremum())
            for step, value in enumerate(values.tolist()):
                row = {"weighting": name, "step_size": size, "step": step, "saddle_function": value}
                found.append(row | {"pairwise_risk": risk})
    return found


def draw_saddle(rows: Sequence[Row]) -> Figure:
    """Draw one panel per weighting, one line per step size, and the risk as a horizontal line."""
    figure, panels = new_canvas(1, len(SADDLE_WEIGHTINGS), width=4.2, height=3.5)
    for axes, name in zip(panels, SADDLE_WEIGHTINGS, strict=True):
        own = having(rows, weighting=name)
        risk = own[0]["pairwise_risk"]
        axes.axhline(risk, color=INK, lw=1.0, label="risk over all pairs")
        for number, size in enumerate(distinct(own, "step_size")):
            draw_line(axes, having(own, step_size=size), "step", "saddle_function", number, f"step size {size:g}")
        label(axes, f"{name}: risk {risk:.4f}", "steps of a and b", "saddle function F(a, b)")
    legend_above(figure, panels[0], columns=4)
    return figure


SADDLE = PaperFigure("Theorem 1: the saddle function reaches the pairwise risk", "Theorem 1", saddle_rows, draw_saddle)
