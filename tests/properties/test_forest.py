"""Trees of a forest against their slow twin, and packed trees against trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from obliqua._core.forest.trees import ForestData, TreeGrower
from obliqua.data.problem import Problem, encode, encode_numbers
from obliqua.data.table import read_table
from obliqua.forest import ForestRules, Sampling, forest_rows, grow_forest
from obliqua.forest.growing import CRITERIA
from obliqua.forest.levels import places_of
from problems import COLUMNS, ORDINARY, WEIGHTS, examples, lay_out
from reference import forest as twin

seeds = st.integers(0, 2**32 - 1)


def table(rng: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    """Columns with ties, gaps and duplicates, some of them of levels, and some of them wild."""
    p = int(rng.integers(1, 7))
    kinds = COLUMNS if rng.random() < 0.3 else ORDINARY
    dtype = np.dtype(rng.choice(["f4", "f8"]))
    X = np.empty((n, p), dtype=dtype)
    levels = []
    for j in range(p):
        k = rng.integers(0, 65, n)
        chance = rng.random()
        if chance < 0.25:
            levels.append(j)
            X[:, j] = k % rng.integers(1, 6)
        elif chance < 0.45:
            X[:, j] = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
        elif chance < 0.5:  # floats tell apart what sums of doubles do not
            X[:, j] = k - 2.0**53
        else:
            X[:, j] = kinds[rng.integers(len(kinds))](k, dtype)
    X[rng.random((n, p)) < rng.choice([0.0, 0.0, 0.1, 0.5], p)] = np.nan
    if rng.random() < 0.3:
        X = X[rng.integers(0, max(n // 3, 1), n)]
    return lay_out(X, str(rng.choice(["C", "F", "rows", "reversed"]))), levels


def problem(seed: int, numbers: bool) -> tuple[Problem, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60 if rng.random() < 0.7 else 400))  # cells along directions: many
    X, levels = table(rng, n)
    read = read_table(X, levels or None, None, True)
    weights = None
    if rng.random() < 0.5:
        weights = rng.choice(WEIGHTS[str(rng.choice(list(WEIGHTS)))], n)
        weights[0] = max(weights[0], 1.0)
    score = np.nan_to_num(np.asarray(X, dtype=float)).clip(-5, 5).sum(axis=1) + rng.normal(size=n)
    if numbers:
        y = np.round(score[:, None] * rng.normal(size=(1, rng.integers(1, 4))), rng.integers(0, 9))
        return encode_numbers(read, y * 10.0 ** rng.integers(-9, 10), sample_weight=weights), rng
    n_classes = int(rng.integers(1, 6))
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return encode(read, y, n_classes, sample_weight=weights), rng


def forest(seed: int, numbers: bool) -> tuple[Sampling, ForestRules]:
    """How rows are drawn, and rules, of all kinds."""
    data, rng = problem(seed, numbers)
    rows = forest_rows(data)
    p = data.n_features
    replace = bool(rng.random() < 0.6)
    size = float(rng.choice([1, len(rows.source), 2 * data.n_rows, 40 * data.n_rows]))
    share = float(rng.choice([0.02, 0.6, 1.0]))
    sampling = Sampling(
        rows,
        key=int(rng.integers(2**63)),
        replace=replace,
        size=size if replace else share,
        balanced=not numbers and bool(rng.random() < 0.25),
    )
    return sampling, ForestRules(
        criterion="squared_error" if numbers else str(rng.choice(["gini", "entropy"])),
        n_classes=0 if numbers else data.n_classes,
        n_axis=int(rng.integers(0, p + 1)),
        n_oblique=int(rng.integers(0, 4)),
        most_terms=int(rng.integers(1, p + 1)),
        rows_per_term=float(rng.choice([0.0, 1.0, 3.0])),
        direction_rows=int(rng.choice([2, 7, 256])),
        price=float(rng.choice([0.0, 1.0])),
        max_depth=int(rng.choice([-1, -1, 2])),
        min_split=int(rng.choice([2, 2, 5])),
        min_leaf=int(rng.choice([1, 1, 3])),
        max_leaves=int(rng.choice([-1, -1, 2, 5])),
        min_leaf_share=float(rng.choice([0.0, 0.0, 0.1])),
        min_decrease=float(rng.choice([0.0, 0.0, 0.05])),
    )


def grown(
    sampling: Sampling, rules: ForestRules, tree: int, directions: twin.Ask | None = None
) -> dict[str, Any]:
    """The arrays of one tree, from the compiled code."""
    settings = vars(rules) | {"criterion": CRITERIA[rules.criterion]}
    data = ForestData(sampling.rows, sampling.rows.target, settings)
    weights, times = sampling.of_tree(tree)
    numbers = sampling.level_numbers(tree, weights, times)
    places = places_of(numbers, sampling.rows.level_ptr)
    key = sampling.tree_key(tree)
    grower = TreeGrower(data, directions)
    return {"level": numbers} | grower.grow(weights, times, key, numbers, places)


def assert_same_bits(found: Any, wanted: Any, name: str = "") -> None:
    wanted = np.array(wanted, dtype=found.dtype).reshape(found.shape)
    bits = f"u{found.itemsize}"
    np.testing.assert_array_equal(found.view(bits), wanted.view(bits), name)


def some_direction(X: Any, y: Any, weights: Any, depth: int, key: int) -> np.ndarray | None:
    """A normal of a kind that depends on depth and key, from all that a node tells."""
    if (key + depth) % 5 == 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        off = (np.asarray(weights)[:, None] * (X - X[0])).T @ np.asarray(y).reshape(len(y), -1)
    return np.ascontiguousarray(np.where(np.arange(X.shape[1]) == key % 7, 0.0, off[:, 0]))


@examples(400)
@given(seeds, st.booleans(), st.sampled_from([None, some_direction]))
@example(180597, True, None)  # as many levels as rows
@example(4846, False, None)  # more levels than rows
def test_a_tree_is_that_of_its_twin_bit_for_bit(
    seed: int, numbers: bool, ask: twin.Ask | None
) -> None:
    sampling, rules = forest(seed, numbers)
    number = seed % 3
    found, wanted = grown(sampling, rules, number, ask), twin.grown(sampling, rules, number, ask)
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        assert_same_bits(array, wanted[name], name)


@examples(200)
@given(seeds)
def test_the_rows_of_a_tree_are_those_of_its_twin(seed: int) -> None:
    sampling, _ = forest(seed, False)
    weights, times, drawn = twin.sample(sampling, 3)
    found = sampling.of_tree(3)
    assert_same_bits(found[0], weights)
    assert_same_bits(found[1], times)
    # A row is out of bag if none of its pieces is drawn; equal rows have theirs one after another.
    rows = sampling.rows
    left = {
        group: drawn[end - n : end]
        for group, (n, end) in enumerate(
            zip(rows.pieces.tolist(), np.cumsum(rows.pieces).tolist(), strict=True)
        )
    }
    out = np.zeros(len(rows.group), dtype=bool)
    for i in np.argsort(rows.count, kind="stable").tolist():  # of equal rows the lighter first
        mine = left[int(rows.group[i])]
        out[i] = not any(mine[: rows.count[i]])
        del mine[: rows.count[i]]
    np.testing.assert_array_equal(sampling.out_of_bag(3), out)


@examples(200)
@given(seeds, st.booleans())
def test_packed_trees_are_trees(seed: int, numbers: bool) -> None:
    sampling, rules = forest(seed, numbers)
    packed = grow_forest(sampling, rules, 0, 3, n_threads=2)
    rng = np.random.default_rng(seed)
    Z = np.array(sampling.rows.Z)[rng.integers(0, len(sampling.rows.Z), 40)]
    Z[rng.random(Z.shape) < 0.1] = np.nan  # also where the fit had none
    coded = np.diff(sampling.rows.level_ptr) > 0
    Z[:, coded] = rng.integers(-1, 7, Z[:, coded].shape)  # also levels that nobody has seen
    leaves = packed.apply(Z)
    sums = np.zeros((len(Z), packed.n_classes or packed.n_outputs))
    for number, tree in enumerate(packed):
        tree.validate()
        np.testing.assert_array_equal(leaves[:, number], tree.apply(Z))
        stats = tree.stats[leaves[:, number]]
        sums += stats[:, 1:-1] if numbers else stats / stats.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(packed.sums(Z), sums, rtol=1e-12)
    assert packed.changed(lambda tree: tree) == packed


@examples(100)
@given(seeds, st.booleans())
def test_rows_reach_the_leaf_that_has_counted_them(seed: int, numbers: bool) -> None:
    sampling, rules = forest(seed, numbers)
    packed = grow_forest(sampling, rules, 0, 2, n_threads=1)
    Z = np.array(sampling.rows.Z)[sampling.rows.source]
    for number, leaves in enumerate(packed.apply(Z).T):
        weights, times = sampling.of_tree(number)
        tree = packed[number]
        counted = np.bincount(leaves, times, tree.n_nodes)
        np.testing.assert_array_equal(counted[tree.is_leaf], tree.n_samples[tree.is_leaf])
        weighed = np.bincount(leaves, weights * sampling.unit, tree.n_nodes)[tree.is_leaf]
        stats = tree.stats[tree.is_leaf]
        kept = stats[:, 0] if numbers else stats.sum(axis=1)
        np.testing.assert_allclose(weighed, kept, rtol=1e-9)
