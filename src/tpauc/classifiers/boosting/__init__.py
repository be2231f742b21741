"""Boosted trees for a region: objectives and metrics for LightGBM and XGBoost, and a scikit-learn estimator.

* `tpauc.classifiers.boosting.objective`: a log-loss confined to the region, and TPAUC for early stopping.
* `tpauc.classifiers.boosting.boosting_path`: log-loss first, then rounds for the region; their validation.
* `tpauc.classifiers.boosting.booster`: `TPAUCBooster`, the estimator.
"""
