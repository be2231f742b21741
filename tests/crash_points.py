"""Kill a process, or fail a call, at every call that changes files; then look if the old or the new state is whole.

``LD_PRELOAD=shim.so python tests/crash_points.py FOLDER [NAME ...]`` prints, as JSON, for each scenario how many calls
it makes, how many cases were tried, and what was wrong. `test_crash_points.py` builds the shim from ``crash_shim.c``
and runs this.

A scenario prepares a folder with an old state, and replaces it by a new one. This process has imported everything; each
case is a process forked from it. After a kill, and after an error, the folder must be in the old or in the new state as
a reader finds it, after ``recover`` if there is such a step at the next start. Then the same action must succeed, and
leave nothing behind that its scenario does not allow for.
"""

import ctypes
import io
import json
import os
import shutil
import signal
import sys
import tarfile
import traceback
import zipfile
from pathlib import Path

NOTHING, KILL, TEAR, ENOSPC, EIO, SHORT = range(6)
MODES = {KILL: "killed before", TEAR: "killed half-way through", ENOSPC: "ENOSPC at", EIO: "EIO at"}
FINISHED, FAILED, SURPRISED = 0, 3, 4  # how a case ends


class Scenario:
    """An action in a folder. ``state`` returns "old" or "new", and raises for anything else."""

    allowed = ()  # endings of files that may be left behind: nobody can tell that nobody is writing them

    def prepare(self, folder):
        """Make the old state."""

    def act(self, folder):
        """Replace it by the new one."""
        raise NotImplementedError

    def recover(self, folder):
        """Do what the next start does before it reads."""

    def state(self, folder):
        raise NotImplementedError


# ---------------------------------------------------------------------------------------------------------- scenarios


class InPlace(Scenario):
    """Careless on purpose: shows that the search finds what is wrong."""

    def prepare(self, folder):
        (folder / "note").write_text("old")

    def act(self, folder):
        (folder / "note").write_text("new")

    def state(self, folder):
        return one_of({(folder / "note").read_text()})


class Atomic(Scenario):
    """A single file."""

    allowed = (".tmp",)

    def prepare(self, folder):
        self.write(folder / self.name, "old")

    def act(self, folder):
        self.write(folder / self.name, "new")

    def state(self, folder):
        return self.read(folder / self.name)


class Table(Atomic):
    def __init__(self, name):
        self.name = name

    def write(self, path, text):
        import pyarrow as pa

        from tpauc.cli.table_io import write_table

        write_table(path, pa.table({"id": [text] * 3, "score": [0.1, 0.2, 0.3], "alarm": [True, False, True]}))

    def read(self, path):
        from tpauc.cli.table_io import read_table

        return one_of(set(read_table(path)["id"].to_pylist()))


class HistogramFile(Atomic):
    name = "counts.json"

    def write(self, path, text):
        from tpauc.metrics.histogram import Histogram

        histogram = Histogram(8)
        histogram.positives[3] = 1 if text == "old" else 2
        histogram.save(path)

    def read(self, path):
        from tpauc.metrics.histogram import Histogram

        return {1: "old", 2: "new"}[int(Histogram.load(path).positives.sum())]


class SavedRun(Scenario):
    """`save_run` over a former run, by an exchange of two names or by two renames."""

    def __init__(self, *, exchange):
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

        X = [[float(number % 7), float(number % 3)] for number in range(40)]
        y = [int(number % 7 > 4) for number in range(40)]
        classifier = TPAUCClassifier("linear", alpha=0.5, beta=0.5, method="cross_entropy", random_state=0)
        self.pipeline = Pipeline([("columns", StandardScaler()), ("classifier", classifier)]).fit(X, y)
        self.exchange = exchange

    def prepare(self, folder):
        self.save(folder, "old")

    def act(self, folder):
        self.save(folder, "new")

    def save(self, folder, text):
        import numpy as np

        from tpauc import _files
        from tpauc.cli.runs import RunScores, save_run

        rate = {"estimate": 1.0, "low": 0.0, "high": 1.0}
        test = dict.fromkeys(("tpr", "fpr", "precision", "alarm_rate"), rate) | {
            "confidence": 0.95,
            "interval": "exact",
        }
        test |= dict.fromkeys(("true_positives", "false_positives", "true_negatives", "false_negatives"), 1)
        card = {
            "settings": {"text": text, "confidence": 0.95},
            "target": {"column": "label"},
            "columns": {},
            "models": [{"name": "score"}],
            "threshold": {"value": 0.0, "alpha": 0.5, "beta": 0.5, "picked_here": False, "test": test},
            "score_columns": {"row": "row", "label": "label", "groups": None, "models": ["score"]},
        }
        rows = np.array([{"old": 0, "new": 1}[text]])
        scores = RunScores(np.array([True]), {"score": np.array([1.0])}, None, rows)
        exchanged = _files._exchanged
        if not self.exchange:
            _files._exchanged = lambda first, second: False
        try:
            save_run(folder / "run", self.pipeline, card, scores, None, overwrite=True)
        finally:
            _files._exchanged = exchanged

    def recover(self, folder):
        from tpauc._files import recover_folder

        if not self.exchange:
            recover_folder(folder / "run")

    def state(self, folder):
        from tpauc.cli.runs import TEST_SCORES, load_run

        row = (folder / "run" / TEST_SCORES).read_text().split("\n")[1].split(",")[0]
        return one_of({load_run(folder / "run").card["settings"]["text"], {"1": "old", "2": "new"}[row]})


