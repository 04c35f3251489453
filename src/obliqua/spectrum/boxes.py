"""`LeafSum`: the same functions without their spectra, as values on boxes of levels.

The product of two indicators of boxes is an indicator of a box, and its mean over the domain a
product over the features. So inner products are exact whatever the number of coefficients of a
spectrum would be; by Parseval's theorem they are those of the spectra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.errors import TreeError
from obliqua.spectrum._branches import branches_of
from obliqua.spectrum.domain import Domain
from obliqua.spectrum.paths import leaf_values
from obliqua.tree import Tree

__all__ = ["LeafSum", "gram_of_leaves", "leaf_sum_of"]

_BLOCK = 2**23  # overlaps of so many pairs of leaves are held at a time


@dataclass(frozen=True, eq=False)
class LeafSum:
    """A function on a finite domain as a sum of values on boxes.

    Parameters
    ----------
    domain : Domain
        The domain.
    values : ndarray of shape (n_boxes, n_outputs)
        What each box adds to the function at its points.
    sets : dict of ndarray of bool, of shape (n_boxes, cardinality)
        For each feature that some box is narrow in: which of its levels are in each box.
    """

    domain: Domain
    values: FloatArray
    sets: dict[int, BoolArray]

    @property
    def mean(self) -> FloatArray:
        """The mean of the function over the domain, one number per output."""
        share = np.ones(len(self.values))
        for inside in self.sets.values():
            share *= inside.mean(axis=1)
        return np.asarray(share @ self.values)

    @property
    def energy(self) -> float:
        """The mean square of the function over the domain."""
        return self.inner(self)

    def inner(self, other: LeafSum) -> float:
        """Return the inner product with another function.

        Parameters
        ----------
        other : LeafSum
            A function on the same domain, with as many outputs.

        Returns
        -------
        float
            The mean of the product of the functions over the domain, added up over outputs.
        """
        return float(gram_of_leaves([self, other])[0, 1])

    def __mul__(self, factor: float) -> LeafSum:
        return LeafSum(self.domain, self.values * float(factor), self.sets)

    __rmul__ = __mul__

    def __add__(self, other: LeafSum) -> LeafSum:
        return added([self, other])


def leaf_sum_of(tree: Tree, domain: Domain, values: str | ArrayLike = "shares") -> LeafSum:
    """Return the function of a tree as a sum over its leaves.

    Parameters
    ----------
    tree : Tree
        A tree whose splits ask about one column each.
    domain : Domain
        The domain, with a feature for each column of the tree.
    values : {"shares", "votes"} or array-like, default="shares"
        The function, as in `spectrum_of`.

    Returns
    -------
    LeafSum
        The function. Leaves that no point of the domain reaches are left out.
    """
    if tree.n_features != domain.n_features:
        raise TreeError(
            f"The tree has {tree.n_features} columns and the domain {domain.n_features} features; "
            "there must be one for each."
        )
    table = leaf_values(tree, values)
    allowed: list[dict[int, BoolArray] | None] = [None] * tree.n_nodes
    allowed[0] = {}
    leaves = []
    for node in range(tree.n_nodes):
        here = allowed[node]
        if here is None:
            continue
        if tree.is_leaf[node]:
            leaves.append(node)
            continue
        feature, branch = branches_of(tree, node, domain)
        old = here.get(feature)
        for number in range(int(tree.n_children[node])):
            inside = branch == number if old is None else (branch == number) & old
            if inside.any():
                allowed[int(tree.first_child[node]) + number] = {**here, feature: inside}
    sets = {}
    for feature in sorted({f for leaf in leaves for f in allowed[leaf] or {}}):
        full = np.ones(domain.cardinalities[feature], dtype=bool)
        inside = np.array([(allowed[leaf] or {}).get(feature, full) for leaf in leaves])
        if not inside.all():
            sets[feature] = inside
    return LeafSum(domain, table[leaves], sets)


def added(parts: Sequence[LeafSum]) -> LeafSum:
    """Add up functions on the same domain.

    Parameters
    ----------
    parts : sequence of LeafSum
        The functions.

    Returns
    -------
    LeafSum
        Their sum.
    """
    domain = parts[0].domain
    if any(part.domain != domain for part in parts):
        raise ValueError("Functions that are added up must be on the same domain.")
    sets = {}
    for feature in sorted({f for part in parts for f in part.sets}):
        rows: list[Any] = [
            part.sets.get(
                feature, np.ones((len(part.values), domain.cardinalities[feature]), dtype=bool)
            )
            for part in parts
        ]
        sets[feature] = np.concatenate(rows)
    return LeafSum(domain, np.concatenate([part.values for part in parts]), sets)


def gram_of_leaves(parts: Sequence[LeafSum]) -> FloatArray:
    """Return the inner products of functions with each other.

    Parameters
    ----------
    parts : sequence of LeafSum
        Functions on the same domain.

    Returns
    -------
    ndarray of shape (n_functions, n_functions)
        The means of products over the domain.
    """
    whole = added(parts)
    ends = np.cumsum([0, *(len(part.values) for part in parts)])
    sets = {f: inside.astype(np.float64) for f, inside in whole.sets.items()}
    gram = np.zeros((len(parts), len(parts)))
    step = max(1, _BLOCK // max(1, len(whole.values)))
    for start in range(0, len(whole.values), step):
        part = slice(start, start + step)
        pairs = whole.values[part] @ whole.values.T
        for inside in sets.values():
            pairs *= (inside[part] @ inside.T) / inside.shape[1]
        rows = np.add.reduceat(pairs, ends[:-1], axis=1)
        owner = np.searchsorted(ends, np.arange(start, start + len(rows)), side="right") - 1
        np.add.at(gram, owner, rows)
    return np.asarray((gram + gram.T) / 2)


def take_levels(
    sets: dict[int, BoolArray], feature: int, chosen: Int64Array
) -> tuple[dict[int, BoolArray], BoolArray]:
    """Narrow the boxes to some levels of a feature; also say which boxes are left."""
    inside = sets[feature][:, chosen]
    there: BoolArray = np.asarray(inside.any(axis=1))
    narrow = {f: rows[there] for f, rows in sets.items() if f != feature}
    narrow[feature] = inside[there]
    return {f: rows for f, rows in sorted(narrow.items()) if not rows.all()}, there
