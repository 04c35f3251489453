"""Trees over mapped columns, said in the original ones: `fold`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.errors import TreeError
from obliqua.tree.layout import NodeKind, pointers, ranges
from obliqua.tree.tree import Tree

_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


def fold(
    tree: Tree,
    *,
    shift: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    matrix: Any = None,
    offset: ArrayLike | None = None,
    fill: ArrayLike | None = None,
) -> Tree:
    """Turn a tree over mapped columns ``z`` into the same tree over the original ``x``.

    The map is either ``z = (x - shift) * scale``, column by column, or
    ``z = matrix @ x + offset``. Walking the folded tree over ``x`` leads to the leaf that
    walking the tree over ``z`` leads to. That is exact if `shift` is 0 and every `scale` a
    power of two, except for overflow and underflow; otherwise a row that lies on a boundary
    within rounding may pass on its other side. Splits by one column keep the coefficient 1
    under `shift` and `scale`.

    Parameters
    ----------
    tree : Tree
        The tree over ``z``; it is not changed.
    shift, scale : float or array-like of shape (n_features,), default=None
        The map column by column; None means 0 and 1.
    matrix : array-like or sparse matrix of shape (n_features, n_new_features), default=None
        The map by a matrix. Its columns are the features of the folded tree.
    offset : float or array-like of shape (n_features,), default=None
        What is added to ``matrix @ x``; None means 0.
    fill : float or array-like of shape (n_new_features,), default=None
        What stands in for a missing entry of each ``x``, NaN for nothing. It is needed with a
        `matrix` that mixes columns for which the tree has fill values: these do not tell what
        the missing ``x`` was.

    Returns
    -------
    Tree
        The tree over ``x``.

    Raises
    ------
    TypeError
        If `tree` is no tree.
    TreeError
        If the map changes a qualitative column: a level table has no meaning for sums or
        multiples of codes. A matrix may move such a column (a row with a single 1), no more.

    Examples
    --------
    >>> from obliqua.tree import TreeBuilder
    >>> from obliqua.tree.fold import fold
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0}, 0.5, ("low", "high"))
    >>> builder.set_leaf("low", [3, 0])
    >>> builder.set_leaf("high", [0, 2])
    >>> folded = fold(builder.build(), shift=[10, 0], scale=[0.25, 1])
    >>> float(folded.threshold[0])  # (x - 10) / 4 <= 0.5 is x <= 12
    12.0
    """
    if not isinstance(tree, Tree):
        raise TypeError(
            f"fold() takes a Tree; got {type(tree).__name__}. That of an estimator is `tree_`."
        )
    if tree.has_lines:
        raise TreeError(
            "A tree whose leaves are linear functions cannot be folded; fit it to the original "
            "columns, or with leaf_model='constant'."
        )
    if matrix is None:
        if offset is not None or fill is not None:
            raise TreeError(
                "fold() takes offset and fill together with a matrix only; got no matrix."
            )
        return _fold_columns(
            tree,
            _per_column(shift, tree.n_features, 0.0, "shift"),
            _per_column(scale, tree.n_features, 1.0, "scale"),
        )
    if shift is not None or scale is not None:
        raise TreeError(
            "fold() takes either shift and scale, or matrix and offset; got both. Fold twice, "
            "the map that was applied last first."
        )
    return _fold_matrix(
        tree,
        _as_matrix(matrix, tree.n_features),
        _per_column(offset, tree.n_features, 0.0, "offset"),
        fill,
    )


def _per_column(
    value: ArrayLike | None, n: int, default: float, name: str, missing: bool = False
) -> FloatArray:
    given = np.asarray(default if value is None else value, dtype=np.float64)
    if given.shape not in ((), (n,)):
        raise TreeError(
            f"{name} must be one number or one per column, {n}; got shape {given.shape}."
        )
    if not (np.isfinite(given) | (missing & np.isnan(given))).all():
        raise TreeError(f"{name} must be finite; it is not.")
    return np.broadcast_to(given, (n,))


def _as_matrix(matrix: Any, n: int) -> Any:
    """Return the map as a sparse matrix without stored zeros, each row in column order."""
    rows = sparse.csr_array(matrix if sparse.issparse(matrix) else np.asarray(matrix, float))
    if rows.ndim != 2 or rows.shape[0] != n:
        raise TreeError(
            f"The matrix must have one row per column of the tree, {n}; got shape {rows.shape}."
        )
    if rows.shape[1] == 0:
        raise TreeError("The matrix must have at least one column; got none.")
    if not np.isfinite(rows.data).all():
        raise TreeError("The matrix must be finite; it is not.")
    rows = rows.astype(np.float64)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _has_table(tree: Tree) -> BoolArray:
    return np.diff(tree.table_ptr) > 0


def _refuse_levels(tree: Tree, bad: BoolArray, why: str) -> None:
    """Raise for the first coefficient whose level table cannot be folded."""
    if bad.any():
        place = int(np.argmax(bad))
        node = tree.node_of_plane[tree.plane_of_coef[place]]
        raise TreeError(
            f"Node {node} has a level table for column {tree.coef_idx[place]}, which cannot be "
            f"folded: {why}. Map numeric columns only."
        )


def _fold_columns(tree: Tree, shift: FloatArray, scale: FloatArray) -> Tree:
    table = _has_table(tree)
    s, c = shift[tree.coef_idx], scale[tree.coef_idx]
    _refuse_levels(tree, table & ((s != 0) | (c != 1)), "shift must be 0 and scale 1 there")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        coef = tree.coef * c
        moved = np.bincount(tree.plane_of_coef, weights=coef * s, minlength=tree.n_planes)
        threshold = tree.threshold + moved
        fill = np.where(c == 0, np.where(np.isnan(tree.fill), np.nan, s), tree.fill / c + s)
        # A column that the map makes constant may have any spread; so may one out of range.
        spread = tree.spread / np.abs(c)
        spread[~np.isfinite(spread)] = np.nan
        plane, at = _unit_planes(tree, c)
        coef[at] = tree.coef[at] * np.sign(c[at])
        threshold[plane] = tree.threshold[plane] / np.abs(c[at]) + coef[at] * s[at]
    return _finished(
        tree,
        coef=coef,
        threshold=threshold,
        fill=np.where(table, tree.fill, fill),
        spread=np.where(table, tree.spread, spread),
    )


def _unit_planes(tree: Tree, scale: FloatArray) -> tuple[Int64Array, Int64Array]:
    """Find splits by one column with coefficient 1 or -1, which they can keep.

    A threshold that is denormal or would become so by division loses digits; it is left
    alone. A linear machine compares its planes with each other, so they must not be scaled at all.
    """
    plane = np.flatnonzero(
        (np.diff(tree.coef_ptr) == 1) & (tree.kind[tree.node_of_plane] == NodeKind.HYPERPLANE)
    )
    at = tree.coef_ptr[plane]
    size = np.abs(scale[at])
    quotient = np.abs(tree.threshold[plane] / size)
    smaller = np.minimum(quotient, np.abs(tree.threshold[plane]))
    safe = np.isfinite(quotient) & ((smaller >= _SMALLEST_NORMAL) | (tree.threshold[plane] == 0))
    keeps = (np.abs(tree.coef[at]) == 1) & (size > 0) & safe & ~_has_table(tree)[at]
    return plane[keeps], at[keeps]


class _Entries(NamedTuple):
    """Coefficients of the folded tree, in order of plane and column."""

    plane: Int64Array
    column: Int64Array
    coef: FloatArray
    fill: FloatArray
    source: Int64Array  # the old coefficient whose level table this one keeps; -1 for none


def _fold_matrix(tree: Tree, matrix: Any, offset: FloatArray, fill: ArrayLike | None) -> Tree:
    n_new = int(matrix.shape[1])
    table = _has_table(tree)
    row_size = np.diff(matrix.indptr)
    moved_only = np.zeros(tree.n_features, dtype=bool)
    single = np.flatnonzero(row_size == 1)
    moved_only[single] = (matrix.data[matrix.indptr[single]] == 1) & (offset[single] == 0)
    _refuse_levels(tree, table & ~moved_only[tree.coef_idx], "the matrix does more than move it")
    numeric = _numeric_entries(tree, matrix)
    if fill is None:
        numeric = numeric._replace(fill=_mapped_fill(tree, matrix, offset, numeric))
    else:
        stands_in = _per_column(fill, n_new, np.nan, "fill", missing=True)
        numeric = numeric._replace(fill=stands_in[numeric.column])
    kept = np.flatnonzero(table)
    with_table = _Entries(
        tree.plane_of_coef[kept],
        matrix.indices[matrix.indptr[tree.coef_idx[kept]]].astype(np.int64),
        tree.coef[kept],
        tree.fill[kept],
        kept,
    )
    entries = _merged(tree, numeric, with_table, n_new)
    constant = np.bincount(
        tree.plane_of_coef[~table],
        weights=(tree.coef * offset[tree.coef_idx])[~table],
        minlength=tree.n_planes,
    )
    changes: dict[str, Any] = {}
    if (row_size > 1).any():
        # An axis-parallel split over z is none over x, so this is no longer known.
        changes["axis_gain"] = np.full(tree.n_nodes, np.nan)
    n_entries = np.where(entries.source < 0, 0, np.diff(tree.table_ptr, append=0)[entries.source])
    return _finished(
        tree,
        n_features=n_new,
        coef_ptr=pointers(np.bincount(entries.plane, minlength=tree.n_planes)),
        coef_idx=entries.column.astype(np.int32),
        coef=entries.coef,
        fill=entries.fill,
        # What a sum of columns varied by does not say what each of them did.
        spread=np.full(len(entries.coef), np.nan),
        table_ptr=pointers(n_entries),
        table=tree.table[ranges(tree.table_ptr[entries.source], n_entries)],
        threshold=tree.threshold - constant,
        **changes,
    )


def _numeric_entries(tree: Tree, matrix: Any) -> _Entries:
    """Multiply the coefficients without a level table by the matrix."""
    numeric = ~_has_table(tree)
    n_coef = np.bincount(tree.plane_of_coef[numeric], minlength=tree.n_planes)
    normals = sparse.csr_array(
        (tree.coef[numeric], tree.coef_idx[numeric], pointers(n_coef)),
        shape=(tree.n_planes, tree.n_features),
    )
    product = sparse.coo_array(normals @ matrix)
    used = np.flatnonzero(product.data)
    found = _plain_entries(product.row[used], product.col[used], product.data[used])
    if not tree.missing_side.any():
        return found
    # A side is for rows that miss any of the columns, those without a factor of their own too.
    asked = np.repeat(tree.missing_side > 0, n_coef)
    normals.data = np.where(asked, 1.0, 0.0)
    read = sparse.coo_array(normals @ abs(matrix).sign())
    some = np.flatnonzero(read.data)
    n_new = int(matrix.shape[1])
    key = read.row[some] * np.int64(n_new) + read.col[some]
    silent = key[~np.isin(key, found.plane * n_new + found.column)]
    return _joined(found, _plain_entries(silent // n_new, silent % n_new, np.zeros(len(silent))))


def _plain_entries(plane: AnyArray, column: AnyArray, coef: FloatArray) -> _Entries:
    """Coefficients of numeric columns for which nothing stands in yet."""
    return _Entries(
        plane.astype(np.int64),
        column.astype(np.int64),
        coef,
        np.full(len(coef), np.nan),
        np.full(len(coef), -1, dtype=np.int64),
    )


def _mapped_fill(tree: Tree, matrix: Any, offset: FloatArray, entries: _Entries) -> FloatArray:
    """Map fill values back where a column of z comes from one column of x alone."""
    fill = entries.fill.copy()
    # A row of the matrix without entries makes a constant, which is never missing.
    constant = np.diff(matrix.indptr)[tree.coef_idx] == 0
    sided = tree.missing_side[tree.plane_of_coef] > 0  # nothing stands in there
    known = np.flatnonzero(~np.isnan(tree.fill) & ~_has_table(tree) & ~constant & ~sided)
    if len(known) == 0:
        return fill
    n_new = int(matrix.shape[1])
    numeric = np.flatnonzero(~_has_table(tree))
    # Which columns of x each plane reads, and how often.
    rows = tree.coef_idx[numeric]
    length = np.diff(matrix.indptr)[rows]
    column = matrix.indices[ranges(matrix.indptr[rows], length)]
    keys = np.repeat(tree.plane_of_coef[numeric], length) * n_new + column
    read, times = np.unique(keys, return_counts=True)
    z = tree.coef_idx[known]
    at = matrix.indptr[z]
    mixed = np.diff(matrix.indptr)[z] != 1
    key = tree.plane_of_coef[known] * n_new + matrix.indices[np.where(mixed, 0, at)]
    mixed |= times[np.minimum(np.searchsorted(read, key), len(read) - 1)] > 1
    if mixed.any():
        node = tree.node_of_plane[tree.plane_of_coef[known[np.argmax(mixed)]]]
        raise TreeError(
            f"Node {node} has fill values for columns that the matrix mixes, and they do not "
            "tell what stands in for a missing original value. Give fold() the fill values of "
            "the original columns (fill=numpy.nan for none)."
        )
    place = {k: i for i, k in enumerate((entries.plane * n_new + entries.column).tolist())}
    values = (tree.fill[known] - offset[z]) / matrix.data[at]
    for k, value in zip(key.tolist(), values.tolist(), strict=True):
        if k in place:
            fill[place[k]] = value
    return fill


def _joined(a: _Entries, b: _Entries) -> _Entries:
    return _Entries._make(np.concatenate(pair) for pair in zip(a, b, strict=True))


def _merged(tree: Tree, numeric: _Entries, with_table: _Entries, n_new: int) -> _Entries:
    """Join both sorts of coefficients, sorted by plane and column."""
    both = _joined(numeric, with_table)
    used = np.bincount(both.plane, minlength=tree.n_planes)
    empty = np.flatnonzero((used == 0) & (tree.kind[tree.node_of_plane] != NodeKind.MACHINE))
    if len(empty):
        # A normal that the matrix maps to zero: the same answer for all rows.
        n = len(empty)
        both = _joined(
            both,
            _plain_entries(empty, np.zeros(n, dtype=np.int64), np.zeros(n)),
        )
    order = np.lexsort((both.column, both.plane))
    both = _Entries._make(part[order] for part in both)
    key = both.plane * n_new + both.column
    clash = np.flatnonzero(key[1:] == key[:-1])
    if len(clash):
        raise TreeError(
            f"The matrix maps column {both.column[clash[0]]} to a numeric and to a qualitative "
            f"column, and node {tree.node_of_plane[both.plane[clash[0]]]} uses both. Map numeric "
            "columns only."
        )
    return both


def _finished(tree: Tree, **changes: Any) -> Tree:
    for name in ("coef", "threshold"):
        if not np.isfinite(changes[name]).all():
            raise TreeError(
                f"The map makes a {name} of the tree overflow. Use smaller scales or shifts."
            )
    folded = replace(tree, **changes)
    folded.validate()
    return folded
