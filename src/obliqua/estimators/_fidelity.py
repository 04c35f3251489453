"""What a student has lost of its teacher."""

from math import isfinite
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.estimators._teachers import (
    NO_TABLE,
    check_dense,
    number_teacher_of,
    teacher_of,
    tells_numbers,
)

__all__ = ["checked_labels", "compared", "compared_numbers", "fidelity", "sound"]

#: What is measured of classes and of numbers: the first two always, the others if y is known.
MEASURES = ("agreement", "difference", "teacher_accuracy", "student_accuracy")
NUMBER_MEASURES = ("r2", "rmse", "teacher_r2", "student_r2")


def fidelity(teacher: Any, student: Any, X: Any, y: Any = None) -> dict[str, float]:
    """Measure what a student has lost of its teacher.

    Parameters
    ----------
    teacher, student : estimator, Model or Tree
        Two fitted classifiers with `predict_proba`, of the same classes or of some of them; or two
        regressors.
    X : array-like of shape (n_samples, n_features)
        The rows to compare them on, best such that neither has seen.
    y : array-like of shape (n_samples,), default=None
        Their classes, or numbers.

    Returns
    -------
    dict
        ``rows``, their number; ``agreement``, the share of rows for which both have the same
        likeliest class, the first one at ties; ``difference``, the mean over rows of half the sum
        of the absolute differences of the shares, from 0 to 1; if `y` is given,
        ``teacher_accuracy`` and ``student_accuracy``. Of regressors: ``r2``, the share of the
        variance of the teacher's numbers that the student's explain; ``rmse``, the root mean
        square of their differences; if `y` is given, ``teacher_r2`` and ``student_r2``. A share
        of a variance that is 0 is NaN.

    See Also
    --------
    distil : Make a student.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import obliqua
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> tree = obliqua.CartClassifier(random_state=0).fit(X[::2], y[::2])
    >>> lost = obliqua.fidelity(forest, tree, X[1::2])
    >>> lost["rows"], lost["agreement"] > 0.9
    (75, True)
    """
    if tells_numbers(teacher) or tells_numbers(student):
        numbers = [number_teacher_of(one) for one in (teacher, student)]
        check_dense(X)
        truth = None if y is None else np.asarray(y, dtype=np.float64)
        said, answered = (one.numbers(X) for one in numbers)
        return compared_numbers(said, answered, truth)
    asked = teacher_of(teacher), teacher_of(student)
    texts = [all(isinstance(label, str) for label in one.classes.tolist()) for one in asked]
    if texts[0] != texts[1]:
        known = [", ".join(map(repr, one.classes[:5].tolist())) for one in asked]
        raise ValueError(
            "Teacher and student must know the same classes, or some of them; the teacher knows "
            f"{known[0]}, and the student {known[1]}: text here and numbers there."
        )
    check_dense(X)
    if not hasattr(X, "__len__"):
        raise TypeError(NO_TABLE.format(type(X).__name__))
    classes = np.unique(np.concatenate([one.classes for one in asked]))
    labels = None if y is None else checked_labels(y, len(X), classes)
    shares = [np.zeros((len(X), len(classes))) for _ in asked]
    for one, said in zip(asked, shares, strict=True):
        said[:, np.searchsorted(classes, one.classes)] = one.shares(X)
    return compared(shares[0], shares[1], classes, labels)


def compared(
    teacher: FloatArray,
    student: FloatArray,
    classes: AnyArray,
    labels: AnyArray | None = None,
    weights: FloatArray | None = None,
) -> dict[str, float]:
    """Compare the shares that teacher and student give to classes."""
    if weights is not None:
        weights = weights / weights.max()  # their sum is finite then

    def mean(values: AnyArray) -> float:
        return min(1.0, float(np.average(values, weights=weights)))  # whatever is rounded

    said, answered = teacher.argmax(axis=1), student.argmax(axis=1)
    found: dict[str, float] = {
        "rows": len(teacher),
        "agreement": mean(said == answered),
        "difference": mean(np.abs(teacher - student).sum(axis=1) / 2),
    }
    if labels is not None:
        found["teacher_accuracy"] = mean(classes[said] == labels)
        found["student_accuracy"] = mean(classes[answered] == labels)
    return found


def compared_numbers(
    teacher: FloatArray,
    student: FloatArray,
    truth: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> dict[str, float]:
    """Compare the numbers that teacher and student say."""
    if weights is not None:
        weights = weights / weights.max()

    def square(off: AnyArray) -> float:
        return float(np.average(off**2, weights=weights))

    def share(told: FloatArray, of: FloatArray) -> float:
        spread = square(of - np.average(of, weights=weights))
        return 1.0 - square(told - of) / spread if spread > 0.0 else float("nan")

    found: dict[str, float] = {
        "rows": len(teacher),
        "r2": share(student, teacher),
        "rmse": square(student - teacher) ** 0.5,
    }
    if truth is not None:
        found["teacher_r2"], found["student_r2"] = share(teacher, truth), share(student, truth)
    return found


def checked_labels(y: Any, n_rows: int, classes: AnyArray) -> AnyArray:
    """Return labels as an array; raise if they do not belong to rows and classes."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must have a label for each of the {n_rows} rows; got shape {labels.shape}."
        )
    known, given = set(classes.tolist()), labels.tolist()
    if given and not any(label in known for label in given):
        raise ValueError(
            f"y has none of the classes {', '.join(map(repr, classes[:5].tolist()))}; its "
            f"first label is {given[0]!r}. Give labels of the kind that the teacher knows."
        )
    return labels


def sound(given: Any, task: str = "classification") -> bool:
    """Say whether what a file tells of a student can have been measured."""
    known = MEASURES if task == "classification" else NUMBER_MEASURES
    if not isinstance(given, dict) or not set(given) <= {"data", "generated"}:
        return False
    for found in given.values():
        if not isinstance(found, dict) or not {"rows", *known[:2]} <= set(found):
            return False
        if not set(found) <= {"rows", *known}:
            return False
        if type(found["rows"]) is not int or found["rows"] < 1:
            return False
        figures = [found[name] for name in known if name in found]
        if not all(type(one) is float and _possible(one, task) for one in figures):
            return False
    return True


def _possible(figure: float, task: str) -> bool:
    """Say whether a share of classes, or a measure of numbers, can be that."""
    if task == "classification":
        return isfinite(figure) and 0 <= figure <= 1
    return figure != figure or isfinite(figure)
