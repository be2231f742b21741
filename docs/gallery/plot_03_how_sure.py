"""
How sure is a TPAUC?
====================

The same model, measured on test sets of different sizes. Only the hard positives count: with ``alpha=0.2`` these are a
fifth of the positives.
"""

import matplotlib.pyplot as plt
import numpy as np

from tpauc import tpauc_interval

rng = np.random.default_rng(1)
sizes = [50, 100, 200, 400, 800, 1600]
found = []
for positives in sizes:
    y = np.arange(20 * positives) < positives
    score = rng.normal(size=y.size) + 3 * y
    found.append(tpauc_interval(y, score, alpha=0.2, beta=0.1, random_state=0))

estimate, low, high = np.array([(one.estimate, one.low, one.high) for one in found]).T
figure, axes = plt.subplots()
axes.errorbar(sizes, estimate, (estimate - low, high - estimate), fmt="o", capsize=4)
axes.set(xscale="log", xlabel="positives in the test set", ylabel="TPAUC(0.2, 0.1) with its 95 % interval", ylim=(0, 1))
axes.set_xticks(sizes, [f"{size:,}\n({one.hard_positives} hard)" for size, one in zip(sizes, found, strict=True)])
axes.minorticks_off()
