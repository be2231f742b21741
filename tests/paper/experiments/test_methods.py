"""The methods: the right losses and parameters, and each can be trained."""

import math
from dataclasses import asdict, replace

import pytest
import torch

from paper_runs import small_network
from tpauc.losses.baselines import FocalLoss, ReweightedCrossEntropy
from tpauc.losses.cvar import CVaRTPAUCLoss
from tpauc.losses.instancewise import InstanceWiseTPAUCLoss
from tpauc.losses.kl import KLTPAUCLoss
from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.rank_weighting import AnchoredSide
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss, WarmUp
from tpauc.losses.weighting import Exponential, Polynomial, Uniform
from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.experiments.methods import METHODS, PAPER_METHODS, ClassSizes, Place, full_warmup
from tpauc.paper.experiments.published import BEST, REGIONS
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.region import Region
from tpauc.samplers import StratifiedBatchSampler
from tpauc.training import TrainConfig, fit

SIZES = ClassSizes(positive=20, negative=200)
PLACE = Place("cifar10-lt", 1, Region(0.3, 0.4), epochs=30)


def loss_of(name, place=PLACE, **changed):
    return METHODS[name].make_loss({**METHODS[name].parameters(place), **changed}, SIZES)


# ----------------------------------------------------------------------------------------------------- what they are


def test_the_methods_of_the_tables_come_first():
    competitors = ["CE-RW", "Focal", "CB-CE", "CB-Focal", "SqAUC", "TruncOPAUC", "OP-Poly", "OP-Exp", "TruncTPAUC"]
    assert list(PAPER_METHODS) == [*competitors, "TPAUC-Poly", "TPAUC-Exp", "Minmax-Poly", "Minmax-Exp"]


def test_the_methods_of_the_appendix_and_ours_are_there():
    assert set(METHODS) - set(PAPER_METHODS) == {
        *("TruncOPAUC-no-warm-up", "TruncTPAUC-no-warm-up"),
        *("CE-TruncOPAUC", "CE-TruncOPAUC-no-warm-up", "CE-TruncTPAUC", "CE-TruncTPAUC-no-warm-up"),
        *("Minmax-OP-Poly", "Minmax-OP-Exp", "TPAUC-Poly-two-sided", "TPAUC-Exp-two-sided"),
        *("TPAUC-Poly-authors", "TPAUC-Poly-normalised", "LogisticAUC", "anchored"),
        *("CVaR", "KL", "instance-wise"),
    }


@pytest.mark.parametrize(
    ("name", "kind", "positive", "negative"),
    [
        ("SqAUC", SquareAUCLoss, Uniform(), Uniform()),
        ("OP-Poly", TPAUCLoss, Uniform(), Polynomial.from_exponent(0.01)),
        ("OP-Exp", TPAUCLoss, Uniform(), Exponential(10.0)),
        ("TPAUC-Poly", TPAUCLoss, Polynomial.from_exponent(0.01), Polynomial.from_exponent(0.01)),
        ("TPAUC-Exp", TPAUCLoss, Exponential(10.0), Exponential(10.0)),
        ("Minmax-Poly", MinimaxTPAUCLoss, Polynomial.from_exponent(0.01), Polynomial.from_exponent(0.01)),
        ("Minmax-OP-Exp", MinimaxTPAUCLoss, Uniform(), Exponential(10.0)),
    ],
)
def test_weightings(name, kind, positive, negative):
    loss = loss_of(name)
    assert type(loss) is kind
    assert (loss.objective.positive, loss.objective.negative) == (positive, negative)


def test_two_sided_methods_take_two_values():
    loss = loss_of("TPAUC-Poly-two-sided", positive_exponent=0.5, negative_exponent=0.25)
    assert (loss.objective.positive.gamma, loss.objective.negative.gamma) == (3.0, 5.0)


def test_ours_is_plain_first_and_then_anchored_to_the_region():
    loss = loss_of("anchored")
    assert isinstance(loss, WarmUp)
    assert loss.epochs == 15
    assert loss.first.objective == loss_of("LogisticAUC").objective
    assert (loss.then.objective.positive, loss.then.objective.negative) == (
        AnchoredSide(0.3, 0.3),
        AnchoredSide(0.4, 0.3),
    )
    assert loss.then.objective.scores == "logit"
    assert loss_of("anchored", tau=0.1).then.objective.negative == AnchoredSide(0.4, 0.1)


