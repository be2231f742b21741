"""Who trains it for me, from a table: scikit-learn classifiers for a region, and advice on them."""
