"""TPAUCLoss, its surrogates and the objective beneath: value and gradient against the full matrix of pairs."""

import copy
import itertools
import pickle

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pair_reference import PAIR_LOSS, PSI, pair_risk
from tpauc.losses import _objective as objective
from tpauc.losses import surrogates
from tpauc.losses.baselines import TruncatedLoss
from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.rank_weighting import Anchored, TruncatedSide
from tpauc.losses.surrogates import FromCallable, Hinge, SquaredHinge, Surrogate, as_surrogate
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss, WarmUp, class_weightings, empirical_risks
from tpauc.losses.weighting import Exponential, Polynomial, Uniform, Weighting
from tpauc.metrics import area as metrics

TIGHT = {"rtol": 1e-10, "atol": 1e-14}  # float64; atol for gradients that vanish exactly


def value_and_gradient(loss, logits, labels):
    z = logits.detach().clone().requires_grad_()
    value = loss(z, labels)
    value.backward()
    return value.detach(), z.grad


def assert_equals_pair_sum(loss, logits, labels, psi_positive, psi_negative, pair_loss, scores="sigmoid"):
    value, gradient = value_and_gradient(loss, logits, labels)
    expected_value, expected_gradient = pair_risk(logits, labels, psi_positive, psi_negative, pair_loss, scores)
    torch.testing.assert_close(value, expected_value, **TIGHT)
    torch.testing.assert_close(gradient, expected_gradient, **TIGHT)


WEIGHTINGS = st.one_of(
    st.floats(1.3, 30.0).map(lambda g: (Polynomial(g), lambda t: PSI["polynomial"](t, g))),
    st.floats(0.1, 40.0).map(lambda g: (Exponential(g), lambda t: PSI["exponential"](t, g))),
    st.just((Uniform(), lambda t: PSI["uniform"](t, None))),
)


@st.composite
def batches(draw, most=14):
    """Logits and labels in float64 with at least one example of each class, in any order, ties included."""
    n_positive, n_negative = draw(st.integers(1, most)), draw(st.integers(1, most))
    value = st.floats(-9.0, 9.0).map(lambda v: round(v, 3))
    logits = draw(st.lists(value, min_size=n_positive + n_negative, max_size=n_positive + n_negative))
    labels = draw(st.permutations([1] * n_positive + [0] * n_negative))
    return torch.tensor(logits, dtype=torch.float64), torch.tensor(labels)


@pytest.mark.parametrize("name", ["square", "exponential", "logistic", "sigmoid", "hinge", "squared_hinge"])
@settings(deadline=None, max_examples=40)
@given(batch=batches(), positive=WEIGHTINGS, negative=WEIGHTINGS)
def test_every_surrogate_equals_the_pair_sum(name, batch, positive, negative):
    loss = TPAUCLoss(positive[0], negative[0], surrogate=name)
    assert_equals_pair_sum(loss, *batch, positive[1], negative[1], PAIR_LOSS[name])


@pytest.mark.parametrize("name", ["square", "logistic", "sigmoid", "hinge", "squared_hinge"])
@settings(deadline=None, max_examples=25)
@given(batch=batches(), weighting=WEIGHTINGS)
def test_margins_may_be_taken_on_logits(name, batch, weighting):
    loss = TPAUCLoss(weighting[0], surrogate=name, scores="logit")
    assert_equals_pair_sum(loss, *batch, weighting[1], weighting[1], PAIR_LOSS[name], scores="logit")


@pytest.mark.parametrize(("surrogate", "name"), [(Hinge, "hinge"), (SquaredHinge, "squared_hinge")])
@settings(deadline=None, max_examples=40)
@given(batch=batches(), weighting=WEIGHTINGS, margin=st.floats(0.05, 1.5))
def test_hinges_with_any_margin_equal_the_pair_sum(surrogate, name, batch, weighting, margin):
    loss = TPAUCLoss(weighting[0], surrogate=surrogate(margin))
    assert_equals_pair_sum(loss, *batch, weighting[1], weighting[1], lambda t: PAIR_LOSS[name](t, margin))


