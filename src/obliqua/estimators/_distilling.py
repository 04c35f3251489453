"""Distilling: what students of classes and of numbers share."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from obliqua._sklearn_compat import Interval
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.table import Table, read_by_columns
from obliqua.estimators._fidelity import sound
from obliqua.estimators._fitted import TreesEstimator
from obliqua.estimators._input import TABLE_CONSTRAINTS, CategoricalFeatures, read_training
from obliqua.estimators._labels import check_labels, check_numbers
from obliqua.estimators._teachers import RawRows, shuffled
from obliqua.estimators._teaching import default_teacher
from obliqua.estimators._training import SHARED_CONSTRAINTS
from obliqua.tree.model import Model

MOST_SEED = 2**31 - 1

STUDENT_PARAMETERS: dict[str, tuple[str, str]] = {
    "prefit": (
        "bool",
        """\
Whether `estimator` is fitted already and taken as it is; then `fit` needs no y. Cross-validation
clones estimators and what is in them; put a fitted teacher into scikit-learn's `FrozenEstimator`
there.""",
    ),
    "n_generated": (
        "int or None",
        """\
How many rows are generated, beside those of X, to ask the teacher about. `None`: twice as many as
X has, at least 5,000. With 0 the student learns from X alone, where a forest mostly repeats its
own labels.""",
    ),
    "swap": (
        "float",
        """\
The share of the entries of a generated row that is drawn from its column, each by itself; the
others are those of one row of X. With 1 all columns are independent: samples of the marginals.""",
    ),
    "holdout": (
        "float",
        """\
The share of the rows of X from which nothing is grown, so that the fidelity can be measured on
them, at least 0 and below 1. Neither is the teacher fitted to them, unless `prefit`.""",
    ),
    "categorical_features": (
        "'from_dtype', array-like or None",
        """\
Which columns are qualitative, as for the other classifiers. If the teacher is one of obliqua and
nothing else is said, those that are qualitative for it.""",
    ),
    "random_state": (
        "int, RandomState instance or None",
        """\
The seed of generated and held-out rows, of the student, and of a teacher that has none of its own.
The same seed gives the same student from the same teacher, whatever the order of the rows and the
number of threads. `None` draws another one for each fit.""",
    ),
}

STUDENT_CONSTRAINTS: dict[str, Any] = {
    "estimator": "no_validation",  # teacher_of says more
    "prefit": ["boolean"],
    "method": "no_validation",  # method_of says more
    "max_leaves": [Interval(Integral, 2, None, closed="left")],
    "n_generated": [Interval(Integral, 0, None, closed="left"), None],
    "swap": [Interval(Real, 0.0, 1.0, closed="both")],
    "holdout": [Interval(Real, 0.0, 1.0, closed="left")],
    "categorical_features": TABLE_CONSTRAINTS["categorical_features"],
    **SHARED_CONSTRAINTS,
}


class Student(TreesEstimator):
    """Base of the students: which rows are held out, and how tables are read."""

    #: What its teacher learns.
    _task: ClassVar[str] = "classification"

    estimator: Any
    prefit: bool
    holdout: float
    categorical_features: CategoricalFeatures

    def __sklearn_tags__(self) -> Any:
        """Say what the teacher takes."""
        tags = super().__sklearn_tags__()
        try:
            taken = get_tags(self._given()).input_tags
        except (AttributeError, TypeError, ValueError):  # no estimator: fit says so
            return tags
        tags.input_tags.allow_nan, tags.input_tags.categorical = taken.allow_nan, taken.categorical
        return tags

    def _given(self) -> Any:
        """Return the teacher as it was given, or what stands for it."""
        return default_teacher(self._task) if self.estimator is None else self.estimator

    def _divided(
        self, table: Table, labels: AnyArray | None, weights: FloatArray | None, seed: int
    ) -> tuple[Int64Array, Int64Array]:
        """Return the rows that are held out, and the others."""
        # All that is random goes by this order, which does not depend on how the rows came.
        order, place = shuffled(table.Z, labels, seed, weights)
        held = place < min(round(float(self.holdout) * len(order)), len(order) - 1)
        if labels is not None and not self.prefit and self._task == "classification":
            # A class without rows would be none for the teacher.
            for label in np.unique(labels):
                rows = np.flatnonzero(labels == label)
                held[rows[np.argmax(place[rows])]] = False
        return order[held[order]], order[~held[order]]

    def _read(self, seen: Self, teacher: Any, X: Any, y: Any) -> tuple[Table, RawRows, Any]:
        """Read the rows for the student, and keep them as they are for the teacher."""
        numbers = self._task == "regression"
        check = check_numbers if numbers else check_labels
        if y is not None:
            check(y)
        held = getattr(teacher, "model_", teacher)
        if isinstance(self.categorical_features, str) and isinstance(held, Model):
            places = [place for place, one in enumerate(held.encoding.columns) if one.levels]
            if places:
                seen.categorical_features = places
        raw = RawRows(X, read_by_columns(X, seen.categorical_features))
        if y is not None or not self.prefit:
            table, labels = read_training(seen, X, y, **({"y_numeric": True} if numbers else {}))
            return table, raw, labels
        # The checks want labels; any will do.
        return read_training(seen, X, np.arange(raw.n_rows) % 2)[0], raw, None

    def _hold(self, model: Model, names: AnyArray | None) -> None:
        for name in ("estimator_", "fidelity_"):
            self.__dict__.pop(name, None)
        super()._hold(model, names)

    def _check_notes(self) -> None:
        # A student that was edited since has no such note.
        if "fidelity_" in vars(self) and not sound(self.fidelity_, self._task):
            raise ValueError("what was measured of the student makes no sense")


def check_prefit(see: Callable[[Any], Any], teacher: Any) -> None:
    """Refuse what cannot teach; `see` makes a teacher of it."""
    try:
        see(teacher)
    except NotFittedError as error:
        raise NotFittedError(
            f"{error} Cross-validation clones a fitted teacher into one that is not: put it into "
            "scikit-learn's FrozenEstimator there."
        ) from error
