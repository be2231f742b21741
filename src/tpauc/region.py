"""The corner of the ROC plot, and how many examples of a class lie in it.

A region asks for ``TPR >= 1 - alpha`` and ``FPR <= beta``. Among ``n+`` positives and ``n-`` negatives it selects the
``k+ = floor(n+ * alpha)`` lowest-scored positives and the ``k- = floor(n- * beta)`` highest-scored negatives.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from tpauc._validation import check_count, check_share

# 100 * 0.29 is 28.999999999999996 and must count 29 examples. 10_000 * (1 - 0.9999) must count one, though the share is
# 1.1e-17 below 0.0001. A share k/n or 1 - k/n, its padding and the product with n together err by at most 1.2 * 2**-52
# of n, which is less than this padding. With up to 10**7 examples the padding adds less than 5e-9 to the product. The
# product of a share k/m, m up to 10**7, is a whole number or at least 1e-7 below the next one: it is not rounded up.
_ROUNDING = 2.0**-51


def hard_mass(total: float, share: float) -> int:
    """Return ``floor(total * share)``, immune to rounding errors of the share and of the product.

    Parameters
    ----------
    total : float
        Number of examples of a class, or their total weight.
    share : float
        Share that the region selects, in [0, 1].

    Examples
    --------
    >>> hard_mass(100, 0.29), int(100 * 0.29)
    (29, 28)
    """
    return math.floor(total * min(share + _ROUNDING, 1.0))


@dataclass(frozen=True)
class Region:
    """The corner ``TPR >= 1 - alpha``, ``FPR <= beta``.

    Parameters
    ----------
    alpha : float
        Share of the positives that may be missed, in (0, 1].
    beta : float
        Share of the negatives that may raise a false alarm, in (0, 1].

    Examples
    --------
    >>> region = Region(alpha=0.1, beta=0.05)
    >>> region.hard_positives(250), region.hard_negatives(10_000)
    (25, 500)
    >>> region.hard_positives(7)
    Traceback (most recent call last):
    ...
    ValueError: alpha=0.1 selects none of the 7 positive examples; at least 10 are needed, or a larger alpha
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", check_share(self.alpha, "alpha"))
        object.__setattr__(self, "beta", check_share(self.beta, "beta"))

    @property
    def area(self) -> float:
        """Geometric area of the corner, ``alpha * beta``."""
        return self.alpha * self.beta

    def holding_one(self, n_positive: int, n_negative: int) -> Region:
        """Return the region, widened if necessary until it selects at least one example of each class.

        Examples
        --------
        >>> Region(0.3, 0.3).holding_one(n_positive=2, n_negative=100)
        Region(alpha=0.5, beta=0.3)
        """
        check_count(n_positive, "n_positive")
        check_count(n_negative, "n_negative")
        return Region(
            self.alpha if hard_mass(n_positive, self.alpha) else 1.0 / n_positive,
            self.beta if hard_mass(n_negative, self.beta) else 1.0 / n_negative,
        )

    def hard_positives(self, n_positive: int) -> int:
        """Return ``k+``, the number of positives in the region; an error if there are none."""
        return _at_least_one(n_positive, self.alpha, "alpha", "positive")

    def hard_negatives(self, n_negative: int) -> int:
        """Return ``k-``, the number of negatives in the region; an error if there are none."""
        return _at_least_one(n_negative, self.beta, "beta", "negative")


def _at_least_one(n: int, share: float, name: str, side: str) -> int:
    count = hard_mass(check_count(n, f"n_{side}", at_least=0), share)
    if count == 0:
        needed = fewest_with_one(share)
        raise ValueError(
            f"{name}={share} selects none of the {n} {side} examples; at least {needed} are needed, or a larger {name}"
        )
    return count


def fewest_with_one(share: float) -> int:
    """Return the smallest number of examples of a class of which ``share`` selects at least one.

    Examples
    --------
    >>> fewest_with_one(0.3), fewest_with_one(1 - 0.9)
    (4, 10)
    """
    guess = math.floor(1.0 / (share + _ROUNDING))
    return next(enough for enough in itertools.count(guess) if hard_mass(enough, share) > 0)
