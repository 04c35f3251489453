"""What a student has lost of its teacher."""

from math import isfinite
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.estimators._teachers import NO_TABLE, check_dense, teacher_of

__all__ = ["checked_labels", "compared", "fidelity", "sound"]

MEASURES = ("agreement", "difference", "teacher_accuracy", "student_accuracy")


def fidelity(teacher: Any, student: Any, X: Any, y: Any = None) -> dict[str, float]:
    """Measure what a student has lost of its teacher.

    Parameters
    ----------
    teacher, student : estimator, Model or Tree
        Two fitted classifiers with `predict_proba`, of the same classes or of some of them.
    X : array-like of shape (n_samples, n_features)
        The rows to compare them on, best such that neither has seen.
    y : array-like of shape (n_samples,), default=None
        Their classes.

    Returns
    -------
    dict
        ``rows``, their number; ``agreement``, the share of rows for which both have the same
        likeliest class, the first one at ties; ``difference``, the mean over rows of half the sum
        of the absolute differences of the shares, from 0 to 1; if `y` is given,
        ``teacher_accuracy`` and ``student_accuracy``.

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


def sound(given: Any) -> bool:
    """Say whether what a file tells of a student can have been measured."""
    if not isinstance(given, dict) or not set(given) <= {"data", "generated"}:
        return False
    for found in given.values():
        if not isinstance(found, dict) or not {"rows", *MEASURES[:2]} <= set(found):
            return False
        if not set(found) <= {"rows", *MEASURES}:
            return False
        if type(found["rows"]) is not int or found["rows"] < 1:
            return False
        shares = [found[name] for name in MEASURES if name in found]
        if not all(type(one) is float and isfinite(one) and 0 <= one <= 1 for one in shares):
            return False
    return True
