import copy
import io
import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from processes import run_in_processes
from tpauc.samplers import HardExampleSampler, StratifiedBatchSampler

properties = settings(deadline=None, max_examples=80)

# On a machine of one core two workers are more than torch advises; newer Pythons warn of any fork beside threads.
two_workers = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create:UserWarning", "ignore:This process:DeprecationWarning"
)


@st.composite
def settings_of_a_sampler(draw):
    """Labels in random order and options; data may be smaller than a batch, and either class may need more batches."""
    labels = [1] * draw(st.integers(1, 40)) + [0] * draw(st.integers(1, 60))
    random.Random(draw(st.integers(0, 100))).shuffle(labels)
    parts = st.one_of(st.integers(1, 20), st.floats(0.05, 20))
    options = {"ratio": (draw(parts), draw(parts)), "seed": draw(st.integers(0, 2**70))}
    return labels, draw(st.integers(2, 50)), options


def rows_of(labels, label):
    return [row for row, found in enumerate(labels) if found == label]


def uses(batches, rows):
    """How often each of ``rows`` is in ``batches``."""
    found = Counter(itertools.chain.from_iterable(batches))
    return [found[row] for row in rows]


def uneven(counts):
    return max(counts) - min(counts)


# -------------------------------------------------------------------------------------------------- what a batch holds


@properties
@given(settings_of_a_sampler())
@example(([1, 0], 50, {"ratio": (1, 10), "seed": 0}))
def test_every_batch_is_full_and_holds_the_ratio_exactly(sampler_settings):
    labels, batch_size, options = sampler_settings
    sampler = StratifiedBatchSampler(labels, batch_size, **options)
    positives, negatives = sampler.positives_per_batch, sampler.negatives_per_batch
    part, other_part = map(Fraction, options["ratio"])
    exact = batch_size * part / (part + other_part)
    assert positives + negatives == batch_size
    assert abs(positives - exact) <= Fraction(1, 2) or min(positives, negatives) == 1
    for batch in sampler:
        assert [labels[row] for row in batch] == [1] * positives + [0] * negatives


@properties
@given(settings_of_a_sampler())
def test_an_epoch_is_as_short_as_a_complete_pass_allows(sampler_settings):
    labels, batch_size, options = sampler_settings
    sampler = StratifiedBatchSampler(labels, batch_size, **options)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    assert min(uses(batches, range(len(labels)))) >= 1
    places = (len(sampler) - 1) * np.array([sampler.positives_per_batch, sampler.negatives_per_batch])
    assert places[0] < labels.count(1) or places[1] < labels.count(0)


@properties
@given(settings_of_a_sampler())
@example(([1] * 3 + [0] * 11, 7, {"ratio": (5, 2), "seed": 3}))
def test_examples_are_reused_evenly_in_an_epoch_and_in_every_batch(sampler_settings):
    labels, batch_size, options = sampler_settings
    batches = list(StratifiedBatchSampler(labels, batch_size, **options))
    for label in (0, 1):
        rows = rows_of(labels, label)
        assert uneven(uses(batches, rows)) <= 1
        assert all(uneven(uses([batch], rows)) <= 1 for batch in batches)


def test_each_pass_over_a_reused_class_has_an_order_of_its_own():
    labels = [1] * 12 + [0] * 1200
    batches = list(StratifiedBatchSampler(labels, 44, ratio=(4, 40)))
    positives = [row for batch in batches for row in batch[:4]]
    passes = {tuple(positives[start : start + 12]) for start in range(0, len(positives), 12)}
    assert len(passes) == 10


def test_all_examples_are_equally_likely_to_come_first():
    first = Counter(next(iter(StratifiedBatchSampler([1] * 8 + [0] * 80, 11, seed=seed)))[0] for seed in range(800))
    # Chi-square with 7 degrees of freedom: beyond 24.3 once in a thousand, and the seeds are fixed.
    assert sum((first[row] - 100) ** 2 / 100 for row in range(8)) < 24.3


