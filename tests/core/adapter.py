"""The one place where the tests touch the engine's names, and where trees are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from obliqua._core.base.linalg import py_solve
from obliqua.criteria import Criterion, get_criterion
from obliqua.data.problem import Problem, encode
from obliqua.data.target import Classes
from obliqua.engine.grow import grow
from obliqua.engine.lines import Lines
from obliqua.engine.moments import FixedPoint, class_sums
from obliqua.engine.parts import RowsInParts
from obliqua.engine.passes import LineCut, NodeJudge, Search, Zoom, answered
from obliqua.engine.proposals import AXIS, Directions, Planes, Proposals, read_directions
from obliqua.engine.questions import LineRanges, NodeSums
from obliqua.engine.rules import Rules
from obliqua.tree.tree import Tree
from problems import Case
from reference import grow as reference_grow
from reference import hhcart
from reference.criteria import CODES
from reference.search import (
    Direction,
    Limits,
    Split,
    best_split,
    directions,
    project,
    score_function,
)

# arrays that say what a tree does and what it has counted
SUBSTANCE = (
    "kind",
    "first_child",
    "n_children",
    "plane_ptr",
    "coef_ptr",
    "coef_idx",
    "coef",
    "threshold",
    "stats",
    "n_samples",
    "gain",
)


@contextmanager
def threads_everywhere() -> Iterator[None]:
    """Let the engine use its threads on problems that it would think too small for them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("obliqua.engine.grow.SERIAL_ROWS", 8)
        patch.setattr("obliqua.engine.axis_cuts.SERIAL_ROWS", 8)
        patch.setattr("obliqua.engine.search.WORK_PER_THREAD", 1)
        yield


def problem_of(case: Case) -> Problem:
    """The case as the engine sees it."""
    return encode(case.X, case.y, case.n_classes, sample_weight=case.sample_weight)


def twin_data(problem: Problem) -> reference_grow.Data:
    """The same rows and integer weights for the twin."""
    n_rows = len(problem.y)
    weights = [1] * n_rows if problem.weights is None else problem.weights.tolist()
    return reference_grow.Data(
        np.array(problem.Z), problem.y.tolist(), weights, problem.n_classes, problem.unit
    )


def grow_tree(
    problem: Problem | Case,
    criterion: Any = "gini",
    rules: dict[str, Any] | None = None,
    proposer: Any = AXIS,
    n_threads: int = 1,
    key: int = 0,
) -> Tree:
    """Grow a tree with the engine; ``rules`` are keywords of ``Rules``."""
    if isinstance(problem, Case):
        problem = problem_of(problem)
    return grow(
        problem,
        proposer,
        get_criterion(criterion),
        Rules(**(rules or {})),
        n_threads=n_threads,
        key=key,
    )


def grow_twin(
    problem: Problem,
    criterion: str | Callable[..., float] = "gini",
    rules: dict[str, Any] | None = None,
    propose: reference_grow.Propose | None = None,
) -> dict[str, Any]:
    """Grow the twin's tree on the same problem."""
    code = CODES[criterion] if isinstance(criterion, str) else criterion
    return reference_grow.grow(
        twin_data(problem), code, reference_grow.Rules(**(rules or {})), propose
    )


def assert_equals_twin(tree: Tree, twin: dict[str, Any]) -> None:
    """Every node of the two trees is the same, bit for bit."""
    assert tree.kind.tolist() == twin["kind"]
    assert tree.first_child.tolist() == twin["first_child"]
    assert tree.n_samples.tolist() == twin["n_samples"]
    assert tree.stats.tolist() == twin["stats"]
    assert tree.gain.tolist() == twin["gain"]
    for node, kind in enumerate(twin["kind"]):
        first, last = int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1])
        if kind == reference_grow.LEAF:
            assert first == last, f"leaf {node} has a plane"
            continue
        assert last == first + 1, f"node {node} has {last - first} planes"
        stored = slice(int(tree.coef_ptr[first]), int(tree.coef_ptr[first + 1]))
        where = f"node {node}"
        assert tuple(tree.coef_idx[stored].tolist()) == twin["idx"][node], where
        assert tuple(tree.coef[stored].tolist()) == twin["coef"][node], where
        assert float(tree.threshold[first]) == twin["threshold"][node], where


