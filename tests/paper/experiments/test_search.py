"""The search: by validation TPAUC alone, over the paper's grids, shared, and resumed after a stop."""

import json
import os
import platform

import optuna
import pytest
from typer.testing import CliRunner

from paper_runs import request, small_network
from tpauc.cli.main import app
from tpauc.metrics.area import tpauc_score
from tpauc.paper.data.datasets import load_splits
from tpauc.paper.experiments import search as searching
from tpauc.paper.experiments.backbones import BACKBONES
from tpauc.paper.experiments.cell_training import Trained
from tpauc.paper.experiments.results import ScoreFolder
from tpauc.paper.experiments.search import (
    Search,
    StorageError,
    search_space,
    study_name,
)
from tpauc.region import Region
from tpauc.training import TrainingDivergedError
from tpauc.training.exceptions import interrupted
from training_runs import start

REGION = (Region(0.5, 0.5),)


@pytest.fixture(autouse=True)
def quiet_optuna():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def wanted(**settings):
    return request(**{"methods": ("TPAUC-Poly",), "epochs": 1, "regions": REGION, **settings})


def study(out, data_dir, **settings):
    storage = settings.pop("storage", None)
    return Search(wanted(**settings), out, data_dir, storage=storage, backbone=small_network)


def trials_in(search, *states):
    return search._study.get_trials(states=states or None)


def silent(line):
    """Say nothing."""


# ------------------------------------------------------------------------------------------------------- the study


def test_space_and_name_follow_from_the_request():
    assert list(search_space(wanted(methods=("TPAUC-Poly-two-sided",)))) == [
        *("positive_exponent", "negative_exponent", "warmup_epochs")
    ]
    assert search_space(wanted(methods=("Minmax-Exp",), epochs=5)) == {
        "gamma": (0.1, 1.0, 10.0, 20.0, 25.0, 30.0, 35.0),
        "warmup_epochs": (0, 3),
    }
    assert search_space(wanted(methods=("anchored",), epochs=8)) == {
        "plain_epochs": (0, 2, 4, 6),
        "tau": (0.03, 0.1, 0.3, 1.0),
    }
    assert search_space(wanted(methods=("KL",), epochs=8, parameters={"plain_epochs": 4})) == {
        "tau": (0.1, 1.0, 10.0),
        "lam": (0.1, 1.0, 10.0),
    }
    assert list(search_space(wanted(methods=("CVaR",), epochs=8))) == ["plain_epochs"]
    fixed = wanted(parameters={"warmup_epochs": 0})
    assert list(search_space(fixed)) == ["exponent"]
    assert study_name(fixed) != study_name(wanted())
    names = [study_name(wanted(**change)) for change in ({}, {"seeds": (1,)}, {"epochs": 2}, {"recipe": "strong"})]
    assert len(set(names)) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": ("SqAUC",)}, "SqAUC has no parameters to search"),
        ({"methods": ("TPAUC-Poly", "TPAUC-Exp")}, "a search takes one of methods, got 2: TPAUC-Poly, TPAUC-Exp"),
        ({"seeds": (0, 1)}, "a search takes one of seeds, got 2: 0, 1"),
        ({"regions": (Region(0.3, 0.3), Region(0.4, 0.4))}, "a search takes one of regions, got 2"),
    ],
)
def test_what_cannot_be_searched(tmp_path, data_dir, settings, message):
    with pytest.raises(ValueError, match=message):
        study(tmp_path, data_dir, **settings)


def test_trials_are_trained_and_the_best_is_found(tmp_path, data_dir):
    search = study(tmp_path, data_dir)
    found = search.run(4, say=silent, progress=False)
    assert found.trials == 4
    assert found.parameters.keys() == {"exponent", "warmup_epochs"}
    splits = load_splits("cifar10-lt", subset=1, data_dir=data_dir)
    values = []
    for trial in trials_in(search, optuna.trial.TrialState.COMPLETE):
        (cell,) = wanted(parameters=trial.params).cells()
        scores = ScoreFolder(cell.folder(tmp_path) / "scores").read(1)
        values.append(tpauc_score(splits.validation[1], scores.validation, alpha=0.5, beta=0.5))
        assert trial.value == values[-1]
    assert found.validation_tpauc == max(values)
    assert not (tmp_path / "results.csv").exists()  # nothing was measured on test data


def test_a_study_goes_on_and_is_shared(tmp_path, data_dir):
    storage = f"sqlite:///{tmp_path / 'shared.db'}"
    study(tmp_path / "a", data_dir, storage=storage).run(2, say=silent, progress=False)
    other = study(tmp_path / "b", data_dir, storage=storage)
    assert other.run(2, say=silent, progress=False).trials == 2
    assert not (tmp_path / "b").exists()
    assert other.run(3, say=silent, progress=False).trials == 3