@settings(deadline=None, max_examples=25)
@given(batch=batches(), positive=WEIGHTINGS)
def test_a_users_surrogate_and_weighting_equal_the_pair_sum(batch, positive):
    def cauchy(t):
        return 1.0 / (1.0 + torch.exp(2 * t)) ** 2

    loss = TPAUCLoss(positive[0], lambda t: torch.sin(t), surrogate=cauchy)
    assert_equals_pair_sum(loss, *batch, positive[1], torch.sin, cauchy)


def test_the_checker_can_fail():
    logits, labels = torch.tensor([0.3, -0.2, 0.1], dtype=torch.float64), torch.tensor([1, 0, 0])

    def psi(t):
        return PSI["polynomial"](t, 3.0)

    with pytest.raises(AssertionError):
        assert_equals_pair_sum(TPAUCLoss(Polynomial(3.0001)), logits, labels, psi, psi, PAIR_LOSS["square"])


@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_blocks_of_any_size_give_the_same(name, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(60, generator=generator, dtype=torch.float64)
    labels = torch.rand(60, generator=generator) < 0.4
    loss = TPAUCLoss(Exponential(3.0), surrogate=FromCallable(PAIR_LOSS[name]))
    whole = value_and_gradient(loss, logits, labels)
    for pairs in (1, 7, 100):
        monkeypatch.setattr(surrogates, "BLOCK_PAIRS", pairs)
        for expected, found in zip(whole, value_and_gradient(loss, logits, labels), strict=True):
            torch.testing.assert_close(found, expected, **TIGHT)


@pytest.mark.parametrize("rows", [1, 7, 60, 1000])
@pytest.mark.parametrize("surrogate", ["square", "hinge", SquaredHinge(margin=1.5)])
@pytest.mark.parametrize("weighting", [Polynomial(3.0), Exponential(3.0), torch.sqrt], ids=["poly", "exp", "function"])
def test_parts_of_a_large_batch_give_the_same(weighting, surrogate, rows, monkeypatch):
    """Some parts lack a class; a function is differentiated by autograd inside the parts."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(61, generator=generator, dtype=torch.float64)
    labels = torch.arange(61) < 20
    loss = TPAUCLoss(weighting, Uniform(), surrogate=surrogate)
    whole = value_and_gradient(loss, logits, labels)
    monkeypatch.setattr(objective, "PART_ROWS", rows)
    for expected, found in zip(whole, value_and_gradient(loss, logits, labels), strict=True):
        torch.testing.assert_close(found, expected, **TIGHT)


def test_the_loss_of_parts_may_be_asked_for_in_any_mode(monkeypatch):
    monkeypatch.setattr(objective, "PART_ROWS", 2)
    logits, labels, loss = torch.randn(9), torch.arange(9) % 2, TPAUCLoss(Exponential(3.0))
    with torch.inference_mode():
        inferred = loss(logits, labels)
    with torch.no_grad():
        without_gradient = loss(logits, labels)
    assert inferred == without_gradient == loss(logits.requires_grad_(), labels)
    assert not without_gradient.is_inference()


def test_blocks_bound_the_memory(monkeypatch):
    seen = []

    def watched(t):
        seen.append(t.numel())
        return torch.exp(-t)

    monkeypatch.setattr(surrogates, "BLOCK_PAIRS", 64)
    TPAUCLoss(Uniform(), surrogate=watched)(torch.zeros(400), torch.arange(400) % 2)
    assert max(seen) <= 64


@settings(deadline=None, max_examples=25)
@given(batch=batches(), alpha=st.floats(0.1, 1.0), beta=st.floats(0.1, 1.0), tau=st.floats(0.02, 1.0))
def test_anchored_weights_are_constants_of_the_ranks(batch, alpha, beta, tau):
    logits, labels = batch

    def psi(share):
        def weight(h):
            rank = ((h[:, None] > h).double().sum(1) + 0.5 * (h[:, None] == h).double().sum(1)) / len(h)
            raw = torch.sigmoid((rank - (1 - share)) / tau)
            return (raw / raw.mean()).detach()

        return weight

    loss = TPAUCLoss(Anchored(alpha, beta, tau))
    assert_equals_pair_sum(loss, logits, labels, psi(alpha), psi(beta), PAIR_LOSS["square"])


def test_one_way_and_whole_auc_are_special_cases():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(30, generator=generator, dtype=torch.float64)
    labels = torch.arange(30) % 3 == 0

    def one(t):
        return torch.ones_like(t)

    assert_equals_pair_sum(SquareAUCLoss(), logits, labels, one, one, PAIR_LOSS["square"])
    one_way = TPAUCLoss(Uniform(), Polynomial(3.0))
    assert_equals_pair_sum(one_way, logits, labels, one, lambda t: t**0.5, PAIR_LOSS["square"])


# ------------------------------------------------------------------------- normalised, and with constant weights

VARIANTS = pytest.mark.parametrize(
    "variant",
    [
        {"normalize": True},
        {"normalize": True, "detach_weights": True},
        {"detach_weights": True},
    ],
    ids=["normalised", "normalised, constant weights", "constant weights"],
)


def assume_no_pair_at_the_kink(name, logits, labels):
    """Skip batches in which the two sides of a pair may round to different sides of the hinge's kink at 1."""
    if name == "hinge":
        differences = logits[labels == 1][:, None] - logits[labels == 0]
        assume(bool(((differences - 1.0).abs() > 1e-12).all()))


def assert_equals_pair_sum_of_variant(loss, logits, labels, psi_positive, psi_negative, pair_loss, scores, variant):
    value, gradient = value_and_gradient(loss, logits, labels)
    expected_value, expected_gradient = pair_risk(
        logits, labels, psi_positive, psi_negative, pair_loss, scores, **variant
    )
    torch.testing.assert_close(value, expected_value, **TIGHT)
    # A normalised gradient is a difference of weighted means: what cancels is rounded, by the matrix of pairs as well.
    scale = max(1.0, expected_value.item())
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-10, atol=1e-13 * scale)


