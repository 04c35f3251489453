"""Valid but odd data are fitted, not refused, and every training row is counted right.

Warnings are errors in all tests, so nothing here causes one that is not asked for.
"""

import numpy as np
import pytest

from estimators.registry import (
    assert_sound,
    blobs,
    each_estimator,
    each_representative,
    full_grown,
)
from obliqua import HHCartClassifier

RNG = np.random.default_rng(0)
X, Y = blobs()
HUGE = np.finfo(np.float64).max
TINY = np.nextafter(0.0, 1.0)


def steps(values):
    """One column with these values, whose class is the position: a tree can tell all."""
    column = np.array(values, dtype=np.float64)[:, None]
    return column, np.arange(len(column))


def strided():
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def unaligned():
    buffer = np.zeros(X.nbytes + 1, dtype=np.uint8)
    rows = buffer[1:].view(np.float64).reshape(X.shape)
    rows[:] = X
    return rows


def one_field_of_records():
    records = np.zeros(len(X), dtype=[("name", "S3"), ("values", np.float64, (4,))])
    records["values"] = X
    return records["values"]


def read_only():
    rows = X.copy()
    rows.flags.writeable = False
    return rows


# Data in which equal rows have equal labels: a full-grown tree makes no mistake on them.
SEPARABLE = {
    "one row": (X[:1], Y[:1]),
    "two rows": (X[:2], Y[:2]),
    "two equal rows": (X[[0, 0]], Y[[0, 0]]),
    "one class": (X, np.zeros(len(X), int)),
    "one column": (X[:, :1], Y),
    "more columns than rows": (RNG.normal(size=(12, 300)), np.arange(12) % 3),
    "some constant columns": (np.column_stack([np.ones(120), X, np.zeros(120)]), Y),
    "repeated columns": (np.column_stack([X, X, X]), Y),
    "repeated rows": (np.repeat(X, 3, axis=0), np.repeat(Y, 3)),
    "one row of a class": (X, (np.arange(120) == 77).astype(int)),
    "float64's limits": steps([-HUGE, -HUGE / 2, 0.0, HUGE / 2, HUGE]),
    "limits whose sum is not a number": (HUGE * np.linspace(-1, 1, 64)[:, None], Y[:64]),
    "limits next to each other": steps([np.nextafter(HUGE, 0), HUGE]),
    "denormals": steps([-3 * TINY, -TINY, 0.0, TINY, 2 * TINY, 3 * TINY]),
    "huge and tiny": steps([-HUGE, -1.0, -TINY, 0.0, TINY, 1e-300, 1.0, 1e300, HUGE]),
    "neighbouring numbers": steps(1.0 + np.arange(16) * np.finfo(float).eps),
    "infinitely thin gap at one": steps([np.nextafter(1.0, 0.0), 1.0]),
    "huge columns": (X * 1e300, Y),
    "tiny columns": (X * 1e-310, Y),
    "columns of all sizes": (X * np.array([1e-300, 1.0, 1e300, 1e-310]), Y),
    "shifted far away": (X + 1e12, Y),
    "small integers": (np.arange(60).reshape(-1, 1) % 60 * np.ones((1, 3)), np.arange(60) % 7),
    "float32": (X.astype(np.float32), Y),
    "float32's limits": (
        np.array([[-1], [-0.5], [0.5], [1]], np.float32) * np.finfo(np.float32).max,
        np.arange(4),
    ),
    "a matrix of one row twice": (np.ones((2, 3)), np.zeros(2, int)),
}
# The same for kinds of rows that are one to a method.
KINDS_OF_ROWS = {
    "float16": (np.arange(40, dtype=np.float16).reshape(-1, 1), np.arange(40) % 3),
    "long double": (X.astype(np.longdouble), Y),
    "int8": (np.arange(-128, 128, dtype=np.int8).reshape(-1, 1), np.arange(256) % 3),
    "uint64": (np.array([[0], [2**63], [2**64 - 1]], np.uint64), np.arange(3)),
    "bools": (np.array([[False, True], [True, True]]), np.arange(2)),
    "objects": (X.astype(object), Y),
    "lists": (X.tolist(), Y.tolist()),
    "numbers as strings": (np.array([["1", "2"], ["3", "4.5"]], dtype=object), np.arange(2)),
    "column after column": (np.asfortranarray(X), Y),
    "strided": (strided(), Y),
    "backwards": (X[::-1, ::-1], Y[::-1]),
    "broadcast": (np.broadcast_to(X[:, :1], (120, 5)), Y),
    "another byte order": (X.astype(X.dtype.newbyteorder()), Y),
    "unaligned": (unaligned(), Y),
    "a field of records": (one_field_of_records(), Y),
    "read only": (read_only(), Y),
}


