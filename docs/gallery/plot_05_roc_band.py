"""
A ROC curve with its band
=========================

The pointwise band holds for one false positive rate. The simultaneous band holds for all of them at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from tpauc import roc_band

rng = np.random.default_rng(0)
y = np.arange(1_500) < 150
score = rng.normal(size=y.size) + 2 * y

figure, axes = plt.subplots(figsize=(5, 4.6))
for kind, alpha in (("simultaneous", 0.18), ("pointwise", 0.35)):
    band = roc_band(y, score, kind=kind)
    axes.fill_between(band.fpr, band.low, band.high, step="post", alpha=alpha, color="C0", linewidth=0, label=kind)
axes.step(band.fpr, band.tpr, where="post", color="C0")
axes.add_patch(plt.Rectangle((0, 0.8), 0.1, 0.2, fill=False, linestyle="--", label="corner (0.2, 0.1)"))
axes.set(xlabel="FPR", ylabel="TPR", xlim=(0, 1), ylim=(0, 1.005))
axes.legend(loc="lower right", title="95 % band")
