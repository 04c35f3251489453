"""Tables of every kind through the estimators: what a fit makes of them, what prediction does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from estimators.registry import (
    assert_sound,
    each_odd_estimator,
    each_plain_estimator,
    each_with_a_fill,
)
from obliqua import CartClassifier, ObliqueTreeClassifier
from obliqua.data.encoding import Column, Encoding
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.model import Model

NAN = float("nan")
COLUMNS = {
    "town": ["Rome", "Bonn", None, "Oslo", "Rome", "Bonn"],
    "age": [31, None, 18, 40, 22, 65],
    "member": [True, False, True, None, False, True],
    "size": [1.5, 2.0, NAN, 0.25, 3.0, 1.0],
}
LABELS = ["no", "yes", "no", "yes", "no", "yes"]


def tables() -> dict[str, Any]:
    frame = pd.DataFrame(COLUMNS)
    objects = np.empty((6, 4), dtype=object)
    objects[:] = list(zip(*COLUMNS.values(), strict=True))
    return {
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas category": frame.astype({"town": "category"}),
        "polars": pl.DataFrame(COLUMNS),
        "polars categorical": pl.DataFrame(COLUMNS, schema_overrides={"town": pl.Categorical}),
        "objects": objects,
        "list": objects.tolist(),
    }


each_table = pytest.mark.parametrize("kind", tables())


def encoded(model: Any, X: Any, y: Any = LABELS, weights: Any = None) -> Any:
    """The problem that a fit would grow from, without growing."""
    return model._encoded(X, y, weights)


# --- fitting -----------------------------------------------------------------------------


@each_odd_estimator
def test_columns_can_be_chosen(Estimator: Any) -> None:
    frame = pd.DataFrame(COLUMNS)
    for chosen in (["town", "age"], [0, 1], [-4, 1], [True, True, False, False]):
        model = clone(Estimator(categorical_features=chosen))
        _, problem, _ = encoded(model, frame)
        assert problem.n_levels.tolist() == [3, 5, 0, 0]
        assert problem.encoding.columns[1].levels == (18, 22, 31, 40, 65)
    with pytest.raises(ValueError, match=r"Column 'town' holds text.*categorical_features=None"):
        Estimator(categorical_features=None).fit(frame, LABELS)
    with pytest.raises(ValueError, match=r"Column 'town' holds text.*Add 'town' there"):
        Estimator(categorical_features=["age"]).fit(frame, LABELS)
    with pytest.raises(ValueError, match="asks for the column 'height', and X has none"):
        Estimator(categorical_features=["height"]).fit(frame, LABELS)
    with pytest.raises(ValueError, match=r"'categorical_features' parameter of .* must be"):
        Estimator(categorical_features="town").fit(frame, LABELS)


@each_with_a_fill
def test_the_rule_for_missing_numbers(Estimator: Any) -> None:
    X = [[1.0, "a"], [NAN, "b"], [4.0, None]]
    assert encoded(Estimator(fill="node"), X, [0, 1, 1])[1].fills is None
    fills = encoded(Estimator(fill="training"), X, [0, 1, 1], [2.0, 1.0, 1.0])[1].fills
    np.testing.assert_array_equal(fills, [2.0, NAN])
    with pytest.raises(ValueError, match="The 'fill' parameter"):
        Estimator(fill="median").fit(X, [0, 1, 1])


@each_odd_estimator
def test_bad_tables_leave_nothing(Estimator: Any) -> None:
    frame = pd.DataFrame(COLUMNS)
    waves = frame.assign(when=1j)
    for X, y, message in (
        (waves, LABELS, "Column 'when' has the type complex128"),
        (frame.assign(size=np.inf), LABELS, "infinity, first in row 0, column 'size'"),
        (frame, LABELS[:-1], "inconsistent numbers of samples"),
        (frame, None, "requires y to be passed"),
        (frame[:0], [], "got 0 rows|0 sample"),
        (frame.set_axis(["a", "b", "c", 4], axis=1), LABELS, "Feature names are only supported"),
    ):
        model = Estimator()
        with pytest.raises((TypeError, ValueError), match=message):
            model.fit(X, y)
        assert not [name for name in vars(model) if name.endswith("_")]


@each_plain_estimator
def test_other_methods_refuse_by_name(Estimator: Any) -> None:
    tags = get_tags(Estimator())
    assert not tags.input_tags.allow_nan
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(
        ValueError, match=f"Column 'town'.*{Estimator.__name__} takes numbers only"
    ):
        Estimator().fit(frame, LABELS)
    with pytest.raises(ValueError, match=f"NaN.\n{Estimator.__name__} does not accept missing"):
        Estimator().fit(frame[["size"]], LABELS)


# --- predicting --------------------------------------------------------------------------


def fitted(named: bool = True) -> Any:
    """A CartClassifier that asks for the town: no for Bonn and what is not known, else yes."""
    builder = TreeBuilder(n_features=2, n_stats=2)
    tables = {0: [-1.0, 1.0, 2.0]}
    builder.add_split("root", {0: 1.0}, 0.0, ("no", "yes"), fill={0: 3.0}, tables=tables)
    builder.set_leaf("no", [3, 1])
    builder.set_leaf("yes", [1, 3])
    town = Column("town" if named else "x0", "qualitative", ("Bonn", "Oslo", "Rome"))
    encoding = Encoding((town, Column("age" if named else "x1")))
    model = CartClassifier(categorical_features=[0])
    names = np.array(["town", "age"], dtype=object) if named else None
    model._hold(Model((builder.build(),), "single", encoding, np.array(["no", "yes"])), names)
    return model


TOWNS = ["Bonn", "Oslo", "Rome", "Paris", None]
ANSWERS = ["no", "yes", "yes", "no", "yes"]


@pytest.mark.parametrize("kind", ["str", "category", "object", "string", "polars", "enum"])
def test_predicting_frames(kind: str) -> None:
    frame: Any = pd.DataFrame({"town": TOWNS, "age": range(5)})
    if kind in ("polars", "enum"):
        frame = pl.DataFrame({"town": TOWNS, "age": range(5)})
        towns = pl.Enum(["Paris", "Rome", "Oslo", "Bonn"]) if kind == "enum" else pl.String
        frame = frame.with_columns(pl.col("town").cast(towns))
    else:
        frame = frame.astype({"town": kind})
    model = fitted()
    assert model.predict(frame).tolist() == ANSWERS
    assert model.predict_proba(frame)[:, 1].tolist() == [0.25, 0.75, 0.75, 0.25, 0.75]
    assert model.predict(frame[3:4]).tolist() == ["no"]


def test_predicting_arrays_and_lists() -> None:
    rows = [[town, 1.0] for town in TOWNS]
    model = fitted(named=False)
    assert model.predict(rows).tolist() == ANSWERS
    assert model.predict(np.array(rows, dtype=object)).tolist() == ANSWERS
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert fitted().predict(rows).tolist() == ANSWERS


def test_columns_are_checked_by_name_as_ever() -> None:
    frame = pd.DataFrame({"town": TOWNS, "age": range(5)})
    model = fitted()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["age", "town"]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match="X has 1 features, but CartClassifier is expecting 2"):
        fitted(named=False).predict([["Bonn"]])


def test_numbers_are_no_towns() -> None:
    """A matrix of floats must not be taken for codes of levels."""
    model = fitted(named=False)
    with pytest.raises(ValueError, match="Column 0 held text when the tree was fitted"):
        model.predict(np.zeros((2, 2)))
    assert model.predict(np.full((2, 2), NAN)).tolist() == ["yes", "yes"]


def test_text_and_infinity_in_a_numeric_column() -> None:
    with pytest.raises(
        ValueError, match="Column 'age' holds text, 'old' for instance, and held n"
    ):
        fitted().predict(pd.DataFrame({"town": ["Bonn"], "age": ["old"]}))
    with pytest.raises(ValueError, match="infinity, first in row 0, column 'age'"):
        fitted().predict(pd.DataFrame({"town": ["Bonn"], "age": [np.inf]}))
    with pytest.raises(ValueError, match="sparse"):
        fitted(named=False).predict(__import__("scipy.sparse").sparse.csr_array(np.eye(2)))


def test_a_proposer_sees_finite_numbers() -> None:
    seen: list[np.ndarray] = []

    def proposer(node: Any) -> np.ndarray:
        seen.append(np.array(node.X))
        return np.ones(node.n_features)

    frame = pd.DataFrame(COLUMNS)
    model = ObliqueTreeClassifier(proposer, axis_parallel=False, pruning=None).fit(frame, LABELS)
    assert seen
    assert all(np.isfinite(X).all() for X in seen)
    assert_sound(model, frame, LABELS)


def test_tables_of_arrow_are_read_as_frames() -> None:
    town = np.array(["Bonn", "Oslo"])[np.arange(60) % 2]
    table = pyarrow.table({"age": np.arange(60.0) + 20, "town": town})
    model = CartClassifier(random_state=0).fit(table, town)
    assert model.score(table, town) == 1.0
    assert model.feature_names_in_.tolist() == ["age", "town"]
