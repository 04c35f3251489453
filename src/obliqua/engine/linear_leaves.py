"""Trees whose leaves say linear functions of a row.

The function of a node is that of least squares with a penalty on its coefficients, in columns that
are standardised by all rows (`obliqua._core.grow.ridge`), and never says less than the least or
more than the largest number of the node's own rows. Columns of levels take part with a number for
each level, the mean of what its rows have, drawn to the mean of all; these numbers are the same at
all nodes, and so is what stands in for a missing number: the mean of its column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from obliqua._core.base.exact import exact_means
from obliqua._core.grow.ridge import fit_ridge
from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.data.problem import Problem
from obliqua.data.target import TASKS, Numbers
from obliqua.data.weights import round_significant
from obliqua.engine.moments import feature_scale, spread, weight_shift
from obliqua.tree.layout import MissingSide, pointers
from obliqua.tree.spread import node_spreads
from obliqua.tree.tree import Tree

__all__ = [
    "LeafFit",
    "ModelRows",
    "line_errors",
    "model_rows",
    "smoothed_leaves",
    "smoothings_of",
    "with_gains",
    "with_leaves",
    "with_sides",
]

#: As so many rows of the mean of all count beside those of a level.
LEVEL_ROWS = 10.0


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The rows of a problem as linear functions see them."""

    matrix: FloatArray  # (n_rows, n_features): what coefficients multiply, of spread 1
    factor: FloatArray  # (n_features,): by which numbers were multiplied
    fill: FloatArray  # (n_features,): what stands in for a missing value
    tables: dict[int, FloatArray]  # the numbers of levels


_KNOWN: WeakKeyDictionary[Problem, ModelRows] = WeakKeyDictionary()


def model_rows(problem: Problem) -> ModelRows:
    """Return the rows of a problem as linear functions see them; made once for each."""
    if problem not in _KNOWN:
        _KNOWN[problem] = _model_rows(problem)
    return _KNOWN[problem]


def _model_rows(problem: Problem) -> ModelRows:
    factor = feature_scale(problem, "standard")
    fill = problem.means.copy()
    matrix = np.array(problem.Z, dtype=np.float64, order="C")
    tables = {}
    for column in np.flatnonzero(problem.n_levels).tolist():
        numbers = _level_numbers(problem, column)
        tables[column], fill[column] = numbers[:-1], numbers[-1]
        matrix[:, column] = numbers[_levels(problem, column)]
        factor[column] = 1.0
    for column in np.flatnonzero(problem.has_missing & (problem.n_levels == 0)).tolist():
        matrix[np.isnan(matrix[:, column]), column] = fill[column]
    matrix *= factor
    return ModelRows(matrix, factor, fill, tables)


def _levels(problem: Problem, column: int) -> Int64Array:
    """Return the level of each row; missing is the last one."""
    values = problem.Z[:, column]
    return np.where(np.isnan(values), problem.n_levels[column], values).astype(np.int64)


def _level_numbers(problem: Problem, column: int) -> FloatArray:
    """Return the numbers of levels, and of a missing one: shrunken means of spread 1."""
    level = _levels(problem, column)
    sums = problem.target_rows.sums_of_groups(level, int(problem.n_levels[column]) + 1)
    weight, total = sums[:, 0].astype(np.float64), sums[:, 1].astype(np.float64)
    mean = float(sums[:, 1].sum()) / float(sums[:, 0].sum())
    numbers = (total - weight * mean) / (weight + LEVEL_ROWS / problem.row_unit)
    share = weight / weight.sum()
    numbers = numbers - (share * numbers).sum()
    deviation = float(np.sqrt((share * numbers * numbers).sum()))
    return round_significant(numbers / deviation) if deviation > 0.0 else np.zeros(len(numbers))


@dataclass(frozen=True)
class LeafFit:
    """What the nodes of a tree say, and how it is fitted to their rows.

    Parameters
    ----------
    penalty : float or None, default=None
        Nodes say linear functions, and this is what the sum of the squared coefficients costs, in
        rows; None: they say the means of their rows.
    smoothing : float, default=0.0
        As how many rows the node above counts beside a node's own.
    max_features : int or None, default=None
        The most columns of a function; those stay that matter most, and nothing is smoothed.
    """

    penalty: float | None = None
    smoothing: float = 0.0
    max_features: int | None = None

    @property
    def linear(self) -> bool:
        """Whether nodes say linear functions."""
        return self.penalty is not None


