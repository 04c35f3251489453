"""From what a user gives to a `Problem`: what estimators share that are fitted to rows."""

from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from obliqua._sklearn_compat import Interval, StrOptions, check_sample_weight
from obliqua._typing import AnyArray, FloatArray, Int32Array
from obliqua.data.problem import Problem, encode, encode_numbers
from obliqua.data.target import Numbers
from obliqua.estimators._fitted import TreesClassifier, TreesRegressor
from obliqua.estimators._input import read_training, without_rare_levels
from obliqua.estimators._labels import (
    check_labels,
    check_numbers,
    class_counts,
    class_weights,
    encode_labels,
    prior_weights,
)
from obliqua.estimators._leaves import checked_quantiles, leaf_quantiles
from obliqua.estimators._warnings import warn

if TYPE_CHECKING:
    from obliqua.tree.tree import Tree

SeedLike = int | np.random.RandomState | None
Priors = dict[Any, float] | Sequence[float] | str | None

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "random_state": ["random_state"],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}
TRAINING_CONSTRAINTS: dict[str, list[Any]] = {
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "priors": [dict, StrOptions({"equal"}), "array-like", None],
    **SHARED_CONSTRAINTS,
}


class Seeded:
    """Base of the estimators that have a seed."""

    _pools_levels = True  # whether rare levels of a column with very many may count as one

    random_state: SeedLike

    def _take_shared(self, given: dict[str, Any]) -> None:
        """Keep the parameters of a constructor; `given`: its variables.

        Those that a base class does not declare are assigned again beside the call: that tells
        type checkers that they are there, and of which type.
        """
        for name in given.keys() - {"self", "__class__"}:
            setattr(self, name, given[name])

    def _fill(self) -> str:
        """Return what becomes of missing numbers, see `encode`."""
        return str(getattr(self, "fill", "node"))

    def _key(self) -> int:
        """Draw the seed of a fit."""
        return int(check_random_state(self.random_state).randint(2**63 - 1, dtype=np.int64))


class TrainedTreesClassifier(Seeded, TreesClassifier):
    """Base of the classifiers that are fitted to rows with weights of classes and a seed."""

    class_weight: dict[object, float] | str | None
    priors: Priors

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
        if self._pools_levels:
            table = without_rare_levels(table, weights)
        classes, codes = encode_labels(y)
        problem = encode(
            table,
            codes,
            len(classes),
            sample_weight=weights,
            class_weight=self._weights_of_classes(classes, codes, weights),
            fill=self._fill(),
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
        if self.class_weight is None and self.priors is None:
            return None
        return self._weights_by_counts(classes, class_counts(codes, weights, len(classes)))

    def _weights_by_counts(self, classes: AnyArray, counts: AnyArray) -> FloatArray | None:
        """Do the same, where it is known what the rows of each class weigh."""
        self._check_shares()
        costs = class_weights(self.class_weight, classes, counts)
        shares = prior_weights(self.priors, classes, counts)
        if costs is None or shares is None:
            return shares if costs is None else costs
        with np.errstate(over="ignore"):  # what is not finite is refused later, by name
            return np.asarray(costs * shares)


class TrainedTreesRegressor(Seeded, TreesRegressor):
    """Base of the regressors that are fitted to rows with a seed."""

    leaf_model: str
    quantiles: Any

    def __sklearn_tags__(self) -> Any:
        """Say that several outputs are learnt together, unless leaves must be linear."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.leaf_model != "linear"
        return tags

    def _measured(self, problem: Problem) -> Problem:
        """Return the problem as the criterion sees it."""
        return problem

    def _encoded(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Self, Problem, AnyArray]:
        """Check and encode the data; also return what the checks have noted, and no classes."""
        self._check_saved()
        seen = copy(self)  # as for classifiers
        check_numbers(y)
        if self.leaf_model == "linear" and np.asarray(y).shape[1:] == (1,):
            y = column_or_1d(y, warn=True)
        table, y = read_training(seen, X, y, multi_output=True, y_numeric=True)
        weights: FloatArray | None = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, table.Z, dtype=np.float64)
        if self._pools_levels:
            table = without_rare_levels(table, weights)
        problem = self._measured(
            encode_numbers(table, y, sample_weight=weights, fill=self._fill())
        )
        _warn_of_a_coarse_grid(problem)
        return seen, problem, np.empty(0)

    def _validate_params(self) -> None:
        """Check the parameters; scikit-learn calls it before a fit, unless told to skip it."""
        super()._validate_params()
        checked_quantiles(self.quantiles)

    def _note_leaves(self, tree: "Tree", problem: Problem) -> None:
        """Keep quantiles of the leaves beside the model, if they are wanted."""
        self.__dict__.pop("_quantiles", None)
        shares = checked_quantiles(self.quantiles)
        if len(shares):
            self._quantiles = leaf_quantiles(tree, problem, shares).ravel()

    def _check_notes(self) -> None:
        """Check what a file has said of a fit beside the model."""
        kept, model = vars(self).get("_quantiles"), self.model_
        if kept is None:
            return
        size = model.trees[0].n_leaves * model.n_outputs
        if (
            kept.dtype.kind != "f"
            or kept.ndim != 1
            or len(kept) % size
            or not np.isfinite(kept).all()
        ):
            raise ValueError("what the fit has noted of its leaves makes no sense")


def _warn_of_a_coarse_grid(problem: Problem) -> None:
    """Say if most of the numbers are too close together beside the largest."""
    target = problem.target
    assert isinstance(target, Numbers)
    low, high = np.quantile(target.values, [0.25, 0.75], axis=0)
    coarse = (target.step > high - low) & (high > low)
    if coarse.any():
        advice = "Leave outliers out, or take a logarithm of y"
        if target.n_outputs > 1:
            advice = "Bring all outputs to one scale"
        warn(
            f"Half of y lies between {low[coarse][0]:.6g} and {high[coarse][0]:.6g}, but splits "
            f"tell numbers apart by {target.step:.3g} only, for y reaches from "
            f"{target.values.min():.6g} to {target.values.max():.6g}. {advice}.",
        )
