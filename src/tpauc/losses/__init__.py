"""Losses ``loss(logits, labels)`` for a region of the ROC plane, their weightings and their pair losses."""
