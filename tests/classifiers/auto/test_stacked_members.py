"""The strategy: folds, samples, the time limit, jobs, and what is told of the members."""

import threading
import warnings

import numpy as np
import pytest

from tpauc.classifiers._candidates import Scaling
from tpauc.classifiers.auto import members, stacked_members
from tpauc.classifiers.auto.member_scorers import LinearMember
from tpauc.classifiers.auto.members import PRESETS, Recipe
from tpauc.classifiers.auto.stacked_members import Clock, StackedMembers, sampled
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.progress import progress_to
from tpauc.region import Region

CORNER = Region(0.3, 0.3)
RECIPES = {recipe.name: recipe for recipe in PRESETS["auto"]}


def rows(n=400, d=3, seed=0):
    random = np.random.default_rng(seed)
    positive = np.arange(n) % 4 == 0
    return TrainingData(random.normal(size=(n, d)) + positive[:, None], positive)


class Spy:
    """Trains a linear scorer on the first feature, and remembers the rows that it saw."""

    def __init__(self):
        self.seen, self.seeds, self.lock = [], [], threading.Lock()

    def __call__(self, data, seed):
        with self.lock:
            self.seen.append(data)
            self.seeds.append(seed)
        return LinearMember(np.eye(data.X.shape[1])[0], 0.0)


def fitted(data, *recipes, seed=0, **options):
    return StackedMembers(recipes, Scaling(), **options).fit(data, CORNER, np.random.default_rng(seed))


def names(found):
    return [member["name"] for member in found.scorer.members]


def test_presets():
    assert [len(PRESETS[name]) for name in ("auto-fast", "auto")] == [5, 7]
    for fast, full in zip(PRESETS["auto-fast"], PRESETS["auto"], strict=False):
        assert fast.name == full.name
        assert all(few <= many for few, many in zip(fast.most_rows, full.most_rows, strict=True))


def test_a_member_that_is_not_averaged_sees_all_rows_in_the_end():
    refitted, averaged = Spy(), Spy()
    fitted(rows(), Recipe("a", refitted), Recipe("b", averaged, averaged=True))
    assert [len(data.X) for data in refitted.seen] == [320] * 5 + [400]
    assert [len(data.X) for data in averaged.seen] == [320] * 5
    assert len(set(refitted.seeds + averaged.seeds)) == 11