class Checkpoint(Scenario):
    """The state of a training, and the files that follow from it."""

    def prepare(self, folder):
        self.save(folder, "old", [{"epoch": 1}])

    def act(self, folder):
        self.save(folder, "new", [{"epoch": 1}, {"epoch": 2}])

    def save(self, folder, text, history):
        import torch

        from tpauc.training.checkpoint import RunFolder

        run = RunFolder(folder / "training")
        run.claim()
        try:
            best = {"epoch": len(history), "model": torch.full((3,), float(len(history)))}
            run.save({"text": text, "best": best, "history": history})
        finally:
            run.release()

    def recover(self, folder):
        from tpauc.training.checkpoint import RunFolder

        run = RunFolder(folder / "training")
        run.claim()
        run.write_derived(run.load())
        run.release()

    def state(self, folder):
        from tpauc.training.checkpoint import RunFolder, load_checkpoint

        run = RunFolder(folder / "training")
        rows = len(run.history.read_text().split()) - 1
        epochs = {1: "old", 2: "new"}
        return one_of({run.load()["text"], epochs[load_checkpoint(run.best)["epoch"]], epochs[rows]})


class Results(Scenario):
    def prepare(self, folder):
        from paper_runs import result
        from tpauc.paper.experiments.results import ResultsFile

        ResultsFile(folder / "results.csv").add([result()])

    def act(self, folder):
        from paper_runs import result
        from tpauc.paper.experiments.results import ResultsFile

        ResultsFile(folder / "results.csv").add([result(alpha=0.4, beta=0.4)])

    def state(self, folder):
        from tpauc.paper.experiments.results import ResultsFile

        return {1: "old", 2: "new"}[len(ResultsFile(folder / "results.csv").read())]


class Scores(Scenario):
    def prepare(self, folder):
        self.write(folder, 1.0)

    def act(self, folder):
        self.write(folder, 2.0)

    def write(self, folder, value):
        import numpy as np

        from tpauc.paper.experiments.results import ScoreFolder

        ScoreFolder(folder).write(1, np.full(3, value), np.full(4, value))

    def state(self, folder):
        from tpauc.paper.experiments.results import ScoreFolder

        found = ScoreFolder(folder).read(1)
        return one_of({{1.0: "old", 2.0: "new"}[value] for value in (*found.validation, *found.test)})


class Download(Scenario):
    """A file that is not there before; what has arrived is kept as a part."""

    body = bytes(range(256)) * 140

    def __init__(self):
        from tpauc.paper.data import archives

        archives._BLOCK = 1024
        self.remote = served(self.body)

    def act(self, folder):
        from tpauc.paper.data.archives import download

        download(self.remote, folder / "data", lambda arrived: None)

    def state(self, folder):
        path = folder / "data"
        if not path.exists():
            return "old"
        assert path.read_bytes() == self.body, "the file is not whole"
        return "new"


class Unpacked(Scenario):
    """An archive over a former folder."""

    def __init__(self, make, name):
        self.make, self.name = make, name
        os.sync = lambda: None  # of the whole machine, which others are using

    def prepare(self, folder):
        self.make(folder / f"old-{self.name}", "old")
        self.make(folder / f"new-{self.name}", "new")
        self.unpack(folder, "old")

    def act(self, folder):
        self.unpack(folder, "new")

    def unpack(self, folder, text):
        from tpauc.paper.data.archives import unpack

        unpack(folder / f"{text}-{self.name}", folder / "set")

    def state(self, folder):
        texts = [path.read_text() for path in (folder / "set").rglob("*") if path.is_file()]
        assert len(texts) == 3, f"{len(texts)} of 3 files"
        return one_of(set(texts))


class Report(Scenario):
    """The page and the pictures of a report, as `tpauc.report` writes them."""

    names = ("report-roc.png", "report-scores.png", "report.html")

    def prepare(self, folder):
        self.write(folder, b"old")

    def act(self, folder):
        self.write(folder, b"new")

    def write(self, folder, contents):
        from tpauc._files import write_together

        write_together({folder / name: contents for name in self.names}, what="the report")

    def recover(self, folder):
        from tpauc._files import finish_together

        finish_together(folder / self.names[-1])

    def state(self, folder):
        return one_of({(folder / name).read_text() for name in self.names})


