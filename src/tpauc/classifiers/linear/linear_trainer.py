"""One training of the linear model: both logistic regressions, then the steps of a method, each a candidate.

"region" climbs the smoothed TPAUC (`ascent`). The other losses take full-batch steps, for which torch is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, import_extra
from tpauc.classifiers._candidates import Candidate
from tpauc.classifiers.linear.ascent import whitener
from tpauc.classifiers.linear.directions import (
    DIRECTIONS,
    STARTS,
    LinearScorer,
    LinearSettings,
    as_logit,
    six_directions,
    with_ones,
)
from tpauc.classifiers.linear.logistic import Rows, fit_pair
from tpauc.classifiers.training_methods import CROSS_ENTROPIES, REGION, loss_and_optimizer, powers_of_two
from tpauc.region import Region

if TYPE_CHECKING:
    from torch import nn

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LinearTrainer:
    """Linear scorers: both logistic regressions, then the method.

    Parameters
    ----------
    method : str
        One of `tpauc.classifiers.training_methods.METHODS`.
    region : Region
    settings : LinearSettings
        Of the regressions and of the ascent.
    max_steps : int
        Full-batch steps of a loss.
    step_size : float
        Step of Adam, as a share of the typical coefficient of the start.
    """

    method: str
    region: Region
    settings: LinearSettings
    max_steps: int = 32
    step_size: float = 0.05

    def train(self, X: Array, y: BoolArray, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates; nothing here is random."""
        rows = with_ones(X, y)
        pair = fit_pair(rows, self.settings.penalty)
        starts = [
            Candidate(name, 0, LinearScorer(b[:-1], float(b[-1])))
            for name, b in zip(CROSS_ENTROPIES, pair, strict=True)
        ]
        if self.method in CROSS_ENTROPIES:
            return [start for start in starts if start.name == self.method]
        if self.method != REGION:
            return [*starts, *self._full_batch_steps(X, y, pair.balanced)]
        directions = six_directions(rows, pair, whitener(X), self.region, self.settings)
        return [
            *starts,
            *(
                Candidate(name, 0 if name in STARTS else self.settings.ascent.steps, _scorer(rows, w))
                for name, w in zip(DIRECTIONS, directions.T, strict=True)
                if name not in ("plain", "balanced")  # they are among the starts, with their own intercepts
            ),
        ]

    def _full_batch_steps(self, X: Array, y: BoolArray, start: Array) -> Iterator[Candidate]:
        import_extra("torch", "torch")
        import torch
        from torch.nn.utils import skip_init

        x, labels = torch.from_numpy(X), torch.from_numpy(y)
        # No first weights: they would be drawn from torch's global generator, which belongs to the caller.
        module: nn.Linear = skip_init(torch.nn.Linear, X.shape[1], 1, dtype=x.dtype)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(start[:-1]))
            module.bias.fill_(float(start[-1]))
        typical = float(np.sqrt(np.square(start[:-1]).mean()))
        loss, optimizer = loss_and_optimizer(self.method, self.region, module, self.step_size * max(typical, 1e-3))
        for step in range(1, self.max_steps + 1):
            optimizer.zero_grad()
            loss(module(x), labels.to(x.dtype)).backward()
            optimizer.step()
            if step in powers_of_two(self.max_steps):
                coef = module.weight.detach().flatten().numpy().copy()
                yield Candidate(self.method, step, LinearScorer(coef, float(module.bias.detach())))


def _scorer(rows: Rows, w: Array) -> LinearScorer:
    slope, offset = as_logit(rows, w)
    return LinearScorer(slope * w, offset)
