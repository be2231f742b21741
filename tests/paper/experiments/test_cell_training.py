"""One training of a cell: its network and its settings."""

import numpy as np
import torch

from paper_runs import request, small_network
from tpauc.paper.experiments.backbones import IMAGENET_PIXELS, Mirrored, Normalise, resnet20
from tpauc.paper.experiments.cell_training import Trained, best_epoch, config_of, new_network
from tpauc.paper.experiments.results import Labels, ScoreFolder
from tpauc.region import Region


def test_weights_at_the_start_follow_from_the_seed_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    cell = request(seeds=(3,)).cells()[0]
    first = new_network(cell, small_network)
    assert torch.equal(torch.rand(1), expected)
    second = new_network(cell, small_network)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_the_recipe_of_the_authors_has_its_own_network():
    cell = request(recipe="authors").cells()[0]
    network = new_network(cell, resnet20)
    expected = Normalise(IMAGENET_PIXELS)
    assert torch.equal(network.normalise.shift, expected.shift)
    assert network.head.weight.abs().max() > 0.25  # torch's bound is 1/8, that of kaiming_uniform_ sqrt(6/64)


def test_the_settings_of_a_method_replace_those_of_its_recipe():
    cells = [request(methods=(name,), recipe="authors").cells()[0] for name in ("TPAUC-Poly", "TPAUC-Poly-authors")]
    assert [config_of(cell, None, progress=False).lr for cell in cells] == [1e-3, 5e-4]


def test_only_the_strong_recipe_scores_mirror_images_too():
    networks = [new_network(request(recipe=recipe).cells()[0], small_network) for recipe in ("paper", "strong")]
    assert [isinstance(network, Mirrored) for network in networks] == [False, True]


# ------------------------------------------------------------------------------------------------------ the best epoch

POSITIVE = np.array([True, True, True, True, False, False, False, False])


def trained(folder, *validation_scores, losses=None):
    """Return a training of which each epoch has the given validation scores, and a loss."""
    scores, losses = ScoreFolder(folder), losses or [0.5] * len(validation_scores)
    for epoch, values in enumerate(validation_scores, 1):
        scores.write(epoch, np.array(values, dtype=np.float64), np.zeros(2))
    history = [{"epoch": epoch, "loss": loss, "seconds": 1.0} for epoch, loss in enumerate(losses, 1)]
    return Trained(scores, Labels(POSITIVE, np.array([True, False])), history)


def test_epochs_outside_the_region_are_told_apart_by_the_wider_areas(tmp_path):
    # The lowest positive is below the two highest negatives in each epoch; AUC is 8/16, 12/16, 10/16.
    epochs = [5, 6, 0, 4, 3, 2, 7, 8], [9, 10, 0, 11, 1, 2, 7, 8], [5, 6, 0, 9, 3, 2, 7, 8]
    assert best_epoch(trained(tmp_path / "a", *epochs), 3, Region(0.25, 0.5)) == (2, 0.0)
    assert best_epoch(trained(tmp_path / "b", *epochs), 1, Region(0.25, 0.5)) == (1, 0.0)


def test_equal_epochs_are_told_apart_by_their_loss_then_the_last_is_taken(tmp_path):
    epochs = [[5, 6, 7, 8, 1, 2, 3, 4]] * 3
    assert best_epoch(trained(tmp_path / "a", *epochs, losses=[0.3, 0.1, 0.2]), 3, Region(0.5, 0.5)) == (2, 1.0)
    assert best_epoch(trained(tmp_path / "b", *epochs, losses=[0.3, 0.2, 0.2]), 3, Region(0.5, 0.5)) == (3, 1.0)
