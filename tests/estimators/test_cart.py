"""CART: its parameters do what they say, and its trees are the ones that the data demand."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from estimators.registry import assert_sound, blobs, full_grown
from obliqua import CartClassifier
from obliqua.criteria import CRITERIA, vectorized
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


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_learns_the_training_data(criterion):
    model = cart(criterion=criterion).fit(X, Y)
    assert_sound(model, X, Y)
    assert model.score(X, Y) == 1.0


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


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_as_small_and_as_right_as_scikit_learns_tree(criterion):
    ours = cart(criterion=criterion).fit(X, Y)
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, Y)
    assert ours.score(X, Y) == theirs.score(X, Y)
    assert ours.get_n_leaves() <= 1.1 * theirs.get_n_leaves()


def gini_by_hand(left, right):
    def impurity(counts):
        return 1.0 - ((counts / counts.sum()) ** 2).sum()

    total = left + right
    share = left.sum() / total.sum()
    return impurity(total) - share * impurity(left) - (1 - share) * impurity(right)


@vectorized
def separation(left, right):
    """The squared difference of the first class's share, for many splits at once."""
    return (left[:, 0] / left.sum(axis=1) - right[:, 0] / right.sum(axis=1)) ** 2


def test_a_function_is_a_criterion():
    by_hand = cart(criterion=gini_by_hand, max_depth=2).fit(X, Y)
    built_in = cart(criterion="gini", max_depth=2).fit(X, Y)
    np.testing.assert_array_equal(by_hand.predict(X), built_in.predict(X))
    np.testing.assert_allclose(by_hand.tree_.gain, built_in.tree_.gain)


def test_a_vectorised_function_is_a_criterion():
    model = cart(criterion=separation, max_depth=3).fit(X, Y)
    assert_sound(model, X, Y)
    assert model.get_n_leaves() > 2


def test_an_error_in_a_criterion_reaches_the_caller():
    def broken(left, right):
        raise ZeroDivisionError("no luck")

    with pytest.raises(ZeroDivisionError, match="no luck"):
        cart(criterion=broken).fit(X, Y)


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


@pytest.mark.parametrize("criterion", ["twoing", "entropy", "max_minority"])
def test_threads_and_order_change_nothing(criterion):
    rows, labels = blobs(3000, 6, 4)
    tree = cart(criterion=criterion).fit(rows, labels).tree_
    threaded = cart(criterion=criterion, n_jobs=2).fit(rows, labels).tree_
    assert threaded == tree
    order = np.random.default_rng(1).permutation(len(labels))
    assert cart(criterion=criterion).fit(rows[order], labels[order]).tree_ == tree


def test_layout_changes_nothing():
    tree = cart().fit(X, Y).tree_
    assert cart().fit(np.asfortranarray(X), Y).tree_ == tree
    assert cart().fit(np.repeat(X, 2, axis=1)[:, ::2], Y).tree_ == tree


def test_float32_is_read_as_it_is():
    single = X.astype(np.float32)
    tree = cart().fit(single, Y).tree_
    assert tree == cart().fit(single.astype(np.float64), Y).tree_


def test_a_weight_of_two_is_a_row_twice():
    weights = np.random.default_rng(2).integers(0, 4, len(Y))
    weighted = cart().fit(X, Y, sample_weight=weights)
    repeated = cart().fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    np.testing.assert_array_equal(weighted.tree_.threshold, repeated.tree_.threshold)


def test_the_seed_changes_nothing():
    trees = [cart(random_state=seed).fit(X, Y).tree_ for seed in (None, 0, 1)]
    assert trees[0] == trees[1] == trees[2]
