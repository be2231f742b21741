"""A run that is resumed is bit-equal to one that was not interrupted; what does not fit is refused."""

import functools
import random
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from tpauc.losses.baselines import ReweightedCrossEntropy
from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss
from tpauc.losses.weighting import Polynomial
from tpauc.training import CheckpointError, TrainingInterrupted, fit, load_checkpoint, save_checkpoint
from tpauc.training._state import preserved_random_state, random_state, seed_all, set_random_state
from training_runs import Interrupting, Pairs, assert_bit_equal, jitter, network, numbers_of, problem, settings, train

# ------------------------------------------------------------------------------------------------------------ bit-equal


@pytest.mark.parametrize(
    ("make_loss", "options"),
    [
        (lambda: TPAUCLoss(Polynomial(3.0)), {"schedule": "cosine"}),
        (lambda: TPAUCLoss(Polynomial(3.0)), {"warmup_epochs": 2, "optimizer": "adam"}),
        (lambda: MinimaxTPAUCLoss(Polynomial(3.0), start="batch"), {"optimizer": "minimax", "warmup_epochs": 1}),
        (ReweightedCrossEntropy, {"hard_examples": "negatives", "warmup_epochs": 1, "optimizer": "adamw"}),
        (SquareAUCLoss, {"hard_examples": "both", "precision": "64-true"}),
    ],
    ids=["cosine", "adam and warm-up", "minimax", "hard negatives", "hard examples"],
)
def test_a_run_resumed_at_any_step_is_bit_equal(tmp_path, make_loss, options):
    options = {"epochs": 3, **options}
    train(loss=make_loss(), transform=Interrupting(None), out=tmp_path / "straight", **options)
    expected = numbers_of(tmp_path / "straight")
    n_steps = expected["state.progress.total_steps"]
    for at in {1, 2, n_steps // 3, n_steps // 3 + 1, n_steps - 1, n_steps}:
        out = tmp_path / str(at)
        with pytest.raises(TrainingInterrupted):
            train(loss=make_loss(), transform=Interrupting(at), out=out, **options)
        train(loss=make_loss(), transform=Interrupting(None), out=out, **options)
        assert_bit_equal(numbers_of(out), expected)


def test_interrupted_at_every_step(tmp_path):
    train(transform=Interrupting(None), out=tmp_path / "straight", epochs=2)
    expected = numbers_of(tmp_path / "straight")
    interruptions = 0
    while True:
        try:
            train(transform=Interrupting(1), out=tmp_path / "halting", epochs=2)
        except TrainingInterrupted:
            interruptions += 1
        else:
            break
    assert interruptions == expected["state.progress.total_steps"]
    assert_bit_equal(numbers_of(tmp_path / "halting"), expected)


def test_bit_equality_can_fail(tmp_path):
    for name, seed in (("one", 0), ("other", 1)):
        train(out=tmp_path / name, epochs=1, seed=seed)
    with pytest.raises(AssertionError):
        assert_bit_equal(numbers_of(tmp_path / "one"), numbers_of(tmp_path / "other"))


def test_random_numbers_of_a_data_set_go_on_as_well(tmp_path):
    training_data, validation = problem()
    data = Pairs(training_data, labelled=True, noisy=True)
    config = {name: settings(out=tmp_path / name, epochs=1, batch_size=110) for name in ("straight", "halting")}
    fit(network(), data, validation, SquareAUCLoss(), config["straight"], transform=unchanged)
    with pytest.raises(TrainingInterrupted):
        fit(network(), data, validation, SquareAUCLoss(), config["halting"], transform=_signal_only)
    fit(network(), data, validation, SquareAUCLoss(), config["halting"], transform=unchanged)
    assert_bit_equal(numbers_of(tmp_path / "halting"), numbers_of(tmp_path / "straight"))


def unchanged(inputs, generator):
    return inputs


@functools.wraps(unchanged)
def _signal_only(inputs, generator):
    signal.raise_signal(signal.SIGTERM)
    return inputs


def test_a_finished_run_is_returned_as_it_is(tmp_path):
    first = train(out=tmp_path)
    before = (tmp_path / "last.ckpt").read_bytes()
    again = train(out=tmp_path)
    assert again.history == first.history
    assert (again.best_epoch, again.ended) == (first.best_epoch, "epochs")
    assert (tmp_path / "last.ckpt").read_bytes() == before


def test_more_epochs_go_on_from_the_end(tmp_path):
    train(out=tmp_path / "grown", epochs=2)
    train(out=tmp_path / "grown", epochs=4)
    train(out=tmp_path / "straight", epochs=4)
    assert_bit_equal(numbers_of(tmp_path / "grown"), numbers_of(tmp_path / "straight"))


def draw(generator):
    numbers = [random.random(), random.gauss(0, 1), np.random.random(), np.random.standard_normal()]  # noqa: NPY002
    return [*numbers, *torch.rand(3).tolist(), *torch.rand(3, generator=generator).tolist()]


def test_the_global_random_numbers_of_the_caller_are_preserved():
    unused = torch.Generator()
    before = random_state(unused)
    expected = draw(unused)
    set_random_state(before, unused)
    with preserved_random_state():
        seed_all(torch.Generator(), 7)
        draw(torch.Generator())
    assert draw(unused) == expected


def test_random_numbers_go_on_where_they_were_saved():
    generator = torch.Generator()
    with preserved_random_state():
        seed_all(generator, 7, 1)
        draw(generator)  # leaves the second half of a pair of Gaussian numbers behind
        state = random_state(generator)
        expected = draw(generator)
        draw(generator)
        set_random_state(state, generator)
        assert draw(generator) == expected
        seed_all(generator, 1, 7)
        assert draw(generator) != expected


# -------------------------------------------------------------------------------------------------- what is not resumed


def test_resume_never_leaves_a_checkpoint_alone(tmp_path):
    train(out=tmp_path, epochs=1, resume="never")
    before = (tmp_path / "last.ckpt").read_bytes()
    with pytest.raises(FileExistsError, match=r"resume='never', but there is a checkpoint in .*last\.ckpt"):
        train(out=tmp_path, epochs=1, resume="never")
    assert (tmp_path / "last.ckpt").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0.1}, r"lr=0\.1 \(there 0\.05\)"),
        ({"seed": 5, "ratio": (1, 2)}, r"ratio=\(1\.0, 2\.0\) \(there \(1\.0, 10\.0\)\), seed=5 \(there 0\)"),
        ({"schedule": "cosine"}, r"schedule='cosine' \(there 'exponential'\)"),
    ],
)
def test_other_settings_are_named(tmp_path, options, message):
    train(out=tmp_path, epochs=1)
    with pytest.raises(ValueError, match=message):
        train(out=tmp_path, epochs=2, **options)


