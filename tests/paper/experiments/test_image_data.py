"""The images of a request: results on other images are refused."""

import numpy as np
import pytest
import torch

from paper_runs import request, result
from tpauc.paper.experiments.image_data import check_measured_on, check_scored_on
from tpauc.paper.experiments.results import Labels, ResultsFile, ScoreFolder


def images(positive, negative):
    n = positive + negative
    return torch.zeros(n, 1), torch.arange(n) < positive


def test_results_on_other_test_data_are_refused(tmp_path):
    file = ResultsFile(tmp_path / "results.csv")
    file.add(
        [result(test_positives=324, test_negatives=1916), result(subset=2, test_positives=540, test_negatives=1700)]
    )
    check_measured_on(file, request().images, images(324, 1916), tmp_path)
    check_measured_on(file, request(split=1).images, images(5, 50), tmp_path)  # no results for it yet
    for sizes in ((324, 1915), (325, 1916)):
        with pytest.raises(
            ValueError, match="holds results of cifar10-lt, subset 1, split 0 on 324 positives and 1,916"
        ):
            check_measured_on(file, request(methods=("CE-RW",)).images, images(*sizes), tmp_path)


def test_scores_of_other_images_are_refused(tmp_path):
    scores = ScoreFolder(tmp_path / "scores")
    labels = Labels(np.array([True, False]), np.array([False, True, False]))
    check_scored_on(scores, **labels._asdict())  # nothing is scored yet
    scores.keep_labels(labels)
    check_scored_on(scores, **labels._asdict())
    check_scored_on(scores, test=labels.test)
    for part in Labels._fields:
        other = labels._replace(**{part: getattr(labels, part) ^ True})
        with pytest.raises(ValueError, match=f"are not of the {part} images that are given; give the --data-dir"):
            check_scored_on(scores, **other._asdict())
