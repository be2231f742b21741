"""All figures by name: the one visible dict behind ``tpauc reproduce figure NAME``.

To add one, write a module beside this one that ends in ``FIGURE = PaperFigure(...)``, and give it a line here.
"""

from __future__ import annotations

from tpauc.paper.figures import (
    areas,
    bayes_limit,
    best_gamma,
    bound_training,
    collapse,
    concave_convex,
    duality,
    excess_risk_terms,
    gamma_sensitivity,
    inconsistency,
    middle_order,
    opauc_comparison,
    saddle,
    sufficient_condition,
    truncation_losses,
    two_gammas,
    warmup_sensitivity,
    weight_landscapes,
)
from tpauc.paper.figures.figure import PaperFigure

FIGURES: dict[str, PaperFigure] = {
    "areas": areas.FIGURE,
    "concave-convex": concave_convex.FIGURE,
    "sufficient-condition": sufficient_condition.FIGURE,
    "bound-training": bound_training.FIGURE,
    "weight-landscapes": weight_landscapes.FIGURE,
    "duality": duality.FIGURE,
    "saddle": saddle.FIGURE,
    "collapse": collapse.FIGURE,
    "inconsistency": inconsistency.FIGURE,
    "bayes-limit": bayes_limit.FIGURE,
    "middle-order": middle_order.FIGURE,
    "excess-risk": excess_risk_terms.FIGURE,
    "gamma": gamma_sensitivity.FIGURE,
    "two-gammas": two_gammas.FIGURE,
    "warm-up": warmup_sensitivity.FIGURE,
    "opauc": opauc_comparison.FIGURE,
    "truncation": truncation_losses.FIGURE,
    "best-gamma": best_gamma.FIGURE,
}
