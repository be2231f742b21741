import copy
import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchmetrics import MetricCollection

import reference
from processes import run_in_processes
from tpauc._validation import check_class_counts
from tpauc.metrics._tensor_pairs import check_finite, histogram_counts, widest_float
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.histogram import Histogram
from tpauc.metrics.torchmetric import TwoWayPartialAUC, two_way_partial_auc

TIES = ["half", "optimistic", "pessimistic"]
FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Scores that tie, that crowd around the places where the map of the bins changes its form, and any others.
SCORES = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.sampled_from([-5e-324, 5e-324, -1e-17, math.nextafter(1, 0), math.nextafter(1, 2), -1.7e308, 1.7e308]),
    st.floats(0, 1),
    FINITE,
)
SHARES = st.sampled_from([0.3, 0.5, 0.75, 1.0])


@st.composite
def samples(draw, scores=SCORES):
    """Scores and labels with at least 4 of each class, so that the smallest share selects somebody."""
    n_positive, n_negative = draw(st.integers(4, 12)), draw(st.integers(4, 12))
    n = n_positive + n_negative
    labels = draw(st.permutations([1] * n_positive + [0] * n_negative))
    return np.array(draw(st.lists(scores, min_size=n, max_size=n))), np.array(labels)


def example(n=200, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    labels = (torch.rand(n, generator=generator) < 0.3).long()
    scores = torch.randn(n, generator=generator, dtype=torch.float64) + labels
    return scores.round(decimals=1).to(dtype), labels


def exact(scores, labels, alpha=0.3, beta=0.4, ties="half"):
    return tpauc_score(labels.numpy(), scores.double().numpy(), alpha=alpha, beta=beta, ties=ties)


def filled(batches, bins=None, **kwargs):
    metric = TwoWayPartialAUC(0.3, 0.4, bins, **kwargs)
    for scores, labels in batches:
        metric.update(scores, labels)
    return metric


def in_batches(scores, labels, size=17):
    return list(zip(scores.split(size), labels.split(size), strict=True))


# ------------------------------------------------------------------------------------------------- the pure function


@settings(deadline=None, max_examples=150)
@given(samples(), SHARES, SHARES, st.sampled_from(TIES))
def test_equals_the_pair_loop_and_the_numpy_metric(sample, alpha, beta, ties):
    scores, labels = sample
    value = two_way_partial_auc(torch.tensor(scores), torch.tensor(labels), alpha=alpha, beta=beta, ties=ties)
    assert value.dtype == torch.float64
    assert value.shape == ()
    assert value.item() == pytest.approx(reference.tpauc(labels, scores, alpha, beta, ties), rel=1e-10, abs=1e-12)
    assert value.item() == tpauc_score(labels, scores, alpha=alpha, beta=beta, ties=ties)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("ties", TIES)
def test_every_floating_type_is_exact(dtype, ties):
    scores, labels = example(dtype=dtype)
    value = two_way_partial_auc(scores, labels, alpha=0.3, beta=0.4, ties=ties)
    assert value.item() == exact(scores, labels, ties=ties)


def test_large_counts_do_not_round():
    # 2 * 10^8 pairs: float32 counts would be off from 2^24 on.
    generator = torch.Generator().manual_seed(1)
    scores = torch.rand(30_000, generator=generator)
    labels = torch.arange(30_000) % 2
    value = two_way_partial_auc(scores, labels, alpha=1.0, beta=1.0)
    assert value.item() == exact(scores, labels, 1.0, 1.0)


@pytest.mark.parametrize(
    "convert",
    [
        lambda labels: labels.bool(),
        lambda labels: labels.float(),
        lambda labels: labels.to(torch.uint8),
        lambda labels: 2 * labels - 1,
        lambda labels: (2.0 * labels - 1).to(torch.bfloat16),
        lambda labels: labels[:, None],
    ],
    ids=["bool", "float", "uint8", "-1/1", "-1.0/1.0", "column"],
)
def test_labels_in_every_form(convert):
    scores, labels = example()
    value = two_way_partial_auc(scores[:, None], convert(labels), alpha=0.3, beta=0.4)
    assert value.item() == exact(scores, labels)


def test_carries_no_graph_and_takes_strided_scores():
    scores, labels = example()
    strided = torch.stack([scores, -scores], dim=1)[:, 0].requires_grad_()
    value = two_way_partial_auc(strided, labels, alpha=0.3, beta=0.4)
    assert not value.requires_grad
    assert value.item() == exact(scores, labels)


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("scores", "labels", "error", "message"),
    [
        ([0.1, math.nan, math.inf], [0, 1, 1], ValueError, "scores must be finite, found 2 .* nan at position 1"),
        ([0.1, 0.2], [0, 2], ValueError, "labels must hold only 0/1 or only -1/1, found the values 0, 2"),
        ([0.1, 0.2], [0], ValueError, r"scores and labels must have equal length, got shapes \(2,\) and \(1,\)"),
        ([[0.1, 0.2]], [[0, 1]], ValueError, r"scores must have shape \(n,\) or \(n, 1\)"),
        ([1, 2], [0, 1], TypeError, "scores must be floating point, got torch.int64"),
    ],
)
def test_wrong_batches_are_refused_and_leave_the_state_alone(scores, labels, error, message):
    scores, labels = torch.tensor(scores), torch.tensor(labels)
    with pytest.raises(error, match=message):
        two_way_partial_auc(scores, labels, alpha=0.5, beta=0.5)
    good = example()
    for bins in (None, 10):
        metric = filled([good], bins)
        before = metric.compute()
        for add in (metric.update, metric):
            with pytest.raises(error, match=message):
                add(scores, labels)
            assert metric.compute() == before


