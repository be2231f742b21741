"""Figures on Bayes scoring, bounds and experiments: their numbers, drawings, and the way to the paper's own images."""

import io

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from tpauc.paper.figures import (
    FIGURES,
    bayes_limit,
    best_gamma,
    excess_risk_terms,
    experiments,
    gamma_sensitivity,
    inconsistency,
    make_figure,
    middle_order,
    opauc_comparison,
    truncation_losses,
    warmup_sensitivity,
)
from tpauc.paper.figures.experiments import Trial, loss_of, measure, request_of
from tpauc.paper.figures.small_training import LOSSES, MODELS, Budget, cells, new_model, square, trained_scores
from tpauc.paper.tables import Outcome
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.paper.theory.populations import TWO_KINDS_OF_HARD
from tpauc.region import Region

TINY = Budget(seeds=2, steps=3, warmup=1, n_positive=12, n_negative=40, side=12)
TRAINED = {
    "bayes-limit": bayes_limit,
    "gamma": gamma_sensitivity,
    "warm-up": warmup_sensitivity,
    "opauc": opauc_comparison,
    "truncation": truncation_losses,
    "best-gamma": best_gamma,
}
EXACT = {"inconsistency": inconsistency, "middle-order": middle_order, "excess-risk": excess_risk_terms}


