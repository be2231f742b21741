"""What several files of tests need."""

import pytest

from image_files import write_cifar10


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """Return a folder with a small CIFAR-10: about 28 positives of 200 to train on."""
    path = tmp_path_factory.mktemp("data")
    write_cifar10(path, 120)
    return path


@pytest.fixture
def few_trees(monkeypatch):
    """Forests of ten trees in stacks, for tests that fit often."""
    from sklearn.ensemble import ExtraTreesClassifier

    from tpauc.classifiers.auto import members

    monkeypatch.setattr(members, "ExtraTreesClassifier", lambda _, **options: ExtraTreesClassifier(10, **options))
