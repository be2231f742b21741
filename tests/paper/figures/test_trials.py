"""Trials of figures: small trainings on the plane, and cells of the tables on the paper's images."""

import dataclasses
import json
import re
from pathlib import Path
from statistics import median

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from paper_runs import small_network
from tpauc import Anchored, Exponential, Polynomial, TPAUCLoss, Uniform
from tpauc.cli import reproduce_figure
from tpauc.cli.main import app
from tpauc.losses.baselines import ReweightedCrossEntropy
from tpauc.paper.experiments import table_folder
from tpauc.paper.experiments.backbones import BACKBONES
from tpauc.paper.experiments.methods import METHODS, Place
from tpauc.paper.experiments.published import BEST
from tpauc.paper.figures import (
    FIGURES,
    catalogue,
    make_figure,
    trials,
)
from tpauc.paper.figures.figure import Experiment, Trial, new_canvas
from tpauc.paper.figures.trials import (
    MODELS,
    USUAL,
    Budget,
    ImageRuns,
    cells,
    loss_of,
    measure_on_plane,
    new_model,
    parameters_of,
    requests_of,
    square,
    trained_scores,
    workload_of,
)
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.paper.theory.populations import TWO_KINDS_OF_HARD
from tpauc.region import Region
from tpauc.training import TrainingDivergedError

# --------------------------------------------------------------------------------------------------------- on the plane


TINY = Budget(seeds=2, steps=3, warmup=1, n_positive=12, n_negative=40, side=20)


def usual_loss(method, budget=TINY):
    return loss_of(method, parameters_of(method, square(0.5), budget), budget)


def test_training_comes_near_the_limit():
    budget = Budget(seeds=1, steps=150, n_positive=200, n_negative=800, side=40)
    scores = trained_scores("net", usual_loss("CE-RW", budget), warmup=0, seed=0, budget=budget)
    _, population = cells(budget.side)
    assert population.tpauc(scores, square(0.5)) > 0.9 * bayes_tpauc(population, square(0.5))


