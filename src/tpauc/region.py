"""A rectangle of the ROC plot, most often its upper-left corner, and how many examples of a class lie in it.

A corner asks for ``TPR >= 1 - alpha`` and ``FPR <= beta``. Among ``n+`` positives and ``n-`` negatives it selects the
``k+ = floor(n+ * alpha)`` lowest-scored positives and the ``k- = floor(n- * beta)`` highest-scored negatives. A
rectangle leaves out the ``floor(n+ * min_alpha)`` and ``floor(n- * min_beta)`` hardest ones among them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from tpauc._validation import check_count, check_number, check_share

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


@dataclass(frozen=True, repr=False)
class Region:
    """The rectangle ``1 - alpha <= TPR <= 1 - min_alpha``, ``min_beta <= FPR <= beta``; a corner if both minima are 0.

    Every partial area is a region: TPAUC has both minima 0; the one-way partial AUC has ``alpha = 1``; the lower-left
    partial AUC of recommenders, ``TPR <= a``, has ``alpha = 1`` and ``min_alpha = 1 - a``.

    Parameters
    ----------
    alpha : float
        Share of the positives that may be missed, in (0, 1].
    beta : float
        Share of the negatives that may raise a false alarm, in (0, 1].
    min_alpha, min_beta : float, default=0.0
        Shares of the hardest positives and negatives that do not count, in [0, alpha) and [0, beta).

    Examples
    --------
    >>> region = Region(alpha=0.1, beta=0.05)
    >>> region.hard_positives(250), region.hard_negatives(10_000)
    (25, 500)
    >>> region.hard_positives(7)
    Traceback (most recent call last):
    ...
    ValueError: alpha=0.1 selects none of the 7 positive examples; at least 10 are needed, or a larger alpha
    >>> lower_left = Region(alpha=1, beta=0.2, min_alpha=0.5)
    >>> lower_left.hard_positives(250), lower_left.area
    (125, 0.1)
    """

    alpha: float
    beta: float
    min_alpha: float = 0.0
    min_beta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            upper = check_share(getattr(self, name), name)
            lower = check_number(getattr(self, f"min_{name}"), f"min_{name}")
            if not 0.0 <= lower < upper:
                raise ValueError(f"min_{name} must be in [0, {name}) = [0, {upper}), got {lower!r}")
            object.__setattr__(self, name, upper)
            object.__setattr__(self, f"min_{name}", lower)

    def __repr__(self) -> str:
        minima = "".join(
            f", {name}={value}" for name in ("min_alpha", "min_beta") if (value := getattr(self, name)) > 0.0
        )
        return f"Region(alpha={self.alpha}, beta={self.beta}{minima})"

    @property
    def area(self) -> float:
        """Geometric area, ``(alpha - min_alpha) * (beta - min_beta)``."""
        return (self.alpha - self.min_alpha) * (self.beta - self.min_beta)

    @property
    def is_corner(self) -> bool:
        """Whether both minima are 0."""
        return self.min_alpha == 0.0 == self.min_beta

    def signed_corners(self) -> Iterator[tuple[int, Region]]:
        """Yield the corners, with their signs, whose geometric areas add up to the area of the rectangle.

        Examples
        --------
        >>> list(Region(0.3, 0.2, min_beta=0.1).signed_corners())
        [(1, Region(alpha=0.3, beta=0.2)), (-1, Region(alpha=0.3, beta=0.1))]
        """
        for sign, alpha in ((1, self.alpha), (-1, self.min_alpha)):
            for other_sign, beta in ((1, self.beta), (-1, self.min_beta)):
                if alpha and beta:
                    yield sign * other_sign, Region(alpha, beta)

    def holding_one(self, n_positive: int, n_negative: int) -> Region:
        """Return the corner, widened if necessary until it selects at least one example of each class.

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
        """Return the number of positives in the region, ``k+`` for a corner; an error if there are none."""
        first, last = self.ranks_of_positives(n_positive)
        return last - first

    def hard_negatives(self, n_negative: int) -> int:
        """Return the number of negatives in the region, ``k-`` for a corner; an error if there are none."""
        first, last = self.ranks_of_negatives(n_negative)
        return last - first

    def ranks_of_positives(self, n_positive: int) -> tuple[int, int]:
        """Return the first hardness rank in the region, 0 for the hardest positive, and the first rank beyond it.

        Examples
        --------
        >>> Region(0.5, 0.5, min_alpha=0.1).ranks_of_positives(30)
        (3, 15)
        """
        return _ranks(n_positive, self.min_alpha, self.alpha, "alpha", "positive")

    def ranks_of_negatives(self, n_negative: int) -> tuple[int, int]:
        """Return the first hardness rank in the region, 0 for the hardest negative, and the first rank beyond it."""
        return _ranks(n_negative, self.min_beta, self.beta, "beta", "negative")


def _ranks(n: int, min_share: float, share: float, name: str, side: str) -> tuple[int, int]:
    last = hard_mass(check_count(n, f"n_{side}", at_least=0), share)
    if last == 0:
        needed = fewest_with_one(share)
        raise ValueError(
            f"{name}={share} selects none of the {n} {side} examples; at least {needed} are needed, or a larger {name}"
        )
    first = hard_mass(n, min_share) if min_share else 0  # the padding would count one of 2**51 examples
    if first == last:
        rates = "miss rates" if side == "positive" else "false positive rates"
        raise ValueError(f"no {side} lies between {rates} of {min_share} and {share}: there are only {n} {side}s")
    return first, last


def fewest_with_one(share: float) -> int:
    """Return the smallest number of examples of a class of which ``share`` selects at least one.

    Examples
    --------
    >>> fewest_with_one(0.3), fewest_with_one(1 - 0.9)
    (4, 10)
    """
    guess = math.floor(1.0 / (share + _ROUNDING))
    return next(enough for enough in itertools.count(guess) if hard_mass(enough, share) > 0)
