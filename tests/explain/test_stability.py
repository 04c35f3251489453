"""How splits change when their rows are drawn again."""

from __future__ import annotations

import math
import pickle
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from estimators.registry import each_estimator
from obliqua import (
    C45Classifier,
    CartClassifier,
    CartRegressor,
    EigenTreeClassifier,
    HHCartClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    RefinedTreeRegressor,
    RepeatedTreesClassifier,
    TreeBuilder,
)
from obliqua._core.base.rng import row_hashes
from obliqua.errors import TreeError
from obliqua.explain import split_stability
from obliqua.explain.stability import angle_between
from problems import examples, gaussians, integers

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(data: Data, seed: int, node: int, number: int) -> list[int]:
    """The rows of a resample: distinct rows in the order of their hashes, drawn by weight."""
    Z, codes, weights = data
    hashes = row_hashes(np.ascontiguousarray(Z), codes.astype(np.int64), seed).tolist()
    weight: dict[int, float] = {}
    place: dict[int, int] = {}
    for i, key in enumerate(hashes):
        weight[key] = weight.get(key, 0.0) + weights[i]
        place.setdefault(key, i)
    keys = sorted(weight)
    shares = np.array([weight[key] for key in keys])
    whole = all(value == int(value) for value in weights)
    n_draws = int(shares.sum()) if whole else len(weights)
    rng = np.random.default_rng([seed, node, number])
    counts = rng.multinomial(n_draws, shares / shares.sum())
    return [place[key] for key, count in zip(keys, counts, strict=True) for _ in range(count)]


def twin(model: Any, data: Data, node: int, n_resamples: int, limits: Any = None) -> Any:
    """Angles and shares moved of a node's split, one resample after another.

    `limits` gives the parameters of the stump and the weights of the classes.
    """
    params, class_weight = limits or ({}, None)
    Z, y, weights = data
    reach = np.flatnonzero(model.decision_path(Z).toarray()[:, node])
    Z, y, weights = Z[reach], y[reach], weights[reach]
    codes = np.searchsorted(model.classes_, y)
    mean = np.average(Z, axis=0, weights=weights)
    deviation = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weights))
    old = model.tree_.coefficients(node)
    left = Z @ old <= model.tree_.threshold[model.tree_.plane_ptr[node]]
    angles, moved = [], []
    for number in range(n_resamples):
        rows = drawn((Z, codes, weights), 7, node, number)
        stump = clone(model).set_params(max_depth=1, pruning=None, random_state=0, **params)
        chosen = None if class_weight is None else class_weight[codes[rows]]
        stump.fit(Z[rows], y[rows], chosen)
        if stump.tree_.n_nodes == 1:
            angles.append(math.nan)
            moved.append(math.nan)
            continue
        new = stump.tree_.coefficients(0)
        cosine = abs((old * deviation) @ (new * deviation))
        cosine /= np.linalg.norm(old * deviation) * np.linalg.norm(new * deviation)
        angles.append(math.degrees(math.acos(min(cosine, 1.0))))
        change = weights[(Z @ new <= stump.tree_.threshold[0]) != left].sum() / weights.sum()
        moved.append(min(change, 1 - change))
    return np.array(angles), np.array(moved)


def as_found(model: Any, data: Data, **options: Any) -> Any:
    X, y, weight = data
    return split_stability(
        model, X, y, sample_weight=weight, n_resamples=8, random_state=7, **options
    )


@pytest.mark.parametrize("Estimator", [CartClassifier, HHCartClassifier])
@pytest.mark.parametrize("weights", ["ones", "whole", "broken"])
def test_resamples_are_those_of_the_twin(Estimator: Any, weights: str) -> None:
    case = integers(90, n_columns=3)  # ties, and equal rows
    X, y = np.vstack([case.X, case.X[:20]]), np.concatenate([case.y, case.y[:20]])
    rng = np.random.default_rng(0)
    weight = {
        "ones": np.ones(110),
        "whole": rng.integers(1, 4, size=110).astype(float),
        "broken": rng.random(110) + 0.25,
    }[weights]
    model = Estimator(max_depth=3, pruning=None).fit(X, y, weight)
    found = as_found(model, (X, y, weight))
    assert found.nodes.tolist() == np.flatnonzero(~model.tree_.is_leaf).tolist()
    for k, node in enumerate(found.nodes.tolist()):
        angles, moved = twin(model, (X, y, weight), node, 8)
        np.testing.assert_allclose(found.angles[k], angles, atol=1e-5)
        np.testing.assert_allclose(found.moved[k], moved, atol=1e-12)
        assert found.n_rows[k] == model.decision_path(X).toarray()[:, node].sum()