def test_a_line_cannot_follow_eta_where_a_net_can():
    budget = Budget(steps=200, n_positive=200, n_negative=800, side=40)
    _, population = cells(budget.side, TWO_KINDS_OF_HARD)
    linear, net = (
        population.tpauc(
            trained_scores(
                *(model, usual_loss("CE-RW", budget)), warmup=0, seed=0, budget=budget, mixture=TWO_KINDS_OF_HARD
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
        scores.append(trained_scores("net", usual_loss("SqAUC"), warmup=0, seed=seed, budget=TINY))
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_the_warm_up_is_the_square_auc_loss():
    options = {"seed": 0, "budget": TINY}
    warm = trained_scores("net", usual_loss("TPAUC-Exp"), warmup=TINY.steps, **options)
    plain = trained_scores("net", usual_loss("SqAUC"), warmup=0, **options)
    np.testing.assert_array_equal(warm, plain)


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="model must be one of 'linear', 'net', got 'tree'"):
        new_model("tree", torch.Generator())


def test_the_usual_parameters_are_in_the_middle_of_the_papers():
    for weighting, name in (("Poly", "exponent"), ("Exp", "gamma")):
        rows = [best for subsets in BEST.values() for row in subsets[weighting].values() for best in row]
        assert len(rows) == 27
        assert USUAL[name] == median(best.value for best in rows)


LOGISTIC = {"surrogate": "logistic", "scores": "logit"}
LAST_LOSSES = {
    "CE-RW": ReweightedCrossEntropy(12, 40),
    "SqAUC": TPAUCLoss(Uniform()),
    "OP-Poly": TPAUCLoss(Uniform(), Polynomial.from_exponent(0.03)),
    "OP-Exp": TPAUCLoss(Uniform(), Exponential(15.0)),
    "TPAUC-Poly": TPAUCLoss(Polynomial.from_exponent(0.03)),
    "TPAUC-Exp": TPAUCLoss(Exponential(15.0)),
    "LogisticAUC": TPAUCLoss(Uniform(), **LOGISTIC),
    "anchored": TPAUCLoss(Anchored(0.3, 0.3, 0.3), **LOGISTIC),
}


@pytest.mark.parametrize("method", LAST_LOSSES)
def test_a_name_means_the_loss_that_the_table_of_methods_says(method):
    generator = torch.Generator().manual_seed(0)
    logits, labels = 3 * torch.randn(TINY.n_positive + TINY.n_negative, generator=generator), torch.arange(52) < 12
    loss = loss_of(method, parameters_of(method, square(0.3), TINY), TINY)
    first, last = LAST_LOSSES["LogisticAUC" if method == "anchored" else method], LAST_LOSSES[method]
    for step, expected in ((0, first), (TINY.steps - 1, last)):
        if hasattr(loss, "set_epoch"):
            loss.set_epoch(step)
        assert loss(logits, labels) == expected(logits, labels)


def test_no_two_of_these_losses_have_the_same_value():
    logits, labels = torch.linspace(-3, 3, 52), torch.arange(52) % 4 == 0
    values = [loss(logits, labels).item() for loss in LAST_LOSSES.values()]
    assert len(set(values)) == len(LAST_LOSSES)


def test_anchored_trains_on_logits_and_begins_with_the_logistic_loss():
    loss = usual_loss("anchored", Budget(steps=10))
    plain = usual_loss("LogisticAUC")
    logits, labels = torch.linspace(-3, 3, 40), torch.arange(40) % 4 == 0
    values = []
    for step in (0, 4, 5):
        loss.set_epoch(step)
        values.append(loss(logits, labels) == plain(logits, labels))
    assert values == [True, True, False]


def test_a_loss_made_for_a_region_is_trained_for_each(monkeypatch):
    made_for = []

    def recorded(model, loss, **options):
        made_for.append(loss.objective.negative.share)
        return trained_scores(model, loss, **options)

    monkeypatch.setattr(trials, "trained_scores", recorded)
    one = Budget(**{**TINY._asdict(), "seeds": 1})
    experiment = Experiment([Trial("TruncTPAUC")], [square(0.3), square(0.5)])
    measure_on_plane(experiment, one)
    assert made_for == [0.3, 0.5]
    rows = measure_on_plane(dataclasses.replace(experiment, by_opauc=True), one)
    assert made_for == [0.3, 0.5, 0.3, 0.5]  # for both measures the same
    assert [(row["alpha"], row["beta"]) for row in rows] == [(0.3, 0.3), (1.0, 0.3), (0.5, 0.5), (1.0, 0.5)]


def test_a_loss_that_knows_no_region_is_trained_once(monkeypatch):
    trained = []

    def recorded(model, loss, **options):
        trained.append((loss, options["warmup"]))
        return trained_scores(model, loss, **options)

    monkeypatch.setattr(trials, "trained_scores", recorded)
    one = Budget(**{**TINY._asdict(), "seeds": 1})
    # The paper has another exponent and another warm-up for each of these regions.
    chosen = [Trial("TPAUC-Poly", warmup=0.34), Trial("TPAUC-Poly", 0.5, 0.3), Trial("SqAUC", warmup=0.34)]
    rows = measure_on_plane(Experiment(chosen, [square(0.3), square(0.4), square(0.5)]), one)
    assert [warmup for _, warmup in trained] == [1, 1, 0]
    assert [loss.objective.negative.exponent for loss, _ in trained[:2]] == pytest.approx([0.03, 0.5])
    assert [row["value"] for row in rows[::3]] == ["", 0.5, ""]


def test_each_class_gets_its_own_gamma(monkeypatch):
    losses = []

    def recorded(model, loss, **options):
        losses.append(loss.objective)
        return trained_scores(model, loss, **options)

    monkeypatch.setattr(trials, "trained_scores", recorded)
    trial = Trial("TPAUC-Exp-two-sided", 5.0, negative_value=9.0)
    (row,) = measure_on_plane(Experiment([trial], [square(0.5)]), Budget(**{**TINY._asdict(), "seeds": 1}))
    assert (losses[0].positive.gamma, losses[0].negative.gamma) == (5.0, 9.0)
    assert (row["value"], row["negative_value"]) == (5.0, 9.0)


# ------------------------------------------------------------------------------------------------------------ on images


def legend_names(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


NOWHERE = ImageRuns(Path("nowhere"), Path("nowhere"))
TWO = Experiment([Trial("SqAUC"), Trial("TPAUC-Poly", 0.5, warmup=0.0)], [square(0.5)])


def test_trials_become_cells_of_the_tables():
    regions = [square(0.3), square(0.5)]
    (request,) = requests_of(Experiment([Trial("TPAUC-Exp", 20.0, warmup=0.1)], regions), NOWHERE)
    (cell,) = request.cells()
    assert (cell.dataset, cell.subset, cell.seed, cell.epochs) == ("cifar10-lt", 1, 0, 50)
    assert dict(cell.parameters) == {"gamma": 20.0, "warmup_epochs": 5}
    assert cell.regions == tuple(regions)


def test_a_value_that_is_the_papers_best_in_one_region_is_kept_in_the_others():
    best = Experiment([Trial("TPAUC-Poly", 0.1, warmup=0.0)], [square(0.3), square(0.5)])
    (cell,) = requests_of(best, NOWHERE)[0].cells()
    assert dict(cell.parameters) == {"exponent": 0.1, "warmup_epochs": 0}


def test_truncation_on_images_is_trained_for_each_region():
    each = Experiment([Trial("TruncTPAUC", warmup=0.0)], [square(0.3), square(0.5)])
    assert [dict(cell.parameters)["alpha"] for cell in requests_of(each, NOWHERE)[0].cells()] == [0.3, 0.5]


def test_one_training_on_images_serves_tpauc_and_opauc():
    both = Experiment([Trial("TruncTPAUC", warmup=0.0), Trial("OP-Exp")], [square(0.3), square(0.5)], by_opauc=True)
    cells = [cell for request in requests_of(both, NOWHERE) for cell in request.cells()]
    assert [cell.regions for cell in cells[:2]] == [(square(b), Region(1.0, b)) for b in (0.3, 0.5)]
    assert [dict(cell.parameters) for cell in cells] == [
        {"alpha": 0.3, "beta": 0.3, "warmup_epochs": 0},
        {"alpha": 0.5, "beta": 0.5, "warmup_epochs": 0},
        *(METHODS["OP-Exp"].parameters(Place("cifar10-lt", 1, square(b), 50)) for b in (0.3, 0.5)),
    ]


@pytest.mark.parametrize(
    ("name", "warmups"), [("two-gammas", {35}), ("opauc", {3, 5, 10, 15, 35}), ("best-gamma", {15})]
)
def test_warmups_on_images_are_the_papers(name, warmups):
    requests = requests_of(FIGURES[name].on_images, NOWHERE)
    parameters = [dict(cell.parameters) for request in requests for cell in request.cells()]
    assert {known["warmup_epochs"] for known in parameters if "warmup_epochs" in known} == warmups


def test_what_each_figure_trains_on_images():
    work = {name: workload_of(made.on_images, NOWHERE) for name, made in FIGURES.items() if made.on_images}
    assert {name: (one.dataset, one.trainings, one.epochs_left) for name, one in work.items()} == {
        "gamma": ("cifar10-lt", 127, 6350),
        "two-gammas": ("cifar100-lt", 98, 4900),
        "warm-up": ("cifar10-lt", 154, 7700),
        "opauc": ("cifar100-lt", 22, 1100),  # the paper's best parameters are the same in some regions
        "truncation": ("cifar100-lt", 27, 1350),
        "best-gamma": ("cifar100-lt", 19, 950),
    }
    assert str(work["opauc"]) == "22 trainings of 50 epochs on CIFAR-100-LT, subset 1; 1,100 epochs are left"
    trainings = [one.trainings for one in work.values()]
    text = " ".join(run("--help").stdout.replace("│", " ").split())
    assert f"{min(trainings)} to {max(trainings)} networks" in text


def test_the_data_set_can_be_chosen():
    runs = NOWHERE._replace(dataset="tiny-imagenet", subset=3)
    assert {(one.dataset, one.subset) for one in requests_of(FIGURES["gamma"].on_images, runs)} == {
        ("tiny-imagenet", 3)
    }


@pytest.mark.parametrize("name", [name for name, made in FIGURES.items() if made.on_images])
def test_what_is_trained_on_images_can_be_drawn(name):
    experiment = FIGURES[name].on_images
    rows = [
        trial.row(data="images", seed=0, region=region, tpauc=0.5, limit="")
        for trial in experiment.trials
        for region in experiment.regions
    ]
    figure = FIGURES[name].draw(rows)
    assert "eta, the limit" not in legend_names(figure)


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", "figure", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def short(tmp_path, data_dir, monkeypatch):
    """Let the gamma figure train two small networks for one epoch; return the options that say where."""

    def draw(rows):
        return new_canvas(1, 1)[0]

    small = dataclasses.replace(FIGURES["gamma"], on_images=TWO, draw=draw)
    monkeypatch.setitem(catalogue.FIGURES, "gamma", small)
    monkeypatch.setitem(BACKBONES, "cifar10-lt", small_network)
    monkeypatch.setattr(trials, "EPOCHS", 1)
    monkeypatch.chdir(tmp_path)
    return ("--full", "--out", tmp_path / "figures", "--data-dir", data_dir)


def test_a_full_figure_trains_below_its_folder_and_says_first_how_much(short, tmp_path):
    done = run("gamma", *short, "--threads", torch.get_num_threads())
    assert done.exit_code == 0, done.stderr
    said = done.stderr.splitlines()
    assert said[1] == "tpauc: figure gamma: 2 trainings of 1 epochs on CIFAR-10-LT, subset 1; 2 epochs are left"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["gamma.csv", "gamma.png", "table"]
    head, *rows = (tmp_path / "figures" / "gamma.csv").read_text().splitlines()
    assert head == "data,method,value,negative_value,warmup,seed,alpha,beta,tpauc,limit"
    assert [row.split(",")[:3] for row in rows] == [
        ["cifar10-lt-1", "SqAUC", ""],
        ["cifar10-lt-1", "TPAUC-Poly", "0.5"],
    ]
    again = run("gamma", *short, "--overwrite")
    assert "2 trainings of 1 epochs on CIFAR-10-LT, subset 1; 0 epochs are left" in again.stderr
    assert (tmp_path / "figures" / "gamma.csv").read_text().splitlines() == [head, *rows]


def test_a_plan_trains_nothing(short, tmp_path):
    done = run("gamma", *short, "--plan")
    assert done.exit_code == 0, done.stderr
    pattern = r"gamma: 2 trainings of 1 epochs on CIFAR-10-LT, subset 1; 2 epochs are left, about \d+ \w+\n"
    assert re.fullmatch(pattern, done.stdout)
    assert list(tmp_path.iterdir()) == []
    assert run("gamma", *short).exit_code == 0
    (planned,) = json.loads(run("gamma", *short, "--plan", "--json").stdout)
    assert planned == {
        "name": "gamma",
        "dataset": "cifar10-lt",
        "subset": 1,
        "trainings": 2,
        "epochs_left": 0,
        "seconds": 0,
    }


def test_the_plan_of_a_figure_without_images():
    assert run("saddle", "--full", "--plan").stdout == "saddle: trains nothing on images\n"
    (planned,) = json.loads(run("saddle", "--full", "--plan", "--json").stdout)
    assert planned == {"name": "saddle", "trainings": 0, "epochs_left": 0, "seconds": 0}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            BlockingIOError(11, "another process is training"),
            "another process is busy with 2 of 2 trainings, the first is SqAUC, seed 0; give the same command again",
        ),
        (
            TrainingDivergedError(1, 2, "the loss is nan", None),
            "2 of 2 trainings have failed, the first is SqAUC, seed 0: training stopped in epoch 1 at step 2",
        ),
    ],
)
def test_cells_that_are_not_finished_are_no_fault_of_the_program(short, tmp_path, monkeypatch, error, message):
    def fails(*arguments, **options):
        raise error

    monkeypatch.setattr(table_folder, "train_cell", fails)
    done = run("gamma", *short)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith(f"tpauc: error: not made: gamma: {message}")
    assert "report" not in done.stderr
    assert not (tmp_path / "figures" / "gamma.png").exists()


