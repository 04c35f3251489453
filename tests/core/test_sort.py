"""The radix sort: the order of numpy's, and a mark on every new value."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua._core.base.sort import py_sort_order


def values(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    if kind == "normal":
        return rng.normal(size=n)
    if kind == "integers":
        return rng.integers(-5, 6, n).astype(float)
    if kind == "clock":  # large, with differences in the lower half of the bits
        return 1.7e9 + rng.random(n)
    if kind == "pairs":  # of neighbours, which alone share the upper half
        return np.repeat(rng.normal(size=n), 2)[:n] * rng.choice([1.0, 1.0 + 4e-16], n)
    if kind == "extremes":
        return rng.choice([0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308, 1.0, 1 + 2e-16], n)
    if kind == "huge range":
        return rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 300, n)
    return np.full(n, 3.25)


@pytest.mark.parametrize(
    "kind", ["normal", "integers", "clock", "pairs", "extremes", "huge range", "constant"]
)
@pytest.mark.parametrize("n", [1, 2, 13, 399, 400, 401, 5000])
def test_order_and_marks(kind: str, n: int) -> None:
    x = values(kind, n)
    marked = py_sort_order(x)
    order = marked & 0x7FFFFFFF
    assert sorted(order.tolist()) == list(range(n))
    ordered = x[order]
    np.testing.assert_array_equal(ordered, np.sort(x))
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    np.testing.assert_array_equal((marked >> 31).astype(bool), new)
