"""Whether the arrays of a tree fit together. Everything that reads a tree relies on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from obliqua._typing import AnyArray, BoolArray
from obliqua.data.costs import MAX_COST, flaw_of
from obliqua.data.target import LOSSES, TASKS, Numbers
from obliqua.errors import TreeError
from obliqua.tree.layout import (
    ARRAYS,
    KIND_NAMES,
    NO_ORIGIN,
    NOT_RELABELLED,
    PER_LINE,
    PER_LINE_TERM,
    UNKNOWN_ROWS,
    MissingSide,
    NodeKind,
    first_children,
)

if TYPE_CHECKING:
    from obliqua.tree.tree import Tree


def validate(tree: Tree) -> None:
    """Raise `TreeError` if the arrays of a tree do not fit together."""
    _check_shapes(tree)
    _check_task(tree)
    _check_pointers(tree)
    _check_nodes(tree)
    _check_numbering(tree)
    _check_coefficients(tree)
    _check_numbers(tree)
    _check_levels(tree)
    _check_missing_side(tree)
    _check_origin(tree)
    _check_relabelled(tree)
    if tree.has_lines:
        _check_lines(tree)


def _first(bad: BoolArray) -> int | None:
    """Return the first place that is marked as bad, if there is one."""
    return int(np.argmax(bad)) if bad.any() else None


def _check_shapes(tree: Tree) -> None:
    for name in ARRAYS:
        ndim = getattr(tree, name).ndim
        if ndim != (2 if name == "stats" else 1):
            raise TreeError(
                f"The array {name!r} of a tree must have {2 if name == 'stats' else 1} "
                f"dimensions; got {ndim}."
            )
    if tree.n_features < 0:
        raise TreeError(f"A tree cannot have {tree.n_features} features.")
    if len(tree.kind) == 0:
        raise TreeError("A tree has at least one node, the root; got none.")
    if tree.stats.shape[1] == 0:
        raise TreeError("The stats of a tree must have at least one column; got none.")
    n_nodes, n_planes, n_coef = len(tree.kind), len(tree.threshold), len(tree.coef)
    expected = {
        "first_child": n_nodes,
        "n_children": n_nodes,
        "plane_ptr": n_nodes + 1,
        "coef_ptr": n_planes + 1,
        "coef_idx": n_coef,
        "fill": n_coef,
        "spread": n_coef,
        "table_ptr": n_coef + 1,
        "stats": n_nodes,
        "n_samples": n_nodes,
        "gain": n_nodes,
        "axis_gain": n_nodes,
        "origin": n_nodes,
        "missing_side": n_planes,
        "relabelled": n_nodes if len(tree.relabelled) else 0,
    }
    n_lines, n_terms = (n_nodes if len(tree.leaf_intercept) else 0), len(tree.leaf_coef)
    expected |= dict.fromkeys(PER_LINE, n_lines) | dict.fromkeys(PER_LINE_TERM, n_terms)
    expected |= {"leaf_ptr": n_lines + 1, "leaf_table_ptr": n_terms + 1}
    for name, length in expected.items():
        got = len(getattr(tree, name))
        if got != length:
            raise TreeError(
                f"The array {name!r} of a tree with {n_nodes} nodes, {n_planes} planes and "
                f"{n_coef} coefficients must have {length} entries; got {got}."
            )


def _check_task(tree: Tree) -> None:
    """What was learnt is known, and stats are what they are for it."""
    if tree.task not in TASKS:
        raise TreeError(
            f"The task of a tree must be one of {', '.join(map(repr, TASKS))}; got {tree.task!r}."
        )
    if tree.loss not in LOSSES:
        raise TreeError(
            f"The loss of a tree must be one of {', '.join(map(repr, LOSSES))}; got {tree.loss!r}."
        )
    if tree.loss != LOSSES[0] and (tree.task != Numbers.task or tree.has_lines):
        raise TreeError(
            f"Only a tree of numbers whose leaves say constants has the loss {tree.loss!r}; this "
            f"is one of {tree.task}{' with linear functions' if tree.has_lines else ''}."
        )
    if tree.costs:
        _check_costs(tree)
    if tree.task != Numbers.task:
        return
    if tree.n_stats < 3:
        raise TreeError(
            "The stats of a tree of numbers are a weight, the mean of each output and a sum of "
            f"squares, at least 3; got {tree.n_stats}."
        )
    for what, values in (("weight", tree.stats[:, 0]), ("sum of squares", tree.stats[:, -1])):
        node = _first(values < 0)
        if node is not None:
            raise TreeError(f"Node {node} has the {what} {values[node]:g}; it cannot be below 0.")


def _check_costs(tree: Tree) -> None:
    """There is a cost for each pair of classes, and none for what is right."""
    if tree.task == Numbers.task:
        raise TreeError("Only a tree of classes has costs of mistakes; this is one of regression.")
    if {len(tree.costs), *map(len, tree.costs)} != {tree.n_stats}:
        raise TreeError(
            f"The costs of a tree of {tree.n_stats} classes are as many rows of as many numbers; "
            f"got rows of {[len(row) for row in tree.costs]}."
        )
    place = flaw_of(np.array(tree.costs))
    if place is not None:
        raise TreeError(
            f"The costs of a tree are numbers from 0 to {MAX_COST:g}, and 0 on the diagonal; got "
            f"{tree.costs[place[0]][place[1]]} in row {place[0]}, column {place[1]}."
        )


def _check_pointers(tree: Tree) -> None:
    for name, end in (
        ("plane_ptr", len(tree.threshold)),
        ("coef_ptr", len(tree.coef)),
        ("table_ptr", len(tree.table)),
        ("leaf_ptr", len(tree.leaf_coef)),
        ("leaf_table_ptr", len(tree.leaf_table)),
    ):
        ptr: AnyArray = getattr(tree, name)
        if ptr[0] != 0 or ptr[-1] != end or (np.diff(ptr) < 0).any():
            raise TreeError(
                f"The array {name!r} of a tree must rise from 0 to {end}; got one that goes "
                f"from {ptr[0]} to {ptr[-1]}{' and falls' if (np.diff(ptr) < 0).any() else ''}."
            )


def _check_nodes(tree: Tree) -> None:
    """Every kind of node has its numbers of children and of planes."""
    node = _first(tree.kind > max(NodeKind))
    if node is not None:
        raise TreeError(
            f"Node {node} is of kind {tree.kind[node]}; known are "
            f"{', '.join(f'{kind.value} ({KIND_NAMES[kind]})' for kind in NodeKind)}."
        )
    n_planes = np.diff(tree.plane_ptr)
    n_children = tree.n_children
    for kind, children_ok, planes_ok, rule in (
        (NodeKind.LEAF, n_children == 0, n_planes == 0, "no children and no planes"),
        (NodeKind.HYPERPLANE, n_children == 2, n_planes == 1, "2 children and 1 plane"),
        (NodeKind.LEVELS, n_children >= 2, n_planes == 1, "2 or more children and 1 plane"),
        (
            NodeKind.MACHINE,
            n_children >= 2,
            n_planes == n_children,
            "2 or more children and one plane for each",
        ),
    ):
        node = _first((tree.kind == kind) & ~(children_ok & planes_ok))
        if node is not None:
            raise TreeError(
                f"Node {node} is {KIND_NAMES[kind]} and must have {rule}; got "
                f"{n_children[node]} children and {n_planes[node]} planes."
            )


def _check_numbering(tree: Tree) -> None:
    """Level order: the children of all inner nodes follow one another without gaps."""
    n_children = int(tree.n_children.sum(dtype=np.int64))
    if n_children != len(tree.kind) - 1:
        raise TreeError(
            f"Every node but the root must be the child of one node; got {len(tree.kind)} nodes "
            f"and {n_children} children."
        )
    expected = first_children(tree.n_children)
    # An inner node without a parent before it would be its own ancestor.
    inner = tree.n_children > 0
    node = _first((tree.first_child != expected) | (inner & (expected <= np.arange(len(inner)))))
    if node is not None:
        raise TreeError(
            "The nodes of a tree are numbered in level order, the children of a node next to "
            f"each other, so first_child[{node}] must be {expected[node]}; got "
            f"{tree.first_child[node]}. TreeBuilder takes nodes in any order."
        )


def _check_coefficients(tree: Tree) -> None:
    node_of_plane = np.repeat(np.arange(len(tree.kind)), np.diff(tree.plane_ptr))
    plane_of_coef = np.repeat(np.arange(len(tree.threshold)), np.diff(tree.coef_ptr))
    place = _first((tree.coef_idx < 0) | (tree.coef_idx >= tree.n_features))
    if place is not None:
        raise TreeError(
            f"Node {node_of_plane[plane_of_coef[place]]} uses column {tree.coef_idx[place]} of a "
            f"tree with {tree.n_features} columns (0 to {tree.n_features - 1})."
        )
    plane = _first((tree.kind[node_of_plane] != NodeKind.MACHINE) & (np.diff(tree.coef_ptr) == 0))
    if plane is not None:
        raise TreeError(f"The split of node {node_of_plane[plane]} uses no column.")
    key = np.sort(plane_of_coef * max(tree.n_features, 1) + tree.coef_idx)
    place = _first(key[1:] == key[:-1])
    if place is not None:
        plane, column = divmod(int(key[place]), max(tree.n_features, 1))
        raise TreeError(
            f"Node {node_of_plane[plane]} uses column {column} twice in one plane. Add the "
            "coefficients."
        )


def _check_numbers(tree: Tree) -> None:
    for name in ("coef", "threshold", "table", "stats"):
        values = getattr(tree, name)
        if not np.isfinite(values).all():
            raise TreeError(f"The array {name!r} of a tree must be finite; it is not.")
    for name in ("fill", "spread", "gain", "axis_gain"):
        if np.isinf(getattr(tree, name)).any():
            raise TreeError(
                f"The array {name!r} of a tree must be finite, or NaN where nothing is known; "
                "it contains infinity."
            )
    if (tree.spread < 0).any():
        raise TreeError(
            "The array 'spread' of a tree holds standard deviations, none of which is negative; "
            f"got {tree.spread.min():g}."
        )
    node = _first(tree.n_samples < UNKNOWN_ROWS)
    if node is not None:
        raise TreeError(
            f"Node {node} has {tree.n_samples[node]} rows; there cannot be fewer than 0, and "
            f"{UNKNOWN_ROWS} means that they are not known."
        )
    node = _first(tree.is_leaf & np.isnan(tree.gain))
    if node is not None:
        raise TreeError(f"Node {node} is a leaf, whose gain is 0; got NaN.")


def _check_levels(tree: Tree) -> None:
    """Look at sets of levels: one column each, whose table holds branches."""
    for node in np.flatnonzero(tree.kind == NodeKind.LEVELS).tolist():
        plane = tree.plane_ptr[node]
        start, end = tree.coef_ptr[plane], tree.coef_ptr[plane + 1]
        branches = tree.table[tree.table_ptr[start] : tree.table_ptr[start + 1]]
        if end - start != 1 or tree.coef[start] != 1.0 or len(branches) == 0:
            raise TreeError(
                f"Node {node} is a set of levels and must have one column with coefficient 1 and "
                f"a table of branches; got {end - start} columns, coefficient "
                f"{tree.coef[start]:g} and {len(branches)} branches."
            )
        fill = tree.fill[start : start + 1]
        numbers = np.concatenate(
            [branches, tree.threshold[plane : plane + 1], fill[~np.isnan(fill)]]
        )
        wrong = (numbers < 0) | (numbers >= tree.n_children[node]) | (numbers % 1 != 0)
        if wrong.any():
            raise TreeError(
                f"Node {node} has {tree.n_children[node]} branches, 0 to "
                f"{tree.n_children[node] - 1}; its levels lead to branch "
                f"{numbers[np.argmax(wrong)]:g}."
            )


def _check_missing_side(tree: Tree) -> None:
    """Look at sides for missing values: hyperplanes alone have them."""
    node_of_plane = np.repeat(np.arange(len(tree.kind)), np.diff(tree.plane_ptr))
    plane = _first(tree.missing_side > max(MissingSide))
    if plane is not None:
        raise TreeError(
            f"Node {node_of_plane[plane]} sends missing values to side "
            f"{tree.missing_side[plane]}; known are 0 (none of its own), 1 (left) and 2 (right)."
        )
    plane = _first((tree.missing_side > 0) & (tree.kind[node_of_plane] != NodeKind.HYPERPLANE))
    if plane is not None:
        kind = KIND_NAMES[NodeKind(tree.kind[node_of_plane[plane]])]
        raise TreeError(
            f"Node {node_of_plane[plane]} is {kind} and has a side for missing values; only a "
            "hyperplane has one."
        )


def _check_lines(tree: Tree) -> None:
    """Look at linear functions: one output, columns that exist, limits in their order."""
    if tree.task != Numbers.task or tree.n_outputs != 1:
        raise TreeError(
            "Only a tree of numbers with one output has linear functions in its leaves; this is "
            f"one of {tree.task} with {tree.n_stats} stats a node."
        )
    for name in ("leaf_coef", "leaf_table", *PER_LINE):
        if not np.isfinite(getattr(tree, name)).all():
            raise TreeError(f"The array {name!r} of a tree must be finite; it is not.")
    for name in ("leaf_fill", "leaf_spread"):
        if np.isinf(getattr(tree, name)).any():
            raise TreeError(f"The array {name!r} of a tree must be finite or NaN; it is not.")
    for name in ("leaf_spread", "leaf_gain"):
        if (getattr(tree, name) < 0).any():
            raise TreeError(f"The array {name!r} of a tree holds nothing below 0; got less.")
    node_of = np.repeat(np.arange(len(tree.kind)), np.diff(tree.leaf_ptr))
    term = _first((tree.leaf_idx < 0) | (tree.leaf_idx >= tree.n_features))
    if term is not None:
        raise TreeError(
            f"The linear function of node {node_of[term]} uses column {tree.leaf_idx[term]} of "
            f"{tree.n_features}."
        )
    key = np.sort(node_of * max(tree.n_features, 1) + tree.leaf_idx)
    place = _first(key[1:] == key[:-1])
    if place is not None:
        owner, column = divmod(int(key[place]), max(tree.n_features, 1))
        raise TreeError(
            f"The linear function of node {owner} uses column {column} twice. Add the "
            "coefficients."
        )
    node = _first(tree.leaf_low > tree.leaf_high)
    if node is not None:
        raise TreeError(
            f"The linear function of node {node} must lie between {tree.leaf_low[node]:g} and "
            f"{tree.leaf_high[node]:g}, which is nowhere."
        )


def _check_relabelled(tree: Tree) -> None:
    """Look at classes that were given by hand: leaves have them, and the classes exist."""
    if not len(tree.relabelled):
        return
    if tree.task == Numbers.task:
        raise TreeError("Only a tree of classes has leaves that are relabelled; this has numbers.")
    node = _first((tree.relabelled < NOT_RELABELLED) | (tree.relabelled >= tree.n_stats))
    if node is not None:
        raise TreeError(
            f"Node {node} is relabelled as class {tree.relabelled[node]} of {tree.n_stats} (0 to "
            f"{tree.n_stats - 1}; -1 means that it is not relabelled)."
        )
    node = _first((tree.relabelled != NOT_RELABELLED) & ~tree.is_leaf)
    if node is not None:
        raise TreeError(f"Node {node} is relabelled, but no leaf; only leaves say a class.")


def _check_origin(tree: Tree) -> None:
    node = _first((tree.origin < NO_ORIGIN) | (tree.origin >= len(tree.origin_labels)))
    if node is not None:
        raise TreeError(
            f"Node {node} has origin {tree.origin[node]}, but there are "
            f"{len(tree.origin_labels)} origin labels (-1 means that it is not known)."
        )