def assert_same_substance(one: Tree, other: Tree, but: tuple[str, ...] = ()) -> None:
    """Two trees ask the same questions and have counted the same rows, bit for bit."""
    for name in SUBSTANCE:
        if name not in but:
            np.testing.assert_array_equal(
                getattr(one, name), getattr(other, name), err_msg=name, strict=True
            )


def assert_rows_reach_their_leaves(tree: Tree, problem: Problem) -> None:
    """Walking down agrees with what growth has counted, row for row."""
    leaf = tree.apply(problem.Z)
    data = twin_data(problem)
    rows = np.bincount(leaf, minlength=tree.n_nodes)
    sums = np.zeros((tree.n_nodes, problem.n_classes))
    np.add.at(sums, (leaf, problem.y), np.array(data.weights, dtype=np.float64))
    ends = tree.kind == reference_grow.LEAF
    assert not rows[~ends].any()
    np.testing.assert_array_equal(rows[ends], tree.n_samples[ends])
    np.testing.assert_array_equal(sums[ends] * problem.unit, tree.stats[ends])


def fixed(normals: Any, thresholds: Any = None) -> Callable[[Any], list[Direction]]:
    """A proposer of the twin that gives every node the same directions."""
    made = directions(normals, thresholds)
    return lambda node: made


@dataclass(frozen=True)
class Found:
    """What the two searches must agree on; ``direction`` is the number in the batch."""

    direction: int
    idx: tuple[int, ...]
    coef: tuple[float, ...]
    threshold: float
    goodness: float
    left_sums: tuple[float, ...]
    rows_left: int
    left: tuple[bool, ...]


def engine_split(
    problem: Problem,
    normals: Any,
    criterion: Any = "gini",
    limits: Limits | None = None,
    thresholds: Any = None,
    n_threads: int = 1,
) -> Found | None:
    """Best split of all rows over a batch of directions, found by the engine.

    The labels carry the numbers of the directions through the engine.
    """
    limits = Limits() if limits is None else limits
    labels = [str(k) for k in range(len(normals))]
    batch = Directions(normals, thresholds=thresholds, labels=labels)
    tree = grow_tree(
        problem,
        criterion,
        {
            "max_depth": 1,
            "min_samples_leaf": limits.min_samples_leaf,
            "min_weight_leaf": limits.min_weight_leaf,
            "zero_gain": limits.zero_gain,
        },
        Proposals(lambda node: batch, axis_parallel=False),
        n_threads,
    )
    if tree.n_nodes == 1:
        return None
    return Found(
        direction=int(tree.origin_labels[tree.origin[0]]),
        idx=tuple(tree.coef_idx.tolist()),
        coef=tuple(tree.coef.tolist()),
        threshold=float(tree.threshold[0]),
        goodness=float(tree.gain[0]),
        left_sums=tuple(tree.stats[1].tolist()),
        rows_left=int(tree.n_samples[1]),
        left=tuple((tree.apply(problem.Z) == 1).tolist()),
    )


def twin_split(
    problem: Problem,
    normals: Any,
    criterion: str | Callable[..., float] = "gini",
    limits: Limits | None = None,
    thresholds: Any = None,
) -> Found | None:
    """The same, found by the twin."""
    data = twin_data(problem)
    code = CODES[criterion] if isinstance(criterion, str) else criterion
    split: Split | None = best_split(
        data.X,
        data.y,
        data.weights,
        data.n_classes,
        directions(normals, thresholds),
        score_function(code, data.unit),
        limits,
    )
    if split is None or len(set(data.y)) == 1:
        return None
    return Found(
        direction=split.direction,
        idx=split.idx,
        coef=split.coef,
        threshold=split.threshold,
        goodness=split.goodness,
        left_sums=tuple(float(v) * data.unit for v in split.left_sums),
        rows_left=split.rows_left,
        left=tuple(split.left.tolist()),
    )