def test_scores_must_be_tensors():
    with pytest.raises(TypeError, match=r"scores must be a torch.Tensor, got list"):
        TwoWayPartialAUC(0.5, 0.5).update([0.1, 0.2], torch.tensor([0, 1]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, r"alpha must be a share in \(0, 1\], got 0.0"),
        ({"beta": 1.5}, ValueError, r"beta must be a share in \(0, 1\], got 1.5"),
        ({"ties": "none"}, ValueError, "ties must be one of 'half', 'optimistic', 'pessimistic', got 'none'"),
        ({"bins": 0}, ValueError, "bins must be at least 1, got 0"),
        ({"bins": 2.5}, TypeError, "bins must be a whole number, got 2.5"),
    ],
)
def test_wrong_options_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        TwoWayPartialAUC(**{"alpha": 0.5, "beta": 0.5} | arguments)


def numpy_message(labels, **region):
    with pytest.raises(ValueError, match=r".") as caught:
        tpauc_score(labels, np.zeros(len(labels)), **region)
    return str(caught.value).replace("y_true", "labels")


@pytest.mark.parametrize("labels", [[], [0, 0, 0], [1, 1], [0, 0, 0, 0, 0, 1], [1, 1, 1, 0]])
@pytest.mark.parametrize("bins", [None, 8])
def test_nobody_to_compare_is_an_error_in_the_words_of_the_numpy_metric(labels, bins):
    region = {"alpha": 0.5, "beta": 0.5}
    metric = TwoWayPartialAUC(**region, bins=bins)
    tensor = torch.tensor(labels, dtype=torch.int64)
    metric.update(torch.zeros(len(labels)), tensor)
    with pytest.raises(ValueError, match=r".") as caught:
        metric.compute()
    assert str(caught.value) == numpy_message(labels, **region)
    with pytest.raises(ValueError, match=r".") as caught:
        two_way_partial_auc(torch.zeros(len(labels)), tensor, **region)
    assert str(caught.value) == numpy_message(labels, **region)
    # The metric is still of use afterwards.
    metric.update(torch.tensor([0.9, 0.9, 0.1, 0.1]), torch.tensor([1, 1, 0, 0]))
    assert metric.compute().item() >= 0.0


@pytest.mark.parametrize("bins", [None, 8])
def test_without_any_update_there_is_the_error_and_no_warning(bins):
    metric = TwoWayPartialAUC(0.5, 0.5, bins)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="labels has no positive example among its 0; both classes are needed"):
            metric.compute()
    assert caught == []


def test_checks_let_pass_what_is_right():
    check_finite(torch.tensor([1.0, -1e38]), "scores")
    check_class_counts(1, 1, "labels")


