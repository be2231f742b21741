import pytest
from sklearn.ensemble import ExtraTreesClassifier

from tpauc.classifiers.auto import members


@pytest.fixture
def few_trees(monkeypatch):
    """Forests of ten trees, for tests that fit often."""
    monkeypatch.setattr(members, "ExtraTreesClassifier", lambda _, **options: ExtraTreesClassifier(10, **options))
