"""Class labels and class weights: from what the user gives to codes and one number per class."""

from collections.abc import Mapping
from datetime import date, time, timedelta
from numbers import Integral, Number
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from obliqua._typing import AnyArray, FloatArray, Int32Array
from obliqua.data.costs import MAX_COST, Costs, flaw_of
from obliqua.data.table import is_missing
from obliqua.estimators._warnings import warn

DATES = (
    "y holds dates or times. Classes are integers, strings or bools: give y as text, for instance "
    "with y.astype(str), or take a part of the date, such as the year or the weekday."
)


def _is_temporal(dtype: Any) -> bool:
    """Say whether a type of polars is one of dates and times."""
    return bool(getattr(dtype, "is_temporal", lambda: False)())


def _check_mask(y: Any) -> None:
    """Refuse what is masked: NumPy would show what is below the mask."""
    masked = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else np.zeros(0, dtype=bool)
    if masked.any():
        rows = np.flatnonzero(masked.reshape(len(y), -1).any(axis=1))
        raise ValueError(
            f"y is masked in {len(rows)} of {len(y)} rows, first in row {rows[0]}, counted from "
            "0. Leave such rows out."
        )


def check_labels(y: Any) -> None:
    """Refuse labels that are missing or of several types, before they are made an array.

    NumPy makes text of a list with text and numbers in it, None and NaN included.
    """
    _check_mask(y)
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "kind", None) in ("m", "M") or _is_temporal(dtype):
        raise ValueError(DATES)
    if isinstance(y, list | tuple):
        values = list(y)
    elif not hasattr(y, "dtype") or (isinstance(y.dtype, np.dtype) and y.dtype.kind not in "Of"):
        return  # of one type, and scikit-learn says whether it is the right one
    else:
        values = np.asarray(y, dtype=object).ravel().tolist()
    kinds = set(map(type, values))
    if any(issubclass(kind, date | time | timedelta | np.datetime64) for kind in kinds):
        raise ValueError(DATES)
    if kinds <= {str} and isinstance(y, list | tuple) and any(v.endswith("\0") for v in values):
        raise ValueError(
            "A label in y ends with the character 0, which an array of text drops. Leave it out, "
            "or give y as an array of objects: np.array(y, dtype=object)."
        )
    if kinds <= {int} or kinds <= {str}:
        return
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        raise ValueError(
            f"y has no label in {len(missing)} of {len(values)} rows, first "
            f"{values[missing[0]]!r} in row {missing[0]}, counted from 0. Leave "
            "such rows out, or give them a class of their own."
        )
    text = [row for row, value in enumerate(values) if isinstance(value, str)]
    numbers = [row for row, value in enumerate(values) if isinstance(value, Number)]
    if text and numbers:
        raise ValueError(
            f"y mixes text and numbers: {values[text[0]]!r} in row {text[0]} and "
            f"{values[numbers[0]]!r} in row {numbers[0]}, counted from 0. Write all labels in "
            "one way, for instance as text: [str(label) for label in y]."
        )


def check_numbers(y: Any) -> None:
    """Refuse what a regressor cannot learn, before it is made an array of numbers."""
    _check_mask(y)
    values: AnyArray = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if values.dtype.kind in "biufc" or values.ndim not in (1, 2):
        return  # scikit-learn says what is wrong, if anything
    width = values.size // max(len(values), 1)
    # Dates and times would become numbers of nanoseconds in a list; as text they are refused.
    listed = values.ravel().astype(str) if values.dtype.kind in "mM" else values.ravel()
    for place, value in enumerate(listed.tolist()):
        row = place // width
        if is_missing(value):
            raise ValueError(
                f"y has no number in row {row}, counted from 0: {value!r}. Leave such rows out."
            )
        if not isinstance(value, Number):
            raise ValueError(
                f"A regressor learns numbers; y holds {value!r} in row {row}, counted from 0. "
                "For classes take a classifier, such as CartClassifier; turn numbers that are "
                "written as text, and dates, into numbers first."
            )


def encode_labels(y: AnyArray) -> tuple[AnyArray, Int32Array]:
    """Replace labels by numbers of classes."""
    y = checked_label_types(y)
    classes, codes = _number_integers(y) if y.dtype.kind in "iu" else _number(y)
    warn_of_many_classes(len(classes), len(y))
    return classes, codes


def checked_label_types(y: AnyArray) -> AnyArray:
    """Return labels of a type that classes may have; refuse others."""
    if y.dtype.kind == "S":
        raise TypeError(
            "Labels must be integers, strings or bools. Got bytes; decode them, for instance "
            "with y.astype(str)."
        )
    if y.dtype == object and all(isinstance(label, Integral) for label in y):
        y = np.array(y.tolist())
    # Integers, bools and strings are classes whatever their values, so only the others
    # need scikit-learn's look at each value.
    if y.dtype.kind not in "biuU":
        kind = type_of_target(y, input_name="y")
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"Unknown label type: {kind}. A classifier expects class labels (integers, "
                "strings or bools); for other numbers use a regressor or make classes of them."
            )
    return y


