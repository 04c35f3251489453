"""Trees from proposers: functions, objects, thresholds, randomness, and what goes wrong."""

import numpy as np
import pytest

from estimators.registry import assert_sound, blobs
from obliqua import CartClassifier, Directions, ObliqueTreeClassifier
from obliqua.methods.means import class_means

X, Y = blobs(300, 4, 3)
RNG = np.random.default_rng(0)
# two classes on the two sides of the diagonal: one oblique split, many axis-parallel ones
SQUARE = RNG.random((400, 2))
SIDE = SQUARE.sum(axis=1) > 1.0


def oblique(*proposer, **params):
    """The tree as it is grown; pruning has tests of its own."""
    return ObliqueTreeClassifier(*proposer, pruning=None, **params)


def cart():
    return CartClassifier(pruning=None)


def diagonal(node):
    return np.ones(node.n_features)


def random_directions(node):
    return node.rng.normal(size=(5, node.n_features))


class Diagonal:
    """The same as an object."""

    def __init__(self, n_copies=1):
        self.n_copies = n_copies

    def propose(self, node):
        return np.ones((self.n_copies, node.n_features))


@pytest.mark.parametrize("proposer", [diagonal, Diagonal(), Diagonal(3)])
def test_one_oblique_split_does_what_many_axis_parallel_ones_do(proposer):
    model = oblique(proposer).fit(SQUARE, SIDE)
    assert model.get_n_leaves() == 2
    assert model.score(SQUARE, SIDE) == 1.0
    assert model.tree_.feature[0] == -3
    np.testing.assert_array_equal(model.tree_.coefficients(0), [1.0, 1.0])
    assert cart().fit(SQUARE, SIDE).get_n_leaves() > 10


def test_the_default_proposer_is_oblique():
    model = oblique().fit(SQUARE, SIDE)
    assert_sound(model, SQUARE, SIDE)
    assert model.score(SQUARE, SIDE) == 1.0
    assert model.get_n_leaves() < cart().fit(SQUARE, SIDE).get_n_leaves()


def test_labels_tell_where_a_split_comes_from():
    def named(node):
        return Directions([[1.0, -1.0], [1.0, 1.0]], labels=["across", "along"])

    tree = oblique(named).fit(SQUARE, SIDE).tree_
    assert tree.origin_labels[tree.origin[0]] == "along"


@pytest.mark.parametrize("nothing", [None, np.empty((0, 2)), np.zeros((3, 2)), [[np.nan, 1.0]]])
def test_unusable_directions_leave_the_axis_parallel_splits(nothing):
    model = oblique(lambda node: nothing, zero_gain_splits=True)
    model.fit(SQUARE, SIDE)
    plain = cart().fit(SQUARE, SIDE)
    np.testing.assert_array_equal(model.predict_proba(SQUARE), plain.predict_proba(SQUARE))
    assert model.get_n_leaves() == plain.get_n_leaves()


def test_without_axis_parallel_splits_only_the_proposals_count():
    model = oblique(lambda node: None, axis_parallel=False).fit(SQUARE, SIDE)
    assert model.get_n_leaves() == 1
    model = oblique(random_directions, axis_parallel=False, random_state=0)
    tree = model.fit(X, Y).tree_
    assert (tree.feature[~tree.is_leaf] == -3).all()
    assert_sound(model, X, Y)


# --- randomness -----------------------------------------------------------------------------


def fit_random(seed, **params):
    return oblique(random_directions, random_state=seed, **params).fit(X, Y)


def test_the_same_seed_gives_the_same_tree():
    tree = fit_random(3).tree_
    assert fit_random(3).tree_ == tree
    assert fit_random(3, n_jobs=2).tree_ == tree
    assert fit_random(np.random.RandomState(3)).tree_ == tree
    assert fit_random(3, max_leaf_nodes=10_000).tree_ == tree
    assert fit_random(4).tree_ != tree


def test_no_seed_draws_anew():
    assert fit_random(None).tree_ != fit_random(None).tree_


def test_a_random_state_moves_on():
    state = np.random.RandomState(0)
    assert fit_random(state).tree_ != fit_random(state).tree_


# --- what goes wrong ------------------------------------------------------------------------