@pytest.mark.parametrize(
    ("name", "kind", "parameters", "settings"),
    [
        ("CVaR", CVaRTPAUCLoss, {"alpha": 0.3, "beta": 0.4}, {}),
        ("KL", KLTPAUCLoss, {"tau": 1.0, "lam": 1.0}, {}),
        ("instance-wise", InstanceWiseTPAUCLoss, {"alpha": 0.3, "beta": 0.4}, {"optimizer": "minimax", "dual_lr": 0.1}),
    ],
)
def test_methods_of_other_papers_come_after_plain_pairs(name, kind, parameters, settings):
    assert METHODS[name].parameters(PLACE) == {"plain_epochs": 15, **parameters}
    assert METHODS[name].settings == settings
    loss = loss_of(name)
    assert loss.epochs == 15
    assert loss.first.objective == loss_of("LogisticAUC").objective
    assert type(loss.then) is kind
    found = {"tau": loss.then.tau, "lam": loss.then.lam} if name == "KL" else asdict(loss.then.region)
    assert parameters.items() <= found.items()
    assert loss_of(name, plain_epochs=3).epochs == 3


@pytest.mark.parametrize(("epochs", "warmup"), [(50, 8), (9, 8), (8, 4)])
def test_the_authors_file_has_its_own_parameters_and_learning_rate(epochs, warmup):
    method = METHODS["TPAUC-Poly-authors"]
    for region in REGIONS:
        assert method.parameters(Place("cifar10-lt", 1, region, epochs)) == {"exponent": 0.01, "warmup_epochs": warmup}
    assert loss_of("TPAUC-Poly-authors").objective == loss_of("TPAUC-Poly", exponent=0.01).objective
    assert method.settings == {"lr": 5e-4}


def test_the_normalised_method_has_linear_weights_and_no_warm_up():
    assert METHODS["TPAUC-Poly-normalised"].parameters(PLACE) == {"exponent": 1.0, "warmup_epochs": 0}
    loss = loss_of("TPAUC-Poly-normalised")
    assert loss.objective == TPAUCLoss(Polynomial(2.0), normalize=True).objective
    assert loss_of("TPAUC-Poly-normalised", exponent=0.5).objective.positive == Polynomial(3.0)


def test_the_class_sizes_reach_the_loss():
    assert loss_of("CE-RW").counts == (20, 200)
    assert isinstance(loss_of("CE-RW"), ReweightedCrossEntropy)
    assert loss_of("CB-Focal").counts == (20, 200)


def test_cross_entropy_of_the_truncated_methods_is_plain():
    logits, labels = torch.tensor([0.3, -1.0, 2.0]), torch.tensor([1.0, 0.0, 0.0])
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
    loss = loss_of("CE-TruncTPAUC")
    assert isinstance(loss, FocalLoss)
    torch.testing.assert_close(loss(logits, labels), expected)


@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith(("Trunc", "CE-Trunc"))])
def test_truncated_methods_choose_hard_examples(name):
    method = METHODS[name]
    assert method.settings == {"hard_examples": "both" if "TPAUC" in name else "negatives"}
    warm = {} if name.endswith("no-warm-up") else {"warmup_epochs": 10}
    share = {"alpha": 0.3, "beta": 0.4} if "TPAUC" in name else {"beta": 0.4}
    assert method.parameters(PLACE) == {**share, **warm}


@pytest.mark.parametrize(
    ("name", "epochs", "warmup"),
    [
        *(("TPAUC-Exp", 100, 35), ("TPAUC-Exp", 50, 35), ("TPAUC-Exp", 36, 35)),
        *(("TPAUC-Exp", 35, 17), ("TPAUC-Exp", 30, 15), ("TPAUC-Exp-two-sided", 30, 15)),
        *(("TruncTPAUC", 11, 10), ("TruncTPAUC", 10, 5), ("TruncTPAUC", 1, 0)),
    ],
)
def test_a_warm_up_is_cut_to_half_only_where_it_would_be_the_whole_training(name, epochs, warmup):
    place = PLACE._replace(epochs=epochs)
    assert METHODS[name].parameters(place)["warmup_epochs"] == warmup
    assert full_warmup(name, place) == (10 if name == "TruncTPAUC" else 35)


