"""Linear models trained for the region. No torch."""
