"""`certify`: what rounding can do is bounded, and rows that it could move are named."""

from __future__ import annotations

import numpy as np
import pytest

import obliqua
from export_cases import case
from obliqua.export.certificate import SINGLE


def test_single_precision_stays_within_the_bound_where_thresholds_are_subtracted() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=5000) * 2.0 ** rng.integers(-30, 30, 5000)
    for value, threshold in zip(values, rng.normal(size=5000), strict=True):
        rounded = np.float32(value) - np.float32(threshold)
        bound = SINGLE.bound(np.ones(1), np.array([[value]]), float(threshold))[0]
        assert abs(float(rounded) - (value - threshold)) <= bound


def test_rows_near_thresholds_are_counted() -> None:
    builder = obliqua.TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 1.0}, 1.0, ["a", "b"])
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    rows = [[0.5, 0.5], [0.5, 0.5 + 1e-9], [0.5, 0.6]]
    certificate = obliqua.certify(tree, rows, "c", "float")
    assert certificate.near.tolist() == [0, 1]
    assert certificate.by_split == {(0, 0): 2}
    assert not certificate.proven
    assert "2 are closer to a threshold" in str(certificate)
    assert obliqua.certify(tree, rows, "c").proven
    assert obliqua.certify(tree, rows[2:], "c", "int16").proven


def test_unknown_formats_are_refused() -> None:
    model, _ = case("one oblique tree")
    with pytest.raises(ValueError, match=r"'c' with numbers='half'. Known are .*c \(int16\)"):
        obliqua.certify(model, np.zeros((1, 5)), "c", "half")
