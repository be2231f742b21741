"""About sixty kinds of wrong value for an argument, each made from a valid one.

A value that is wrong for most arguments means something for a few: ``Fraction(3, 10)`` is a share. `MEANING` lists, for
each kind of argument, the values that are accepted and the plain value that each of them stands for. What is not listed
there must be refused.
"""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.sparse
import torch


def rows_of(valid):
    """Return a valid argument as an array, or three numbers if it is not one."""
    if isinstance(valid, torch.Tensor | np.ndarray | list):
        return np.asarray(valid)
    return np.array([1.0, 0.0, 1.0])


def numbers_of(valid):
    rows = rows_of(valid)
    return rows.astype(float) if rows.dtype.kind in "biuf" else np.arange(float(rows.size)).reshape(rows.shape)


def _tensor(valid):
    return torch.tensor(numbers_of(valid), dtype=torch.float32)


def _with(valid, value, dtype=float):
    rows = numbers_of(valid).astype(dtype)
    rows.reshape(-1)[0] = value
    return rows


def _masked(valid):
    rows = rows_of(valid)
    return np.ma.masked_array(rows, mask=np.arange(rows.size).reshape(rows.shape) == 1)


def _quantised(valid):
    with warnings.catch_warnings():  # torch may announce the end of quantised tensors
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(_tensor(valid), 0.1, 0, torch.quint8)


def _nested(valid):
    with warnings.catch_warnings():  # nested tensors are a prototype
        warnings.simplefilter("ignore")
        flat = _tensor(valid).reshape(-1)
        return torch.nested.nested_tensor([flat[:1], flat[1:]])


def returns_none(*_args, **_options):
    """Stand in the place of anything; in the place of a function, return nothing."""


class Nothing:
    """An object without any use."""

    def __repr__(self):
        return "Nothing()"


SCALARS = {
    "None": lambda _: None,
    "True": lambda _: True,
    "text": lambda _: "str",
    "blank text": lambda _: " ",
    "lone surrogate": lambda _: "\ud800",
    "number as text": lambda _: "0.3",
    "bytes": lambda _: b"1",
    "complex": lambda _: 0.3 + 5j,
    "real complex": lambda _: 0.3 + 0j,
    "NumPy complex": lambda _: np.complex128(0.3 + 5j),
    "NaN": lambda _: float("nan"),
    "inf": lambda _: float("inf"),
    "-inf": lambda _: float("-inf"),
    "-1": lambda _: -1,
    "1.5": lambda _: 1.5,
    "2**63": lambda _: 2**63,
    "-2**63": lambda _: -(2**63),
    "10**400": lambda _: 10**400,
    "1e308": lambda _: 1e308,
    "Fraction": lambda _: Fraction(3, 10),
    "Decimal": lambda _: Decimal("0.3"),
    "float32": lambda _: np.float32(0.3),
    "timedelta64": lambda _: np.timedelta64(1, "D"),
    "unitless timedelta64": lambda _: np.timedelta64(1),
    "datetime64": lambda _: np.datetime64("2026-01-01"),
    "NaT": lambda _: np.datetime64("NaT"),
    "timedelta": lambda _: datetime.timedelta(seconds=1),
    "date": lambda _: datetime.date(2026, 1, 1),
    "pandas NA": lambda _: pd.NA,
    "object": lambda _: Nothing(),
    "class": lambda _: Nothing,
    "function that returns None": lambda _: returns_none,
}
COLLECTIONS = {
    "empty list": lambda _: [],
    "empty tuple": lambda _: (),
    "empty dict": lambda _: {},
    "dict": lambda _: {"a": 1},
    "dict of None": lambda _: {"a": None},
    "set": lambda _: {1, 2},
    "list of text": lambda _: ["a", "b"],
    "list of None": lambda _: [None, None],
    "rows of unequal length": lambda _: [[1.0], [1.0, 2.0]],
    "generator": lambda valid: (value for value in rows_of(valid).tolist()),
    "set of rows": lambda valid: set(map(str, rows_of(valid).tolist())),
}
ARRAYS = {
    "array of shape ()": lambda _: np.array(0.3),
    "array of one": lambda _: np.array([0.3]),
    "empty array": lambda _: np.empty(0),
    "array of shape (0, 3)": lambda _: np.empty((0, 3)),
    "array of shape (n, 2)": lambda valid: np.stack([numbers_of(valid)] * 2, axis=-1),
    "array of shape (1, n)": lambda valid: numbers_of(valid)[None],
    "array too short": lambda valid: rows_of(valid)[:-1],
    "array of objects": lambda valid: np.array([Nothing()] * len(rows_of(valid)), dtype=object),
    "array of numbers as objects": lambda valid: numbers_of(valid).astype(object),
    "array of text": lambda valid: numbers_of(valid).astype(str),
    "array of bytes": lambda valid: numbers_of(valid).astype(bytes),
    "array of records": lambda valid: np.zeros(len(rows_of(valid)), dtype=[("a", float)]),
    "complex array": lambda valid: numbers_of(valid).astype(complex),
    "timedelta64 array": lambda valid: numbers_of(valid).astype(np.int64).astype("m8[D]"),
    "datetime64 array": lambda valid: numbers_of(valid).astype(np.int64).astype("M8[D]"),
    "masked array": _masked,
    "array with NaN": lambda valid: _with(valid, np.nan),
    "array with inf": lambda valid: _with(valid, np.inf),
    "array with 2**63": lambda valid: _with(np.abs(numbers_of(valid)), 2**63, np.uint64),
    "array with 1e308": lambda valid: _with(valid, 1e308),
    "DataFrame with NA": lambda valid: pd.DataFrame({"a": pd.array([pd.NA] * len(rows_of(valid)), dtype="Float64")}),
    "SciPy sparse": lambda valid: scipy.sparse.csr_array(np.atleast_2d(numbers_of(valid))),
}
TENSORS = {
    "tensor of shape ()": lambda _: torch.tensor(0.3),
    "empty tensor": lambda _: torch.empty(0),
    "complex tensor": lambda valid: _tensor(valid).to(torch.complex64),
    "sparse tensor": lambda valid: _tensor(valid).to_sparse(),
    "quantised tensor": _quantised,
    "nested tensor": _nested,
    "meta tensor": lambda valid: _tensor(valid).to("meta"),
    "tensor with NaN": lambda valid: torch.from_numpy(_with(valid, np.nan)).float(),
    "tensor of bytes too short": lambda valid: _tensor(valid)[:-1].to(torch.uint8),
}
WRONG = SCALARS | COLLECTIONS | ARRAYS | TENSORS