def test_one_unfinished_figure_does_not_keep_the_others(short, tmp_path, monkeypatch):
    def fails(*arguments, **options):
        raise BlockingIOError(11, "another process is training")

    monkeypatch.setattr(table_folder, "train_cell", fails)
    monkeypatch.setattr(reproduce_figure, "_chosen", lambda name: ["gamma", "saddle"])
    done = run("all", *short)
    assert done.exit_code == 1
    assert done.stdout == f"{tmp_path / 'figures' / 'saddle.png'}  {tmp_path / 'figures' / 'saddle.csv'}\n"
    assert done.stderr.splitlines()[-1].startswith("tpauc: error: not made: gamma: another process is busy")


def test_images_that_are_not_there_are_named(short, tmp_path):
    done = run("gamma", *short[:-1], tmp_path / "empty")
    assert done.exit_code == 1
    assert "run: tpauc data fetch cifar10 --data-dir" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gamma", "--plan"], "--plan is about the images of --full; give that as well"),
        (["gamma", "--dataset", "cifar10-lt"], "--dataset is about the images of --full; give that as well"),
        (["gamma", "--subset", "2"], "--subset is about the images of --full; give that as well"),
        (["gamma", "--full", "--dataset", "mnist"], "--dataset must be one of 'cifar10-lt', 'cifar100-lt', "),
    ],
)
def test_what_was_typed_wrong_about_images(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dataset": "mnist"}, ValueError, "^dataset must be one of 'cifar10-lt', 'cifar100-lt', 'tiny-imagenet', got"),
        ({"subset": 4}, ValueError, r"^subset must be one of 1, 2, 3, got 4$"),
        ({"data_dir": 3}, TypeError, r"^data_dir must be a path, got 3$"),
    ],
)
def test_wrong_images(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        make_figure("areas", tmp_path, **arguments)