@VARIANTS
@pytest.mark.parametrize("name", ["square", "exponential", "logistic", "sigmoid", "hinge", "squared_hinge"])
@settings(deadline=None, max_examples=25)
@given(batch=batches(), positive=WEIGHTINGS, negative=WEIGHTINGS)
def test_every_variant_of_every_surrogate_equals_the_pair_sum(name, variant, batch, positive, negative):
    loss = TPAUCLoss(positive[0], negative[0], surrogate=name, **variant)
    assert_equals_pair_sum_of_variant(loss, *batch, positive[1], negative[1], PAIR_LOSS[name], "sigmoid", variant)


@VARIANTS
@pytest.mark.parametrize("name", ["square", "logistic", "sigmoid", "hinge", "squared_hinge"])
@settings(deadline=None, max_examples=15)
@given(batch=batches(), weighting=WEIGHTINGS)
def test_every_variant_may_have_its_margins_on_logits(name, variant, batch, weighting):
    assume_no_pair_at_the_kink(name, *batch)
    loss = TPAUCLoss(weighting[0], surrogate=name, scores="logit", **variant)
    assert_equals_pair_sum_of_variant(loss, *batch, weighting[1], weighting[1], PAIR_LOSS[name], "logit", variant)


@VARIANTS
@settings(deadline=None, max_examples=15)
@given(batch=batches(), positive=WEIGHTINGS)
def test_every_variant_takes_a_users_surrogate_and_weighting(variant, batch, positive):
    def cauchy(t):
        return 1.0 / (1.0 + torch.exp(2 * t)) ** 2

    loss = TPAUCLoss(positive[0], torch.sin, surrogate=cauchy, **variant)
    assert_equals_pair_sum_of_variant(loss, *batch, positive[1], torch.sin, cauchy, "sigmoid", variant)
    loss = TPAUCLoss(positive[0], torch.sin, **variant)
    assert_equals_pair_sum_of_variant(loss, *batch, positive[1], torch.sin, PAIR_LOSS["square"], "sigmoid", variant)


