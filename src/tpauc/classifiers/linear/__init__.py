"""Linear models trained for the region. Only the losses import torch."""
