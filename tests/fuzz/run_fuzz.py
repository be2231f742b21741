"""Fuzz the readers with atheris and the metrics with Hypothesis, and print cases and findings (``make fuzz``).

Inputs that reach new code are added to ``tests/fuzz/corpus`` with ``--keep``. An input that breaks a reader is written
to ``tests/fuzz/findings``, where ``tests/test_fuzz_findings.py`` reads it from then on.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FUZZ = Path(__file__).parent
sys.path.insert(0, str(FUZZ))

from fuzz_readers import READERS, seeds  # noqa: E402

_LARGEST = 65_536  # bytes of an input
_KEPT, _LARGEST_KEPT = 20, 2048  # inputs of one reader and their bytes
_CASES = re.compile(r"stat::number_of_executed_units:\s*(\d+)|^Done (\d+)|^#(\d+)\s", re.MULTILINE)


def fuzz_reader(name, seconds, *, keep):
    """Return the number of inputs that a reader was given, and the files of those that broke it."""
    corpus, findings = FUZZ / "corpus" / name, FUZZ / "findings" / name
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder, "start")
        start.mkdir()
        for number, contents in enumerate(seeds(name)):
            (start / f"seed-{number}").write_bytes(contents)
        found = Path(folder, "found")
        found.mkdir()
        known = [str(path) for path in (corpus, start) if path.is_dir()]
        options = [f"-max_total_time={seconds}", f"-max_len={_LARGEST}", "-timeout=20", "-rss_limit_mb=4096"]
        options += [f"-artifact_prefix={folder}/broken-", "-print_final_stats=1", "-verbosity=1"]
        script = [sys.executable, str(FUZZ / "fuzz_readers.py"), name]
        run = subprocess.run([*script, *options, str(found), *known], capture_output=True, text=True, errors="replace")
        broken = sorted(Path(folder).glob("broken-*"))
        for path in broken:
            findings.mkdir(parents=True, exist_ok=True)
            (findings / path.name.removeprefix("broken-")).write_bytes(path.read_bytes())
        if run.returncode and not broken:
            raise RuntimeError(f"{name} did not start:\n{run.stderr[-2_000:]}")
        if keep:
            keep_last(found, corpus)
    cases = max((int(next(filter(None, match.groups()))) for match in _CASES.finditer(run.stderr)), default=0)
    reason = (
        "" if not broken else "\n".join(run.stderr.split("=== Uncaught Python exception: ===")[-1].splitlines()[:40])
    )
    return cases, broken, reason


def keep_last(found, corpus):
    """Copy the last small inputs that reached new code, which build upon the earlier ones, to the corpus.

    The merge of libFuzzer would choose better, but it starts its program anew, and under Python that is no program.
    """
    corpus.mkdir(parents=True, exist_ok=True)
    small = [path for path in found.iterdir() if path.stat().st_size <= _LARGEST_KEPT]
    for path in sorted(small, key=lambda path: path.stat().st_mtime)[-_KEPT:]:
        shutil.copy(path, corpus / path.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="time for everything together")
    parser.add_argument("--keep", action="store_true", help="add inputs that reach new code to the corpus")
    parser.add_argument("--only", choices=[*READERS, "calls"], action="append", help="by default all")
    arguments = parser.parse_args()
    wanted = arguments.only or [*READERS, "calls"]
    each = max(1, arguments.seconds // len(wanted))
    failed = False
    for name in wanted:
        if name == "calls":
            from fuzz_calls import fuzz

            cases, with_value, findings = fuzz(each)
            print(f"calls: {cases:,} calls, {with_value:,} with a value, {len(findings)} findings", flush=True)
            print(*findings, sep="\n", end="\n" if findings else "")
            failed |= bool(findings)
            continue
        cases, broken, reason = fuzz_reader(name, each, keep=arguments.keep)
        print(f"{name}: {cases:,} inputs, {len(broken)} findings", flush=True)
        if broken:
            print(reason, flush=True)
        failed |= bool(broken)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
