"""Each kind of member: what it computes, how folds are merged, and that it survives being saved."""

import numpy as np
import pytest
import skops.io
from scipy.special import expit
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.neural_network import MLPClassifier

from tpauc.classifiers.auto import members
from tpauc.classifiers.auto.member_scorers import (
    BoosterMember,
    ForestMember,
    LinearMember,
    NeighbourMember,
    NetworkMember,
    NormalScores,
)
from tpauc.classifiers.base import TrainingData

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))
POSITIVE = X[:, 0] * X[:, 1] + 0.3 * RANDOM.normal(size=300) > 0.7
DATA = TrainingData(X, POSITIVE)
RECIPES = {recipe.name: recipe for recipe in members.PRESETS["auto"] if recipe.train is not None}


@pytest.mark.parametrize("name", RECIPES)
def test_a_member_learns_and_is_the_same_after_loading(name):
    scorer = RECIPES[name].train(DATA, 0)
    scores = scorer(X)
    assert scores.shape == (300,)
    assert np.isfinite(scores).all()
    assert scores[POSITIVE].mean() > scores[~POSITIVE].mean() + 0.5 * scores.std()
    contents = skops.io.dumps(scorer)
    loaded = skops.io.loads(contents, trusted=skops.io.get_untrusted_types(data=contents))
    np.testing.assert_array_equal(loaded(X), scores)


@pytest.mark.parametrize("name", RECIPES)
def test_a_score_does_not_depend_on_the_other_rows(name):
    scorer = RECIPES[name].train(DATA, 0)
    scores = scorer(X)
    for rows in (slice(1), slice(3, 8), slice(7, 300), slice(0, 300, 2)):
        np.testing.assert_array_equal(scorer(X[rows]), scores[rows])


@pytest.mark.parametrize("name", RECIPES)
def test_one_seed_is_one_result_and_weights_are_taken(name):
    train = RECIPES[name].train
    np.testing.assert_array_equal(train(DATA, 1)(X), train(DATA, 1)(X))
    weighted = train(DATA._replace(weight=np.where(POSITIVE, 5.0, 1.0)), 1)(X)
    assert np.isfinite(weighted).all()


def test_a_file_of_a_stack_holds_no_type_beyond_the_trusted_ones():
    from tpauc.cli.model_file import _TRUSTED

    for recipe in RECIPES.values():
        assert set(skops.io.get_untrusted_types(data=skops.io.dumps(recipe.train(DATA, 0)))) <= _TRUSTED


def test_forests_are_those_of_scikit_learn():
    forest = ExtraTreesClassifier(20, random_state=0).fit(X.astype(np.float32), POSITIVE)
    share = forest.predict_proba(X)[:, 1]
    np.testing.assert_allclose(expit(ForestMember.of(forest)(X)), (20 * share + 0.5) / 21, rtol=1e-12)


def test_a_merged_forest_has_the_trees_of_all_folds():
    forests = [ExtraTreesClassifier(6, random_state=seed).fit(X.astype(np.float32), POSITIVE) for seed in range(3)]
    merged = ForestMember.merged([ForestMember.of(forest) for forest in forests])
    trees = [tree for forest in forests for tree in forest.estimators_[:2]]
    share = np.mean([tree.predict_proba(X.astype(np.float32))[:, 1] for tree in trees], axis=0)
    np.testing.assert_allclose(expit(merged(X)), (6 * share + 0.5) / 7, rtol=1e-12)


@pytest.mark.parametrize(("field", "value"), [("left_child", 10**9), ("right_child", 0), ("feature", 4)])
def test_a_damaged_tree_is_not_read(field, value):
    member = ForestMember.of(ExtraTreesClassifier(2, random_state=0).fit(X, POSITIVE))
    member.nodes[field][0] = value
    with pytest.raises(ValueError, match="a tree of the forest is damaged"):
        member(X)


def test_neighbours_are_counted_by_distance():
    member = NeighbourMember(np.array([[0.0], [2.0]], np.float32), np.array([[10.0]], np.float32), 5)
    expected = np.log(9.0 + 1e-3) - np.log(1.0 + 1e-3)
    np.testing.assert_allclose(member(np.array([[1.0]])), [expected], rtol=1e-6)


def test_the_kernel_spans_what_nystroem_spans():
    member = members.train_kernel(DATA, 0)
    features = Nystroem(gamma=member.gamma, n_components=300, random_state=0).fit_transform(X)
    residual = features @ np.linalg.lstsq(features, member(X) - member.intercept, rcond=None)[0]
    np.testing.assert_allclose(residual, member(X) - member.intercept, atol=0.02)


def test_networks_are_those_of_scikit_learn():
    network = MLPClassifier((5, 5), max_iter=3, random_state=0)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        network.fit(X.astype(np.float32), POSITIVE)
    member = NetworkMember([list(zip(network.coefs_, network.intercepts_, strict=True))])
    np.testing.assert_allclose(expit(member(X)), network.predict_proba(X.astype(np.float32))[:, 1], rtol=1e-4)


def test_normal_scores_are_ranks_whatever_the_tail():
    values = RANDOM.normal(size=(500, 1))
    np.testing.assert_allclose(
        NormalScores.of(values)(values), NormalScores.of(np.exp(values))(np.exp(values)), atol=0.1
    )
    found = NormalScores.of(values)(values)
    assert found.mean() == pytest.approx(0.0, abs=0.02)
    assert found.std() == pytest.approx(1.0, abs=0.05)


def test_equal_values_share_the_mean_of_their_ranks():
    binary = (np.arange(100)[:, None] < 50).astype(float)
    low, high = NormalScores.of(binary)(np.array([[0.0], [1.0]]))[:, 0]
    assert low == pytest.approx(-high, abs=0.05)
    assert high == pytest.approx(0.79, abs=0.05)  # the mean of the upper half of a normal distribution
    constant = NormalScores.of(np.zeros((9, 1)))(np.array([[0.0], [5.0]]))
    assert constant[0] == constant[1] == pytest.approx(0.0, abs=1e-12)


def test_means_of_folds():
    linear = LinearMember.merged([LinearMember(np.array([1.0, 0.0]), 1.0), LinearMember(np.array([0.0, 1.0]), 3.0)])
    np.testing.assert_allclose(linear(np.array([[2.0, 4.0]])), [5.0])
    parts = [members.train_booster(DATA, seed, rounds=5) for seed in (0, 1)]
    mean = np.mean([part(X) for part in parts], axis=0)
    np.testing.assert_allclose(BoosterMember.merged(parts)(X), mean, rtol=1e-12)
    networks = [members.train_network(DATA, seed) for seed in (0, 1)]
    mean = np.mean([part(X) for part in networks], axis=0)
    np.testing.assert_allclose(NetworkMember.merged(networks)(X), mean, rtol=1e-5)