@pytest.fixture(scope="module")
def tiny_rows():
    """Return the rows of a figure, computed once: by a tiny budget where something is trained."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = TRAINED[name].compute(TINY) if name in TRAINED else EXACT[name].rows(False)
        return made[name]

    return of


# -------------------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", [*TRAINED, *EXACT])
def test_a_figure_draws_its_rows_inside_the_picture(name, tiny_rows):
    rows = tiny_rows(name)
    assert all(list(row) == list(rows[0]) for row in rows)
    figure = FIGURES[name].draw(rows)
    assert isinstance(figure, Figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    with Image.open(buffer) as image:
        pixels = np.asarray(image.convert("L"))
    assert pixels.min() < 100
    for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        assert edge.min() == 255


@pytest.mark.parametrize("name", [*TRAINED, *EXACT])
def test_every_panel_is_labelled(name, tiny_rows):
    for axes in FIGURES[name].draw(tiny_rows(name)).axes:
        assert axes.get_title(loc="left")
        assert axes.get_xlabel() or axes.get_ylabel()


@pytest.mark.parametrize("name", TRAINED)
def test_trained_rows_repeat_and_are_shares(name, tiny_rows):
    rows = tiny_rows(name)
    assert all(0.0 <= row["tpauc"] <= 1.0 for row in rows)
    if name == "opauc":
        assert TRAINED[name].compute(TINY) == rows


def test_the_small_budget_is_the_default_and_full_is_passed_on(monkeypatch):
    for module in (gamma_sensitivity, warmup_sensitivity, opauc_comparison, truncation_losses, best_gamma):
        asked = []
        monkeypatch.setattr(module, "compute", lambda budget, asked=asked, **options: asked.append((budget, options)))
        module.rows(False)
        module.rows(True)
        assert [options["full"] for _, options in asked] == [False, True]


def test_the_command_makes_one(tmp_path):
    files = make_figure("inconsistency", tmp_path)
    assert files.png.stat().st_size > 10_000
    assert files.csv.read_text().startswith("series,x,y\n")


# ----------------------------------------------------------------------------------------------------------- theory


def test_the_crossing_curves_are_ordered_differently(tiny_rows):
    rows = tiny_rows("inconsistency")
    values = {name: [row["y"] for row in rows if row["series"] == name] for name in ("TPAUC", "OPAUC from the entry")}
    assert values["TPAUC"][0] > values["TPAUC"][1]
    assert values["OPAUC from the entry"][0] < values["OPAUC from the entry"][1]
    # A limit right of the crossing agrees on this pair, but never on the pair made against it.
    assert max(row["y"] for row in rows if row["series"] == "this pair") > 0.0
    assert max(row["y"] for row in rows if row["series"] == "a pair made for c") < 0.0


def test_nothing_in_the_bayes_figure_passes_eta(tiny_rows):
    rows = tiny_rows("bayes-limit")
    limit = {row["share"]: row["tpauc"] for row in rows if row["series"] == "eta"}
    assert set(limit) == set(bayes_limit.SHARES)
    for row in rows:
        assert row["tpauc"] <= limit[row["share"]] + 1e-12
    assert {row["model"] for row in rows if row["series"] in bayes_limit.TRAINED} == set(MODELS)


def test_only_the_middle_counts(tiny_rows):
    rows = tiny_rows("middle-order")
    for row in rows:
        assert row["loss"] == pytest.approx(row["predicted"], abs=1e-12)
        assert row["part"] == "middle" or abs(row["loss"]) < 1e-12
    assert max(row["loss"] for row in rows) > 0.02


def test_the_terms_fall_and_bound_what_is_measured(tiny_rows):
    rows = tiny_rows("excess-risk")
    series = {}
    for row in rows:
        series.setdefault(row["series"], []).append(row["value"])
    for name, values in series.items():
        assert (np.diff(values) < 0).all(), name
    measured = np.array(series["measured"])
    for name in ("decomposition, sharper", "decomposition, as printed"):
        assert (measured <= series[name]).all()
    assert (measured <= series["one fixed scorer"][: measured.size]).all()
    # Printed, Theorem 5 falls ten times as fast as with the K that its constant allows.
    printed, best = series["Theorem 5, as printed"], series["Theorem 5, best K"]
    assert printed[0] < best[0]
    assert best[-1] / printed[-1] > 10.0 * best[0] / printed[0]


# -------------------------------------------------------------------------------------------------- small trainings


def test_training_comes_near_the_limit():
    budget = Budget(seeds=1, steps=150, n_positive=200, n_negative=800, side=40)
    scores = trained_scores("net", LOSSES["CE-RW"](square(0.5)), warmup=0, seed=0, budget=budget)
    _, population = cells(budget.side)
    assert population.tpauc(scores, square(0.5)) > 0.9 * bayes_tpauc(population, square(0.5))


def test_a_line_cannot_follow_eta_where_a_net_can():
    budget = Budget(steps=200, n_positive=200, n_negative=800, side=40)
    _, population = cells(budget.side, TWO_KINDS_OF_HARD)
    linear, net = (
        population.tpauc(
            trained_scores(
                *(model, LOSSES["CE-RW"](square(0.3))), warmup=0, seed=0, budget=budget, mixture=TWO_KINDS_OF_HARD
            ),
            square(0.3),
        )
        for model in MODELS
    )
    assert net > linear + 0.1


def test_the_seed_decides_everything_and_global_random_numbers_nothing():
    scores = []
    for seed in (0, 0, 1):
        torch.manual_seed(len(scores))
        scores.append(trained_scores("net", LOSSES["SqAUC"](square(0.5)), warmup=0, seed=seed, budget=TINY))
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_the_warm_up_is_the_square_auc_loss():
    options = {"seed": 0, "budget": TINY}
    warm = trained_scores("net", LOSSES["TPAUC-Exp"](square(0.5)), warmup=TINY.steps, **options)
    plain = trained_scores("net", LOSSES["SqAUC"](square(0.5)), warmup=0, **options)
    np.testing.assert_array_equal(warm, plain)


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="model must be one of 'linear', 'net', got 'tree'"):
        new_model("tree", torch.Generator())


def test_a_loss_made_for_a_region_is_trained_for_each(monkeypatch):
    made_for = []

    def recorded(model, loss, **options):
        made_for.append(loss.objective.negative.share)
        return trained_scores(model, loss, **options)

    monkeypatch.setattr(experiments, "trained_scores", recorded)
    one = Budget(**{**TINY._asdict(), "seeds": 1})
    measure([Trial("TruncTPAUC")], [square(0.3), square(0.5)], budget=one, full=False)
    assert made_for == [0.3, 0.5]
    measure([Trial("TruncTPAUC")], [square(0.3), square(0.5)], budget=one, full=False, made_for=square(0.4))
    assert made_for == [0.3, 0.5, 0.4]


def test_best_values_are_those_of_the_largest_tpauc():
    rows = [
        {"method": "TPAUC-Poly", "value": value, "seed": seed, "beta": 0.4, "tpauc": tpauc}
        for value, seed, tpauc in ((0.1, 0, 0.5), (0.2, 0, 0.6), (0.1, 1, 0.9), (0.2, 1, 0.8))
    ]
    assert best_gamma.best_values(rows, "TPAUC-Poly", 0.4) == [0.2, 0.1]


# ----------------------------------------------------------------------------------------------- the paper's images


def test_trials_become_cells_of_the_tables():
    regions = [square(0.3), square(0.5)]
    request = request_of(Trial("TPAUC-Exp", 20.0, warmup=0.1), regions, seed=3)
    (cell,) = request.cells()
    assert (cell.dataset, cell.subset, cell.seed, cell.epochs) == ("cifar10-lt", 1, 3, 50)
    assert dict(cell.parameters) == {"gamma": 20.0, "warmup_epochs": 5}
    assert cell.regions == tuple(regions)


def test_truncation_on_images_is_trained_for_each_region_or_for_one():
    regions = [square(0.3), square(0.5)]
    each = request_of(Trial("TruncTPAUC", warmup=0.0), regions, seed=0).cells()
    assert [dict(cell.parameters)["alpha"] for cell in each] == [0.3, 0.5]
    (one,) = request_of(Trial("TruncTPAUC", warmup=0.0), regions, seed=0, made_for=square(0.4)).cells()
    assert dict(one.parameters) == {"alpha": 0.4, "beta": 0.4, "warmup_epochs": 0}


@pytest.mark.parametrize(
    "module", [gamma_sensitivity, warmup_sensitivity, opauc_comparison, truncation_losses, best_gamma]
)
def test_with_full_every_trial_is_a_cell_that_can_be_asked_for(module, monkeypatch):
    asked = []

    class Folder:
        def __init__(self, path, data_dir):
            pass

        def fill(self, request, say):
            asked.append(request)
            results = [FakeResult(region) for cell in request.cells() for region in cell.regions]
            return Outcome(results=results)

    monkeypatch.setattr(experiments, "TableFolder", Folder)
    rows = module.rows(True)
    assert asked
    assert {row["data"] for row in rows} == {"cifar10-lt-1"}
    assert FIGURES[next(name for name, other in TRAINED.items() if other is module)].draw(rows).axes


class FakeResult:
    def __init__(self, region):
        self.region, self.tpauc = region, 0.5


def test_cells_that_are_not_finished_are_named(monkeypatch):
    monkeypatch.setattr(experiments.TableFolder, "fill", lambda *_, **__: Outcome(diverged={"SqAUC, seed 0": "NaN"}))
    with pytest.raises(RuntimeError, match=r"not all cells of the figure are trained: .*SqAUC, seed 0"):
        measure([Trial("SqAUC")], [square(0.3)], budget=TINY, full=True)


def test_the_usual_loss_is_taken_without_a_value():
    assert type(loss_of(Trial("TruncTPAUC"), Region(0.2, 0.4))).__name__ == "TruncatedLoss"
    assert loss_of(Trial("TPAUC-Poly", 0.5), square(0.3)).objective.negative.exponent == pytest.approx(0.5)
