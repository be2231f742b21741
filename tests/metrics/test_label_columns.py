"""Several labels and classes: every value equals the value of its column, in NumPy and in torch."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from processes import run_in_processes
from tpauc import Region, TwoWayPartialAUC, partial_auc_score, tpauc_score, two_way_partial_auc
from tpauc.metrics import _tensor_columns

CORNER = {"alpha": 0.4, "beta": 0.5}


def several_labels(seed, n=60, k=4, tied=False, unknown=0.0):
    rng = np.random.default_rng(seed)
    y = (rng.random((n, k)) < np.linspace(0.3, 0.7, k)).astype(float)
    y[:5], y[5:10] = 1.0, 0.0
    s = rng.normal(size=(n, k)) + y
    y[rng.random((n, k)) < unknown] = np.nan
    return y, s.round(1) if tied else s


@given(seed=st.integers(0, 10**6), tied=st.booleans(), ties=st.sampled_from(["half", "optimistic", "pessimistic"]))
@settings(deadline=None, max_examples=40)
def test_labels_equal_a_loop_over_columns(seed, tied, ties):
    y, s = several_labels(seed, tied=tied)
    loop = [tpauc_score(y[:, j], s[:, j], ties=ties, **CORNER) for j in range(4)]
    assert tpauc_score(y, s, ties=ties, average=None, **CORNER).tolist() == loop
    assert tpauc_score(y, s, ties=ties, **CORNER) == np.mean(loop)
    assert tpauc_score(y, s, ties=ties, average="weighted", **CORNER) == np.average(loop, weights=y.sum(0))
    assert tpauc_score(y, s, ties=ties, average="micro", **CORNER) == tpauc_score(
        y.ravel(), s.ravel(), ties=ties, **CORNER
    )
    geometric = tpauc_score(y, s, ties=ties, normalize=False, average="none", **CORNER)
    np.testing.assert_allclose(geometric, 0.2 * np.array(loop), rtol=1e-12)


def test_unknown_labels_and_weights():
    y, s = several_labels(1, unknown=0.2)
    weight = np.random.default_rng(0).random(60)
    found = tpauc_score(y, s, average=None, sample_weight=weight, **CORNER)
    positives = []
    for j in range(4):
        known = ~np.isnan(y[:, j])
        expected = tpauc_score(y[known, j], s[known, j], sample_weight=weight[known], **CORNER)
        assert found[j] == expected
        positives.append(weight[known] @ y[known, j])
    weighted = tpauc_score(y, s, average="weighted", sample_weight=weight, **CORNER)
    assert weighted == pytest.approx(np.average(found, weights=positives), rel=1e-12)
    known = ~np.isnan(y)
    weights = np.broadcast_to(weight[:, None], y.shape)[known]
    micro = tpauc_score(y, s, average="micro", sample_weight=weight, **CORNER)
    assert micro == pytest.approx(tpauc_score(y[known], s[known], sample_weight=weights, **CORNER), rel=1e-12)
    assert tpauc_score(y, s, sample_weight=np.ones(60), **CORNER) == tpauc_score(y, s, **CORNER)


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"], [7, -1, 3]])
def test_classes_are_taken_one_against_the_rest(names):
    rng = np.random.default_rng(2)
    codes = rng.integers(3, size=90)
    s = rng.normal(size=(90, 3)) + np.eye(3)[codes]
    order = np.argsort(np.array(names))  # columns are those of the sorted labels, unless labels says otherwise
    loop = [tpauc_score(codes == c, s[:, c], **CORNER) for c in range(3)]
    y = np.array(names)[codes]
    assert tpauc_score(y, s, labels=names, average=None, **CORNER).tolist() == loop
    assert tpauc_score(y, s[:, order], average=None, **CORNER).tolist() == [loop[c] for c in order]
    assert tpauc_score(y, s, labels=names, **CORNER) == np.mean(loop)
    expected = np.average(loop, weights=np.bincount(codes))
    assert tpauc_score(y, s, labels=names, average="weighted", **CORNER) == pytest.approx(expected, rel=1e-12)


def test_the_whole_area_equals_scikit_learn():
    y, s = several_labels(3)
    whole = {"alpha": 1, "beta": 1}
    for average in ("macro", "weighted", "micro"):
        assert tpauc_score(y, s, average=average, **whole) == pytest.approx(
            roc_auc_score(y, s, average=average), rel=1e-12
        )
    codes = np.random.default_rng(4).integers(4, size=60)
    p = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    for average in ("macro", "weighted"):
        expected = roc_auc_score(codes, p, multi_class="ovr", average=average)
        assert tpauc_score(codes, p, average=average, **whole) == pytest.approx(expected, rel=1e-12)


def test_labels_without_enough_examples():
    y, s = several_labels(5)
    y[:, 1], y[:, 2] = 0.0, np.arange(60) < 2
    found = tpauc_score(y, s, average=None, **CORNER)
    assert np.isnan(found).tolist() == [False, True, True, False]
    with pytest.raises(ValueError, match=r"label 1 has no value: the column has no positive .* average=None returns"):
        tpauc_score(y, s, **CORNER)
    y[:, 1] = y[:, 0]
    with pytest.raises(ValueError, match=r"label 2 has no value: alpha=0\.4 selects none of the 2 positive examples"):
        tpauc_score(y, s, average="weighted", **CORNER)
    assert 0 < tpauc_score(y, s, average="micro", **CORNER) < 1
    classes = np.arange(60) % 3
    assert np.isnan(tpauc_score(classes, s, labels=[0, 1, 2, 3], average=None, **CORNER))[3]


def test_lists_and_one_column():
    y, s = several_labels(6)
    assert tpauc_score(y.tolist(), s.tolist(), **CORNER) == tpauc_score(y.astype(bool), s, **CORNER)
    assert tpauc_score(2 * y - 1, s, **CORNER) == tpauc_score(y, s, **CORNER)
    one = tpauc_score(y[:, :1], s[:, :1], **CORNER)
    assert one == tpauc_score(y[:, 0], s[:, 0], **CORNER) == tpauc_score(y[:, 0], s[:, 0], average=None, **CORNER)


Y, S = several_labels(7)
CODES = np.arange(60) % 4


@pytest.mark.parametrize(
    ("y", "s", "options", "message"),
    [
        (Y, S[:, :3], {}, r"y_true and y_score must have equal shapes, got \(60, 4\) and \(60, 3\)"),
        (Y[:9], S, {}, "must have equal shapes"),
        (Y + 1, S, {}, "y_true must hold only 0/1 or only -1/1, found the values 1, 2"),
        (Y, np.where(Y > 0, np.nan, S), {}, "y_score must be finite"),
        (Y, S, {"average": "median"}, "average must be one of"),
        (Y, S, {"pos_label": 1}, "pos_label is for two classes, y_score has 4 columns"),
        (Y, S, {"labels": [0, 1, 2, 3]}, "labels is for class labels"),
        (Y, S, {"sample_weight": -np.ones(60)}, "sample_weight must not be negative, found -1"),
        (Y, S, {"sample_weight": np.ones(59)}, "must have equal length, got 60 and 59"),
        (CODES, S[:, :3], {}, "y_score must have one column per class, got 3 columns and 4 distinct values"),
        (CODES, S, {"labels": [0, 1, 2, 2]}, "got 4 columns and 3 distinct labels"),
        (CODES, S, {"labels": [0, 1, 2, 9]}, "y_true holds 3, which is not among labels"),
        (CODES[:9], S, {}, "must have equal length, got 9 and 60"),
        (CODES, S, {"average": "micro"}, "average='micro' is for several labels"),
        (CODES % 2, S[:, :2], {}, r"y_score must be one-dimensional, got shape \(60, 2\)"),
        (CODES % 2, S[:, 0], {"labels": [0, 1]}, "labels is for a matrix of scores"),
    ],
)
def test_mistakes_are_named(y, s, options, message):
    with pytest.raises(ValueError, match=message):
        tpauc_score(y, s, **CORNER, **options)


# ------------------------------------------------------------------------------------------------------------- torch


def metric_of(task="multilabel", k=4, **options):
    size = "num_labels" if task == "multilabel" else "num_classes"
    return TwoWayPartialAUC(0.4, 0.5, task=task, **{size: k}, **options)


@given(seed=st.integers(0, 10**6), tied=st.booleans(), ties=st.sampled_from(["half", "optimistic", "pessimistic"]))
@settings(deadline=None, max_examples=30)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro", None])
def test_the_metric_of_labels_equals_the_function(average, seed, tied, ties):
    y, s = several_labels(seed, tied=tied, unknown=0.2)
    metric = metric_of(average=average, ties=ties)
    for rows in (slice(0, 25), slice(25, 25), slice(25, 60)):
        metric.update(torch.tensor(s[rows]), torch.tensor(y[rows]))
    expected = tpauc_score(y, s, average=average, ties=ties, **CORNER)
    np.testing.assert_allclose(metric.compute().numpy(), expected, rtol=1e-14)
    assert metric.compute().dtype == torch.float64


@pytest.mark.parametrize("minima", [(0.0, 0.0), (0.2, 0.1)])
def test_the_metric_equals_a_metric_per_column(minima):
    y, s = several_labels(11, n=300, tied=True)
    options = {"min_alpha": minima[0], "min_beta": minima[1]}
    metric = metric_of(average="none", **options)
    value = metric(torch.tensor(s), torch.tensor(y))
    for j in range(4):
        single = TwoWayPartialAUC(0.4, 0.5, **options)
        single.update(torch.tensor(s[:, j]), torch.tensor(y[:, j]))
        assert value[j] == single.compute() == metric.compute()[j]
        region = Region(0.4, 0.5, *minima)
        assert value[j].item() == pytest.approx(partial_auc_score(y[:, j], s[:, j], region=region), rel=1e-14)


def test_blocks_of_columns_change_nothing(monkeypatch):
    y, s = several_labels(12)
    metric = metric_of(average=None)
    metric.update(torch.tensor(s), torch.tensor(y))
    expected = metric.compute()
    monkeypatch.setattr(_tensor_columns, "_BLOCK", 120)
    metric.update(torch.empty(0, 4), torch.empty(0, 4))
    assert torch.equal(metric.compute(), expected)


@pytest.mark.parametrize("average", ["macro", "weighted", None])
def test_the_metric_of_classes_equals_the_function(average):
    rng = np.random.default_rng(13)
    codes, s = rng.integers(3, size=80), rng.normal(size=(80, 3)).astype(np.float32)
    metric = metric_of("multiclass", 3, average=average)
    metric.update(torch.tensor(s[:50]), torch.tensor(codes[:50]))
    metric.update(torch.tensor(s[50:]), torch.tensor(codes[50:])[:, None])
    np.testing.assert_allclose(metric.compute().numpy(), tpauc_score(codes, s, average=average, **CORNER), rtol=1e-14)


@pytest.mark.parametrize("task", ["multilabel", "multiclass"])
@pytest.mark.parametrize("average", ["macro", "weighted", None])
def test_bins_bound_every_column(task, average):
    y, s = several_labels(14, n=400)
    labels = y if task == "multilabel" else np.arange(400) % 4
    if task == "multiclass":
        s = s + 1.5 * np.eye(4)[labels]
    exact, coarse = metric_of(task, average=average), metric_of(task, average=average, bins=64)
    for metric in (exact, coarse):
        metric.update(torch.tensor(s), torch.tensor(labels))
    error = (exact.compute() - coarse.compute()).abs().max()
    assert 0.0 < error <= coarse.error_bound < 0.1
    fine = metric_of(task, average=average, bins=2**20)
    fine.update(torch.tensor(s), torch.tensor(labels))
    assert (exact.compute() - fine.compute()).abs().max() <= fine.error_bound < 1e-3
    assert coarse.positive_counts.shape == (4, 64)
    with pytest.raises(ValueError, match="a histogram per column"):
        _ = coarse.histogram


def test_micro_bins_are_added_up():
    y, s = several_labels(14, n=400, unknown=0.1)
    metric = metric_of(average="micro", bins=256)
    metric.update(torch.tensor(s), torch.tensor(y))
    known = ~np.isnan(y)
    single = TwoWayPartialAUC(0.4, 0.5, 256)
    single.update(torch.tensor(s[known]), torch.tensor(y[known]))
    assert metric.compute() == single.compute()


def test_a_rectangle_in_bins():
    y, s = several_labels(15, n=500)
    rectangle = {"min_alpha": 0.1, "min_beta": 0.2}
    exact, coarse = TwoWayPartialAUC(0.4, 0.5, **rectangle), TwoWayPartialAUC(0.4, 0.5, 128, **rectangle)
    for metric in (exact, coarse):
        metric.update(torch.tensor(s[:, 1]), torch.tensor(y[:, 1]))
    expected = partial_auc_score(y[:, 1], s[:, 1], region=Region(0.4, 0.5, 0.1, 0.2))
    assert exact.compute().item() == pytest.approx(expected, rel=1e-14)
    assert 0.0 < abs(coarse.compute().item() - expected) <= coarse.error_bound < 0.1
    found = two_way_partial_auc(torch.tensor(s[:, 1]), torch.tensor(y[:, 1]), alpha=0.4, beta=0.5, **rectangle)
    assert found == exact.compute()


def test_columns_without_enough_examples():
    y, s = several_labels(16)
    y[:, 2] = 0.0
    for bins in (None, 32):
        metric = metric_of(average=None, bins=bins)
        metric.update(torch.tensor(s), torch.tensor(y))
        assert metric.compute().isnan().tolist() == [False, False, True, False]
        macro = metric_of(bins=bins)
        assert macro(torch.tensor(s), torch.tensor(y)).isnan()  # the batch alone
        with pytest.raises(ValueError, match=r"label 2 has no value: the column has no positive"):
            macro.compute()


@pytest.mark.parametrize("bins", [None, 16])
@pytest.mark.parametrize("task", ["multilabel", "multiclass"])
def test_state_is_saved_copied_and_checked(task, bins):
    y, s = several_labels(17)
    labels = y if task == "multilabel" else np.arange(60) % 4
    metric = metric_of(task, bins=bins, average=None)
    metric.persistent(True)
    metric.update(torch.tensor(s), torch.tensor(labels))
    fresh = metric_of(task, bins=bins, average=None)
    fresh.load_state_dict(metric.state_dict())
    for copied in (fresh, pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), metric.clone()):
        assert torch.equal(copied.compute(), metric.compute())
    with pytest.raises(ValueError, match="a metric with other settings"):
        metric_of(task, 5, bins=bins).load_state_dict(metric.state_dict())
    with pytest.raises(ValueError, match="a metric with other settings"):
        metric_of(task, bins=bins, min_beta=0.1).load_state_dict(metric.state_dict())
    state = metric.state_dict()
    name = "positive_counts" if bins else "scores"
    state[name] = torch.zeros(2, 3) if bins else [torch.zeros(2, 3)]
    with pytest.raises(ValueError, match="is not the state of 4 columns"):
        fresh.load_state_dict(state)
    metric.reset()
    with pytest.raises(ValueError, match="label 0 has no value"):
        metric_of(task, bins=bins).compute()


def gathered(rank, world):
    y, s = several_labels(18, n=90, unknown=0.1)
    results = []
    for bins in (None, 64):
        metric = metric_of(average=None, bins=bins)
        rows = slice(0, 0) if rank == 0 else slice(rank - 1, None, world - 1)  # the first process has none
        metric.update(torch.tensor(s[rows]), torch.tensor(y[rows]))
        results.append(metric.compute())
        classes = TwoWayPartialAUC(0.4, 0.5, bins, task="multiclass", num_classes=4)
        classes.update(torch.tensor(s[rows]), torch.arange(90)[rows] % 4)
        results.append(classes.compute())
    return results


def test_processes_share_the_columns():
    expected = gathered(1, 2)
    for found in run_in_processes(gathered, 2):
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "ranking"}, "task must be one of"),
        ({"task": "multilabel"}, "task='multilabel' needs num_labels and no num_classes"),
        ({"task": "multiclass", "num_labels": 3}, "task='multiclass' needs num_classes and no num_labels"),
        ({"task": "multilabel", "num_labels": 1}, "num_labels must be at least 2"),
        ({"num_labels": 3}, "task='binary' has one column of scores, got {'num_labels': 3"),
        ({"task": "multiclass", "num_classes": 3, "average": "micro"}, "average='micro' is for several labels"),
        ({"task": "multilabel", "num_labels": 3, "average": "mean"}, "average must be one of"),
        ({"average": "mean"}, "average must be one of"),
    ],
)
def test_mistakes_of_construction(options, message):
    with pytest.raises(ValueError, match=message):
        TwoWayPartialAUC(0.4, 0.5, **options)


GOOD = torch.zeros(6, 4)


@pytest.mark.parametrize(
    ("task", "scores", "labels", "error", "message"),
    [
        ("multilabel", GOOD, torch.zeros(6, 3), ValueError, "scores and labels must have equal shapes"),
        ("multilabel", GOOD[:, :3], torch.zeros(6, 3), ValueError, r"scores must have shape \(n, 4\), got \(6, 3\)"),
        ("multilabel", GOOD, torch.full((6, 4), 2), ValueError, "labels must hold only 0/1 or only -1/1"),
        ("multilabel", GOOD, torch.tensor([[0, 1, -1, 1]] * 6), ValueError, "labels must hold only 0/1 or only -1/1"),
        ("multilabel", GOOD.long(), torch.zeros(6, 4), TypeError, "scores must be floating point"),
        ("multilabel", GOOD.numpy(), torch.zeros(6, 4), TypeError, r"scores must be a torch\.Tensor, got ndarray"),
        ("multilabel", GOOD / 0, torch.zeros(6, 4), ValueError, "scores must be finite"),
        ("multiclass", GOOD, torch.zeros(6), TypeError, "labels must be whole numbers"),
        ("multiclass", GOOD, torch.full((6,), 4), ValueError, "labels must be from 0 to num_classes - 1 = 3"),
        ("multiclass", GOOD, torch.zeros(5).long(), ValueError, r"labels must have shape \(6,\)"),
    ],
)
def test_mistakes_of_batches(task, scores, labels, error, message):
    with pytest.raises(error, match=message):
        metric_of(task).update(scores, labels)