@pytest.mark.parametrize(
    ("batch_size", "ratio", "expected"),
    [
        (128, (1, 10), 12),
        (512, (1, 10), 47),
        (5, (1, 1), 3),
        (6, (3, 1), 5),
        (9, (1, 5), 2),
        (10, (1, 2), 3),
        (10, (1, 1e300), 1),
        (10, (1e300, 1e-300), 9),
        (8, np.array([1, 3]), 2),
    ],
)
def test_ratio_is_rounded_half_up_and_leaves_each_class_an_example(batch_size, ratio, expected):
    assert StratifiedBatchSampler([0, 1], batch_size, ratio=ratio).positives_per_batch == expected


@pytest.mark.parametrize(
    "labels",
    [
        [1, 0, 0, 1, 0],
        [True, False, False, True, False],
        (1.0, -1.0, -1.0, 1.0, -1.0),
        np.array([[1], [0], [0], [1], [0]], dtype=np.uint8),
        torch.tensor([1, -1, -1, 1, -1]),
        torch.tensor([[1.0], [0.0], [0.0], [1.0], [0.0]], dtype=torch.bfloat16, requires_grad=True),
    ],
)
def test_labels_of_any_kind_give_the_same_batches_of_plain_ints(labels):
    batches = list(StratifiedBatchSampler(labels, 3, ratio=(1, 2)))
    assert batches == list(StratifiedBatchSampler([1, 0, 0, 1, 0], 3, ratio=(1, 2)))
    assert all(type(row) is int for batch in batches for row in batch)


# -------------------------------------------------------------------------------------------------- epochs and resuming


def sampler_of_many_batches(**options):
    return StratifiedBatchSampler([1] * 30 + [0] * 100, 11, ratio=(1, 4), **options)


@properties
@given(settings_of_a_sampler(), st.integers(0, 2**40))
def test_order_depends_on_seed_and_epoch_alone_and_leaves_global_generators_alone(sampler_settings, epoch):
    labels, batch_size, options = sampler_settings
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    sampler = StratifiedBatchSampler(labels, batch_size, **options)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (np.random.get_state()[1].tolist(), random.getstate())  # noqa: NPY002
    again = StratifiedBatchSampler(np.array(labels), batch_size, **options)
    list(again)
    again.set_epoch(epoch)
    assert list(again) == batches


def test_passes_without_set_epoch_are_epochs_0_1_2():
    sampler, chosen = sampler_of_many_batches(), sampler_of_many_batches()
    orders = []
    for epoch in range(3):
        chosen.set_epoch(epoch)
        orders.append(list(chosen))
        assert list(sampler) == orders[-1]
        assert sampler.epoch == epoch + 1
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_seeds_do_not_share_epochs():
    # With seed + epoch as the seed of a generator, these would all be one order.
    orders = []
    for seed, epoch in ((0, 2), (1, 1), (2, 0)):
        sampler = sampler_of_many_batches(seed=seed)
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_an_abandoned_pass_is_followed_by_a_whole_epoch_in_a_new_order():
    sampler, chosen = sampler_of_many_batches(), sampler_of_many_batches()
    abandoned = iter(sampler)
    next(abandoned)
    chosen.set_epoch(1)
    following, expected = iter(sampler), list(chosen)
    assert next(following) == expected[0]
    next(abandoned)
    assert (sampler.epoch, sampler.position) == (1, 1)
    assert list(following) == expected[1:]


def test_a_pass_begins_with_its_first_batch():
    sampler, expected = sampler_of_many_batches(), sampler_of_many_batches()
    sampler.load_state_dict(sampler.state_dict(position=2))
    iter(sampler)
    assert sampler.resuming
    assert list(sampler) == list(expected)[2:]


def test_set_epoch_again_restarts_an_epoch_under_way():
    sampler = sampler_of_many_batches()
    sampler.set_epoch(4)
    batches = list(itertools.islice(sampler, 3))
    sampler.set_epoch(4)
    assert list(itertools.islice(sampler, 3)) == batches


