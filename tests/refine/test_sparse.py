"""Few columns per split: those that matter most at the node, whole columns in or out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.data.problem import encode
from obliqua.data.table import read_table
from obliqua.refine.draft import Draft
from obliqua.refine.rows import SoftRows, soft_rows
from obliqua.refine.shrink import _sizes, masked
from reference import refine as twin


def case(seed: int = 0, n_nodes: int = 6) -> tuple[Draft, SoftRows]:
    frame, y = twin.mixed_frame(120, seed)
    weight = 1 + np.arange(120) % 3
    rows = soft_rows(encode(read_table(frame), y, 3, sample_weight=weight))
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(n_nodes, rows.columns.width)).astype(np.float32)
    normals[:, rows.columns.constant] *= 0.1
    return Draft(twin.random_child(rng, n_nodes), normals), rows


def reached(draft: Draft, rows: SoftRows) -> Any:
    """Which rows reach each node."""
    full = twin.full_rows(rows.arrays, rows.columns.width)
    right = full @ draft.normals.T.astype(float) > 0
    here = np.zeros((draft.n_nodes, rows.n_rows), dtype=bool)
    for row in range(rows.n_rows):
        at = 0
        while at >= 0:
            here[at, row] = True
            at = int(draft.child[at, int(right[row, at])])
    return full, here


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_matters_is_the_deviation_of_what_a_column_adds(seed: int) -> None:
    draft, rows = case(seed)
    full, here = reached(draft, rows)
    sizes = _sizes(draft, rows)
    owner = rows.columns.owner
    for node in range(draft.n_nodes):
        if not here[node].any():
            continue
        share = rows.weight[here[node]].astype(float)
        share /= share.sum()
        for column in (1, 2, 3, 4):  # numbers without gaps, levels
            places = owner == column
            added = full[np.ix_(here[node], places)] @ draft.normals[node, places].astype(float)
            sd = np.sqrt(share @ (added - share @ added) ** 2)
            assert sizes[node, column] == pytest.approx(sd, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_whole_columns_stay_or_go(most: int) -> None:
    draft, rows = case()
    before = draft.normals.copy()
    small = masked(draft, rows, most)
    np.testing.assert_array_equal(draft.normals, before)
    assert small.mask is not None
    owner = rows.columns.owner
    sizes = _sizes(draft, rows)
    for node in range(draft.n_nodes):
        kept = [column for column in range(5) if small.mask[node, owner == column].all()]
        gone = [column for column in range(5) if not small.mask[node, owner == column].any()]
        assert len(kept) == most
        assert len(gone) == 5 - most
        assert sizes[node, kept].min() >= sizes[node, gone].max()
    assert (small.mask[:, rows.columns.constant] == 1.0).all()
    np.testing.assert_array_equal(small.normals, before * small.mask)


def test_none_keeps_what_is_asked_about() -> None:
    draft, rows = case()
    normals = draft.normals.copy()
    normals[0, rows.columns.owner == 3] = 0.0
    normals[0, 1] = 0.0
    small = masked(Draft(draft.child, normals), rows, None)
    assert small.mask is not None
    used = [int(small.mask[0, rows.columns.owner == column].max()) for column in range(5)]
    assert used == [1, 0, 1, 0, 1]
    np.testing.assert_array_equal(small.normals, normals * small.mask)


def test_a_node_that_no_row_reaches_goes_by_its_weights() -> None:
    _, rows = case()
    normals = np.zeros((2, rows.columns.width), dtype=np.float32)
    normals[0, rows.columns.constant] = -1.0  # all rows go left
    normals[1, :3] = [0.1, -3.0, 1.0]
    small = masked(Draft(np.array([[-1, 1], [-2, -3]], np.int32), normals), rows, 1)
    assert small.normals[1].nonzero()[0].tolist() == [1]


def test_one_leaf() -> None:
    _, rows = case()
    draft = Draft(np.empty((0, 2), np.int32), np.empty((0, rows.columns.width), np.float32))
    assert masked(draft, rows, 2) is draft


@pytest.mark.parametrize("seed", [0, 2])
def test_few_columns_of_the_whole_tree(seed: int) -> None:
    """Those that matter most to all splits, each by its share of the rows; then few per split."""
    draft, rows = case(seed)
    sizes = _sizes(draft, rows)
    _, here = reached(draft, rows)
    share = here @ rows.weight.astype(float)
    whole = ((sizes / np.linalg.norm(sizes, axis=1)[:, None]) ** 2 * share[:, None]).sum(axis=0)
    best = np.sort(np.argsort(-whole)[:2])
    small = masked(draft, rows, None, 2)
    assert used(small, rows).all(axis=0).nonzero()[0].tolist() == best.tolist()
    assert used(small, rows).any(axis=0).nonzero()[0].tolist() == best.tolist()
    fewer = masked(small, rows, 1, 2)
    assert (used(fewer, rows).sum(axis=1) == 1).all()
    assert set(used(fewer, rows).any(axis=0).nonzero()[0]) <= set(best)


def used(draft: Draft, rows: SoftRows) -> Any:
    """By node and column, whether the mask leaves the column to the node."""
    assert draft.mask is not None
    places = [rows.columns.owner == column for column in range(5)]
    return np.stack([draft.mask[:, at].any(axis=1) for at in places], axis=1)
