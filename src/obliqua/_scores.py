"""What the levels of a qualitative column count in a sum, and what missing values do."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from obliqua._levels import table_of, with_commas, written_levels
from obliqua._numbers import write_number
from obliqua._typing import FloatArray
from obliqua.data import Column, Encoding, written_name
from obliqua.tree import Tree


@dataclass(frozen=True, eq=False)
class Scores:
    """What the levels of a qualitative column count in a sum.

    Parameters
    ----------
    name : str
        The column's name, as it is written.
    levels : tuple of str
        The levels, as they are written, in the order of their codes.
    numbers : ndarray of shape (n_levels,)
        What each counts. 0 is also what any level counts that the node does not know.
    missing : float
        What a missing level counts; NaN if that is not known.
    """

    name: str
    levels: tuple[str, ...]
    numbers: FloatArray
    missing: float

    @property
    def term(self) -> str:
        """What stands for the column in a formula."""
        return f"score({self.name})"

    def ranked(self, digits: int = 4, step: float = math.nan) -> list[str]:
        """Write each level with its score, the largest first.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits to show at least.
        step : float, default=nan
            A difference that must be visible.

        Returns
        -------
        list of str
            ``red 1.2``, ``blue -0.4``; levels that count 0 are left out, as those are that
            the node does not know.
        """
        order = np.argsort(-self.numbers, kind="stable").tolist()
        return [
            f"{self.levels[code]} {write_number(float(self.numbers[code]), digits, step)}"
            for code in order
            if self.numbers[code] != 0
        ]

    def pieces(
        self, digits: int = 4, step: float = math.nan, max_levels: int | None = None
    ) -> list[str]:
        """Write all scores as pieces between which a line may be broken.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits to show at least.
        step : float, default=nan
            A difference that must be visible.
        max_levels : int, default=None
            How many levels to name, those with the largest and the smallest scores; the others
            are counted.

        Returns
        -------
        list of str
            ``score(colour):``, ``red 1.2,``, ``blue -0.4,``, ``any other level 0,``,
            ``missing 0``.
        """
        words = self.ranked(digits, step)
        if max_levels is not None and len(words) > max_levels:
            first = (max(max_levels, 0) + 1) // 2
            last = max(max_levels, 0) - first
            hidden = f"{len(words) - first - last} more"
            words = [*words[:first], hidden, *words[len(words) - last :]]
        words.append("any other level 0")
        if not math.isnan(self.missing):
            words.append(f"missing {write_number(self.missing + 0.0, digits, step)}")
        return [f"{self.term}:", *with_commas(words)]


def written_number_column(column: Column) -> str:
    """Write the name of a numeric column so that it cannot be mistaken for a score.

    Parameters
    ----------
    column : Column
        The column.

    Returns
    -------
    str
        Its name, as it stands in a formula.
    """
    name = written_name(column.name)
    return f"`{name}`" if re.search(r"^score\(| \[(score|missing)", name) else name


def scores_of(tree: Tree, k: int, encoding: Encoding, factor: float = 1.0) -> Scores | None:
    """Read what the levels of a column count in a sum.

    Parameters
    ----------
    tree : Tree
        The tree.
    k : int
        The coefficient of the column.
    encoding : Encoding
        What the columns are.
    factor : float, default=1.0
        What the scores are multiplied with.

    Returns
    -------
    Scores or None
        The scores; None if the coefficient has no level table.
    """
    table = table_of(tree, k)
    if not len(table):
        return None
    column = encoding.columns[int(tree.coef_idx[k])]
    levels = written_levels(column, len(table))
    with np.errstate(over="ignore"):
        missing = float(tree.fill[k]) * factor
        return Scores(written_name(column.name), levels, table * factor + 0.0, missing)


def missing_note(fills: dict[str, float], digits: int = 4) -> list[list[str]]:
    """Write what missing numbers count.

    Parameters
    ----------
    fills : dict
        What stands in for each feature, by its name as it is written; NaN if nothing does.
    digits : int, default=4
        How many significant digits to show.

    Returns
    -------
    list of list of str
        One note in pieces, ``missing counts as:``, ``age 40``; empty if nothing stands in.
    """
    words = [
        f"{name} {write_number(fill, digits)}"
        for name, fill in fills.items()
        if not math.isnan(fill)
    ]
    if not words:
        return []
    return [["missing counts as:", *with_commas(words)]]