def warn_of_many_classes(n_classes: int, n_rows: int) -> None:
    """Warn if labels look like a quantity."""
    if n_rows > 20 and 2 * n_classes > n_rows:
        warn(
            "The number of unique classes is greater than 50% of the number of samples: "
            f"{n_classes} classes in {n_rows} rows. If y is a quantity and not a class, "
            "use a regressor.",
        )


def _number(y: AnyArray) -> tuple[AnyArray, Int32Array]:
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def _number_integers(y: AnyArray) -> tuple[AnyArray, Int32Array]:
    """Do the same by a table: sorting a million integers takes five times longer."""
    low, high = int(y.min()), int(y.max())
    if high - low > 4 * len(y):
        return _number(y)
    # Unsigned integers cannot overflow here; signed ones of a narrow type could.
    places = (y.astype(np.int64) if y.dtype.kind == "i" else y) - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[places] = True
    classes = np.array([low + place for place in np.flatnonzero(present).tolist()], y.dtype)
    return classes, (np.cumsum(present, dtype=np.int32) - 1)[places]


def class_counts(codes: Int32Array, sample_weight: FloatArray | None, n_classes: int) -> AnyArray:
    """Return the weight of each class, in units in which it does not overflow."""
    if sample_weight is not None:  # only ratios matter
        sample_weight = sample_weight / (sample_weight.max() or 1.0)
    return np.bincount(codes, weights=sample_weight, minlength=n_classes)


