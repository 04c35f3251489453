"""What a student has lost of its teacher."""

from math import isfinite
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.estimators._teachers import teacher_of

__all__ = ["compared", "fidelity", "sound"]

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
    classes = np.unique(np.concatenate([one.classes for one in asked]))
    shares = [np.zeros((len(X), len(classes))) for _ in asked]
    for one, said in zip(asked, shares, strict=True):
        said[:, np.searchsorted(classes, one.classes)] = one.shares(X)
    return compared(shares[0], shares[1], classes, y)


def compared(
    teacher: FloatArray, student: FloatArray, classes: AnyArray, y: Any = None
) -> dict[str, float]:
    """Compare the shares that teacher and student give to classes.

    Parameters
    ----------
    teacher, student : ndarray of shape (n_rows, n_classes)
        The shares.
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    y : array-like of shape (n_rows,), default=None
        The labels of the rows.

    Returns
    -------
    dict
        As `fidelity` returns it.
    """
    said, answered = teacher.argmax(axis=1), student.argmax(axis=1)
    found: dict[str, float] = {
        "rows": len(teacher),
        "agreement": float((said == answered).mean()),
        "difference": float(np.abs(teacher - student).sum(axis=1).mean() / 2),
    }
    if y is not None:
        labels = np.asarray(y)
        if labels.shape != (len(teacher),):
            raise ValueError(
                f"y must have a label for each of the {len(teacher)} rows; got shape "
                f"{labels.shape}."
            )
        right = classes[:, None] == labels[None, :]
        if not np.any(right):
            raise ValueError(
                f"y has none of the classes {', '.join(map(repr, classes[:5].tolist()))}; its "
                f"first label is {labels[0]!r}."
            )
        rows = np.arange(len(labels))
        found["teacher_accuracy"] = float(right[said, rows].mean())
        found["student_accuracy"] = float(right[answered, rows].mean())
    return found


def sound(given: Any) -> bool:
    """Say whether what a file tells of a student can have been measured.

    Parameters
    ----------
    given : object
        What is to be `fidelity_`.

    Returns
    -------
    bool
        Whether it is.
    """
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
