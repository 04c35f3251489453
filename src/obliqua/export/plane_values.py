"""`PlaneValues`: what the splits of a tree ask about a row, as a step of a pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from obliqua._typing import AnyArray
from obliqua.export.planes import Cuts, MapColumn, column_values, planned
from obliqua.tree.model import Model
from obliqua.words.levels import asks_for_levels, level_branches
from obliqua.words.question import read_plane
from obliqua.words.subject import distinct

__all__ = ["PlaneValues"]


class PlaneValues(TransformerMixin, BaseEstimator):
    """What the splits of a tree ask about a row: the linear map of `to_sklearn`.

    It has a column for each feature that splits compare by itself, one for the weighted sum of
    each oblique split, in units of its leading feature, and one for each split by levels: 1 for
    rows that go right, else 0. `get_feature_names_out` says them in words.

    Numbers are rounded to float32, as scikit-learn's trees do, but never across a threshold of
    the tree: so a tree over these columns sends every row where the tree sends it.

    Parameters
    ----------
    model : Model
        A model of one tree, all of whose splits have two branches.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Do nothing: the tree is known.

        Parameters
        ----------
        X, y : object, default=None
            Not used.

        Returns
        -------
        PlaneValues
            Itself.
        """
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """Say that it needs no fit, and takes what the tree takes."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    @property
    def n_features_in_(self) -> int:
        """The number of columns that it takes."""
        return self.model.encoding.n_columns

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Say what the columns are.

        Parameters
        ----------
        input_features : object, default=None
            Not used: the model knows the names of its columns.

        Returns
        -------
        ndarray of str objects
            A name for each column.
        """
        tree, encoding = self.model.trees[0], self.model.encoding
        names = []
        for asked in self._columns()[0]:
            if asked.feature >= 0:
                names.append(encoding.names[asked.feature])
            elif asks_for_levels(tree, asked.node):
                names.append(level_branches(tree, asked.node, encoding)[1].condition())
            else:
                plane = int(tree.plane_ptr[asked.node])
                names.append(read_plane(tree, plane, encoding).formula())
        return np.array(distinct(names), dtype=object)

    def transform(self, X: Any) -> AnyArray:
        """Compute what the splits ask about rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows, as the model takes them.

        Returns
        -------
        ndarray of float32, of shape (n_rows, n_columns)
            The columns; NaN where a number is missing that is compared by itself.
        """
        Z = self.model.rows(X)
        columns, cuts = self._columns()
        values = np.zeros((len(Z), max(len(columns), 1)), dtype=np.float32)
        for place, asked in enumerate(columns):
            values[:, place] = column_values(self.model.trees[0], asked, cuts, Z)
        return values

    def _columns(self) -> tuple[list[MapColumn], Cuts]:
        """Return the columns, and what each node compares."""
        return planned(self.model.trees[0], self.model.encoding)