@properties
@given(settings_of_a_sampler(), st.integers(0, 5), st.floats(0, 1), st.booleans())
def test_resuming_anywhere_gives_the_rest_of_the_epoch_and_then_the_next(sampler_settings, epoch, share, set_epoch):
    labels, batch_size, options = sampler_settings
    whole = StratifiedBatchSampler(labels, batch_size, **options)
    done = round(share * len(whole))
    whole.set_epoch(epoch)
    batches, state = [], whole.state_dict()
    for batch in whole:
        batches.append(batch)
        if len(batches) == done:
            state = whole.state_dict()
    resumed = StratifiedBatchSampler(labels, batch_size, **options)
    resumed.load_state_dict(state)
    assert resumed.resuming == (done > 0)
    if set_epoch:
        resumed.set_epoch(epoch)
    assert list(resumed) == batches[done:]
    assert not resumed.resuming
    if set_epoch:
        resumed.set_epoch(epoch + 1)
    assert list(resumed) == list(whole)


def test_state_passes_through_a_file_and_a_copy():
    sampler = sampler_of_many_batches()
    pass_over = iter(sampler)
    next(pass_over)
    file = io.BytesIO()
    torch.save(sampler.state_dict(), file)
    file.seek(0)
    resumed = sampler_of_many_batches()
    resumed.load_state_dict(torch.load(file, weights_only=True))
    copied = copy.deepcopy(resumed)
    rest = list(pass_over)
    assert list(resumed) == rest
    assert list(copied) == rest


def test_set_epoch_to_another_epoch_gives_up_the_position_loaded():
    sampler, chosen = sampler_of_many_batches(), sampler_of_many_batches()
    sampler.load_state_dict(sampler.state_dict(epoch=2, position=5))
    sampler.set_epoch(3)
    chosen.set_epoch(3)
    assert list(sampler) == list(chosen)


def test_a_state_can_be_loaded_with_another_number_of_processes():
    one, two = sampler_of_many_batches(), sampler_of_many_batches(num_replicas=2, rank=1)
    two.load_state_dict(one.state_dict(epoch=1, position=7))
    assert list(two) == [batch[1::2] for batch in list(resumed_at(one, 1, 7))]


def resumed_at(sampler, epoch, position):
    sampler.load_state_dict(sampler.state_dict(epoch=epoch, position=position))
    return sampler


# ----------------------------------------------------------------------------------------------------------- processes


@properties
@given(settings_of_a_sampler(), st.integers(1, 5))
def test_parts_of_all_processes_make_up_the_batches_of_one(sampler_settings, num_replicas):
    labels, batch_size, options = sampler_settings
    num_replicas = min(num_replicas, batch_size)
    whole = list(StratifiedBatchSampler(labels, batch_size, **options))
    parts = [
        list(StratifiedBatchSampler(labels, batch_size, num_replicas=num_replicas, rank=rank, **options))
        for rank in range(num_replicas)
    ]
    for batch, *shares in zip(whole, *parts, strict=True):
        # As multisets: no place of the batch is handed to two processes, and none to no process.
        assert Counter(itertools.chain.from_iterable(shares)) == Counter(batch)
        assert uneven([len(share) for share in shares]) <= 1
        for label in (0, 1):
            assert uneven([sum(labels[row] == label for row in share) for share in shares]) <= 1


def batches_of_this_process(rank, world_size, built_before):
    built_after = sampler_of_many_batches(seed=5)
    return [list(built_before), list(built_after), list(built_before), len(built_before)]


def test_two_processes_share_the_batches_of_one():
    results = run_in_processes(batches_of_this_process, 2, sampler_of_many_batches(seed=5))
    single = sampler_of_many_batches(seed=5)
    first, second = list(single), list(single)
    for rank, (before, after, next_epoch, length) in enumerate(results):
        assert before == after == [batch[rank::2] for batch in first]
        assert next_epoch == [batch[rank::2] for batch in second]
        assert length == len(single)


