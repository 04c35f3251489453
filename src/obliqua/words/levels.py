"""Levels of qualitative columns in words, and which of them take which branch."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from obliqua._typing import FloatArray
from obliqua.data.encoding import Column, Encoding, written_name
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.subject import Coefficients, distinct

# What stands beside levels in the lists below; a level of that name is put in backquotes.
_RESERVED = re.compile(r"missing|new|any other level|code \d+")
# Text that a level of another type would be written as.
_NO_TEXT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|True|False", re.ASCII)


@dataclass(frozen=True)
class LevelBranch:
    """One branch of a node that asks for the level of a qualitative column.

    Names are those that are written.
    """

    name: str
    levels: tuple[str, ...]
    others: bool  # whether levels that the node does not know take it
    missing: bool  # whether missing values take it
    rest: tuple[str, ...] = ()  # the levels that take other branches
    elsewhere: bool = False  # whether missing values take another branch

    def condition(self, max_levels: int | None = None) -> str:
        """Write when a row takes this branch."""
        return " ".join(self.pieces(max_levels))

    def pieces(self, max_levels: int | None = None) -> list[str]:
        """Write the condition as pieces between which a line may be broken."""
        if self.others and not self.rest:  # only missing values can go elsewhere
            return [f"{self.name} is", "any level or missing" if self.missing else "known"]
        # Nobody can tell from "in {red} or any other level" which levels answer no. So where
        # levels go that are not known, those are named that go elsewhere.
        named = self.rest if self.others else self.levels
        written: list[str] = []
        if named:
            relation = negation(self.elsewhere) if self.others else "in"
            first, *others = with_commas(shortened(named, max_levels))
            written = [f"{self.name} {relation}", f"{{{first}", *others]
            written[-1] += "}"
        if self.missing and not self.others:  # what is missing is not in a set either
            written.append("or missing" if written else f"{self.name} is missing")
        return written or [f"{self.name}: no level"]

    def short(self, max_levels: int | None = None) -> str:
        """Write the same below a line that names the column."""
        parts = [", ".join(shortened(self.levels, max_levels))] if self.levels else []
        parts += ["any other level"] * self.others + ["missing"] * self.missing
        return " or ".join(parts) or "no level"


def negation(known: bool) -> str:
    """Write the relation to a set that a level is not in."""
    return "neither missing nor in" if known else "not in"


def shortened(words: Sequence[str], most: int | None = None) -> list[str]:
    """Leave out the last words of a list that is too long."""
    shown = list(words) if most is None else list(words[: max(most, 0)])
    if len(shown) < len(words):
        shown.append(f"{len(words) - len(shown)} more")
    return shown


def with_commas(words: Sequence[str]) -> list[str]:
    """Put a comma behind each word of a list but the last."""
    return [*(f"{word}," for word in words[:-1]), *words[-1:]]


def table_of(tree: Coefficients, k: int) -> FloatArray:
    """Return the level table of a coefficient; empty if it has none."""
    return tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]


def asks_for_levels(tree: Tree, node: int) -> bool:
    """Say whether a node only asks which level a column has."""
    kind, plane = tree.kind[node], int(tree.plane_ptr[node])
    if kind != NodeKind.HYPERPLANE:
        return bool(kind == NodeKind.LEVELS)
    first, last = tree.coef_ptr[plane : plane + 2].tolist()
    return bool(last - first == 1 and tree.table_ptr[first] < tree.table_ptr[last])


@dataclass(frozen=True)
class LevelSets:
    """Which codes take which branch of a node that asks for levels."""

    column: int
    branch: list[int]  # of each code
    unknown: frozenset[int]  # the codes that the node has not met, as far as it shows
    others: int  # the branch of all other codes
    missing: int  # the branch of a missing level; -1 if it has none


def level_sets(tree: Tree, node: int) -> LevelSets:
    """Read which codes take which branch."""
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
    side = int(tree.missing_side[plane])
    if side:
        fill, branch[-1] = 0.0, side - 1
    # A level with the score 0 goes where those go that the node has not seen.
    unknown = frozenset(np.flatnonzero(table == 0).tolist())
    return LevelSets(
        column, branch[:-2], unknown, branch[-2], -1 if math.isnan(fill) else branch[-1]
    )


def level_branches(tree: Tree, node: int, encoding: Encoding) -> list[LevelBranch]:
    """Read which levels take which branch of a node."""
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
            sets.missing not in (-1, branch),
        )
        for branch, here in enumerate(levels)
    ]


def written_levels(column: Column, n_codes: int = 0) -> tuple[str, ...]:
    """Write the levels of a qualitative column so that no two read alike."""
    known = _written(column.levels, tuple(map(type, column.levels)))
    return known + tuple(f"code {code}" for code in range(len(known), n_codes))


@lru_cache(maxsize=32)
def _written(levels: tuple[Any, ...], types: tuple[type, ...]) -> tuple[str, ...]:
    # 1 and True are equal, hence the types: they tell what was kept apart.
    written = [_written_one(level) for level in levels]
    if len(set(written)) < len(written):
        # A newline reads like a backslash and an n, unless backslashes are doubled.
        written = [
            _written_one(level.replace("\\", "\\\\") if isinstance(level, str) else level)
            for level in levels
        ]
    return distinct(written)


def _written_one(level: Any) -> str:
    text = str(level)
    if isinstance(level, str) and _NO_TEXT.fullmatch(text):
        return f'"{text}"'  # in which nothing needs care
    name = written_name(text)
    plain = name == text
    # Brackets hold notes, in which levels stand.
    reserved = isinstance(level, str) and _RESERVED.fullmatch(text) is not None
    return f"`{name}`" if plain and (reserved or "[" in text or "]" in text) else name