def smoothings_of(fits: Iterable[LeafFit]) -> dict[LeafFit, list[LeafFit]]:
    """Put together what differs by smoothing only, by the fit without: it grows the same tree."""
    groups: dict[LeafFit, list[LeafFit]] = {}
    for fit in fits:
        groups.setdefault(replace(fit, smoothing=0.0), []).append(fit)
    return groups


def with_leaves(tree: Tree, problem: Problem, fit: LeafFit) -> Tree:
    """Let the nodes of a tree say what is fitted to their rows.

    Parameters
    ----------
    tree : Tree
        A tree whose nodes say the means of their rows.
    problem : Problem
        The rows that it was grown from; with one number each, if nodes are to say functions.
    fit : LeafFit
        What they are to say.

    Returns
    -------
    Tree
        The tree, with what all nodes say, and what that leaves over in its stats.
    """
    row_unit = problem.row_unit / problem.unit
    if not fit.linear:
        return smoothed_leaves(tree, fit.smoothing, row_unit)
    fits = _Fits(problem, model_rows(problem), fit)
    leaf = tree.apply(problem.Z)
    rows: dict[int, Int32Array] = {}
    order = np.argsort(leaf, kind="stable").astype(np.int32)
    starts = np.searchsorted(leaf[order], np.arange(tree.n_nodes + 1))
    lines: list[Line] = []
    for node in range(tree.n_nodes - 1, -1, -1):  # children stand behind their parents
        if tree.is_leaf[node]:
            rows[node] = order[starts[node] : starts[node + 1]]
        else:
            first = int(tree.first_child[node])
            kids = range(first, first + int(tree.n_children[node]))
            rows[node] = np.concatenate([rows.pop(kid) for kid in kids])
        lines.append(fits.line(rows[node], float(tree.stats[node, 1])))
    tree = _laid_out(tree, lines[::-1], fits.model)
    if fit.max_features is None:
        tree = smoothed_leaves(tree, fit.smoothing, row_unit)
    return _with_errors(_with_spreads(tree, fits.model, problem, leaf), problem, leaf)


def smoothed_leaves(tree: Tree, strength: float, row_unit: float = 1.0) -> Tree:
    """Draw what each node says to what the node above says, and this to the next.

    With strength m, a node of n rows says (n f + m g) / (n + m), where f is its own mean or
    function and g what the node above says (Quinlan 1992). Limits of functions stay.

    Parameters
    ----------
    tree : Tree
        A tree of numbers.
    strength : float
        As how many rows the node above counts.
    row_unit : float, default=1.0
        As how many rows a weight of 1 counts.

    Returns
    -------
    Tree
        The tree, with other functions, or with other means and the squared errors about them.
        The squared errors of functions are as they were.
    """
    if strength == 0.0 or tree.n_nodes == 1:
        return tree
    above = strength / (tree.stats[:, 0] * row_unit + strength)
    if tree.has_lines:
        return _smoothed_lines(tree, above)
    said = _blended(tree, tree.mean.copy(), above)
    stats = tree.stats.copy()
    stats[:, 1:-1] = said
    stats[:, -1] += stats[:, 0] * ((said - tree.mean) ** 2).sum(axis=1)
    return replace(tree, stats=stats)


def _blended(tree: Tree, said: FloatArray, above: FloatArray) -> FloatArray:
    """Mix what a node says with what the node above says, the share of which is `above`."""
    for node in range(1, tree.n_nodes):  # parents stand before their children
        share = above[node]
        said[node] = (1.0 - share) * said[node] + share * said[tree.parent[node]]
    return said


def _smoothed_lines(tree: Tree, above: FloatArray) -> Tree:
    """Mix linear functions, the intercept behind the coefficients of all columns in use."""
    node_of = np.repeat(np.arange(tree.n_nodes), np.diff(tree.leaf_ptr))
    columns, first = np.unique(tree.leaf_idx, return_index=True)
    said = np.zeros((tree.n_nodes, len(columns) + 1))
    said[node_of, np.searchsorted(columns, tree.leaf_idx)] = tree.leaf_coef
    said[:, -1] = tree.leaf_intercept
    said = _blended(tree, said, above)
    # What stands in, and the numbers of levels, are the same for a column at all nodes.
    nodes, column = np.nonzero(said[:, :-1])
    tables = [tree.leaf_table[tree.leaf_table_ptr[k] : tree.leaf_table_ptr[k + 1]] for k in first]
    return replace(
        tree,
        leaf_ptr=pointers(np.bincount(nodes, minlength=tree.n_nodes)),
        leaf_idx=columns[column],
        leaf_coef=said[nodes, column],
        leaf_fill=tree.leaf_fill[first][column],
        leaf_table_ptr=pointers([len(tables[k]) for k in column]),
        leaf_table=np.concatenate([np.empty(0), *(tables[k] for k in column)]),
        leaf_intercept=said[:, -1].copy(),
        leaf_spread=np.full(len(column), np.nan),
    )


