"""Splits in whole numbers: the bound is one, computed again with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import obliqua
from export_cases import MAKERS, case
from obliqua.export.computation import Computation
from obliqua.export.fixed_point import (
    MOST,
    FixedPointPlan,
    WholePlane,
    nearest,
    planes_of,
    values_at,
)
from obliqua.tree.layout import NodeKind


def exact(whole: WholePlane, entries: np.ndarray) -> Fraction:
    """Value minus threshold of a plane in whole numbers, in the units of the plane."""
    terms = zip(whole.coef.tolist(), whole.shift.tolist(), entries.tolist(), strict=True)
    total = sum((coef * entry) << shift for coef, shift, entry in terms)
    assert abs(total) < 2**61
    return (total - whole.threshold) * Fraction(2) ** whole.unit


@pytest.mark.parametrize("name", MAKERS)
def test_no_value_is_off_by_more_than_the_bound(name: str) -> None:
    model, rows = case(name)
    computation = Computation.of(model)
    plan = FixedPointPlan.of(computation)
    rows = rows[:40]
    for part in list(computation.parts())[:2]:
        tree = part.tree
        for node in np.flatnonzero(tree.kind % NodeKind.LEVELS).tolist():
            planes = planes_of(tree, node)
            for whole in plan.node(planes, len(planes) > 1):
                assert np.abs(whole.coef).max(initial=0) < 2**15
                values = values_at(whole.plane, rows)
                bound = whole.bound(values)
                entries = nearest(whole.entries(values))
                largest = whole.largest_bound(plan.low, plan.high)
                for row in range(len(rows)):
                    if np.isnan(values[row]).any() or np.isinf(bound[row]):
                        continue
                    terms = zip(whole.plane.coef.tolist(), values[row].tolist(), strict=True)
                    value = sum(Fraction(c) * Fraction(v) for c, v in terms)
                    off = abs(
                        exact(whole, entries[row]) - (value - Fraction(whole.plane.threshold))
                    )
                    # A hyperplane's threshold is the largest whole number below it, which sends
                    # no sum elsewhere.
                    unit = 0 if len(planes) > 1 else Fraction(2) ** whole.unit
                    assert off <= Fraction(float(bound[row])) + unit
                    assert bound[row] <= largest * (1 + 1e-9)


def test_whole_numbers_in_rows_stay_exact() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 16, (400, 3)).astype(float)
    tree = obliqua.CartClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] > 14)
    plan = FixedPointPlan.of(Computation.of(tree), X)
    entries = np.ldexp(X - plan.offset, plan.exponent)
    assert (entries == np.rint(entries)).all()
    certificate = obliqua.certify(tree, X, "c", "int16", rows=X)
    assert certificate.proven
    assert certificate.largest_bound < 1e-12


def test_rows_beyond_all_limits_are_never_proven() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    tree = obliqua.HHCartClassifier(random_state=0).fit(X, X[:, 0] > X[:, 1])
    far = np.array([[1e4, -1e4], [0.5, -0.5]])
    certificate = obliqua.certify(tree, far, "c", "int16", rows=X)
    assert certificate.near.tolist() == [0]
    assert nearest(np.array([1e300, -np.inf, 2.5, -2.5, np.nan])).tolist() == [
        MOST,
        -MOST,
        3,
        -3,
        0,
    ]


def test_a_question_about_gaps_is_asked_exactly() -> None:
    builder = obliqua.TreeBuilder(1, 2)
    builder.add_split("root", {0: 0.0}, 0.0, ["a", "b"], missing="right", fill={0: 1.0})
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    for numbers in ("float", "int16"):
        assert obliqua.certify(builder.build(), [[3.0], [np.nan]], "c", numbers).proven