MEMBERS = ("a.txt", "deep/b.txt", "deep/c.txt")


def make_zip(path, text):
    with zipfile.ZipFile(path, "w") as file:
        for name in MEMBERS:
            file.writestr(f"set/{name}", text)


def make_tar(path, text):
    with tarfile.open(path, "w:gz") as file:
        for name in MEMBERS:
            info = tarfile.TarInfo(f"set/{name}")
            info.size = len(text)
            file.addfile(info, io.BytesIO(text.encode()))


def one_of(states):
    """Return the only state in a set."""
    assert len(states) == 1, f"a mixture of {sorted(states)}"
    return states.pop()


def served(body):
    """Serve a body from a process of its own, which ends with this one, and return what to ask for."""
    from download_server import Server

    server = Server()
    server.body = body
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        server.serve_forever()
    return server.remote()


SCENARIOS = {  # what needs torch comes last: the larger a process is, the longer it takes to fork
    "in place": InPlace,
    "report": Report,
    "csv": lambda: Table("scores.csv"),
    "parquet": lambda: Table("scores.parquet"),
    "histogram": HistogramFile,
    "zip": lambda: Unpacked(make_zip, "set.zip"),
    "tar": lambda: Unpacked(make_tar, "set.tar.gz"),
    "download": Download,
    "run": lambda: SavedRun(exchange=True),
    "run by two renames": lambda: SavedRun(exchange=False),
    "results": Results,
    "scores": Scores,
    "checkpoint": Checkpoint,
}


# ------------------------------------------------------------------------------------------------------------- search


class Search:
    """All cases of a scenario, below a folder of its own."""

    def __init__(self, scenario, folder):
        self.scenario, self.folder = scenario, folder
        self.shim = ctypes.CDLL(None)
        self.problems = []
        self.cases = 0

    def run(self):
        """Try every case, and return what was found."""
        former = self.folder / "former"
        former.mkdir(parents=True)
        self.scenario.prepare(former)
        done = shutil.copytree(former, self.folder / "done")
        writes = self.calls(done)
        self.expected = set(names(done))
        for mode in MODES:
            for call in range(1, len(writes) + 1):
                if mode != TEAR or writes[call - 1]:
                    self.case(call, mode)
        self.case(-1, SHORT)
        return {"calls": len(writes), "cases": self.cases, "problems": self.problems}

    def calls(self, work):
        """Return for each call of an action that nothing disturbs whether it is a write."""
        self.shim.crash_arm(-1, NOTHING)
        self.scenario.act(work)
        return [bool(self.shim.crash_is_write(call)) for call in range(1, self.shim.crash_calls() + 1)]

    def case(self, call, mode):
        self.cases += 1
        work, where = self.fresh(), f"{MODES.get(mode, 'short writes')} call {call}"
        ended = in_child(lambda: self.disturbed(work, call, mode))
        if ended == -signal.SIGKILL and mode in (KILL, TEAR):
            ended = in_child(lambda: self.checked(work, must_be_new=False))
        if ended != FINISHED:
            self.problems.append(f"{where}: {(self.folder / 'problem').read_text()}")

    def disturbed(self, work, call, mode):
        """Act with a call that goes wrong, and look at the state unless that kills the process."""
        (self.folder / "problem").write_text("it ended in an unexpected way")
        self.shim.crash_arm(call, mode)
        try:
            self.scenario.act(work)
            finished = True
        except (OSError, ValueError):
            finished = False
        finally:
            self.shim.crash_calls()
        if mode == SHORT and not finished:
            return FAILED
        return self.checked(work, must_be_new=finished)

    def checked(self, work, *, must_be_new):
        """Read the state, act once more, and note what is wrong beside the folder."""
        problem = self.folder / "problem"
        try:
            self.scenario.recover(work)
            state = self.scenario.state(work)
            assert state == "new" or (state == "old" and not must_be_new), f"the state is {state}"
            self.scenario.act(work)
            assert self.scenario.state(work) == "new", "the next attempt has not made the new state"
            left = [name for name in set(names(work)) - self.expected if not name.endswith(self.scenario.allowed)]
            assert not left, f"{left} is left behind"
        except Exception as error:
            problem.write_text(f"{type(error).__name__}: {error}")
            return FAILED
        return FINISHED

    def fresh(self):
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        return shutil.copytree(self.folder / "former", work)


def names(folder):
    return [str(path.relative_to(folder)) for path in folder.rglob("*")]


def in_child(act):
    """Return how ``act`` ends in a forked process."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(act())
        except BaseException:
            traceback.print_exc()
            os._exit(SURPRISED)
    status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)


def main(folder, *chosen):
    found = {name: Search(SCENARIOS[name](), Path(folder) / name).run() for name in chosen or SCENARIOS}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
