"""`spectrum_of`: the Fourier spectrum of a tree, from its splits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obliqua._typing import FloatArray, Int64Array
from obliqua.errors import SpectrumTooLarge, TreeError
from obliqua.spectrum import _checks, _keys
from obliqua.spectrum._branches import branches_of
from obliqua.spectrum.domain import Domain
from obliqua.spectrum.function import Spectrum, cleaned, gathered, to_entries, to_levels
from obliqua.tree.tree import Tree

__all__ = ["MAX_COEFFICIENTS", "leaf_values", "spectrum_of"]

#: The most coefficients that a spectrum has at any moment, unless one asks for more.
MAX_COEFFICIENTS = 2**20

_Part = tuple[Int64Array, NDArray[Any]]


def leaf_values(tree: Tree, values: str | ArrayLike) -> FloatArray:
    """Return what the function of a tree is in each node."""
    if isinstance(values, str):
        if values == "shares":
            return tree.proportion
        if values == "votes":
            return np.eye(tree.n_stats)[tree.leaf_label]
        raise ValueError(
            f"values must be 'shares', 'votes' or numbers for the nodes; got {values!r}."
        )
    table = _checks.floats_of("values", values)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != tree.n_nodes or not np.isfinite(table).all():
        raise ValueError(
            f"values must be finite, a number or a row of numbers for each of the {tree.n_nodes} "
            f"nodes; got an array of shape {np.shape(values)}."
        )
    return table


def check_fit(tree: Tree, domain: Domain) -> None:
    """Refuse what is no tree on a domain."""
    _checks.check_tree(tree)
    _checks.check_domain(domain)
    if tree.n_features != domain.n_features:
        raise TreeError(
            f"The tree has {tree.n_features} columns and the domain {domain.n_features} features; "
            "there must be one for each."
        )


def spectrum_of(
    tree: Tree,
    domain: Domain,
    values: str | ArrayLike = "shares",
    *,
    max_coefficients: int = MAX_COEFFICIENTS,
    max_order: int | None = None,
) -> Spectrum:
    """Find the Fourier spectrum of a tree.

    The points of the domain are never enumerated: the spectrum of a node is put together from
    those of its children. What it takes is about the number of coefficients at each node, which
    is at most the number of leaves below it times the product of the cardinalities of the
    features that the path to a leaf asks about.

    Parameters
    ----------
    tree : Tree
        A tree whose splits ask about one column each: thresholds, sets of levels, several
        branches.
    domain : Domain
        The domain, with a feature for each column of the tree.
    values : {"shares", "votes"} or array-like, default="shares"
        The function: the shares of the classes in the leaf, a 1 for its largest class, or numbers
        of your own per node.
    max_coefficients : int, default=2**20
        The most coefficients, of the tree or of a part of it.
    max_order : int, default=None
        Leave out all partitions of a higher order. The others are found exactly.

    Returns
    -------
    Spectrum
        The spectrum, exact but for rounding. Coefficients that are 0 but for rounding are left
        out.

    Raises
    ------
    TreeError
        If a split asks about several columns, or cuts an interval of the domain.
    SpectrumTooLarge
        If there would be more than `max_coefficients`.

    Examples
    --------
    >>> from obliqua import TreeBuilder
    >>> from obliqua.spectrum import Domain, spectrum_of
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0}, 0.5, ("no", "ask"))
    >>> builder.add_split("ask", {1: 1.0}, 0.5, ("no too", "yes"))
    >>> for name in ("no", "no too"):
    ...     builder.set_leaf(name, [1, 0])
    >>> builder.set_leaf("yes", [0, 1])
    >>> both = spectrum_of(builder.build(), Domain.of_levels([2, 2]), values=[0, 0, 0, 0, 1])
    >>> both
    Spectrum(4 coefficients, order 2, 1 output, energy 0.25)
    >>> [float(number) for number in both.to_dict().values()]
    [0.25, -0.25, -0.25, 0.25]
    """
    check_fit(tree, domain)
    # What is left of a limit for several trees may be nothing.
    _checks.check_count("max_coefficients", max_coefficients, 0)
    _checks.check_count("max_order", max_order, 0, none=True)
    table = leaf_values(tree, values)
    scale = float(np.abs(table[tree.is_leaf]).max(initial=0.0))
    n_words = domain.layout[3]
    parts: list[_Part | None] = [None] * tree.n_nodes
    above = _features_above(tree) if max_order is not None else None
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.is_leaf[node]:
            parts[node] = (np.zeros((1, n_words), dtype=np.int64), table[node : node + 1])
            continue
        feature, branch = branches_of(tree, node, domain)
        first = int(tree.first_child[node])
        below = parts[first : first + int(tree.n_children[node])]
        parts[first : first + len(below)] = [None] * len(below)
        try:
            made = _joined_used(domain, feature, branch, below, max_coefficients)
        except _TooMany as error:
            raise _too_large(tree, node, domain, error.args[0], max_coefficients) from None
        parts[node] = cleaned(*made, scale)
        if above is not None and max_order is not None:
            parts[node] = _low_orders(domain, parts[node], above[node], max_order)
    root = parts[0]
    assert root is not None
    return gathered(domain, root[0], np.array(root[1]), scale)


def _joined_used(
    domain: Domain, feature: int, branch: Int64Array, below: list[Any], most: int
) -> _Part:
    """Put the branches together that some level takes."""
    used = np.unique(branch)
    if len(used) == 1:  # no level of the domain goes elsewhere
        part: _Part = below[used[0]]
        return part
    renumbered = np.searchsorted(used, branch)
    return _joined(domain, feature, renumbered, [below[b] for b in used.tolist()], most)


def _joined(
    domain: Domain,
    feature: int,
    branch: Int64Array,
    parts: list[tuple[Int64Array, NDArray[Any]]],
    most: int,
) -> tuple[Int64Array, NDArray[Any]]:
    """Put functions together: the one of branch b where the feature's level takes branch b.

    Keys come back in no order, each once; `_TooMany` if there would be more than `most`.
    """
    cardinality = domain.cardinalities[feature]
    rests = [_keys.cleared(domain, keys, feature) for keys, _ in parts]
    union, place = _keys.group(np.concatenate(rests))
    if len(union) * cardinality > most:
        raise _TooMany(len(union) * cardinality)
    shape = (cardinality, len(union), parts[0][1].shape[1])
    # What each partition of the other features has at each level of this one.
    total = np.zeros(shape, dtype=np.result_type(*(values for _, values in parts)))
    start = 0
    for number, (keys, values) in enumerate(parts):
        where = place[start : start + len(keys)]
        start += len(keys)
        levels = np.flatnonzero(branch == number)
        entry = _keys.digit(domain, keys, feature)
        if entry.any():
            table = np.zeros(shape, dtype=total.dtype)
            table[entry, where] = values
            at_levels = to_levels(table)[levels]
            total[levels] = at_levels if np.iscomplexobj(total) else at_levels.real
        else:
            total[np.ix_(levels, where)] = values
    coefficients = to_entries(total).swapaxes(0, 1).reshape(-1, shape[2])
    return _keys.spread_out(domain, union, feature), coefficients


class _TooMany(Exception):
    """There would be more coefficients than are allowed."""


def _features_above(tree: Tree) -> list[frozenset[int]]:
    """Return the columns that the splits above each node ask about."""
    above = [frozenset[int]()] * tree.n_nodes
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        start, end = tree.coef_ptr[tree.plane_ptr[parent] : tree.plane_ptr[parent] + 2]
        above[node] = above[parent] | set(tree.coef_idx[start:end].tolist())
    return above


def _low_orders(domain: Domain, part: Any, above: frozenset[int], max_order: int) -> _Part:
    """Leave out what no partition of a low order can come from.

    A split further up may take away the entry of its own feature, but no other.
    """
    keys, values = part
    order = _keys.orders(domain, keys)
    for feature in above:
        if domain.cardinalities[feature] > 1:
            order -= _keys.digit(domain, keys, feature) != 0
    return keys[order <= max_order], values[order <= max_order]


def _too_large(
    tree: Tree, node: int, domain: Domain, n_coefficients: int, most: int
) -> SpectrumTooLarge:
    used = sorted(set(tree.coef_idx.tolist()))
    widest = sorted(used, key=lambda f: -domain.cardinalities[f])[:3]
    named = ", ".join(f"{domain.names[f]!r} ({domain.cardinalities[f]})" for f in widest)
    return SpectrumTooLarge(
        f"The spectrum of node {node} would have {n_coefficients} coefficients, and "
        f"max_coefficients allows {most}. The number is the product of the cardinalities of the "
        f"features along a path; the largest are those of {named}. Take smaller trees "
        "(max_depth) or features with fewer levels, or allow more. A classifier needs no spectra "
        "with spectrum_energy=None; by hand, spectrum_of(..., max_order=2) leaves out "
        "interactions of more features, and obliqua.spectrum.LeafSum does without."
    )
