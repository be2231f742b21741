"""
TPAUC over all regions
======================

How demanding may the corner be? A map of TPAUC over alpha and beta. Below the line at 0 no threshold comes near both
demands.
"""

import matplotlib.pyplot as plt
import numpy as np

from tpauc import tpauc_score

rng = np.random.default_rng(0)
y = rng.random(20_000) < 0.05
score = rng.normal(size=y.size) + 2.5 * y

shares = np.linspace(0.02, 0.5, 25)
area = [[tpauc_score(y, score, alpha=alpha, beta=beta) for beta in shares] for alpha in shares]

figure, axes = plt.subplots(figsize=(5.6, 4.4))
colours = axes.pcolormesh(shares, shares, area, cmap="viridis", vmin=0, vmax=1, shading="nearest")
lines = axes.contour(shares, shares, area, levels=[0.001, 0.25, 0.5, 0.75], colors="white", linewidths=1)
axes.clabel(lines, fmt=lambda level: f"{level:.2g}" if level > 0.01 else "0")
axes.set(xlabel="beta: false alarms allowed", ylabel="alpha: positives that may be missed")
figure.colorbar(colours, label="TPAUC")
