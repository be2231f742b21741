"""
Where the threshold lies
========================

Densities of the scores of both classes with the threshold. The hard examples of the region are darker: these alone
decide TPAUC.
"""

import numpy as np

from tpauc import plot_scores

rng = np.random.default_rng(0)
y = rng.random(8_000) < 0.1
scores = {"old": rng.normal(size=y.size) + 2 * y, "new": rng.normal(size=y.size) + 3 * y}
figure = plot_scores(y, scores, alpha=0.2, beta=0.1)
