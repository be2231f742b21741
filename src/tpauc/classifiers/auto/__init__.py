"""The best detector from a table in one call: unlike models, stacked on out-of-fold scores."""
