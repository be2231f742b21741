"""KLTPAUCLoss against its definition: value, gradient, optimum, moving averages, and batches that would overflow."""

import copy
import math

import pytest
import torch
from scipy.optimize import minimize

from pair_reference import PAIR_LOSS, kl_risk, kl_weighted_loss, pair_losses
from stateful_losses import (
    CLASSES,
    FEATURES,
    assert_only_training_changes_the_state,
    assert_resumes,
    assert_same,
    assert_same_state,
    assert_survives_extreme_batches,
    sample,
    value_and_gradient,
)
from tpauc.losses import _pair_matrix, surrogates
from tpauc.losses._square_exponentials import MOST_NODES, SquareExponentials, node_count
from tpauc.losses.kl import KLTPAUCLoss

CASES = [("square", "sigmoid"), ("squared_hinge", "sigmoid"), ("exponential", "sigmoid"), ("logistic", "logit")]
CASES += [("hinge", "logit"), ("squared_hinge", "logit")]
TEMPERATURES = [(1.0, 1.0), (0.3, 2.0), (2.0, 0.3), (math.inf, 0.5)]


def expected_value_and_gradient(logits, labels, name, tau, lam, scores):
    """Return the mean loss under the weights, and the gradient of the risk."""
    value = kl_weighted_loss(logits, labels, PAIR_LOSS[name], tau, lam, scores)
    _, gradient = value_and_gradient(lambda z, y: kl_risk(z, y, PAIR_LOSS[name], tau, lam, scores), logits, labels)
    return value, gradient


@pytest.mark.parametrize(("name", "scores"), CASES)
@pytest.mark.parametrize(("tau", "lam"), TEMPERATURES)
@pytest.mark.parametrize("options", [{}, {"indices": torch.arange(25)}], ids=["batch", "indices"])
def test_at_the_optimal_averages_it_has_the_gradient_of_the_risk(name, scores, tau, lam, options):
    """The averages of the first batch are those of the batch itself."""
    logits, labels = sample(7, 18)
    loss = KLTPAUCLoss(tau, lam, surrogate=name, scores=scores, num_examples=25)
    expected = expected_value_and_gradient(logits, labels, name, tau, lam, scores)
    assert_same(value_and_gradient(loss, logits, labels, **options), expected)


def test_the_comparison_can_fail():
    logits, labels = sample(7, 18)
    found = value_and_gradient(KLTPAUCLoss(1.0, 0.5), logits, labels)
    for tau, lam in ((1.001, 0.5), (1.0, 0.501)):
        with pytest.raises(AssertionError):
            assert_same(found, expected_value_and_gradient(logits, labels, "square", tau, lam, "sigmoid"))


