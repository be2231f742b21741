"""The paper's Figure 4(b): the relaxed, the truncated and the 0-1 risk while a model is trained on the relaxed one.

The paper trains on CIFAR-10-LT and reports that the relaxed risk is always above the other two. Here a small network
learns a synthetic problem, ten negatives to a positive, whose classes overlap. With a nearly flat weighting (exponent
0.03) the order of the three curves is at first the paper's; in the full run the relaxed risk passes below the truncated
one after 58 of 100 epochs. With exponent 0.3, still concave, it soon falls below both: the network pushes *all* scores
to one side, here upwards, so that the weights of the positives vanish, and the 0-1 risk stops improving. A convex
weighting is below the truncated risk from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from tpauc.losses.tpauc_loss import TPAUCLoss, empirical_risks
from tpauc.losses.weighting import Polynomial
from tpauc.paper.figures.canvas import label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.samplers import StratifiedBatchSampler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = BETA = 0.3
EXPONENTS = {"nearly flat": 0.03, "concave": 0.3, "convex": 2.0}
RISKS = {
    "relaxed": "relaxed risk, which is trained",
    "truncated": "truncated surrogate risk",
    "zero_one": "0-1 risk",
}
FEATURES, SHIFT, HIDDEN = 10, 0.6, 32


def rows(full: bool) -> list[Row]:
    """Return the three risks and the mean scores of both classes on the training data, by weighting and epoch.

    By default 16 epochs on 1,100 examples; with ``full`` 100 epochs on 11,000.

    Examples
    --------
    >>> sorted(rows(False)[0])
    ['epoch', 'exponent', 'mean_negative', 'mean_positive', 'relaxed', 'shape', 'truncated', 'zero_one']
    """
    examples, epochs = (11_000, 100) if full else (1_100, 16)
    return [row for shape in EXPONENTS for row in _training(shape, examples, epochs)]


def _training(shape: str, examples: int, epochs: int) -> list[Row]:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(examples) < examples // 11
    features = torch.randn(examples, FEATURES, generator=generator) + SHIFT * labels.unsqueeze(1)
    model = _network(generator)
    weighting = Polynomial.from_exponent(EXPONENTS[shape])
    loss = TPAUCLoss(weighting)
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
        found.append({"shape": shape, "exponent": EXPONENTS[shape], "epoch": epoch} | risks._asdict() | means)
        sampler.set_epoch(epoch)
        for batch in sampler if epoch < epochs else ():
            optimizer.zero_grad()
            loss(model(features[batch]), labels[batch]).backward()
            optimizer.step()
    return found


def _network(generator: torch.Generator) -> nn.Sequential:
    """Return a network with one hidden layer whose start depends on the generator alone."""
    hidden, output = nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, 1)
    for layer in (hidden, output):
        bound = layer.in_features**-0.5
        for parameter in layer.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return nn.Sequential(hidden, nn.ReLU(), output)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each weighting, the three risks on a logarithmic scale."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    figure, panels = new_canvas(1, len(shapes), width=3.5, height=3.7)
    for axes, shape in zip(panels, shapes, strict=True):
        own = [row for row in rows if row["shape"] == shape]
        for number, (column, name) in enumerate(RISKS.items()):
            axes.plot([row["epoch"] for row in own], [row[column] for row in own], label=name, **line_style(number))
        axes.set_yscale("log")
        axes.locator_params(axis="x", integer=True)
        axes.set_ylim(0.5 * min(row["relaxed"] for row in rows), 1.5)
        label(axes, f"{shape}: psi(t) = t^{own[0]['exponent']:g}", "epoch", "risk, a mean over all pairs")
    legend_above(figure, panels[0])
    return figure


FIGURE = PaperFigure("relaxed, truncated and 0-1 risk in training, for three weightings", "Figure 4(b)", rows, draw)