def test_a_batch_smaller_than_the_process_group_is_an_error_when_an_epoch_begins(monkeypatch):
    sampler = StratifiedBatchSampler([0, 1], 2)
    monkeypatch.setattr("tpauc.samplers._replica_of_this_process", lambda: (3, 0))
    with pytest.raises(ValueError, match="all processes and must be at least their number, 3, got 2"):
        next(iter(sampler))
    monkeypatch.undo()
    assert list(sampler) == list(StratifiedBatchSampler([0, 1], 2))


# ---------------------------------------------------------------------------------------------------------- DataLoader


@two_workers
@pytest.mark.parametrize(
    "workers", [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}]
)
@pytest.mark.parametrize("set_epoch", [False, True])
def test_data_loader_yields_the_batches_of_every_epoch(workers, set_epoch):
    sampler, expected = sampler_of_many_batches(), sampler_of_many_batches()
    loader = DataLoader(torch.arange(130) * 10, batch_sampler=sampler, **workers)
    assert len(loader) == len(expected)
    for epoch in range(2):
        if set_epoch:
            sampler.set_epoch(epoch)
        assert [batch.tolist() for batch in loader] == [[10 * row for row in batch] for batch in expected]


@two_workers
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_training_loop_resumes_at_the_batch_after_the_last_it_trained_on(num_workers):
    def train(sampler, first_epoch, stop_at):
        """Yield what is trained on; at (epoch, position) ``stop_at`` return the state instead."""
        trained = []
        loader = DataLoader(torch.arange(130), batch_sampler=sampler, num_workers=num_workers)
        for epoch in range(first_epoch, 3):
            sampler.set_epoch(epoch)
            for position, batch in enumerate(loader, start=sampler.position if sampler.resuming else 0):
                if (epoch, position) == stop_at:
                    return trained, sampler.state_dict(epoch=epoch, position=position)
                trained.append(batch.tolist())
        return trained, None

    uninterrupted, _ = train(sampler_of_many_batches(), 0, None)
    before, state = train(sampler_of_many_batches(), 0, (1, 12))
    resumed = sampler_of_many_batches()
    resumed.load_state_dict(state)
    after, _ = train(resumed, resumed.epoch, None)
    assert before + after == uninterrupted


def test_lightning_cannot_mistake_it_for_a_sampler_to_rebuild():
    # Lightning rebuilds a batch sampler that has `drop_last` from a sampler, and sets epochs on its `sampler`.
    for sampler in (sampler_of_many_batches(), hard_sampler()):
        assert not hasattr(sampler, "drop_last")
        assert not hasattr(sampler, "sampler")


# -------------------------------------------------------------------------------------------------------- hard examples


def hard_sampler(**options):
    settings_ = {"alpha": 0.5, "beta": 0.25, "ratio": (1, 4), "seed": 1} | options
    return HardExampleSampler([1] * 30 + [0] * 100, 10, **settings_)


def scores_from(seed, n=130):
    return torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def plain_selection(labels, scores, n_positive, n_negative):
    """Rank each class by a full sort, as the paper does; of equal scores the lower row first."""
    positives = sorted(rows_of(labels, 1), key=lambda row: (scores[row], row))[:n_positive]
    negatives = sorted(rows_of(labels, 0), key=lambda row: (-scores[row], row))[:n_negative]
    return sorted(positives), sorted(negatives)


@properties
@given(st.data(), st.sampled_from([0.2, 0.5, 1.0]), st.sampled_from([0.1, 0.29, 1.0]))
def test_update_selects_the_hardest_of_each_class(data, alpha, beta):
    labels = [1] * 10 + [0] * 100
    data.draw(st.randoms(use_true_random=False)).shuffle(labels)
    # Five values only, so that the border of the selection often runs through equal scores.
    scores = data.draw(st.lists(st.sampled_from([0.0, -1.5, 0.5, 1e300, -0.0]), min_size=110, max_size=110))
    sampler = HardExampleSampler(labels, 20, alpha=alpha, beta=beta)
    sampler.update(scores)
    batches = list(sampler)
    positives, negatives = plain_selection(labels, scores, round(10 * alpha), round(100 * beta))
    assert sorted({row for batch in batches for row in batch[: sampler.positives_per_batch]}) == positives
    assert sorted({row for batch in batches for row in batch[sampler.positives_per_batch :]}) == negatives
    assert all(uneven(uses(batches, rows)) <= 1 for rows in (positives, negatives))
    assert len(batches) == len(sampler)


