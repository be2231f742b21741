"""Linear models and boosted trees neither need nor import torch; whatever needs it names the extra that brings it."""

import subprocess
import sys

import pytest

BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "torchmetrics", "lightning_fabric"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""
TABLE = """
import numpy as np
from tpauc import TPAUCBooster, TPAUCClassifier, advise, tpauc_scorer
random = np.random.default_rng(0)
y = np.arange(300) % 4 == 0
X = random.normal(size=(300, 3)) + y[:, None]
"""


def run_without_torch(code):
    """Run code in a new process in which importing torch fails and warnings are errors."""
    command = [sys.executable, "-W", "error", "-c", BLOCK + TABLE + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "code",
    [
        "fitted = TPAUCClassifier('linear', random_state=0, calibrate=True).fit(X, y)",
        "fitted = TPAUCClassifier('linear', validation=0.3, random_state=0).fit(X, y)",
        "fitted = TPAUCClassifier('linear', method='cross_entropy', random_state=0).fit(X, y)",
        "fitted = TPAUCBooster(max_rounds=20, n_jobs=1, random_state=0).fit(X, y)",
    ],
)
def test_fit_predict_and_score_without_torch(code):
    finished = run_without_torch(
        f"{code}\nassert fitted.score(X, y) > 0.1, fitted.score(X, y)\nfitted.predict(X), fitted.predict_proba(X)\n"
        "assert 0 <= tpauc_scorer(0.3, 0.3)(fitted, X, y) <= 1\nprint(fitted.chosen_)"
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout


def test_advice_on_linear_models_without_torch():
    finished = run_without_torch("print(advise(X, y, alpha=0.5, beta=0.5, n_folds=2, n_repeats=1).verdict)")
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("parameters", ["model='mlp'", "method='polynomial'", "model='mlp', validation=None"])
def test_what_needs_torch_names_its_extra(parameters):
    finished = run_without_torch(f"TPAUCClassifier({parameters}).fit(X, y)")
    assert finished.returncode == 1
    assert "torch is needed here and is not installed; run: pip install 'tpauc[torch]'" in finished.stderr