def test_an_error_in_the_proposer_names_the_node():
    def broken(node):
        if node.depth == 2:
            raise ZeroDivisionError("no luck")

    model = oblique(broken)
    with pytest.raises(ZeroDivisionError, match="no luck") as caught:
        model.fit(X, Y)
    note = "\n".join(caught.value.__notes__)
    assert "depth 2" in note
    assert "rows" in note
    assert not hasattr(model, "tree_")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_an_interrupted_fit_leaves_the_earlier_one(error):
    interrupted = False

    def patient(node):
        if interrupted and node.depth == 1:
            raise error

    model = oblique(patient).fit(X, Y)
    before = dict(vars(model))
    interrupted = True
    with pytest.raises(error):
        model.fit(X[:, :2], Y > 0)
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
    interrupted = False
    assert model.fit(X, Y).tree_ == before["tree_"]


@pytest.mark.parametrize("proposer", ["fisher", 3, object()])
def test_what_is_no_proposer_is_refused(proposer):
    text = "The 'proposer' parameter of ObliqueTreeClassifier must be"
    with pytest.raises(ValueError, match=text):
        oblique(proposer).fit(X, Y)


def test_axis_parallel_is_a_bool():
    with pytest.raises(ValueError, match="The 'axis_parallel' parameter"):
        oblique(axis_parallel="yes").fit(X, Y)


# --- habits ---------------------------------------------------------------------------------


# --- the default proposer -------------------------------------------------------------------


class Node:
    """As much of a node as a proposer looks at."""

    def __init__(self, X, y, weights=None):
        self.X = np.asarray(X, dtype=float)
        self.y = np.asarray(y)
        self.sample_weight = np.ones(len(self.y)) if weights is None else np.asarray(weights)
        self.n_samples, self.n_features = self.X.shape


def unit(normals):
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def test_two_classes_give_the_difference_of_the_means():
    rows = [[0.0, 0.0], [2.0, 2.0], [4.0, 1.0], [6.0, 3.0]]
    normals = class_means(Node(rows, [0, 0, 1, 1]))
    # means (1, 1) and (5, 2), variance 1 within the classes, in both features
    np.testing.assert_allclose(unit(normals), -unit(np.array([[4.0, 1.0]])))


def test_a_noisy_feature_counts_less():
    rows = [[0.0, 0.0], [2.0, 20.0], [4.0, 30.0], [6.0, 50.0]]
    ratio = class_means(Node(rows, [0, 0, 1, 1]))[0]
    # differences 4 and 30, variances 1 and 100
    assert ratio[0] / ratio[1] == pytest.approx((4 / 1) / (30 / 100))


def test_three_classes_give_three_directions_and_weights_count():
    assert class_means(Node(X, Y)).shape == (3, 4)
    weights = np.arange(len(Y)) % 3 + 1
    np.testing.assert_allclose(
        class_means(Node(X, Y, weights)),
        class_means(Node(np.repeat(X, weights, axis=0), np.repeat(Y, weights))),
    )


def test_among_many_classes_only_the_heaviest_count():
    rows, labels = RNG.normal(size=(200, 4)), np.arange(200) % 50
    weights = np.where(labels < 18, 1.0, 2.0)
    normals = class_means(Node(rows, labels, weights))
    assert normals.shape == (32, 4)
    heavy = rows[labels == 18].mean(axis=0) - np.average(
        rows[labels != 18], axis=0, weights=weights[labels != 18]
    )
    assert (np.sign(normals[0]) == np.sign(heavy)).all()


def test_units_do_not_matter():
    scale = np.array([1e-3, 1.0, 1e5, 1e200])
    np.testing.assert_allclose(class_means(Node(X * scale, Y)) * scale, class_means(Node(X, Y)))


@pytest.mark.parametrize("factor", [1e308, 1e-320, 0.0])
def test_extreme_and_constant_features_spoil_nothing(factor):
    rows = X.copy()
    rows[:, 1] *= factor / np.abs(rows[:, 1]).max()
    normals = class_means(Node(rows, Y))
    assert np.isfinite(normals).all()
    np.testing.assert_allclose(normals[:, [0, 2, 3]], class_means(Node(X, Y))[:, [0, 2, 3]])
