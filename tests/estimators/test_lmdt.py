"""LMDT: machines, branches, elimination, weights, what is counted, and reading its trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine

import obliqua.methods.lmdt as lmdt
from estimators.registry import assert_sound, blobs, full_grown
from obliqua import CartClassifier, LMDTClassifier
from obliqua._core.methods.machine import TrainingWatch
from obliqua.data.problem import encode
from obliqua.engine.rules import Rules
from obliqua.methods.lmdt import (
    LMDT,
    MachinePlanes,
    Standard,
    best_machine,
    different_rows,
    grow_lmdt,
    least_telling,
    times_shown,
)
from obliqua.tree.layout import NodeKind
from problems import examples
from reference import lmdt as twin

X, Y = blobs(200, 3, 4, seed=2)


# --- one machine ----------------------------------------------------------------------------


def test_rows_have_mean_0_and_standard_deviation_1() -> None:
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.normal(5e6, 3.0, 50), np.full(50, 0.1), rng.normal(size=50) * 1e-200])
    weights = rng.integers(1, 4, 50)
    standard = Standard.of(Z, weights)
    assert standard.columns.tolist() == [0, 2]
    Y = standard.rows(Z)
    np.testing.assert_array_equal(Y[:, 0], 1.0)
    mean = np.average(Y[:, 1:], axis=0, weights=weights)
    np.testing.assert_allclose(mean, 0.0, atol=1e-3)
    square = np.average((Y[:, 1:] - mean) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(square, 1.0, rtol=2e-3)


@examples(60)
@given(seed=st.integers(0, 10**6))
def test_planes_say_the_same_in_other_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(30, 3)) * [1e-3, 1.0, 1e5] + [0.0, 7.0, -1e5]
    standard = Standard.of(Z, np.ones(30, dtype=np.int64))
    y = rng.integers(0, 3, 30).astype(np.int32)
    y[:3] = [0, 1, 2]
    weights = np.ones(30, dtype=np.int64)
    method = LMDT(rows_per_weight=0.0)
    machine, _ = best_machine(standard.rows(Z), y, weights, seed, method, TrainingWatch())
    assert machine is not None
    planes = MachinePlanes.of(machine, standard)
    inside = standard.rows(Z)[:, np.r_[0, machine.variables + 1]] @ machine.W.T
    scores = planes.values(Z)
    factor = inside.std() / scores.std()
    np.testing.assert_allclose(scores * factor, inside, rtol=1e-6, atol=1e-6)
    assert np.abs(planes.coef).sum(axis=1).max() == pytest.approx(1.0)
    assert planes.columns.tolist() == machine.variables.tolist()


@examples(60)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30))
def test_how_often_rows_are_shown(seed: int, n: int) -> None:
    weights = np.random.default_rng(seed).choice([1, 2, 3, 100, 10**6], n)
    times = times_shown(weights)
    assert times.tolist() == twin.times_shown(weights.tolist())
    assert times.sum() <= 16 * n * (1 + 1e-12)
    np.testing.assert_allclose(times_shown(weights * 7), times)
    np.testing.assert_allclose(times / times.sum(), weights / weights.sum())
    assert times_shown(np.ones(n, dtype=np.int64)).tolist() == [1.0] * n


def test_the_variable_that_tells_least() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        W = rng.normal(size=(int(rng.integers(2, 6)), int(rng.integers(2, 6))))
        assert least_telling(W) == twin.least_telling(W.tolist())
    assert least_telling(np.ones((3, 4))) == 0


def test_equal_rows_become_one() -> None:
    Z = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [1.0, 2.0], [-0.0, 5.0]])
    classes, weights = np.array([0, 1, 0, 1, 1]), np.array([1, 2, 4, 8, 16])
    chosen, together = different_rows(Z, classes, weights)
    keys = [(*Z[row].tolist(), int(classes[row])) for row in chosen]
    found = dict(zip(keys, together.tolist(), strict=True))
    assert found == {(1.0, 2.0, 0): 5, (0.0, 5.0, 1): 18, (1.0, 2.0, 1): 8}
    back, again = different_rows(Z[::-1], classes[::-1].copy(), weights[::-1])
    np.testing.assert_array_equal(Z[::-1][back] + 0.0, Z[chosen] + 0.0)
    np.testing.assert_array_equal(again, together)


# --- elimination ----------------------------------------------------------------------------


def informative(n: int, p: int, useful: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which the first columns decide, with a gap between the classes."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    side = Z[:, :useful].sum(axis=1)
    Z[:, 0] += np.sign(side) * 0.5
    return Z, (side > 0).astype(int)


def test_variables_that_say_nothing_are_eliminated() -> None:
    Z, y = informative(400, 6, 2)
    tree = full_grown(LMDTClassifier).fit(Z, y).tree_
    assert sorted(tree.coef_idx.tolist()) == [0, 1]
    every = full_grown(LMDTClassifier, eliminate=False).fit(Z, y).tree_
    assert sorted(every.coef_idx[: every.coef_ptr[1]].tolist()) == list(range(6))


def test_the_loss_that_is_allowed() -> None:
    """All columns say the same, so a machine with one of them is nearly as good."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    Z = y[:, None] * 2.0 + rng.normal(size=(300, 5))
    sizes = [
        full_grown(LMDTClassifier, max_depth=1, elimination_loss=loss, elimination_stop=1.0)
        .fit(Z, y)
        .tree_.n_node_features[0]
        for loss in (0.0, 0.05, 1.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] == 1


def test_elimination_stops_where_too_much_is_lost() -> None:
    Z, y = informative(400, 5, 5)
    kinds = {"random_state": 0, "pruning": None, "max_depth": 1}
    tried = [
        LMDTClassifier(elimination_stop=stop, **kinds).fit(Z, y).n_hyperplanes_
        for stop in (0.0, 0.1, 1.0)
    ]
    assert tried[0] < tried[2]
    assert tried[0] <= tried[1] <= tried[2]


def test_few_rows_have_few_variables() -> None:
    """Seven rows of six columns can always be separated; the guard asks for fewer columns."""
    rng = np.random.default_rng(8)
    Z, y = rng.normal(size=(7, 6)), np.array([0, 1, 0, 1, 1, 0, 1])
    loose = full_grown(LMDTClassifier, rows_per_weight=0.0, elimination_stop=0.0).fit(Z, y).tree_
    assert loose.n_node_features[0] == 4
    guarded = full_grown(LMDTClassifier, rows_per_weight=2.0).fit(Z, y).tree_
    assert guarded.n_node_features[0] == 2  # 7 >= 2 * (2 + 1)
    full = full_grown(LMDTClassifier, eliminate=False, rows_per_weight=2.0).fit(Z, y).tree_
    assert full.n_node_features[0] == 6


@pytest.mark.parametrize("eliminate", [True, False])
@pytest.mark.parametrize("most", [1, 2])
def test_the_most_features_of_a_split(eliminate: bool, most: int) -> None:
    model = full_grown(LMDTClassifier, max_features_per_split=most, eliminate=eliminate)
    tree = model.fit(X, Y).tree_
    assert tree.n_node_features.max() == most
    assert_sound(model, X, Y)


# --- growth ---------------------------------------------------------------------------------


def test_a_branch_per_class() -> None:
    X, y = load_wine(return_X_y=True)
    model = full_grown(LMDTClassifier).fit(X, y)
    tree = model.tree_
    assert tree.kind[0] == NodeKind.MACHINE
    assert tree.n_children[0] == 3
    assert model.predict(X).tolist() == y.tolist()
    assert tree.stats[1:4].argmax(axis=1).tolist() == [0, 1, 2]


def test_two_classes_make_a_hyperplane() -> None:
    X, y = load_wine(return_X_y=True)
    tree = full_grown(LMDTClassifier).fit(X[y < 2], y[y < 2]).tree_
    assert set(tree.kind.tolist()) == {NodeKind.LEAF, NodeKind.HYPERPLANE}
    one = full_grown(LMDTClassifier, max_features_per_split=1).fit(X[y < 2], y[y < 2]).tree_
    assert set(one.coef.tolist()) == {1.0}


def test_a_class_without_rows_has_no_branch() -> None:
    """Two rows of a third class in the midst of another: the machine gives them no branch."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 6, rng.normal(size=(2, 2))]
    model = full_grown(LMDTClassifier).fit(
        np.concatenate(parts), np.repeat([0, 1, 2], [60, 60, 2])
    )
    tree = model.tree_
    assert tree.kind[0] == NodeKind.HYPERPLANE
    assert tree.n_samples[tree.is_leaf].min() >= 1
    assert tree.stats.sum(axis=1).min() > 0


@pytest.mark.parametrize("limit", [{"min_samples_leaf": 12}, {"min_weight_fraction_leaf": 0.07}])
def test_small_branches_go(limit: dict[str, Any]) -> None:
    model = full_grown(LMDTClassifier, **limit).fit(X, Y)
    tree = model.tree_
    assert tree.n_samples[tree.is_leaf].min() >= 12
    assert (tree.kind == NodeKind.MACHINE).any()
    assert_sound(model, X, Y)


def test_rows_of_a_branch_that_is_too_small_take_the_next_one() -> None:
    """A third class far away has five rows; the machine without it divides the others."""
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [8.0, 0.0], [8.0, 8.0]], [40, 40, 5], axis=0)
    rows, labels = rng.normal(size=(85, 2)) + centres, np.repeat([0, 1, 2], [40, 40, 5])
    assert full_grown(LMDTClassifier).fit(rows, labels).tree_.n_children[0] == 3
    tree = full_grown(LMDTClassifier, min_samples_leaf=12).fit(rows, labels).tree_
    assert tree.origin_labels[tree.origin[0]] == "linear machine"
    assert sorted(tree.n_samples[1:3].tolist()) == [40, 45]


@examples(60)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 3))
def test_the_hyperplane_between_two_planes_divides_as_they_do(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(50, p))
    planes = MachinePlanes(np.arange(p), rng.normal(size=(2, p)), rng.normal(size=2))
    first = np.argmax(planes.values(rows), axis=1) == 0
    one = planes.as_hyperplane()
    left = one.values(rows)[:, 0] <= 0
    assert np.array_equal(left, first) or (p == 1 and np.array_equal(left, ~first))
    assert p > 1 or one.coef.tolist() == [[1.0]]


def test_some_planes_have_the_columns_that_tell_them_apart() -> None:
    coef = np.array([[1.0, 2.0, 3.0], [1.0, -2.0, 3.0], [4.0, 0.0, 3.0], [1.0, 5.0, 3.0]])
    planes = MachinePlanes(np.array([2, 5, 7]), coef, np.arange(4.0))
    every, three = planes.some(np.arange(4)), planes.some(np.array([0, 1, 3]))
    assert every.columns.tolist() == [2, 5]
    assert three.columns.tolist() == [5]
    assert three.coef.tolist() == [[2.0], [-2.0], [5.0]]
    assert three.threshold.tolist() == [0.0, 1.0, 3.0]


def test_where_a_machine_fails_a_single_feature_divides() -> None:
    """An interval of one class: the machine gives all rows to the larger class."""
    X = np.linspace(-1, 1, 41)[:, None]
    y = (np.abs(X[:, 0]) < 0.2).astype(int)
    model = full_grown(LMDTClassifier, random_state=3).fit(X, y)
    labels = [model.tree_.origin_labels[origin] for origin in model.tree_.origin if origin >= 0]
    assert "axis-parallel" in labels
    assert model.score(X, y) == 1.0


def test_the_fallback_is_carts_split() -> None:
    X = np.linspace(-1, 1, 41)[:, None]
    y = (np.abs(X[:, 0]) < 0.2).astype(int)
    problem = encode(X, y, 2)
    frozen = LMDT(temperature=0.01)  # nothing is ever corrected: all rows go to the first class
    grown = grow_lmdt(problem, frozen, "gini")
    cart = CartClassifier(criterion="gini", pruning=None).fit(X, y).tree_
    assert frozen.journal.tried == 0
    for name in ("threshold", "stats", "gain", "coef", "n_samples"):
        np.testing.assert_array_equal(getattr(grown, name), getattr(cart, name))


@pytest.mark.parametrize("most", [2, 3, 5, 9])
def test_best_first_growth_stays_within_the_limit(most: int) -> None:
    grown = grow_lmdt(encode(X, Y, 4), rules=Rules(max_leaf_nodes=most))
    assert 1 <= grown.n_leaves <= most
    free = grow_lmdt(encode(X, Y, 4))
    assert grow_lmdt(encode(X, Y, 4), rules=Rules(max_leaf_nodes=10**6)) == free


# --- weights, seeds and counts --------------------------------------------------------------


@examples(25)
@given(seed=st.integers(0, 10**6))
def test_weights_are_repeated_rows_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    X = rng.integers(0, 6, (n, 3)) / 10
    X[:, 2] = 0.3
    y = rng.integers(0, 3, n)
    weight = rng.integers(1, 4, n)
    order = rng.permutation(int(weight.sum()))
    weighted = full_grown(LMDTClassifier).fit(X, y, sample_weight=weight)
    repeated = full_grown(LMDTClassifier).fit(
        np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order]
    )
    assert weighted.n_hyperplanes_ == repeated.n_hyperplanes_
    for name in ("kind", "coef_idx", "coef", "threshold", "stats", "gain"):
        np.testing.assert_array_equal(
            getattr(weighted.tree_, name), getattr(repeated.tree_, name), err_msg=name
        )


def test_heavy_rows_are_heeded_more() -> None:
    """Rows of weight 50 are right, where rows of weight 1 lie between them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.repeat([[0.0, 0.0], [1.0, 1.0]], 150, axis=0)
    y = np.repeat([0, 1], 150)
    weight = np.where(y == 0, 50.0, 1.0)
    kinds = {"max_depth": 1, "random_state": 0, "pruning": None}
    plain = LMDTClassifier(**kinds).fit(X, y)
    heavy = LMDTClassifier(**kinds).fit(X, y, sample_weight=weight)
    side = {model: model.tree_.stats.argmax(axis=1) for model in (plain, heavy)}
    share = {model: (side[model][model.apply(X)] == 0)[y == 0].mean() for model in side}
    assert share[heavy] > max(share[plain], 0.97)


def test_what_is_counted() -> None:
    """Separable at once: the number of corrections is the twin's, at the root alone."""
    Z, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 4.0], [3.0, 1.0]]), np.array([0, 0, 1, 1])
    model = LMDTClassifier(pruning=None, random_state=0, rows_per_weight=0.0).fit(Z, y)
    assert model.get_n_leaves() == 2
    weights = np.ones(4, dtype=np.int64)
    chosen, _ = different_rows(Z, y, weights)
    rows = Standard.of(Z, weights).rows(Z[chosen])
    method = LMDT(rows_per_weight=0.0)
    expected = machine_of_the_twin(rows, y[chosen], [1] * 4, model._key(), method)[2]
    assert model.n_hyperplanes_ == expected > 0
    assert LMDTClassifier(pruning=None).fit(Z, [1, 1, 1, 1]).n_hyperplanes_ == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_machines_of_all_trees_are_counted(
    n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def counted(*args: Any) -> Any:
        machine, corrections = best_machine(*args)
        tried.append(corrections)
        return machine, corrections

    monkeypatch.setattr(lmdt, "best_machine", counted)
    alone = full_grown(LMDTClassifier, n_jobs=n_jobs).fit(X, Y)
    assert alone.n_hyperplanes_ == sum(tried)
    folds = LMDTClassifier(pruning="cv", n_folds=3, random_state=0, n_jobs=n_jobs).fit(X, Y)
    assert alone.n_hyperplanes_ + folds.n_hyperplanes_ == sum(tried)
    assert folds.n_hyperplanes_ > 2 * alone.n_hyperplanes_


@examples(15)
@given(seed=st.integers(0, 10**6))
def test_elimination_is_the_twins(seed: int) -> None:
    """Training, elimination and choice, step by step with the twin's parts."""
    rng = np.random.default_rng(seed)
    n, p, n_classes = int(rng.integers(6, 30)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    Y = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    y = rng.integers(0, n_classes, n).astype(np.int32)
    y[:n_classes] = np.arange(n_classes)
    weights = rng.integers(1, 4, n)
    method = LMDT(max_passes=30, rows_per_weight=float(rng.choice([0.0, 2.0, 4.0])))
    machine, corrections = best_machine(Y, y, weights, seed, method, TrainingWatch())
    assert machine is not None
    expected = machine_of_the_twin(Y, y, weights.tolist(), seed, method)
    assert machine.variables.tolist() == expected[0]
    np.testing.assert_array_equal(machine.W, expected[1])
    assert corrections == expected[2]


def machine_of_the_twin(
    Y: np.ndarray, y: np.ndarray, weights: list[int], key: int, method: LMDT
) -> tuple[list[int], list[list[float]], int]:
    from obliqua._core.base.rng import child_key

    variables = list(range(Y.shape[1] - 1))
    W = [[0.0] * Y.shape[1] for _ in range(int(y.max()) + 1)]
    corrections, found = 0, []
    while True:
        key = child_key(key, len(variables))
        rows = [[1.0, *(float(row[1 + v]) for v in variables)] for row in Y]
        heat = twin.Heat()
        corrections += twin.train(
            rows, y.tolist(), twin.times_shown(weights), W, key, heat, method.max_passes
        )[0]
        right = sum(
            w for w, row, c in zip(weights, rows, y, strict=True) if twin.winner(W, row) == c
        )
        accuracy = right / sum(weights)
        if len(variables) == 1 or len(Y) >= method.rows_per_weight * (len(variables) + 1):
            found.append((accuracy, list(variables), [list(v) for v in W]))
        best = max((entry[0] for entry in found), default=0.0)
        if len(variables) == 1 or (found and accuracy < best - method.elimination_stop - twin.TIE):
            break
        gone = twin.least_telling(W)
        del variables[gone]
        for vector in W:
            del vector[gone + 1]
    _, chosen, at_the_time = [entry for entry in found if entry[0] >= best - twin.TIE][-1]
    return chosen, at_the_time, corrections


# --- what it learns -------------------------------------------------------------------------


def test_ten_features_at_once() -> None:
    """The set LS10 of the OC1 paper: two leaves, where axis-parallel trees have hundreds."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 10))
    y = X[:, :5].sum(axis=1) < X[:, 5:].sum(axis=1)
    model = full_grown(LMDTClassifier).fit(X[:1600], y[:1600])
    assert model.get_n_leaves() <= 5
    assert model.score(X[1600:], y[1600:]) > 0.985


def test_a_criterion_of_ones_own_sees_the_weights_that_were_given() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    labels = (rows.sum(axis=1) + rng.normal(size=200) > 0).astype(int)
    seen = []

    def saved(left: Any, right: Any) -> float:
        seen.append(left.sum() + right.sum())
        return float(left.max() + right.max() - (left + right).max())

    weights = rng.random(200)
    model = LMDTClassifier(criterion=saved, pruning=None, random_state=0, max_depth=3)
    model.fit(rows, labels, sample_weight=weights)
    assert max(seen) == pytest.approx(weights.sum())
    assert model.tree_.gain.max() < weights.sum()


def test_a_criterion_that_is_not_finite_is_refused() -> None:
    model = LMDTClassifier(criterion=lambda left, right: np.nan, pruning=None, random_state=0)
    with pytest.raises(ValueError, match="must return a finite number"):
        model.fit([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]], [0, 0, 1, 1])