def test_the_checker_of_variants_can_fail():
    logits, labels = torch.tensor([0.3, -0.8, -0.2, 0.1], dtype=torch.float64), torch.tensor([1, 1, 0, 0])
    psi, normalised = torch.sqrt, {"normalize": True}
    for wrong in ({}, {"normalize": True, "detach_weights": True}):
        loss = TPAUCLoss(Polynomial(3.0), **wrong)
        with pytest.raises(AssertionError):
            assert_equals_pair_sum_of_variant(
                loss, logits, labels, psi, psi, PAIR_LOSS["square"], "sigmoid", normalised
            )


@pytest.mark.parametrize("rows", [1, 7, 1000])
@pytest.mark.parametrize("weighting", [Polynomial(3.0), Exponential(3.0), torch.sqrt], ids=["poly", "exp", "function"])
def test_parts_of_a_large_batch_give_the_same_normalised(weighting, rows, monkeypatch):
    logits = torch.randn(61, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(61) < 20
    loss = TPAUCLoss(weighting, Uniform(), normalize=True)
    whole = value_and_gradient(loss, logits, labels)
    monkeypatch.setattr(objective, "PART_ROWS", rows)
    for expected, found in zip(whole, value_and_gradient(loss, logits, labels), strict=True):
        torch.testing.assert_close(found, expected, **TIGHT)


def test_the_printed_risk_falls_to_0_on_one_side_and_the_normalised_one_does_not():
    """Scores in the wrong order, moved together: the ranking stays as bad as it is."""
    logits, labels = torch.tensor([-1.0, -1.0, 1.0, 1.0], dtype=torch.float64), torch.tensor([1, 1, 0, 0])
    for weighting in (Polynomial(2.0), Exponential(3.0)):
        printed, normalised = (TPAUCLoss(weighting, normalize=flag) for flag in (False, True))
        for side in (50.0, -50.0):
            assert printed(logits + side, labels) < 1e-9
            assert normalised(logits + side, labels) == pytest.approx(1.0, abs=1e-9)


def test_a_sharper_weighting_goes_from_the_auc_risk_to_that_of_the_hardest_pair():
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(30, generator=generator, dtype=torch.float64), torch.arange(30) % 3 == 0
    scores = torch.sigmoid(logits)
    exponents = (1e-9, 0.1, 1.0, 10.0, 1e5)
    values = [TPAUCLoss(Polynomial.from_exponent(e), normalize=True)(logits, labels).item() for e in exponents]
    assert values == sorted(values)
    assert values[0] == pytest.approx(SquareAUCLoss()(logits, labels).item(), rel=1e-6)
    assert values[-1] == pytest.approx((1 - scores[labels].min() + scores[~labels].max()).item() ** 2, rel=1e-6)


@pytest.mark.parametrize("loss", [TPAUCLoss(Uniform()), TPAUCLoss(Anchored(0.4, 0.3))])
def test_weights_of_mean_1_are_normalised_as_they_are(loss):
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(30, generator=generator, dtype=torch.float64), torch.arange(30) % 3 == 0
    weighting = Uniform() if isinstance(loss.objective.positive, Uniform) else Anchored(0.4, 0.3)
    normalised = value_and_gradient(TPAUCLoss(weighting, normalize=True), logits, labels)
    for expected, found in zip(value_and_gradient(loss, logits, labels), normalised, strict=True):
        torch.testing.assert_close(found, expected, **TIGHT)


@pytest.mark.parametrize("weighting", [Polynomial(2.0), Polynomial(1.2), Exponential(35.0)])
@pytest.mark.parametrize("side", [1e4, -1e4])
def test_weights_that_underflow_keep_their_proportions(weighting, side):
    """On one side all weights of a class are 0 in float32; its hardest example still has nearly all of the weight."""
    logits, labels = torch.tensor([0.0, -40.0, 0.0, 40.0]) + side, torch.tensor([1, 1, 0, 0])
    printed, normalised = (
        TPAUCLoss(weighting, normalize=flag, scores="logit", surrogate="hinge") for flag in (False, True)
    )
    assert printed(logits, labels) == 0
    # 1 plus 40 or 80: between the hardest example of that class and the others, which weigh 1 each
    assert normalised(logits, labels) == pytest.approx(61.0)


def test_a_function_that_is_0_for_a_whole_class_weighs_it_evenly():
    logits, labels = torch.tensor([1.0, 2.0, -1.0, 1.0], dtype=torch.float64), torch.tensor([1, 1, 0, 0])

    def only_wrong(t):
        return torch.relu(t - 0.5)

    loss = TPAUCLoss(only_wrong, Uniform(), normalize=True)
    for expected, found in zip(
        value_and_gradient(SquareAUCLoss(), logits, labels), value_and_gradient(loss, logits, labels), strict=True
    ):
        torch.testing.assert_close(found, expected, **TIGHT)


# --------------------------------------------------------------------------------------------------------- numerics

EVERY_SURROGATE = [*surrogates.SURROGATES, Hinge(0.5), SquaredHinge(0.5), lambda t: torch.relu(1 - t)]
EVERY_WEIGHTING = [Polynomial.from_exponent(0.01), Polynomial(3.0), Polynomial(1.2), Exponential(35.0), Uniform()]
EVERY_WEIGHTING += [Anchored(0.3, 0.3), Weighting.from_function(torch.sqrt), Weighting.from_penalty(lambda v: v**3)]


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_extreme_batches_have_finite_losses_and_gradients(dtype, normalize):
    big = 1e4
    cases = {
        "saturated": ([big, -big, big, -big], [1, 1, 0, 0]),
        "right": ([big, big, -big, -big], [1, 1, 0, 0]),
        "on one side": ([big, big, big, big], [1, 1, 0, 0]),
        "on the other side": ([-big, -big, -big, -big], [1, 1, 0, 0]),
        "one positive": ([0.1, 0.2, -0.3], [1, 0, 0]),
        "one negative": ([0.1, 0.2, -0.3], [0, 1, 1]),
        "all equal": ([0.5] * 6, [1, 0, 1, 0, 0, 0]),
        "no positive": ([0.1, 0.2], [0, 0]),
        "no negative": ([0.1, 0.2], [1, 1]),
        "empty": ([], []),
    }
    for (name, (logits, labels)), weighting, surrogate in itertools.product(
        cases.items(), EVERY_WEIGHTING, EVERY_SURROGATE
    ):
        z = torch.tensor(logits, dtype=dtype, requires_grad=True)
        made = TPAUCLoss(weighting, surrogate=surrogate, normalize=normalize)
        loss = made(z, torch.tensor(labels, dtype=torch.int64))
        loss.backward()
        what = (name, weighting, surrogate)
        assert loss.dtype == torch.promote_types(dtype, torch.float32), what
        assert z.grad is not None, what
        assert z.grad.dtype == dtype, what
        assert torch.isfinite(loss), what
        assert torch.isfinite(z.grad).all(), what
        if name in ("no positive", "no negative", "empty"):
            assert loss == 0, what
            assert (z.grad == 0).all(), what


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("weighting", [Polynomial(3.0), Exponential(3.0)])
def test_infinite_logits_are_saturated_scores(weighting, normalize):
    z = torch.tensor([float("inf"), float("-inf"), 1.0], requires_grad=True)
    loss = TPAUCLoss(weighting, normalize=normalize)(z, torch.tensor([1, 0, 0]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("weighting", [Uniform(), Anchored(0.3, 0.3)])
@pytest.mark.parametrize("offset", [0.0, 3e3, -3e4])
def test_a_common_offset_of_the_logits_takes_no_digits_of_the_square(weighting, offset):
    generator = torch.Generator().manual_seed(0)
    labels = torch.rand(500, generator=generator) < 0.2
    logits = labels + 0.1 * torch.randn(500, generator=generator) + offset  # pairs are at a margin of about 1
    loss = TPAUCLoss(weighting, scores="logit")
    value, gradient = value_and_gradient(loss, logits, labels)
    expected_value, expected_gradient = value_and_gradient(loss, logits.double(), labels)
    assert value > 0
    torch.testing.assert_close(value.double(), expected_value, rtol=1e-4, atol=0.0)
    scale = expected_gradient.abs().max().item()
    torch.testing.assert_close(gradient.double(), expected_gradient, rtol=0.0, atol=1e-4 * scale)


@pytest.mark.parametrize("surrogate", ["logistic", "hinge", "square"])
def test_logit_margins_stay_finite_far_out(surrogate):
    z = torch.tensor([1e4, -1e4, 1e4, -1e4], requires_grad=True)
    loss = TPAUCLoss(Anchored(0.5, 0.5), surrogate=surrogate, scores="logit")(z, torch.tensor([1, 1, 0, 0]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("label_type", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.bfloat16])
def test_labels_of_any_type_and_columns_of_any_shape(label_type):
    logits = torch.tensor([0.2, -1.0, 0.7, 0.1])
    labels = torch.tensor([1, 0, 0, 1]).to(label_type)
    loss = TPAUCLoss(Polynomial(3.0))
    expected = loss(logits, labels)
    assert torch.equal(loss(logits[:, None], labels[:, None]), expected)
    assert torch.equal(loss(torch.stack((logits, logits), 1)[:, 0], labels), expected)  # not contiguous
    if label_type in (torch.int64, torch.float32):
        assert torch.equal(loss(logits, 2 * labels - 1), expected)


@pytest.mark.parametrize("weighting", EVERY_WEIGHTING)
@pytest.mark.parametrize("scores", objective.SCORES)
def test_inference_mode_changes_no_value(weighting, scores):
    generator = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(40, generator=generator), torch.arange(40) % 4 == 0
    loss = TPAUCLoss(weighting, scores=scores)
    with torch.inference_mode():
        inside = loss(logits.clone(), labels)
        made_there = logits.clone()
    assert torch.equal(inside, loss(logits, labels))
    assert torch.equal(inside, loss(made_there, labels))


def test_gradient_reaches_a_column_of_logits_through_the_model():
    model = torch.nn.Linear(3, 1)
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    TPAUCLoss(Exponential(5.0))(model(x), torch.arange(8) % 2).backward()
    assert model.weight.grad.abs().sum() > 0


def test_half_precision_is_computed_in_float32():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1000, generator=generator).bfloat16()
    labels = torch.rand(1000, generator=generator) < 0.1
    loss = TPAUCLoss(Polynomial(3.0))
    assert torch.equal(loss(logits, labels), loss(logits.float(), labels))


@pytest.mark.parametrize("surrogate", ["square", "squared_hinge"])
def test_a_loss_beyond_the_range_of_float16_is_finite(surrogate):
    z = torch.tensor([1e4, -1e4, 1e4, -1e4], dtype=torch.float16, requires_grad=True)
    loss = TPAUCLoss(Uniform(), surrogate=surrogate, scores="logit")(z, torch.tensor([1, 1, 0, 0]))
    loss.backward()
    assert loss.dtype == torch.float32
    assert loss > torch.finfo(torch.float16).max
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


def test_a_scaled_loss_of_float16_logits_has_a_finite_gradient():
    z = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float16, requires_grad=True)
    (2.0**16 * SquareAUCLoss()(z, torch.tensor([1, 0, 0]))).backward()  # where a GradScaler starts
    assert torch.isfinite(z.grad).all()


def test_autocast_does_not_coarsen_the_sums():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1000, generator=generator)
    labels = torch.rand(1000, generator=generator) < 0.1
    loss = TPAUCLoss(Polynomial(3.0))
    expected = value_and_gradient(loss, logits, labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = value_and_gradient(loss, logits, labels)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))


