"""When a tree stops growing, and in which order it grows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Rules"]


@dataclass(frozen=True)
class Rules:
    """When to stop, and in which order to grow.

    Parameters
    ----------
    max_depth, max_leaf_nodes : int or None
        Largest depth and number of leaves; None for no limit.
    min_samples_split, min_samples_leaf : int
        Rows that a node needs to be divided, and that each side keeps.
    min_weight_leaf : int
        Weight that each side keeps, in grid units.
    min_gain : float
        Smallest gain of a split: (node weight / total weight) x goodness.
    max_leaf_error : float
        A node whose share of rows outside its majority class is not larger stays a leaf.
    zero_gain : bool
        Whether an impure node whose cuts all have goodness 0 is divided by the first of them.
    best_first : bool
        Divide the node with the largest gain next, instead of depth first. A limit on leaves
        implies it; without one both orders give the same tree.
    """

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: int = 0
    min_gain: float = 0.0
    max_leaf_error: float = 0.0
    zero_gain: bool = False
    best_first: bool = False
