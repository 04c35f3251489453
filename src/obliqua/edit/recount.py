"""Trees counted anew from rows: what leaves answer stays, all else is what the rows tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from obliqua._core.base.exact import exact_means
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.criteria import CRITERIA, NUMBER_CRITERIA, Criterion, get_criterion
from obliqua.data.costs import classes_said
from obliqua.data.problem import Problem
from obliqua.data.target import TASKS, Classes, Numbers
from obliqua.data.weights import round_significant
from obliqua.engine.linear_leaves import line_errors
from obliqua.engine.many_branches import goodness_of_branches
from obliqua.errors import TreeError
from obliqua.io.values import NotSaved
from obliqua.prune.reduced_error import add_upwards
from obliqua.tree.layout import NOT_RELABELLED, UNKNOWN_ROWS, NodeKind
from obliqua.tree.spread import measure_spread, multiplied_spreads, with_coded_spreads
from obliqua.tree.tree import Tree
from obliqua.words.subject import lines_of

__all__ = ["criterion_of", "recounted"]


def recounted(tree: Tree, problem: Problem, criterion: Criterion, averaged: bool = False) -> Tree:
    """Count the rows, the sums, the spreads and the gains of a tree anew.

    Parameters
    ----------
    tree : Tree
        The tree; it is not changed.
    problem : Problem
        The rows, over the columns and classes of the tree.
    criterion : Criterion
        What gains are measured by. Those of numbers are the decrease of the tree's own error,
        unless it is ``"poisson"``.
    averaged : bool, default=False
        Whether the shares of leaves are averaged over trees: then these are what leaves say, and
        stay; otherwise it is the class.

    Returns
    -------
    Tree
        The tree. Leaves say the numbers that they said, and shares that follow from their rows,
        unless these are averaged.
        Nodes that no row reaches say what they said; for those of classes the number of rows
        counts as not known. What the best axis-parallel splits gain is not known.
    """
    if tree.task == Numbers.task:
        poisson = criterion is NUMBER_CRITERIA["poisson"]
        problem = problem.measured_by(criterion if poisson else NUMBER_CRITERIA[tree.loss])
    leaf = tree.apply(problem.Z)
    sums = add_upwards(tree, problem.target_rows.sums_of_groups(leaf, tree.n_nodes))
    n_samples = add_upwards(tree, np.bincount(leaf, minlength=tree.n_nodes))
    counted = replace(
        tree,
        stats=problem.stats(sums),
        n_samples=n_samples,
        axis_gain=np.full(tree.n_nodes, np.nan),
        relabelled=np.zeros(0, dtype=np.int32),
    )
    there = n_samples > 0
    if isinstance(problem.target, Classes):
        counted = replace(counted, gain=_class_gains(tree, sums, problem, criterion))
        counted = _saying_classes(counted, tree, there, averaged)
    else:
        counted = problem.target.with_exact_means(counted, problem.Z, problem.weights)
        counted = replace(counted, gain=_number_gains(counted, sums, problem, criterion))
        counted = _saying_numbers(counted, tree, there, problem, leaf)
    return _with_spreads(counted, problem)


def criterion_of(model: Any, tree: Tree) -> Criterion:
    """Return what the gains of a tree are measured by: what its estimator says, if it does."""
    given = getattr(model, "criterion", None)
    known = CRITERIA if tree.task == Classes.task else NUMBER_CRITERIA
    if isinstance(given, str) and given in known:
        return known[given]
    if callable(given) and not isinstance(given, NotSaved) and tree.task == Classes.task:
        return get_criterion(given)
    return known["gini"] if tree.task == Classes.task else known[tree.loss]


# --- classes ---------------------------------------------------------------------------------


def _class_gains(
    tree: Tree, sums: Int64Array, problem: Problem, criterion: Criterion
) -> FloatArray:
    """Return what each split gains: its goodness times the share of all weight."""
    gain = np.zeros(tree.n_nodes)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        first, count = int(tree.first_child[node]), int(tree.n_children[node])
        branches = sums[first : first + count]
        branches = branches[branches.any(axis=1)]
        if len(branches) > 1:
            share = float(sums[node].sum()) / float(sums[0].sum())
            gain[node] = share * goodness_of_branches(branches, criterion, problem.unit)
    return gain


def _saying_classes(counted: Tree, before: Tree, there: BoolArray, averaged: bool) -> Tree:
    """Let leaves say the classes that they said, and those without rows their shares too."""
    anew = there & ~before.is_leaf if averaged else there
    stats = np.where(anew[:, None], counted.stats, before.stats)
    n_samples = np.where(there, counted.n_samples, UNKNOWN_ROWS)
    by_hand = np.zeros(0, dtype=np.int32)
    if not averaged:
        other = before.is_leaf & (before.leaf_label != classes_said(stats, before.costs))
        by_hand = np.where(other, before.leaf_label, NOT_RELABELLED).astype(np.int32)
    return replace(counted, stats=stats, n_samples=n_samples, relabelled=by_hand)


# --- numbers ---------------------------------------------------------------------------------


def _number_gains(
    counted: Tree, sums: Int64Array, problem: Problem, criterion: Criterion
) -> FloatArray:
    """Return what each split gains: by how much the error of means, or medians, goes down."""
    weight = counted.stats[0, 0]
    if criterion is NUMBER_CRITERIA["poisson"]:
        gain = np.zeros(counted.n_nodes)
        inner = np.flatnonzero(counted.n_children == 2)
        first = counted.first_child[inner]
        goodness = criterion.goodness(sums[first], sums[first + 1])
        share = sums[inner, 0] / sums[0, 0]
        gain[inner] = np.maximum(goodness, 0.0) * share * problem.target.gain_unit
        return gain
    return _drops(counted, TASKS[counted.task].risk(counted.stats) / weight)


def _drops(tree: Tree, error: FloatArray) -> FloatArray:
    """Return by how much the children of each node have less error together than it has."""
    below = np.bincount(tree.parent[1:], weights=error[1:], minlength=tree.n_nodes)
    return np.where(tree.is_leaf, 0.0, np.maximum(error - below, 0.0))


def _saying_numbers(
    counted: Tree, before: Tree, there: BoolArray, problem: Problem, leaf: Int64Array
) -> Tree:
    """Let leaves say the numbers that they said, with their errors about these."""
    target, stats = problem.target, counted.stats.copy()
    assert isinstance(target, Numbers)
    kept = before.is_leaf | ~there
    stats[kept, 1:-1] = before.stats[kept, 1:-1]
    about_means = stats[:, -1].copy()
    if before.has_lines:
        said = replace(before, stats=stats.copy())
        stats[:, -1] = stats[:, 0] * line_errors(said, problem, leaf)
        gain = np.maximum(about_means - stats[:, -1], 0.0) / stats[0, 0]
        lines = replace(said, stats=stats, leaf_gain=gain, n_samples=counted.n_samples)
        drops = _drops(before, stats[:, -1] / stats[0, 0])
        return replace(lines, gain=drops, axis_gain=counted.axis_gain)
    with np.errstate(over="ignore"):
        errors = np.ascontiguousarray(target.row_errors(before.mean[leaf])[:, None])
    if not np.isfinite(errors).all():
        raise TreeError("What a leaf says is so far from y that the error is beyond float64.")
    means = exact_means(errors, problem.weights, leaf, before.first_child, before.n_children)
    stats[kept, -1] = stats[kept, 0] * np.where(there[kept], means[kept, 0], 0.0)
    return replace(counted, stats=stats)


# --- spreads ---------------------------------------------------------------------------------


def _with_spreads(tree: Tree, problem: Problem) -> Tree:
    """Measure how much what coefficients multiply varies at their nodes."""
    tree = replace(tree, spread=np.full(len(tree.coef), np.nan))
    tree = measure_spread(tree, problem.Z, problem.weights)
    tree = with_coded_spreads(tree, problem)
    branches = tree.kind[tree.node_of_plane[tree.plane_of_coef]] == NodeKind.LEVELS
    tree = replace(tree, spread=np.where(branches, np.nan, tree.spread))
    if not tree.has_lines:
        return tree
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.leaf_ptr))
    every = np.arange(len(tree.leaf_idx))
    found = multiplied_spreads(tree, problem, lines_of(tree), node, every)
    return replace(tree, leaf_spread=round_significant(found))
