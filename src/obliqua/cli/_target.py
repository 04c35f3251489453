"""The target: whether it is classes or numbers, and how it is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from obliqua._typing import AnyArray
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._output import note
from obliqua.cli._table import NamedTable
from obliqua.cli._types import plain_numbers
from obliqua.io.values import text_of
from obliqua.select.task import MANY_CLASSES, task_of_names

__all__ = ["check_differ", "choose_task", "learnt_rows", "read_target", "said_of_target"]

LIKE_COUNTS = 5  # so many different whole numbers may be counts


def choose_task(table: NamedTable, target: str, given: str, methods: Sequence[str] = ()) -> str:
    """Say whether classes or numbers are learnt: what was asked for, or what is found out."""
    if given != "auto":
        return given
    told = task_of_names(methods)
    if told is not None:
        return told
    if not table.is_quantity(target):
        n_numbers = table.count_whole_numbers(target)
        if n_numbers >= LIKE_COUNTS:
            note(
                f"{target!r} has {n_numbers} different whole numbers, which are learnt as "
                "classes; --task regression learns them as numbers."
            )
        return "classification"
    if table.frame[target].cast(str).str.contains(r"^[-+]?\d+$").all():
        note(
            f"{target!r} has more than {MANY_CLASSES} different whole numbers and is learnt as "
            "numbers; --task classification makes classes of them."
        )
    return "regression"


def learnt_rows(table: NamedTable, target: str, task: str, drop_missing: bool) -> NamedTable:
    """Return the table without rows that have no target; they are an error unless dropped."""
    table = table.without_words(target) if task == "regression" else table
    return table.without_missing(target, drop_missing)


def read_target(table: NamedTable, target: str, task: str) -> AnyArray:
    """Read the target as classes or as numbers."""
    if task == "classification":
        return table.labels(target)
    more = "Classes are learnt with --task classification."
    found = plain_numbers(table, [target], "the target", more, needed=True)
    return np.asarray(found[target].to_numpy())


def check_differ(target: str, task: str, values: AnyArray) -> None:
    """Refuse a target that is the same in all rows."""
    if len(np.unique(values)) < 2:
        what = "class" if task == "classification" else "value"
        raise Trouble(
            f"The target {target!r} has one {what} only, {text_of(values[0])}; a tree needs two."
        )


def said_of_target(target: str, task: str, y: AnyArray) -> dict[str, str]:
    """Say what the target is taken for."""
    if task == "regression":
        return {target: f"target, numbers, {y.min():,.6g} to {y.max():,.6g}"}
    return {target: f"target, {counted(len(np.unique(y)), 'class', 'classes')}"}
