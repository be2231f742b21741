"""
The corner in cross-validation
==============================

``ROCRegionDisplay`` follows scikit-learn's displays: from predictions, from an estimator, and here from the results of
``cross_validate``, one curve per fold. The right panel shows the region alone.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from tpauc import ROCRegionDisplay, tpauc_scorer

X, y = make_classification(4000, n_informative=5, weights=[0.9], class_sep=1.3, random_state=0)
region = {"alpha": 0.3, "beta": 0.2}
found = cross_validate(
    LogisticRegression(), X, y, scoring=tpauc_scorer(**region), return_estimator=True, return_indices=True
)
print("TPAUC by fold:", found["test_score"].round(2))

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4))
ROCRegionDisplay.from_cv_results(found, X, y, **region, ax=left)
ROCRegionDisplay.from_cv_results(found, X, y, **region, ax=right, zoom=True)
