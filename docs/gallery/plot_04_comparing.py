"""
Is the new model better?
========================

On the same rows, in several regions. An interval that contains 0 is no evidence of a difference.
"""

import matplotlib.pyplot as plt
import numpy as np

from tpauc import compare_tpauc

rng = np.random.default_rng(0)
y = rng.random(12_000) < 0.05
signal = rng.normal(size=y.size)
old = signal + 2.6 * y + 0.5 * rng.normal(size=y.size)
new = signal + 2.7 * y + 0.4 * rng.normal(size=y.size)

regions = [(0.3, 0.3), (0.3, 0.1), (0.2, 0.1), (0.1, 0.1), (0.2, 0.05)]
found = [compare_tpauc(y, new, old, alpha=alpha, beta=beta, random_state=0) for alpha, beta in regions]

difference, low, high = np.array([(one.difference, one.low, one.high) for one in found]).T
figure, axes = plt.subplots(figsize=(6.4, 3.2))
axes.axvline(0, color="grey", linewidth=1)
axes.errorbar(difference, range(len(regions)), xerr=(difference - low, high - difference), fmt="o", capsize=4)
axes.set_yticks(range(len(regions)), [f"alpha {alpha}, beta {beta}" for alpha, beta in regions])
axes.invert_yaxis()
axes.set(xlabel="TPAUC of new minus old, with 95 % intervals")
