"""What `tpauc.fit` hands over at the end of every epoch."""

import pytest
import torch

from tpauc.losses.tpauc_loss import SquareAUCLoss
from tpauc.metrics.area import tpauc_score
from tpauc.training import fit
from tpauc.training.run_folder import RunFolder
from training_runs import network, problem, settings


class Notes:
    """Keeps what it is called with; raises after so many epochs."""

    def __init__(self, out=None, fail_after=None):
        self.out, self.fail_after, self.rows = out, fail_after, []

    def __call__(self, epoch, model, scores):
        saved = None if self.out is None else RunFolder(self.out).load()
        weights = [parameter.detach().clone() for parameter in model.parameters()]
        self.rows.append((epoch, 0 if saved is None else saved["progress"]["epoch"], weights, scores))
        if epoch == self.fail_after:
            raise RuntimeError("stop here")


def train(hook, validation=True, **options):
    training_data, validation_data = problem()
    return fit(
        network(),
        training_data,
        validation_data if validation else None,
        SquareAUCLoss(),
        settings(**options),
        on_epoch=hook,
    )


def test_called_after_every_epoch_with_the_scores_that_are_measured():
    notes = Notes()
    result = train(notes)
    assert [row[0] for row in notes.rows] == [1, 2, 3, 4]
    labels = problem()[1][1]
    for (_, _, _, scores), row in zip(notes.rows, result.history, strict=True):
        assert tpauc_score(labels, scores.numpy(), alpha=0.5, beta=0.5) == row["tpauc"]


def test_without_validation_data_there_are_no_scores():
    notes = Notes()
    train(notes, validation=False)
    assert [row[3] for row in notes.rows] == [None] * 4


def test_called_before_the_checkpoint_that_holds_the_epoch(tmp_path):
    notes = Notes(tmp_path)
    train(notes, out=tmp_path, checkpoint_steps=1)
    # A checkpoint after each step: at the end of an epoch the last one stands in it, not behind it.
    assert [(epoch, saved) for epoch, saved, _, _ in notes.rows] == [(1, 0), (2, 1), (3, 2), (4, 3)]


def test_an_epoch_that_is_trained_again_is_handed_over_again_alike(tmp_path):
    broken, whole = Notes(fail_after=3), Notes()
    with pytest.raises(RuntimeError, match="stop here"):
        train(broken, out=tmp_path, checkpoint_steps=1)
    resumed = Notes()
    train(resumed, out=tmp_path, checkpoint_steps=1)
    train(whole)
    assert [row[0] for row in resumed.rows] == [3, 4]
    for rows, expected in ((broken.rows, whole.rows[:3]), (resumed.rows, whole.rows[2:])):
        for row, other in zip(rows, expected, strict=True):
            assert torch.equal(row[3], other[3])
            assert all(torch.equal(a, b) for a, b in zip(row[2], other[2], strict=True))


def test_it_must_be_callable():
    with pytest.raises(TypeError, match="on_epoch must be callable, got 'print'"):
        train("print")
