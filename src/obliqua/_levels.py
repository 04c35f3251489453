"""Which levels of a qualitative column take which branch of a node, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from obliqua._numbers import write_number
from obliqua.data import Column, Encoding, written_name
from obliqua.tree import Tree


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
    """

    name: str
    levels: tuple[str, ...]
    others: bool
    missing: bool

    def condition(self, max_levels: int | None = None) -> str:
        """Write when a row takes this branch.

        Parameters
        ----------
        max_levels : int, default=None
            How many levels to name; the others are counted.

        Returns
        -------
        str
            ``colour in {red, blue} or any other level``, for instance.
        """
        parts = []
        if self.levels:
            parts.append(f"{self.name} in {{{listed(self.levels, max_levels)}}}")
        if self.others:
            parts.append("any other level" if parts else f"{self.name}: any other level")
        if self.missing:
            parts.append("missing" if parts else f"{self.name} is missing")
        return " or ".join(parts) or f"{self.name}: no level"

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
        parts = [listed(self.levels, max_levels)] if self.levels else []
        parts += ["any other level"] * self.others + ["missing"] * self.missing
        return " or ".join(parts) or "no level"


def listed(words: Sequence[str], most: int | None = None) -> str:
    """Write a list of words.

    Parameters
    ----------
    words : sequence of str
        The words.
    most : int, default=None
        How many to show; the others are counted.

    Returns
    -------
    str
        The words, with commas.
    """
    shown = list(words) if most is None else list(words[: max(most, 0)])
    if len(shown) < len(words):
        shown.append(f"{len(words) - len(shown)} more")
    return ", ".join(shown)


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
    plane = int(tree.plane_ptr[node])
    at = int(tree.coef_ptr[plane])
    column = encoding.columns[int(tree.coef_idx[at])]
    levels: list[list[str]] = [[] for _ in range(int(tree.n_children[node]))]
    table = tree.table[tree.table_ptr[at] : tree.table_ptr[at + 1]].astype(int)
    for code, branch in enumerate(table.tolist()):
        levels[branch].append(written_level(column, code))
    others, fill = int(tree.threshold[plane]), float(tree.fill[at])
    name = written_name(column.name)
    return [
        LevelBranch(name, tuple(known), branch == others, fill == branch)
        for branch, known in enumerate(levels)
    ]


def written_level(column: Column, code: int) -> str:
    """Write a level of a qualitative column.

    Parameters
    ----------
    column : Column
        The column.
    code : int
        The level's code.

    Returns
    -------
    str
        The level, or its code if the column does not know it.
    """
    if code < len(column.levels):
        return written_name(str(column.levels[code]))
    return f"code {code}"


def stand_ins(
    tree: Tree, node: int, encoding: Encoding, digits: int = 4, max_levels: int | None = None
) -> list[list[str]]:
    """Write what stands for levels and for missing values in the sums of a node.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A hyperplane or a linear machine.
    encoding : Encoding
        What the columns are.
    digits : int, default=4
        How many significant digits to show.
    max_levels : int, default=None
        How many levels of a column to name; the others are counted.

    Returns
    -------
    list of list of str
        Notes, each in pieces: ``score(colour):``, ``red 1,``, ``blue 2``; and ``missing counts
        as:``, ``age 40``. None if there are no such columns.
    """
    first, last = tree.plane_ptr[node : node + 2].tolist()
    notes: list[list[str]] = []
    fills: dict[int, str] = {}
    seen: set[int] = set()
    for k in range(int(tree.coef_ptr[first]), int(tree.coef_ptr[last])):
        place = int(tree.coef_idx[k])
        if place in seen:
            continue  # the branches of a linear machine share columns
        seen.add(place)
        column = encoding.columns[place]
        name = written_name(column.name)
        table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]].tolist()
        if not math.isnan(tree.fill[k]):
            term = f"score({name})" if table else name
            fills[place] = f"{term} {write_number(float(tree.fill[k]), digits)}"
        if table:
            known = [
                f"{written_level(column, code)} {write_number(number, digits)}"
                for code, number in enumerate(table)
            ]
            notes.append([f"score({name}):", *listed(known, max_levels).split(" ")])
    if fills:
        notes.append(["missing counts as:", *listed(list(fills.values())).split(" ")])
    return notes
