"""2C-ETCT as a whole, beside the twin that sends the paper's messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from obliqua.data.problem import encode
from obliqua.methods.eigen_tree import EigenTree, Grown, _Folded, grow_eigen_tree
from problems import examples
from reference import eigen_tree as twin

NAMES = ("pca", "fisher", "psc", "first+pca", "first+fisher", "first+psc")


def projected(columns: np.ndarray, directions: Any) -> list[tuple[float, ...]]:
    """The canonical dot products of all rows with all directions."""
    rows = []
    for row in columns.tolist():
        values = []
        for direction in directions:
            total = 0.0
            for column, coef in zip(direction.columns, direction.coef.tolist(), strict=True):
                total += coef * row[column]
            values.append(total)
        rows.append(tuple(values))
    return rows


def small_problem(seed: int) -> Any:
    """Ties, weights, repeated and constant columns, tiny classes, fewer rows than columns."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.4:
        X = rng.integers(0, 4, (n, d)).astype(float)
    if rng.random() < 0.3:
        X = np.column_stack([X, X[:, 0], np.full(n, 3.0)])
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, n)]
    y = (X[:, 0] + rng.normal(size=n) * rng.choice([0.1, 1.0]) > 0.5).astype(int)
    if rng.random() < 0.2:
        y = (np.arange(n) == 0).astype(int)
    weights = rng.integers(1, 4, n) if rng.random() < 0.4 else None
    return encode(X, y, 2, sample_weight=weights)


def created_by_messages(problem: Any, method: EigenTree, key: int) -> twin.Tree:
    """The twin's tree, from the same directions and folds; rows cut up stay one fold's."""
    folded = _Folded(problem, method, (0, 1), key)
    (space, columns, folds) = folded.groups[0]
    weights = [1] * len(folded.y) if folded.weights is None else folded.weights.tolist()
    transformed = [
        [
            twin.Point(features, label, weight)
            for features, label, weight in zip(
                projected(columns, space.directions[name]), folded.y.tolist(), weights, strict=True
            )
        ]
        for name in method.transformations
    ]
    tests = [
        frozenset(np.flatnonzero(folded.numbers[:, division] == number).tolist())
        for division, number in folds.tolist()
    ]
    nothing = [
        [direction.nothing for direction in space.directions[name]]
        for name in method.transformations
    ]
    return twin.Tree.create(transformed, tests, nothing)


def assert_same_tree(grown: Grown, top: twin.Node, unit: float) -> None:
    tree, left = grown.tree, [(top, 0)]
    while left:
        node, number = left.pop()
        np.testing.assert_array_equal(tree.stats[number], np.array(node.counts) * unit)
        assert tree.leaf_label[number] == node.expected
        assert tree.is_leaf[number] == (node.children is None)
        for fold, own in node.folds.items():
            assert grown.total[number, fold] == (own.correct + own.incorrect) * unit
        assert np.isnan(grown.correct[number]).sum() == grown.correct.shape[1] - len(node.folds)
        if node.children is not None:
            assert tree.threshold[tree.plane_ptr[number]] == node.split
            first = tree.first_child[number]
            left += [(node.children[0], first), (node.children[1], first + 1)]


@examples(100)
@given(
    seed=st.integers(0, 10**9),
    n_divisions=st.integers(1, 3),
    n_folds=st.integers(2, 6),
    max_depth=st.sampled_from([None, 1, 2]),
)
def test_the_tree_is_the_twins(
    seed: int, n_divisions: int, n_folds: int, max_depth: int | None
) -> None:
    problem = small_problem(seed)
    method = EigenTree(NAMES, n_divisions, n_folds, max_depth)
    grown = grow_eigen_tree(problem, method, key=seed)
    expected = created_by_messages(problem, method, seed)
    assert grown.transformation == NAMES[expected.best]
    total = problem.total_weight * n_divisions
    for name, top in zip(NAMES, expected.tops, strict=True):
        assert grown.accuracy[name] == top.power / total
    assert_same_tree(grown, expected.top, problem.unit)
    grown.tree.validate()


@examples(50)
@given(seed=st.integers(0, 10**9), in_folds=st.booleans())
def test_rows_end_where_they_were_counted(seed: int, in_folds: bool) -> None:
    problem = small_problem(seed)
    tree = grow_eigen_tree(problem, EigenTree(in_folds=in_folds), key=seed).tree
    leaf = tree.apply(problem.Z)
    counted = np.zeros_like(tree.stats)
    weights = np.ones(len(leaf)) if problem.weights is None else problem.weights
    np.add.at(counted, (leaf, problem.y), weights * problem.unit)
    np.testing.assert_array_equal(counted[tree.is_leaf], tree.stats[tree.is_leaf])
    np.testing.assert_array_equal(
        np.bincount(leaf, minlength=tree.n_nodes)[tree.is_leaf], tree.n_samples[tree.is_leaf]
    )


def rows_of_two_classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    return rng.normal(size=(200, 4)) + y[:, None], y


def test_in_folds_each_fold_has_its_own_directions() -> None:
    X, y = rows_of_two_classes()
    problem = encode(X, y, 2)
    folded = _Folded(problem, EigenTree(in_folds=True), (0, 1), 3)
    assert len(folded.groups) == 10
    for space, _, folds in folded.groups:
        division, number = folds[0]
        training = folded.numbers[:, division] != number
        alone = _Folded(encode(X[training], y[training], 2), EigenTree(), (0, 1), 0).space
        for name in EigenTree().transformations:
            for one, other in zip(space.directions[name], alone.directions[name], strict=True):
                np.testing.assert_array_equal(one.coef, other.coef)