def test_another_length_is_another_cosine(tmp_path):
    train(out=tmp_path, epochs=1, schedule="cosine")
    with pytest.raises(ValueError, match=r"epochs=2 \(there 1\)"):
        train(out=tmp_path, epochs=2, schedule="cosine")


def test_another_model_other_data_another_loss(tmp_path):
    training_data, validation_data = problem()
    config = settings(out=tmp_path, epochs=1)
    fit(network(), training_data, validation_data, SquareAUCLoss(), config)
    with pytest.raises(CheckpointError, match=r"last\.ckpt does not fit the model"):
        fit(torch.nn.Linear(4, 1), training_data, validation_data, SquareAUCLoss(), config)
    with pytest.raises(ValueError, match=r"last\.ckpt is of other training data.*: state comes from"):
        fit(network(), validation_data, validation_data, SquareAUCLoss(), config)
    with pytest.raises(ValueError, match=r"loss=.TPAUCLoss.*Polynomial.* \(there .SquareAUCLoss"):
        fit(network(), training_data, validation_data, TPAUCLoss(Polynomial(3.0)), config)
    with pytest.raises(ValueError, match=r"validation=None \(there '330 rows, \d+ positive'\)"):
        fit(network(), training_data, None, SquareAUCLoss(), config)
    with pytest.raises(ValueError, match="warmup_epochs=1"):
        fit(network(), training_data, validation_data, SquareAUCLoss(), settings(out=tmp_path, warmup_epochs=1))


