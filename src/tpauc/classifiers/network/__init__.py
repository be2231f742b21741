"""Networks for tables. Needs torch."""