@pytest.mark.parametrize("name", ["class_weight", "min_samples_leaf", "min_weight_fraction_leaf"])
def test_limits_and_class_weights_stay_those_of_the_whole_tree(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = ((X[:, 0] > 0.5) & (rng.random(300) < 0.5 + 0.2 * X[:, 1])).astype(int)
    value = {"class_weight": "balanced"}.get(name, 0.12)
    model = CartClassifier(criterion="sum_minority", max_depth=2, pruning=None, **{name: value})
    model.fit(X, y)
    node = int(np.flatnonzero(~model.tree_.is_leaf)[-1])
    share = int(model.tree_.n_samples[node]) / 300
    assert 0 < share < 0.5
    balanced = 300 / (2 * np.bincount(y)) if name == "class_weight" else None
    meant = {
        "class_weight": None,
        "min_samples_leaf": ceil(0.12 * 300),
        "min_weight_fraction_leaf": 0.12 / share,
    }[name]
    data = (X, y, np.ones(300))
    angles, moved = twin(model, data, node, 8, ({name: meant}, balanced))
    found = as_found(model, (X, y, None), nodes=node)
    np.testing.assert_allclose(found.angles[0], angles, atol=1e-5)
    np.testing.assert_allclose(found.moved[0], moved, atol=1e-12)
    # As shares of the node's own rows they would mean something else.
    other = twin(model, data, node, 8)
    assert not np.array_equal(other[1], moved, equal_nan=True)


def test_a_limit_of_gain_stays_that_of_the_whole_tree() -> None:
    case = gaussians(200, n_columns=3, n_classes=2, seed=1)
    free = CartClassifier(max_depth=2, pruning=None).fit(case.X, case.y)
    gain = float(free.tree_.gain[1])
    share = float(free.tree_.weighted_n_node_samples[1]) / 200
    # Between the gain within the whole tree and the one within the node.
    model = clone(free).set_params(min_impurity_decrease=gain * 0.2)
    assert model.fit(case.X, case.y).tree_.kind[1] == 1
    data = (case.X, case.y, None)
    assert as_found(model, data, nodes=1).no_split[0] < 0.5
    model.set_params(min_impurity_decrease=gain / share * 0.99)  # too much for the node's gain
    assert as_found(model, data, nodes=1).no_split[0] > 0.9


class Everything:
    """In place of a generator: each row is drawn as often as it is there."""

    def multinomial(self, n: int, shares: np.ndarray) -> np.ndarray:
        return np.round(n * shares).astype(np.int64)

    def integers(self, high: int) -> int:
        return 0


@pytest.mark.parametrize("scale", [None, "standard", "robust", "minmax"])
@pytest.mark.parametrize(
    "shares",
    [{}, {"class_weight": "balanced"}, {"priors": "equal"}],
    ids=["", "weights", "priors"],
)
def test_rows_that_are_not_resampled_give_the_splits_of_the_tree(
    monkeypatch: pytest.MonkeyPatch, scale: str | None, shares: dict[str, Any]
) -> None:
    """What a tree found from all its rows, its scales too, is the same for a node below."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :8]
    model = HHCartClassifier(scale=scale, max_depth=4, pruning=None, **shares).fit(X, y)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Everything())
    found = split_stability(model, X, y, n_resamples=1)
    assert len(found.nodes) >= 6
    np.testing.assert_allclose(found.angles, 0.0, atol=1e-3)  # directions are rounded
    np.testing.assert_array_equal(found.moved, 0.0)
    np.testing.assert_array_equal(found.leads, 1.0)


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("fill", ["side", "training"])
def test_regressors_too(monkeypatch: pytest.MonkeyPatch, scale: str | None, fill: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :5] * [1.0, 100.0, 0.01, 1.0, 1.0]
    grown = {"max_depth": 3, "pruning": None, "fill": fill}
    trees = [ObliqueTreeRegressor(scale=scale, **grown), CartRegressor(**grown)]
    with monkeypatch.context() as patch:
        patch.setattr(np.random, "default_rng", lambda seed: Everything())
        for model in trees:
            found = split_stability(model.fit(X, y), X, y, n_resamples=1)
            assert len(found.nodes) >= 4
            np.testing.assert_allclose(found.angles, 0.0, atol=1e-3)
            np.testing.assert_array_equal(found.moved, 0.0)
    two = np.column_stack([y, X[:, 0]])
    model = CartRegressor(**grown).fit(X, two)
    found = split_stability(model, X, two, nodes=0, n_resamples=9)
    order = np.random.default_rng(3).permutation(len(X))
    same(found, split_stability(model, X[order], two[order], nodes=0, n_resamples=9))


def test_a_slope_is_stable_and_noise_is_not() -> None:
    X = np.random.default_rng(0).normal(size=(600, 3))
    model, y = ObliqueTreeRegressor(max_depth=1, pruning=None), np.tanh(5 * (X[:, 0] + X[:, 1]))
    found = split_stability(model.fit(X, y), X, y, n_resamples=30)
    assert found.angle_high[0] < 10
    noise = np.random.default_rng(1).permutation(y)
    found = split_stability(model.fit(X, noise), X, noise, n_resamples=30)
    assert found.angle_high[0] > 50


def same(a: Any, b: Any) -> None:
    for name in ("nodes", "angles", "moved", "leads"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.lead == b.lead


@each_estimator
def test_neither_order_nor_threads_change_anything(Estimator: Any) -> None:
    case = integers(120, n_columns=3)
    weight = np.random.default_rng(2).choice([0.0, 0.1, 0.3, 1.0], size=120)
    y = case.y == case.y.max()  # of two classes LMDT makes hyperplanes
    model = Estimator(max_depth=2, pruning=None, random_state=0).fit(case.X, y, weight)
    before = pickle.dumps(model)
    first = as_found(model, (case.X, y, weight))
    assert pickle.dumps(model) == before
    order = np.random.default_rng(3).permutation(120)
    same(first, as_found(model, (case.X[order], y[order], weight[order])))
    model.set_params(n_jobs=2)
    same(first, as_found(model, (case.X, y, weight)))
    root = as_found(model, (case.X, y, weight), nodes=[0])
    np.testing.assert_array_equal(root.angles[0], first.angles[0])


def test_a_weight_of_two_is_a_row_twice() -> None:
    case = integers(80, n_columns=3)
    weight = np.random.default_rng(4).integers(0, 3, size=80)
    model = HHCartClassifier(max_depth=2, pruning=None).fit(case.X, case.y, weight)
    rows = np.repeat(np.arange(80), weight)
    once = as_found(model, (case.X, case.y, weight.astype(float)))
    assert once.moved.max() > 0  # resampling does something here
    same(once, as_found(model, (case.X[rows], case.y[rows], None)))


def planted(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    wrong = rng.random(n_rows) < 0.1
    y[wrong] = 1 - y[wrong]
    return X * [1.0, 100.0, 0.01], y


def test_a_real_boundary_is_stable_and_noise_is_not() -> None:
    for seed in range(3):
        model = HHCartClassifier(max_depth=1, pruning=None, scale="standard")
        high = {}
        for n_rows in (50, 1000):
            X, y = planted(n_rows, seed)
            found = split_stability(model.fit(X, y), X, y, n_resamples=40)
            high[n_rows] = found.angle_high[0]
            assert found.angle[0] < found.angle_high[0]
        assert high[1000] < 15 < high[50] + 5
        assert high[1000] < high[50]
        nothing = np.random.default_rng(seed).permutation(y)
        noise = split_stability(model.fit(X, nothing), X, nothing, n_resamples=40)
        assert noise.angle_high[0] > 50


def test_where_no_split_is_found() -> None:
    X = np.array([[0.0], [1.0]])
    model = CartClassifier(pruning=None).fit(X, [0, 1])
    found = split_stability(model, X, [0, 1], n_resamples=40)
    # Both rows are drawn in about half of the resamples.
    assert 0.2 < found.no_split[0] < 0.8
    assert (found.angle[0], found.same_lead[0], found.moved_median[0]) == (0.0, 1.0, 0.0)
    lines = str(found).splitlines()
    assert " ".join(lines[0].split()) == "node rows angle 90 % moved 90 % same lead no split lead"
    assert lines[1].split()[:5] == ["0", "2", "0.0", "0.0", "0.0%"]
    assert lines[1].endswith("  x0")
    assert repr(found) == "SplitStability(1 nodes, 40 resamples)"
    never = split_stability(model, X, [0, 0], n_resamples=3)
    assert never.no_split[0] == 1.0
    assert np.isnan([never.angle[0], never.same_lead[0], never.moved_high[0]]).all()
    assert "  -  " in str(never)


def test_constant_columns_do_not_lead() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(80, 3.0), rng.normal(size=80)])
    y = (X[:, 1] > 0).astype(int)
    model = ObliqueTreeClassifier(lambda node: [[5.0, 1.0]], axis_parallel=False, pruning=None)
    found = split_stability(model.fit(X, y), X, y, n_resamples=10, nodes=0)
    assert found.lead == ("x1",)
    np.testing.assert_allclose(found.angles, 0.0)
    assert found.same_lead[0] == 1.0


vectors = st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0]), min_size=3, max_size=3)


@examples(200)
@given(vectors, vectors)
def test_angles(a: list[float], b: list[float]) -> None:
    one, other = np.array(a), np.array(b)
    lengths = np.linalg.norm(one), np.linalg.norm(other)
    if 0.0 in lengths:
        expected = 0.0 if lengths[0] == lengths[1] else 90.0
    else:
        cosine = abs(one @ other) / (lengths[0] * lengths[1])
        expected = math.degrees(math.acos(min(cosine, 1.0)))
    assert angle_between(one, other) == pytest.approx(expected, abs=2e-6)
    assert angle_between(one, -7.0 * other) == pytest.approx(expected, abs=2e-6)
    assert 0.0 <= angle_between(one, other) <= 90.0 + 1e-9


def test_small_angles_are_exact() -> None:
    one, other = np.array([1.0, 0.0]), np.array([1.0, 1e-9])
    assert angle_between(one, other) == pytest.approx(math.degrees(1e-9), rel=1e-6)


def test_what_cannot_be_done_is_said() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    model = CartClassifier(pruning=None).fit(X, y)
    for wrong in (model.model_, model.tree_):
        with pytest.raises(TypeError, match="it needs the fitted estimator; got"):
            split_stability(wrong, X, y)
    for grown in (
        EigenTreeClassifier().fit(X, y),
        RepeatedTreesClassifier(n_estimators=1).fit(X, y),
    ):
        with pytest.raises(TypeError, match="does not choose its splits so"):
            split_stability(grown, X, y)
    numbers = np.arange(40.0)
    lines = CartRegressor(leaf_model="linear", max_depth=1).fit(numbers[:, None], numbers**2)
    with pytest.raises(TreeError, match="say linear functions with a penalty"):
        split_stability(lines, numbers[:, None], numbers**2)
    refined = RefinedTreeRegressor(leaf_model="constant").fit(numbers[:, None], numbers)
    with pytest.raises(TypeError, match="RefinedTreeRegressor does not choose its splits so"):
        split_stability(refined, numbers[:, None], numbers)
    with pytest.raises(TreeError, match="Node 1 is a leaf"):
        split_stability(model, X, y, nodes=[0, 1])
    with pytest.raises(TreeError, match="There is no node 9"):
        split_stability(model, X, y, nodes=9)
    with pytest.raises(ValueError, match="a label per row of X; got 2 for 4 rows"):
        split_stability(model, X, [0, 1])
    with pytest.raises(ValueError, match="Node 0 is reached by 1 of the rows"):
        split_stability(model, X, y, sample_weight=[0, 0, 0, 1])
    for weight in ([1.0], [1, 1, 1, -1], [1, 1, 1, np.nan]):
        with pytest.raises(ValueError, match="sample_weight must hold a finite weight"):
            split_stability(model, X, y, sample_weight=weight)
    for options in ({"n_resamples": 0}, {"n_resamples": 1.5}, {"random_state": None}):
        with pytest.raises(ValueError, match="must be an integer of at least"):
            split_stability(model, X, y, **options)
    builder = TreeBuilder(1, 2)
    builder.add_levels("root", 0, [0, 1], ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    model.model_ = type(model.model_)((tree,), "single", model.model_.encoding, model.classes_)
    with pytest.raises(TreeError, match="Node 0 is a set of levels; the stability of a split"):
        split_stability(model, X, y)


def test_progress_is_told() -> None:
    X, y = load_iris(return_X_y=True)
    model = CartClassifier(max_depth=2, pruning=None).fit(X, y)
    told: list[tuple[int, int]] = []
    split_stability(model, X, y, n_resamples=2, progress=lambda done, n: told.append((done, n)))
    n = model.get_n_leaves() - 1
    assert told == [(k, n) for k in range(1, n + 1)]
    with pytest.raises(TypeError, match="progress must be a function"):
        split_stability(model, X, y, progress=True)


def test_a_split_need_not_save_errors_by_itself() -> None:
    """C4.5 would collapse such a stump: both sides have the same largest class."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (X > 0.4).all(axis=1).astype(int)
    tree = C45Classifier().fit(X, y)
    assert tree.tree_.stats[tree.tree_.first_child[0] :][:2].argmax(axis=1).tolist() == [0, 0]
    found = split_stability(tree, X, y, nodes=[0], n_resamples=10)
    assert found.no_split.tolist() == [0.0]