def assert_learnt(Estimator, data):
    for name, (rows, labels) in data.items():
        model = full_grown(Estimator).fit(rows, labels)
        assert_sound(model, rows, labels)
        assert model.score(rows, labels) == 1.0, name


@each_estimator
def test_separable_data_are_learnt_without_error(Estimator):
    assert_learnt(Estimator, SEPARABLE)


@each_representative
def test_rows_of_many_kinds(Estimator):
    assert_learnt(Estimator, KINDS_OF_ROWS)


@each_estimator
def test_minus_zero_is_zero(Estimator):
    rows = np.array([[0.0], [-0.0], [0.0], [-0.0]])
    model = full_grown(Estimator).fit(rows, [0, 1, 0, 1])
    assert model.get_n_leaves() == 1
    np.testing.assert_array_equal(model.predict_proba(rows), 0.5)


@each_estimator
def test_equal_rows_with_different_labels_share_a_leaf(Estimator):
    rows = np.repeat([[0.0, 1.0], [2.0, 3.0]], 4, axis=0)
    labels = ["a", "a", "a", "b", "b", "b", "b", "b"]
    model = full_grown(Estimator).fit(rows, labels)
    assert_sound(model, rows, labels)
    assert model.get_n_leaves() == 2
    np.testing.assert_array_equal(model.predict(rows[[0, 4]]), ["a", "b"])
    np.testing.assert_array_equal(model.predict_proba(rows[[0, 4]]), [[0.75, 0.25], [0, 1]])


@each_estimator
def test_constant_columns_alone_give_one_leaf(Estimator):
    model = full_grown(Estimator).fit(np.full((6, 3), 7.0), [0, 1, 1, 2, 1, 0])
    assert (model.get_n_leaves(), model.get_depth()) == (1, 0)
    np.testing.assert_array_equal(model.predict([[7.0, 7.0, 7.0]]), [1])
    np.testing.assert_allclose(model.predict_proba([[0, 0, 0]]), [[2 / 6, 3 / 6, 1 / 6]])


@each_representative
def test_one_class_gives_one_leaf_and_one_column(Estimator):
    model = full_grown(Estimator).fit(X, ["only"] * len(X))
    assert (model.get_n_leaves(), model.get_depth(), model.n_classes_) == (1, 0, 1)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.zeros((len(X), 1)))
    assert set(model.predict(X)) == {"only"}
    assert model.decision_path(X).shape == (len(X), 1)


def many_classes():
    rows = RNG.normal(size=(2400, 2))
    labels = np.arange(2400) % 1200
    labels[:10] = 5
    return rows, labels


@each_estimator
def test_more_than_a_thousand_classes(Estimator):
    rows, labels = many_classes()
    model = full_grown(Estimator, max_depth=3).fit(rows, labels)
    assert model.n_classes_ == len(np.unique(labels))
    assert_sound(model, rows, labels)


def test_a_leaf_or_more_for_each_of_a_thousand_classes():
    rows, labels = many_classes()
    assert full_grown(HHCartClassifier).fit(rows, labels).score(rows, labels) == 1.0


LABELS = {
    "strings": np.array(["setosa", "versicolor", "virginica"]),
    "empty string": np.array(["", "a", "A"]),
    "unicode": np.array(["æ", "日本", "\N{PILE OF POO}"]),
    "objects": np.array(["x", "y", "z"], dtype=object),
    "negative": np.array([-5, 0, 5]),
    "int8's limits": np.array([-128, 0, 127], dtype=np.int8),
    "int64's limits": np.array([-(2**63), 0, 2**63 - 1]),
    "uint64's limits": np.array([0, 1, 2**64 - 1], dtype=np.uint64),
    "uint64 far up": np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
    "uint8": np.array([0, 200, 255], dtype=np.uint8),
    "whole floats": np.array([1.0, 2.0, 1e15]),
    "numbers as strings": np.array(["10", "9", "-1"]),
}


@each_representative
@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back_as_they_were_given(Estimator, name):
    labels = LABELS[name][Y]
    model = full_grown(Estimator).fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.classes_.dtype == labels.dtype
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted, labels)


@each_representative
@pytest.mark.parametrize("labels", [[3, 1, 2], [True, False, True], [np.int8(1), 2, 300]])
def test_integers_and_bools_as_objects(Estimator, labels):
    given = np.array(labels, dtype=object)[Y]
    model = full_grown(Estimator).fit(X, given)
    assert model.classes_.dtype.kind in "bi"
    np.testing.assert_array_equal(model.predict(X), given)


@each_representative
def test_bool_labels(Estimator):
    labels = X[:, 0] > 0
    model = full_grown(Estimator).fit(X, labels)
    assert model.classes_.tolist() == [False, True]
    np.testing.assert_array_equal(model.predict(X), labels)