def test_more_pairs_than_64_bits_hold_are_counted():
    metric = TwoWayPartialAUC(1.0, 1.0, bins=1)
    metric.update(torch.tensor([0.5, 0.5]), torch.tensor([0, 1]))
    metric.positive_counts, metric.negative_counts = torch.tensor([2**40]), torch.tensor([2**40])
    assert metric.compute().item() == 0.5
    assert metric.error_bound == pytest.approx(0.5)


def test_bins_are_counted_where_the_scores_are(monkeypatch):
    metric = TwoWayPartialAUC(0.5, 0.5, bins=100)
    with monkeypatch.context() as patched:
        for name in ("cpu", "numpy", "tolist"):
            patched.setattr(torch.Tensor, name, lambda self: pytest.fail("the scores left their device"))
        metric.update(torch.linspace(-2.0, 3.0, 50), torch.arange(50) % 2)
    expected = Histogram(100)
    expected.update(np.arange(50) % 2, torch.linspace(-2.0, 3.0, 50).numpy())
    assert metric.histogram == expected
    bounds = expected.bounds(alpha=0.5, beta=0.5)
    assert (metric.compute().item(), metric.error_bound) == (bounds.estimate, bounds.error)


# ------------------------------------------------------------------------------------------------------ accumulation


@settings(deadline=None, max_examples=60)
@given(samples(), SHARES, SHARES, st.sampled_from(TIES), st.integers(1, 9))
def test_batches_do_not_matter(sample, alpha, beta, ties, size):
    scores, labels = torch.tensor(sample[0]), torch.tensor(sample[1])
    metric = TwoWayPartialAUC(alpha, beta, ties=ties)
    for batch in in_batches(scores, labels, size):
        metric.update(*batch)
    assert metric.compute().item() == exact(scores, labels, alpha, beta, ties)
    assert metric.error_bound == 0.0


def test_batches_of_different_types_are_compared_exactly():
    # 0.1 in float32 is above 0.1 in float64: a tie would come from rounding one to the other.
    metric = TwoWayPartialAUC(1.0, 1.0)
    metric.update(torch.tensor([0.1], dtype=torch.float32), torch.tensor([1]))
    metric.update(torch.tensor([0.1], dtype=torch.float64), torch.tensor([0]))
    assert metric.compute().item() == 1.0


@pytest.mark.parametrize("bins", [None, 50])
def test_forward_gives_the_value_of_the_batch_and_accumulates(bins):
    scores, labels = example()
    metric = TwoWayPartialAUC(0.3, 0.4, bins)
    for batch in in_batches(scores, labels, 50):
        assert metric(*batch).item() == filled([batch], bins).compute().item()
    assert metric.compute().item() == filled([(scores, labels)], bins).compute().item()
    assert metric.update_count == 4


@pytest.mark.parametrize("bins", [None, 50])
def test_forward_of_a_batch_without_positives_is_nan_and_still_accumulates(bins):
    scores, labels = example()
    order = labels.argsort(stable=True)
    metric = TwoWayPartialAUC(0.3, 0.4, bins)
    values = [metric(*batch).item() for batch in in_batches(scores[order], labels[order], 50)]
    assert math.isnan(values[0])
    assert math.isnan(metric(scores[:0], labels[:0]))
    assert metric.compute().item() == filled([(scores, labels)], bins).compute().item()


@pytest.mark.parametrize("bins", [None, 50])
def test_reset_forgets(bins):
    first, second = example(seed=1), example(seed=2)
    metric = filled([first], bins)
    metric.compute()
    metric.reset()
    with pytest.raises(ValueError, match="labels has no positive example among its 0"):
        metric.compute()
    metric.update(*second)
    assert metric.compute().item() == filled([second], bins).compute().item()


def test_keeps_no_reference_to_the_batch():
    scores, labels = example()
    value = exact(scores, labels)
    metric = filled([(scores.requires_grad_(), labels)])
    with torch.no_grad():
        scores.zero_()
    assert metric.compute().item() == value
    assert not any(part.requires_grad for part in metric.positive_scores)


def test_compute_on_cpu_and_merge_state():
    scores, labels = example()
    first, second = filled([(scores[:80], labels[:80])], compute_on_cpu=True), filled([(scores[80:], labels[80:])])
    first.merge_state(second)
    assert first.compute().item() == exact(scores, labels)


