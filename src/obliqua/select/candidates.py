"""What `advise` tries: kinds of models, each in one reasonable setting.

A new candidate is one more line in `CANDIDATES`, or in `NUMBER_CANDIDATES`. Whatever is oblique,
or has linear functions in its leaves, takes part in the question whether that pays, and in the
curve of accuracy over leaves if it has `max_leaf_nodes`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from obliqua.select.methods import Method

__all__ = ["CANDIDATES", "NUMBER_CANDIDATES", "Candidate", "linear"]


@dataclass(frozen=True)
class Candidate:
    """A kind of model to try.

    Parameters
    ----------
    kind : {"axis", "oblique", "leaves", "linear", "forest", "floor"}
        What it is to the rules of `obliqua.select.decision`.
    method : Method
        How it is called and made.
    words : str
        What it is, as part of a sentence.
    command : str
        The words after ``obliqua fit DATA --target Y`` that make it; "" if there are none.
    least_features : int
        It is tried where there are so many features: with fewer it is the same as another.
    most_features : int or None
        With more features it takes too long to be fitted dozens of times.
    sized : mapping
        The parameters with which it has as many leaves as `max_leaf_nodes` says, and does not
        choose by itself.
    gives : str
        What it has that a plain tree has not, as part of a sentence.
    """

    kind: str
    method: Method
    words: str
    command: str = ""
    least_features: int = 1
    most_features: int | None = None
    sized: Mapping[str, Any] = field(default_factory=dict)
    gives: str = "obliqueness"

    @property
    def name(self) -> str:
        """Its name."""
        return self.method.name


class _Logistic(LogisticRegression):
    """scikit-learn's, without a warning for weights that were still moving a little.

    Its accuracy is measured on other rows anyway.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return super().fit(X, y, sample_weight)


def linear(random_state: int | None = None) -> Pipeline:
    """Make a logistic regression on standardised columns."""
    model = _Logistic(max_iter=500, random_state=random_state)
    return Pipeline([("scale", StandardScaler()), ("model", model)])


def ridge(random_state: int | None = None) -> Pipeline:
    """Make a ridge regression on standardised columns, its penalty chosen on the training rows."""
    model = RidgeCV(alphas=10.0 ** np.arange(-3, 5))
    return Pipeline([("scale", StandardScaler()), ("model", model)])


def mean_only(random_state: int | None = None) -> DummyRegressor:
    """Make what always says the mean."""
    return DummyRegressor()


_HHCART = "obliqua.HHCartClassifier"
_OBLIQUE = {"variant": "dominant", "extra_directions": "fisher", "pruning": "cv"}
_FIT = "-m hhcart-d-fisher --set pruning=cv"
_NOT_PRUNED = {"pruning": None}


def _method(name: str, title: str, estimator: str, **params: Any) -> Method:
    return Method(name, title, estimator, params)


#: What is tried, in the order in which tables show it; each name is unique.
CANDIDATES: tuple[Candidate, ...] = (
    Candidate(
        "axis",
        _method(
            "axis", "CART, pruned by cross-validation", "obliqua.CartClassifier", pruning="cv"
        ),
        "an axis-parallel tree",
        "-m cart --set pruning=cv",
        sized=_NOT_PRUNED,
    ),
    Candidate(
        "oblique",
        _method(
            "sparse",
            "HHCART(D) + Fisher, at most 2 features per split",
            _HHCART,
            **_OBLIQUE,
            max_features_per_split=2,
        ),
        "a sparse oblique tree (two features per split)",
        f"{_FIT} --set max_features_per_split=2",
        least_features=3,
        sized=_NOT_PRUNED,
    ),
    Candidate(
        "oblique",
        _method("dense", "HHCART(D) + Fisher, any number of features", _HHCART, **_OBLIQUE),
        "a dense oblique tree",
        _FIT,
        least_features=2,
        sized=_NOT_PRUNED,
    ),
    Candidate(
        "oblique",
        _method(
            "refined",
            "refined: all splits moved together",
            "obliqua.RefinedTreeClassifier",
        ),
        "a refined oblique tree",
        "-m refined",
        least_features=2,
        most_features=5_000,
        sized={"compare_greedy": False},
    ),
    Candidate(
        "linear",
        _method(
            "linear",
            "logistic regression on standardised columns",
            "obliqua.select.candidates.linear",
        ),
        "a linear model (logistic regression)",
    ),
    Candidate(
        "forest",
        _method("forest", "an oblique forest of 100 trees", "obliqua.ObliqueForestClassifier"),
        "an oblique forest (ObliqueForestClassifier)",
        "-m forest",
    ),
    Candidate(
        "floor",
        _method("majority", "always the most frequent class", "sklearn.dummy.DummyClassifier"),
        "the most frequent class",
    ),
)

#: The same where numbers are learnt.
NUMBER_CANDIDATES: tuple[Candidate, ...] = (
    Candidate(
        "axis",
        _method("axis", "CART, pruned by cross-validation", "obliqua.CartRegressor", pruning="cv"),
        "an axis-parallel tree with a number in each leaf",
        "-m cart --set pruning=cv",
        sized=_NOT_PRUNED,
    ),
    Candidate(
        "oblique",
        _method(
            "oblique",
            "oblique splits, a number in each leaf",
            "obliqua.ObliqueTreeRegressor",
            pruning="cv",
        ),
        "an oblique tree with a number in each leaf",
        "-m oblique --set pruning=cv",
        least_features=2,
        sized=_NOT_PRUNED,
        gives="oblique splits",
    ),
    Candidate(
        "leaves",
        _method(
            "lines",
            "CART with linear functions in the leaves",
            "obliqua.CartRegressor",
            leaf_model="linear",
        ),
        "an axis-parallel tree with linear functions in its leaves",
        "-m cart-linear",
        most_features=400,
        sized=_NOT_PRUNED,
        gives="linear functions in the leaves",
    ),
    Candidate(
        "oblique",
        _method("refined", "refined: all splits moved together", "obliqua.RefinedTreeRegressor"),
        "a refined tree",
        "-m refined",
        least_features=2,
        most_features=400,
        sized={"compare_greedy": False},
        gives="refined splits and leaves",
    ),
    Candidate(
        "linear",
        _method(
            "linear", "ridge regression on standardised columns", "obliqua.select.candidates.ridge"
        ),
        "a linear model (ridge regression)",
    ),
    Candidate(
        "forest",
        _method("forest", "an oblique forest of 100 trees", "obliqua.ObliqueForestRegressor"),
        "an oblique forest (ObliqueForestRegressor)",
        "-m forest",
    ),
    Candidate(
        "floor",
        _method("mean", "always the mean", "obliqua.select.candidates.mean_only"),
        "the mean",
    ),
)