def search_parts(
    parts: Sequence[Problem],
    planes: Planes,
    criterion: Criterion,
    rules: Rules,
    zoom: Zoom | None = None,
) -> LineCut:
    """The best cut along given directions, of rows that lie in parts."""
    source = RowsInParts(parts)
    source.outline.target.check_criterion(criterion)
    lines = Lines.of_planes([planes.row(d) for d in range(len(planes))])

    def looking() -> Search[LineCut]:
        sums, reach = yield [NodeSums(), LineRanges(lines)]
        judge = NodeJudge(source.outline, sums, criterion, rules, zoom or Zoom())
        everything = judge.whole(lines, reach, lines.tolerance(reach, reach))
        cut = yield from judge.best(lines, everything)
        if cut.line < 0 and rules.zero_gain:
            cut = yield from judge.first(lines, everything)
        return cut

    return answered(source, {1: looking()}, {})[1]


def parts_split(
    problem: Problem,
    pieces: Sequence[Any],
    normals: Any,
    criterion: str = "gini",
    limits: Limits | None = None,
    zoom: Zoom | None = None,
) -> Found | None:
    """The same from rows that lie in pieces, each with arrays of its own."""
    limits = Limits() if limits is None else limits
    rules = Rules(min_samples_leaf=limits.min_samples_leaf, min_weight_leaf=limits.min_weight_leaf)
    planes = read_directions(normals, problem.n_features)
    assert planes is not None
    parts = [problem.take(rows) for rows in pieces]
    cut = search_parts(parts, planes, get_criterion(criterion), rules, zoom)
    if cut.line < 0:
        return None
    idx, coef = (tuple(column.tolist()) for column in planes.row(cut.line))
    left = project(np.array(problem.Z), Direction(idx, coef))[0] <= cut.threshold
    weights = 1 if problem.weights is None else problem.weights
    sums = np.bincount(problem.y, left * weights, problem.n_classes) * problem.unit
    return Found(
        direction=cut.line,
        idx=idx,
        coef=coef,
        threshold=cut.threshold,
        goodness=cut.score,
        left_sums=tuple(sums.tolist()),
        rows_left=cut.rows_left,
        left=tuple(left.tolist()),
    )


def exact_measure(problem: Problem) -> hhcart.Measure:
    """Means and scatter matrices as the library computes them, from whole numbers."""
    one = replace(problem, target=Classes(np.zeros_like(problem.y), 1))

    def measure(node: Any) -> hhcart.Measured:
        grid = FixedPoint.of_rows(problem, np.asarray(node, dtype=np.int32))
        plain = replace(grid, shift=np.zeros_like(grid.shift), exponent=0 * grid.exponent)

        def moments(rows: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            sums = class_sums(one, np.asarray(rows, dtype=np.int32), grid)
            in_units = replace(sums, grid=plain)
            return in_units.mean(0), in_units.scatter(0)

        return hhcart.Measured(grid.shift, grid.exponent, moments)

    return measure


def library_solve(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> Any:
    if right.ndim == 1:
        solved = py_solve(matrix, right)
        return np.full_like(right, np.nan) if solved is None else solved
    return np.column_stack([library_solve(matrix, column) for column in right.T])


def library_half(
    matrix: NDArray[np.float64], rows: NDArray[np.float64], lower: bool
) -> NDArray[np.float64]:
    """L^-1 or L'^-1 times each row, matrix = L L'."""
    solved = [py_solve(matrix, row, lower=lower, upper=not lower) for row in rows]
    return np.array(solved, dtype=np.float64)
