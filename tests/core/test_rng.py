"""Random numbers that depend on seeds and content, not on order."""

from __future__ import annotations

import numpy as np

from obliqua._core.base.rng import child_key, row_hashes


def test_hashes_follow_the_rows() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(50, 3))
    Z[7] = Z[3]
    y = np.zeros(50, dtype=np.int64)
    hashes = row_hashes(Z, y, 1)
    assert hashes[7] == hashes[3] and len(set(hashes.tolist())) == 49
    order = rng.permutation(50)
    np.testing.assert_array_equal(row_hashes(Z[order], y[order], 1), hashes[order])
    assert not (row_hashes(Z, y, 2) == hashes).any()
    assert not (row_hashes(Z, y + 1, 1) == hashes).any()
    single = Z.astype(np.float32)
    np.testing.assert_array_equal(
        row_hashes(single, y, 1), row_hashes(single.astype(np.float64), y, 1)
    )
    zeros = np.array([[0.0], [-0.0]])
    assert len(set(row_hashes(zeros, y[:2], 0).tolist())) == 1


def test_keys_of_nodes_differ() -> None:
    keys = [0]
    for key in keys[:]:
        keys += [child_key(key, 0), child_key(key, 1)]
    for key in keys[1:]:
        keys += [child_key(key, 0), child_key(key, 1)]
        if len(keys) > 500:
            break
    assert len(set(keys)) == len(keys)