def test_one_way_form_keeps_all_positives():
    sampler = HardExampleSampler([1] * 30 + [0] * 100, 10, beta=0.1)
    sampler.update(scores_from(0))
    rows = {row for batch in sampler for row in batch}
    assert set(range(30)) <= rows
    assert len(rows) == 40


def test_warm_up_passes_over_all_the_data_as_the_stratified_sampler_does():
    stratified = StratifiedBatchSampler([1] * 30 + [0] * 100, 10, ratio=(1, 4), seed=1)
    assert list(hard_sampler()) == list(stratified)


@pytest.mark.parametrize(
    "kind", [torch.Tensor.tolist, torch.Tensor.numpy, lambda s: s.clone().requires_grad_()[:, None]]
)
def test_scores_of_any_kind_select_alike(kind):
    expected, sampler = hard_sampler(), hard_sampler()
    expected.update(scores_from(3))
    sampler.update(kind(scores_from(3)))
    assert list(sampler) == list(expected)


def test_bfloat16_scores_are_ranked():
    sampler = HardExampleSampler([1, 1, 0, 0], 2, ratio=(1, 1), alpha=0.5, beta=0.5)
    sampler.update(torch.tensor([0.5, 0.25, 1.0, 2.0], dtype=torch.bfloat16))
    assert list(sampler) == [[1, 3]]


def hard_epochs(sampler, first_epoch, stop_at=None):
    """Three epochs, each over a selection of its own; at (epoch, batches done) ``stop_at`` the state instead."""
    batches = []
    for epoch in range(first_epoch, 3):
        sampler.set_epoch(epoch)
        if epoch > 0 and not sampler.resuming:
            sampler.update(scores_from(epoch))
        for batch in sampler:
            batches.append(batch)
            if (epoch, sampler.position) == stop_at:
                return batches, sampler.state_dict()
    return batches, None


@pytest.mark.parametrize("stop_at", [(0, 4), (1, 1), (1, 3), (1, 8), (2, 7)])
def test_hard_examples_resume_in_the_middle_of_an_epoch(stop_at):
    uninterrupted, _ = hard_epochs(hard_sampler(), 0)
    before, state = hard_epochs(hard_sampler(), 0, stop_at)
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    resumed = hard_sampler()
    resumed.update(scores_from(99))
    resumed.load_state_dict(torch.load(file, weights_only=True))
    after, _ = hard_epochs(resumed, stop_at[0])
    assert before + after == uninterrupted


def test_update_during_an_epoch_lets_it_end_and_makes_the_next_one_due():
    expected = hard_sampler()
    warm_up = list(expected)
    expected.update(scores_from(1))
    sampler = hard_sampler()
    pass_over = iter(sampler)
    started = [next(pass_over), next(pass_over)]
    sampler.update(scores_from(1))
    resumed = hard_sampler()
    resumed.load_state_dict(sampler.state_dict())
    assert started + list(pass_over) == warm_up
    assert list(sampler) == list(resumed) == list(expected)


