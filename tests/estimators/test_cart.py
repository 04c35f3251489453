"""CART: its parameters do what they say, and its trees are the ones that the data demand."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from estimators.registry import assert_sound, blobs, full_grown
from obliqua import CartClassifier
from obliqua.tree.layout import NodeKind

X, Y = blobs(400, 5, 3)
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR_LABELS = [0, 1, 1, 0]


def cart(**params):
    """CART as it is grown; pruning has tests of its own."""
    return full_grown(CartClassifier, **params)


def leaf_rows(model):
    return model.tree_.n_samples[model.tree_.is_leaf]


def test_the_simplest_tree():
    model = cart().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    tree = model.tree_
    assert tree.n_nodes == 3
    assert tree.node_threshold[0] == 1.5
    assert tree.stats.tolist() == [[2, 2], [2, 0], [0, 2]]
    assert model.predict([[1.5], [np.nextafter(1.5, 2)]]).tolist() == ["a", "b"]
    assert model.apply([[0.0], [3.0]]).tolist() == [1, 2]
    assert model.decision_path([[0.0], [3.0]]).toarray().tolist() == [[1, 1, 0], [1, 0, 1]]
    assert (model.get_depth(), model.get_n_leaves()) == (1, 2)


def test_splits_use_one_feature():
    tree = cart().fit(X, Y).tree_
    inner = tree.kind == NodeKind.HYPERPLANE
    assert (np.diff(tree.coef_ptr) == 1).all()
    assert (tree.coef == 1.0).all()
    assert (tree.feature[inner] >= 0).all()
    assert (tree.feature[~inner] == -2).all()


def test_the_root_is_scikit_learns():
    ours = cart(criterion="gini", max_depth=1).fit(X, Y)
    theirs = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, Y)
    assert ours.tree_.feature[0] == theirs.tree_.feature[0]
    assert ours.tree_.node_threshold[0] == pytest.approx(theirs.tree_.threshold[0], rel=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


# --- the limits of growth -------------------------------------------------------------------


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_max_depth(max_depth):
    assert cart(max_depth=max_depth).fit(X, Y).get_depth() == max_depth


@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 7])
def test_max_leaf_nodes(max_leaf_nodes):
    model = cart(max_leaf_nodes=max_leaf_nodes).fit(X, Y)
    assert model.get_n_leaves() == max_leaf_nodes
    assert_sound(model, X, Y)


def test_without_a_limit_in_reach_best_first_grows_the_same_tree():
    limited = cart(max_leaf_nodes=10_000).fit(X, Y)
    assert limited.tree_ == cart().fit(X, Y).tree_


def test_best_first_keeps_the_largest_gains():
    full = cart().fit(X, Y).tree_
    few = cart(max_leaf_nodes=3).fit(X, Y).tree_
    second = max(full.gain[full.first_child[0]], full.gain[full.first_child[0] + 1])
    assert sorted(few.gain[few.gain > 0].tolist()) == sorted([full.gain[0], second])


@pytest.mark.parametrize(("limit", "rows"), [(7, 7), (0.1, 40), (0.0999, 40), (400, 400)])
def test_min_samples_leaf(limit, rows):
    model = cart(min_samples_leaf=limit).fit(X, Y)
    assert leaf_rows(model).min() >= rows
    assert_sound(model, X, Y)


@pytest.mark.parametrize(("limit", "rows"), [(50, 50), (0.25, 100), (1.0, 400), (1e-9, 2)])
def test_min_samples_split(limit, rows):
    tree = cart(min_samples_split=limit).fit(X, Y).tree_
    assert tree.n_samples[~tree.is_leaf].min() >= rows
    assert cart(min_samples_split=401).fit(X, Y).get_n_leaves() == 1


@pytest.mark.parametrize(("fraction", "n_leaves"), [(0.0, 2), (0.25, 2), (0.26, 1), (0.5, 1)])
def test_min_weight_fraction_leaf_counts_weights(fraction, n_leaves):
    model = cart(min_weight_fraction_leaf=fraction)
    model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1], sample_weight=[9.0, 1.0, 1.0, 1.0])
    assert model.get_n_leaves() == n_leaves


def test_min_weight_fraction_leaf_counts_rows_without_weights():
    by_weight = cart(min_weight_fraction_leaf=0.05).fit(X, Y)
    assert by_weight.tree_ == cart(min_samples_leaf=20).fit(X, Y).tree_


def test_min_impurity_decrease():
    full = cart().fit(X, Y).tree_
    limit = float(np.median(full.gain[full.gain > 0]))
    tree = cart(min_impurity_decrease=limit).fit(X, Y).tree_
    assert tree.gain[~tree.is_leaf].min() >= limit
    assert 1 < tree.n_nodes < full.n_nodes


def test_max_leaf_error():
    tree = cart(max_leaf_error=0.1).fit(X, Y).tree_
    error = 1 - tree.stats.max(axis=1) / tree.stats.sum(axis=1)
    assert error[~tree.is_leaf].min() > 0.1
    assert cart(max_leaf_error=1.0).fit(X, Y).get_n_leaves() == 1


def test_zero_gain_splits_get_past_exclusive_or():
    assert cart().fit(XOR, XOR_LABELS).score(XOR, XOR_LABELS) == 1.0
    assert cart(zero_gain_splits=False).fit(XOR, XOR_LABELS).get_n_leaves() == 1


# --- the same data, the same tree -----------------------------------------------------------
