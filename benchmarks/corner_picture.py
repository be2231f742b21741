"""The picture of the corner in the README: the three models of `tpauc demo`, `docs/corner.png`.

Run it with ``python benchmarks/corner_picture.py``. It trains for some seconds and prints the TPAUC of each model.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from pathlib import Path

from matplotlib.figure import Figure

from tpauc import ROCRegionDisplay
from tpauc.cli.demo import OURS, REGION, models_by_name, three_parts
from tpauc.reporting.panels import COLOURS

STYLE = {"solid": COLOURS["model-0"][0], "dashed": COLOURS["model-1"][0], "dotted": COLOURS["model-4"][0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/corner.png"))
    out = parser.parse_args().out
    (X, y), _, (X_test, y_test) = three_parts()
    scores = {name: trained(X, y)(X_test) for name, trained in models_by_name().items()}
    figure = Figure(figsize=(9.6, 4.9), layout="constrained")
    whole, corner = figure.subplots(1, 2)
    for (line, colour), (name, score) in zip(STYLE.items(), reversed(scores.items()), strict=True):
        for ax in (whole, corner):
            display = ROCRegionDisplay.from_predictions(
                y_test,
                score,
                alpha=REGION.alpha,
                beta=REGION.beta,
                name=name,
                ax=ax,
                zoom=ax is corner,
                curve_kwargs={"color": colour, "linestyle": line, "lw": 1.8},
            )
            if name != OURS and display.area_ is not None:
                display.area_.remove()
        print(f"{name}: TPAUC {display.tpauc:.4f}")
    whole.set_title("The whole ROC plot: three good models", loc="left", fontsize=11)
    corner.set_title("The corner where a detector works", loc="left", fontsize=11)
    whole.get_legend().remove()
    corner.legend(loc="lower right", fontsize=9)
    caught, alarms = 100 * (1 - REGION.alpha), 100 * REGION.beta
    whole.annotate(
        f"the corner: at least {caught:g} % found,\nat most {alarms:g} % false alarms",
        xy=(REGION.beta, 1 - REGION.alpha / 2),
        xytext=(0.3, 0.66),
        arrowprops={"arrowstyle": "->", "color": COLOURS["ink"][0]},
        fontsize=10,
    )
    figure.savefig(out, dpi=110, metadata={"Software": None})
    print(f"written: {out}")


if __name__ == "__main__":
    main()
