"""The benchmark of quality: splits, the file of runs, the choice by validation, the statistics, and a whole run."""

import math
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from tpauc.region import Region

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
CORNER = Region(0.3, 0.3)
PLAIN, BALANCED, OURS = "cross-entropy", "balanced cross-entropy", "ours"


@pytest.fixture(scope="module")
def quality():
    """Return the modules of the benchmark by the last part of their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        names = ("tables", "runs", "training", "methods", "summary", "markdown", "plot", "auto", "auto_summary")
        return SimpleNamespace(**{name: import_module(f"quality_{name}") for name in names})


def run_of(quality, method, value, *, table="a", seed=0, seconds=1.0, positives=300, note=""):
    return quality.runs.Run(
        table, 1000, positives, 5, "linear", method, seed, 0.3, 0.3, value, seconds, "", note, "v", "c"
    )


def save(path, n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    np.savez(path, X=(rng.normal(size=(n, 3)) + y[:, None]).astype(np.float32), y=y.astype(np.uint8))


# ------------------------------------------------------------------------------------------------------------- splits


def test_a_table_is_read_from_npz_and_from_csv(quality, tmp_path):
    save(tmp_path / "one.npz")
    (tmp_path / "two.csv").write_text("town,size,ill\n" + "Ulm,1,1\nBonn,,0\nUlm,3,1\nBonn,4,0\n" * 30)
    (tmp_path / "notes.txt").write_text("not a table")
    found = quality.tables.find(tmp_path)
    assert [path.name for path in found] == ["one.npz", "two.csv"]
    split = quality.tables.read(found[0], "y").split(0)
    assert split.train_rows.shape[1] == 3
    table = quality.tables.read(found[1], "ill")
    assert table.n_positive == 60
    assert np.unique(table.group).size == 4
    with pytest.raises(SystemExit, match="has no table three; it has one, two"):
        quality.tables.find(tmp_path, ["three"])


def test_regions_are_left_out_where_they_hold_too_few_positives(quality, tmp_path):
    save(tmp_path / "one.npz", n=200)
    table = quality.tables.read(tmp_path / "one.npz", "y")
    assert table.allows(Region(0.5, 0.5))
    assert not table.allows(Region(0.1, 0.5))


# --------------------------------------------------------------------------------------------------------------- runs


def test_runs_come_back_and_the_last_one_counts(quality, tmp_path):
    path = tmp_path / "new" / "quality-x.csv"
    first = run_of(quality, OURS, 0.5, note='a "note", with commas')
    for run in (first, run_of(quality, PLAIN, math.nan), replace(first, value=0.25)):
        quality.runs.append(path, run)
    found = quality.runs.read([path])
    assert len(found) == 2
    assert found[first.key] == replace(first, value=0.25)
    assert not found[run_of(quality, PLAIN, 0.0).key].measured
    assert path.read_text().count("table,") == 1


@pytest.mark.parametrize("kept", [5, 20, 40])
def test_a_line_cut_short_is_run_again(quality, tmp_path, kept):
    path = tmp_path / "quality-x.csv"
    runs = [run_of(quality, OURS, 0.5, seed=seed) for seed in range(3)]
    quality.runs.append(path, runs[0])
    whole = path.stat().st_size
    quality.runs.append(path, runs[1])
    path.write_bytes(path.read_bytes()[: whole + kept])
    assert list(quality.runs.read([path])) == [runs[0].key]
    quality.runs.append(path, runs[2])
    assert list(quality.runs.read([path])) == [runs[0].key, runs[2].key]


# ---------------------------------------------------------------------------------------------------------- training


def test_the_choice_is_the_highest_mean_and_of_equals_the_shortest(quality):
    training = quality.training
    y = np.arange(20) < 10
    good, bad = y.astype(float), -y.astype(float)
    diverged = np.full(20, np.nan)

    def trained(**special):
        scores = dict.fromkeys(training.LENGTHS, bad) | {int(key[1:]): value for key, value in special.items()}
        return training.Trained(scores, 1.0)

    chosen = training.choose({None: [trained(e4=good, e16=good, e2=diverged)]}, [y], [CORNER])
    assert chosen == {CORNER: training.Choice(None, 4)}
    chosen = training.choose({0.3: [trained()], 3.0: [trained(e1=good)]}, [y], [CORNER])
    assert chosen == {CORNER: training.Choice(3.0, 1)}
    assert training.choose({None: [trained()]}, [y], [CORNER])[CORNER].epochs == 0


def test_few_positives_are_held_out_by_more_folds(quality):
    fold = np.arange(1000) % 5
    few, many = np.arange(1000) < 50, np.ones(1000, dtype=bool)
    assert quality.training.folds_to_run(few, fold) == [0, 1, 2, 3, 4]
    assert quality.training.folds_to_run(many, fold) == [0]


def test_a_method_that_cannot_run_says_why(quality, tmp_path, monkeypatch):
    save(tmp_path / "one.npz")
    problem = quality.methods.Problem(quality.tables.read(tmp_path / "one.npz", "y").split(0), "linear", 0)

    def missing(name):
        raise quality.methods.NotMeasured(f"peer not installed: {name}")

    monkeypatch.setattr(quality.methods.losses.peers, "module", missing)
    (outcome,) = quality.methods.outcomes(problem, "LibAUC KL", [CORNER])
    assert outcome.scores is None
    assert outcome.note == "peer not installed: libauc.losses"


def test_a_failure_in_one_region_leaves_the_others(quality, monkeypatch):
    regions = [CORNER, Region(0.5, 0.5)]

    def fit(problem, regions):
        yield quality.methods.Outcome(regions[0], np.zeros(3), 1.0)
        raise ValueError("no more")

    monkeypatch.setitem(quality.methods.METHODS["linear"], OURS, quality.methods.Method(fit, False))
    problem = quality.methods.Problem(None, "linear", 0)
    first, second = quality.methods.outcomes(problem, OURS, regions)
    assert (first.region, first.note) == (regions[0], "")
    assert (second.region, second.scores, second.note) == (regions[1], None, "failed: ValueError: no more")


# --------------------------------------------------------------------------------------------------------- statistics


def test_the_paired_test_is_scipys(quality):
    first, second = np.random.default_rng(0).normal(size=(2, 5))
    found = quality.summary.paired(dict(enumerate(first)), dict(enumerate(second)))
    expected = stats.ttest_rel(first, second)
    low, high = expected.confidence_interval(0.95)
    assert found == pytest.approx(((first - second).mean(), low, high, expected.pvalue))


def results(quality, values, **options):
    runs = [
        run_of(quality, method, value, table=table, seed=seed, **options.get(method, {}))
        for (table, method), by_seed in values.items()
        for seed, value in enumerate(by_seed)
    ]
    return quality.summary.Results(runs, "linear", CORNER)


VALUES = {
    ("a", PLAIN): [0.50, 0.52, 0.51],
    ("a", BALANCED): [0.40, 0.41, 0.42],
    ("a", OURS): [0.60, 0.62, 0.63],
    ("b", PLAIN): [0.30, 0.31, 0.32],
    ("b", BALANCED): [0.35, 0.37, 0.36],
    ("b", OURS): [0.30, 0.33, 0.31],
}


def test_hindsight_takes_the_better_cross_entropy_of_each_table(quality):
    found = results(quality, VALUES)
    assert found.mean(quality.summary.HINDSIGHT) == pytest.approx((0.51 + 0.36) / 2)
    assert found.ranks() == {PLAIN: 2.5, BALANCED: 2.0, OURS: 1.5}
    lines = {line.method: line for line in found.lines()}
    assert lines[OURS].against == {PLAIN: (1, 0, 1), BALANCED: (1, 1, 0), quality.summary.HINDSIGHT: (1, 1, 0)}


def test_time_is_counted_on_what_both_have_run(quality):
    found = results(quality, VALUES, **{OURS: {"seconds": 4.0}})
    assert found.time_ratio(OURS) == 4.0
    assert math.isnan(found.time_ratio("unknown"))


def test_requirements_are_held_against_the_runs(quality):
    found = results(quality, VALUES, **{OURS: {"seconds": 40.0}})
    reached = {line.text: line.reached for line in quality.summary.requirements(found)}
    assert reached == {
        "mean above hindsight": True,
        "significantly worse than hindsight on no table": False,
        "at most 10x the time of plain cross-entropy": False,
        "3 % above hindsight with 200 positives or more": True,
        "higher mean than every other method": True,
        "better mean rank than every other method": True,
    }
    assert quality.summary.requirements(results(quality, {("a", PLAIN): [0.5]})) == []


def test_the_page_and_the_plot_show_all_of_it(quality, tmp_path):
    runs = [
        run_of(quality, method, value, table=table, seed=seed)
        for (table, method), by_seed in VALUES.items()
        for seed, value in enumerate(by_seed)
    ]
    text = quality.markdown.page([*runs, run_of(quality, "LibAUC KL", math.nan, note="peer not installed: libauc")])
    assert "| *best cross-entropy with hindsight* | 0.4350 |" in text
    assert "- LibAUC KL: peer not installed: libauc" in text
    assert "| b | 300 | 0.3100 | 0.3600 | 0.3600 | 0.3133 (worse) |" in text
    quality.plot.draw([quality.summary.Results(runs, "linear", CORNER)], tmp_path / "quality.png")
    assert (tmp_path / "quality.png").read_bytes().startswith(b"\x89PNG")


# --------------------------------------------------------------------------------------------------------------- auto


def auto_results(quality, values, region=CORNER, **seconds):
    runs = [
        replace(
            run_of(quality, method, value, table=table, seconds=seconds.get(method.replace("-", "_"), 1.0)),
            family="auto",
            alpha=region.alpha,
            beta=region.beta,
        )
        for method, by_table in values.items()
        for table, value in zip("abcdef", by_table, strict=True)
    ]
    return quality.summary.Results(runs, "auto", region)


AUTO_VALUES = {
    "auto": [0.60, 0.52, 0.53, 0.54, 0.55, 0.56],
    "auto-fast": [0.55, 0.50, 0.50, 0.50, 0.50, 0.50],
    "TPAUCBooster": [0.50, 0.50, 0.50, 0.50, 0.50, 0.50],
    "FLAML": [0.50, 0.50, 0.50, 0.52, 0.53, 0.54],
}


def test_the_stacks_are_held_against_what_was_asked(quality):
    found = auto_results(quality, AUTO_VALUES, auto_fast=2.0, TPAUCBooster=0.5)
    reached = {line.text: line.reached for line in quality.auto_summary.auto_requirements(found)}
    assert reached == {
        "auto above TPAUCBooster by 0.015": True,
        "auto differs from TPAUCBooster over tables, p < .05": True,
        "auto below TPAUCBooster on no table by more than 0.03": True,
        "auto above FLAML by 0.03": True,
        "auto-fast not below TPAUCBooster": True,
        "auto-fast in 3 times the time of TPAUCBooster": False,
    }
    worse = AUTO_VALUES | {"auto": [0.46, 0.50, 0.50, 0.50, 0.50, 0.50]}
    found = quality.auto_summary.auto_requirements(auto_results(quality, worse))
    assert [line.reached for line in found[:4]] == [False, False, False, False]


def test_a_comparison_on_some_of_the_splits_is_not_reached(quality):
    found = auto_results(quality, AUTO_VALUES)
    for table in "bcdef":
        del found.values[table]["FLAML"]
    line = next(line for line in quality.auto_summary.auto_requirements(found) if "FLAML" in line.text)
    assert line.found == "+0.1000, on 1 of 6 splits only"
    assert not line.reached


def test_in_another_region_the_stack_must_only_not_be_below(quality):
    close = AUTO_VALUES | {"auto": [0.501, 0.501, 0.501, 0.521, 0.531, 0.541]}
    found = quality.auto_summary.auto_requirements(auto_results(quality, close, Region(0.1, 0.1)))
    assert {line.text: line.reached for line in found if line.text.startswith("auto above")} == {
        "auto above TPAUCBooster by 0": True,
        "auto above FLAML by 0": True,
    }


def test_the_page_shows_the_stacks(quality):
    runs = [
        replace(run_of(quality, method, value, table=table, seconds=2.5), family="auto")
        for method, by_table in AUTO_VALUES.items()
        for table, value in zip("abcdef", by_table, strict=True)
    ]
    text = quality.markdown.page(runs)
    assert "### Stacks and their peers: 6 tables, seeds 0" in text
    assert "| TPAUCBooster | 0.5000 | 3.3 | +0.0500 | 0.031 | 2.5 | 6 |" in text
    assert "| auto | auto above FLAML by 0.03 | +0.0350 | yes |" in text


def test_the_clock_of_peers_is_the_processor(quality):
    with quality.auto.processor_clock():
        before, waiting = time.time(), threading.Event()
        waiting.wait(0.5)  # by the real clock
        assert time.time() - before < 0.4
        used = time.process_time()
        while time.process_time() - used < 0.2:
            pass
        assert time.time() - before >= 0.2
    assert abs(time.time() - before) < 3600


def test_every_peer_of_the_stack_is_told_where_it_is_missing(quality, tmp_path, monkeypatch):
    save(tmp_path / "one.npz")
    problem = quality.methods.Problem(quality.tables.read(tmp_path / "one.npz", "y").split(0), "auto", 0)

    def missing(name):
        raise quality.methods.NotMeasured(f"peer not installed: {name}")

    monkeypatch.setattr(quality.auto.peers, "module", missing)
    for method in ("FLAML", "AutoGluon medium", "CatBoost"):
        outcomes = list(quality.methods.outcomes(problem, method, [CORNER, Region(0.1, 0.1)]))
        assert [outcome.scores for outcome in outcomes] == [None, None]
        assert all(outcome.note.startswith("peer not installed") for outcome in outcomes)


def test_members_that_know_no_region_are_trained_once_and_the_stacks_stay_the_same(quality, tmp_path):
    save(tmp_path / "one.npz")
    problem = quality.methods.Problem(quality.tables.read(tmp_path / "one.npz", "y").split(0), "auto", 0)
    regions = [CORNER, Region(0.5, 0.5)]
    shared = list(quality.methods.outcomes(problem, "auto-fast", regions))
    alone = list(quality.methods.fit_estimators(problem, regions, partial(quality.auto.auto, model="auto-fast")))
    assert [outcome.region for outcome in shared] == regions
    for one, other in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        assert one.chosen == other.chosen
    reused: list[float] = []
    with quality.auto.shared_members(reused):
        list(quality.methods.fit_estimators(problem, regions, partial(quality.auto.auto, model="auto-fast")))
    assert len(reused) == 4  # in the second region all members but the linear one
    assert min(reused) > 0.0


# ---------------------------------------------------------------------------------------------------------- whole run


def test_a_run_goes_on_where_it_was(tmp_path):
    (tmp_path / "data").mkdir()
    save(tmp_path / "data" / "one.npz")
    command = [sys.executable, BENCHMARKS / "quality.py", "--data-dir", tmp_path / "data", "--jobs", "1"]
    command += ["--output", tmp_path / "results", "--families", "linear", "--regions", "0.3,0.3", "0.5,0.5"]
    command += ["--methods", PLAIN, BALANCED, "square AUC", OURS, "--seeds", "0"]

    def lines_after(*more):
        done = subprocess.run([*map(str, command), *more], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / "results").glob("quality-*.csv")
        assert "### Linear models: 1 tables" in done.stdout
        return path.read_text().splitlines()

    first = lines_after()
    assert len(first) == 1 + 4 * 2
    more = lines_after("--redo", OURS)  # and nothing else
    assert more[: len(first)] == first
    assert len(more) == len(first) + 2