@pytest.mark.parametrize("normalize", [False, True])
def test_nan_logits_show_in_the_loss(normalize):
    loss = TPAUCLoss(Polynomial(3.0), normalize=normalize)
    assert torch.isnan(loss(torch.tensor([float("nan"), 0.0]), torch.tensor([1, 0])))


def test_a_second_derivative_is_refused_and_not_wrong():
    z = torch.tensor([0.1, 0.2], requires_grad=True)
    loss = TPAUCLoss(Polynomial(3.0))(z, torch.tensor([1, 0]))
    with pytest.raises(RuntimeError, match="first derivative only"):
        torch.autograd.grad(loss, z, create_graph=True)


def test_the_loss_is_a_pure_function():
    loss = TPAUCLoss(Exponential(3.0))
    logits, labels = torch.tensor([0.2, -0.4, 1.0]), torch.tensor([1, 0, 0])
    first = loss(logits, labels)
    loss.eval()
    with torch.no_grad():
        assert torch.equal(loss(logits, labels), first)
    assert not loss.state_dict()
    assert torch.equal(pickle.loads(pickle.dumps(loss))(logits, labels), first)
    assert torch.equal(copy.deepcopy(loss)(logits, labels), first)
    assert "Exponential(gamma=3.0)" in repr(loss)
    assert "normalize=True" in repr(TPAUCLoss(Uniform(), normalize=True))


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TPAUCLoss("polynomial"), TypeError, "weighting must be"),
        (lambda: TPAUCLoss(Polynomial(3.0), 2.0), TypeError, "negative_weighting must be"),
        (lambda: TPAUCLoss(Uniform(), surrogate="cubic"), ValueError, "surrogate must be one of 'square'"),
        (lambda: TPAUCLoss(Uniform(), surrogate=3), ValueError, "surrogate must be one of"),
        (lambda: TPAUCLoss(Uniform(), scores="probit"), ValueError, "scores must be one of"),
        (lambda: TPAUCLoss(Uniform(), normalize="yes"), TypeError, "normalize must be True or False, got 'yes'"),
        (lambda: TPAUCLoss(Uniform(), detach_weights=1), TypeError, "detach_weights must be True or False, got 1"),
        (lambda: Hinge(0.0), ValueError, "margin must be above 0"),
        (lambda: WarmUp(SquareAUCLoss(), "then", 3), TypeError, "then must be a loss module"),
        (lambda: WarmUp(SquareAUCLoss(), SquareAUCLoss(), -1), ValueError, "epochs must be at least 0"),
        (lambda: WarmUp(SquareAUCLoss(), SquareAUCLoss(), 1).set_epoch(1.5), TypeError, "epoch must be a whole"),
    ],
)
def test_bad_construction_names_the_argument(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("logits", "labels", "error", "message"),
    [
        ([0.1], torch.tensor([1]), TypeError, "logits must be a torch.Tensor"),
        (torch.zeros(2), [1, 0], TypeError, "labels must be a torch.Tensor"),
        (torch.zeros(2, dtype=torch.int64), torch.tensor([1, 0]), TypeError, "logits must be floating point"),
        (torch.zeros(2), torch.tensor([1, 0, 0]), ValueError, "equal length"),
        (torch.zeros(2, 3), torch.tensor([1, 0]), ValueError, r"logits must have shape \(n,\) or \(n, 1\)"),
        (torch.zeros(()), torch.tensor(1), ValueError, "logits must have shape"),
        (torch.zeros(2), torch.tensor([0, 2]), ValueError, "labels must hold only 0/1 or only -1/1, found .* 0, 2"),
        (torch.zeros(3), torch.tensor([0, 1, -1]), ValueError, "found the values -1, 0, 1"),
        (torch.zeros(2), torch.tensor([0.0, float("nan")]), ValueError, "nan"),
        (torch.zeros(2), torch.tensor([0.0, float("inf")]), ValueError, "inf"),
    ],
)
def test_bad_batches_name_the_argument(logits, labels, error, message):
    with pytest.raises(error, match=message):
        TPAUCLoss(Polynomial(3.0))(logits, labels)