def test_a_method_without_a_warm_up_has_no_full_one():
    assert [full_warmup(name, PLACE) for name in ("SqAUC", "anchored", "TruncTPAUC-no-warm-up")] == [None] * 3
    assert full_warmup("TPAUC-Poly", PLACE) == 0


@pytest.mark.parametrize("dataset", list(DATASETS))
@pytest.mark.parametrize(("weighting", "name"), [("Poly", "exponent"), ("Exp", "gamma")])
def test_in_50_epochs_all_parameters_are_the_printed_ones(dataset, weighting, name):
    for subset, rows in BEST[dataset][weighting].items():
        for region, best in zip(REGIONS, rows, strict=True):
            parameters = METHODS[f"TPAUC-{weighting}"].parameters(Place(dataset, subset, region, epochs=50))
            assert parameters == {name: best.value, "warmup_epochs": best.warmup_epochs}


# ------------------------------------------------------------------------------------------------------ they train


@pytest.fixture(scope="module")
def images():
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(220) < 20
    pixels = torch.randint(0, 200, (220, 3, 32, 32), generator=generator) + 50 * labels[:, None, None, None]
    return pixels.to(torch.uint8), labels


@pytest.mark.parametrize("recipe", list(RECIPES))
@pytest.mark.parametrize("name", list(METHODS))
def test_each_method_trains(images, name, recipe):
    """Two steps an epoch, and as many epochs as it takes to get past a warm-up."""
    place = PLACE._replace(epochs=4)
    parameters = {**METHODS[name].parameters(place)}
    for warm in ("warmup_epochs", "plain_epochs"):
        parameters[warm] = min(parameters.get(warm, 0), 1)
    config = TrainConfig(
        alpha=0.3,
        beta=0.4,
        epochs=2,
        warmup_epochs=parameters["warmup_epochs"],
        progress=False,
        **{**RECIPES[recipe].settings, **METHODS[name].settings},
    )
    torch.manual_seed(0)
    model = small_network()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    loss = METHODS[name].make_loss(parameters, SIZES)
    result = fit(model, images, images, loss, config, transform=RECIPES[recipe].augment)
    assert len(result.history) == 2
    assert all(math.isfinite(value) for row in result.history for value in row.values())
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_recipes():
    paper, authors, strong = (TrainConfig(alpha=0.3, beta=0.3, **recipe.settings) for recipe in RECIPES.values())
    protocol = (paper.lr, paper.weight_decay, paper.momentum, paper.nesterov, paper.schedule, paper.decay)
    assert protocol == (1e-3, 1e-5, 0.9, True, "exponential", 0.99)
    assert (paper.batch_size, paper.ratio, paper.eval_batch_size, paper.optimizer) == (128, (1.0, 10.0), 256, "sgd")
    assert (strong.lr, strong.weight_decay, strong.schedule, strong.nesterov) == (0.1, 5e-4, "cosine", True)
    assert strong.ratio == (1.0, 3.0)
    assert replace(authors, batch_size=paper.batch_size, ratio=paper.ratio) == paper
    assert [recipe.augment.degrees for recipe in RECIPES.values()] == [15, 15, 0]
    assert [recipe.augment.shift for recipe in RECIPES.values()] == [4, 0, 4]
    assert all(recipe.augment.flip for recipe in RECIPES.values())
    assert [recipe.depends_on_epochs for recipe in RECIPES.values()] == [False, False, True]


def test_a_batch_of_the_authors_has_12_positives_and_117_negatives():
    """On CIFAR-10-LT, subset 1, an epoch passes once over the positives, and reuses negatives."""
    n_positive, n_negative = 1509, 8912
    settings = RECIPES["authors"].settings
    labels = torch.arange(n_positive + n_negative) < n_positive
    sampler = StratifiedBatchSampler(labels, settings["batch_size"], ratio=settings["ratio"])
    assert (sampler.positives_per_batch, sampler.negatives_per_batch) == (12, 117)
    assert len(sampler) == math.ceil(n_positive / 12)