def test_temperatures_go_from_the_auc_risk_to_the_hardest_pair():
    logits, labels = sample(7, 18)
    losses = pair_losses(logits, labels, PAIR_LOSS["square"], "sigmoid")
    values = [KLTPAUCLoss(t, t)(logits, labels).item() for t in (1e6, 1.0, 0.1, 1e-4)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(losses.mean().item(), rel=1e-5)
    assert values[-1] == pytest.approx(losses.max().item(), rel=1e-5)
    one_way = KLTPAUCLoss(math.inf, 1e-4)(logits, labels).item()
    assert one_way == pytest.approx(losses.max(1).values.mean().item(), rel=1e-5)
    assert KLTPAUCLoss(1e9, 0.5)(logits, labels).item() == pytest.approx(
        KLTPAUCLoss(math.inf, 0.5)(logits, labels).item(), rel=1e-6
    )


@pytest.mark.parametrize(("tau", "lam"), TEMPERATURES)
def test_moving_averages_are_those_of_the_algorithm(tau, lam):
    """Three batches of other rows, with u and w as plain numbers."""
    g0, g1 = 0.3, 0.4
    loss = KLTPAUCLoss(tau, lam, inner_rate=g0, outer_rate=g1, num_examples=30)
    power = 0.0 if math.isinf(tau) else lam / tau
    u, w = {}, None
    for seed in range(3):
        logits, labels = sample(6, 10, seed)
        rows = torch.randperm(30, generator=torch.Generator().manual_seed(seed))[:16]
        losses = pair_losses(logits, labels, PAIR_LOSS["square"], "sigmoid")
        for row, now in zip(rows[labels > 0].tolist(), torch.exp(losses / lam).mean(1).tolist(), strict=True):
            u[row] = now if row not in u else (1 - g0) * u[row] + g0 * now
        own = torch.tensor([u[row] for row in rows[labels > 0].tolist()], dtype=torch.float64)
        now = (own**power).mean()
        w = now if w is None else (1 - g1) * w + g1 * now
        weights = own[:, None] ** (power - 1) * torch.exp(losses / lam) / w
        found, _ = value_and_gradient(loss, logits, labels, indices=rows)
        # The state is kept in float32.
        assert found.item() == pytest.approx((weights * losses).mean().item(), rel=1e-5)
    assert loss.log_w.exp().item() == pytest.approx(w.item(), rel=1e-5)
    for row in range(30):
        assert loss.log_u[row].exp().item() == pytest.approx(u.get(row, 0.0), rel=1e-5)


@pytest.mark.parametrize("pairs", [1, 7, 50])
def test_blocks_of_any_size_give_the_same(pairs, monkeypatch):
    logits, labels = sample(9, 13)
    whole = KLTPAUCLoss(0.5, 0.7, surrogate="logistic", num_examples=22)
    parts = copy.deepcopy(whole)
    for step in range(3):
        expected = value_and_gradient(whole, logits + 0.1 * step, labels, indices=torch.arange(22))
        with monkeypatch.context() as patch:
            patch.setattr(surrogates, "BLOCK_PAIRS", pairs)
            found = value_and_gradient(parts, logits + 0.1 * step, labels, indices=torch.arange(22))
        assert_same(found, expected, rtol=1e-10)


# ------------------------------------------------------------------------------------------- sums without the pairs


def by_interpolation(patch):
    patch.setattr(_pair_matrix, "FEWEST_PAIRS", 0)
    patch.setattr(_pair_matrix, "PAIRS_PER_NODE", 0)


@pytest.mark.parametrize("lam", [100.0, 10.0, 1.0, 0.3, 0.1, 0.01, 0.001])
@pytest.mark.parametrize("tau", [1.0, 0.1, math.inf])
@pytest.mark.parametrize("shift", [0.0, -8.0, 5.0])
def test_sums_by_interpolation_are_those_over_pairs(lam, tau, shift, monkeypatch):
    """In three steps with moving averages; a gradient is compared with the largest of its components."""
    by_pairs = KLTPAUCLoss(tau, lam, num_examples=110)
    fast = copy.deepcopy(by_pairs)
    for seed in range(3):
        logits, labels = sample(30, 80, seed)
        logits = logits * (1 + seed) + shift
        expected = value_and_gradient(by_pairs, logits, labels, indices=torch.arange(110))
        with monkeypatch.context() as patch:
            by_interpolation(patch)
            found = value_and_gradient(fast, logits, labels, indices=torch.arange(110))
        torch.testing.assert_close(found[0], expected[0], rtol=1e-10, atol=0.0)
        torch.testing.assert_close(found[1], expected[1], rtol=0.0, atol=1e-10 * expected[1].abs().max().item())
        torch.testing.assert_close(fast.log_u, by_pairs.log_u, rtol=1e-6, atol=1e-6)  # kept in float32


@pytest.mark.parametrize(("lam", "nodes"), [(1e9, 2), (1.0, 14), (0.1, 30), (0.001, 249), (1e-4, 257)])
def test_sharper_weights_need_more_nodes_and_in_the_end_pairs(lam, nodes):
    assert node_count(lam) == nodes
    assert (nodes > MOST_NODES) == (lam < 0.001)


@pytest.mark.parametrize(
    ("options", "size", "expected"),
    [
        ({}, 8192, True),
        ({"surrogate": "squared_hinge"}, 8192, True),  # the same between sigmoid scores
        ({}, 128, False),
        ({"surrogate": "logistic"}, 8192, False),
        ({"scores": "logit"}, 8192, False),
    ],
)
def test_only_large_batches_of_the_square_are_interpolated(options, size, expected, monkeypatch):
    used = []
    rows = SquareExponentials.rows
    monkeypatch.setattr(SquareExponentials, "rows", lambda sums: used.append(1) or rows(sums))
    logits, labels = sample(size // 11, size - size // 11)
    KLTPAUCLoss(1.0, 1.0, **options)(logits, labels)
    assert bool(used) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("lam", [1.0, 0.01])
def test_interpolation_survives_extreme_batches(dtype, lam, monkeypatch):
    by_interpolation(monkeypatch)
    assert_survives_extreme_batches(KLTPAUCLoss(1.0, lam, num_examples=6), dtype, with_indices=False)
    logits, labels = sample(4, 8)
    logits[0] = float("nan")
    assert torch.isnan(KLTPAUCLoss(1.0, lam)(logits, labels))


# ------------------------------------------------------------------------------------------------ state and descent


@pytest.mark.parametrize("options", [{}, {"indices": torch.arange(12)}], ids=["batch", "indices"])
def test_only_training_changes_the_state(options):
    assert_only_training_changes_the_state(KLTPAUCLoss(1.0, 1.0, num_examples=12), **options)


@pytest.mark.parametrize("form", ["batch", "indices"])
@pytest.mark.parametrize("tau", [0.5, math.inf])
def test_descent_reaches_the_optimum_of_a_convex_problem(form, tau):
    def risk(weights):
        logits = FEATURES @ torch.as_tensor(weights, dtype=torch.float64)
        return kl_risk(logits, CLASSES, PAIR_LOSS["logistic"], tau, 0.5, "logit").item()

    best = minimize(risk, [0.5, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun
    loss = KLTPAUCLoss(tau, 0.5, surrogate="logistic", scores="logit", inner_rate=0.5, num_examples=60)
    options = {} if form == "batch" else {"indices": torch.arange(60)}
    weights = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    for _ in range(400):
        (gradient,) = torch.autograd.grad(loss(FEATURES @ weights, CLASSES, **options), weights)
        with torch.no_grad():
            weights -= 0.5 * gradient
    assert risk([0.0, 0.0]) - best > 0.05
    assert risk(weights.tolist()) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("form", ["batch", "indices"])
def test_200_steps_equal_100_and_save_load_and_100(form):
    assert_resumes(lambda: KLTPAUCLoss(0.4, 0.3, num_examples=90), form == "indices")


@pytest.mark.parametrize("form", ["batch", "indices"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("name", "scores"), [case for case in CASES if case != ("exponential", "logit")])
@pytest.mark.parametrize(("tau", "lam"), [(1.0, 1.0), (0.1, 0.01), (math.inf, 0.1)])
def test_extreme_batches_have_finite_losses_gradients_and_states(name, scores, dtype, form, tau, lam):
    loss = KLTPAUCLoss(tau, lam, surrogate=name, scores=scores, num_examples=6)
    assert_survives_extreme_batches(loss, dtype, form == "indices")
    assert torch.isfinite(loss.log_w)


def test_a_loss_that_overflows_the_exponential_has_the_right_weights():
    """Differences of losses decide, even where exp(l / lam) is far beyond float32."""
    logits, labels = torch.tensor([-300.0, 0.0, 1.0]), torch.tensor([1, 0, 0])
    value, gradient = value_and_gradient(KLTPAUCLoss(1.0, 1.0, surrogate="hinge", scores="logit"), logits, labels)
    share = math.e / (1 + math.e)  # of the second negative, whose loss is larger by 1
    assert value.item() == pytest.approx(301 + share, rel=1e-6)
    assert gradient.tolist() == pytest.approx([-1.0, 1 - share, share], rel=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_broken_batch_does_not_stay_in_the_state(bad):
    logits, labels = sample(4, 8)
    broken = logits.clone()
    broken[0] = bad
    for options in ({}, {"indices": torch.arange(12)}):
        loss = KLTPAUCLoss(1.0, 1.0, scores="logit", num_examples=12)
        loss(logits, labels, **options)
        before = copy.deepcopy(loss.state_dict())
        loss(broken, labels, **options)
        assert_same_state(loss.state_dict(), before)
        assert torch.isfinite(loss(logits, labels, **options))


def test_a_second_derivative_is_refused():
    z = torch.tensor([0.1, 0.2], requires_grad=True)
    value = KLTPAUCLoss(1.0, 1.0)(z, torch.tensor([1, 0]))
    with pytest.raises(RuntimeError, match="first derivative only"):
        torch.autograd.grad(value, z, create_graph=True)


def test_columns_and_labels_of_other_types():
    logits, labels = sample(4, 8)
    expected = KLTPAUCLoss(1.0, 1.0)(logits, labels)
    assert torch.equal(KLTPAUCLoss(1.0, 1.0)(logits[:, None], labels[:, None].bool()), expected)
    assert torch.equal(KLTPAUCLoss(1.0, 1.0)(logits, 2.0 * labels - 1.0), expected)
    assert "tau=inf, lam=0.5, surrogate=Square()" in repr(KLTPAUCLoss(math.inf, 0.5))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tau": 0.0}, ValueError, "tau must be above 0"),
        ({"tau": -math.inf}, ValueError, "tau must be finite"),
        ({"tau": "one"}, TypeError, "tau must be a number"),
        ({"lam": -1.0}, ValueError, "lam must be above 0"),
        ({"lam": math.inf}, ValueError, "lam must be finite"),
        ({"surrogate": "cubic"}, ValueError, "surrogate must be one of"),
        ({"scores": "probit"}, ValueError, "scores must be one of"),
        ({"inner_rate": 0.0}, ValueError, r"inner_rate must be a share in \(0, 1\]"),
        ({"outer_rate": 1.5}, ValueError, r"outer_rate must be a share in \(0, 1\]"),
        ({"num_examples": 0}, ValueError, "num_examples must be at least 1"),
    ],
)
def test_wrong_losses_are_refused(arguments, error, message):
    KLTPAUCLoss(1, 2, inner_rate=1.0, outer_rate=1)
    with pytest.raises(error, match=message):
        KLTPAUCLoss(**({"tau": 1.0, "lam": 1.0} | arguments))


def test_wrong_batches_and_indices_are_refused():
    with pytest.raises(ValueError, match="labels must hold only 0/1"):
        KLTPAUCLoss(1.0, 1.0)(torch.zeros(2), torch.tensor([0, 2]))
    with pytest.raises(ValueError, match="build the loss with num_examples"):
        KLTPAUCLoss(1.0, 1.0)(torch.zeros(2), torch.tensor([0, 1]), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="from 0 to num_examples - 1 = 4"):
        KLTPAUCLoss(1.0, 1.0, num_examples=5)(torch.zeros(2), torch.tensor([0, 1]), torch.tensor([0, 5]))