def test_a_surrogate_must_be_elementwise():
    with pytest.raises(ValueError, match="surrogate must be elementwise"):
        TPAUCLoss(Uniform(), surrogate=lambda t: t.mean())(torch.zeros(2), torch.tensor([0, 1]))


def test_exponential_on_logits_is_refused():
    with pytest.raises(ValueError, match="overflows on logits"):
        TPAUCLoss(Uniform(), surrogate="exponential", scores="logit")(torch.zeros(2), torch.tensor([0, 1]))


def test_surrogates_by_name_object_or_function():
    assert as_surrogate("hinge") == Hinge(1.0)
    assert as_surrogate(Hinge(0.5)) == Hinge(0.5)
    assert isinstance(as_surrogate(torch.exp), Surrogate)
    for name, surrogate in surrogates.SURROGATES.items():
        t = torch.linspace(-2, 2, 9, dtype=torch.float64)
        torch.testing.assert_close(surrogate(t), PAIR_LOSS[name](t))


# ----------------------------------------------------------------------------------------------- warm-up, three risks


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (TPAUCLoss(Polynomial(3.0), Exponential(2.0)), (Polynomial(3.0), Exponential(2.0))),
        (MinimaxTPAUCLoss(Polynomial(3.0)), (Polynomial(3.0), Polynomial(3.0))),
        (TruncatedLoss(0.3, 0.2), (TruncatedSide(0.3), TruncatedSide(0.2))),
        (WarmUp(SquareAUCLoss(), TPAUCLoss(Exponential(2.0)), 3), (Exponential(2.0), Exponential(2.0))),
        (torch.nn.BCEWithLogitsLoss(), (Uniform(), Uniform())),
    ],
)
def test_weightings_of_a_loss(loss, expected):
    assert class_weightings(loss) == expected


