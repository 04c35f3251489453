"""Complete trees of hyperplanes at random, to begin anew with where a tree errs.

No greedy search sees a tree whose splits tell something only together. A tree that is many times
too large and whose hyperplanes lie anywhere has some of them near the right places, refinement
brings these there, and raising leaves out the others.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from obliqua._core.base.rng import child_key
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.refine.draft import Draft, renumbered
from obliqua.refine.rows import Float32Array, SoftRows
from obliqua.refine.shrink import counted

__all__ = ["at_random", "regrown"]

#: Hyperplanes lie in the middle of so many rows that reach them. Rows stand in a random order.
ENOUGH = 2_000
#: A leaf at random has about so many rows at least.
ROWS_OF_A_LEAF = 16


def at_random(rows: SoftRows, n_leaves: int, key: int) -> Draft:
    """Return a complete tree of about so many leaves, split through the middle of rows."""
    return _complete(rows, np.arange(rows.n_rows), n_leaves, key)


def regrown(draft: Draft, rows: SoftRows, over: int, key: int) -> Draft:
    """Put a complete tree at random, so many times too large, where one node is that errs.

    Chance takes a node in proportion to its errors times the share of its rows that they are.
    """
    tree = counted(draft, rows)
    nodes = np.array(tree.order)
    errors, weight = (np.maximum(of[nodes], 0.0) for of in (tree.errors, tree.weight))
    odds = np.cumsum(errors * (errors / np.maximum(weight, 1)))
    chance = np.random.Generator(np.random.Philox(key=child_key(key, 1)))
    at = int(nodes[min(np.searchsorted(odds, chance.random() * odds[-1]), len(nodes) - 1)])
    leaf, _ = draft.walk(rows)
    below = np.zeros(draft.n_leaves, dtype=bool)
    below[_leaves_below(draft.child, at)] = True
    fresh = _complete(rows, np.flatnonzero(below[leaf]), over * int(tree.leaves[at]), key)
    child = np.where(draft.child == at, draft.n_nodes, draft.child)
    more = np.where(fresh.child >= 0, fresh.child + draft.n_nodes, fresh.child)
    both = Draft(
        np.concatenate([child, more]).astype(np.int32),
        np.concatenate([draft.normals, fresh.normals]),
    )
    return renumbered(both, draft.n_nodes if at == 0 else 0)


def _leaves_below(child: Int32Array, node: int) -> Int64Array:
    """Return the numbers of the leaves below a node."""
    found, waiting = [], [node]
    while waiting:
        at = waiting.pop()
        if at < 0:
            found.append(-1 - at)
        else:
            waiting.extend(child[at].tolist())
    return np.array(found)


def _complete(rows: SoftRows, some: Int64Array, n_leaves: int, key: int) -> Draft:
    """Return a complete tree at random for some of the rows."""
    most = min(n_leaves, max(len(some) // ROWS_OF_A_LEAF, 2))
    depth = max((most - 1).bit_length() if most == n_leaves else most.bit_length() - 1, 1)
    chance = np.random.Generator(np.random.Philox(key=child_key(key, 2)))
    n_nodes = 2**depth - 1
    normals = np.zeros((n_nodes, rows.columns.width), dtype=np.float32)
    there = _varying(rows)
    normals[:, there] = chance.normal(size=(n_nodes, int(there.sum())))
    place = np.arange(1, 2 * n_nodes + 1, dtype=np.int32)
    place[n_nodes - 1 :] = -1 - np.arange(n_nodes + 1)
    reached = [some[:ENOUGH]]
    for normal in normals:
        here = reached.pop(0)
        heights = _heights(normal, rows, here)
        middle = float(np.median(heights)) if len(heights) else 0.0
        normal[rows.columns.constant] = -middle
        reached += [here[heights <= middle], here[heights > middle]]
    return Draft(np.ascontiguousarray(place.reshape(-1, 2)), normals)


def _varying(rows: SoftRows) -> BoolArray:
    """Return which weights tell rows apart: nothing moves that of a column of zeros to 0."""
    varies = rows.columns.owner >= 0
    varies[: rows.x.shape[1]] &= rows.x.any(axis=0)
    if rows.more_ptr is not None and rows.more is not None:
        there = np.bincount(rows.more[: rows.more_ptr[-1]], minlength=len(varies)) > 0
        varies[rows.x.shape[1] :] &= there[rows.x.shape[1] :]
    return varies


def _heights(normal: Float32Array, rows: SoftRows, some: Int64Array) -> FloatArray:
    """Return w.x of some rows."""
    heights = (rows.x[some] * normal[: rows.x.shape[1]]).sum(axis=1, dtype=np.float64)
    if rows.more_ptr is not None and rows.more is not None:
        n_ones = int(rows.more_ptr[-1])
        ones = csr_matrix(
            (np.ones(n_ones), rows.more[:n_ones], rows.more_ptr),
            shape=(rows.n_rows, len(normal)),
        )
        heights += ones[some] @ normal.astype(np.float64)
    return heights