class Line(NamedTuple):
    """The linear function of a node."""

    coef: FloatArray  # per column
    intercept: float
    low: float  # of the numbers of its rows
    high: float


@dataclass(frozen=True, eq=False)
class _Fits:
    """Fits linear functions to rows of a problem."""

    problem: Problem
    model: ModelRows
    how: LeafFit

    @property
    def target(self) -> Numbers:
        """The numbers that are learnt."""
        target = self.problem.target
        assert isinstance(target, Numbers)
        return target

    def line(self, rows: Int32Array, mean: float) -> Line:
        """Fit the rows of a node; `mean`: of their numbers."""
        here = self.target.values[rows, 0]
        low, high = float(here.min()), float(here.max())
        q = self.model.matrix.shape[1]
        if low == high or q == 0:
            return Line(np.zeros(q), mean, low, high)
        coef, middle = self._fitted(rows)
        coef = round_significant(coef * self.model.factor)
        return Line(coef, mean - canonical_sum(coef, middle / self.model.factor), low, high)

    def _fitted(self, rows: Int32Array) -> tuple[FloatArray, FloatArray]:
        """Return coefficients of the model's columns, and the means of these."""
        problem = self.problem
        shift = weight_shift(problem.total_weight)
        weighed = (problem.target_rows, (self.how.penalty or 0.0) / problem.row_unit, shift)
        coef, middle, _ = fit_ridge(self.model.matrix, rows, *weighed)
        most = self.how.max_features
        wanted = coef != 0.0
        if most is not None and int(wanted.sum()) > most:
            width = spread(self._as_problem(rows), np.arange(len(rows), dtype=np.int32))
            while int(wanted.sum()) > most:
                size = np.where(wanted, np.abs(coef) * width, np.inf)
                wanted[int(np.argmin(size))] = False
                coef, _, _ = fit_ridge(self.model.matrix, rows, *weighed, wanted.astype(np.uint8))
        return coef * self.target.step, middle

    def _as_problem(self, rows: Int32Array) -> Problem:
        """Return some rows of the model as a problem of plain numbers."""
        problem = self.problem
        weights = None if problem.weights is None else problem.weights[rows]
        matrix = self.model.matrix[rows]
        plain = Encoding.identity(matrix.shape[1])
        return Problem(matrix, problem.target.take(rows), weights, problem.unit, plain)


def canonical_sum(coef: FloatArray, values: FloatArray) -> float:
    """Return the dot product, term by term in their order."""
    total = 0.0
    for a, b in zip(coef.tolist(), values.tolist(), strict=True):
        total += a * b
    return total


def _laid_out(tree: Tree, lines: list[Line], model: ModelRows) -> Tree:
    """Put the functions of all nodes into the arrays of a tree."""
    coef = np.array([line.coef for line in lines]).reshape(len(lines), -1)
    node, column = np.nonzero(coef)
    tables = [model.tables.get(k, np.empty(0)) for k in column.tolist()]
    return replace(
        tree,
        leaf_ptr=pointers(np.bincount(node, minlength=len(lines))),
        leaf_idx=column.astype(np.int32),
        leaf_coef=coef[node, column],
        leaf_fill=model.fill[column],
        leaf_table_ptr=pointers([len(table) for table in tables]),
        leaf_table=np.concatenate([np.empty(0), *tables]),
        leaf_intercept=np.array([line.intercept for line in lines]),
        leaf_low=np.array([line.low for line in lines]),
        leaf_high=np.array([line.high for line in lines]),
        leaf_spread=np.full(len(node), np.nan),
        leaf_gain=tree.leaf_gain if tree.has_lines else np.zeros(len(lines)),
    )


