"""Standard units: sums and floats of some rows, with gaps, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua._core.refine.standard import largest, standardise, weighted_sums


def case(order: Any, dtype: Any) -> Any:
    rng = np.random.default_rng(3)
    Z = np.asarray(rng.normal(2.0, 3.0, (60, 5)), dtype=dtype, order=order)
    Z[rng.random(Z.shape) < 0.2] = np.nan
    Z[:, 4] = np.nan
    rows = rng.permutation(60)[:50]
    share = rng.random(50)
    share[::7] = 0.0
    return Z, rows, np.array([4, 0, 2]), share


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_against_numpy(order: Any, dtype: Any) -> None:
    Z, rows, columns, share = case(order, dtype)
    values = Z[rows][:, columns].astype(float)
    there = ~np.isnan(values)
    parts = [largest(Z, columns, *piece) for piece in ((0, 20), (20, 60))]
    size = np.nan_to_num(np.abs(Z[:, columns])).max(axis=0)
    np.testing.assert_array_equal(np.maximum(*parts), size)
    unit, about = np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.5, -0.25])
    found = sum(
        weighted_sums(Z, rows, columns, share, unit, about, *piece) for piece in ((0, 9), (9, 50))
    )
    moved = np.where(there, values / unit - about, 0.0)
    weight = np.where(there, share[:, None], 0.0)
    expected = [(weight * moved**power).sum(axis=0) for power in range(3)]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-13)
    x = np.full((50, 8), 7.0, dtype=np.float32)
    standardise(Z, rows, columns, about, unit, x, 10, 50)
    standard = np.where(there, (values - about) / unit, 0.0).astype(np.float32)
    np.testing.assert_array_equal(x[10:, :3], standard[10:])
    assert (x[:10] == 7.0).all(), "only the rows that were asked for"
    assert (x[:, 3:] == 7.0).all()
    assert not x[10:, 0].any(), "a column without numbers"
