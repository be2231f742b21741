"""
Is acting on the model worth it?
================================

The decision curve: net benefit per case over the probability from which one acts, which stands for the costs of a miss
and of a false alarm. A model is useful where its curve lies above those of acting on all rows and on none.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from tpauc import net_benefit

rng = np.random.default_rng(0)
X = rng.normal(size=(8_000, 2))
y = rng.random(8_000) < 1 / (1 + np.exp(3.5 - 1.6 * X[:, 0]))
probability = LogisticRegression().fit(X[:4_000], y[:4_000]).predict_proba(X[4_000:])[:, 1]
curve = net_benefit(y[4_000:], probability, thresholds=np.linspace(0.01, 0.6, 60))

figure, axes = plt.subplots(figsize=(6.4, 3.6))
axes.plot(curve.thresholds, curve.model, label="model")
axes.plot(curve.thresholds, curve.treat_all, label="act on all")
axes.plot(curve.thresholds, curve.treat_none, color="grey", label="act on none")
axes.set(xlabel="act from this probability on", ylabel="net benefit per row", ylim=(-0.02, None))
axes.legend()
