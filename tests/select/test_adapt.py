"""Methods that take numbers only, on tables with categories and gaps: a pipeline in each fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from obliqua import CartClassifier, compare
from obliqua.select.adapt import MOST_LEVELS, adapted
from obliqua.select.methods import METHODS
from obliqua.select.result import MEASURES, CompareResult

RNG = np.random.default_rng(0)
N = 90
TOWNS = RNG.choice(["Bonn", "Oslo", "Rome"], N)
SIZES = RNG.normal(size=N)
LABELS = np.where((TOWNS == "Rome") ^ (SIZES > 0), "yes", "no")
TABLE = {
    "town": [None if k % 7 == 0 else str(town) for k, town in enumerate(TOWNS)],
    "size": [None if k % 5 == 0 else float(size) for k, size in enumerate(SIZES)],
    "code": [k % 4 for k in range(N)],
}
BAYES = GaussianNB()  # takes neither categories nor gaps
TREE = DecisionTreeClassifier(random_state=0)


def frames() -> dict[str, Any]:
    frame = pd.DataFrame(TABLE)
    return {
        "pandas": frame,
        "nullable": frame.convert_dtypes(),
        "category": frame.astype({"town": "category"}),
        "polars": pl.DataFrame(TABLE),
        "objects": frame.astype(object).to_numpy(),
        "list": frame.astype(object).to_numpy().tolist(),
    }


def figures(result: CompareResult) -> dict[str, list[list[float]]]:
    return {name: values[:, :-1].tolist() for name, values in result.folds.items()}


def test_only_what_needs_it_gets_a_pipeline() -> None:
    cart = CartClassifier()
    estimators = {"cart": cart, "bayes": BAYES, "sklearn": TREE}
    ready, notes = adapted(estimators, pl.DataFrame(TABLE))
    assert ready["cart"] is cart
    assert isinstance(ready["bayes"], Pipeline)
    assert isinstance(ready["sklearn"], Pipeline)
    assert notes[0].startswith("bayes and sklearn take no categories: each level is a column")
    assert notes[1:] == (
        "bayes takes no missing values: the mean of the training rows stands in.",
    )
    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert adapted(estimators, numbers) == (estimators, ())
    gaps = np.array([[1.0, np.nan], [3.0, 4.0]])
    ready, notes = adapted(estimators, gaps)
    assert ready["sklearn"] is TREE  # it takes NaN
    assert notes == ("bayes takes no missing values: the mean of the training rows stands in.",)


def test_what_a_tree_gets_to_see() -> None:
    table = pl.DataFrame({"town": ["u", "v", None, "u"], "size": [1.0, None, 3.0, 5.0]})
    ready, _ = adapted({"bayes": BAYES, "sklearn": TREE}, table)
    y = [0, 1, 0, 1]
    filled = clone(ready["bayes"]).fit(table, y)[:-1].transform(table)
    # Columns for u, v and missing, then the numbers.
    expected = [[1, 0, 0, 1], [0, 1, 0, 3], [0, 0, 1, 3], [1, 0, 0, 5]]
    np.testing.assert_array_equal(filled, expected)
    fitted = clone(ready["sklearn"]).fit(table, y)[:-1]
    assert np.isnan(fitted.transform(table)[1, 3])
    new = pl.DataFrame({"town": ["w", "v"], "size": [7.0, 1.0]})
    np.testing.assert_array_equal(fitted.transform(new), [[0, 0, 0, 7], [0, 1, 0, 1]])


def test_nothing_is_learnt_from_rows_held_out() -> None:
    """The pipeline in a fold is the one that is fitted to its training rows alone."""
    X = pd.DataFrame(TABLE)
    ready, _ = adapted({"bayes": BAYES}, X)
    result = compare(X, LABELS, ready, n_folds=3, random_state=4)
    (seed,) = np.random.SeedSequence(4).generate_state(1).tolist()
    expected = []
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    for train, test in folds.split(np.zeros(N), LABELS):
        towns = sorted({town for town in X["town"][train] if isinstance(town, str)})
        mean = X["size"][train].mean()

        def by_hand(rows: Any, towns: list[str] = towns, mean: float = mean) -> Any:
            part = X.iloc[rows]
            columns = [(part["town"] == town).to_numpy(float) for town in towns]
            columns.append(part["town"].isna().to_numpy(float))
            return np.column_stack([*columns, part["size"].fillna(mean), part["code"]])

        model = GaussianNB().fit(by_hand(train), LABELS[train])
        expected.append(np.mean(model.predict(by_hand(test)) == LABELS[test]))
    assert result.folds["bayes"][:, 0].tolist() == expected


def test_rare_levels_share_a_column() -> None:
    many = pl.DataFrame({"a": [f"l{k // 2 if k < 300 else 0}" for k in range(400)]})
    ready, _ = adapted({"sklearn": TREE}, many)
    fitted = ready["sklearn"].fit(many, np.arange(400) % 2)[:-1]
    seen = fitted.transform(many)
    assert seen.shape == (400, MOST_LEVELS)
    assert (seen.sum(axis=1) == 1).all()
    assert fitted.transform(pl.DataFrame({"a": ["new"]})).sum() == 1  # counts as a rare one


# Aggregated trees tell of rows with missing values; the methods are many, the rows few.
@pytest.mark.filterwarnings("ignore:.* rows with missing values get another class")
def test_all_methods_take_a_table() -> None:
    result = compare(frames()["pandas"], LABELS, list(METHODS), n_folds=2)
    assert list(result.folds) == list(METHODS)
    assert (result.n_rows, result.n_features) == (N, 3)
    assert len(result.notes) == 1
    assert result.notes[0].startswith("sklearn takes no categories")
    assert all(note in result.markdown() for note in result.notes)


@pytest.mark.parametrize("kind", frames())
def test_a_table_is_the_same_in_all_forms(kind: str) -> None:
    """And in any number of processes; a greedy tree, one of many branches, and a pipeline."""
    methods = ["cart", "c45", "sklearn"]
    n_jobs = 2 if kind == "polars" else None
    result = compare(frames()[kind], LABELS, methods, n_folds=3, n_jobs=n_jobs)
    same = compare(frames()["pandas"], LABELS, methods, n_folds=3)
    assert figures(result) == figures(same)
    assert result.notes == same.notes


def test_your_own_estimators_get_the_table_as_it_is() -> None:
    with pytest.raises(ValueError, match="could not convert string to float"):
        compare(pd.DataFrame(TABLE), LABELS, {"mine": TREE}, n_folds=3)
    result = compare(pd.DataFrame(TABLE), LABELS, {"mine": CartClassifier()}, n_folds=3)
    assert result.notes == ()


def test_a_pipelines_tree_is_measured() -> None:
    result = compare(pl.DataFrame(TABLE), LABELS, ["means", "sklearn"], n_folds=3)
    leaves = MEASURES["classification"].index("leaves")
    assert (result.folds["sklearn"][:, leaves] >= 2).all()
    per_split = MEASURES["classification"].index("features_per_split")
    assert (result.folds["sklearn"][:, per_split] == 1).all()


def test_columns_that_can_be_chosen() -> None:
    ready, _ = adapted({"sklearn": TREE}, pl.DataFrame(TABLE), ["code", "town"])
    seen = ready["sklearn"].fit(pl.DataFrame(TABLE), LABELS)[:-1].transform(pl.DataFrame(TABLE))
    assert seen.shape[1] == 4 + 4 + 1


def test_rates_in_markdown() -> None:
    labels = np.where(LABELS == "yes", "a|b", "c\nd")
    result = compare(SIZES[:, None], labels, ["cart"], n_folds=3)
    rows = result.rate_rows()
    assert [row[:2] for row in rows] == [["a|b", "cart"], ["c\nd", "cart"]]
    assert rows[0][2] == f"{100 * result.rates['cart'][0, 0, 0]:.1f}"
    text = result.markdown(rates=True)
    assert "| a\\|b | cart | " in text
    assert "| c d | cart | " in text
    assert "TPR" not in result.markdown()


def test_a_column_is_what_it_is_in_the_whole_table() -> None:
    """Training rows without the one word of a column do not make it one of numbers."""
    X = np.array([[1], [2], [1], ["x"]], dtype=object)
    ready, _ = adapted({"sklearn": TREE}, X)
    seen = ready["sklearn"].fit(X[:3], [0, 1, 0])[:-1].transform(X)
    np.testing.assert_array_equal(seen, [[1, 0], [0, 1], [1, 0], [0, 0]])
