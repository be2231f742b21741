"""
A linear model for the corner
=============================

Each digit of scikit-learn's images against the rest, from six principal axes: ten problems that are hard for a line.
Training for the region helps a little where the line cannot fit the data (2, 3, 9), and changes nothing where it can.
Expect no more than that.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tpauc import TPAUCClassifier, tpauc_score

images, digit = load_digits(return_X_y=True)
train = np.random.default_rng(0).random(digit.size) < 0.5
X = PCA(6, random_state=0).fit(images[train]).transform(images)
region = {"alpha": 0.2, "beta": 0.2}
models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "balanced": make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
    "for the region": TPAUCClassifier(**region, random_state=0),
}

figure, axes = plt.subplots(figsize=(6.4, 3.6))
for place, (name, model) in enumerate(models.items()):
    areas = []
    for number in range(10):
        model.fit(X[train], digit[train] == number)
        areas.append(tpauc_score(digit[~train] == number, model.decision_function(X[~train]), **region))
    axes.plot(np.arange(10) + 0.2 * (place - 1), areas, "o", color=("C3", "C1", "C0")[place], label=name)
axes.set(xlabel="digit", ylabel="TPAUC(0.2, 0.2), test half", xticks=range(10), ylim=(-0.03, 1.03))
axes.legend(loc="center", bbox_to_anchor=(0.82, 0.3))
