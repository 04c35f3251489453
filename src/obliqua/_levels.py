"""Levels of qualitative columns in words: which take which branch, and what each counts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from obliqua._layout import NodeKind
from obliqua._numbers import write_number
from obliqua._subject import distinct
from obliqua._typing import FloatArray
from obliqua.data import Column, Encoding, written_name
from obliqua.tree import Tree

# What stands beside levels in the lists below; a level of that name is put in backquotes.
_OWN_WORDS = re.compile(r"missing|new|any other level|code \d+|True|False")


@dataclass(frozen=True)
class LevelBranch:
    """One branch of a node that asks for the level of a qualitative column.

    Parameters
    ----------
    name : str
        The column's name, as it is written.
    levels : tuple of str
        The levels that take this branch, as they are written.
    others : bool
        Whether levels that the node does not know take it.
    missing : bool
        Whether missing values take it.
    rest : tuple of str, default=()
        The levels that take other branches.
    """

    name: str
    levels: tuple[str, ...]
    others: bool
    missing: bool
    rest: tuple[str, ...] = ()

    def condition(self, max_levels: int | None = None) -> str:
        """Write when a row takes this branch.

        Parameters
        ----------
        max_levels : int, default=None
            How many levels to name; the others are counted.

        Returns
        -------
        str
            ``colour in {red, blue} or any other level``, for instance, or ``colour not in
            {grey}`` if that is shorter.
        """
        return " ".join(self.pieces(max_levels))

    def pieces(self, max_levels: int | None = None) -> list[str]:
        """Write the condition as pieces between which a line may be broken.

        Parameters
        ----------
        max_levels : int, default=None
            How many levels to name; the others are counted.

        Returns
        -------
        list of str
            The pieces.
        """
        # All levels but those of other branches: both say the same, so the shorter is written.
        shorter = not self.levels or len(self.rest) < len(self.levels)
        negated = self.others and bool(self.rest) and shorter
        named = self.rest if negated else self.levels
        written: list[str] = []
        if named:
            relation = "not in" if negated else "in"
            first, *others = with_commas(shortened(named, max_levels))
            written = [f"{self.name} {relation} {{{first}", *others]
            written[-1] += "}"
        if self.others and not negated:
            written.append("or any other level" if written else f"{self.name}: any other level")
        if self.missing:
            written.append("or missing" if written else f"{self.name} is missing")
        return written or [f"{self.name}: no level"]

    def short(self, max_levels: int | None = None) -> str:
        """Write the same below a line that names the column.

        Parameters
        ----------
        max_levels : int, default=None
            How many levels to name; the others are counted.

        Returns
        -------
        str
            ``red, blue or any other level``, for instance.
        """
        parts = [", ".join(shortened(self.levels, max_levels))] if self.levels else []
        parts += ["any other level"] * self.others + ["missing"] * self.missing
        return " or ".join(parts) or "no level"


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


def shortened(words: Sequence[str], most: int | None = None) -> list[str]:
    """Leave out the last words of a list that is too long.

    Parameters
    ----------
    words : sequence of str
        The words.
    most : int, default=None
        How many to show; the others are counted.

    Returns
    -------
    list of str
        The words, and ``3 more``, for instance.
    """
    shown = list(words) if most is None else list(words[: max(most, 0)])
    if len(shown) < len(words):
        shown.append(f"{len(words) - len(shown)} more")
    return shown


def with_commas(words: Sequence[str]) -> list[str]:
    """Put a comma behind each word of a list but the last.

    Parameters
    ----------
    words : sequence of str
        The words.

    Returns
    -------
    list of str
        The words.
    """
    return [*(f"{word}," for word in words[:-1]), *words[-1:]]


def table_of(tree: Tree, k: int) -> FloatArray:
    """Return the level table of a coefficient; empty if it has none.

    Parameters
    ----------
    tree : Tree
        The tree.
    k : int
        The coefficient.

    Returns
    -------
    ndarray
        A number per level code.
    """
    return tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]


def asks_for_levels(tree: Tree, node: int) -> bool:
    """Say whether a node only asks which level a column has.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        The node.

    Returns
    -------
    bool
        Whether it is a set of levels, or a hyperplane over the scores of one column.
    """
    kind, plane = tree.kind[node], int(tree.plane_ptr[node])
    if kind != NodeKind.HYPERPLANE:
        return bool(kind == NodeKind.LEVELS)
    first, last = tree.coef_ptr[plane : plane + 2].tolist()
    return bool(last - first == 1 and tree.table_ptr[first] < tree.table_ptr[last])


@dataclass(frozen=True)
class LevelSets:
    """Which codes take which branch of a node that asks for levels.

    Parameters
    ----------
    column : int
        The column.
    branch : list of int
        The branch of each code.
    unknown : frozenset of int
        The codes that the node does not know, as far as can be told.
    others : int
        The branch of all other codes.
    missing : int
        The branch of a missing level; -1 if it has none.
    """

    column: int
    branch: list[int]
    unknown: frozenset[int]
    others: int
    missing: int


def level_sets(tree: Tree, node: int) -> LevelSets:
    """Read which codes take which branch.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A node that asks for the level of a column.

    Returns
    -------
    LevelSets
        The branches.
    """
    plane = int(tree.plane_ptr[node])
    k = int(tree.coef_ptr[plane])
    column, table, fill = int(tree.coef_idx[k]), table_of(tree, k), float(tree.fill[k])
    threshold = float(tree.threshold[plane])
    if tree.kind[node] == NodeKind.LEVELS:
        missing = -1 if math.isnan(fill) else int(fill)
        return LevelSets(column, table.astype(int).tolist(), frozenset(), int(threshold), missing)
    with np.errstate(over="ignore"):
        value = tree.coef[k] * np.append(table, [0.0, fill])
    branch = np.where(value <= threshold, 0, 1).tolist()
    # A level with the score 0 goes where those go that the node has not seen.
    unknown = frozenset(np.flatnonzero(table == 0).tolist())
    return LevelSets(
        column, branch[:-2], unknown, branch[-2], -1 if math.isnan(fill) else branch[-1]
    )


def level_branches(tree: Tree, node: int, encoding: Encoding) -> list[LevelBranch]:
    """Read which levels take which branch of a node.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A node that asks for the level of a column.
    encoding : Encoding
        What the columns are.

    Returns
    -------
    list of LevelBranch
        One per child.
    """
    sets = level_sets(tree, node)
    column = encoding.columns[sets.column]
    names = written_levels(column, len(sets.branch))
    n_branches = int(tree.n_children[node])
    levels: list[list[str]] = [[] for _ in range(n_branches)]
    for code, branch in enumerate(sets.branch):
        if code not in sets.unknown:
            levels[branch].append(names[code])
    return [
        LevelBranch(
            written_name(column.name),
            tuple(here),
            branch == sets.others,
            branch == sets.missing,
            tuple(name for other in levels if other is not here for name in other),
        )
        for branch, here in enumerate(levels)
    ]


def written_levels(column: Column, n_codes: int = 0) -> tuple[str, ...]:
    """Write the levels of a qualitative column so that no two read alike.

    Parameters
    ----------
    column : Column
        The column.
    n_codes : int, default=0
        How many codes must have a name; those that the column does not know are ``code 3``.

    Returns
    -------
    tuple of str
        A name per code, at least one per level, each on one line. A comma or a brace in a level
        stands in backquotes, as does a level that reads like one of the words beside it.
    """
    known = _written(column.levels, tuple(map(type, column.levels)))
    return known + tuple(f"code {code}" for code in range(len(known), n_codes))


@lru_cache(maxsize=32)
def _written(levels: tuple[Any, ...], types: tuple[type, ...]) -> tuple[str, ...]:
    # 1 and True are equal, hence the types: they tell what was kept apart.
    return distinct([_written_one(level) for level in levels])


def _written_one(level: Any) -> str:
    text = str(level)
    if isinstance(level, str) and _OWN_WORDS.fullmatch(text):
        return f"`{text}`"
    return written_name(text)


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


def stand_ins(
    tree: Tree,
    node: int,
    encoding: Encoding,
    digits: int = 4,
    max_levels: int | None = None,
    missing: bool = True,
) -> list[list[str]]:
    """Write what levels and missing values count in the sums of a linear machine.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A linear machine.
    encoding : Encoding
        What the columns are.
    digits : int, default=4
        How many significant digits to show.
    max_levels : int, default=None
        How many levels of a column to name; the others are counted.
    missing : bool, default=True
        Whether to say what stands in for missing numbers too.

    Returns
    -------
    list of list of str
        Notes, each in pieces: ``score(colour):``, ``red 1,``, ``blue 2``; and ``missing counts
        as:``, ``age 40``. None if there are no such columns.
    """
    first, last = tree.plane_ptr[node : node + 2].tolist()
    notes: list[list[str]] = []
    fills: dict[str, float] = {}
    seen: set[int] = set()
    for k in range(int(tree.coef_ptr[first]), int(tree.coef_ptr[last])):
        place = int(tree.coef_idx[k])
        if place in seen:
            continue  # the branches share columns
        seen.add(place)
        scores = scores_of(tree, k, encoding)
        if scores is not None:
            notes.append(scores.pieces(digits, max_levels=max_levels))
        else:
            fills[written_name(encoding.columns[place].name)] = float(tree.fill[k])
    return [*notes, *missing_note(fills, digits)] if missing else notes


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
