"""
The corner of the ROC plot
==========================

A detector that must catch 80 % of the positives and may alarm on 10 % of the negatives is used in one corner of the ROC
plot. TPAUC is the share of that corner under the curve.
"""

import numpy as np

from tpauc import plot_roc

rng = np.random.default_rng(0)
y = rng.random(5_000) < 0.1
scores = {"model A": rng.normal(size=y.size) + 2.5 * y}
figure = plot_roc(y, scores, alpha=0.2, beta=0.1)