def test_copies_and_groups_are_never_on_both_sides():
    data = rows(200)
    copied = TrainingData(np.tile(data.X, (2, 1)), np.tile(data.positive, 2))
    spy = Spy()
    fitted(copied, Recipe("a", spy, averaged=True))
    for seen in spy.seen:
        assert set(np.unique(seen.X, axis=0, return_counts=True)[1]) == {2}
    grouped, spy = data._replace(groups=np.arange(200) // 8), Spy()
    fitted(grouped, Recipe("a", spy, averaged=True))
    for seen in spy.seen:
        assert set(np.unique(seen.groups, return_counts=True)[1]) == {8}


def test_large_data_are_sampled_and_the_odds_still_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(stacked_members, "MOST_ROWS", (100, 150))
    data, spy = rows(2000), Spy()
    found = fitted(data, Recipe("a", spy))
    assert {len(seen.X) for seen in spy.seen} == {200, 250}
    assert np.isfinite(found.out_of_fold_scores).sum() == found.positive.size == 250
    assert found.calibration_weight[found.positive].sum() == pytest.approx(500)
    assert found.calibration_weight[~found.positive].sum() == pytest.approx(1500)
    logits = found.scorer(found.scaler.transform(data.X))
    assert (1.0 / (1.0 + np.exp(-logits))).mean() == pytest.approx(0.25, abs=0.03)


def test_a_member_sees_no_more_rows_than_it_may():
    spy = Spy()
    fitted(rows(), Recipe("a", spy, most_rows=(30, 70)))
    assert {(int(seen.positive.sum()), int((~seen.positive).sum())) for seen in spy.seen} == {(30, 70)}


@pytest.mark.parametrize("limit", ["MOST_LINEAR_VALUES", "MOST_AXES"])
def test_there_is_no_linear_member_for_too_large_a_table(monkeypatch, limit):
    recipes = PRESETS["auto-fast"][1], Recipe("a", Spy())
    assert recipes[0].train is None
    assert names(fitted(rows(), *recipes)) == ["linear", "a"]
    monkeypatch.setattr(members, limit, 2)
    assert names(fitted(rows(), *recipes)) == ["a"]


# ------------------------------------------------------------------------------------------------------------ budget


class Hours:
    """A clock that a training sets forward."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def hours(monkeypatch):
    found = Hours()
    monkeypatch.setattr(stacked_members, "time", found)
    return found


def taking(hours, name, seconds):
    """Return a member whose every training takes so long."""

    def train(data, seed):
        hours.now += seconds
        return LinearMember(np.eye(data.X.shape[1])[0], 0.0)

    return Recipe(name, train, averaged=True)


def test_the_first_member_is_finished_whatever_the_limit(hours):
    found = fitted(rows(), taking(hours, "a", 10.0), taking(hours, "b", 1.0), time_limit=1.0)
    assert names(found) == ["a"]
    assert found.scorer.members[0]["seconds"] == pytest.approx(50.0)
    assert hours.now == pytest.approx(50.0)


def test_a_member_that_would_take_too_long_makes_room_for_a_quicker_one(hours):
    recipes = [taking(hours, name, seconds) for name, seconds in (("a", 1.0), ("slow", 5.0), ("b", 1.0), ("c", 1.0))]
    found = fitted(rows(), *recipes, time_limit=18.0)
    assert names(found) == ["a", "b"]  # 5 for a, 5 for the first fold of slow, 5 for b; c is given up after a fold
    assert hours.now <= 18.0
    assert names(fitted(rows(), *recipes)) == ["a", "slow", "b", "c"]


def test_an_unfinished_linear_model_is_given_up_unless_it_is_the_first(monkeypatch):
    hours = Hours()
    monkeypatch.setattr(stacked_members, "time", hours)
    monkeypatch.setattr(hours, "perf_counter", lambda: setattr(hours, "now", hours.now + 0.5) or hours.now, False)
    linear, quick = RECIPES["linear"], Recipe("a", Spy(), averaged=True)
    assert names(fitted(rows(), quick, linear, quick)) == ["a", "linear", "a"]
    hours.now = 0.0
    assert names(fitted(rows(), quick, linear, quick, time_limit=12.0)) == ["a"]
    assert 12.0 < hours.now < 14.0
    assert names(fitted(rows(), linear, quick, time_limit=1.0)) == ["linear"]


def test_seeds_of_members_do_not_depend_on_the_ones_before(hours):
    late, alone = Spy(), Spy()
    fitted(rows(), taking(hours, "a", 1.0), taking(hours, "slow", 99.0), Recipe("b", late), time_limit=1000.0)
    fitted(rows(), taking(hours, "a", 1.0), taking(hours, "slow", 0.0), Recipe("b", alone))
    assert late.seeds == alone.seeds


def test_a_clock_without_limit_allows_everything():
    assert Clock(None).allows(1e9)
    assert not Clock(1.0).allows(2.0)


# ------------------------------------------------------------------------------------------------- result, progress


def test_jobs_do_not_change_the_result(few_trees):
    data = rows(200)
    first, second = (fitted(data, *PRESETS["auto-fast"], n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.scorer(data.X), second.scorer(data.X))


def test_fits_in_several_threads_do_not_disturb_each_other(few_trees):
    data, scores = rows(150), {}

    def fit(number):
        scores[number] = fitted(data, *PRESETS["auto-fast"], seed=number % 2).scores

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(scores[0], scores[2])
    np.testing.assert_array_equal(scores[1], scores[3])
    assert (scores[0] != scores[1]).any()


def test_progress_says_what_is_trained_and_what_the_last_member_brought():
    said = []
    with progress_to(lambda progress: said.append(str(progress.what)), every=0.0):
        found = fitted(rows(), Recipe("a", Spy()), Recipe("b", Spy()))
    assert "a, member 1 of 2" in said
    assert f"b, member 2 of 2; a had TPAUC {found.scorer.members[0]['tpauc']:.3f}" in said


def test_progress_names_a_member_when_it_is_begun_and_the_linear_one_at_every_step():
    said = []
    with progress_to(lambda progress: said.append((progress.what, progress.done)), every=0.0):
        fitted(rows(), Recipe("a", RECIPES["kernel"].train), RECIPES["linear"])
    assert said[0] == ("a, member 1 of 2", 0)
    parts = {what.partition(":")[0].partition(";")[0] for what, _ in said}
    assert parts == {"a, member 1 of 2", "linear, member 2 of 2", "stack of 2 members"}
    assert any(what.endswith(": ascent of a linear model") for what, _ in said)


def test_the_nested_estimate_is_that_of_the_out_of_fold_scores():
    found = fitted(rows(), Recipe("a", Spy()), Recipe("b", Spy()))
    nested = found.scorer.nested_tpauc
    assert nested.low <= nested.estimate <= nested.high
    from tpauc.metrics.area import tpauc_score

    assert nested.estimate == pytest.approx(tpauc_score(found.positive, found.scores, alpha=0.3, beta=0.3))


def test_a_table_of_categories_warns_once():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, size=(200, 1)).astype(float)
    data = TrainingData(X, random.random(200) < 0.2 + 0.4 * X[:, 0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(data, PRESETS["auto-fast"][1], Recipe("a", Spy()))
    assert sum("distinct rows" in str(warning.message) for warning in caught) == 1


def test_a_sample_has_so_many_rows_of_each_class():
    positive = np.arange(100) < 20
    kept, stands_for = sampled(positive, (50, 40), np.random.default_rng(0))
    assert int(positive[kept].sum()) == 20
    assert len(kept) == 60
    assert stands_for[~positive[kept]].sum() == 80