def test_other_features_with_equal_labels_are_refused(tmp_path):
    (inputs, labels), (others, other_labels) = problem()
    config, loss = settings(out=tmp_path, epochs=1), SquareAUCLoss()
    fit(network(), (inputs, labels), (others, other_labels), loss, config)
    before = (tmp_path / "last.ckpt").read_bytes()
    for train_inputs, validation_inputs, message in (
        (
            inputs + 1e-6,
            others,
            r"another set of training data: 330 rows of 4 float32, .*, now 330 rows of 4 float32, ",
        ),
        (inputs.double(), others, "another set of training data: .*, now 330 rows of 4 float64"),
        (inputs, others + 1e-6, "another set of validation data: .*; go on with that one, or choose another out"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(network(), (train_inputs, labels), (validation_inputs, other_labels), loss, config)
    assert (tmp_path / "last.ckpt").read_bytes() == before
    fit(network(), (inputs.clone(), labels), (others, other_labels), loss, replace(config, epochs=2))


@pytest.mark.parametrize("noisy", [True, False])
def test_a_data_set_is_known_by_its_items(tmp_path, noisy):
    training_data, validation = problem()
    config, loss = settings(out=tmp_path, epochs=1), SquareAUCLoss()
    fit(network(), Pairs(training_data, noisy=noisy), validation, loss, config)
    fit(network(), Pairs(training_data, noisy=noisy), validation, loss, replace(config, epochs=2))
    others = (training_data[0].flip(1), training_data[1])
    with pytest.raises(ValueError, match="another set of training data: 330 rows of 4 float32"):
        fit(network(), Pairs(others, noisy=noisy), validation, loss, replace(config, epochs=3))


def half(inputs, generator):
    return inputs / 2


def test_another_transform_is_refused_and_one_without_a_name_is_told(tmp_path):
    config, loss = settings(out=tmp_path, epochs=1), SquareAUCLoss()
    fit(network(), *problem(), loss, config, transform=half)
    with pytest.raises(ValueError, match="another transform: half, now None"):
        fit(network(), *problem(), loss, replace(config, epochs=2))
    with pytest.warns(UserWarning, match=r"cannot be verified .* begun with: transform; functions are known by"):
        fit(network(), *problem(), loss, replace(config, epochs=2), transform=lambda inputs, generator: inputs / 2)


def test_a_loss_with_a_function_without_a_name_is_told(tmp_path):
    config = settings(out=tmp_path, epochs=1)
    fit(network(), *problem(), TPAUCLoss(lambda t: t), config)
    with pytest.warns(UserWarning, match="cannot be verified .* begun with: loss;"):
        fit(network(), *problem(), TPAUCLoss(lambda t: t * t), replace(config, epochs=2))


def test_a_data_set_that_reads_differently_each_time_is_told(tmp_path):
    class Odd(Pairs):
        random = np.random.default_rng(0)

        def __getitem__(self, row):
            value, label = super().__getitem__(row)
            return value + self.random.normal(), label

    training_data, validation = problem()
    config, loss = settings(out=tmp_path, epochs=1), SquareAUCLoss()
    fit(network(), Odd(training_data), validation, loss, config)
    with pytest.warns(UserWarning, match="cannot be verified .* begun with: set of training data;"):
        fit(network(), Odd(training_data), validation, loss, replace(config, epochs=2))


def test_a_checkpoint_from_before_fingerprints_goes_on_with_a_warning(tmp_path):
    train(out=tmp_path, epochs=1)
    state = load_checkpoint(tmp_path / "last.ckpt")
    del state["begun with"]
    save_checkpoint(tmp_path / "last.ckpt", state)
    with pytest.warns(UserWarning, match="cannot be verified .* set of training data, set of validation data, trans"):
        train(out=tmp_path, epochs=2)


def test_other_frozen_parameters(tmp_path):
    train(out=tmp_path, epochs=1)
    model = network()
    model[0].requires_grad_(False)
    with pytest.raises(CheckpointError, match=r"last\.ckpt does not fit the parameters that are trained: .*group"):
        fit(model, *problem(), TPAUCLoss(Polynomial(3.0)), settings(out=tmp_path, epochs=2), transform=jitter)


def test_a_run_goes_on_with_another_kind_of_device(tmp_path):
    """The state of a generator of a GPU has another form; here a checkpoint pretends to come from one."""
    train(out=tmp_path, epochs=1)
    saved = load_checkpoint(tmp_path / "last.ckpt")
    saved["random"][0] |= {"device": "cuda", "generator": torch.zeros(16, dtype=torch.uint8)}
    save_checkpoint(tmp_path / "last.ckpt", saved)
    assert len(train(out=tmp_path, epochs=2).history) == 2


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is damaged"),
        (lambda path: path.write_bytes(b"something else"), "is not a checkpoint of this package"),
        (lambda path: save_checkpoint(path, {"model": {}}), "is a checkpoint, but not the state of a training run"),
        (lambda path: save_checkpoint(path, {"kind": "training run"}), "does not fit the model"),
    ],
)
def test_a_file_that_is_damaged_or_foreign(tmp_path, spoil, message):
    train(out=tmp_path, epochs=1)
    spoil(tmp_path / "last.ckpt")
    spoiled = (tmp_path / "last.ckpt").read_bytes()
    with pytest.raises(CheckpointError, match=message):
        train(out=tmp_path, epochs=2)
    assert (tmp_path / "last.ckpt").read_bytes() == spoiled