@pytest.mark.parametrize("name", ["a?b", "a%41", "a#b", "ä b"])
def test_the_study_is_kept_in_the_folder_whatever_its_name(tmp_path, data_dir, name):
    study(tmp_path / name, data_dir)
    assert (tmp_path / name / "search.db").stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


def unopenable(tmp_path):
    """Return storages that cannot be opened, each with what is wrong."""
    (tmp_path / "text.db").write_text("no database " * 100)
    return {
        "nonsense": "Could not parse",
        f"sqlite:///{tmp_path / 'no folder' / 'x.db'}": "unable to open database file",
        f"sqlite:///{tmp_path / 'text.db'}": "file is not a database",
        "nosuchdialect://host/base": "Can't load plugin",
    }


def test_a_storage_that_cannot_be_opened(tmp_path, data_dir):
    for storage, reason in unopenable(tmp_path).items():
        with pytest.raises(StorageError, match=r"^storage must be the URL of a database") as caught:
            study(tmp_path, data_dir, storage=storage)
        assert f"got {storage!r} (" in str(caught.value)
        assert reason in str(caught.value)
        assert "\n" not in str(caught.value)


def test_no_password_in_the_message(tmp_path, data_dir):
    with pytest.raises(StorageError, match=r"got 'nosuchdialect://me:\.\.\.@host/base'") as caught:
        study(tmp_path, data_dir, storage="nosuchdialect://me:pass@word@host/base")
    assert "word" not in str(caught.value)


def test_a_region_that_cannot_be_measured_is_found_before_training(tmp_path, data_dir):
    search = study(tmp_path, data_dir, regions=(Region(0.01, 0.5),))
    with pytest.raises(ValueError, match=r"\(0\.01, 0\.5\) cannot be measured on the validation data: alpha=0\.01"):
        search.run(1, say=silent)
    assert trials_in(search) == []
    assert not (tmp_path / "runs").exists()


def test_the_count_of_trials_is_checked(tmp_path, data_dir):
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        study(tmp_path, data_dir).run(0)


# --------------------------------------------------------------------------------------------- what may happen to it


def fake_training(monkeypatch, *happenings):
    """Let one training after the other raise what is given, or succeed with a validation TPAUC of 0.5."""
    left = list(happenings)

    def train(cell, *arguments, **options):
        if isinstance(happening := left.pop(0), BaseException):
            raise happening
        return Trained(None, None, [])

    monkeypatch.setattr(searching, "train_cell", train)
    monkeypatch.setattr(searching, "best_epoch", lambda *arguments: (1, 0.5))
    monkeypatch.setattr(searching, "_SECONDS_TO_WAIT", 0.0)


def test_an_interrupted_trial_is_tried_again_first(tmp_path, data_dir, monkeypatch):
    fake_training(monkeypatch, interrupted(15, "in epoch 1", None), "done")
    search = study(tmp_path, data_dir)
    with pytest.raises(SystemExit):
        search.run(1, say=silent)
    again = study(tmp_path, data_dir)
    again.run(1, say=silent)
    failed, finished = trials_in(again)
    assert failed.state == optuna.trial.TrialState.FAIL
    assert finished.state == optuna.trial.TrialState.COMPLETE
    assert finished.params == failed.params


def test_a_trial_of_a_killed_process_is_tried_again_first(tmp_path, data_dir, monkeypatch):
    fake_training(monkeypatch, "done")
    search = study(tmp_path, data_dir)
    dead = start(silent, "")
    dead.join()
    lost, alive, foreign = (search._study.ask() for _ in range(3))
    lost.set_user_attr("process", f"{platform.node()} {dead.pid}")
    alive.set_user_attr("process", f"{platform.node()} {os.getppid()}")
    foreign.set_user_attr("process", f"another machine {dead.pid}")
    lost.suggest_categorical("exponent", search._space["exponent"])
    search.run(1, say=silent)
    states = [trial.state.name for trial in trials_in(search)]
    assert states == ["FAIL", "RUNNING", "RUNNING", "COMPLETE"]
    assert trials_in(search)[3].params["exponent"] == lost.params["exponent"]


def test_what_another_process_trains_is_left_to_it(tmp_path, data_dir, monkeypatch):
    fake_training(monkeypatch, BlockingIOError(11, "another process is training"), "done")
    lines = []
    search = study(tmp_path, data_dir)
    assert search.run(1, say=lines.append).trials == 1
    assert [trial.state.name for trial in trials_in(search)] == ["FAIL", "COMPLETE"]
    assert "trial 1: another process is training it" in lines


def test_nothing_is_tried_twice_and_all_there_is_ends_a_search(tmp_path, data_dir, monkeypatch):
    fake_training(monkeypatch, *["done"] * 7)
    fixed = {"parameters": {"warmup_epochs": 0}}
    assert study(tmp_path, data_dir, **fixed).run(7, say=silent).trials == 7
    search = study(tmp_path, data_dir, **fixed)
    finished = [trial.params["exponent"] for trial in trials_in(search) if trial.state.name == "COMPLETE"]
    assert sorted(finished) == sorted(search._space["exponent"])
    assert search.run(20, say=silent).trials == 7  # an eighth training would have nothing to pop


