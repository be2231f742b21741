"""Losses of logits and labels for the corner of the ROC plot, and what they are made of."""
