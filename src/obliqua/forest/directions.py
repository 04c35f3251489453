"""Directions of any proposer in the nodes of a forest's trees.

A node draws a few columns, as it does for directions of its own, and the best split of its rows
that a proposer finds in them is one of its candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.data.problem import encode, encode_numbers
from obliqua.engine.compiled import CompiledSide
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules

__all__ = ["BestOf"]


class BestOf:
    """The direction of the best split that a proposer finds, for one node after another."""

    def __init__(self, proposer: Any, criterion: str, n_classes: int) -> None:
        if isinstance(proposer, CompiledSide) and proposer.looks_at_axes:
            raise ValueError(
                f"{type(proposer).__name__} compares cuts by linear functions in leaves, which "
                "the trees of a forest do not have. Take obliqua.methods.slopes.Slopes(), or "
                "leave directions out."
            )
        self.proposals = Proposals(proposer, axis_parallel=False, scale="standard")
        self.criterion, self.n_classes = criterion, n_classes

    def __call__(
        self, X: FloatArray, y: AnyArray, weights: FloatArray, depth: int, key: int
    ) -> Any:
        """Return the normal, or None if there is no split."""
        if self.n_classes:
            problem = encode(X, y, self.n_classes, weights)
        else:
            problem = encode_numbers(X, y, weights)
        rules = Rules(max_depth=depth + 1)
        tree = grow(problem, self.proposals, self.criterion, rules, key=key, depth=depth)
        if tree.n_nodes == 1:
            return None
        normal = np.zeros(X.shape[1])
        normal[tree.coef_idx] = tree.coef
        return normal
