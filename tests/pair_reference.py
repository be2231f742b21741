"""The TPAUC objective as it is defined: the full matrix of pairs, plain autograd. Imports nothing from tpauc."""

import math

import torch

PSI = {
    "polynomial": lambda t, gamma: t ** (1.0 / (gamma - 1.0)),
    "exponential": lambda t, gamma: 1.0 - torch.exp(-gamma * t),
    "uniform": lambda t, _: torch.ones_like(t),
}

PAIR_LOSS = {
    "square": lambda t: (1.0 - t) ** 2,
    "exponential": lambda t: torch.exp(-t),
    "logistic": lambda t: torch.log(1.0 + torch.exp(-t)),
    "sigmoid": lambda t: 1.0 / (1.0 + torch.exp(t)),
    "hinge": lambda t, margin=1.0: torch.relu(margin - t),
    "squared_hinge": lambda t, margin=1.0: torch.relu(margin - t) ** 2,
}


def pair_risk(
    logits, labels, psi_positive, psi_negative, pair_loss, scores="sigmoid", *, normalize=False, detach_weights=False
):
    """1/(n+ n-) sum_ij psi+(1 - f_i) psi-(f_j) l(s_i - s_j), and its gradient in the logits.

    With ``normalize`` divided by the mean weights of both classes; with ``detach_weights`` weights have no gradient.
    """
    z = logits.detach().clone().requires_grad_()
    positive, negative = z[labels > 0], z[labels <= 0]
    weight_positive = psi_positive(torch.sigmoid(-positive))
    weight_negative = psi_negative(torch.sigmoid(negative))
    if detach_weights:
        weight_positive, weight_negative = weight_positive.detach(), weight_negative.detach()
    if normalize:
        weight_positive = weight_positive / weight_positive.mean()
        weight_negative = weight_negative / weight_negative.mean()
    losses = pair_losses(z, labels, pair_loss, scores)
    risk = (weight_positive[:, None] * weight_negative[None, :] * losses).mean()
    risk.backward()
    return risk.detach(), z.grad


def pair_losses(logits, labels, pair_loss, scores):
    """Return the matrix l(s_i - s_j), one row per positive, one column per negative."""
    s = torch.sigmoid if scores == "sigmoid" else lambda value: value
    return pair_loss(s(logits[labels > 0])[:, None] - s(logits[labels <= 0])[None, :])


def cvar(values, share):
    """Return min over s of s + mean [values - s]_+ / share along the last axis; one of the values is a minimiser."""
    place = math.ceil(share * values.shape[-1] - 1e-9)
    s = values.sort(dim=-1, descending=True).values[..., place - 1 : place]
    return s[..., 0] + torch.relu(values - s).mean(-1) / share


def cvar_risk(logits, labels, pair_loss, alpha, beta, scores="sigmoid"):
    """Return the nested CVaR s' + 1/(alpha n+) sum_i [g_i - s']_+, g_i the CVaR of row i, at the optimal s and s'."""
    return cvar(cvar(pair_losses(logits, labels, pair_loss, scores), beta), alpha)


def kl_risk(logits, labels, pair_loss, tau, lam, scores="sigmoid"):
    """Return tau log mean_i u_i^(lam / tau), u_i = mean_j exp(l_ij / lam); mean_i lam log u_i if tau is infinite."""
    u = torch.exp(pair_losses(logits, labels, pair_loss, scores) / lam).mean(1)
    return lam * torch.log(u).mean() if math.isinf(tau) else tau * torch.log((u ** (lam / tau)).mean())


def kl_weighted_loss(logits, labels, pair_loss, tau, lam, scores="sigmoid"):
    """Return the mean of p_ij l_ij with p_ij = u_i^(lam/tau - 1) exp(l_ij / lam) / w."""
    losses = pair_losses(logits, labels, pair_loss, scores)
    u = torch.exp(losses / lam).mean(1)
    power = 0.0 if math.isinf(tau) else lam / tau
    weights = u[:, None] ** (power - 1.0) * torch.exp(losses / lam) / (u**power).mean()
    return (weights * losses).mean()
