"""Exact areas under the ROC curve, their uncertainty, and operating points: NumPy and SciPy alone."""
