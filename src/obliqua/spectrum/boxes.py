"""`LeafSum`: the same functions without their spectra, as values on boxes of levels.

The product of two indicators of boxes is an indicator of a box, and its mean over the domain a
product over the features. So inner products are exact whatever the number of coefficients of a
spectrum would be; by Parseval's theorem they are those of the spectra.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._core.base.linalg import product
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.spectrum import _checks
from obliqua.spectrum.domain import Domain, branches_of, check_domain, points_of
from obliqua.spectrum.function import at_points, check_fit, leaf_values
from obliqua.tree.tree import Tree

__all__ = ["LeafSum", "gram_of_leaves", "leaf_sum_of"]

_BLOCK = 2**22  # products of so many pairs of boxes are held at a time


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

    def __post_init__(self) -> None:
        check_domain(self.domain)
        if not isinstance(self.values, np.ndarray) or not isinstance(self.sets, dict):
            raise TypeError(
                "values must be an array and sets a dict of arrays, one for each feature that "
                f"some box is narrow in; got {type(self.values).__name__} and "
                f"{type(self.sets).__name__}."
            )
        if self.values.ndim != 2 or not np.isfinite(self.values).all():
            raise ValueError(
                "values must be finite, a row of numbers for each box; got an array of shape "
                f"{self.values.shape}."
            )
        for feature, inside in self.sets.items():
            if isinstance(feature, str) or not isinstance(inside, np.ndarray):
                raise TypeError(
                    "sets must have arrays for features that are given by number; got "
                    f"{type(inside).__name__} for {feature!r}."
                )
            shape = (
                len(self.values),
                self.domain.cardinalities[self.domain.feature_number(feature)],
            )
            if inside.dtype != bool or inside.shape != shape or not inside.any(axis=1).all():
                raise ValueError(
                    f"sets[{feature}] must say with bools of shape {shape} which levels are in "
                    f"each box, at least one; got {inside.dtype} of shape {inside.shape}."
                )

    @property
    def mean(self) -> FloatArray:
        """The mean of the function over the domain, one number per output."""
        return product(mass_of(narrow_of(self.sets), len(self.values)), self.values)

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

    def value(self, codes: ArrayLike) -> FloatArray:
        """Return the function at points of the domain.

        Parameters
        ----------
        codes : array-like of int, of shape (n_rows, n_features)
            Levels, as `Domain.codes` returns them. Where a level is -1, not known, the mean over
            all levels of that feature is taken.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            The values.
        """
        used = sorted(self.sets)
        # After the last level stands the share of all: level -1 finds it.
        shares = [
            np.column_stack([levels, levels.mean(axis=1)]).T
            for levels in (self.sets[feature] for feature in used)
        ]

        def of_block(block: Int64Array) -> FloatArray:
            inside = np.ones((len(block), len(self.values)))
            for column, share in enumerate(shares):
                inside *= share[block[:, column]]
            return product(inside, self.values)

        rows = points_of(self.domain, codes)[:, used]
        return at_points(rows, len(self.values), self.values.shape[1], of_block)

    def __mul__(self, factor: float) -> LeafSum:
        if not isinstance(factor, Real):
            return NotImplemented
        return LeafSum(self.domain, self.values * float(factor), self.sets)

    __rmul__ = __mul__

    def __add__(self, other: LeafSum) -> LeafSum:
        if not isinstance(other, LeafSum):
            return NotImplemented
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
    check_fit(tree, domain)
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
    """Add up functions on the same domain."""
    _checks.check_kind(parts, LeafSum, "function")
    domain, n_outputs = parts[0].domain, parts[0].values.shape[1]
    if any(part.domain != domain or part.values.shape[1] != n_outputs for part in parts):
        raise ValueError("All functions must be on the same domain and have as many outputs.")
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
    lengths = np.array([len(part.values) for part in parts])
    there = np.flatnonzero(lengths)  # a sum of no boxes is 0
    owner = np.repeat(np.arange(len(there)), lengths[there])
    first = (np.cumsum(lengths) - lengths)[there]
    found = np.zeros((len(there), len(there)))
    narrow = narrow_of(whole.sets)
    means = whole.values * mass_of(narrow, len(whole.values))[:, None]
    for start, products in products_of(means, narrow.values()):
        here = int(owner[start])
        ends = np.maximum(first[here:] - start, 0)
        sums = np.add.reduceat(products, ends, axis=1)
        np.add.at(found[:, here:], owner[start : start + len(products)], sums)
    gram = np.zeros((len(parts), len(parts)))
    gram[np.ix_(there, there)] = found + found.T
    return gram


@dataclass(frozen=True, eq=False)
class Narrow:
    """The boxes that are narrow in a feature; usually a small part of them."""

    rows: Int64Array  # which boxes, ascending
    inside: BoolArray  # by box and level
    shares: FloatArray  # of all levels that are in each

    @classmethod
    def of(cls, rows: Int64Array, inside: BoolArray) -> Narrow:
        """Leave out boxes with all levels, and those with none."""
        there = inside.any(axis=1) & ~inside.all(axis=1)
        return cls(rows[there], inside[there], inside[there].mean(axis=1))

    def kept(self, there: BoolArray) -> Narrow:
        """Leave out boxes, and number those anew that are there."""
        number = np.cumsum(there) - 1
        keep = there[self.rows]
        return Narrow(number[self.rows[keep]], self.inside[keep], self.shares[keep])


def narrow_of(sets: dict[int, BoolArray]) -> dict[int, Narrow]:
    """Return for each feature the boxes that are narrow in it."""
    return {f: Narrow.of(np.arange(len(inside)), inside) for f, inside in sets.items()}


def mass_of(narrow: dict[int, Narrow], n_boxes: int) -> FloatArray:
    """Return the share of the domain that each box is."""
    mass = np.ones(n_boxes)
    for boxes in narrow.values():
        mass[boxes.rows] *= boxes.shares
    return mass


def products_of(means: FloatArray, narrow: Iterable[Narrow]) -> Iterator[tuple[int, FloatArray]]:
    """Yield the means of products of boxes: of some boxes with those from the first of them on.

    Each pair comes once; what two boxes yield that come together is half of it for both orders,
    so that twice the sum of all is the mean square of the sum of the boxes.

    Boxes that know nothing of each other have the product of their means. A feature that both
    are narrow in changes it by a factor; there are few such pairs.
    """
    known = [(boxes.rows, boxes.inside.astype(np.float64), boxes.shares) for boxes in narrow]
    step = max(1, _BLOCK // max(1, len(means)))
    for start in range(0, len(means), step):
        products = product(means[start : start + step], means[start:].T)
        for rows, levels, shares in known:
            begin, end = np.searchsorted(rows, [start, start + step])
            factor = levels[begin:end] @ levels[begin:].T  # whole numbers: exact in any order
            factor /= levels.shape[1] * shares[begin:]
            factor /= shares[begin:end, None]
            products[np.ix_(rows[begin:end] - start, rows[begin:] - start)] *= factor
        products[:, : len(products)] *= 0.5
        yield start, products
