"""Boosted trees for a region: objectives and metrics for LightGBM and XGBoost, and a scikit-learn estimator.

* `tpauc.classifiers.boosting.objective`: gradient and Hessian of a log-loss that looks at the region alone.
* `tpauc.classifiers.boosting.metric`: TPAUC for early stopping.
* `tpauc.classifiers.boosting.paths`: trainings that boost with log-loss first and then for the region.
* `tpauc.classifiers.boosting.judging`: TPAUC of what they pass through on rows not trained on, and weights by it.
* `tpauc.classifiers.boosting.booster`: `TPAUCBooster`, the estimator.
"""
