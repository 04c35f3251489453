"""Weights of rows: for the teacher, and for what is measured on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.registry import blobs
from obliqua import CartClassifier, DistilledClassifier, distil

X, Y = blobs(150, n_features=3, n_classes=3)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 5.0, len(Y))
FAST: dict[str, Any] = {"n_generated": 300, "random_state": 0, "max_leaves": 16}


class Noting(GaussianNB):
    """Keeps what it was fitted to."""

    seen: list[Any] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen.append((X, sample_weight))
        return super().fit(X, y, sample_weight)


def test_the_teacher_gets_the_weights_of_its_rows() -> None:
    Noting.seen.clear()
    DistilledClassifier(Noting(), **FAST).fit(X, Y, sample_weight=WEIGHTS)
    ((rows, weights),) = Noting.seen
    assert len(rows) == 120  # what is held out, it does not see
    by_row = {tuple(row): weight for row, weight in zip(X.tolist(), WEIGHTS, strict=True)}
    assert [by_row[tuple(row)] for row in rows.tolist()] == weights.tolist()


def test_a_pipeline_gives_them_to_its_last_step() -> None:
    Noting.seen.clear()
    teacher = make_pipeline(StandardScaler(), Noting())
    DistilledClassifier(teacher, **FAST).fit(X, Y, sample_weight=WEIGHTS)
    assert Noting.seen[0][1] is not None


@pytest.mark.parametrize(
    "teacher",
    [KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())],
    ids=["plain", "pipeline"],
)
def test_teachers_that_take_none(teacher: Any) -> None:
    student = DistilledClassifier(teacher, **FAST)
    words = "sample_weight is for the teacher, and the fit of KNeighborsClassifier takes none"
    with pytest.raises(ValueError, match=words):
        student.fit(X, Y, sample_weight=WEIGHTS)
    fitted = DistilledClassifier(teacher.fit(X, Y), prefit=True, **FAST)
    assert fitted.fit(X, Y, sample_weight=WEIGHTS).fidelity_["data"]["rows"] == 30


def make(kind: str) -> Any:
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["b"] = np.where(frame["b"] > 0, "high", "low")
    if kind == "pandas":
        return frame
    if kind == "polars":
        return pl.DataFrame(frame.to_dict("list"))
    return frame.to_numpy().tolist() if kind == "list" else X


@pytest.mark.parametrize("kind", ["array", "list", "pandas", "polars"])
@pytest.mark.parametrize("prefit", [False, True])
def test_rows_of_weight_0_are_absent(kind: str, prefit: bool) -> None:
    rows = make(kind)
    weights = np.where(np.arange(len(Y)) % 3 == 1, 0.0, WEIGHTS)  # a whole class among them
    kept = np.flatnonzero(weights > 0)
    fewer = rows.iloc[kept] if kind == "pandas" else rows
    if kind == "list":
        fewer = [rows[row] for row in kept]
    elif kind != "pandas":
        fewer = rows[kept]
    teacher: Any = CartClassifier(random_state=0)
    if prefit:
        teacher.fit(rows, Y)
    student = DistilledClassifier(teacher, prefit=prefit, **FAST)
    one = student.fit(rows, Y, sample_weight=weights)
    found, measured = one.model_, one.fidelity_
    other = student.fit(fewer, Y[kept], sample_weight=weights[kept])
    assert found == other.model_
    assert measured == other.fidelity_
    assert len(other.classes_) == (3 if prefit else 2)


def test_held_out_rows_count_by_their_weights() -> None:
    teacher = LogisticRegression().fit(X, Y)
    student = distil(teacher, X, Y, **FAST)
    plain = student.fidelity_["data"]
    assert student.fit(X, Y, sample_weight=np.full(len(Y), 7.0)).fidelity_["data"] == (
        pytest.approx(plain)
    )
    wrong = student.predict(X) != teacher.predict(X)
    weights = np.where(wrong, 1000.0, 1.0)
    lost = student.fit(X, Y, sample_weight=weights).fidelity_["data"]
    assert lost["rows"] == plain["rows"]
    assert plain["agreement"] < 1.0, "there must be something to weigh"
    errors = round((1 - plain["agreement"]) * plain["rows"])
    right = plain["rows"] - errors
    assert lost["agreement"] == pytest.approx(right / (right + 1000 * errors))
    huge = student.fit(X, Y, sample_weight=weights * 1e305).fidelity_["data"]
    assert huge == pytest.approx(lost)


def test_a_weight_of_a_held_out_row_counts_there_only() -> None:
    student = DistilledClassifier(RandomForestClassifier(5), **FAST)
    student.fit(X, Y, sample_weight=np.ones(len(Y)))
    Noting.seen.clear()
    DistilledClassifier(Noting(), **FAST).fit(X, Y)
    seen = {tuple(row) for row in Noting.seen[0][0].tolist()}
    held = np.array([tuple(row) not in seen for row in X.tolist()])
    first = student.model_
    student.fit(X, Y, sample_weight=np.where(held, 9.0, 1.0))
    assert student.model_ == first
    student.fit(X, Y, sample_weight=np.where(held, 1.0, 1.0 + 8.0 * (Y == 0)))
    assert student.model_ != first


def test_order_does_not_matter_for_equal_rows_of_other_weights() -> None:
    rows, y = np.repeat(X[:30], 5, axis=0), np.repeat(Y[:30], 5)
    order = np.random.default_rng(1).permutation(len(y))
    student = DistilledClassifier(GaussianNB(), **FAST)
    one = student.fit(rows, y, sample_weight=WEIGHTS).fidelity_["data"]
    found = student.predict_proba(X)
    other = student.fit(rows[order], y[order], sample_weight=WEIGHTS[order])
    assert other.fidelity_["data"] == pytest.approx(one)
    np.testing.assert_allclose(other.predict_proba(X), found, atol=1e-6)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(len(Y)), "All weights are zero"),
        (-WEIGHTS, "finite and not negative"),
        (np.full(len(Y), np.nan), "finite and not negative"),
        (WEIGHTS[:-1], "one number per row"),
        (["a"] * len(Y), "must hold numbers"),
    ],
)
def test_weights_that_are_none(weights: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DistilledClassifier(GaussianNB(), **FAST).fit(X, Y, sample_weight=weights)
