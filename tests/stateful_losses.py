"""Checks that every loss with a state passes: it resumes, learns in training only, and survives extreme batches."""

import copy
import io

import pytest
import torch

# A problem with overlapping classes, on which linear models have a finite optimum.
FEATURES = torch.randn(60, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
CLASSES = (torch.arange(60) < 20).long()
FEATURES[:20] += torch.tensor([1.8, 0.9])


def sample(n_positive, n_negative, seed=0):
    """Return logits without ties and labels in random order; logits of positives are higher by 1 on average."""
    generator = torch.Generator().manual_seed(seed)
    labels = (torch.randperm(n_positive + n_negative, generator=generator) < n_positive).long()
    return torch.randn(len(labels), generator=generator, dtype=torch.float64) + labels, labels


def value_and_gradient(loss, logits, labels, **options):
    z = logits.detach().clone().requires_grad_()
    value = loss(z, labels, **options)
    value.backward()
    return value.detach(), z.grad


def assert_same(found, expected, rtol=1e-8):
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=rtol, atol=1e-12)


def assert_same_state(found, expected):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        same = torch.equal(found[key], value) if isinstance(value, torch.Tensor) else found[key] == value
        assert same, key


def assert_only_training_changes_the_state(loss, **options):
    """Check evaluation and no_grad on a batch of 4 positives and 8 negatives."""
    logits, labels = sample(4, 8)
    untouched = copy.deepcopy(loss.state_dict())
    fresh = loss.eval()(logits, labels, **options)
    with torch.no_grad():
        assert torch.equal(loss.train()(logits, labels, **options), fresh)
    assert_same_state(loss.state_dict(), untouched)
    loss(logits, labels, **options)
    trained = copy.deepcopy(loss.state_dict())
    with pytest.raises(AssertionError):
        assert_same_state(trained, untouched)
    loss.eval()(logits + 1, labels, **options)
    assert_same_state(loss.state_dict(), trained)


def assert_resumes(make_loss, with_indices):
    """Check that 200 steps equal 100 steps, a file, and 100 steps, bit for bit; the data have 90 rows."""

    def batch_of(step):
        rows = torch.randint(0, 90, (24,), generator=torch.Generator().manual_seed(step))
        x = torch.randn(90, 3, generator=torch.Generator().manual_seed(1))[rows]
        return x, rows < 30, {"indices": rows} if with_indices else {}

    assert_resumes_halfway(lambda: torch.nn.Linear(3, 1), make_loss, batch_of)


def assert_resumes_halfway(make_model, make_loss, batch_of):
    """Check it for a model and its loss, where ``batch_of(step)`` returns x, labels and options; return the loss."""

    def new():
        torch.manual_seed(0)
        return make_model(), make_loss()

    def train(model, loss, first, last):
        for step in range(first, last):
            x, labels, options = batch_of(step)
            gradients = torch.autograd.grad(loss(model(x), labels, **options), list(model.parameters()))
            with torch.no_grad():
                for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                    parameter -= 0.1 * gradient

    whole, half, resumed = new(), new(), new()
    train(*whole, 0, 200)
    train(*half, 0, 100)
    file = io.BytesIO()
    torch.save([part.state_dict() for part in half], file)
    file.seek(0)
    for part, state in zip(resumed, torch.load(file, weights_only=True), strict=True):
        part.load_state_dict(state)
    train(*resumed, 100, 200)
    for part, expected in zip(resumed, whole, strict=True):
        assert_same_state(part.state_dict(), expected.state_dict())
    return whole[1]


def assert_survives_extreme_batches(loss, dtype, with_indices):
    """Check finite values and gradients, and 0 for a batch that lacks a class; the batches have up to 6 rows."""
    big = 1e4
    batches = [
        ([big, -big, big, -big], [1, 1, 0, 0]),
        ([0.1, 0.2], [0, 0]),
        ([0.1, 0.2], [1, 1]),
        ([], []),
        ([big, big, -big, -big], [1, 1, 0, 0]),
        ([-big, -big, big, big], [1, 1, 0, 0]),
        ([0.5] * 6, [1, 0, 1, 0, 0, 0]),
    ]
    for logits, labels in batches:
        z = torch.tensor(logits, dtype=dtype, requires_grad=True)
        options = {"indices": torch.arange(len(labels))} if with_indices else {}
        value = loss(z, torch.tensor(labels, dtype=torch.int64), **options)
        value.backward()
        assert value.dtype == torch.promote_types(dtype, torch.float32)
        assert torch.isfinite(value)
        assert torch.isfinite(z.grad).all()
        if len(set(labels)) < 2:
            assert value == 0
            assert (z.grad == 0).all()
