"""A tree while it is refined: structure, normals over `SoftRows`, logits of the leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._core.refine.soft import SoftTree
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.criteria import get_criterion
from obliqua.data.problem import Problem
from obliqua.data.target import TASKS, Classes
from obliqua.data.threads import over_rows
from obliqua.data.weights import round_significant
from obliqua.errors import TreeError
from obliqua.prune.reduced_error import add_upwards
from obliqua.refine.rows import Float32Array, SoftRows, WeightColumns, padded
from obliqua.tree.layout import KIND_NAMES, MissingSide, NodeKind, first_children, pointers
from obliqua.tree.spread import with_coded_spreads
from obliqua.tree.tree import Tree

__all__ = ["FLOOR", "Draft", "draft_of", "tree_of"]

#: c in the loss -log(v + c), which bounds what a row can cost: it may be mislabelled.
FLOOR = 0.2
#: The same where numbers are learnt: it may lie far out.
NUMBER_FLOOR = 0.05
_BITS = 24
_ABSENT = -1e4  # the logit of a class that is no class but fills up the width


@dataclass(frozen=True, eq=False)
class Draft:
    """A tree of hyperplanes over soft rows."""

    # (n_nodes, 2): children of the inner nodes, in level order: another one, or -1 - leaf
    child: Int32Array
    # (n_nodes, width): their hyperplanes: a row goes right where ``w.x + b > 0``
    normals: Float32Array
    # (n_nodes, width): 0 for the weights that must stay 0; None if none must
    mask: Float32Array | None = None

    @property
    def n_nodes(self) -> int:
        """The number of inner nodes."""
        return len(self.child)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.child) + 1

    @property
    def depth(self) -> int:
        """The depth of the deepest leaf."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node, sides in enumerate(self.child):  # children stand behind their parents
            depth[sides[sides >= 0]] = depth[node] + 1
        return int(depth.max(initial=-1)) + 1

    def soft(
        self,
        rows: SoftRows,
        logits: Float32Array | None = None,
        lines: Float32Array | None = None,
        narrow: float = 1.0,
    ) -> SoftTree:
        """Return the compiled tree over these rows; it works on this draft's own normals.

        Where numbers are learnt, `lines` are the functions of the leaves, and `narrow` is
        1 / (2 s^2) in exp(-(y - f)^2 / (2 s^2)).
        """
        if logits is None:
            logits = np.zeros((self.n_leaves, padded(rows.n_classes)), dtype=np.float32)
        tree = (self.child, self.normals, logits)
        if rows.numbers is None:
            return SoftTree(rows.arrays, tree, rows.n_classes, FLOOR)
        if lines is None:
            lines = rows.numbers.no_lines(self.n_leaves)
        functions = (rows.numbers.y, rows.numbers.u, lines, narrow)
        return SoftTree(rows.arrays, tree, rows.n_classes, NUMBER_FLOOR, functions)

    def walk(self, rows: SoftRows) -> tuple[Int32Array, FloatArray]:
        """Return each row's leaf; by node the sums of weight, height and its square there."""
        leaf: Int32Array = np.empty(rows.n_rows, dtype=np.int32)
        soft = self.soft(rows)
        parts = over_rows(
            lambda first, last: soft.walk(leaf, first, last), rows.n_rows, rows.n_threads
        )
        return leaf, np.add.reduce(parts)

    def counts(self, rows: SoftRows) -> Int64Array:
        """Return the weight of each class in each leaf, in grid units."""
        leaf, _ = self.walk(rows)
        return class_counts(leaf, rows, self.n_leaves)


def class_counts(leaf: Int32Array, rows: SoftRows, n_leaves: int) -> Int64Array:
    """Return the weight of each class in each leaf."""

    def sums(first: int, last: int) -> FloatArray:
        cells = leaf[first:last].astype(np.int64) * rows.n_classes + rows.y[first:last]
        found = np.bincount(cells, rows.units[first:last], n_leaves * rows.n_classes)
        return found.astype(np.float64, copy=False)

    # Sums of whole numbers below 2**53 are exact in any order.
    total = np.add.reduce(over_rows(sums, rows.n_rows, rows.n_threads))
    return np.asarray(total.astype(np.int64).reshape(n_leaves, rows.n_classes))


def logits_of(counts: Int64Array, rows: SoftRows) -> Float32Array:
    """Return logits of leaves from their classes: shares, drawn a little to those of all rows."""
    unit = rows.n_rows / float(rows.units.sum())  # as if the mean weight were 1
    smooth = counts * unit + rows.class_share + 0.02
    logits = np.full((len(counts), padded(rows.n_classes)), _ABSENT, dtype=np.float32)
    logits[:, : rows.n_classes] = np.log(smooth / smooth.sum(axis=1, keepdims=True))
    return logits