# -------------------------------------------------------------------------------------------------------------- bins


@settings(deadline=None, max_examples=300)
@given(samples(), SHARES, SHARES, st.sampled_from(TIES), st.integers(1, 40))
def test_the_error_bound_holds_without_tolerance(sample, alpha, beta, ties, bins):
    scores, labels = sample
    metric = TwoWayPartialAUC(alpha, beta, bins, ties=ties)
    metric.update(torch.tensor(scores), torch.tensor(labels))
    error = abs(metric.compute().item() - tpauc_score(labels, scores, alpha=alpha, beta=beta, ties=ties))
    assert error <= metric.error_bound
    assert 0.0 <= metric.error_bound <= 0.5 + 1e-14  # 1e-14: the allowance for rounding, 8 eps


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 10**6), st.integers(1, 500), st.integers(1, 500))
def test_the_error_bound_holds_for_counts_that_do_not_divide_evenly(seed, n_positive, n_negative):
    generator = np.random.default_rng(seed)
    labels = np.repeat([1, 0], [n_positive, n_negative])
    scores = generator.random(labels.size).round(2)
    metric = TwoWayPartialAUC(1.0, 1.0, 7)
    metric.update(torch.tensor(scores), torch.tensor(labels))
    assert abs(metric.compute().item() - tpauc_score(labels, scores, alpha=1.0, beta=1.0)) <= metric.error_bound


@pytest.mark.parametrize(("positive", "negative", "value"), [(0.51, 0.5, 1.0), (0.5, 0.51, 0.0), (0.5, 0.5, 0.5)])
def test_all_in_one_bin_leaves_everything_open(positive, negative, value):
    scores, labels = torch.tensor([positive] * 5 + [negative] * 5), torch.tensor([1] * 5 + [0] * 5)
    metric = filled([(scores, labels)], bins=4)
    assert two_way_partial_auc(scores, labels, alpha=0.3, beta=0.4).item() == value
    assert metric.compute().item() == 0.5
    assert metric.error_bound == pytest.approx(0.5)


def test_pairs_in_different_bins_are_certain():
    scores, labels = torch.tensor([0.9, 0.1, 0.9, 0.1]), torch.tensor([1, 1, 0, 0])
    metric = TwoWayPartialAUC(0.5, 0.5, 8)
    metric.update(scores, labels)
    assert (metric.compute().item(), metric.error_bound) == (0.0, 0.0)


@settings(deadline=None, max_examples=300)
@given(st.lists(FINITE | SCORES, min_size=2, max_size=2), st.integers(1, 10**6))
def test_bins_follow_the_order_of_the_scores(pair, bins):
    low, high = (histogram_counts(torch.tensor([score], dtype=torch.float64), bins).argmax() for score in sorted(pair))
    assert low <= high


@pytest.mark.parametrize(
    ("score", "expected"),
    [(-3, 5), (-0.5, 13), (0, 20), (0.31, 32), (0.99, 59), (1, 60), (1.5, 66), (2, 70), (100, 79)],
)
def test_bins_are_those_of_the_formula(score, expected):
    u = 1 / (4 * (1 - score)) if score < 0 else 1 / 4 + score / 2 if score <= 1 else 1 - 1 / (4 * score)
    assert math.floor(80 * u) == expected
    assert histogram_counts(torch.tensor([float(score)]), 80).argmax().item() == expected


def test_a_number_falls_into_one_bin_whatever_its_type():
    scores = torch.rand(1000, generator=torch.Generator().manual_seed(5))
    assert torch.equal(histogram_counts(scores, 10**6), histogram_counts(scores.double(), 10**6))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_largest_scores_find_a_bin(dtype):
    largest = torch.finfo(dtype).max
    scores = torch.tensor([-largest, largest, 0.0, 1.0], dtype=dtype)
    assert histogram_counts(scores, 4).tolist() == [1, 1, 0, 2]


