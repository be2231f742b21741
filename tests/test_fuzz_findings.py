"""What fuzzing has found, and inputs that reach much of the readers: each is read or refused (``make fuzz``)."""

import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "fuzz"
sys.path.insert(0, str(FUZZ))

from fuzz_readers import READERS, check, seeds  # noqa: E402

KEPT = [path for folder in ("corpus", "findings") for path in sorted((FUZZ / folder).rglob("*")) if path.is_file()]


@pytest.mark.parametrize("name", READERS)
def test_seeds_and_kept_inputs_are_read_or_refused(name):
    kept = [path.read_bytes() for path in KEPT if path.parent.name == name]
    for contents in [*seeds(name), *kept, b"", b"\x00"]:
        check(name, contents)


def test_another_exception_is_a_finding(monkeypatch):
    def broken(contents, folder):
        raise KeyError(contents)

    monkeypatch.setitem(READERS, "csv", broken)
    with pytest.raises(KeyError):
        check("csv", b"y,s")


def test_every_kept_input_has_a_reader():
    assert {path.parent.name for path in KEPT} <= set(READERS)