def fitted_lines(soft: SoftTree, leaf: Int32Array, rows: SoftRows) -> tuple[Any, FloatArray]:
    """Return the functions of leaves, of the rows that are in them, and their squared errors."""
    numbers = rows.numbers
    assert numbers is not None
    sums = np.add.reduce(
        over_rows(lambda first, last: soft.line_sums(leaf, first, last), len(leaf), rows.n_threads)
    )
    return numbers.fitted(sums)


def draft_of(tree: Tree, columns: WeightColumns) -> Draft:
    """Read a tree of hyperplanes."""
    inner = np.flatnonzero(~tree.is_leaf)
    other = inner[tree.kind[inner] != NodeKind.HYPERPLANE]
    if len(other):
        kind = KIND_NAMES[NodeKind(tree.kind[other[0]])]
        raise TreeError(
            f"Only trees of hyperplanes can be refined; node {other[0]} is {kind}. Grow a tree "
            "with another method, such as HHCartClassifier."
        )
    number = np.empty(tree.n_nodes, dtype=np.int64)
    number[inner] = np.arange(len(inner))
    number[tree.is_leaf] = -1 - np.arange(int(tree.is_leaf.sum()))
    first = tree.first_child[inner].astype(np.int64)
    child = np.stack([number[first], number[first + 1]], axis=1).astype(np.int32)
    normals = np.zeros((len(inner), columns.width))
    normals[:, columns.constant] = -tree.threshold[tree.plane_ptr[inner]]
    place = np.full(tree.n_features, -1, dtype=np.int64)
    place[columns.numeric] = np.arange(len(columns.numeric))
    for row, node in enumerate(inner.tolist()):
        plane = int(tree.plane_ptr[node])
        for k in range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])):
            _read_term(normals[row], tree, k, columns, place)
        if tree.missing_side[plane]:
            _read_side(normals[row], tree, plane, columns)
    # Floats have a small range. A power of two changes nothing else: only signs of heights count.
    size = np.abs(normals).max(axis=1, initial=0.0)
    normals = np.ldexp(normals, -np.frexp(size)[1][:, None])
    return Draft(np.ascontiguousarray(child), normals.astype(np.float32))


def _read_term(
    normal: FloatArray, tree: Tree, k: int, columns: WeightColumns, place: Int64Array
) -> None:
    """Add one coefficient of a tree to a normal."""
    column, factor = int(tree.coef_idx[k]), float(tree.coef[k])
    absent, stand_in = int(columns.missing[column]), float(tree.fill[k])
    if place[column] >= 0:
        at = int(place[column])
        normal[at] += factor * columns.sd[at]
        normal[columns.constant] += factor * columns.mean[at]
        # Where it is missing, the standardised number is 0, which stands for the mean.
        if absent >= 0 and not np.isnan(stand_in):
            normal[absent] += factor * (stand_in - columns.mean[at])
        return
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    start = int(columns.levels[column])
    normal[start : start + len(table)] += factor * table
    if absent >= 0 and not np.isnan(stand_in):
        normal[absent] += factor * stand_in


def _read_side(normal: FloatArray, tree: Tree, plane: int, columns: WeightColumns) -> None:
    """Give what is missing such weights that it decides the side of a row."""
    first, last = tree.coef_ptr[plane : plane + 2].tolist()
    sign = 1.0 if tree.missing_side[plane] == MissingSide.RIGHT else -1.0
    absent = columns.missing[tree.coef_idx[first:last]]
    absent = absent[absent >= 0]
    if last - first == 1 and tree.coef[first] == 0.0:  # it only asks whether the value is there
        normal[columns.constant] = -1.0 if tree.threshold[plane] >= 0.0 else 1.0
    middle = float(normal[columns.constant])
    known = normal.copy()
    known[[columns.constant, *absent]] = 0.0
    reach = float(np.abs(known).sum()) or 1.0
    # One missing value of several must outweigh all that is known.
    away = sign * reach - middle if last - first == 1 else sign * (8.0 * reach + abs(middle))
    normal[absent] = away


def tree_of(
    draft: Draft, rows: SoftRows, problem: Problem, label: str, min_weight: float = 0.0
) -> Tree:
    """Make a tree of a draft: original columns, normals of 24 bits, and all rows counted anew.

    Leaves without rows go, and those that weigh less than `min_weight`.
    """
    while True:
        tree = _uncounted(draft, rows.columns, problem, label)
        tree = _counted(tree, problem, rows.n_threads)
        gone = tree.is_leaf & (tree.n_samples == 0)
        weight = np.where(tree.is_leaf, TASKS[tree.task].weight(tree.stats), np.inf)
        if not gone.any():
            # Of two that hang on one split the lighter one: the other takes its rows.
            light = np.flatnonzero(weight < min_weight) if tree.n_leaves > 1 else np.empty(0, int)
            order = light[np.argsort(weight[light], kind="stable")]
            gone[order[np.unique(tree.parent[order], return_index=True)[1]]] = True
        if not gone.any():
            return with_coded_spreads(tree, problem)
        leaves = np.cumsum(tree.is_leaf) - 1
        draft = without_leaves(draft, np.sort(leaves[gone]))


