"""FDT: Fisher's direction, groups of classes, what is singular, and its own limits."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import reference.fisher as twin
from estimators.registry import assert_sound, blobs, full_grown
from obliqua import FisherTreeClassifier
from obliqua.criteria import get_criterion
from obliqua.data.problem import encode
from obliqua.methods.fdt import GroupMoments, fisher_direction, separating, two_groups
from obliqua.prune import prune_pessimistic
from obliqua.testing import check_proposer
from problems import examples


def node(X: Any, y: Any, weight: Any = None, few_rows: bool = False) -> Any:
    """What a proposer sees of these rows."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=np.int32)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    counts = np.bincount(y, weight)
    return SimpleNamespace(
        X=X,
        y=y,
        sample_weight=weight,
        counts=counts,
        n_samples=len(y),
        n_features=X.shape[1],
        n_classes=len(counts),
        few_rows=few_rows,
    )


def parallel(one: Any, other: Any, tolerance: float = 1e-5) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    cosine = one @ other / np.sqrt((one @ one) * (other @ other))
    return bool(1 - abs(cosine) < tolerance**2)


def only(found: Any) -> Any:
    (label,) = found.labels
    assert label.startswith("Fisher")
    return found.normals


# --- the direction --------------------------------------------------------------------------


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 6),
    p=st.integers(1, 5),
    weighted=st.booleans(),
)
def test_the_direction_is_the_twins(seed: int, n_classes: int, p: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    y = np.arange(80) % n_classes
    mix = rng.normal(size=(p, p)) + 2 * np.eye(p)
    X = (rng.normal(size=(n_classes, p))[y] * 2 + rng.normal(size=(80, p))) @ mix
    weight = rng.integers(1, 4, 80).astype(float) if weighted else np.ones(80)
    group = twin.first_group(X, y, weight) if n_classes > 2 else {0}
    expected = twin.direction(X, np.isin(y, list(group)), weight)
    size = X.std(axis=0)
    assert parallel(only(fisher_direction(node(X, y, weight))) * size, expected * size)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
def test_two_classes_as_in_linear_discriminant_analysis(load: Any) -> None:
    X, y = load(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    tree = full_grown(FisherTreeClassifier, max_depth=1).fit(X, y).tree_
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
    assert tree.origin_labels[tree.origin[0]] == "Fisher"
    # 30 features of which some nearly follow from others: values are rounded to 24 bits
    assert parallel(tree.coefficients(0) * X.std(axis=0), theirs * X.std(axis=0), 1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_units_and_origins_do_not_matter(n_classes: int) -> None:
    X, y = blobs(150, 4, n_classes)
    units = np.array([1e-200, 1.0, 1024.0, 1e150])
    plain = full_grown(FisherTreeClassifier).fit(X, y)
    moved = (X + np.array([1.0, 0.0, 7.0, -3.0])) * units
    other = full_grown(FisherTreeClassifier).fit(moved, y)
    np.testing.assert_array_equal(plain.predict(X), other.predict(moved))


def test_groups_have_names() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(140) % 7
    place = np.array([0.0, 50.0, 1.0, 51.0, 2.0, 52.0, 53.0])
    X = rng.normal(size=(140, 2)) + place[y][:, None]
    assert fisher_direction(node(X, y)).labels == [
        "Fisher, classes 0, 2, 4 against classes 1, 3, 5, 6"
    ]
    X[y == 0] -= 1000.0
    assert fisher_direction(node(X, y)).labels == ["Fisher, class 0 against 6 classes"]


def test_as_a_proposer() -> None:
    assert check_proposer(fisher_direction).n_wins > 0


# --- what is singular -----------------------------------------------------------------------


def test_a_feature_that_never_varies_within_a_class_decides() -> None:
    """The pseudo-inverse alone would look at everything but this feature."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([rng.normal(size=60), y, rng.normal(size=60)])
    assert parallel(only(fisher_direction(node(X, y))), [0.0, 1.0, 0.0])
    model = FisherTreeClassifier().fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.score(X, y) == 1.0


def test_a_feature_that_follows_from_others_changes_nothing() -> None:
    X, y = blobs(200, 3, 2)
    more = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(200)])
    plain = FisherTreeClassifier().fit(X, y)
    np.testing.assert_array_equal(
        plain.predict(X), FisherTreeClassifier().fit(more, y).predict(more)
    )


def test_few_rows_get_the_pseudo_inverse() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6, 8)), np.array([0, 0, 0, 1, 1, 1])
    size = X.std(axis=0)
    within = twin.scatter(X[:3] / size, np.ones(3)) + twin.scatter(X[3:] / size, np.ones(3))
    apart = (X[:3].mean(axis=0) - X[3:].mean(axis=0)) / size
    expected = np.linalg.pinv(within, rcond=1e-10) @ apart
    found = only(fisher_direction(node(X, y))) * size
    assert parallel(found, expected)
    # rows that are repeated, or weigh more, are no other rows
    for again in (node(np.tile(X, (4, 1)), np.tile(y, 4)), node(X, y, np.full(6, 4.0))):
        np.testing.assert_array_equal(only(fisher_direction(again)) * size, found)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_wide_rows_get_a_ridge(n_classes: int) -> None:
    """With 30 features and 25 rows the mean variance within the classes is added to each."""
    rng = np.random.default_rng(3)
    y = np.arange(25) % n_classes
    X = rng.normal(size=(25, 30)) * 10.0 ** rng.integers(-3, 4, 30)
    X[:, :6] += 3 * y[:, None] * X[:, :6].std(axis=0)
    Z = X / X.std(axis=0)
    w = only(fisher_direction(node(X, y))) * X.std(axis=0)
    if n_classes == 2:
        apart = Z[y == 0].mean(axis=0) - Z[y == 1].mean(axis=0)
        within = sum(np.cov(Z[y == c].T, bias=True) * (y == c).sum() for c in (0, 1))
        ridge = np.trace(within) / 30 * np.eye(30)
        assert parallel(w, np.linalg.solve(within + ridge, apart))
    # The same rows twice, or with weights, tell no more.
    again = fisher_direction(node(np.repeat(X, 3, axis=0), np.repeat(y, 3)))
    assert parallel(only(again) * X.std(axis=0), w)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("spread", [1.0, 0.0])
def test_products_of_rows_give_the_same_direction(n_classes: int, spread: float) -> None:
    """With a spread of 0 no class varies."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(30) % n_classes
    X = 3 * rng.normal(size=(n_classes, 70))[y] + spread * rng.normal(size=(30, 70))
    X = X * 10.0 ** rng.integers(-3, 4, 70) + 5.0
    X[:, 4] = 2.0
    weight = rng.integers(1, 4, 30)
    slow, quick = (fisher_direction(node(X, y, weight, few)) for few in (False, True))
    assert quick.labels == slow.labels
    assert parallel(only(quick) * X.std(axis=0), only(slow) * X.std(axis=0))
    order = rng.permutation(30)
    again = fisher_direction(node(X[order], y[order], weight[order], True))
    np.testing.assert_array_equal(again.normals, quick.normals)
    rows = np.repeat(np.arange(30), weight)
    again = fisher_direction(node(X[rows], y[rows], few_rows=True))
    np.testing.assert_array_equal(again.normals, quick.normals)


def test_many_features_take_no_matrix_of_them() -> None:
    """One of 60,000 columns would take 29 GB."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 60_000)), np.arange(12) % 2
    assert FisherTreeClassifier(pruning=None).fit(X, y).get_n_leaves() == 2


def test_few_features_get_no_ridge() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 15)), np.arange(12) % 2
    w = only(fisher_direction(node(X, y))) * X.std(axis=0)
    Z = X / X.std(axis=0)
    apart = Z[y == 0].mean(axis=0) - Z[y == 1].mean(axis=0)
    within = sum(np.cov(Z[y == c].T, bias=True) for c in (0, 1))
    assert parallel(w, np.linalg.pinv(within, rcond=1e-9) @ apart, 1e-3)


def test_equal_means_leave_single_features() -> None:
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    labels = rows[:, 0] ^ rows[:, 1]
    assert fisher_direction(node(rows, labels)).labels == ["axis-parallel"] * 2
    assert FisherTreeClassifier().fit(rows, labels).get_n_leaves() == 1
    patient = FisherTreeClassifier(zero_gain_splits=True, pruning=None).fit(rows, labels)
    assert patient.score(rows, labels) == 1.0


def test_a_matrix_of_zeros_needs_no_rows() -> None:
    """Nothing varies within the classes: whatever parts the means is certain."""
    for n_times in (1, 5):
        X, y = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 4.0]] * n_times), np.arange(2 * n_times) % 2
        found = fisher_direction(node(X, y))
        assert parallel(only(found) * X.std(axis=0), np.ones(3))


def test_how_many_rows_are_enough() -> None:
    """Two more different rows than features: with one less a direction without spread is luck."""
    within = np.diag([1.0, 1.0, 0.0])
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.1, 1], [0.9, 0.3, 1]], dtype=float)
    y = np.array([0, 0, 0, 1, 1])
    enough = parallel(only(fisher_direction(node(X, y))), [0.0, 0.0, 1.0])
    fewer = parallel(only(fisher_direction(node(X[1:], y[1:]))), [0.0, 0.0, 1.0])
    assert enough
    assert not fewer
    apart = np.array([0.5, 0.0, 1.0])
    assert separating(within, apart, lambda: True).tolist() == [0.0, 0.0, 1.0]
    assert separating(within, apart, lambda: False).tolist() == [0.5, 0.0, 0.0]


def test_rounding_is_no_distance() -> None:
    """Where nothing varies, means that differ by rounding do not decide about the groups."""
    little = 0.9e-5 * np.array([1.0, -1.0, 1.0, -1.0])
    means = np.column_stack([[0.0, 0.8, 1.2, 2.0], little])
    moments = GroupMoments(np.ones(4), means, np.diag([1.0, 0.0]))
    assert two_groups(moments).tolist() == [False, False, True, True]
    apart = replace(moments, means=means * [1.0, 10.0])
    assert two_groups(apart).tolist() == [False, True, False, True]


# --- the tree -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_every_split_is_oblique_and_the_tree_sound(n_classes: int) -> None:
    X, y = blobs(300, 4, n_classes, seed=2)
    model = FisherTreeClassifier().fit(X, y)
    assert_sound(model, X, y)
    assert (np.diff(model.tree_.coef_ptr) == 4).all()
    grown = FisherTreeClassifier(pruning=None).fit(X, y)
    pruned = prune_pessimistic(grown.tree_, encode(X, y, n_classes), prune_root=True)
    assert model.get_n_leaves() == pruned.n_leaves


def test_two_examples_are_a_weight_of_two() -> None:
    X, y = blobs(200, 3, 2, seed=5)
    y = np.where(np.arange(200) % 9 == 0, 1 - y, y)
    smallest = []
    for least in (0.0, 2.0, 5.0):
        tree = FisherTreeClassifier(min_weight_leaf=least, pruning=None).fit(X, y).tree_
        smallest.append(int(tree.n_samples[tree.is_leaf].min()))
    assert smallest == [1, 2, 5]
    # two rows of weight 1 are one row of weight 2, so no leaf is too small any more
    twice = np.full(200, 2.0)
    heavy = FisherTreeClassifier(pruning=None).fit(X, y, sample_weight=twice).tree_
    free = FisherTreeClassifier(min_weight_leaf=0.0, pruning=None).fit(X, y).tree_
    np.testing.assert_array_equal(heavy.threshold, free.threshold)
    np.testing.assert_array_equal(heavy.n_samples, free.n_samples)
    # Weights that are not whole numbers count as if their mean were 1, however small they are.
    light = FisherTreeClassifier().fit(X, y, sample_weight=np.full(200, 1e-320))
    np.testing.assert_array_equal(light.apply(X), FisherTreeClassifier().fit(X, y).apply(X))


def test_sparse_splits() -> None:
    X, y = load_wine(return_X_y=True)
    model = FisherTreeClassifier(max_features_per_split=2).fit(X, y)
    assert np.diff(model.tree_.coef_ptr).max() == 2
    assert model.score(X, y) > 0.9


def test_gain_ratio_takes_the_threshold_with_the_largest_ratio() -> None:
    X, y = blobs(300, 2, 2, seed=3)
    y = np.where(np.arange(300) % 3 == 0, 1 - y, y)
    normals, thresholds = [], []
    for criterion in ("entropy", "gain_ratio"):
        stump = FisherTreeClassifier(
            criterion=criterion, min_weight_leaf=0.0, max_depth=1, pruning=None
        )
        tree = stump.fit(X, y).tree_
        values = X @ tree.coefficients(0)
        cuts = np.unique(values)
        middle = (cuts[:-1] + cuts[1:]) / 2
        goodness = [
            get_criterion(criterion).goodness(
                np.bincount(y[values <= cut], minlength=2),
                np.bincount(y[values > cut], minlength=2),
            )
            for cut in middle
        ]
        assert tree.threshold[0] == pytest.approx(middle[int(np.argmax(goodness))], abs=1e-9)
        normals.append(tree.coefficients(0))
        thresholds.append(tree.threshold[0])
    np.testing.assert_array_equal(normals[0], normals[1])
    assert thresholds[0] != thresholds[1]


# --- levels and missing values --------------------------------------------------------------


def test_levels_enter_the_direction_as_the_numbers_of_the_node() -> None:
    rng = np.random.default_rng(0)
    worth = {"a": 2.0, "b": -1.0, "c": 0.5, "d": -2.0}
    town = rng.choice([*worth, None], 300)
    size = rng.normal(size=300)
    size[::11] = np.nan
    pull = np.array([worth.get(name, 1.0) for name in town])
    y = (np.nan_to_num(size) + pull + rng.normal(size=300) > 0).astype(int)
    rows = np.column_stack([size.astype(object), town])
    model = full_grown(FisherTreeClassifier, max_depth=1).fit(rows, y)
    tree = model.tree_
    assert tree.origin_labels[tree.origin[0]] == "Fisher"
    assert tree.coef_idx.tolist() == [0, 1]
    # what the split says of levels and of what is missing, put into the rows by hand
    assert tree.fill[0] == pytest.approx(np.nanmean(size))
    numbers = dict(zip(sorted(worth), tree.table, strict=True))
    assert numbers["a"] > numbers["c"] > numbers["b"] > numbers["d"] or (
        numbers["a"] < numbers["c"] < numbers["b"] < numbers["d"]
    )
    X = np.column_stack(
        [
            np.where(np.isnan(size), tree.fill[0], size),
            [numbers.get(name, tree.fill[1]) for name in town],
        ]
    )
    assert X[:, 1].var() == pytest.approx(1.0, abs=1e-6)
    assert parallel(tree.coef, twin.direction(X, y == 0, np.ones(300)))
    left = X @ tree.coef <= tree.threshold[0]
    np.testing.assert_array_equal(model.apply(rows), np.where(left, 1, 2))
    # a level that nobody has seen adds nothing
    (leaf,) = model.apply(np.array([[0.7, "elsewhere"]], dtype=object))
    assert leaf == (1 if 0.7 * tree.coef[0] <= tree.threshold[0] else 2)


def test_missing_numbers_by_the_node_or_by_all_rows() -> None:
    X, y = blobs(200, 3, 2, seed=1)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    by_node, by_all = (
        FisherTreeClassifier(fill=fill, pruning=None).fit(X, y) for fill in ("node", "training")
    )
    assert by_node.tree_ != by_all.tree_
    means = np.nanmean(X, axis=0)
    np.testing.assert_allclose(by_all.tree_.fill, means[by_all.tree_.coef_idx])
    assert min(by_node.score(X, y), by_all.score(X, y)) > 0.9
