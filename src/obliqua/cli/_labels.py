"""Labels: how the text of a file becomes classes, and how classes of two files are matched.

A label is the text that stands in the file. Only where all labels of a column would be written
back as the same text are they numbers (``0``, ``17``, ``-3``) or truth values (``true``,
``false``). ``01``, ``1.0`` and ``TRUE`` stay what they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.cli._errors import Trouble, listed
from obliqua.cli._output import note
from obliqua.io.values import text_of

if TYPE_CHECKING:
    import polars as pl

PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
MANY_DIGITS = 400  # no float has more before its point
TRUTH = {"true": True, "false": False}


def labels_of_text(words: pl.Series) -> AnyArray | None:
    """Return the classes that texts stand for, None if they are numbers that are not whole."""
    polars = require("polars", "cli", "Reading tables")
    whole = words.cast(polars.Int64, strict=False)
    if (whole.cast(polars.String) == words).all() and whole.null_count() == 0:
        return np.asarray(whole.to_numpy())
    if words.is_in(list(TRUTH)).all():
        return np.asarray((words == "true").to_numpy())
    numbers = words.cast(polars.Float64, strict=False)
    # Numbers with a fraction are a quantity; a whole number of many digits is a name.
    names = words.str.contains(r"^[-+]?\d+$").all()
    if not names and numbers.null_count() == 0 and not is_whole(numbers.to_numpy()).all():
        return None
    labels = np.array(words.to_list(), dtype=str)
    _say_what_is_alike(labels)
    return labels


def is_whole(values: AnyArray) -> AnyArray:
    """Say which numbers are whole, and small enough to be told from their neighbours."""
    with np.errstate(invalid="ignore"):
        return np.asarray((values == np.floor(values)) & (np.abs(values) < 2.0**53))


def _say_what_is_alike(labels: AnyArray) -> None:
    """Say if two classes differ only in how they are written: that is seldom meant."""
    seen: dict[str, str] = {}
    for label in np.unique(labels).tolist():
        other = seen.setdefault(_folded(label), label)
        if other != label:
            note(f"{other!r} and {label!r} are two classes, for they are written differently.")
            return


def _folded(text: str) -> str:
    """Write numbers and truth values in one way, whatever way they were written in."""
    if PLAIN_NUMBER.fullmatch(text):
        if text.lstrip("+-").isdigit() and len(text) < MANY_DIGITS:
            return str(int(text))  # as floats, long ones would become one another
        value = float(text)
        return str(int(value)) if is_whole(np.array(value)) else repr(value)
    return text.casefold() if text.casefold() in TRUTH else text


def class_numbers(classes: AnyArray, labels: AnyArray) -> Int64Array:
    """Find labels among the classes of a model, which may have come from another kind of file."""
    known = {text_of(label): number for number, label in enumerate(classes.tolist())}
    folded = {_folded(text): number for text, number in known.items()}
    if len(folded) < len(known):
        folded = {}  # the way of writing tells classes apart
    different, places = np.unique(labels, return_inverse=True)
    numbers = []
    for label in different.tolist():
        text = text_of(label)
        numbers.append(known.get(text, folded.get(_folded(text), -1)))
    return np.array(numbers, dtype=np.int64)[places]


def level_places(levels: Sequence[Any], words: Sequence[str]) -> list[int]:
    """Find the cells of a file among the levels of a model.

    Levels that are text are compared as text, as the library does. Levels that are numbers are
    found by the number, however it is written, and truth values in any case.
    """
    known = {text_of(level): place for place, level in enumerate(levels)}
    others = {
        _folded(text): place for text, place in known.items() if not isinstance(levels[place], str)
    }
    return [known.get(word, others.get(_folded(word), -1)) for word in words]


def check_known(numbers: Int64Array, labels: AnyArray, classes: AnyArray, option: str) -> str:
    """Say how many labels are no classes of a model, for the end of a line; refuse if all are."""
    unknown = Counter(map(text_of, labels[numbers < 0].tolist()))
    return said_of_unknown(unknown, len(labels), classes, option)


def said_of_unknown(unknown: Counter[str], n_rows: int, classes: AnyArray, option: str) -> str:
    """Say the same of labels that were counted before."""
    n = unknown.total()
    if not n:
        return ""
    strange = sorted(unknown)
    if n == n_rows:
        there = [text_of(label) for label in classes.tolist()]
        raise Trouble(
            f"{option}: none of the labels is a class that the model knows. They are "
            f"{listed(strange)}; the model's classes are {listed(there)}."
        )
    have = "has" if n == 1 else "have"
    return f"; {n:,} of them {have} a class that the model does not know: {listed(strange, 5)}"


def fit_of_numbers(truth: FloatArray, told: FloatArray, weights: FloatArray | None) -> str:
    """Say how well numbers are predicted: the share of the variance, and the mean error."""
    found = NumbersFit()
    found.add(truth, told, weights)
    return str(found)


@dataclass
class NumbersFit:
    """How well numbers are predicted, of rows of which some may come after others."""

    n_rows: int = 0
    weight: float = 0.0
    middle: float = 0.0
    spread: float = 0.0  # sum of squares about the middle
    error: float = 0.0

    def add(self, truth: FloatArray, told: FloatArray, weights: FloatArray | None) -> None:
        """Look at some rows."""
        w = np.ones(len(truth)) if weights is None else weights
        self.n_rows += len(truth)
        new = float(w.sum())
        if not new:
            return
        middle = float((w * truth).sum()) / new
        both = self.weight + new
        away = middle - self.middle
        self.error += float((w * (told - truth) ** 2).sum())
        self.spread += float((w * (truth - middle) ** 2).sum())
        self.spread += away * away * self.weight * new / both
        self.middle += away * new / both
        self.weight = both

    def __str__(self) -> str:
        error = self.error / self.weight if self.weight else float("nan")
        share = "not defined, for all are equal,"
        if self.spread > 0:
            share = f"{1 - self.error / self.spread:.3f}"
        return f"{share} (root mean square error {error**0.5:.4g})"