@pytest.mark.parametrize("to_scores", [torch.sigmoid, lambda logits: logits], ids=["probabilities", "logits"])
def test_a_thousand_bins_give_two_digits(to_scores):
    generator = torch.Generator().manual_seed(3)
    labels = (torch.rand(20_000, generator=generator) < 0.2).long()
    scores = to_scores(torch.randn(20_000, generator=generator) + 2 * labels)
    metric = filled([(scores, labels)], bins=1000)
    assert abs(metric.compute().item() - exact(scores, labels)) <= metric.error_bound < 0.005


def test_the_state_of_bins_does_not_grow():
    metric = TwoWayPartialAUC(0.3, 0.4, 16)
    size_before = len(pickle.dumps(metric.metric_state))
    for seed in range(50):
        metric(*example(seed=seed))
    assert {name: state.shape for name, state in metric.metric_state.items()} == {
        "positive_counts": (16,),
        "negative_counts": (16,),
    }
    assert len(pickle.dumps(metric.metric_state)) == size_before
    assert sum(int(state.sum()) for state in metric.metric_state.values()) == 50 * 200


def test_error_bound_is_that_of_compute_not_of_the_last_batch():
    first, second = example(seed=1), example(seed=2)
    metric = TwoWayPartialAUC(0.3, 0.4, 20)
    metric(*first)
    metric(*second)
    assert metric.error_bound == filled([first, second], 20).error_bound
    with pytest.raises(ValueError, match="labels has no positive example among its 0"):
        TwoWayPartialAUC(0.3, 0.4, 20).error_bound  # noqa: B018


# ------------------------------------------------------------------------------------------------- torchmetrics' ways