def class_weights(
    class_weight: dict[Any, float] | str | None, classes: AnyArray, counts: AnyArray
) -> FloatArray | None:
    """Return one weight per class, or None if classes are not weighted.

    `counts`: what the rows of each class weigh, in any unit.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):  # 'balanced': the parameter constraints allow no other
        present = counts > 0
        weights = np.ones(len(classes))
        weights[present] = counts.sum() / (present.sum() * counts[present])
        return weights
    labels = classes.tolist()
    unknown = sorted(class_weight.keys() - set(labels), key=str)
    unweighted = [label for label in labels if label not in class_weight]
    # A label that this part of the data lacks is no mistake (cross-validation), nor is a
    # label without a weight of its own. Both together look like labels of another type.
    if unknown and unweighted:
        raise ValueError(
            f"The labels {unknown} in class_weight are not in y, whose labels {unweighted} "
            "have no weight. Write the labels as they are in y, with their type."
        )
    weights = np.array([_one_number(class_weight.get(label, 1.0), label) for label in labels])
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            f"The weights in class_weight must be finite and not negative. Got {class_weight}."
        )
    return weights


def _one_number(value: Any, label: Any) -> float:
    """Return the weight of a class as a float; a row of a matrix of costs is none."""
    try:
        if not isinstance(value, str | bytes) and np.ndim(value) == 0:
            return float(value)
    except (TypeError, ValueError):
        pass
    shown = " ".join(repr(value).split())  # a matrix on one line
    raise ValueError(
        f"class_weight must give one number per class; got {shown} for the class {label!r}. "
        "Costs that depend on the predicted class too are a matrix: give it as costs."
    )


def _as_numbers(costs: Any) -> FloatArray:
    """Return costs as an array of floats; text and complex numbers are refused."""
    try:
        given = np.asarray(costs)
        if given.dtype.kind in "biufO" and not any(isinstance(c, str) for c in given.flat):
            return given.astype(np.float64)
        reason = f"got an array of type {given.dtype}"
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ValueError(
        f"costs must be a matrix of numbers: {reason}. Give a row of numbers for each class."
    )


def _by_label(costs: Any, labels: list[Any]) -> list[list[Any]]:
    """Return the costs of some classes, in their order, of costs that say which is whose."""
    if isinstance(costs, Mapping):
        table = costs
    elif not hasattr(costs, "index") or not hasattr(costs, "to_dict"):
        raise ValueError(
            f"costs as a {type(costs).__name__} has no names of rows, so it does not say whose "
            "they are. Give {true: {said: cost, ...}, ...}, a pandas frame with the labels as "
            f"index and columns, or an array in the order of the labels {labels}."
        )
    else:
        table = costs.to_dict("index")
    found = []
    for true in labels:
        row = table.get(true)
        if not isinstance(row, Mapping):
            got = "nothing" if row is None else f"{row!r:.60}"
            raise ValueError(
                f"costs with labels must have a row for each class of y, as {{true: {{said: cost, "
                f"...}}, ...}}; got {got} for the class {true!r}. Its rows are "
                f"{_few_of(list(table))}. Write the labels as they are in y, with their type, or "
                f"give an array in the order of the labels {labels}."
            )
        lost = [said for said in labels if said not in row and said != true]
        if lost:
            raise ValueError(
                f"costs must say what it costs to call a row of class {true!r} {lost[0]!r}; its "
                f"row has {_few_of(list(row))}. Write labels as they are in y, with their type."
            )
        found.append([row.get(said, 0.0) for said in labels])
    return found


def _few_of(labels: list[Any]) -> str:
    """Return labels for a message, not too many."""
    return f"{labels[:10]}{' and more' if len(labels) > 10 else ''}"


def matrix_of_costs(costs: Any, classes: AnyArray) -> Costs:
    """Return what mistakes cost, as a tree keeps it; refuse what are no costs."""
    labels = classes.tolist()
    n = len(labels)
    named = isinstance(costs, Mapping) or hasattr(costs, "columns")
    matrix = _as_numbers(_by_label(costs, labels) if named else costs)
    if matrix.shape != (n, n):
        missing = ""
        if matrix.ndim == 2 and n < len(matrix) == len(matrix.T):
            missing = (
                " If these rows have not all classes, as in a fold of a cross-validation, give "
                "costs with labels: {true: {said: cost, ...}, ...}, or a pandas frame."
            )
        raise ValueError(
            "costs must have a row for each class of y and a column for each class that may be "
            f"said, in the order of the labels {labels}: {n} by {n} numbers. Got shape "
            f"{matrix.shape}.{missing}"
        )
    place = flaw_of(matrix)
    if place is not None:
        true, said = place
        if true == said and np.isfinite(matrix[place]):
            raise ValueError(
                f"costs must be 0 on the diagonal, because what is right costs nothing. Got "
                f"{matrix[place]} for the class {labels[true]!r}; subtract it from its row, which "
                "changes no choice."
            )
        raise ValueError(
            f"costs must be numbers from 0 to {MAX_COST:g}. Got {matrix[place]} for rows of class "
            f"{labels[true]!r} that are called {labels[said]!r}."
        )
    # There is nothing to mistake a single class for; and where labels leave out classes that y
    # has not, only mistakes between others may cost something.
    if n == 1 or (named and len(costs) > n and not matrix.any()):
        return ()
    if not matrix.any():
        raise ValueError("costs must not all be 0: any class would do. Give some mistake a cost.")
    return tuple(tuple(row) for row in matrix.tolist())


def prior_weights(priors: Any, classes: AnyArray, counts: AnyArray) -> FloatArray | None:
    """Return the weight per class that makes the classes' shares the priors."""
    if priors is None:
        return None
    if isinstance(priors, str):  # 'equal': the parameter constraints allow no other
        wanted = np.ones(len(classes))
    else:
        wanted = _checked_priors(_priors_in_order(priors, classes), priors)
    # A class without weight cannot get a share; the others keep theirs among themselves.
    present = counts > 0
    if not wanted[present].any():
        raise ValueError(
            f"priors are 0 for all classes that have rows. Got {priors!r} for the labels "
            f"{classes.tolist()}. Give a class that has rows a positive prior."
        )
    weights = np.ones(len(classes))
    share = wanted[present] / wanted[present].sum()
    weights[present] = share * (counts.sum() / counts[present])
    return weights


def _priors_in_order(priors: Any, classes: AnyArray) -> list[Any]:
    """The priors in the order of the classes, one for each."""
    labels = classes.tolist()
    if not isinstance(priors, dict):
        given = list(priors)
        if len(given) != len(labels):
            raise ValueError(
                f"priors must hold one number per class, in the order of the labels {labels}. "
                f"Got {len(given)} numbers for {len(labels)} classes."
            )
        return given
    # A label that this part of the data lacks is no mistake (cross-validation).
    missing = [label for label in labels if label not in priors]
    if missing:
        unknown = sorted(priors.keys() - set(labels), key=str)
        more = f", and {unknown} are not in y" if unknown else ""
        raise ValueError(
            f"priors must name the labels of y, which are {labels}: {missing} have no prior"
            f"{more}. Write each label as it is in y, with its type."
        )
    return [priors[label] for label in labels]


def _checked_priors(in_order: list[Any], given: Any) -> FloatArray:
    try:
        wanted = np.array(in_order, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"priors must be numbers: {error}. Got {given!r}.") from error
    if wanted.ndim != 1 or not (np.isfinite(wanted).all() and (wanted >= 0).all()):
        raise ValueError(f"priors must be finite numbers, none negative. Got {given!r}.")
    if not wanted.any():
        raise ValueError(f"priors must not all be 0. Got {given!r}.")
    return np.asarray(wanted / wanted.max())