def test_hard_examples_are_shared_by_processes():
    samplers = [hard_sampler(), *(hard_sampler(num_replicas=3, rank=rank) for rank in range(3))]
    for sampler in samplers:
        sampler.update(scores_from(4))
    whole, *parts = map(list, samplers)
    assert parts == [[batch[rank::3] for batch in whole] for rank in range(3)]


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"labels": [1, 1]}, ValueError, "labels has no negative example among its 2"),
        ({"labels": [0, 0, 0]}, ValueError, "labels has no positive example among its 3"),
        ({"labels": []}, ValueError, "labels has no positive example among its 0"),
        ({"labels": [0, 2]}, ValueError, "labels must hold only 0/1 or only -1/1, found the values 0, 2"),
        ({"labels": [0.0, math.nan]}, ValueError, "labels must hold only 0/1"),
        ({"labels": torch.eye(2)}, ValueError, "labels must be one-dimensional"),
        ({"labels": ["a", "b"]}, ValueError, "labels must hold 0/1 or -1/1 as numbers"),
        ({"batch_size": 1}, ValueError, "batch_size must be at least 2, got 1"),
        ({"batch_size": 2.0}, TypeError, "batch_size must be a whole number, got 2.0"),
        ({"ratio": 10}, ValueError, r"ratio must be two numbers, \(positive part, negative part\), got 10"),
        ({"ratio": (1, 2, 3)}, ValueError, "ratio must be two numbers"),
        ({"ratio": {1, 10}}, ValueError, "ratio must be two numbers"),
        ({"ratio": "12"}, TypeError, r"ratio\[0\] must be a number, got '1'"),
        ({"ratio": (0, 1)}, ValueError, r"ratio\[0\] must be above 0, got 0"),
        ({"ratio": (1, -1)}, ValueError, r"ratio\[1\] must be above 0, got -1"),
        ({"ratio": (1, math.inf)}, ValueError, r"ratio\[1\] must be finite, got inf"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
        ({"seed": None}, TypeError, "seed must be a whole number, got None"),
        ({"num_replicas": 2}, ValueError, "give both num_replicas and rank or neither, got 2 and None"),
        ({"rank": 0}, ValueError, "give both num_replicas and rank or neither, got None and 0"),
        ({"num_replicas": 0, "rank": 0}, ValueError, "num_replicas must be at least 1, got 0"),
        ({"num_replicas": 2, "rank": 2}, ValueError, "rank must be below num_replicas=2, got 2"),
        ({"num_replicas": 2, "rank": -1}, ValueError, "rank must be at least 0, got -1"),
        (
            {"num_replicas": 5, "rank": 0},
            ValueError,
            "batch_size counts the examples of all processes .* at least their number, 5",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        StratifiedBatchSampler(**({"labels": [0, 1], "batch_size": 4} | arguments))


@pytest.mark.parametrize("epoch", [-1, 1.5, True])
def test_an_epoch_is_a_whole_number(epoch):
    with pytest.raises((ValueError, TypeError), match="epoch must be"):
        sampler_of_many_batches().set_epoch(epoch)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (StratifiedBatchSampler([1] * 30 + [0] * 100, 12, ratio=(1, 4)), "batch_size=11 but the state has 12"),
        (StratifiedBatchSampler([1] * 30 + [0] * 100, 11, ratio=(1, 2)), "positives_per_batch=2 but the state has 4"),
        (StratifiedBatchSampler([1] * 30 + [0] * 100, 11, ratio=(1, 4), seed=3), "seed=0 but the state has 3"),
        (StratifiedBatchSampler([0] * 100 + [1] * 30, 11, ratio=(1, 4)), "labels_checksum="),
        (StratifiedBatchSampler([1] * 31 + [0] * 100, 11, ratio=(1, 4)), "positives=30 but the state has 31"),
        (StratifiedBatchSampler([1] * 30 + [0] * 101, 11, ratio=(1, 4)), "negatives=100 but the state has 101"),
        (HardExampleSampler([1] * 30 + [0] * 100, 11, ratio=(1, 4), beta=0.5), "beta=None but the state has 0.5"),
    ],
)
def test_a_state_of_other_data_or_settings_is_refused(other, message):
    sampler = sampler_of_many_batches()
    with pytest.raises(ValueError, match=f"other data or settings: this one has .*{message}"):
        sampler.load_state_dict(other.state_dict(epoch=1))
    assert (sampler.epoch, sampler.position) == (0, 0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"position": 16}, ValueError, "position must be at most 15, the batches of an epoch, got 16"),
        ({"position": -1}, ValueError, r"state\['position'\] must be at least 0, got -1"),
        ({"epoch": "1"}, TypeError, r"state\['epoch'\] must be a whole number, got '1'"),
        ({"fingerprint": None}, ValueError, "other data or settings"),
    ],
)
def test_a_damaged_state_is_refused(change, error, message):
    sampler = sampler_of_many_batches()
    with pytest.raises(error, match=message):
        sampler.load_state_dict(sampler.state_dict() | change)