@pytest.mark.parametrize("bins", [None, 50])
@pytest.mark.parametrize(
    "copied",
    [lambda m: m.clone(), copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=["clone", "copy", "pickle"],
)
def test_copies_carry_on_alone(bins, copied):
    first, second = example(seed=1), example(seed=2)
    metric = filled([first], bins)
    other = copied(metric)
    other.update(*second)
    assert metric.compute().item() == filled([first], bins).compute().item()
    assert other.compute().item() == filled([first, second], bins).compute().item()
    assert other.error_bound == filled([first, second], bins).error_bound


@pytest.mark.parametrize("bins", [None, 50])
def test_state_dict_holds_the_state_if_asked(bins, tmp_path):
    first, second = example(seed=1), example(seed=2)
    metric = filled([first], bins)
    assert metric.state_dict() == {}
    metric.persistent(True)
    torch.save(metric.state_dict(), tmp_path / "state.pt")
    other = TwoWayPartialAUC(0.3, 0.4, bins)
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert other.compute().item() == metric.compute().item()
    other.update(*second)
    assert other.compute().item() == filled([first, second], bins).compute().item()


@pytest.mark.parametrize("bins", [None, 50])
def test_a_state_that_is_loaded_replaces_what_was_computed(bins):
    metric, other = filled([example(seed=1)], bins), filled([example(seed=2)], bins)
    metric.persistent(True)
    assert other.compute() != metric.compute()
    other.load_state_dict(metric.state_dict())
    assert other.compute() == metric.compute()
    assert other.error_bound == metric.error_bound


@pytest.mark.parametrize("bins", [None, 2000])
@pytest.mark.parametrize(
    "convert",
    [
        lambda metric: metric.to(torch.bfloat16),
        lambda metric: metric.half(),
        lambda metric: metric.set_dtype(torch.float16),
        lambda metric: torch.nn.Sequential(metric).to(torch.bfloat16)[0],
        lambda metric: metric.to("cpu"),
    ],
    ids=["to", "half", "set_dtype", "inside a model", "device"],
)
def test_conversion_does_not_round_the_state(bins, convert):
    generator = torch.Generator().manual_seed(4)
    scores = torch.rand(9000, dtype=torch.float64, generator=generator)
    labels = torch.arange(9000) % 2
    expected = filled([(scores, labels)], bins).compute().item()
    metric = filled(in_batches(scores[:6000], labels[:6000], 1000), bins)
    metric.compute()
    metric = convert(metric)
    assert metric.compute().dtype == torch.float64
    metric.update(scores[6000:], labels[6000:])
    metric = convert(metric)
    assert metric.compute().item() == expected


@pytest.mark.parametrize("bins", [None, 50])
def test_the_state_follows_the_metric_to_a_device(bins):
    metric = filled([example()], bins).to("meta")
    parts = [part for state in metric.metric_state.values() for part in (state if isinstance(state, list) else [state])]
    assert {part.device.type for part in parts} == {"meta"}
    assert metric.device.type == "meta"


def test_results_are_float64_where_the_device_has_it():
    assert widest_float(torch.device("cpu")) == widest_float(torch.device("cuda")) == torch.float64
    assert widest_float(torch.device("mps")) == torch.float32


def test_a_collection_shares_the_scores_and_keeps_the_regions_apart():
    scores, labels = example()
    batches = in_batches(scores, labels, 50)
    collection = MetricCollection(
        {
            "corner": TwoWayPartialAUC(0.3, 0.4),
            "auc": TwoWayPartialAUC(1.0, 1.0),
            "binned": TwoWayPartialAUC(0.3, 0.4, 40),
            "binned auc": TwoWayPartialAUC(1.0, 1.0, 40),
        }
    )
    # `update` makes the two exact metrics share one list; `forward` then must not add to it twice.
    collection.update(*batches[0])
    for batch in batches[1:3]:
        assert collection(*batch)["corner"].item() == exact(*batch)
    collection.update(*batches[3])
    values = collection.compute()
    assert values["corner"].item() == exact(scores, labels)
    assert values["auc"].item() == exact(scores, labels, 1.0, 1.0)
    assert values["binned"].item() == filled(batches, 40).compute().item()
    assert abs(values["binned auc"].item() - values["auc"].item()) <= collection["binned auc"].error_bound
    assert len(collection.compute_groups) == 2
    collection.reset()
    collection.update(*batches[0])
    assert collection.compute()["corner"].item() == exact(*batches[0])


@pytest.mark.parametrize("bins", [None, 50])
def test_no_batch_is_added_to_the_state_of_all_processes(bins):
    scores, labels = example()
    metric = filled([(scores, labels)], bins)
    metric.sync(dist_sync_fn=lambda state, group: [state, state], distributed_available=lambda: True)
    for add in (metric.update, metric):
        with pytest.raises(RuntimeError, match=r"call unsync\(\) before adding a batch"):
            add(scores, labels)
    metric.unsync()
    metric.update(scores, labels)
    assert metric.compute().item() == filled([(scores, labels)] * 2, bins).compute().item()


def test_what_the_metric_says_of_itself():
    metric = TwoWayPartialAUC(0.3, 0.4)
    assert metric.higher_is_better
    assert not metric.is_differentiable
    assert not metric.full_state_update


# --------------------------------------------------------------------------------------------------- several processes


def shares_of(case, world_size):
    """Return for each process the list of its batches."""
    scores, labels = example(n=120)
    nothing = [[]] * (world_size - 1)
    if case == "unequal":
        cuts = [0, 7, *([100] if world_size == 3 else []), 120]
        return [in_batches(scores[a:b], labels[a:b]) for a, b in itertools.pairwise(cuts)]
    if case == "all in the first":
        return [in_batches(scores, labels), *nothing]
    if case == "all in the last":
        return [*nothing, in_batches(scores, labels)]
    if case == "empty batches":
        return [in_batches(scores, labels), *[[(scores[:0], labels[:0])]] * (world_size - 1)]
    if case == "one class each":
        positive = labels == 1
        return [[(scores[~positive], labels[~positive])], *nothing[1:], [(scores[positive], labels[positive])]]
    if case == "different types":
        types = [torch.float32, torch.float64, torch.bfloat16][:world_size]
        return [[(scores[r::world_size].to(dtype), labels[r::world_size])] for r, dtype in enumerate(types)]
    raise KeyError(case)


CASES = ["unequal", "all in the first", "all in the last", "empty batches", "one class each", "different types"]


def values_in_process(rank, world_size):
    results = {}
    for case, bins in itertools.product(CASES, (None, 40)):
        metric = filled(shares_of(case, world_size)[rank], bins)
        value = metric.compute().item()
        with metric.sync_context():
            n_examples = sum(len(s) if bins is None else int(s.sum()) for s in metric.metric_state.values())
        results[case, bins] = {"value": value, "bound": metric.error_bound, "n_examples": n_examples}
    return results


def misfortunes_in_process(rank, world_size):
    results = {}
    scores, labels = example(n=120)
    share = scores[rank::world_size], labels[rank::world_size]
    for bins in (None, 40):
        metric = TwoWayPartialAUC(0.3, 0.4, bins)
        for _ in range(2):
            with pytest.raises(ValueError, match="labels has no positive example among its 0"):
                metric.compute()
            metric.update(scores[:0], labels[:0])
        batch = metric(*share).item()
        synced_batch = TwoWayPartialAUC(0.3, 0.4, bins, dist_sync_on_step=True)(*share).item()
        results[bins] = {"batch": batch, "synced batch": synced_batch, "value": metric.compute().item()}
        # Computing must not leave the examples of the other processes in the state.
        metric.update(*share)
        results[bins]["twice"] = metric.compute().item()
    results["own"] = filled([share], sync_on_compute=False).compute().item()
    return results


def everything_in_process(rank, world_size):
    # A process without data gets the right value, so nothing is to be warned of.
    warnings.simplefilter("error")
    return values_in_process(rank, world_size), misfortunes_in_process(rank, world_size)


@pytest.mark.parametrize("world_size", [2, 3])
def test_processes_give_the_value_of_one(world_size):
    scores, labels = example(n=120)
    for rank, (values, misfortunes) in enumerate(run_in_processes(everything_in_process, world_size)):
        for (case, bins), result in values.items():
            alone = filled(itertools.chain(*shares_of(case, world_size)), bins)
            expected = {"value": alone.compute().item(), "bound": alone.error_bound, "n_examples": 120}
            assert result == expected, (case, bins)
        share = scores[rank::world_size], labels[rank::world_size]
        for bins in (None, 40):
            whole = filled([(scores, labels)], bins).compute().item()
            assert misfortunes[bins] == {
                "batch": filled([share], bins).compute().item(),
                "synced batch": whole,
                "value": whole,
                "twice": filled([(scores, labels)] * 2, bins).compute().item(),
            }
        assert misfortunes["own"] == exact(*share)


# ------------------------------------------------------------------------------------------------------ foreign states


def saved_state(**settings):
    metric = TwoWayPartialAUC(**{"alpha": 0.5, "beta": 0.5, **settings})
    metric.persistent(True)
    metric.update(torch.tensor([0.9, 0.8, 0.4, 0.1]), torch.tensor([1, 0, 1, 0]))
    return metric, metric.state_dict()


@pytest.mark.parametrize("bins", [None, 8])
def test_a_state_is_loaded_by_a_metric_of_the_same_settings(bins):
    metric, state = saved_state(bins=bins)
    other = TwoWayPartialAUC(0.5, 0.5, bins)
    other.load_state_dict(state)
    assert other.compute() == metric.compute()
    assert TwoWayPartialAUC(0.5, 0.5, bins).state_dict() == {}  # as of every metric that is not persistent


@pytest.mark.parametrize("settings", [{"alpha": 0.6}, {"beta": 0.6}, {"ties": "optimistic"}, {"bins": 8}, {"bins": 16}])
def test_a_state_of_other_settings_is_refused(settings):
    other, _ = saved_state(**settings)
    before = other.compute()
    with pytest.raises(ValueError, match="state_dict is the state of a metric with other settings"):
        other.load_state_dict(saved_state()[1])
    assert other.compute() == before


@pytest.mark.parametrize(
    ("bins", "changes"),
    [
        (8, {"positive_counts": torch.zeros(7, dtype=torch.int64)}),
        (8, {"positive_counts": torch.zeros(8)}),
        (8, {"negative_counts": -torch.ones(8, dtype=torch.int64)}),
        (None, {"positive_scores": [torch.tensor([float("nan")])]}),
        (None, {"positive_scores": [1.0]}),
        (None, {"negative_scores": [torch.zeros(2, 2)]}),
        (None, {"negative_scores": "all"}),
    ],
)
def test_a_state_of_another_form_is_refused(bins, changes):
    metric, state = saved_state(bins=bins)
    with pytest.raises(ValueError, match=r"state_dict\['(positive|negative)_(counts|scores)'\] must"):
        metric.load_state_dict({**state, **changes})