def test_warm_up_switches_and_remembers():
    first, then = SquareAUCLoss(), TPAUCLoss(Polynomial(3.0))
    loss = WarmUp(first, then, epochs=2)
    logits, labels = torch.tensor([0.3, 0.1, -0.2]), torch.tensor([1, 0, 0])
    for epoch, current in enumerate((first, first, then, then)):
        loss.set_epoch(epoch)
        assert torch.equal(loss(logits, labels), current(logits, labels))
    resumed = WarmUp(first, then, epochs=2)
    resumed.load_state_dict(loss.state_dict())
    assert resumed.current is then
    assert WarmUp(first, then, epochs=0).current is then
    nested = WarmUp(first, WarmUp(first, then, epochs=3), epochs=1)
    nested.set_epoch(3)
    assert nested.then.current is then


def test_three_risks_are_the_papers():
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(60, generator=generator, dtype=torch.float64)
    labels = torch.arange(60) % 3 == 0
    risks = empirical_risks(logits, labels, Polynomial(3.0), alpha=0.4, beta=0.3)
    relaxed, _ = pair_risk(logits, labels, lambda t: t**0.5, lambda t: t**0.5, PAIR_LOSS["square"])
    positive = torch.sigmoid(logits[labels]).sort().values[: int(20 * 0.4)]
    negative = torch.sigmoid(logits[~labels]).sort(descending=True).values[: int(40 * 0.3)]
    margins = positive[:, None] - negative[None, :]
    assert risks.relaxed == pytest.approx(relaxed.item(), rel=1e-12)
    assert risks.truncated == pytest.approx(((1 - margins) ** 2).sum().item() / 800, rel=1e-12)
    assert risks.zero_one == pytest.approx((margins < 0).sum().item() / 800, rel=1e-12)
    share = 8 * 12 / 800
    tpauc = metrics.tpauc_score(labels.numpy(), logits.numpy(), alpha=0.4, beta=0.3)
    assert risks.zero_one == pytest.approx(share * (1 - tpauc), rel=1e-12)
    assert risks.truncated >= risks.zero_one


def test_three_risks_need_both_classes_and_a_region():
    with pytest.raises(ValueError, match="selects none of the 0 positive"):
        empirical_risks(torch.zeros(4), torch.zeros(4), Uniform(), alpha=0.5, beta=0.5)
    with pytest.raises(ValueError, match=r"beta=0.1 selects none of the 3 negative"):
        empirical_risks(torch.zeros(5), torch.tensor([1, 1, 0, 0, 0]), Uniform(), alpha=0.5, beta=0.1)