@each_representative
def test_a_column_of_labels_is_taken_with_scikit_learns_warning(Estimator):
    with pytest.warns(Warning, match="A column-vector y was passed"):
        model = full_grown(Estimator).fit(X, Y[:, None])
    np.testing.assert_array_equal(model.predict(X), Y)


WEIGHTS = {
    "zeros among them": np.where(np.arange(120) % 4 == 0, 0.0, 1.0),
    "tiny": np.full(120, 1e-300),
    "denormal": np.full(120, 5e-324),
    "huge": np.full(120, 1e300),
    "of all sizes": 10.0 ** RNG.integers(-12, 12, 120),
    "thirds": np.full(120, 1 / 3),
    "random": RNG.random(120) + 0.01,
    "integers": RNG.integers(1, 9, 120),
    "a list": [1.0, 2.0] * 60,
    "one number": 2.5,
}


@each_estimator
def test_odd_weights(Estimator):
    for name, given in WEIGHTS.items():
        weights = np.broadcast_to(given, len(Y))
        model = full_grown(Estimator).fit(X, Y, sample_weight=given)
        assert_sound(model, X, Y, weights)
        counted = weights > 0
        assert model.score(X[counted], Y[counted]) == 1.0, name


@each_estimator
def test_a_class_without_weight_keeps_its_column(Estimator):
    weights = np.where(Y == 1, 0.0, 1.0)
    model = full_grown(Estimator).fit(X, Y, sample_weight=weights)
    assert model.classes_.tolist() == [0, 1, 2]
    assert not model.predict_proba(X)[:, 1].any()
    without = full_grown(Estimator).fit(X[Y != 1], Y[Y != 1])
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


@each_estimator
def test_one_row_with_weight(Estimator):
    weights = np.zeros(len(Y))
    weights[50] = 3.0
    model = full_grown(Estimator).fit(X, Y, sample_weight=weights)
    assert model.get_n_leaves() == 1
    assert model.predict(X[:1]) == Y[50]


@each_representative
def test_a_memory_map(Estimator, tmp_path):
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    model = full_grown(Estimator).fit(mapped, Y)
    assert_sound(model, mapped, Y)


# --- parameters at their limits -------------------------------------------------------------


BEYOND = (10**30, 2**63, np.int64(2**62), np.uint8(200))


@each_representative
@pytest.mark.parametrize("name", ["max_depth", "max_leaf_nodes"])
def test_limits_beyond_reach(Estimator, name):
    tree = full_grown(Estimator).fit(X, Y).tree_
    for limit in BEYOND:
        assert full_grown(Estimator, **{name: limit}).fit(X, Y).tree_ == tree


@each_representative
@pytest.mark.parametrize("name", ["min_samples_split", "min_samples_leaf"])
def test_limits_that_nothing_meets(Estimator, name):
    for limit in BEYOND:
        assert full_grown(Estimator, **{name: limit}).fit(X, Y).get_n_leaves() == 1


@each_estimator
def test_limits_that_limit_nothing(Estimator):
    for limits in (
        {"min_samples_leaf": 1e-300, "min_samples_split": 1e-300},
        {"min_impurity_decrease": 0, "max_leaf_error": 0},
        {"min_weight_fraction_leaf": 1e-300},
        {"zero_gain_splits": np.True_},
    ):
        assert full_grown(Estimator, **limits).fit(X, Y).score(X, Y) == 1.0, limits


@each_estimator
def test_a_gain_that_nothing_has(Estimator):
    model = full_grown(Estimator, min_impurity_decrease=1e300).fit(X, Y)
    assert model.get_n_leaves() == 1


@each_estimator
def test_exclusive_or_is_learnt(Estimator):
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    labels = rows[:, 0] ^ rows[:, 1]
    model = full_grown(Estimator, zero_gain_splits=True).fit(rows, labels)
    assert model.score(rows, labels) == 1.0


@each_estimator
def test_sums_that_overflow_on_the_way_are_still_walked(Estimator):
    X, y = blobs()
    model = full_grown(Estimator).fit(X, y)
    huge = np.array([[1.7e308] * 4, [-1.7e308] * 4, [1.7e308, -1.7e308] * 2])
    assert set(model.predict(huge)) <= set(y)


@each_estimator
@pytest.mark.parametrize("seed", [0, 1])
def test_the_order_of_the_rows_changes_nothing(Estimator, seed):
    """Tenths and equal means, so that sums in another order differ in their last bits."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (300, 4)) / 10
    X[:, 3] = np.tile([0.1, 0.2, 0.3], 100)
    y = np.repeat(np.arange(3), 100)
    order = rng.permutation(300)
    one = full_grown(Estimator).fit(X, y).tree_
    assert full_grown(Estimator).fit(X[order], y[order]).tree_ == one
