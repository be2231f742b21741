"""Losses in rectangles: equal to plain sums over the selected pairs, in value and gradient."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pair_reference import PAIR_LOSS, pair_risk
from tpauc import Anchored, Region, TPAUCLoss, TruncatedLoss, opauc_score, partial_auc_score
from tpauc.losses.rank_weighting import AnchoredSide, TruncatedSide

REGIONS = [Region(1.0, 0.4, min_alpha=0.5), Region(0.8, 0.7, 0.3, 0.2), Region(1.0, 0.5, min_beta=0.1)]
TIGHT = {"rtol": 1e-10, "atol": 1e-14}


def example_batch(seed, n=60):
    generator = torch.Generator().manual_seed(seed)
    logits = 2.0 * torch.randn(n, generator=generator, dtype=torch.float64)
    return logits, (torch.rand(n, generator=generator) < 0.4).long()


def value_and_gradient(loss, logits, labels):
    z = logits.clone().requires_grad_()
    value = loss(z, labels)
    value.backward()
    return value.detach(), z.grad


def anchored_psi(low, high, tau):
    def psi(hardness):
        h = hardness.detach()
        rank = ((h[:, None] > h).double().sum(1) + 0.5 * (h[:, None] == h).double().sum(1)) / len(h)
        raw = torch.sigmoid((rank - (1 - high)) / tau) * (torch.sigmoid((1 - low - rank) / tau) if low else 1.0)
        return raw / raw.mean()

    return psi


def truncated_psi(low, high):
    def psi(hardness):
        order = hardness.detach().argsort(descending=True)
        first, last = Region(high, 1.0, low).ranks_of_positives(len(order))
        weight = torch.zeros_like(hardness)
        weight[order[first:last]] = len(order) / (last - first)
        return weight

    return psi


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("surrogate", ["square", "logistic", "squared_hinge"])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.02, 1.0))
def test_anchored_weights_have_two_borders(region, surrogate, seed, tau):
    batch = example_batch(seed)
    weighting = Anchored(region.alpha, region.beta, tau, region.min_alpha, region.min_beta)
    found = value_and_gradient(TPAUCLoss(weighting, surrogate=surrogate), *batch)
    psi = anchored_psi(region.min_alpha, region.alpha, tau), anchored_psi(region.min_beta, region.beta, tau)
    torch.testing.assert_close(found, pair_risk(*batch, *psi, PAIR_LOSS[surrogate]), **TIGHT)


@pytest.mark.parametrize("region", REGIONS)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_truncated_losses_leave_out_the_hardest(region, seed):
    logits, labels = example_batch(seed)
    minima = {"min_alpha": region.min_alpha, "min_beta": region.min_beta}
    found = value_and_gradient(TruncatedLoss(region.alpha, region.beta, **minima), logits, labels)
    psi = truncated_psi(region.min_alpha, region.alpha), truncated_psi(region.min_beta, region.beta)
    torch.testing.assert_close(found, pair_risk(logits, labels, *psi, PAIR_LOSS["square"]), **TIGHT)
    # Cross-entropy: the mean over the same examples.
    z = logits.clone().requires_grad_()
    terms = torch.where(labels > 0, -torch.nn.functional.logsigmoid(z), -torch.nn.functional.logsigmoid(-z))
    chosen = torch.zeros_like(z)
    chosen[labels > 0] = psi[0](torch.sigmoid(-z[labels > 0])).sign().detach()
    chosen[labels == 0] = psi[1](torch.sigmoid(z[labels == 0])).sign().detach()
    expected = (chosen * terms).sum() / chosen.sum()
    expected.backward()
    loss = TruncatedLoss(region.alpha, region.beta, loss="cross_entropy", **minima)
    found = value_and_gradient(loss, logits, labels)
    torch.testing.assert_close(found, (expected.detach(), z.grad), **TIGHT)


@pytest.mark.parametrize("region", REGIONS)
def test_a_sharp_border_selects_the_rectangle(region):
    u = torch.randn(200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sharp = Anchored(region.alpha, region.beta, 1e-6, region.min_alpha, region.min_beta)
    torch.testing.assert_close(
        sharp.for_positives()(u), TruncatedSide(region.alpha, region.min_alpha)(u), rtol=1e-9, atol=1e-9
    )
    assert torch.isfinite(AnchoredSide(0.51, 1e-320, 0.5)(u)).all()  # no weight overflows or underflows


def test_one_example_is_selected_at_least():
    assert TruncatedSide(0.4, 0.3)(torch.tensor([0.3, 0.7])).tolist() == [0.0, 2.0]
    assert TruncatedSide(1.0, 0.9)(torch.tensor([0.3])).tolist() == [1.0]
    assert TruncatedSide(1.0, 0.5)(torch.zeros(0)).shape == (0,)


def test_descent_on_the_lower_left_improves_it_first():
    """A model with one direction for the lower left and another for the corner learns what its loss asks for."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(3000) < 1000
    easy = labels & (torch.rand(3000, generator=generator) < 0.5)
    inputs = torch.randn(3000, 2, generator=generator, dtype=torch.float64)
    inputs[:, 0] += 3.0 * easy  # tells half of the positives from the negatives, and nothing about the others
    inputs[:, 1] += 1.0 * labels
    found = {}
    for name, loss in {
        "lower left": TPAUCLoss(Anchored(1.0, 0.1, 0.05, min_alpha=0.5), surrogate="logistic", scores="logit"),
        "corner": TPAUCLoss(Anchored(0.3, 1.0, 0.05), surrogate="logistic", scores="logit"),
    }.items():
        weight = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=1.0)
        for _ in range(60):
            optimizer.zero_grad()
            loss(inputs @ weight, labels).backward()
            optimizer.step()
        scores = (inputs @ weight).detach().numpy()
        found[name] = (
            partial_auc_score(labels.numpy(), scores, region=Region(1.0, 0.1, min_alpha=0.5)),
            opauc_score(~labels.numpy(), -scores, beta=0.3),
        )
    assert found["lower left"][0] > found["corner"][0] + 0.03
    assert found["corner"][1] > found["lower left"][1] + 0.03


def test_a_corner_has_the_text_that_it_had():
    assert repr(Anchored(0.3, 0.2)) == "Anchored(alpha=0.3, beta=0.2, tau=0.1)"
    assert repr(Anchored(0.3, 0.2, min_beta=0.1)) == "Anchored(alpha=0.3, beta=0.2, tau=0.1, min_beta=0.1)"
    assert repr(TruncatedSide(0.3)) == "TruncatedSide(share=0.3)"
    assert "min_share=0.5" in repr(TruncatedLoss(1.0, 0.3, min_alpha=0.5))


@pytest.mark.parametrize("make", [Anchored, TruncatedLoss])
def test_mistakes_are_named(make):
    with pytest.raises(ValueError, match=r"min_alpha must be in \[0, alpha\) = \[0, 0\.3\), got 0\.3"):
        make(0.3, 0.3, min_alpha=0.3)