def test_a_state_must_be_whole_and_a_mapping():
    with pytest.raises(
        ValueError, match="state must hold epoch, position, fingerprint; it lacks position, fingerprint"
    ):
        sampler_of_many_batches().load_state_dict({"epoch": 1})
    with pytest.raises(ValueError, match="it lacks selected"):
        hard_sampler().load_state_dict({"epoch": 1, "position": 0, "fingerprint": {}})
    with pytest.raises(TypeError, match=r"state must be what state_dict\(\) returns, got list"):
        sampler_of_many_batches().load_state_dict([1])


def test_a_position_beyond_the_epoch_is_refused_when_saved():
    with pytest.raises(ValueError, match="position must be at most"):
        sampler_of_many_batches().state_dict(position=1000)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (torch.zeros(129), "scores must have one value for each of the 130 labels, got 129"),
        (torch.full((130,), math.nan), "scores must be finite, found 130"),
        (torch.zeros(65, 2), "scores must be one-dimensional"),
    ],
)
def test_wrong_scores_are_named(scores, message):
    with pytest.raises(ValueError, match=message):
        hard_sampler().update(scores)


def test_a_region_that_selects_nobody_is_refused_at_once():
    with pytest.raises(ValueError, match=r"alpha=0\.01 selects none of the 30 positive examples"):
        hard_sampler(alpha=0.01)
    with pytest.raises(ValueError, match="beta must be a share"):
        hard_sampler(beta=0)


def test_update_waits_for_the_rest_of_a_resumed_epoch():
    sampler = hard_sampler()
    sampler.load_state_dict(sampler.state_dict(epoch=2, position=3))
    with pytest.raises(RuntimeError, match="epoch 2 is resumed at batch 3"):
        sampler.update(scores_from(0))
    list(sampler)
    sampler.update(scores_from(0))


@pytest.mark.parametrize(
    ("positive", "negative", "message"),
    [
        ([-7, 999], None, r"\['positive'\] must hold 2 different rows with a positive label, got \[-7, 999\]"),
        ([0, 0], None, "must hold 2 different rows with a positive label"),
        ([0, 4], None, "must hold 2 different rows with a positive label"),  # row 4 is negative
        ([0], None, "must hold 2 different rows with a positive label"),
        (None, [4, 5, 6, 0], "must hold 4 different rows with a negative label"),
        (None, [4.0, 5.0, 6.0, 7.0], "must be a flat tensor of row numbers"),
        (None, [[4, 5, 6, 7]], "must be a flat tensor of row numbers"),
    ],
)
def test_the_selected_rows_of_a_state_are_rows_of_their_class(positive, negative, message):
    sampler = HardExampleSampler([1] * 4 + [0] * 8, 4, alpha=0.5, beta=0.5)
    sampler.update(list(range(12)))
    state = sampler.state_dict()
    assert state["selected"]["positive"].tolist() == [0, 1]
    given = {"positive": positive or [0, 1], "negative": negative or [8, 9, 10, 11]}
    tensors = {side: torch.tensor(rows) for side, rows in given.items()}
    with pytest.raises((TypeError, ValueError), match=message):
        sampler.load_state_dict({**state, "selected": tensors})
    assert sorted({row for batch in sampler for row in batch}) == [0, 1, 8, 9, 10, 11]  # as before


@pytest.mark.parametrize("selected", [{}, {"positive": torch.tensor([0, 1])}, [0, 1], "all"])
def test_selected_rows_of_another_form_are_refused(selected):
    sampler = HardExampleSampler([1] * 4 + [0] * 8, 4, alpha=0.5, beta=0.5)
    with pytest.raises(ValueError, match=r"state\['selected'\] must hold rows of positive and negative, got "):
        sampler.load_state_dict({**sampler.state_dict(), "selected": selected})