def _with_spreads(tree: Tree, model: ModelRows, problem: Problem, leaf: Int64Array) -> Tree:
    """Measure how much what coefficients multiply varies at the nodes."""
    if not len(tree.leaf_idx):
        return tree
    weights = None if problem.weights is None else problem.weights.astype(np.float64)
    columns, place = np.unique(tree.leaf_idx, return_inverse=True)
    size = np.abs(model.matrix[:, columns]).max(axis=0, initial=0.0)
    exponent = np.frexp(size)[1].astype(np.int32)
    found = node_spreads(model.matrix, leaf, weights, tree.parent, columns, exponent)
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.leaf_ptr))
    spreads = found[node, place] / model.factor[tree.leaf_idx]
    return replace(tree, leaf_spread=round_significant(spreads))


def _with_errors(tree: Tree, problem: Problem, leaf: Int64Array) -> Tree:
    """Put what the functions of the nodes leave over into the stats, and what they gain."""
    stats = tree.stats.copy()
    before = stats[:, -1] + tree.leaf_gain * stats[0, 0]  # about the means
    stats[:, -1] = stats[:, 0] * line_errors(tree, problem, leaf)
    gain = np.maximum(before - stats[:, -1], 0.0) / stats[0, 0]
    return replace(tree, stats=stats, leaf_gain=gain)


def with_gains(tree: Tree, smoothing: float = 0.0) -> Tree:
    """Let gains say by how much splits lower the error of what nodes say.

    Growth orders and compares splits by other numbers: the gain minus the price of coefficients,
    or the gain with penalties. Where it is those numbers already, nothing is changed.

    Parameters
    ----------
    tree : Tree
        A tree of numbers, chosen by squared errors.
    smoothing : float, default=0.0
        How much constants in leaves were smoothed.

    Returns
    -------
    Tree
        The tree. What the best axis-parallel split would have gained is forgotten where it was
        measured by other numbers.
    """
    oblique = tree.n_node_features > 1
    other = tree.has_lines or smoothing > 0.0
    if not (other or oblique.any()):
        return tree
    error = TASKS[tree.task].risk(tree.stats) / tree.stats[0, 0]
    below = np.bincount(tree.parent[1:], weights=error[1:], minlength=tree.n_nodes)
    gain = np.where(tree.is_leaf, 0.0, np.maximum(error - below, 0.0))
    axis_gain = np.where(oblique, np.nan if other else tree.axis_gain, gain)
    axis_gain[tree.is_leaf | np.isnan(tree.axis_gain)] = np.nan
    return replace(tree, gain=gain, axis_gain=axis_gain)


def with_sides(tree: Tree, problem: Problem) -> Tree:
    """Let splits of one number say where rows go that miss it: where what stands in sends them.

    Parameters
    ----------
    tree : Tree
        A tree that was grown from the problem.
    problem : Problem
        The rows, some of which may miss numbers.

    Returns
    -------
    Tree
        The tree. All rows go where they went.
    """
    if not problem.sides:
        return tree
    at = tree.coef_ptr[:-1]
    column = tree.coef_idx[at]
    alone = (np.diff(tree.coef_ptr) == 1) & (tree.missing_side == MissingSide.NONE)
    alone &= problem.has_missing[column] & (problem.n_levels[column] == 0)
    left = tree.coef[at] * tree.fill[at] <= tree.threshold
    side = np.where(left, MissingSide.LEFT, MissingSide.RIGHT)
    return replace(tree, missing_side=np.where(alone, side, tree.missing_side).astype(np.uint8))


def line_errors(tree: Tree, problem: Problem, leaf: Int64Array) -> FloatArray:
    """Return by node the mean squared error of the rows that reach it, if it were a leaf."""
    target = problem.target
    assert isinstance(target, Numbers)
    means = np.zeros(tree.n_nodes)
    node = leaf.copy()
    for depth in range(tree.depth, -1, -1):
        rows = np.flatnonzero(tree.node_depth[node] == depth)
        there, group = np.unique(node[rows], return_inverse=True)
        off = target.values[rows, 0] - tree.line_values(problem.Z[rows], node[rows])
        weights = None if problem.weights is None else problem.weights[rows]
        # Each group is a child of a root that has no rows of its own.
        first_child = np.full(len(there) + 1, -1, dtype=np.int32)
        n_children = np.zeros(len(there) + 1, dtype=np.int32)
        first_child[0], n_children[0] = 1, len(there)
        square = np.ascontiguousarray((off * off)[:, None])
        found = exact_means(square, weights, group + 1, first_child, n_children)
        means[there] = found[1:, 0]
        node[rows] = tree.parent[node[rows]]
    return means
