"""Each baseline against a plain loop over examples or pairs, in value and gradient."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import reference
from processes import run_in_processes
from tpauc.losses.baselines import (
    ClassBalancedCrossEntropy,
    ClassBalancedFocal,
    FocalLoss,
    ReweightedCrossEntropy,
    TruncatedLoss,
)

# ------------------------------------------------------------------------------------- plain references, no tpauc here


def cross_entropy(z, label):
    """-log p of one example; p = 1 / (1 + exp(-+z))."""
    return torch.log1p(torch.exp(-z if label == 1 else z))


def focal(z, label, gamma):
    wrong = 1 / (1 + torch.exp(z if label == 1 else -z))  # 1 - p
    return wrong**gamma * cross_entropy(z, label)


def mean(terms):
    return sum(terms) / len(terms)


def reweighted_reference(z, labels, counts=None):
    """1/n_y, scaled to mean 1 over the data that the classes were counted on."""
    if counts is None:
        counts = (sum(labels), len(labels) - sum(labels))
        if 0 in counts:
            return mean([cross_entropy(zi, label) for zi, label in zip(z, labels, strict=True)])
    weight = {1: sum(counts) / (2 * counts[0]), 0: sum(counts) / (2 * counts[1])}
    return mean([weight[label] * cross_entropy(zi, label) for zi, label in zip(z, labels, strict=True)])


def focal_reference(z, labels, gamma, alpha=None):
    weight = {1: 1.0, 0: 1.0} if alpha is None else {1: alpha, 0: 1 - alpha}
    return mean([weight[label] * focal(zi, label, gamma) for zi, label in zip(z, labels, strict=True)])


def class_balanced_weights(counts, beta):
    """(1 - beta) / (1 - beta^n), scaled to mean 1 over the data, in exact arithmetic."""
    beta = Fraction(beta)
    inverse = [(1 - beta) / (1 - beta**n) for n in counts]
    scale = sum(counts) / sum(n * weight for n, weight in zip(counts, inverse, strict=True))
    return {1: float(inverse[0] * scale), 0: float(inverse[1] * scale)}


def class_balanced_reference(z, labels, counts, beta, gamma):
    weight = class_balanced_weights(counts, beta)
    return mean([weight[label] * focal(zi, label, gamma) for zi, label in zip(z, labels, strict=True)])


def hardest_subsets(z, members, share, sign):
    """Every choice of floor(n * share), at least 1, examples that is as hard as can be; several where scores tie."""
    size = max(1, reference.hard_count(len(members), share))
    choices = list(itertools.combinations(members, size))
    # Compared from the hardest down, entry by entry: a sum would round 1 + 1e-32 to 1 and see a tie.
    hardness = [sorted((sign * z[i].item() for i in choice), reverse=True) for choice in choices]
    hardest = max(hardness)
    return [choice for choice, hard in zip(choices, hardness, strict=True) if hard == hardest]


def truncated_references(z, labels, alpha, beta, loss):
    """Return the loss of every hardest selection."""
    positives = [i for i, label in enumerate(labels) if label == 1]
    negatives = [i for i, label in enumerate(labels) if label == 0]
    losses = []
    for chosen in hardest_subsets(z, positives, 1.0 if alpha is None else alpha, -1):
        for against in hardest_subsets(z, negatives, beta, 1):
            if loss == "cross_entropy":
                terms = [cross_entropy(z[i], labels[i]) for i in chosen + against]
            else:
                terms = [(1 - (z[i].sigmoid() - z[j].sigmoid())) ** 2 for i in chosen for j in against]
            losses.append(mean(terms))
    return losses


# ------------------------------------------------------------------------------------------------------ shared checker


def value_and_gradient(function, logits, *args):
    z = logits.detach().clone().requires_grad_()
    value = function(z, *args)
    value.backward()
    return value.detach(), z.grad


def assert_equals_reference(loss, logits, labels, plain):
    """Compare ``loss`` with ``plain(z, list of labels)`` in value and gradient, at rtol 1e-10.

    Terms of every size are summed, so what is lost in the large ones, 1e-16 of them, is absolute.
    """
    found, gradient = value_and_gradient(loss, logits, labels)
    expected, expected_gradient = value_and_gradient(plain, logits, labels.tolist())
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-15)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-10, atol=1e-15)


def test_the_checker_can_fail():
    logits, labels = random_batch()
    plain = reweighted_reference
    assert_equals_reference(lambda z, y: plain(z, y.tolist()), logits, labels, plain)
    with pytest.raises(AssertionError):
        assert_equals_reference(lambda z, y: plain(z, y.tolist()) + 1e-9, logits, labels, plain)
    with pytest.raises(AssertionError):  # right value, wrong gradient
        assert_equals_reference(
            lambda z, y: plain(z, y.tolist()) + 1e-9 * (z - z.detach()).sum(), logits, labels, plain
        )


# ------------------------------------------------------------------------------------------------------------ samples


LOGITS = st.floats(-30.0, 30.0)


@st.composite
def batches(draw, logits=LOGITS, lacking=True):
    """Up to 5 of each class, float64; ``lacking`` allows for a class that is missing, though not for both."""
    n_positive, n_negative = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    if not lacking or n_positive + n_negative == 0:
        n_positive, n_negative = max(1, n_positive), max(1, n_negative)
    n = n_positive + n_negative
    labels = draw(st.permutations([1] * n_positive + [0] * n_negative))
    values = draw(st.lists(logits, min_size=n, max_size=n))
    return torch.tensor(values, dtype=torch.float64), torch.tensor(labels)


def random_batch(n=12, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=generator, dtype=torch.float64), (torch.arange(n) % 3 == 0).long()


COUNTS = st.tuples(st.integers(1, 2000), st.integers(1, 2000))
GAMMAS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0])
TIED = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
SHARES = st.sampled_from([0.01, 0.3, 0.4, 0.5, 0.8, 1.0])
BEYOND_20 = (torch.tensor([-21.0, 22.0], dtype=torch.float64), torch.tensor([1, 0]))  # where softplus turns linear


# -------------------------------------------------------------------------------------------------- against references


@settings(deadline=None, max_examples=100)
@given(batches(), st.one_of(st.none(), COUNTS))
@example(BEYOND_20, None)
def test_reweighted_cross_entropy(batch, counts):
    loss = ReweightedCrossEntropy(*counts) if counts else ReweightedCrossEntropy()
    assert_equals_reference(loss, *batch, lambda z, y: reweighted_reference(z, y, counts))


@settings(deadline=None, max_examples=100)
@given(batches(), GAMMAS, st.one_of(st.none(), st.floats(0.01, 0.99)))
@example(BEYOND_20, 2.0, None)
def test_focal(batch, gamma, alpha):
    assert_equals_reference(FocalLoss(gamma, alpha=alpha), *batch, lambda z, y: focal_reference(z, y, gamma, alpha))


@settings(deadline=None, max_examples=60)
@given(batches(), COUNTS, st.sampled_from([0.0, 0.5, 0.9, 0.999, 0.9999]), GAMMAS)
def test_class_balanced(batch, counts, beta, gamma):
    loss = ClassBalancedFocal(*counts, beta=beta, gamma=gamma)
    assert_equals_reference(loss, *batch, lambda z, y: class_balanced_reference(z, y, counts, beta, gamma))
    loss = ClassBalancedCrossEntropy(*counts, beta=beta)
    assert_equals_reference(loss, *batch, lambda z, y: class_balanced_reference(z, y, counts, beta, 0.0))


@pytest.mark.parametrize("loss", ["square", "cross_entropy"])
@settings(deadline=None, max_examples=60)
@given(batches(st.one_of(st.floats(-8.0, 8.0), TIED), lacking=False), st.one_of(st.none(), SHARES), SHARES)
@example((torch.tensor([0.0, 0.0, 1.0, 2e-32], dtype=torch.float64), torch.tensor([1, 0, 0, 0])), None, 0.8)
def test_truncated(loss, batch, alpha, beta):
    logits, labels = batch
    found, gradient = value_and_gradient(TruncatedLoss(alpha, beta, loss=loss), logits, labels)
    z = logits.clone().requires_grad_()
    fits = []
    for plain in truncated_references(z, labels.tolist(), alpha, beta, loss):
        torch.testing.assert_close(found, plain.detach(), rtol=1e-10, atol=1e-15)  # ties change no value
        (expected,) = torch.autograd.grad(plain, z)
        fits.append(torch.allclose(gradient, expected, rtol=1e-10, atol=1e-15))
    assert any(fits)  # but the gradient goes to one of the tied examples


def test_truncated_shares_gradient_of_a_tie_with_nobody_else():
    z = torch.tensor([0.0, 0.0, 3.0, 1.0, 1.0, -3.0], dtype=torch.float64, requires_grad=True)
    TruncatedLoss(0.34, 0.34)(z, torch.tensor([1, 1, 1, 0, 0, 0])).backward()
    assert z.grad.count_nonzero() == 2
    assert z.grad[[2, 5]].tolist() == [0.0, 0.0]


# ----------------------------------------------------------------------------------------------------- special cases


@settings(deadline=None, max_examples=50)
@given(batches())
@example(BEYOND_20)
def test_focal_with_gamma_0_is_cross_entropy(batch):
    logits, labels = batch
    # Not torch's own loss, which takes small terms as differences of large ones and is 1e-15 off at -19.5.
    assert_equals_reference(
        FocalLoss(0.0), logits, labels, lambda z, y: mean([cross_entropy(*each) for each in zip(z, y, strict=True)])
    )


def test_class_balanced_limits():
    logits, labels = random_batch()
    counts = (100, 900)
    plain, reweighted = FocalLoss(0.0)(logits, labels), ReweightedCrossEntropy(*counts)(logits, labels)
    assert abs(plain - reweighted) > 0.05
    at_0 = ClassBalancedCrossEntropy(*counts, beta=0.0)
    assert torch.equal(at_0(logits, labels), plain)
    near_0 = ClassBalancedCrossEntropy(*counts, beta=1e-300)
    torch.testing.assert_close(near_0(logits, labels), plain, rtol=1e-14, atol=0.0)
    # (1 - b) / (1 - b^n) differs from 1/n by a factor of about 1 + (1 - b) n / 2
    for distance in (1e-6, 1e-9, 1e-12, 2.0**-53):
        near_1 = ClassBalancedCrossEntropy(*counts, beta=1.0 - distance)
        torch.testing.assert_close(near_1(logits, labels), reweighted, rtol=max(1e3 * distance, 1e-14), atol=0.0)


@pytest.mark.parametrize("beta", [0.3, 0.9999, 1 - 1e-8, 1 - 1e-12, 1 - 2.0**-53])
@pytest.mark.parametrize("counts", [(1, 1), (1, 1000), (37, 4210), (2000, 3)])
def test_class_balanced_weights_are_exact_up_to_the_last_beta_below_1(counts, beta):
    loss = ClassBalancedFocal(*counts, beta=beta)
    expected = class_balanced_weights(counts, beta)
    assert loss.positive_weight == pytest.approx(expected[1], rel=1e-12)
    assert loss.negative_weight == pytest.approx(expected[0], rel=1e-12)
    average = (counts[0] * loss.positive_weight + counts[1] * loss.negative_weight) / sum(counts)
    assert average == pytest.approx(1.0, rel=1e-12)


def test_class_balanced_survives_a_class_of_billions():
    loss = ClassBalancedFocal(1, 10**10, beta=0.9999)
    assert loss.positive_weight / loss.negative_weight == pytest.approx(1e4, rel=1e-12)


def test_truncated_with_everybody_is_the_whole_loss():
    logits, labels = random_batch()
    for alpha in (1.0, None):
        whole = TruncatedLoss(alpha, 1.0, loss="cross_entropy")
        assert_equals_reference(whole, logits, labels, lambda z, y: focal_reference(z, y, 0.0))
    pairs = torch.sigmoid(logits[labels == 1])[:, None] - torch.sigmoid(logits[labels == 0])[None]
    torch.testing.assert_close(TruncatedLoss(None, 1.0)(logits, labels), ((1 - pairs) ** 2).mean(), rtol=1e-12, atol=0)


def test_truncated_looks_at_the_hardest_alone():
    logits, labels = random_batch(30)
    order = torch.argsort(logits)
    positives, negatives = order[labels[order] == 1], order[labels[order] == 0].flip(0)
    easy = torch.cat((positives[3:], negatives[6:]))
    for loss in ("square", "cross_entropy"):
        _, gradient = value_and_gradient(TruncatedLoss(0.3, 0.3, loss=loss), logits, labels)
        assert not gradient[easy].any()
        assert gradient[positives[:3]].all()
        assert gradient[negatives[:6]].all()


# ---------------------------------------------------------------------------------------------------------- hard cases

# Each loss, and its plain reference for a list of labels.
LOSSES = {
    "reweighted": (ReweightedCrossEntropy(), reweighted_reference),
    "reweighted by counts": (
        ReweightedCrossEntropy(100, 900),
        lambda z, y: reweighted_reference(z, y, (100, 900)),
    ),
    "focal": (FocalLoss(2.0, alpha=0.25), lambda z, y: focal_reference(z, y, 2.0, 0.25)),
    "class-balanced": (
        ClassBalancedCrossEntropy(100, 900, beta=0.99),
        lambda z, y: class_balanced_reference(z, y, (100, 900), 0.99, 0.0),
    ),
    "class-balanced focal": (
        ClassBalancedFocal(100, 900, beta=0.99),
        lambda z, y: class_balanced_reference(z, y, (100, 900), 0.99, 2.0),
    ),
    "truncated square": (TruncatedLoss(0.5, 0.4), lambda z, y: truncated_references(z, y, 0.5, 0.4, "square")[0]),
    "truncated cross-entropy": (
        TruncatedLoss(None, 0.4, loss="cross_entropy"),
        lambda z, y: truncated_references(z, y, None, 0.4, "cross_entropy")[0],
    ),
}
each_loss = pytest.mark.parametrize("name", LOSSES)


@each_loss
@pytest.mark.parametrize("present", [0, 1])
def test_a_batch_that_lacks_a_class(name, present):
    logits, _ = random_batch()
    labels = torch.full((12,), present)
    loss, plain = LOSSES[name]
    if name == "truncated square":  # no pairs
        value, gradient = value_and_gradient(loss, logits, labels)
        assert value.item() == 0.0
        assert torch.equal(gradient, torch.zeros_like(logits))
    elif name == "truncated cross-entropy":
        share = None if present else 0.4
        assert_equals_reference(
            loss,
            logits,
            labels,
            lambda z, y: mean([cross_entropy(z[i], present) for i in hardest_of(z, present, share)]),
        )
    else:
        assert_equals_reference(loss, logits, labels, plain)


def hardest_of(z, label, share):
    return hardest_subsets(z, range(len(z)), 1.0 if share is None else share, -1 if label else 1)[0]


@each_loss
def test_an_empty_batch_is_zero_with_a_graph(name):
    z = torch.zeros(0, requires_grad=True)
    value = LOSSES[name][0](z, torch.zeros(0))
    value.backward()
    assert value.item() == 0.0
    assert z.grad.shape == (0,)


@each_loss
def test_columns_strided_logits_and_labels_in_every_form(name):
    logits, labels = random_batch()
    loss, plain = LOSSES[name]
    expected = plain(logits, labels.tolist())
    strided = torch.stack([logits, -logits], dim=1)[:, :1]
    for same in (labels.bool(), labels.float(), 2 * labels - 1, labels.to(torch.uint8)[:, None]):
        value = loss(strided, same)
        assert value.shape == ()
        torch.testing.assert_close(value, expected, rtol=1e-10, atol=0.0)


@each_loss
def test_one_example_of_each_class_and_equal_logits(name):
    loss, plain = LOSSES[name]
    for n in (1, 3):
        logits = torch.zeros(2 * n, dtype=torch.float64)
        labels = torch.tensor([1, 0]).repeat(n)
        torch.testing.assert_close(loss(logits, labels), plain(logits, labels.tolist()), rtol=1e-10, atol=0.0)
        assert value_and_gradient(loss, logits, labels)[1].isfinite().all()


@each_loss
@pytest.mark.parametrize("size", [1e4, 1e30])
def test_extreme_logits_in_float32_are_finite_and_right(name, size):
    logits, labels = torch.tensor([size, -size, size, -size]), torch.tensor([1, 1, 0, 0])
    value, gradient = value_and_gradient(LOSSES[name][0], logits, labels)
    assert value.isfinite()
    assert gradient.isfinite().all()
    assert gradient[[0, 3]].tolist() == [0.0, 0.0]  # right by far: nothing to learn
    if name == "truncated square":  # scores are saturated
        assert value.item() == 4.0
    else:
        assert gradient[1] < 0 < gradient[2]


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("size", [88.0, 200.0, 1e4])
def test_focal_gradient_at_saturated_logits_is_finite(gamma, size):
    logits, labels = torch.tensor([size, -size]), torch.tensor([1, 1])
    _, gradient = value_and_gradient(FocalLoss(gamma), logits, labels)
    assert gradient[0].abs() < 1e-10
    assert gradient[1].item() == pytest.approx(-0.5, rel=1e-6)


@each_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_losses_of_narrow_logits_are_computed_and_returned_in_float32(name, dtype):
    logits, labels = random_batch()
    narrow = logits.to(dtype)
    loss, plain = LOSSES[name]
    value, gradient = value_and_gradient(loss, narrow, labels)
    expected, expected_gradient = value_and_gradient(plain, narrow.double(), labels.tolist())
    assert value.dtype == torch.float32
    assert gradient.dtype == dtype
    torch.testing.assert_close(value.double(), expected, rtol=8 * torch.finfo(torch.float32).eps, atol=0.0)
    rounding = 8 * torch.finfo(dtype).eps  # of the gradient in that type
    torch.testing.assert_close(gradient.double(), expected_gradient, rtol=rounding, atol=1e-7)


@each_loss
def test_autocast_changes_nothing(name):
    logits, labels = random_batch()
    loss = LOSSES[name][0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        within = value_and_gradient(loss, logits.float(), labels)
    for found, expected in zip(within, value_and_gradient(loss, logits.float(), labels), strict=True):
        assert torch.equal(found, expected)


@each_loss
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda loss: pickle.loads(pickle.dumps(loss))])
def test_losses_can_be_copied_and_have_no_state(name, copied):
    logits, labels = random_batch()
    loss = LOSSES[name][0]
    assert torch.equal(copied(loss)(logits, labels), loss(logits, labels))
    assert loss.state_dict() == {}


def test_losses_say_what_they_are():
    assert repr(ReweightedCrossEntropy(1, 2)) == "ReweightedCrossEntropy(counts=(1, 2))"
    assert repr(FocalLoss(1.5)) == "FocalLoss(gamma=1.5, alpha=None)"
    assert repr(ClassBalancedCrossEntropy(1, 2)) == "ClassBalancedCrossEntropy(counts=(1, 2), beta=0.9999, gamma=0.0)"
    assert "loss='cross_entropy'" in repr(TruncatedLoss(0.3, 0.4, loss="cross_entropy"))


# ---------------------------------------------------------------------------------------------------- several processes

LABELS = torch.tensor([1, 0, 0, 1, 0, 0, 1, 0, 0] + 5 * [0])
# name of the case: which rows each of two processes holds, and the labels of all
CASES = {
    "one process without positives": ([slice(0, 9), slice(9, 14)], LABELS),
    "one process without examples": ([slice(0, 14), slice(14, 14)], LABELS),
    "no positives anywhere": ([slice(0, 9), slice(9, 14)], 0 * LABELS),
}


def features():
    return torch.randn(14, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def linear_model():
    model = nn.Linear(3, 1).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.7, -1.1, 0.4]]))
        model.bias.fill_(-0.3)
    return model


def value_and_model_gradient(loss, x, labels, wrap=lambda model: model):
    model = wrap(linear_model())
    value = loss(model(x), labels)
    value.backward()
    return torch.cat([value.detach()[None], *(parameter.grad.flatten() for parameter in model.parameters())])


def in_process(rank, world_size):
    results = {}
    for case, (shards, labels) in CASES.items():
        x, y = features()[shards[rank]], labels[shards[rank]]
        for name, (loss, _) in LOSSES.items():
            results[f"{case}, {name}"] = value_and_model_gradient(loss, x, y, DistributedDataParallel)
    shard = CASES["one process without positives"][0][rank]
    local = ReweightedCrossEntropy(across_processes=False)
    results["local"] = value_and_model_gradient(local, features()[shard], LABELS[shard])
    return results


def test_two_processes_equal_one():
    shards, _ = CASES["one process without positives"]
    for rank, results in enumerate(run_in_processes(in_process, 2)):
        for case, (_, labels) in CASES.items():
            for name, (loss, _) in LOSSES.items():
                alone = value_and_model_gradient(loss, features(), labels)
                found = results[f"{case}, {name}"]
                torch.testing.assert_close(found, alone, rtol=1e-10, atol=1e-14, msg=f"{case}, {name}: {found} {alone}")
        own = value_and_model_gradient(ReweightedCrossEntropy(), features()[shards[rank]], LABELS[shards[rank]])
        assert torch.equal(results["local"], own)


def test_the_shards_of_the_processes_matter():
    """So that a loss which kept to its own shard could not pass above."""
    for name, (loss, _) in LOSSES.items():
        alone = value_and_model_gradient(loss, features(), LABELS)
        parts = [value_and_model_gradient(loss, features()[s], LABELS[s]) for s in (slice(0, 9), slice(9, 14))]
        assert ((parts[0] + parts[1]) / 2 - alone).abs().max() > 1e-3, name


# ----------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ReweightedCrossEntropy(5), ValueError, "both n_positive and n_negative, or neither, got 5 and None"),
        (lambda: ReweightedCrossEntropy(n_negative=5), ValueError, "both n_positive and n_negative, .* got None and 5"),
        (lambda: ReweightedCrossEntropy(0, 5), ValueError, "n_positive must be at least 1, got 0"),
        (lambda: ReweightedCrossEntropy(5, 0), ValueError, "n_negative must be at least 1, got 0"),
        (lambda: ReweightedCrossEntropy(5, 1.5), TypeError, "n_negative must be a whole number, got 1.5"),
        (lambda: FocalLoss(-1.0), ValueError, "gamma must be at least 0, got -1.0"),
        (lambda: FocalLoss("2"), TypeError, "gamma must be a number, got '2'"),
        (lambda: FocalLoss(alpha=1.0), ValueError, r"alpha must be in \(0, 1\), got 1.0"),
        (lambda: FocalLoss(alpha=0.0), ValueError, r"alpha must be in \(0, 1\), got 0.0"),
        (lambda: ClassBalancedFocal(0, 5), ValueError, "n_positive must be at least 1, got 0"),
        (lambda: ClassBalancedFocal(5, 5, beta=1.0), ValueError, r"beta must be in \[0, 1\), got 1.0"),
        (lambda: ClassBalancedFocal(5, 5, beta=-0.1), ValueError, r"beta must be in \[0, 1\), got -0.1"),
        (lambda: ClassBalancedFocal(5, 5, gamma=math.inf), ValueError, "gamma must be finite, got inf"),
        (lambda: ClassBalancedCrossEntropy(5, True), TypeError, "n_negative must be a whole number, got True"),
        (lambda: TruncatedLoss(0.0, 0.5), ValueError, r"alpha must be a share in \(0, 1\], got 0.0"),
        (lambda: TruncatedLoss(0.5, 1.5), ValueError, r"beta must be a share in \(0, 1\], got 1.5"),
        (lambda: TruncatedLoss(0.5, None), TypeError, "beta must be a number, got None"),
        (lambda: TruncatedLoss(0.5, 0.5, loss="hinge"), ValueError, "loss must be one of 'square', 'cross_entropy'"),
    ],
)
def test_wrong_losses_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@each_loss
@pytest.mark.parametrize(
    ("logits", "labels", "error", "message"),
    [
        ([1.0, 2.0], [0, 2], ValueError, "labels must hold only 0/1 or only -1/1, found the values 0, 2"),
        ([1.0, 2.0], [0], ValueError, "logits and labels must have equal length"),
        ([[1.0, 2.0]], [[0, 1]], ValueError, r"logits must have shape \(n,\) or \(n, 1\)"),
        ([1, 2], [0, 1], TypeError, "logits must be floating point, got torch.int64"),
    ],
)
def test_wrong_batches_are_refused(name, logits, labels, error, message):
    with pytest.raises(error, match=message):
        LOSSES[name][0](torch.tensor(logits), torch.tensor(labels))
