"""Trees cut and joined: `collapse`, and what is behind `Tree.subtree` and `Tree.graft`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import AnyArray
from obliqua.errors import TreeError
from obliqua.tree.layout import (
    KIND_NAMES,
    NO_LINES,
    NOT_RELABELLED,
    NodeKind,
    child_lists,
    level_order,
    renumber,
)

if TYPE_CHECKING:
    from obliqua.tree.tree import Tree


def check_node(tree: Tree, node: int) -> int:
    """Return the number of a node as an int, if the tree has such a node."""
    try:
        number = int(node)
    except (TypeError, ValueError, OverflowError):
        raise TreeError(
            f"A node is named by its number, 0 to {tree.n_nodes - 1}; got {node!r}."
        ) from None
    if number != node or not 0 <= number < tree.n_nodes:
        raise TreeError(
            f"There is no node {node} in a tree of {tree.n_nodes} nodes (0 to {tree.n_nodes - 1})."
        )
    return number


def collapse(tree: Tree, nodes: ArrayLike) -> Tree:
    """Turn nodes into leaves and drop everything below them.

    Parameters
    ----------
    tree : Tree
        The tree to cut; it is not changed.
    nodes : int or array-like of int
        The nodes that become leaves. Leaves may be among them, and nodes below others.

    Returns
    -------
    Tree
        The smaller tree, numbered in level order. The new leaves keep their stats and rows.
    """
    numbers = np.atleast_1d(np.asarray(nodes))
    if numbers.size == 0:
        return tree
    cut = np.zeros(tree.n_nodes, dtype=bool)
    cut[[check_node(tree, node) for node in numbers.ravel().tolist()]] = True
    order = level_order(*child_lists(tree.first_child, tree.n_children), stop=cut)
    # What was a leaf stays as it is.
    return type(tree)(**renumber(tree.to_arrays(), order, cut & ~tree.is_leaf))


def subtree(tree: Tree, node: int) -> Tree:
    """Return the part of a tree below a node, with that node as its root."""
    lists = child_lists(tree.first_child, tree.n_children)
    order = level_order(*lists, root=check_node(tree, node))
    return type(tree)(**renumber(tree.to_arrays(), order))


def graft(tree: Tree, node: int, scion: Tree) -> Tree:
    """Return a tree in which another tree stands in the place of a leaf."""
    node = check_node(tree, node)
    if not tree.is_leaf[node]:
        raise TreeError(
            f"A tree can be grafted in the place of a leaf only; node {node} is "
            f"{KIND_NAMES[NodeKind(tree.kind[node])]}. Use collapse(tree, {node}) first."
        )
    if tree.task != scion.task:
        raise TreeError(
            "Only trees of the same task can be joined; one is a tree of "
            f"{tree.task}, the other of {scion.task}."
        )
    if tree.loss != scion.loss:
        raise TreeError(
            "Only trees whose stats tell the same can be joined; one has the loss "
            f"{tree.loss!r}, the other {scion.loss!r}."
        )
    if tree.costs != scion.costs:
        raise TreeError(
            "Only trees in which mistakes cost the same can be joined. Give both the same costs."
        )
    for what, ours, theirs in (
        ("features", tree.n_features, scion.n_features),
        ("stats", tree.n_stats, scion.n_stats),
    ):
        if ours != theirs:
            raise TreeError(
                f"Only trees over the same columns and classes can be joined; one has {ours} "
                f"{what}, the other {theirs}."
            )
    joined = _side_by_side(tree, scion)
    child_ptr, children = child_lists(joined["first_child"], joined["n_children"])
    root = tree.n_nodes
    order = level_order(
        child_ptr, np.where(children == node, root, children), root=root if node == 0 else 0
    )
    return type(tree)(**renumber(joined, order))


def _constant_lines(tree: Tree) -> dict[str, Any]:
    """Return the arrays of linear functions that are constants: the means of the nodes."""
    ends = dict.fromkeys(("leaf_intercept", "leaf_low", "leaf_high"), tree.stats[:, 1])
    none = {
        "leaf_ptr": np.zeros(tree.n_nodes + 1, dtype=np.int64),
        "leaf_gain": np.zeros(tree.n_nodes),
    }
    return {**NO_LINES, **ends, **none}


def _relabelled(arrays: dict[str, Any]) -> AnyArray:
    """Return the classes that were given by hand, -1 for nodes without one."""
    if len(arrays["relabelled"]):
        return np.asarray(arrays["relabelled"])
    return np.full(len(arrays["kind"]), NOT_RELABELLED, dtype=np.int32)


def _side_by_side(tree: Tree, scion: Tree) -> dict[str, Any]:
    """Put the arrays of two trees into one set, which has two roots."""
    ours, theirs = tree.to_arrays(), scion.to_arrays()
    if tree.has_lines != scion.has_lines:
        ours |= {} if tree.has_lines else _constant_lines(tree)
        theirs |= {} if scion.has_lines else _constant_lines(scion)
    if len(tree.relabelled) != len(scion.relabelled):
        for arrays in (ours, theirs):
            arrays["relabelled"] = _relabelled(arrays)
    labels = tuple(dict.fromkeys(tree.origin_labels + scion.origin_labels))
    known = np.array([labels.index(label) for label in scion.origin_labels], dtype=np.int32)
    new_origin = scion.origin.copy()
    new_origin[scion.origin >= 0] = known[scion.origin[scion.origin >= 0]]
    first_child = scion.first_child + np.where(scion.is_leaf, 0, tree.n_nodes)
    theirs |= {"origin": new_origin, "first_child": first_child}
    joined: dict[str, Any] = {
        "n_features": tree.n_features,
        "loss": tree.loss,
        "costs": tree.costs,
        "origin_labels": labels,
        "task": tree.task,
    }
    for name, array in ours.items():
        if name.endswith("_ptr"):
            joined[name] = np.concatenate([array, theirs[name][1:] + array[-1]])
        elif name not in joined:
            joined[name] = np.concatenate([array, theirs[name]])
    return joined
