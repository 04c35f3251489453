"""The way down the trees for rows in which numbers are huge or tiny, one product at a time.

Databases differ where a product overflows or vanishes: some stop the query. Such rows are rare, so
they may be slow. The trees are a program in a table; a recursive query runs it for each row, and
what would stop a database is asked for before it is computed. NULL stands for NaN.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obliqua.data.encoding import QUALITATIVE
from obliqua.export.computation import SMALL
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree

if TYPE_CHECKING:
    from obliqua.export.sql import Writer

__all__ = ["SumTerm", "line_terms", "plane_terms", "walk_of_odd_rows"]

# What a step of the program does.
_BEGIN, _PRODUCT, _COMPARE, _GO, _LEAF, _LINE = range(6)
_MISSING, _UNKNOWN = -2, -1  # in the place of a code
_START, _END = -2, -1  # places in the program
_HUGE, _MOST = 2.0**900, sys.float_info.max


@dataclass(frozen=True)
class SumTerm:
    """A term of a sum: a column, its coefficient, the stand-in (NaN if none), and its table."""

    column: int
    coef: float
    fill: float
    table: list[float]


def terms_of(tree: Tree, begin: int, end: int, leaf: bool = False) -> list[SumTerm]:
    """Return the terms of a plane, or of the linear function of a leaf."""
    if leaf:
        arrays = (
            tree.leaf_idx,
            tree.leaf_coef,
            tree.leaf_fill,
            tree.leaf_table_ptr,
            tree.leaf_table,
        )
    else:
        arrays = tree.coef_idx, tree.coef, tree.fill, tree.table_ptr, tree.table
    idx, coef, fill, ptr, table = arrays
    return [
        SumTerm(int(idx[k]), float(coef[k]), float(fill[k]), table[ptr[k] : ptr[k + 1]].tolist())
        for k in range(begin, end)
    ]


def plane_terms(tree: Tree, node: int) -> list[SumTerm]:
    """Return the terms of a node with one plane."""
    plane = int(tree.plane_ptr[node])
    return terms_of(tree, int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))


def line_terms(tree: Tree, node: int) -> list[SumTerm]:
    """Return the terms of the linear function of a leaf."""
    return terms_of(tree, int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1]), leaf=True)


def walk_of_odd_rows(
    writer: Writer, rows: str, prefix: str, carried: list[str], sure: str
) -> list[str]:
    """Return the table of the program, the recursive query that runs it, and what it finds.

    The last one, `walked`, has the leaves of all trees in one row, as the quick way has them.
    """
    dialect, number = writer.dialect, writer.number
    trees = list(writer.computation.parts())
    entries = [f"x{j}" for j in sorted(writer.entries.used)]
    zero, one, small = number(0.0), number(1.0), number(SMALL)
    state = [*carried, *entries, "r", "tree", "pc", "s", "scale", "leaf", "v"]
    seed = [
        *carried,
        *entries,
        "ROW_NUMBER() OVER ()",
        "0",
        str(_START),
        zero,
        one,
        "CAST(NULL AS INTEGER)",
        f"CAST(NULL AS {dialect.double})",
    ]
    again = f"w.s IS NULL AND w.scale = {one}"
    total, lateral = _sum(writer)
    go = (
        f"CASE g.op WHEN {_COMPARE} THEN CASE WHEN {again} THEN g.leaf "
        f"WHEN w.s IS NULL THEN {_END}\n"
        f"WHEN w.s <= CASE WHEN w.scale = {one} THEN g.f ELSE g.a END THEN g.go "
        "ELSE g.other END ELSE g.go END"
    )
    scale = (
        f"CASE WHEN g.op = {_PRODUCT} THEN w.scale "
        f"WHEN g.op = {_COMPARE} AND {again} THEN {small} ELSE {one} END"
    )
    step = [
        *(f"w.{name}" for name in [*carried, *entries, "r"]),
        f"CASE g.op WHEN {_BEGIN} THEN g.leaf ELSE w.tree END",
        go,
        f"CASE g.op WHEN {_PRODUCT} THEN {total}\nWHEN {_LEAF} THEN g.f ELSE {zero} END",
        scale,
        f"CASE g.op WHEN {_LEAF} THEN g.leaf ELSE w.leaf END",
        f"CASE g.op WHEN {_LINE} THEN w.s ELSE w.v END",
    ]
    program, walk = f"{prefix}program", f"{prefix}walk"
    query = (
        f"SELECT {', '.join(seed)}\nFROM {rows} WHERE NOT ({sure})\nUNION ALL\n"
        f"SELECT {', '.join(step)}\nFROM {walk} AS w JOIN {program} AS g\n"
        f"ON g.i = w.pc AND g.code = {_code(writer)}{lateral}"
    )
    found = [f"{_of_tree(k, len(trees), 'leaf')} AS n{k}" for k in range(len(trees))]
    found += [
        f"{_of_tree(k, len(trees), 'v')} AS v{k}"
        for k, part in enumerate(trees)
        if part.tree.has_lines
    ]
    types = dict.fromkeys(("i", "op", "col", "code"), "INTEGER")
    types |= dict.fromkeys(("a", "f"), dialect.double)
    types |= dict.fromkeys(("go", "other", "leaf"), "INTEGER")
    if dialect.stops:
        types |= dict.fromkeys(("low", "high"), dialect.double)
    columns = ", ".join([*carried, "tree", *found])
    walked = f"SELECT {columns}\nFROM {walk} WHERE pc = {_END}"
    return [
        dialect.table_of(program, types, list(Program(writer).rows())),
        f"{walk}({', '.join(state)}) AS (\n{query})",
        f"{prefix}walked AS (\n{walked})",
    ]


def _of_tree(number: int, n_trees: int, name: str) -> str:
    """Write what was found in a tree, in every row that tells what was found in one."""
    if n_trees == 1:
        return name
    return f"MAX(CASE WHEN tree = {number} THEN {name} END) OVER (PARTITION BY r)"


def _code(writer: Writer) -> str:
    """Write which of the instructions at a place is meant: by level, or by what is missing."""
    n = len(writer.computation.columns)
    cases = []
    for j in sorted(writer.entries.used):
        if _has_codes(writer, j):
            cases.append(f"WHEN {n + j} THEN COALESCE(w.x{j}, {_MISSING})")
        if j in writer.entries.aside:
            is_missing = f"CASE WHEN w.x{j} IS NULL THEN {_MISSING} ELSE 0 END"
            cases.append(f"WHEN {2 * n + j} THEN {is_missing}")
    return f"CASE g.col {' '.join(cases)} ELSE 0 END" if cases else "0"


def _has_codes(writer: Writer, column: int) -> bool:
    kind = writer.computation.columns[column].kind
    return kind == QUALITATIVE or column in writer.entries.coded


def _sum(writer: Writer) -> tuple[str, str]:
    """Write the sum so far and a product, and what must be computed before.

    Where a database would stop, a number that overflows is infinite and one that vanishes is 0.
    """
    number, dialect = writer.number, writer.dialect
    cases = " ".join(
        f"WHEN {j} THEN CAST(w.x{j} AS {dialect.double})" for j in sorted(writer.entries.used)
    )
    entry = f"COALESCE(CASE g.col {cases} END, g.f)"
    if not dialect.stops:
        return dialect.known(f"w.s + g.a*({entry}*w.scale)"), ""
    infinity, zero, one, half = map(number, (math.inf, 0.0, 1.0, 0.5))
    fence = f" {dialect.fence}" if dialect.fence else ""
    scaled = (
        f"CASE WHEN w.scale = {one} THEN b.y WHEN ABS(b.y) <= {number(2.0**-875)} THEN {zero} "
        "ELSE b.y*w.scale END"
    )
    product = (
        f"CASE WHEN ABS(e.y) <= g.low THEN {zero} WHEN ABS(e.y) > g.high THEN\n"
        f"CASE WHEN (e.y > {zero} AND g.a > {zero}) OR (e.y < {zero} AND g.a < {zero}) "
        f"THEN {infinity} ELSE -{infinity} END ELSE {dialect.known('g.a*e.y')} END"
    )
    huge = f"BETWEEN {number(_HUGE)} AND {number(_MOST)}"
    direct = dialect.known("w.s + d.y")
    total = (
        f"CASE WHEN ABS(w.s) {huge} AND ABS(d.y) {huge} THEN\n"
        f"CASE WHEN ABS(w.s*{half} + d.y*{half}) >= {number(2.0**1023)} THEN "
        f"CASE WHEN w.s > 0 THEN {infinity} ELSE -{infinity} END ELSE {direct} END\n"
        f"ELSE {direct} END"
    )
    entry = f"CASE WHEN g.op = {_PRODUCT} THEN {entry} END"
    lateral = [
        f"\nCROSS JOIN LATERAL (SELECT {value} AS y{fence}) AS {name}"
        for name, value in (("b", entry), ("e", scaled), ("d", product))
    ]
    return total, "".join(lateral)


Row = tuple[int | float, ...]


class Program:
    """The trees as instructions, one tree after another."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.n_columns = len(writer.computation.columns)
        self.starts: list[list[int]] = []
        at = 0
        for part in writer.computation.parts():
            starts = []
            for node in range(part.tree.n_nodes):
                starts.append(at)
                at += _length(part.tree, node)
            self.starts.append(starts)

    def rows(self) -> Iterator[Row]:
        """Yield all instructions."""
        for number, starts in enumerate(self.starts):
            yield self._row(_START, _BEGIN, go=starts[0], leaf=number)
        for number, part in enumerate(self.writer.computation.parts()):
            places = self.writer.place_of_leaf[number]
            for node, at in enumerate(self.starts[number]):
                if part.tree.kind[node] == NodeKind.LEAF:
                    yield from self._leaf(part.tree, node, at, places[node])
                elif part.tree.kind[node] == NodeKind.LEVELS:
                    yield from self._levels(part.tree, number, node, at)
                else:
                    yield from self._plane(part.tree, number, node, at)

    def _row(
        self,
        i: int,
        op: int,
        *,
        col: int = -1,
        code: int = 0,
        a: float = 0.0,
        f: float = 0.0,
        go: int = 0,
        other: int = 0,
        leaf: int = 0,
    ) -> Row:
        """Return an instruction; what its numbers mean depends on what it does."""
        row: Row = (i, op, col, code, a, f, go, other, leaf)
        if self.writer.dialect.stops:
            row += _limits(abs(a)) if op == _PRODUCT else (0.0, 0.0)
        return row

    def _leaf(self, tree: Tree, node: int, at: int, place: int) -> Iterator[Row]:
        if not tree.has_lines:
            yield self._row(at, _LEAF, go=_END, leaf=place)
            return
        intercept = float(tree.leaf_intercept[node])
        yield self._row(at, _LEAF, f=intercept, go=at + 1, leaf=place)
        terms = line_terms(tree, node)
        for k, term in enumerate(terms):
            yield from self._product(term, at + 1 + k)
        yield self._row(at + 1 + len(terms), _LINE, go=_END)

    def _levels(self, tree: Tree, number: int, node: int, at: int) -> Iterator[Row]:
        (term,) = plane_terms(tree, node)
        below = self.starts[number]
        first = int(tree.first_child[node])
        unseen = int(tree.threshold[tree.plane_ptr[node]])
        branches = {code: int(branch) for code, branch in enumerate(term.table)}
        branches |= dict.fromkeys(self._other_codes(term), unseen)
        for code, branch in branches.items():
            go = below[first + branch]
            yield self._row(at, _GO, col=self.n_columns + term.column, code=code, go=go)
        go = _END if term.fill != term.fill else below[first + int(term.fill)]
        yield self._row(at, _GO, col=self.n_columns + term.column, code=_MISSING, go=go)

    def _other_codes(self, term: SumTerm) -> list[int]:
        """Return the codes that a table does not have."""
        n_levels = len(self.writer.computation.columns[term.column].levels)
        return [_UNKNOWN, *range(len(term.table), n_levels)]

    def _plane(self, tree: Tree, number: int, node: int, at: int) -> Iterator[Row]:
        plane = int(tree.plane_ptr[node])
        terms = plane_terms(tree, node)
        first, below = int(tree.first_child[node]), self.starts[number]
        side = int(tree.missing_side[plane])
        if side != MissingSide.NONE:
            for term in terms:
                go = below[first + side - 1]
                col = 2 * self.n_columns + term.column
                yield self._row(at, _GO, col=col, code=_MISSING, go=go)
                yield self._row(at, _GO, col=col, go=at + 1)
                at += 1
        for k, term in enumerate(terms):
            yield from self._product(term, at + k)
        threshold = float(tree.threshold[plane])
        # Here `leaf` is where the sum begins, and `a` the threshold of the second computation.
        yield self._row(
            at + len(terms),
            _COMPARE,
            f=threshold,
            a=threshold * SMALL,
            go=below[first],
            other=below[first + 1],
            leaf=at,
        )

    def _product(self, term: SumTerm, at: int) -> Iterator[Row]:
        """Yield what is multiplied: an entry, or by its level or as a stand-in a constant."""
        if not term.table:
            yield self._row(at, _PRODUCT, col=term.column, a=term.coef, f=term.fill, go=at + 1)
            return
        col = self.n_columns + term.column
        values = dict(enumerate(term.table))
        values |= dict.fromkeys(self._other_codes(term), 0.0)
        for code, value in [*values.items(), (_MISSING, term.fill)]:
            yield self._row(at, _PRODUCT, col=col, code=code, a=term.coef, f=value, go=at + 1)


