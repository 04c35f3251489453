"""Teachers: classifiers that another one is to do the same as, and rows to ask them about."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from obliqua._core.base.rng import row_hashes, scattered
from obliqua._typing import AnyArray, FloatArray, Int64Array, Rows
from obliqua.data.table import readable
from obliqua.tree.model import Model
from obliqua.tree.packed import PackedTrees
from obliqua.tree.tree import Tree

_WANTED = "The teacher must be a fitted classifier with predict_proba"
NO_TABLE = "X must be a table of rows, an array or a frame, and not a sparse one; got {}."
#: How far from 1 the shares of a row may add up to, by rounding.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class Teacher:
    """What is asked of a classifier.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels of its classes.
    proba : callable
        Says the shares of the classes of rows.
    name : str
        What it is called in messages.
    """

    classes: AnyArray
    proba: Callable[[Any], Any]
    name: str

    def shares(self, X: Any) -> FloatArray:
        """Ask for the shares of the classes, and check the answer."""
        said = self.proba(X)
        if isinstance(said, list):
            raise TypeError(_several_targets(self.name, str(len(said))))
        shares = np.array(said, dtype=np.float64)
        if shares.shape != (len(X), len(self.classes)):
            raise ValueError(
                f"predict_proba of {self.name} must return a number for each of the {len(X)} rows "
                f"and {len(self.classes)} classes; got shape {shares.shape}."
            )
        sums = shares.sum(axis=1, keepdims=True)
        good = np.isfinite(sums[:, 0]) & (shares >= 0).all(axis=1) & (sums[:, 0] > 0)
        if not good.all():
            first = int(np.argmin(good))
            raise ValueError(
                f"predict_proba of {self.name} must return finite numbers that are not negative, "
                f"and not 0 for all classes of a row; for row {first} of {len(good)}, counted "
                f"from 0, it has returned {shares[first, :5].tolist()}."
            )
        odd = np.abs(sums[:, 0] - 1.0) > ROUNDING
        if odd.any():
            first = int(np.argmax(odd))
            raise ValueError(
                f"predict_proba of {self.name} must return shares of classes, which add up to 1 "
                f"in each row; for row {first} of {len(odd)}, counted from 0, they add up to "
                f"{sums[first, 0]:.4g}: {shares[first, :5].tolist()}. A classifier that was "
                "fitted to a label-indicator matrix gives several labels to a row; give one "
                "classifier per label."
            )
        return np.asarray(shares / sums)


@dataclass(frozen=True, eq=False)
class NumberTeacher:
    """What is asked of a regressor.

    Parameters
    ----------
    predict : callable
        Says the numbers of rows.
    name : str
        What it is called in messages.
    """

    predict: Callable[[Any], Any]
    name: str

    def numbers(self, X: Any) -> FloatArray:
        """Ask for the number of each row, and check the answer."""
        said = np.array(self.predict(X), dtype=np.float64)
        if said.shape == (len(X), 1):
            said = said[:, 0]
        if said.shape != (len(X),):
            raise ValueError(
                f"predict of {self.name} must return a number for each of the {len(X)} rows; got "
                f"shape {said.shape}. Give one regressor per output."
            )
        wrong = np.flatnonzero(~np.isfinite(said))
        if len(wrong):
            raise ValueError(
                f"predict of {self.name} must return finite numbers; for row {wrong[0]} of "
                f"{len(said)}, counted from 0, it has returned {said[wrong[0]]}."
            )
        return said


def _several_targets(name: str, got: str) -> str:
    return f"{_WANTED} and one target; {name} has {got}. Give one classifier per target."


def model_of(known: Any) -> Model:
    """Return the model of a tree, a model or a classifier of obliqua."""
    if isinstance(known, Tree):
        return Model.of_tree(known)
    held: Model = known if isinstance(known, Model) else known.model_
    return held


def _check_costs(fitted: Any) -> None:
    """Refuse trees with costs: a student learns their shares, and shares know of none."""
    model = fitted if isinstance(fitted, Tree | Model) else getattr(fitted, "model_", None)
    if not isinstance(model, Tree | Model) or isinstance(model_of(model).trees, PackedTrees):
        return
    if any(tree.costs for tree in model_of(model).trees):
        raise ValueError(
            "The teacher has costs of mistakes, and a student learns the shares of classes, which "
            "know of none. Distil a teacher without costs, and choose classes from the student's "
            "shares: predict_proba(X) @ costs, the least of each row."
        )


def teacher_of(fitted: Any, given: bool = True) -> Teacher:
    """See a fitted classifier as a teacher."""
    _check_costs(fitted)
    if isinstance(fitted, Tree | Model):
        held = model_of(fitted)
        return Teacher(held.classes, lambda X: held.predict_proba(held.rows(X)), "the model")
    name = type(fitted).__name__
    wanted = _WANTED if given else _WANTED.replace("fitted ", "")
    if isinstance(fitted, type):
        raise TypeError(
            f"{wanted}; got the class {fitted.__name__} itself. Write {fitted.__name__}()."
        )
    if fitted is None:
        raise TypeError(
            f"{wanted}; got None. Give one; DistilledClassifier().fit(X, y), without prefit, fits "
            "one of its own."
        )
    if not hasattr(fitted, "predict_proba"):
        raise TypeError(f"{wanted}; {name} has none.{_advice(fitted)}")
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        raise NotFittedError(
            f"This {name} is not fitted, or does not say what its classes are (classes_). Fit it "
            "first."
        )
    if isinstance(classes, list) and len(classes) and isinstance(classes[0], np.ndarray):
        raise TypeError(_several_targets(name, str(len(classes))))
    if getattr(fitted, "multilabel_", False):  # as OneVsRestClassifier says
        raise TypeError(_several_targets(name, f"{len(classes)} labels, each by itself"))
    known = np.asarray(classes)
    if known.dtype == object and all(isinstance(label, Integral) for label in known):
        known = np.array(known.tolist())  # as our own classifiers do, so that files can hold them
    return Teacher(known, fitted.predict_proba, name)


def tells_numbers(fitted: Any) -> bool:
    """Say whether a fitted model is a regressor."""
    if isinstance(fitted, Tree | Model):
        return model_of(fitted).task == "regression"
    return hasattr(fitted, "fit") and not isinstance(fitted, type) and is_regressor(fitted)


def number_teacher_of(fitted: Any, given: bool = True) -> NumberTeacher:
    """See a fitted regressor as a teacher."""
    if isinstance(fitted, Tree | Model) and tells_numbers(fitted):
        held = model_of(fitted)
        return NumberTeacher(lambda X: held.predict(held.rows(X)), "the model")
    wanted = f"The teacher must be a {'fitted ' if given else ''}regressor"
    if isinstance(fitted, type):
        raise TypeError(
            f"{wanted}; got the class {fitted.__name__} itself. Write {fitted.__name__}()."
        )
    if not tells_numbers(fitted):
        advice = " For classes take DistilledClassifier." if hasattr(fitted, "classes_") else ""
        raise TypeError(f"{wanted}; got {type(fitted).__name__}.{advice}")
    if given:
        check_is_fitted(fitted)
    return NumberTeacher(fitted.predict, type(fitted).__name__)


def _advice(fitted: Any) -> str:
    if hasattr(fitted, "fit") and is_regressor(fitted):
        return " It is a regressor: it predicts numbers. For those take DistilledRegressor."
    if type(fitted).__name__ == "VotingClassifier":
        return " Fit it with voting='soft'."
    if hasattr(fitted, "decision_function"):
        return " Put it into scikit-learn's CalibratedClassifierCV, which has."
    return ""


def seeded(teacher: Any, seed: int) -> Any:
    """Give a seed to all parts of a classifier that have none."""
    parameters = teacher.get_params(deep=True)
    unset = [
        name
        for name, value in sorted(parameters.items())
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    for number, name in enumerate(unset):
        teacher.set_params(**{name: (seed + number) % 2**31})
    return teacher


def check_dense(X: Any) -> None:
    """Refuse a sparse matrix."""
    if hasattr(X, "toarray"):
        raise TypeError(f"{NO_TABLE.format(type(X).__name__)} Write X.toarray().")


class RawRows:
    """Rows as a user has them, of which others are made: of the same kind, with the same types.

    Parameters
    ----------
    X : array-like or frame of shape (n_rows, n_columns)
        The rows.
    by_columns : bool
        Whether an entry of a list of rows keeps its own type.
    """

    def __init__(self, X: Any, by_columns: bool = False) -> None:
        X = readable(X)
        check_dense(X)
        self._pandas = hasattr(X, "iloc")
        self._polars = not self._pandas and hasattr(X, "get_columns")
        if not (self._pandas or self._polars or isinstance(X, np.ndarray)):
            X = np.array(X, dtype=object) if by_columns else np.asarray(X)
            if X.ndim == 0:
                raise TypeError(NO_TABLE.format(type(X.item()).__name__))
        self.X = X

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.X)

    def take(self, rows: Int64Array) -> Any:
        """Return some of the rows."""
        return self.X.iloc[rows] if self._pandas else self.X[rows]

    def mixed(self, rows: Int64Array) -> Any:
        """Return rows whose entries come from different ones."""
        if self._pandas:
            frame = self.X.iloc[rows[:, 0]].reset_index(drop=True)
            for place in range(1, rows.shape[1]):
                frame.isetitem(place, self.X.iloc[rows[:, place], place].array)
            return frame
        if self._polars:
            columns = self.X.get_columns()
            return type(self.X)([one.gather(rows[:, place]) for place, one in enumerate(columns)])
        return self.X[rows, np.arange(rows.shape[1])]


@dataclass(frozen=True, eq=False)
class Source:
    """Where generated rows come from.

    Parameters
    ----------
    rows : ndarray of int64, of shape (n_rows,)
        The rows that are mixed.
    n_columns : int
        The number of columns.
    swap : float
        The share of the entries that is drawn from the columns.
    """

    rows: Int64Array
    n_columns: int
    swap: float

    def draw(self, n_rows: int, random: np.random.Generator) -> Int64Array:
        """Draw rows."""
        n = len(self.rows)
        base = random.integers(n, size=(n_rows, 1))
        other = random.integers(n, size=(n_rows, self.n_columns))
        swapped = random.random((n_rows, self.n_columns)) < self.swap
        return np.asarray(self.rows[np.where(swapped, other, base)])


def shuffled(
    Z: Rows, labels: AnyArray | None, seed: int, weights: FloatArray | None = None
) -> tuple[Int64Array, Int64Array]:
    """Put rows in random orders that depend on what is in them, not on how they came."""
    none = np.zeros(len(Z), dtype=np.int64)
    keys = row_hashes(Z, none, seed)
    codes = none if labels is None else np.unique(labels, return_inverse=True)[1]
    alike = np.lexsort((none if weights is None else weights, codes, keys))
    starts = np.flatnonzero(np.diff(keys[alike], prepend=keys[alike[:1]] + np.uint64(1)) != 0)
    sizes = np.diff(starts, append=len(Z))
    numbers, place = np.empty_like(none), np.empty_like(none)
    numbers[alike] = np.arange(len(Z)) - np.repeat(starts, sizes)
    place[np.argsort(scattered(keys, numbers), kind="stable")] = np.arange(len(Z))
    return np.argsort(keys, kind="stable").astype(np.int64), place
