"""A line at least every two seconds while a command works."""

import re
import time

import numpy as np

from tpauc.classifiers.progress import steps
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.cli.heartbeat import EVERY, training_heartbeat


def test_a_line_comes_even_if_a_single_step_takes_long(capfd):
    with training_heartbeat("training", every=0.05):
        time.sleep(0.3)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) >= 3
    assert all(re.fullmatch(r"tpauc: training; \d+ s so far", line) for line in lines)


def test_a_line_says_what_is_being_done_and_the_time_left(capfd):
    with training_heartbeat("training", every=0.05):
        for _ in steps("folds", range(4), 4):
            time.sleep(0.1)
    lines = capfd.readouterr().err.splitlines()
    pattern = r"tpauc: training: folds: [1-4] of 4, about \d+ s left; \d+ s so far"
    assert sum(re.fullmatch(pattern, line) is not None for line in lines) >= 2


def test_nothing_is_said_about_short_work_nor_afterwards(capfd):
    with training_heartbeat("training"):
        pass
    time.sleep(0.1)
    assert capfd.readouterr().err == ""
    assert EVERY <= 2.0


def test_a_terminal_shows_one_line_that_changes(capfd, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with training_heartbeat("training", every=0.05):
        time.sleep(0.2)
    shown = capfd.readouterr().err
    assert "\n" not in shown
    assert shown.count("\r\x1b[Ktpauc: training; 0 s so far") >= 2
    assert shown.endswith("\r\x1b[K")


def test_an_error_ends_the_lines(capfd):
    try:
        with training_heartbeat("training", every=0.02):
            raise ValueError
    except ValueError:
        pass
    capfd.readouterr()
    time.sleep(0.1)
    assert capfd.readouterr().err == ""


def test_a_training_is_reported(capfd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = X[:, 0] + rng.logistic(size=3000) > 2
    with training_heartbeat("training", every=0.02):
        TPAUCClassifier(random_state=0).fit(X, y)
    assert re.search(r"tpauc: training: .+: \d+ of \d+, about \d+ s left", capfd.readouterr().err)
