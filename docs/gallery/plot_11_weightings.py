"""
What a loss looks at
====================

A weighting replaces the choice of hard examples by a smooth weight. ``Polynomial`` and ``Exponential`` act on the score
of an example. ``Anchored`` acts on its rank in the class, so that the region enters directly.
"""

import matplotlib.pyplot as plt
import torch

from tpauc import Anchored, Exponential, Polynomial

hardness = torch.linspace(0, 1, 201)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
for exponent in (0.1, 0.5):
    left.plot(hardness, Polynomial.from_exponent(exponent)(hardness), label=f"Polynomial, exponent {exponent}")
left.plot(hardness, Exponential(gamma=5.0)(hardness), label="Exponential, gamma 5")
left.set(xlabel="hardness: how far the score is on the wrong side", ylabel="weight")
left.legend()
for tau in (0.03, 0.1, 0.3):
    weighting = Anchored(alpha=0.3, beta=0.3, tau=tau)
    right.plot(hardness, torch.sigmoid((hardness - 0.7) / tau), label=f"Anchored, tau {weighting.tau}")
right.axvline(0.7, color="grey", linewidth=1, linestyle="--")
right.set(xlabel="rank of hardness in the class, alpha = 0.3")
right.legend()
