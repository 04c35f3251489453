"""Missing values on both sides of splits, checked node by node against the twin."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import CartClassifier, QuestClassifier
from obliqua.criteria import CRITERIA
from obliqua.data.problem import Problem, encode, encode_numbers
from obliqua.data.table import plain_table
from obliqua.data.target import Numbers
from obliqua.engine.assemble import GO_LEFT, GO_RIGHT, STAND_IN
from obliqua.engine.grow import grow
from obliqua.engine.proposals import AXIS, Proposals
from obliqua.engine.rules import Rules
from obliqua.errors import TreeError
from obliqua.explain import margins
from obliqua.export import export_rules, export_text
from obliqua.methods.cart_lc import LinearCombination
from obliqua.methods.hhcart import Householder
from obliqua.methods.means import class_means
from obliqua.methods.oc1 import Climb
from obliqua.spectrum import gram
from obliqua.tree import MissingSide, Model, TreeBuilder
from obliqua.tree.fold import fold
from obliqua.tree.tree import Tree
from problems import examples
from reference import criteria, missing, search
from reference import walk as slow
from reference.numbers import goodness as number_goodness


def table(seed: int, n: int, p: int = 4) -> tuple[np.ndarray, np.random.Generator]:
    """Columns with ties and gaps; one may be constant, or missing everywhere."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 12), (n, p)) / 4.0
    X[rng.random((n, p)) < rng.choice([0.0, 0.1, 0.4, 0.9], p)] = np.nan
    if seed % 5 == 0:
        X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 2.0)
    if seed % 7 == 0:
        X[:, 2] = np.nan
    return X, rng


def classes_of(
    seed: int, n: int = 40, weighted: bool = False, n_classes: int = 3, p: int = 4
) -> Problem:
    X, rng = table(seed, n, p)
    known = np.nan_to_num(X, nan=1.5)
    score = known[:, 0] + known[:, -1] + np.isnan(X[:, 0]) + rng.normal(size=n) / 2
    y = np.digitize(score, np.quantile(score, [0.4, 0.7][: n_classes - 1]))
    weights = rng.integers(1, 4, n) if weighted else None
    return encode(plain_table(X, None, True), y, n_classes, sample_weight=weights)


def nodes_of(tree: Tree, data: Problem) -> list[np.ndarray]:
    """The rows that reach each node."""
    reached = np.zeros((data.n_rows, tree.n_nodes), dtype=bool)
    for row, values in enumerate(data.Z):
        reached[row, slow.path(tree, values)] = True
    return [np.flatnonzero(column) for column in reached.T]


def weights_of(data: Problem, rows: np.ndarray) -> list[int]:
    return [1] * len(rows) if data.weights is None else data.weights[rows].tolist()


def assert_cut(tree: Tree, node: int, data: Problem, rows: np.ndarray, found: Any) -> None:
    """A node has the twin's cut; where nothing is missing here, what is goes with most rows."""
    if found is None:
        assert tree.is_leaf[node]
        return
    _score, cut = found
    assert not tree.is_leaf[node]
    plane = tree.plane_ptr[node]
    k = tree.coef_ptr[plane]
    side = cut.side
    if side == 0 and data.has_missing[cut.column]:
        weights = np.array(weights_of(data, rows))
        side = 1 if 2 * weights[cut.left].sum() >= weights.sum() else 2
    assert (
        tree.coef_idx[k],
        tree.coef[k],
        tree.threshold[plane],
        tree.missing_side[plane],
    ) == (cut.column, cut.coef, cut.threshold, side)
    assert tree.n_samples[tree.first_child[node]] == cut.left.sum()
    if cut.coef:
        assert (tree.fill[k] <= cut.threshold) == (side == 1) or side == 0


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
@examples(12)
@given(
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    n_classes=st.integers(2, 3),
    least=st.sampled_from([1, 1, 3]),
    zero_gain=st.booleans(),
)
def test_cuts_of_classes_are_the_twins(
    criterion: str, seed: int, weighted: bool, n_classes: int, least: int, zero_gain: bool
) -> None:
    data = classes_of(seed, weighted=weighted, n_classes=n_classes)
    rules = Rules(min_samples_leaf=least, zero_gain=zero_gain)
    tree = grow(data, AXIS, criterion, rules)
    tree.validate()
    code = CRITERIA[criterion].code
    for node, rows in enumerate(nodes_of(tree, data)):
        assert tree.n_samples[node] == len(rows)
        y, w = data.y[rows], np.array(weights_of(data, rows))
        sums = np.bincount(y, w, minlength=n_classes).astype(int)
        if np.count_nonzero(sums) < 2 or len(rows) < 2 * least:
            assert tree.is_leaf[node]
            continue

        def score(left: np.ndarray, y: Any = y, w: Any = w, sums: Any = sums) -> float | None:
            if min(left.sum(), (~left).sum()) < least:
                return None
            part = np.bincount(y[left], w[left], minlength=n_classes).astype(int)
            return criteria.goodness(code, part.tolist(), (sums - part).tolist())

        found = missing.best_cut(np.asarray(data.Z[rows]), score, zero_gain=zero_gain)
        assert_cut(tree, node, data, rows, found)


