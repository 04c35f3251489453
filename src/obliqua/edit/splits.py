"""The question that an edit puts in the place of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from obliqua.data.encoding import QUALITATIVE, Column, Encoding
from obliqua.edit.reading import Edit, check_fields, finite, shown
from obliqua.tree.layout import MissingSide, NodeKind, pointers
from obliqua.tree.tree import Tree

__all__ = ["NewSplit", "plane_arrays", "read_split", "terms_of"]

_KINDS = {"hyperplane": NodeKind.HYPERPLANE, "levels": NodeKind.LEVELS}
_SIDES = {None: MissingSide.NONE, "left": MissingSide.LEFT, "right": MissingSide.RIGHT}
_OF_PLANES = frozenset({"terms", "threshold", "missing"})
_OF_TERMS = frozenset({"column", "coefficient", "stand_in", "spread", "table"})


@dataclass(frozen=True)
class NewTerm:
    """A column with its coefficient, and what else is known of it."""

    column: int
    coef: float
    fill: float
    spread: float
    table: tuple[float, ...]


@dataclass(frozen=True)
class NewSplit:
    """A question with two branches."""

    kind: NodeKind
    terms: tuple[NewTerm, ...]
    threshold: float
    missing_side: MissingSide

    @property
    def by_column(self) -> dict[int, NewTerm]:
        """The terms by column."""
        return {term.column: term for term in self.terms}


def read_split(edit: Edit, before: Mapping[int, NewTerm], encoding: Encoding) -> NewSplit:
    """Read the question of an edit; what it leaves out is that of the terms before."""
    name, plane = edit.given.get("kind"), edit.given.get("plane")
    if not isinstance(name, str) or name not in _KINDS:
        raise edit.wrong(f"'kind' must be 'hyperplane' or 'levels'; got {shown(name)}.")
    if not isinstance(plane, Mapping):
        raise edit.wrong(
            f"'plane' must be an object with terms and threshold; got {shown(plane)}."
        )
    check_fields(plane, _OF_PLANES, f"{edit.place}: 'plane'")
    listed, side = plane.get("terms"), plane.get("missing")
    if not isinstance(listed, list | tuple) or not listed:
        raise edit.wrong(f"'terms' must be a list of at least one term; got {shown(listed)}.")
    if not (side is None or isinstance(side, str)) or side not in _SIDES:
        raise edit.wrong(f"'missing' must be null, 'left' or 'right'; got {shown(side)}.")
    terms = tuple(_term(fields, edit, before, encoding) for fields in listed)
    if len({term.column for term in terms}) < len(terms):
        raise edit.wrong("a column has two terms. Add their coefficients.")
    threshold = _number(plane.get("threshold"), "threshold", edit)
    split = NewSplit(_KINDS[name], terms, threshold, _SIDES[side])
    if split.kind == NodeKind.LEVELS:
        _check_levels(split, edit)
    return split


def terms_of(tree: Tree, node: int) -> dict[int, NewTerm]:
    """Return the terms of a node's planes by column; of several the first."""
    found: dict[int, NewTerm] = {}
    planes = tree.plane_ptr[node : node + 2]
    for k in range(*tree.coef_ptr[planes].tolist()):
        table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]].tolist()
        coef, fill, spread = float(tree.coef[k]), float(tree.fill[k]), float(tree.spread[k])
        column = int(tree.coef_idx[k])
        found.setdefault(column, NewTerm(column, coef, fill, spread, tuple(table)))
    return found


def _term(fields: Any, edit: Edit, before: Mapping[int, NewTerm], encoding: Encoding) -> NewTerm:
    """Read one term."""
    if not isinstance(fields, Mapping):
        raise edit.wrong(f"a term must be an object; got {shown(fields)}.")
    check_fields(fields, _OF_TERMS, f"{edit.place}: a term")
    column = _column(fields.get("column"), edit, encoding)
    old = before.get(column, NewTerm(column, 0.0, np.nan, np.nan, ()))
    spread = _or_none(fields, "spread", old.spread, edit)
    if spread < 0:
        raise edit.wrong(f"'spread' is a standard deviation of 0 or more; got {spread:g}.")
    return NewTerm(
        column,
        _number(fields.get("coefficient"), "coefficient", edit),
        _or_none(fields, "stand_in", old.fill, edit),
        spread,
        _table(fields, old.table, encoding.columns[column], edit),
    )


