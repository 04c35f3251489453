"""Few features per split: which weights of a draft may stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from obliqua._typing import BoolArray, FloatArray
from obliqua.refine.draft import Draft
from obliqua.refine.rows import SoftRows

__all__ = ["masked"]


def masked(draft: Draft, rows: SoftRows, n_features: int | None) -> Draft:
    """Leave each split the columns that matter most at its node; all other weights become 0."""
    if draft.n_nodes == 0:
        return draft
    columns = rows.columns
    owner = columns.owner
    size = _sizes(draft, rows)
    keep: BoolArray = size > 0.0
    if n_features is not None and n_features < size.shape[1]:
        # Of equals the earlier ones.
        order = np.argsort(-size, axis=1, kind="stable")
        first = np.zeros_like(keep)
        np.put_along_axis(first, order[:, :n_features], True, axis=1)
        keep = first
    mask = np.zeros_like(draft.normals)
    there = owner >= 0
    mask[:, there] = keep[:, owner[there]]
    mask[:, columns.constant] = 1.0
    return replace(draft, normals=draft.normals * mask, mask=mask)


def _sizes(draft: Draft, rows: SoftRows) -> FloatArray:
    """Return by node and column the standard deviation of what the column adds to heights."""
    first, second = _node_moments(draft, rows)
    weight = np.maximum(first[:, rows.columns.constant], 1e-300)[:, None]
    mean = first / weight
    variance = np.maximum(second / weight - mean * mean, 0.0)
    w = draft.normals.astype(np.float64)
    columns = rows.columns
    size = np.zeros((draft.n_nodes, len(columns.levels)))
    # Levels of one column shut each other out, so their sum of squares is about its mean.
    spread, middle = np.zeros_like(size), np.zeros_like(size)
    for place in np.flatnonzero(columns.owner >= 0).tolist():
        column = columns.owner[place]
        if place < columns.stride:
            spread[:, column] += w[:, place] ** 2 * variance[:, place]
        else:
            spread[:, column] += w[:, place] ** 2 * mean[:, place]
            middle[:, column] += w[:, place] * mean[:, place]
    size[:] = np.sqrt(np.maximum(spread - middle * middle, 0.0))
    # A node that no row reaches goes by its weights alone.
    for node in np.flatnonzero(first[:, columns.constant] == 0.0).tolist():
        there = columns.owner >= 0
        np.maximum.at(size[node], columns.owner[there], np.abs(w[node, there]))
    return size


def _node_moments(draft: Draft, rows: SoftRows) -> tuple[FloatArray, FloatArray]:
    """Return sums of all columns and of their squares over the rows that reach each node."""
    leaf, _ = draft.walk(rows)
    width, stride = rows.columns.width, rows.columns.stride
    sums = np.zeros((2, draft.n_nodes + draft.n_leaves, width))
    order = np.argsort(leaf, kind="stable")
    there, starts = np.unique(leaf[order], return_index=True)
    at = draft.n_nodes + there  # leaves stand behind the nodes
    # Column by column: no copy of the rows is made.
    for k in range(rows.columns.constant + 1):
        values = (rows.x[order, k]).astype(np.float64)
        weight = rows.weight[order]
        sums[0, at, k] = np.add.reduceat(weight * values, starts)
        sums[1, at, k] = np.add.reduceat(weight * values * values, starts)
    if rows.more_ptr is not None and rows.more is not None:
        of_row = np.repeat(np.arange(rows.n_rows), np.diff(rows.more_ptr))
        cells = leaf[of_row].astype(np.int64) * width + rows.more[: len(of_row)]
        counts = np.bincount(cells, rows.weight[of_row], draft.n_leaves * width)
        sums[:, draft.n_nodes :, stride:] = counts.reshape(draft.n_leaves, width)[:, stride:]
    for node in range(draft.n_nodes - 1, -1, -1):
        for side in draft.child[node].tolist():
            sums[:, node] += sums[:, side if side >= 0 else draft.n_nodes - 1 - side]
    return sums[0, : draft.n_nodes], sums[1, : draft.n_nodes]
