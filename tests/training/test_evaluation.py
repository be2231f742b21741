"""`evaluate` is exact, whatever the batches, and leaves the model as it was."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from torch import nn

from tpauc._validation import check_logit_count
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region
from tpauc.training.data import as_examples
from tpauc.training.evaluation import Evaluation, block_of, evaluate, scores_of
from training_runs import Pairs, network, problem

VALIDATION = problem()[1]


def test_evaluate_is_exact():
    model = network()
    with torch.no_grad():
        scores = model.eval()(VALIDATION[0])[:, 0].numpy()
    model.train()
    for batch_size in (1, 7, 10_000):
        found = evaluate(model, VALIDATION, alpha=0.4, beta=0.3, batch_size=batch_size)
        # A matrix product may round differently for another number of rows; the ranking is the same but for ties.
        assert found.tpauc == pytest.approx(tpauc_score(VALIDATION[1], scores, alpha=0.4, beta=0.3), abs=1e-12)
        assert found.auc == pytest.approx(roc_auc_score(VALIDATION[1], scores), abs=1e-12)
    assert model.training


def test_evaluate_leaves_every_submodule_in_its_mode():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    evaluate(model, VALIDATION, alpha=0.5, beta=0.5)
    assert [module.training for module in model] == [True, False, True]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "net"}, TypeError, "model must be a torch.nn.Module, got 'net'"),
        ({"data": VALIDATION[0]}, TypeError, r"data must be \(inputs, labels\) or a map-style Dataset, got Tensor"),
        ({"data": (VALIDATION[0], VALIDATION[1][:-1])}, ValueError, "data must have as many labels as inputs"),
        ({"data": (VALIDATION[0][:0], VALIDATION[1][:0])}, ValueError, "data must hold at least one example"),
        ({"data": (VALIDATION[0],) * 3}, TypeError, "data must be two tensors"),
        ({"alpha": 0.0}, ValueError, r"alpha must be a share in \(0, 1\]"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
        ({"model": nn.Linear(4, 2)}, ValueError, r"the output of model must have shape \(n,\) or \(n, 1\)"),
        ({"model": nn.Flatten(0)}, ValueError, "model must return one logit for each of 330 inputs"),
        ({"data": (VALIDATION[0], torch.zeros(330))}, ValueError, "the labels of data has no positive example"),
        (
            {"data": (VALIDATION[0], VALIDATION[1] * 2)},
            ValueError,
            "the labels of data must hold only 0/1 or only -1/1",
        ),
    ],
)
def test_evaluate_refuses(options, error, message):
    call = {"model": nn.Linear(4, 1), "data": VALIDATION, "alpha": 0.5, "beta": 0.5, **options}
    with pytest.raises(error, match=message):
        evaluate(call.pop("model"), call.pop("data"), **call)


def test_evaluation_of_given_scores():
    found = Evaluation.of(np.array([True, True, False, False]), [0.9, 0.6, 0.7, 0.1], Region(0.5, 0.5))
    assert found == Evaluation(tpauc=0.0, opauc=0.5, auc=0.75)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 100), st.integers(1, 9))
def test_blocks_cover_all_rows_once(n_rows, parts):
    blocks = [block_of(n_rows, part, parts) for part in range(parts)]
    assert [row for block in blocks for row in block] == list(range(n_rows))
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 12), st.integers(0, 10), st.integers(0, 10))
def test_scores_of_rows(batch_size, start, length):
    inputs = torch.arange(10.0)[:, None]
    labels = torch.arange(10) % 2
    rows = range(start, min(start + length, 10))
    for data in ((inputs, labels), Pairs((inputs, labels))):
        examples = as_examples(data, "data")
        scores = scores_of(nn.Identity(), examples, batch_size=batch_size, rows=rows)
        assert scores.tolist() == [float(row) for row in rows]


def test_what_a_model_returns_is_checked():
    assert check_logit_count(torch.zeros(3, 1), 3).shape == (3,)
    with pytest.raises(TypeError, match=r"model must return a floating-point tensor of logits, got torch\.int64"):
        check_logit_count(torch.zeros(3, dtype=torch.int64), 3)
    with pytest.raises(TypeError, match="got tuple"):
        check_logit_count((torch.zeros(3),), 3)
