"""From what a user gives to a `Problem`: what all classifiers share that are fitted to rows."""

from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from obliqua._sklearn_compat import Interval, StrOptions, check_sample_weight
from obliqua._typing import AnyArray, FloatArray, Int32Array
from obliqua.data.problem import Problem, encode
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators._input import read_training
from obliqua.estimators._labels import (
    check_labels,
    class_weights,
    encode_labels,
    prior_weights,
)

SeedLike = int | np.random.RandomState | None
Priors = dict[Any, float] | Sequence[float] | str | None

TRAINING_CONSTRAINTS: dict[str, list[Any]] = {
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "priors": [dict, StrOptions({"equal"}), "array-like", None],
    "random_state": ["random_state"],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}


class TrainedTreesClassifier(TreesClassifier):
    """Base of the classifiers that are fitted to rows with weights of classes and a seed."""

    class_weight: dict[object, float] | str | None
    priors: Priors
    random_state: SeedLike

    def _validate_params(self) -> None:
        """Check the parameters; scikit-learn calls it before a fit, unless told to skip it."""
        super()._validate_params()
        self._check_shares()

    def _encoded(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Self, Problem, AnyArray]:
        """Check and encode the data; also return what the checks have noted, and the classes."""
        self._check_saved()  # scikit-learn may be told to skip all checks of parameters
        # validate_data writes what it saw on the estimator that it is given. It gets a copy:
        # self changes in one step at the end, so that an error, or Ctrl-C, on the way leaves
        # an earlier fit untouched.
        seen = copy(self)
        check_labels(y)
        table, y = read_training(seen, X, y)
        weights: FloatArray | None = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, table.Z, dtype=np.float64)
        classes, codes = encode_labels(y)
        problem = encode(
            table,
            codes,
            len(classes),
            sample_weight=weights,
            class_weight=self._weights_of_classes(classes, codes, weights),
            fill=getattr(self, "fill", "node"),
        )
        return seen, problem, classes

    def _check_shares(self) -> None:
        if self.priors is not None and isinstance(self.class_weight, str):
            raise ValueError(
                "priors and class_weight='balanced' both set the shares of the classes. Got "
                f"priors={self.priors!r}; leave one of them out, or give class_weight as a "
                "dictionary of costs."
            )

    def _weights_of_classes(
        self, classes: AnyArray, codes: Int32Array, weights: FloatArray | None
    ) -> FloatArray | None:
        """Return what priors and class weights make of each class: altered priors."""
        self._check_shares()
        costs = class_weights(self.class_weight, classes, codes, weights)
        shares = prior_weights(self.priors, classes, codes, weights)
        if costs is None or shares is None:
            return shares if costs is None else costs
        with np.errstate(over="ignore"):  # what is not finite is refused later, by name
            return np.asarray(costs * shares)

    def _key(self) -> int:
        """Draw the seed of a fit."""
        return int(check_random_state(self.random_state).randint(2**63 - 1, dtype=np.int64))
