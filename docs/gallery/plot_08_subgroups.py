"""
For whom does it work?
======================

TPAUC in each subgroup with intervals, and the largest gap with a p-value that allows for the number of pairs.
"""

import matplotlib.pyplot as plt
import numpy as np

from tpauc import evaluate_by

rng = np.random.default_rng(0)
y = rng.random(9_000) < 0.1
site = rng.choice(["north", "south", "east", "west"], y.size, p=[0.4, 0.3, 0.2, 0.1])
score = rng.normal(size=y.size) + np.where(site == "east", 2.2, 3) * y
found = evaluate_by(y, score, site, alpha=0.2, beta=0.1, random_state=0)

figure, axes = plt.subplots(figsize=(6.4, 3.0))
for place, part in enumerate(found.subgroups):
    area = part.tpauc
    axes.errorbar(
        area.estimate, place, xerr=[[area.estimate - area.low], [area.high - area.estimate]], fmt="oC0", capsize=4
    )
axes.set_yticks(range(4), [f"{part.name} ({part.n_positive} positives)" for part in found.subgroups])
gap = found.largest_gap
axes.set(xlabel="TPAUC(0.2, 0.1) with 95 % intervals", xlim=(0, 1))
axes.set_title(f"{gap.worse} is below {gap.better} by {gap.difference:.2f}, p = {gap.p_value:.1g}")
