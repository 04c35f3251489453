"""What is to be learnt: classes or numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = [
    "MANY_CLASSES",
    "TASKS",
    "note_of_numbers",
    "task_of",
    "task_of_names",
]

#: More different whole numbers are taken for a quantity.
MANY_CLASSES = 50

TASKS = ("classification", "regression")


def task_of(given: str, y: Any, methods: Sequence[str] | Mapping[str, Any] | None = None) -> str:
    """Say what is to be learnt, "classification" or "regression".

    If that is not given ("auto"), the methods say it, where all of them learn the same; otherwise
    y does: what has fractions, or more than 50 different whole numbers, is numbers.
    """
    if given in TASKS:
        return given
    if given != "auto":
        raise ValueError(f"task must be 'auto', 'classification' or 'regression'; got {given!r}.")
    if isinstance(methods, Mapping):
        return _task_of_estimators(methods)
    named = [] if methods is None else list(methods)
    return task_of_names(named) or TASKS[_looks_like_numbers(np.asarray(y))]


def note_of_numbers(
    given: str, y: Any, methods: Sequence[str] | Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Say so where whole numbers, which might be classes, are learnt as numbers."""
    known = given != "auto" or isinstance(methods, Mapping)
    if known or task_of_names(methods or ()) or not _looks_like_numbers(np.asarray(y)):
        return ()
    values = np.asarray(y)
    if (values != np.floor(values)).any():
        return ()
    note = (
        f"y has more than {MANY_CLASSES} different whole numbers and is learnt as numbers; "
        "task='classification' makes classes of them."
    )
    return (note,)


def task_of_names(names: Iterable[str]) -> str | None:
    """Say what methods of these names learn; None if they do not tell."""
    from obliqua.select.methods import methods_for

    told = set()
    for name in names:
        learns = [task for task in TASKS if name in methods_for(task)]
        told |= set(learns) if len(learns) == 1 else set()
    return told.pop() if len(told) == 1 else None


def _task_of_estimators(methods: Mapping[str, Any]) -> str:
    from sklearn.base import is_regressor

    numbers = [name for name, each in methods.items() if is_regressor(each)]
    others = [name for name in methods if name not in numbers]
    if numbers and others:
        raise ValueError(
            f"methods must all learn the same; {numbers[0]!r} is a regressor and {others[0]!r} is "
            "none. Compare them in two calls."
        )
    return TASKS[bool(numbers)]


def _looks_like_numbers(y: Any) -> bool:
    """Say whether values are numbers rather than classes: fractions, or very many values."""
    if y.dtype.kind not in "iuf" or y.ndim != 1:
        return False
    values = y[np.isfinite(y)] if y.dtype.kind == "f" else y
    whole = values == np.floor(values)
    return bool(not whole.all() or len(np.unique(values)) > MANY_CLASSES)