def _column(given: Any, edit: Edit, encoding: Encoding) -> int:
    """Return the number of a column that is given by number or by name."""
    names = list(encoding.names)
    if isinstance(given, str):
        if names.count(given) == 1:
            return names.index(given)
        if given in names:
            raise edit.wrong(f"several columns have the name {shown(given)}; give the number.")
        known = ", ".join(map(shown, names[:10])) + (", ..." if len(names) > 10 else "")
        raise edit.wrong(f"no column of the model has the name {shown(given)}: {known}.")
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise edit.wrong(f"'column' must be a number or a name; got {shown(given)}.")
    number = int(given)
    if not 0 <= number < len(names):
        raise edit.wrong(
            f"the model has {len(names)} columns, numbered from 0; got column {shown(given)}."
        )
    return number


def _table(
    fields: Mapping[str, Any], old: Sequence[float], column: Column, edit: Edit
) -> tuple[float, ...]:
    """Return the numbers of a column's levels; none for a column of numbers."""
    coded, given = column.kind == QUALITATIVE, fields.get("table")
    if given is None:
        if coded and not old:
            raise edit.wrong(
                f"the column {shown(column.name)} has levels, so its term needs a 'table' with a "
                f"number for each of the {len(column.levels)} levels."
            )
        return tuple(old)
    if not coded and not old:
        raise edit.wrong(f"the column {shown(column.name)} has numbers, so it takes no 'table'.")
    if not isinstance(given, list | tuple) or not given:
        raise edit.wrong(f"'table' must be a list of numbers; got {shown(given)}.")
    if coded and len(given) > len(column.levels):
        raise edit.wrong(
            f"the column {shown(column.name)} has {len(column.levels)} levels; 'table' has "
            f"{len(given)} numbers."
        )
    return tuple(_number(entry, "table", edit) for entry in given)


def _number(value: Any, what: str, edit: Edit) -> float:
    number = finite(value)
    if number is None:
        raise edit.wrong(f"{what!r} must be a finite number; got {shown(value)}.")
    return number


def _or_none(fields: Mapping[str, Any], what: str, old: float, edit: Edit) -> float:
    """Return a number that may be null, which is NaN, or absent, which is the old one."""
    if what not in fields:
        return old
    return np.nan if fields[what] is None else _number(fields[what], what, edit)


def _check_levels(split: NewSplit, edit: Edit) -> None:
    """Refuse sets of levels that are none."""
    first = split.terms[0]
    if len(split.terms) > 1 or first.coef != 1.0 or not first.table:
        raise edit.wrong(
            "'levels' needs one term, with the coefficient 1 and a 'table' that has the branch of "
            "each level, 0 or 1."
        )
    if split.missing_side != MissingSide.NONE:
        raise edit.wrong("'levels' has no side for missing values; 'stand_in' has their branch.")
    known = [] if first.fill != first.fill else [first.fill]
    for branch in (*first.table, split.threshold, *known):
        if branch not in (0.0, 1.0):
            raise edit.wrong(
                "the branches of 'levels' are 0 and 1, in 'table', 'threshold' (levels that are "
                f"not in the table) and 'stand_in'; got {branch:g}."
            )


def plane_arrays(splits: Sequence[NewSplit]) -> dict[str, Any]:
    """Lay out the planes of splits as a tree has them."""
    terms = [term for split in splits for term in split.terms]
    return {
        "threshold": np.array([split.threshold for split in splits]),
        "missing_side": np.array([split.missing_side for split in splits], dtype=np.uint8),
        "coef_ptr": pointers([len(split.terms) for split in splits]),
        "coef_idx": np.array([term.column for term in terms], dtype=np.int32),
        "coef": np.array([term.coef for term in terms]),
        "fill": np.array([term.fill for term in terms]),
        "spread": np.array([term.spread for term in terms]),
        "table_ptr": pointers([len(term.table) for term in terms]),
        "table": np.array([entry for term in terms for entry in term.table]),
    }
