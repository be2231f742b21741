"""Are the numbers of plan_study right? Simulates studies of the planned size and prints what they would have needed.

    python benchmarks/planning.py [studies] [file]

Each case has its own seed. With a file, its line is appended when it is done, and cases that are there already are not
run again: stop and start as you like.

For a half width: the mean half width of `tpauc_interval` over the studies. It falls with the square root of the rows,
so ``planned * (mean / wanted)^2`` positives are needed. For a difference: the share of studies in which `compare_tpauc`
finds it at 5 %, and the positives that the wanted share needs if the power follows the normal formula. New normal
scores are drawn for each study, and rows of the pilot where there is one. 400 studies take about 10 minutes.
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from statistics import NormalDist

import numpy as np

from tpauc import Region, compare_tpauc, plan_study, tpauc_interval
from tpauc.metrics.study_planning import binormal_shift

Z = NormalDist()
REGIONS = [(0.3, 0.3), (0.1, 0.05)]


def normal_study(generator, n_positive, n_negative, shifts, spread, correlation):
    """Labels, and scores of one or two models."""
    y = np.arange(n_positive + n_negative) < n_positive
    first, other = generator.normal(size=(2, y.size))
    noise = [first, correlation * first + np.sqrt(1 - correlation**2) * other]
    return y, *(np.where(y, shift + spread * z, z) for shift, z in zip(shifts, noise, strict=False))


def resampled_study(generator, n_positive, n_negative, y, *scores):
    sides = [
        generator.choice(np.flatnonzero(y == side), size) for side, size in ((True, n_positive), (False, n_negative))
    ]
    rows = np.concatenate(sides)
    return y[rows], *(s[rows] for s in scores)


def mean_half_width(plan, draw, studies, generator):
    found = [
        tpauc_interval(*draw(plan), alpha=plan.alpha, beta=plan.beta, random_state=generator) for _ in range(studies)
    ]
    return np.mean([(interval.high - interval.low) / 2 for interval in found])


def share_found(plan, draw, studies, generator):
    region = {"alpha": plan.alpha, "beta": plan.beta}
    return np.mean(
        [compare_tpauc(*draw(plan), **region, random_state=generator).p_value <= 0.05 for _ in range(studies)]
    )


def check(plan, draw, studies, generator):
    """Return what studies of the planned size found, as text."""
    if plan.half_width is not None:
        mean = mean_half_width(plan, draw, studies, generator)
        needed = plan.n_positive * (mean / plan.half_width) ** 2
        result = f"mean half width {mean:.4f} where {plan.half_width} is wanted"
    else:
        share = share_found(plan, draw, studies, generator)
        wanted, reached = (Z.inv_cdf(0.975) + Z.inv_cdf(value) for value in (plan.power, share))
        needed = plan.n_positive * (wanted / reached) ** 2
        result = f"power {share:.1%} where {plan.power:.0%} is wanted"
    return f"{plan.n_positive} planned, {result}, needed {needed:.0f} ({plan.n_positive / needed - 1:+.1%})"


def half_width_case(studies, generator, alpha, beta, tpauc, spread, half_width):
    plan = plan_study(alpha, beta, tpauc=tpauc, half_width=half_width, spread=spread)
    shift = binormal_shift(tpauc, spread, Region(alpha, beta))

    def draw(plan):
        return normal_study(generator, plan.n_positive, plan.n_negative, [shift], spread, 0.0)

    return check(plan, draw, studies, generator)


def difference_case(studies, generator, alpha, beta, tpauc, difference, correlation):
    plan = plan_study(alpha, beta, tpauc=tpauc, difference=difference, correlation=correlation)
    shifts = [binormal_shift(value, 1.0, Region(alpha, beta)) for value in (tpauc, tpauc + difference)]

    def draw(plan):
        return normal_study(generator, plan.n_positive, plan.n_negative, shifts, 1.0, correlation)

    return check(plan, draw, studies, generator)


def pilot_case(studies, generator):
    pilot = normal_study(generator, 200, 2000, [2.0], 1.0, 0.0)
    plan = plan_study(0.3, 0.3, pilot=pilot, half_width=0.05)
    return check(
        plan, lambda plan: resampled_study(generator, plan.n_positive, plan.n_negative, *pilot), studies, generator
    )


def cases():
    """Yield the title of each case, what runs it, and its parameters."""
    for alpha, beta in REGIONS:
        for tpauc, difference, correlation in ((0.6, 0.15, 0.5), (0.8, 0.1, 0.5), (0.6, 0.15, 0.9)):
            title = f"({alpha}, {beta}) TPAUC {tpauc} + {difference}, correlation {correlation}"
            yield title, difference_case, (alpha, beta, tpauc, difference, correlation)
        for tpauc, spread, half_width in ((0.9, 1.0, 0.05), (0.3, 1.0, 0.1), (0.6, 1.0, 0.1), (0.6, 2.0, 0.1)):
            title = f"({alpha}, {beta}) TPAUC {tpauc}, spread {spread}"
            yield title, half_width_case, (alpha, beta, tpauc, spread, half_width)
    yield "pilot of 200 positives", pilot_case, ()


def main():
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    done = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    for title, case, parameters in cases():
        if any(line.startswith(f"{title}: ") for line in done):
            continue
        generator = np.random.default_rng(zlib.crc32(title.encode()))
        line = f"{title}: {case(studies, generator, *parameters)}"
        print(line, flush=True)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
