"""Methods that take numbers only, behind a pipeline that makes numbers of a table.

What is learnt on the way, levels and means, is learnt from the rows of a fit: inside each fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

from obliqua._typing import Rows
from obliqua.data.rare_levels import pool_rare_levels
from obliqua.data.table import encoded_rows, read_table
from obliqua.estimators._fitted import TreesEstimator
from obliqua.estimators._spectral import SpectralClassifier
from obliqua.estimators.repeated import RepeatedTreesClassifier

__all__ = ["MOST_LEVELS", "TableReader", "adapted", "fix_types", "takes_tables"]

#: How many columns of 0 and 1 a qualitative column may become.
MOST_LEVELS = 100


class TableReader(TransformerMixin, BaseEstimator):
    """Make a matrix of a table: numbers, and codes of levels, NaN where missing.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns are qualitative, as `obliqua.data.read_table` takes it.
    """

    def __init__(self, categorical_features: Any = "from_dtype") -> None:
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any = None) -> TableReader:
        """Note the levels."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Rows:
        """Note the levels and return the matrix."""
        table = read_table(X, self.categorical_features)
        self.encoding_ = table.encoding
        return table.Z

    def transform(self, X: Any) -> Rows:
        """Return the matrix of other rows; levels that `fit` has not seen have the code -1."""
        return encoded_rows(X, self.encoding_)


def adapted(
    estimators: Mapping[str, Any], X: Any, categorical_features: Any = "from_dtype"
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Put a pipeline in front of estimators that cannot take a table as it is.

    Their tags say what they can take. What was done to which is returned as notes.
    """
    table = read_table(X, categorical_features)
    qualitative = np.array([column.kind == "qualitative" for column in table.encoding.columns])
    some = any(column.levels for column in table.encoding.columns)  # an empty one has none
    gaps = bool(table.has_missing[~qualitative].any())
    ready: dict[str, Any] = {}
    spread: list[str] = []
    filled: list[str] = []
    for name, estimator in estimators.items():
        tags = get_tags(estimator).input_tags
        levels = bool(qualitative.any()) and not tags.categorical
        fill = gaps and not tags.allow_nan
        ready[name] = estimator
        if levels or fill:
            ready[name] = _pipeline(estimator, np.flatnonzero(qualitative), fill, len(qualitative))
        spread += [name] if levels and some else []
        filled += [name] if fill else []
    return ready, _notes(spread, filled)


def takes_tables(estimator: Any) -> bool:
    """Say whether an estimator is a tree of obliqua, or has what `adapted` puts in front."""
    if isinstance(estimator, Pipeline):
        return isinstance(estimator.steps[0][1], TableReader)
    return isinstance(estimator, TreesEstimator)


def fix_types(estimators: Mapping[str, Any], X: Any) -> None:
    """Tell trees that would find out which columns are qualitative what the whole table says.

    A fold may lack the only text of a column, or its only number, and would be taken for
    something else.
    """
    trees = [each for each in estimators.values() if isinstance(each, TreesEstimator)]
    asking = [tree for tree in map(_grower, trees) if isinstance(tree.categorical_features, str)]
    plain = isinstance(X, np.ndarray) and X.dtype.kind != "O"  # the same in all folds
    if plain or not asking:
        return
    columns = read_table(X).encoding.columns
    places = [place for place, column in enumerate(columns) if column.kind == "qualitative"]
    for tree in asking:
        tree.set_params(categorical_features=places)


def rare_level_notes(estimators: Mapping[str, Any], X: Any) -> tuple[str, ...]:
    """Say which columns nearly tell rows apart, once for all fits of trees."""
    trees = [_grower(each) for each in estimators.values() if isinstance(each, TreesEstimator)]
    chosen = [getattr(tree, "categorical_features", None) for tree in trees]
    known = next((each for each in chosen if each is not None), None)
    return () if known is None else pool_rare_levels(read_table(X, known))[1]


def _grower(estimator: Any) -> Any:
    """Return what reads the columns: an estimator, or the method of which it grows many trees."""
    if not isinstance(estimator, RepeatedTreesClassifier | SpectralClassifier):
        return estimator
    if estimator.estimator is None:
        estimator.set_params(estimator=estimator._given())
    return estimator.estimator


def _pipeline(estimator: Any, qualitative: Any, fill: bool, n_columns: int) -> Pipeline:
    places = qualitative.tolist()
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS, sparse_output=False
    )
    numbers = SimpleImputer(keep_empty_features=True) if fill else "passthrough"
    others = [place for place in range(n_columns) if place not in set(places)]
    columns = ColumnTransformer([("levels", one_hot, places), ("numbers", numbers, others)])
    steps = [("read", TableReader(places)), ("columns", columns), ("estimator", estimator)]
    return Pipeline(steps)


def _notes(spread: list[str], filled: list[str]) -> tuple[str, ...]:
    """Say to which methods levels became columns, and for which missing numbers were filled."""
    notes = []
    if spread:
        notes.append(
            f"{_listed(spread)} no categories: each level is a column of 0 and 1 for "
            f"{'it' if len(spread) == 1 else 'them'} (beyond {MOST_LEVELS} levels of a feature "
            "the rarest share one)."
        )
    if filled:
        notes.append(
            f"{_listed(filled)} no missing values: the mean of the training rows stands in."
        )
    return tuple(notes)


def _listed(names: list[str]) -> str:
    return f"{' and '.join(names)} {'takes' if len(names) == 1 else 'take'}"