# ------------------------------------------------------------------------------------------------ what has a meaning

AS_IS = object()  # the value is taken as it is
REFUSED = object()  # the value has a meaning for arguments of this kind, but not for this one


def anything(_):
    """Accept any outcome: it is for somebody else to say."""
    return True


ANYTHING = anything


def no_such_file(error):
    """Return whether an error says that a file or folder is not there."""
    return isinstance(error, FileNotFoundError)


_THREE_TENTHS = dict.fromkeys(["Fraction", "Decimal", "float32", "array of shape ()", "tensor of shape ()"], 0.3)
_POSITIVE = _THREE_TENTHS | {"1.5": 1.5, "2**63": 2.0**63, "1e308": 1e308}
_NAMES = ["array of numbers as objects", "array of text", "array of bytes", "complex array", "timedelta64 array"]
_NAMES += ["datetime64 array", "array with inf", "array with 2**63", "array with 1e308", "complex tensor"]

# For each kind of argument, the values that are accepted: with the plain value that gives the same result, with AS_IS
# if there is no plainer one, or with a function that recognises the one error that is right. All others are refused.
MEANING = {
    "refused": {},
    "share": _THREE_TENTHS,
    "positive": _POSITIVE,
    "number": _POSITIVE | {"-1": -1.0, "-2**63": -(2.0**63)},
    "flag": {"True": True},
    "text": {"text": "str", "number as text": "0.3"},
    "path": {"text": AS_IS, "number as text": AS_IS},
    "path to read": {"text": no_such_file, "number as text": no_such_file},
    "random state": {"2**63": 2**63},
    "label": {"True": 1},  # of labels 0 and 1
    "names": dict.fromkeys(_NAMES, AS_IS),  # anything whose values are equal or not
    "scores": {"array with 1e308": AS_IS},
    "logits": {"tensor with NaN": AS_IS},  # a loss of NaN is what a training watches for
    "function": {"function that returns None": AS_IS},
}