def _length(tree: Tree, node: int) -> int:
    """Return how many places a node has in the program."""
    kind = tree.kind[node]
    if kind == NodeKind.LEAF:
        n_terms = int(tree.leaf_ptr[node + 1] - tree.leaf_ptr[node]) if tree.has_lines else -1
        return n_terms + 2
    if kind == NodeKind.LEVELS:
        return 1
    plane = int(tree.plane_ptr[node])
    n_terms = int(tree.coef_ptr[plane + 1] - tree.coef_ptr[plane])
    return n_terms * (1 if tree.missing_side[plane] == MissingSide.NONE else 2) + 1


def _limits(size: float) -> tuple[float, float]:
    """Return up to where a number times a coefficient vanishes, and where it does not overflow."""
    if size == 0.0:
        return 0.0, math.inf
    high = _MOST
    if size > 1.0:
        high = _MOST / size
        while math.isinf(size * high):
            high = math.nextafter(high, 0.0)
        while not math.isinf(size * math.nextafter(high, math.inf)):
            high = math.nextafter(high, math.inf)
    low = 0.0
    if size < 1.0:
        low = 2.0**-1074 / size * 0.5
        while size * low != 0.0:
            low = math.nextafter(low, 0.0)
        while size * math.nextafter(low, math.inf) == 0.0:
            low = math.nextafter(low, math.inf)
    return low, high
