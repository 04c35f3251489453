"""Splits into many branches, said as splits into two."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua.data.target import TASKS
from obliqua.tree.layout import (
    NO_ORIGIN,
    NOT_RELABELLED,
    UNKNOWN_ROWS,
    NodeKind,
    level_order,
    pointers,
    renumber,
)
from obliqua.tree.tree import Tree


def with_two_branches(tree: Tree) -> Tree:
    """Divide sets of levels with many branches: one branch after the other against the rest."""
    many = np.flatnonzero((tree.kind == NodeKind.LEVELS) & (tree.n_children > 2))
    if not len(many):
        return tree
    children = {
        node: list(range(first, first + n))
        for node, first, n in zip(
            range(tree.n_nodes), tree.first_child.tolist(), tree.n_children.tolist(), strict=True
        )
    }
    arrays: dict[str, Any] = {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in tree.to_arrays().items()
    }
    added: list[dict[str, Any]] = []
    for node in many.tolist():
        plane = int(tree.plane_ptr[node])
        k = int(tree.coef_ptr[plane])
        entries = slice(*tree.table_ptr[k : k + 2].tolist())
        below, at = children[node], node
        for branch in range(len(below) - 1):
            # What is not this branch is the other; a fill that is not known stays so.
            fill = float(tree.fill[k])
            split = {
                "table": (tree.table[entries] != branch).astype(np.float64),
                "threshold": float(tree.threshold[plane] != branch),
                "fill": fill if np.isnan(fill) else float(fill != branch),
            }
            if branch == 0:
                arrays["table"][entries] = split["table"]
                arrays["threshold"][plane], arrays["fill"][k] = split["threshold"], split["fill"]
            else:
                split["column"] = int(tree.coef_idx[k])
                split["stats"] = TASKS[tree.task].joined(tree.stats[below[branch:]])
                rows = tree.n_samples[below[branch:]]
                split["n_samples"] = UNKNOWN_ROWS if (rows < 0).any() else int(rows.sum())
                added.append(split)
            rest = below[-1] if branch == len(below) - 2 else tree.n_nodes + len(added)
            children[at] = [below[branch], rest]
            at = rest
    arrays = _with_splits(arrays, added)
    arrays["n_children"][many] = 2
    order = level_order(
        pointers([len(children[node]) for node in range(len(children))]),
        np.array([child for node in range(len(children)) for child in children[node]], dtype=int),
    )
    return Tree.from_arrays(renumber(arrays, order))


def _with_splits(arrays: dict[str, Any], added: list[dict[str, Any]]) -> dict[str, Any]:
    """Put splits by levels behind the nodes of a tree."""
    n = len(added)
    of_nodes: dict[str, Any] = {
        "kind": np.full(n, NodeKind.LEVELS),
        "n_children": np.full(n, 2),
        "first_child": np.zeros(n),
        "stats": np.array([split["stats"] for split in added]).reshape(n, -1),
        "n_samples": np.array([split["n_samples"] for split in added]),
        "gain": np.zeros(n),
        "axis_gain": np.full(n, np.nan),
        "origin": np.full(n, NO_ORIGIN),
        "threshold": np.array([split["threshold"] for split in added]),
        "missing_side": np.zeros(n),
        "coef_idx": np.array([split["column"] for split in added]),
        "coef": np.ones(n),
        "fill": np.array([split["fill"] for split in added]),
        "spread": np.full(n, np.nan),
        "table": np.concatenate([split["table"] for split in added] or [np.zeros(0)]),
    }
    if len(arrays["relabelled"]):
        of_nodes["relabelled"] = np.full(n, NOT_RELABELLED)
    for name, values in of_nodes.items():
        old = arrays[name]
        arrays[name] = np.concatenate([old, values.astype(old.dtype)])
    lengths = {
        "plane_ptr": np.ones(n),
        "coef_ptr": np.ones(n),
        "table_ptr": np.array([len(split["table"]) for split in added]),
    }
    for name, length in lengths.items():
        old = arrays[name]
        arrays[name] = np.concatenate([old, old[-1] + np.cumsum(length)]).astype(old.dtype)
    return arrays