def test_processes_that_start_together_choose_differently(tmp_path, data_dir, monkeypatch):
    fake_training(monkeypatch, *["done"] * 6)
    together = [study(tmp_path, data_dir, epochs=30) for _ in range(2)]
    for number in range(3):
        for search in together:
            search._try(None, silent, progress=False)
        assert {trial.state.name for trial in trials_in(together[0])} == {"COMPLETE"}, number


def test_a_lost_trial_that_another_process_has_found_is_left_to_it(tmp_path, data_dir, monkeypatch):
    fake_training(monkeypatch, "done")
    search = study(tmp_path, data_dir)
    lost = search._study.ask()
    lost.set_user_attr("process", f"{platform.node()} {os.getpid()}")
    found_by_both = search._study.get_trials()
    search._study.tell(lost, state=optuna.trial.TrialState.FAIL)
    monkeypatch.setattr(search._study, "get_trials", lambda *, states=(), **options: found_by_both)
    search._retry_lost_trials()
    monkeypatch.undo()
    assert len(trials_in(search)) == 1


def test_a_study_that_others_are_making_is_opened_a_moment_later(tmp_path, data_dir, monkeypatch):
    made, create = [], optuna.create_study

    def slow(**options):
        made.append(options)
        if len(made) < 3:
            raise RuntimeError("table studies already exists")
        return create(**options)

    monkeypatch.setattr(optuna, "create_study", slow)
    assert trials_in(study(tmp_path, data_dir)) == []
    assert len(made) == 3


def test_a_storage_that_is_lost_on_the_way(tmp_path, data_dir, monkeypatch):
    lost = optuna.exceptions.StorageInternalError("database is locked")
    fake_training(monkeypatch, lost)
    with pytest.raises(StorageError, match=r"the study cannot be reached any longer, try again \(database is locked\)"):
        study(tmp_path, data_dir).run(1, say=silent)


def test_a_diverged_training_is_the_worst(tmp_path, data_dir, monkeypatch):
    fake_training(monkeypatch, TrainingDivergedError(1, 2, "the loss is nan", None), "done")
    found = study(tmp_path, data_dir).run(2, say=silent)
    assert (found.trials, found.validation_tpauc) == (2, 0.5)


# ---------------------------------------------------------------------------------------------------- command line


def command(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], catch_exceptions=False)


def test_the_command_searches_and_the_table_measures(tmp_path, data_dir, monkeypatch):
    monkeypatch.setitem(BACKBONES, "cifar10-lt", small_network)
    where = ("--epochs", 1, "--data-dir", data_dir, "--out", tmp_path)
    options = ("--method", "TPAUC-Poly", "--region", "0.5", "--trials", 2)
    done = command("search", "cifar10-lt", *options, *where)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(
        "cifar10-lt subset 1 TPAUC-Poly (0.5, 0.5) paper 1 epochs split 0 seed 0: validation "
    )
    assert "the best of 2, with --regions 0.5 --set exponent=" in done.stdout
    found = json.loads(command("search", "cifar10-lt", *options, "--json", *where).stdout)
    assert found["trials"] == 2
    chosen = [part for name, value in found["parameters"].items() for part in ("--set", f"{name}={value}")]
    measured = command("table", "cifar10-lt", "--methods", "TPAUC-Poly", "--regions", "0.5", *chosen, "--json", *where)
    assert "1 of them trained before" in measured.stderr
    (row,) = json.loads(measured.stdout)["results"]
    assert row["validation_tpauc"] == round(found["validation_tpauc"], 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "SqAUC"], "SqAUC has no parameters to search"),
        (["--method", "CE"], "each of methods must be one of"),
        (["--method", "TPAUC-Poly", "--region", "2"], "--region cannot hold '2'"),
        (["--method", "TPAUC-Poly", "--region", "0.3,0.4"], "a search takes one of regions, got 2"),
    ],
)
def test_mistakes_are_one_line(tmp_path, arguments, message):
    done = command("search", "cifar10-lt", *arguments, "--out", tmp_path)
    assert done.exit_code == 2
    assert message in done.stderr.splitlines()[-1]


def test_a_wrong_storage_is_a_mistake_of_usage(tmp_path):
    for storage in unopenable(tmp_path):
        done = command("search", "cifar10-lt", "--method", "TPAUC-Poly", "--storage", storage, "--out", tmp_path)
        assert done.exit_code == 2
        assert done.stderr.startswith("tpauc: error: --storage must be the URL of a database that can be opened")
        assert done.stderr.count("\n") == 1
