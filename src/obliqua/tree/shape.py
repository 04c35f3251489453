"""How many features the splits and leaves of a model use, and what a row costs."""

from __future__ import annotations

import numpy as np

from obliqua.tree.model import Model

__all__ = ["features_per_leaf", "features_per_split", "way_of_a_row"]


def features_per_split(model: Model) -> float:
    """Return the mean number of columns that an inner node looks at; NaN without one."""
    used = splits = 0
    for tree in model.trees:
        nodes = tree.node_of_plane[tree.plane_of_coef]
        used += len(np.unique(np.stack([nodes, tree.coef_idx]), axis=1).T)
        splits += tree.n_nodes - tree.n_leaves
    return used / splits if splits else float("nan")


def features_per_leaf(model: Model) -> float:
    """Return the mean number of columns in a leaf's linear function; NaN without any function."""
    used = [
        int(np.count_nonzero(tree.leaf_coef[tree.leaf_ptr[leaf] : tree.leaf_ptr[leaf + 1]]))
        for tree in model.trees
        if tree.has_lines
        for leaf in np.flatnonzero(tree.is_leaf).tolist()
    ]
    return sum(used) / len(used) if used else float("nan")


def way_of_a_row(model: Model) -> tuple[float, float]:
    """Return how many splits an average training row meets, and how many terms they add up.

    A term is a multiplication, or a look into a table of levels. In several trees both are sums
    over the trees. NaN if the rows at the nodes are not known.
    """
    splits = terms = 0.0
    for tree in model.trees:
        weight = tree.weighted_n_node_samples
        if not weight[0] > 0.0:
            return float("nan"), float("nan")
        of_node = np.bincount(tree.node_of_plane[tree.plane_of_coef], minlength=tree.n_nodes)
        splits += float(weight[~tree.is_leaf].sum() / weight[0])
        terms += float((weight * of_node).sum() / weight[0])
    return splits, terms