def _uncounted(draft: Draft, columns: WeightColumns, problem: Problem, label: str) -> Tree:
    """Lay out the arrays of a tree in which nothing has been counted."""
    is_leaf, numbers = _level_order(draft.child)
    n_children = np.where(is_leaf, 0, 2).astype(np.int32)
    return Tree(
        n_features=problem.n_features,
        kind=np.where(is_leaf, NodeKind.LEAF, NodeKind.HYPERPLANE).astype(np.uint8),
        first_child=first_children(n_children),
        n_children=n_children,
        plane_ptr=pointers(~is_leaf, np.int32),
        **_planes(draft.normals[numbers[~is_leaf]].astype(np.float64), columns, problem),
        stats=np.zeros((len(is_leaf), len(problem.stats(problem.counts[None])[0]))),
        n_samples=np.zeros(len(is_leaf), dtype=np.int64),
        gain=np.zeros(len(is_leaf)),
        axis_gain=np.full(len(is_leaf), np.nan),
        origin=np.where(is_leaf, -1, 0).astype(np.int32),
        origin_labels=(label,),
        task=problem.target.task,
    )


def _level_order(child: Int32Array) -> tuple[BoolArray, Int64Array]:
    """Return which nodes are leaves, in level order, and the draft's numbers of all nodes."""
    found: list[int] = []
    level = [0 if len(child) else -1]
    while level:
        found += level
        level = child[[node for node in level if node >= 0]].ravel().tolist()
    numbers = np.array(found, dtype=np.int64)
    return numbers < 0, numbers


def _planes(normals: FloatArray, columns: WeightColumns, problem: Problem) -> dict[str, Any]:
    """Lay out hyperplanes over the original columns."""
    normals = _divisible(normals, columns)
    used = _used_columns(normals, columns)
    n_coef = used.sum(axis=1)
    plane, column = np.nonzero(used)
    coef = np.ones(len(plane))
    fill = np.zeros(len(plane))
    place = np.full(problem.n_features, -1, dtype=np.int64)
    place[columns.numeric] = np.arange(len(columns.numeric))
    at = place[column]
    plain = at >= 0
    coef[plain] = round_significant(
        normals[plane[plain], at[plain]] / columns.sd[at[plain]], _BITS
    )
    fill[plain] = problem.stand_ins[column[plain]]
    gap = plain & (columns.missing[column] >= 0) & (coef != 0)
    move = normals[plane[gap], columns.missing[column[gap]]]
    with np.errstate(over="ignore"):
        moved = columns.mean[at[gap]] + move / coef[gap]
    fill[gap] = np.where(np.isfinite(moved), moved, columns.mean[at[gap]])
    # w.x + b > 0 over standardised columns is coef.z > threshold over the original ones.
    centre = np.zeros(len(plane))
    centre[plain] = coef[plain] * columns.mean[at[plain]]
    tables: list[FloatArray] = []
    for k in np.flatnonzero(~plain).tolist():
        table, middle, absent = _table(normals[plane[k]], int(column[k]), columns)
        tables.append(table)
        fill[k], centre[k] = absent, -middle
    n_entries = np.where(plain, 0, columns.n_levels[column])
    threshold = np.bincount(plane, centre, len(normals)) - normals[:, columns.constant]
    side = np.zeros(len(normals), dtype=np.uint8)
    alone = plain & (coef == 0.0) & (n_coef[plane] == 1) & (columns.missing[column] >= 0)
    for k in np.flatnonzero(alone).tolist():  # it only asks whether the value is there
        known, more = normals[plane[k], [columns.constant, columns.missing[column[k]]]]
        if more != 0.0:
            side[plane[k]] = MissingSide.RIGHT if known + more > 0.0 else MissingSide.LEFT
    return {
        "coef_ptr": pointers(n_coef),
        "coef_idx": column.astype(np.int32),
        "coef": coef,
        "fill": fill,
        "spread": np.full(len(plane), np.nan),
        "table_ptr": pointers(n_entries),
        "table": np.concatenate([np.empty(0), *tables]),
        "threshold": threshold,
        "missing_side": side,
    }