@examples(25)
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), m=st.integers(1, 3))
def test_cuts_of_numbers_are_the_twins(seed: int, weighted: bool, m: int) -> None:
    X, rng = table(seed, 40)
    y = np.nan_to_num(X[:, :1], nan=3.0) * rng.integers(-1, 2, m) + rng.integers(0, 3, (40, m))
    weights = rng.integers(1, 4, 40) if weighted else None
    data = encode_numbers(plain_table(X, None, True), y, sample_weight=weights)
    tree = grow(data, None, "squared_error", Rules())
    tree.validate()
    assert isinstance(data.target, Numbers)
    grid = data.target.grid.reshape(40, m)
    for node, rows in enumerate(nodes_of(tree, data)):
        assert tree.n_samples[node] == len(rows)
        w = np.array(weights_of(data, rows))
        sums = (grid[rows] * w[:, None]).sum(axis=0)
        if (grid[rows] == grid[rows][0]).all():
            assert tree.is_leaf[node]
            continue

        def score(left: np.ndarray, rows: Any = rows, w: Any = w, sums: Any = sums) -> float:
            part = (grid[rows[left]] * w[left, None]).sum(axis=0)
            return number_goodness(part.tolist(), sums.tolist(), int(w[left].sum()), int(w.sum()))

        assert_cut(tree, node, data, rows, missing.best_cut(np.asarray(data.Z[rows]), score))


@pytest.mark.parametrize("best_first", [False, True])
def test_several_threads_and_large_nodes(best_first: bool) -> None:
    for seed, criterion in ((1, "gini"), (2, "twoing"), (3, "entropy")):
        data = classes_of(seed, n=30_000, weighted=seed == 2)
        rules = Rules(best_first=best_first, max_leaf_nodes=60)
        alone = grow(data, AXIS, criterion, rules)
        assert grow(data, AXIS, criterion, rules, n_threads=3) == alone
        order = np.random.default_rng(seed).permutation(data.n_rows)
        assert grow(data.take(order), AXIS, criterion, rules) == alone
        assert {1, 2} <= set(alone.missing_side.tolist())


OBLIQUE = {
    "Householder": Proposals(Householder(variant="dominant"), axis_parallel=False),
    "with axes": Proposals(Householder(fisher=True)),
    "in Python": Proposals(class_means, axis_parallel=False),
    "sparse": Proposals(Householder(), max_features=2),
}


@pytest.mark.parametrize("name", OBLIQUE)
@examples(15)
@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_an_oblique_split_has_its_best_side(name: str, seed: int, weighted: bool) -> None:
    """Along the normal of a split, neither a stand-in nor the other side gains more."""
    data = classes_of(seed, n=60, weighted=weighted)
    tree = grow(data, OBLIQUE[name], "gini", Rules())
    tree.validate()
    for node, rows in enumerate(nodes_of(tree, data)):
        assert tree.n_samples[node] == len(rows)
        if tree.is_leaf[node] or tree.n_node_features[node] < 2:
            continue
        plane = tree.plane_ptr[node]
        part = slice(tree.coef_ptr[plane], tree.coef_ptr[plane + 1])
        columns = tree.coef_idx[part]
        raw = np.asarray(data.Z[rows][:, columns])
        gone = np.isnan(raw).any(axis=1)
        X = np.where(np.isnan(raw), tree.fill[part], raw)
        z, tolerance = search.project(
            X, search.Direction(tuple(range(len(columns))), tuple(tree.coef[part].tolist()))
        )
        tried = [z]
        if gone.any() and not gone.all():
            tried += [np.where(gone, end, z) for end in (z[~gone].max(), z[~gone].min())]
        y, w = data.y[rows], np.array(weights_of(data, rows))
        sums = np.bincount(y, w, minlength=3).astype(int)
        best = []
        for values in tried:
            scores = [0.0]
            ends = np.unique(values)
            for a, b in itertools.pairwise(ends):
                if b - a > tolerance:
                    left = np.bincount(y[values <= a], w[values <= a], minlength=3).astype(int)
                    scores.append(criteria.goodness(1, left.tolist(), (sums - left).tolist()))
            best.append(max(scores))
        side = int(tree.missing_side[plane])
        share = w.sum() / data.total_weight
        assert tree.gain[node] == pytest.approx(share * max(best), rel=1e-12)
        assert best[(0, 2, 1)[side]] == max(best)
        if side == 0 and len(best) > 1:
            assert best[0] == max(best)


