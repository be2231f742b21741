"""One training of a cell: its network and its settings."""

import torch

from paper_runs import request, small_network
from tpauc.paper.experiments.backbones import IMAGENET_PIXELS, Mirrored, Normalise, resnet20
from tpauc.paper.experiments.cell_training import config_of, new_network


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