def _divisible(normals: FloatArray, columns: WeightColumns) -> FloatArray:
    """Make normals so small that none is too large for a double when it is divided by a spread.

    A power of two changes nothing else: only signs of heights count.
    """
    d = len(columns.sd)
    if d == 0 or len(normals) == 0:
        return normals
    large = (np.frexp(normals[:, :d])[1] - np.frexp(columns.sd)[1]).max(axis=1)
    return np.ldexp(normals, -np.maximum(large - 1000, 0)[:, None])


def _used_columns(normals: FloatArray, columns: WeightColumns) -> BoolArray:
    """Return which columns each hyperplane asks about; one at least."""
    used = np.zeros((len(normals), len(columns.levels)), dtype=bool)
    for place in np.flatnonzero(columns.owner >= 0).tolist():
        used[:, columns.owner[place]] |= normals[:, place] != 0.0
    # A number without weight, whose gaps have one, can be asked for alone and not beside others.
    for k, column in enumerate(columns.numeric.tolist()):
        used[:, column] &= normals[:, k] != 0.0
    for row in np.flatnonzero(~used.any(axis=1)).tolist():
        weight = np.where(columns.missing >= 0, np.abs(normals[row, columns.missing]), 0.0)
        used[row, int(np.argmax(weight))] = True
    return used


def _table(
    normal: FloatArray, column: int, columns: WeightColumns
) -> tuple[FloatArray, float, float]:
    """Return the numbers of a column's levels around their mean, the mean, and that of a gap."""
    start, count = int(columns.levels[column]), int(columns.n_levels[column])
    values, share = normal[start : start + count], columns.share[start : start + count]
    total = float(share.sum())
    middle = float((values * share).sum()) / total if total > 0.0 else 0.0
    absent = int(columns.missing[column])
    gap = float(normal[absent]) - middle if absent >= 0 else 0.0
    numbers = round_significant(np.append(values - middle, gap), _BITS)
    return numbers[:-1], middle, float(numbers[-1])


def _counted(tree: Tree, problem: Problem, n_threads: int) -> Tree:
    """Count the rows that reach each node, and what its split gains."""
    leaf = tree.apply(problem.Z, n_threads)
    sums = add_upwards(tree, problem.target_rows.sums_of_groups(leaf, tree.n_nodes))
    n_samples = add_upwards(tree, np.bincount(leaf, minlength=tree.n_nodes))
    inner = np.flatnonzero(~tree.is_leaf)
    gain = np.zeros(tree.n_nodes)
    first = tree.first_child[inner]
    stats = problem.stats(sums)
    if isinstance(problem.target, Classes):
        share = sums[inner].sum(axis=1) / sums[0].sum()
        gain[inner] = share * get_criterion("gini").goodness(sums[first], sums[first + 1])
        return replace(tree, stats=stats, n_samples=n_samples, gain=gain)
    risk, weight = TASKS[tree.task].risk(stats), stats[0, 0]
    gain[inner] = np.maximum(risk[inner] - risk[first] - risk[first + 1], 0.0) / weight
    tree = replace(tree, stats=stats, n_samples=n_samples, gain=gain)
    return problem.target.with_exact_means(tree, problem.Z, problem.weights)


def without_leaves(draft: Draft, leaves: Int64Array) -> Draft:
    """Leave out leaves, numbered in level order as in a Tree: their siblings take the place.

    At least one leaf must stay.
    """
    is_leaf, numbers = _level_order(draft.child)
    gone = set(numbers[is_leaf][leaves].tolist())
    child = draft.child.copy()
    stands: dict[int, int | None] = {}

    def standing(node: int) -> int | None:
        return stands[node] if node >= 0 else None if node in gone else node

    for node in range(draft.n_nodes - 1, -1, -1):  # children stand behind their parents
        left = [side for side in map(standing, child[node].tolist()) if side is not None]
        stands[node] = node if len(left) == 2 else left[0] if left else None
        if len(left) == 2:
            child[node] = left
    root = standing(0)
    assert root is not None
    return renumbered(replace(draft, child=child), root)


def renumbered(draft: Draft, root: int) -> Draft:
    """Return the part of a draft below a root, numbered anew in level order."""
    order = [root] if root >= 0 else []
    child: list[list[int]] = []
    n_leaves = 0
    for node in order:
        pair = []
        for side in draft.child[node].tolist():
            if side >= 0:
                pair.append(len(order))
                order.append(side)
            else:
                n_leaves += 1
                pair.append(-n_leaves)
        child.append(pair)
    return Draft(
        np.array(child, dtype=np.int32).reshape(-1, 2),
        np.ascontiguousarray(draft.normals[order]),
        None if draft.mask is None else np.ascontiguousarray(draft.mask[order]),
    )


# --- how much columns with levels or gaps vary at the nodes --------------------------------------
#
# `measure_spread` finds it for plain numbers; here the numbers differ from node to node.
