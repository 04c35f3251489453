"""Rows as a user has them, as the trees of an ensemble of scikit-learn walk them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.data.encoding import Encoding
from obliqua.data.table import columns_by_name, encoded_rows
from obliqua.tree.from_sklearn import BEYOND


@dataclass(frozen=True, eq=False)
class Reader:
    """Makes the matrix that trees walk.

    Parameters
    ----------
    encoding : Encoding
        What the columns are.
    named : bool
        Whether the ensemble was fitted to columns with names, by which those of a frame are found.
    missing : bool, default=True
        Whether the ensemble takes missing values.
    """

    encoding: Encoding
    named: bool
    missing: bool = True

    def __call__(self, X: Any) -> AnyArray:
        """Return rows as the trees walk them; raise if they are not of the ensemble's columns."""
        if self.named:
            X = columns_by_name(X, self.encoding.names)
        rows = encoded_rows(X, self.encoding, self.missing)
        check_width(rows.shape[1], self.encoding.n_columns)
        return rows


@dataclass(frozen=True, eq=False)
class HistogramReader:
    """The same for boosting with histograms, which codes categories by itself.

    Parameters
    ----------
    whole : estimator
        The ensemble.
    """

    whole: Any

    def __call__(self, X: Any) -> AnyArray:
        """Return rows as the trees walk them, columns with categories first."""
        names = getattr(self.whole, "feature_names_in_", None)
        if names is not None:
            X = columns_by_name(X, [str(name) for name in names])
        width = np.shape(X)
        if len(width) == 2:
            check_width(width[1], int(self.whole.n_features_in_))
        Z = np.asarray(self.whole._preprocess_X(X, reset=False), dtype=np.float64)
        # Numbers beyond all thresholds, infinite ones too, are where ours end.
        return np.clip(Z, -BEYOND, BEYOND) if (np.abs(Z) > BEYOND).any() else Z


def check_width(got: int, n_columns: int) -> None:
    """Raise if rows have other columns than the trees."""
    if got != n_columns:
        raise ValueError(
            f"The ensemble was fitted to {n_columns} columns; X has {got}. Give rows as fit took "
            "them."
        )
