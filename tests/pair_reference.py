"""The TPAUC objective as it is defined: the full matrix of pairs, plain autograd. Imports nothing from tpauc."""

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
    s = torch.sigmoid if scores == "sigmoid" else lambda value: value
    margins = s(positive)[:, None] - s(negative)[None, :]
    risk = (weight_positive[:, None] * weight_negative[None, :] * pair_loss(margins)).mean()
    risk.backward()
    return risk.detach(), z.grad