def test_only_missing_values_tell() -> None:
    X = np.array([[np.nan]] * 5 + [[1.0], [2.0], [3.0], [4.0], [5.0]])
    y = np.array([1] * 5 + [0] * 5)
    for data in (
        encode(plain_table(X, None, True), y, 2),
        encode_numbers(plain_table(X, None, True), y),
    ):
        tree = grow(
            data, None, "gini" if data.target.task == "classification" else "squared_error"
        )
        assert (tree.n_leaves, tree.coef.tolist(), tree.missing_side.tolist()) == (2, [0.0], [2])
        assert tree.apply(np.array([[1e300], [-1e300], [np.nan]])).tolist() == [1, 1, 2]


def test_sides_are_numbered_alike() -> None:
    assert list(MissingSide) == [STAND_IN, GO_LEFT, GO_RIGHT]


def test_a_tree_by_hand_takes_missing_values_by_its_side() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 1.0}, 0.0, "ab", missing="right")
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    rows = np.array([[np.nan, -5.0], [np.nan, 5.0], [-1.0, -1.0]])
    assert Model.of_tree(tree).takes_missing
    assert tree.apply(rows).tolist() == [2, 2, 1]
    # Nothing that is known of the first two takes them to the other side.
    found = margins(tree, rows)
    assert found.smallest.tolist() == [np.inf, np.inf, pytest.approx(np.sqrt(2))]
    np.testing.assert_array_equal(found.closest()[:2], rows[:2])
    assert str(export_rules(tree)[0]).startswith("if x0 + x1 <= 0 then")
    assert "(x0 + x1 > 0 or any is missing)" in str(export_rules(tree)[1])
    folded = fold(tree, matrix=[[1.0, 1.0], [0.0, -1.0]])
    assert folded.coef.tolist() == [1.0, 0.0]
    assert folded.apply(np.array([[-1.0, np.nan], [-1.0, 3.0]])).tolist() == [2, 1]
    with pytest.raises(TreeError, match="2 columns"):
        gram(folded)


@pytest.mark.parametrize("method", [Climb(), LinearCombination()], ids=lambda m: type(m).__name__)
def test_starts_do_not_depend_on_who_scores(method: Any) -> None:
    """What begins at the best axis begins at the best with stand-ins, where values are missing."""

    def gini(left: np.ndarray, right: np.ndarray) -> float:
        return criteria.goodness(1, [int(v) for v in left], [int(v) for v in right])

    for seed in range(8):
        data = classes_of(seed, n=80)
        alone = Proposals(method, axis_bias=0.0)
        one, two = (grow(data, alone, score, Rules(max_depth=1)) for score in ("gini", gini))
        assert one.gain[0] == pytest.approx(two.gain[0], rel=1e-9)


def test_a_method_without_a_split_of_its_own_still_asks_what_is_missing() -> None:
    """All known values are the same: nothing but their absence tells."""
    y = np.repeat([0, 1], 50)
    X = np.where(y == 1, np.nan, 1.0)[:, None]
    model = QuestClassifier(pruning=None).fit(X, y)
    assert (model.score(X, y), model.get_n_leaves()) == (1.0, 2)


def test_words_say_where_missing_goes_once() -> None:
    """Of one column always; not below a node that has sent away all rows that miss it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    X[rng.random(300) < 0.2] = np.nan
    for kind in (CartClassifier, QuestClassifier):
        model = kind(pruning=None, max_leaf_nodes=4).fit(X, y)
        text = export_text(model)
        marked = text.count("[missing:") + text.count(" is known")
        reached = model.tree_.decision_path(X).toarray()[np.isnan(X[:, 0])].any(axis=0)
        assert marked == (reached & ~model.tree_.is_leaf).sum()
        assert model.tree_.to_frame()["question"].str.contains("missing:|is known").sum() == marked
