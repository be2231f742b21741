"""Every setting is checked, and survives a round trip through JSON."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.region import Region
from tpauc.training.config import OPTIMIZERS, PRECISIONS, SCHEDULES, STRATEGIES, TrainConfig

shares = st.floats(min_value=1e-6, max_value=1.0)
positive = st.floats(min_value=1e-9, max_value=1e9)


@settings(deadline=None, max_examples=100)
@given(
    st.fixed_dictionaries(
        {"alpha": shares, "beta": shares},
        optional={
            "epochs": st.integers(1, 10**6),
            "batch_size": st.integers(2, 10**6),
            "ratio": st.none() | st.tuples(positive, positive),
            "optimizer": st.sampled_from(OPTIMIZERS),
            "lr": positive,
            "dual_lr": st.none() | positive,
            "momentum": st.floats(0.01, 0.99),
            "weight_decay": st.floats(0.0, 1.0),
            "schedule": st.sampled_from(SCHEDULES),
            "decay": shares,
            "warmup_epochs": st.integers(0, 50),
            "patience": st.none() | st.integers(1, 50),
            "time_limit": st.none() | positive,
            "seed": st.integers(0, 2**32 - 1),
            "strategy": st.sampled_from(STRATEGIES),
            "precision": st.sampled_from(PRECISIONS),
            "out": st.none() | st.just("runs/ä"),
            "progress": st.booleans(),
        },
    )
)
def test_round_trip_through_json(values):
    config = TrainConfig(**values)
    assert TrainConfig.from_json(config.to_json()) == config
    assert TrainConfig.from_dict(json.loads(config.to_json())) == config


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("alpha", 0.0, ValueError, r"alpha must be a share in \(0, 1\], got 0\.0"),
        ("beta", 1.5, ValueError, r"beta must be a share in \(0, 1\], got 1\.5"),
        ("epochs", 0, ValueError, "epochs must be at least 1, got 0"),
        ("epochs", 1.5, TypeError, r"epochs must be a whole number, got 1\.5"),
        ("batch_size", 1, ValueError, "batch_size must be at least 2, got 1"),
        ("ratio", (1, 0), ValueError, r"ratio\[1\] must be above 0, got 0"),
        ("ratio", 3, ValueError, "ratio must be two numbers"),
        ("hard_examples", "all", ValueError, "hard_examples must be one of 'none', 'negatives', 'both', got 'all'"),
        ("optimizer", "SGD", ValueError, "optimizer must be one of 'sgd', 'adam', 'adamw', 'minimax', got 'SGD'"),
        ("lr", 0, ValueError, "lr must be above 0, got 0"),
        ("lr", None, TypeError, "lr must be a number, got None"),
        ("dual_lr", -1.0, ValueError, r"dual_lr must be above 0, got -1\.0"),
        ("momentum", 1.0, ValueError, r"momentum must be below 1, got 1\.0"),
        ("momentum", 0.0, ValueError, r"nesterov=True needs a momentum above 0, got 0\.0"),
        ("nesterov", 1, TypeError, "nesterov must be True or False, got 1"),
        ("weight_decay", -1e-5, ValueError, "weight_decay must be at least 0, got -1e-05"),
        ("schedule", "step", ValueError, "schedule must be one of"),
        ("decay", 0.0, ValueError, r"decay must be a share in \(0, 1\]"),
        ("warmup_epochs", -1, ValueError, "warmup_epochs must be at least 0, got -1"),
        ("patience", 0, ValueError, "patience must be at least 1, got 0"),
        ("time_limit", 0.0, ValueError, "time_limit must be above 0"),
        ("seed", -1, ValueError, "seed must be at least 0, got -1"),
        ("seed", 2**32, ValueError, r"seed must be below 2\*\*32, got 4294967296"),
        ("accelerator", "", ValueError, "accelerator must not be empty"),
        ("devices", 0, ValueError, "devices must be at least 1"),
        ("nodes", True, TypeError, "nodes must be a whole number, got True"),
        ("strategy", "fsdp", ValueError, "strategy must be one of 'auto', 'ddp', 'ddp_spawn', 'ddp_fork', got 'fsdp'"),
        ("precision", 16, ValueError, "precision must be one of"),
        ("eval_batch_size", 0, ValueError, "eval_batch_size must be at least 1"),
        ("workers", -1, ValueError, "workers must be at least 0"),
        ("out", 3, TypeError, "out must be a path, got 3"),
        ("out", "", ValueError, "out must not be empty"),
        ("out", b"run", TypeError, "out must be a path, got b'run'"),
        ("resume", True, ValueError, "resume must be one of 'auto', 'never', got True"),
        ("checkpoint_seconds", 0.0, ValueError, "checkpoint_seconds must be above 0"),
        ("checkpoint_steps", 0, ValueError, "checkpoint_steps must be at least 1"),
        ("tensorboard", "yes", TypeError, "tensorboard must be True or False, got 'yes'"),
        ("progress", None, TypeError, "progress must be True or False, got None"),
    ],
)
def test_every_setting_is_checked(name, value, error, message):
    with pytest.raises(error, match=message):
        TrainConfig(**{"alpha": 0.3, "beta": 0.3, name: value})


def test_the_test_above_leaves_no_setting_out():
    (mark,) = test_every_setting_is_checked.pytestmark
    assert {case[0] for case in mark.args[1]} == {field.name for field in fields(TrainConfig)}


def test_processes_on_several_machines_need_a_launcher_on_each():
    assert TrainConfig(alpha=0.3, beta=0.3, nodes=2, strategy="ddp").nodes == 2
    with pytest.raises(ValueError, match="strategy='ddp_spawn' starts processes on one machine, got nodes=2"):
        TrainConfig(alpha=0.3, beta=0.3, nodes=2, strategy="ddp_spawn")


def test_momentum_without_nesterov_may_be_zero():
    assert TrainConfig(alpha=0.3, beta=0.3, momentum=0.0, nesterov=False).momentum == 0.0


def test_values_are_put_in_order():
    config = TrainConfig(alpha=1, beta=0.3, ratio=[1, 2], out=Path("runs") / "a")
    assert (config.alpha, config.ratio, config.out) == (1.0, (1.0, 2.0), "runs/a")
    assert config.region == Region(1.0, 0.3)


def test_unknown_fields_are_named():
    with pytest.raises(ValueError, match="TrainConfig has no field 'epoch'; its fields are alpha, beta, epochs"):
        TrainConfig.from_dict({"alpha": 0.3, "beta": 0.3, "epoch": 3})
    with pytest.raises(ValueError, match=r"a configuration is a JSON object, got '\[1\]'"):
        TrainConfig.from_json("[1]")
