"""The bad-input matrix: every public callable, every argument, every kind of wrong value.

``pytest -s tests/test_bad_input.py`` prints how many combinations there are.
"""

import dataclasses
import inspect
import re
import warnings
from collections.abc import Mapping

import numpy as np
import pytest
import torch

import tpauc
from bad_input_table import EXEMPT, KIND_BY_NAME, PLAIN, TABLE
from tpauc import frames
from wrong_values import AS_IS, MEANING, REFUSED, WRONG


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some wrong values are good names of files


@pytest.mark.parametrize("row", TABLE, ids=lambda row: " ".join(filter(None, (row.name, row.variant))))
def test_wrong_values_are_refused_by_name_or_have_a_meaning(row):
    row(**row.arguments_of_call())
    problems = [
        f"{row.name}({argument}={name}): {problem}"
        for argument in row.arguments()
        for name in WRONG
        if (problem := problem_of(row, argument, name)) is not None
    ]
    assert not problems, f"{len(problems)} of {len(row.arguments()) * len(WRONG)}:\n" + "\n".join(problems)


def problem_of(row, argument, name):
    """Return what is wrong with the answer to a wrong value, None if all is well."""
    expected = meaning_of(row, argument).get(name, ...)
    found = outcome(row, argument, WRONG[name](row.valid.get(argument, PLAIN.get(argument))))
    if callable(expected):
        return None if expected(found) else f"not the expected error, but {shown(found)}"
    if expected is not ...:
        if isinstance(found, Exception):
            return f"has a meaning, but is refused: {shown(found)}"
        plain = found if expected is AS_IS else outcome(row, argument, expected)
        return None if same(found, plain) else f"gives {shown(found)}, not {shown(plain)}"
    if not isinstance(found, Exception):
        return f"is accepted: {shown(found)}"
    if not isinstance(found, ValueError | TypeError):
        return f"is neither a ValueError nor a TypeError: {shown(found)}"
    return None if re.search(rf"(?<!\w){argument}(?!\w)", str(found)) else f"is not named: {shown(found)}"


def meaning_of(row, argument):
    """Return the wrong values that mean something for this argument."""
    kind = row.kinds.get(argument, KIND_BY_NAME.get(argument, "refused"))
    optional = {"None": AS_IS} if row.default_of(argument) is None else {}
    found = {**optional, **MEANING[kind], **row.meaning.get(argument, {})}
    return {name: value for name, value in found.items() if value is not REFUSED}


def outcome(row, argument, value):
    """Return the result of the call, or the exception that it ended with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a refusal may follow a warning
        warnings.simplefilter("error", RuntimeWarning)  # of arithmetic with what should have been refused
        try:
            return row(**{**row.arguments_of_call(), argument: value})
        except Exception as error:
            return error


def same(a, b):
    """Return whether two results are equal."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return same(a.detach().numpy(), b.detach().numpy())
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if dataclasses.is_dataclass(a):
        return same(vars(a), vars(b))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return a == b or (a != a and b != b)
    return repr(a) == repr(b) if type(a).__eq__ is object.__eq__ else a == b


def shown(value):
    """Return a short text."""
    text = " ".join(f"{type(value).__name__}: {value}".split())
    return ascii(text[:160])


# ------------------------------------------------------------------------------------------------------------ coverage


def public_callables():
    """Yield the names of all public callables that take an argument, and of their public methods."""
    named = [(name, getattr(tpauc, name)) for name in tpauc.__all__ if not name.startswith("__")]
    named += [(f"frames.{name}", getattr(frames, name)) for name in frames.__all__]
    for name, value in named:
        if not callable(value):
            continue
        yield name
        if inspect.isclass(value):
            yield from (f"{name}.{method}" for method in own_methods(value))


def own_methods(cls):
    """Return the public methods with arguments that this package defines, inherited ones included."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("tpauc"):
            continue
        value = getattr(cls, name)
        if callable(value) and set(inspect.signature(value).parameters) - {"self"}:
            yield name


def test_every_public_callable_and_argument_has_a_row(capsys):
    rows = {row.name for row in TABLE}
    assert len({(row.name, row.variant) for row in TABLE}) == len(TABLE), "a callable has two rows"
    found = set(public_callables())
    missing = sorted(found - rows - set(EXEMPT))
    assert not missing, f"give these a row in tests/bad_input_table.py: {missing}"
    assert not sorted((rows | set(EXEMPT)) - found), "rows of what is not public"
    assert not rows & set(EXEMPT)
    for row in TABLE:
        unknown = (set(row.valid) | set(row.kinds) | set(row.meaning)) - set(row.arguments())
        assert not unknown, f"{row.name} has no {unknown}"
    arguments = sum(len(row.arguments()) for row in TABLE)
    accepted = sum(len(meaning_of(row, argument)) for row in TABLE for argument in row.arguments())
    with capsys.disabled():
        print(
            f"\nbad input: {len(rows)} callables, {arguments} arguments, {len(WRONG)} wrong values: "
            f"{arguments * len(WRONG)} combinations, {accepted} of them with a meaning; exempt: {len(EXEMPT)}"
        )


def test_the_check_can_fail():
    """Each way in which a callable may be wrong is found."""

    class Careless:
        name, valid, kinds, meaning = "careless", {"rate": 0.5}, {"rate": "share"}, {}

        def __init__(self, answer):
            self.answer = answer

        def default_of(self, _):
            return 0.5

        def arguments_of_call(self):
            return self.valid

        def __call__(self, rate):
            return self.answer(rate)

    def raising(error):
        def answer(_):
            raise error

        return answer

    assert problem_of(Careless(lambda _: 1), "rate", "text").startswith("is accepted")
    assert problem_of(Careless(raising(KeyError("rate"))), "rate", "text").startswith("is neither")
    assert problem_of(Careless(raising(ValueError("rated"))), "rate", "text").startswith("is not named")
    assert problem_of(Careless(raising(ValueError("rate: no"))), "rate", "text") is None
    assert problem_of(Careless(raising(ValueError("rate: no"))), "rate", "Decimal").startswith("has a meaning")
    assert problem_of(Careless(str), "rate", "Fraction").startswith("gives")
    assert problem_of(Careless(float), "rate", "Fraction") is None
