"""
A threshold that keeps its promise
==================================

A threshold is picked on 600 negatives for an FPR of at most 5 %, 400 times, and its true FPR is looked up. Picked
plainly, it breaks the promise about half of the time. With ``guarantee=0.95`` it does so in at most 5 %.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from tpauc import operating_point

rng = np.random.default_rng(0)
y = np.arange(700) < 100
true_fpr = {None: [], 0.95: []}
for _ in range(400):
    score = rng.normal(size=y.size) + 2 * y
    for guarantee, rates in true_fpr.items():
        point = operating_point(y, score, alpha=0.5, beta=0.05, guarantee=guarantee)
        rates.append(norm.sf(point.threshold))

figure, axes = plt.subplots(figsize=(6.4, 3.4))
bins = np.linspace(0.01, 0.09, 41)
for (_, rates), name in zip(true_fpr.items(), ("plain", "guarantee=0.95"), strict=True):
    broken = np.mean(np.array(rates) > 0.05)
    axes.hist(rates, bins, alpha=0.6, label=f"{name}: broken in {100 * broken:.0f} %")
axes.axvline(0.05, color="black", linestyle="--", linewidth=1)
axes.set(xlabel="FPR on new data", ylabel="samples")
axes.legend()
