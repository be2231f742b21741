"""
Same AUC, another corner
========================

Two models have the same AUC. The first one is evenly good. The second one finds most positives easily and a few not at
all. Where at least 80 % must be caught with at most 5 % false alarms, only the second one can be used.
"""

import numpy as np

from tpauc import auc_score, plot_roc, tpauc_score

rng = np.random.default_rng(0)
y = rng.random(6_000) < 0.1
scores = {
    "evenly good": rng.normal(size=y.size) + 2.4 * y,
    "most easy, few lost": rng.normal(size=y.size) + np.where(rng.random(y.size) < 0.88, 4, 0.6) * y,
}
for name, score in scores.items():
    print(f"{name}: AUC {auc_score(y, score):.3f}, TPAUC {tpauc_score(y, score, alpha=0.2, beta=0.05):.3f}")

figure = plot_roc(y, scores, alpha=0.2, beta=0.05)
