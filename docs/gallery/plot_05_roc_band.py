"""
A ROC curve with its band
=========================

The pointwise band holds for one false positive rate. The simultaneous band holds for all of them at once. ``roc_band``
returns the limits as numbers.
"""

import matplotlib.pyplot as plt
import numpy as np

from tpauc import ROCRegionDisplay, roc_band

rng = np.random.default_rng(0)
y = np.arange(1_500) < 150
score = rng.normal(size=y.size) + 2 * y

figure, all_axes = plt.subplots(1, 2, figsize=(8.5, 4))
for axes, band in zip(all_axes, ("pointwise", "simultaneous"), strict=True):
    ROCRegionDisplay.from_predictions(y, score, alpha=0.2, beta=0.2, band=band, ax=axes, name="model")
    axes.set_title(band)

low, high = roc_band(y, score, kind="simultaneous").limits(0.2)
print(f"TPR at an FPR of 0.2, simultaneous: {low:.2f} to {high:.2f}")
