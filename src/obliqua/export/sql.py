"""A model as one SELECT.

The text is a chain of queries, each over the one before it: the entries of a row (`Entries`), the
leaf that it reaches in each tree by nested CASE, a few levels of the tree at a time, what leaves
say, added up, and the last step. No expression is deeper than SQLite's parser takes.

A few rows take another way. Where products could overflow, or vanish, databases do different
things, and some stop the query; such rows walk the trees one product at a time (`sql_walk`).
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np

from obliqua.data.encoding import QUALITATIVE
from obliqua.errors import CostWarning, TreeError
from obliqua.export.computation import Computation, Part, raw_value
from obliqua.export.self_test import SelfTest, answered, self_test
from obliqua.export.sql_dialects import DIALECTS, Dialect
from obliqua.export.sql_walk import SumTerm, line_terms, plane_terms, walk_of_odd_rows
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree

__all__ = ["export_sql"]

_LEVELS = 8  # of a tree in one expression: SQLite's parser takes 100 words at a time
_TERMS = 100  # of a sum in one expression
_WAYS = 8  # that a search among numbers tells apart at once
_SURE = 2.0**1021  # sums of terms that are below it together do not overflow
_VANISHING = 2.0**-1060  # products above it are not 0
_LARGE = 100e6  # bytes of text that are worth a warning
_TESTED_LEAVES = 100  # trees whose leaves are compared in a self-test
_FEW_COLUMNS = 100  # with more the way of rows with huge numbers takes long to test
_CLOSE = 1e-12  # to an answer for which a total is added up


def export_sql(
    model: Any,
    dialect: str = "sqlite",
    table: str | Sequence[str] = "t",
    *,
    columns: Mapping[str, str] | None = None,
    order: str | Sequence[str] | None = None,
    keep: Sequence[str] = (),
    leaves: bool = False,
    self_test: bool = False,
    test_rows: Any = None,
    n_tests: int | None = None,
) -> str:
    """Write a model as the text of one SELECT over a table.

    The query gives a row for each row of the table: ``prediction`` (the label, or the number)
    and ``p_<class>``, the share of each class. It computes exactly what `predict` does, in double
    precision and in the same order; see the page on what an exported tree computes.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a `Model` or a `Tree`. Linear machines are refused.
    dialect : {"sqlite", "postgresql", "duckdb", "plain"}, default="sqlite"
        The database. ``"plain"`` keeps to standard SQL.
    table : str or sequence of str, default="t"
        The name of the table or view; ``("schema", "name")`` for one in a schema.
    columns : mapping of str to str, default=None
        The names that columns of the model have in the table, where they differ.
    order : str or sequence of str, default=None
        The columns of the table by which rows are ordered. By default rows come as they stand in
        the table: by ``_rowid_`` in SQLite, ``rowid`` in DuckDB, ``ctid`` in PostgreSQL, which is
        the order on the disk, not always that of writing; in plain SQL a table has no order.
        ``()`` orders nothing: views have none of these columns.
    keep : sequence of str, default=()
        Columns of the table to give back after the answer, such as a key.
    leaves : bool, default=False
        Whether to give back the number of the leaf of each tree, too.
    self_test : bool, default=False
        Whether to write a query that needs no table: it has rows inside, with their leaves and
        answers, and gives one number, ``differing``: how many of them are answered differently.
        0 is what it must be.
    test_rows : array-like of shape (n_rows, n_features), default=None
        Rows for the self-test. By default they are made of the trees.
    n_tests : int, default=None
        The most rows of the self-test.

    Returns
    -------
    str
        The text, without a semicolon at its end, so that ``CREATE VIEW v AS`` can stand before
        it.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TreeError
        If a tree has a linear machine, or the model is too wide for the database.
    ValueError
        If a name or a label cannot be said in SQL, or the database takes two names for one.

    Warns
    -----
    CostWarning
        If the text will have more than 100 MB.

    See Also
    --------
    certify : Which rows might get another answer where arithmetic differs; in SQL none.

    Examples
    --------
    >>> import sqlite3
    >>> from sklearn.datasets import load_iris
    >>> import obliqua
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = obliqua.HHCartClassifier(random_state=0).fit(X, y)
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE flowers (x0 REAL, x1 REAL, x2 REAL, x3 REAL)")
    >>> _ = database.executemany("INSERT INTO flowers VALUES (?, ?, ?, ?)", X.tolist())
    >>> rows = database.execute(obliqua.export_sql(tree, "sqlite", "flowers")).fetchall()
    >>> [row[0] for row in rows] == tree.predict(X).tolist()
    True
    >>> database.execute(obliqua.export_sql(tree, "sqlite", self_test=True)).fetchone()
    (0,)
    >>> database.close()
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}; got {dialect!r:.80}.")
    computation = Computation.of(model)
    computation.refuse_machines("SQL")
    writer = Writer(computation, DIALECTS[dialect])
    writer.say_size()
    if self_test:
        return writer.test(_test_rows(computation, test_rows, n_tests))
    source = _source_of(computation, writer.dialect, table, columns or {}, order, keep)
    return writer.query(source, leaves)


def _test_rows(computation: Computation, rows: Any, most: int | None) -> SelfTest:
    """Return rows for the self-test; of those that are made, two with huge numbers."""
    test = self_test(computation, rows, most)
    if rows is not None or not len(test.rows) or len(computation.columns) > _FEW_COLUMNS:
        return test
    numeric = [column.kind != QUALITATIVE for column in computation.columns]
    huge = np.repeat(test.rows[:1], 2, axis=0)
    huge[0, numeric], huge[1, numeric] = 1e308, -1e308
    huge[:, numeric] *= np.where(np.arange(sum(numeric)) % 2, -1.0, 1.0)
    return answered(computation, np.concatenate([test.rows, huge])[-(most or 10**9) :])


@dataclass(frozen=True)
class TableColumns:
    """Where rows come from.

    Parameters
    ----------
    table : str
        The quoted name of the table.
    columns : list of str
        How the columns of the model are read, quoted.
    order : list of str
        What rows are ordered by.
    keep : list of (str, str)
        What is given back, and its name.
    """

    table: str
    columns: list[str]
    order: list[str]
    keep: list[tuple[str, str]]


def _source_of(
    computation: Computation,
    dialect: Dialect,
    table: str | Sequence[str],
    columns: Mapping[str, str],
    order: str | Sequence[str] | None,
    keep: Sequence[str],
) -> TableColumns:
    """Look at the names that a user has given."""
    names = [column.name for column in computation.columns]
    unknown = sorted(set(columns) - set(names))
    if unknown:
        raise ValueError(f"columns= names {unknown[0]!r:.80}, which is no column of the model.")
    names = [columns.get(name, name) for name in names]
    dialect.unlike(names)
    if isinstance(keep, str):
        raise ValueError(f"keep must be a sequence of names; got the text {keep!r:.80}.")
    dialect.unlike(keep)
    if order is None and any(name.casefold() == dialect.place for name in names):
        raise ValueError(
            f"order must be said: by default rows come in the order of {dialect.place}, and the "
            "model has a column of this name. Name columns to order by, or give order=()."
        )
    if order is None:
        order_by = [dialect.place] if dialect.place else []
    else:
        order_by = [
            dialect.name_of(name) for name in ([order] if isinstance(order, str) else order)
        ]
    path = [table] if isinstance(table, str) else list(table)
    if not path or not all(isinstance(part, str) and part for part in path):
        raise ValueError(f"table must be a name or a sequence of names; got {table!r:.80}.")
    return TableColumns(
        ".".join(dialect.name_of(part) for part in path),
        [f"a.{dialect.name_of(name)}" for name in names],
        [f"a.{name}" for name in order_by],
        [(f"a.{dialect.name_of(name)}", name) for name in keep],
    )


@dataclass
class Entries:
    """What the trees ask of each column.

    Parameters
    ----------
    used : set of int
        The columns that some term has.
    fills : dict
        The stand-ins of a numeric column, in sums where it may be missing.
    aside : set of int
        The columns that send rows aside where they are missing.
    coded : dict
        The numeric columns that are read as codes of levels, with the length of the table.
    most, least : dict
        Numeric columns that are multiplied: products of numbers between these neither overflow
        nor vanish.
    always_odd : bool
        Whether constants are so large that any row might overflow.
    """

    used: set[int] = field(default_factory=set)
    fills: dict[int, set[float]] = field(default_factory=dict)
    aside: set[int] = field(default_factory=set)
    coded: dict[int, int] = field(default_factory=dict)
    most: dict[int, float] = field(default_factory=dict)
    least: dict[int, float] = field(default_factory=dict)
    always_odd: bool = False

    @classmethod
    def of(cls, computation: Computation) -> Entries:
        """Go through all terms."""
        entries = cls()
        plain: set[int] = set()
        numeric = {k for k, c in enumerate(computation.columns) if c.kind != QUALITATIVE}
        for part in computation.parts():
            tree = part.tree
            for node in range(tree.n_nodes):
                if tree.kind[node] == NodeKind.LEAF:
                    if tree.has_lines:
                        constant = float(tree.leaf_intercept[node])
                        entries._add(line_terms(tree, node), numeric, plain, constant)
                    continue
                terms = plane_terms(tree, node)
                if tree.kind[node] == NodeKind.LEVELS:
                    entries._code(terms[0], numeric)
                else:
                    side = tree.missing_side[tree.plane_ptr[node]] != MissingSide.NONE
                    entries._add(terms, numeric, plain, None, side)
        both = sorted(plain & set(entries.coded))
        if both:
            raise TreeError(
                f"Column {computation.columns[both[0]].name!r} is read as a number and as a code "
                "of levels, which SQL cannot express. Make it a qualitative column."
            )
        return entries

    def _code(self, term: SumTerm, numeric: set[int]) -> None:
        self.used.add(term.column)
        if term.column in numeric:
            length = max(self.coded.get(term.column, 0), len(term.table))
            self.coded[term.column] = length

    def _add(
        self,
        terms: list[SumTerm],
        numeric: set[int],
        plain: set[int],
        constant: float | None,
        side: bool = False,
    ) -> None:
        """Look at a sum of terms that starts with a constant, or is compared with one."""
        limit = _SURE / (len(terms) + 1)
        for term in terms:
            self.used.add(term.column)
            if side:
                self.aside.add(term.column)
            size = abs(term.coef)
            if term.table:
                self._code(term, numeric)
                largest = max(abs(value) for value in term.table)
                self.always_odd |= not size * largest <= limit
            elif term.column in numeric:
                plain.add(term.column)
                if not side:
                    self.fills.setdefault(term.column, set()).add(term.fill)
                if size and not is_comparison(terms, constant):
                    most = min(limit / size if size > 1.0 else limit, sys.float_info.max)
                    self.most[term.column] = min(self.most.get(term.column, most), most)
                    least = min(_VANISHING / size, sys.float_info.max) if size < 1.0 else 0.0
                    self.least[term.column] = max(self.least.get(term.column, 0.0), least)
            if not side and term.fill == term.fill:
                self.always_odd |= not abs(term.fill) * size <= limit
        if constant is not None:
            self.always_odd |= not abs(constant) <= limit

    def shared_fill(self, column: int) -> float | None:
        """Return what stands in for a missing number everywhere, if it is always the same."""
        fills = self.fills.get(column, set())
        (fill,) = fills if len(fills) == 1 else (math.nan,)
        return None if fill != fill else fill


def is_comparison(terms: list[SumTerm], constant: float | None) -> bool:
    """Return whether nothing is computed: one column is compared with a threshold."""
    return constant is None and len(terms) == 1 and terms[0].coef == 1.0 and not terms[0].table


class Writer:
    """Writes queries for a model in a dialect."""

    def __init__(self, computation: Computation, dialect: Dialect) -> None:
        self.computation, self.dialect = computation, dialect
        self.number = dialect.number

    # --- queries ------------------------------------------------------------------------------

    def query(self, source: TableColumns, leaves: bool) -> str:
        """Write the query over a table."""
        outputs = self._answers(source, leaves)
        taken = [name for _, name in source.keep]
        names = self._names_of_outputs(leaves)
        for name in names:
            if self.dialect.same(name) in {self.dialect.same(other) for other in taken}:
                raise ValueError(f"The answer has a column {name!r}, so keep= cannot name it.")
        given = [
            f"{value} AS {self.dialect.name_of(name)}"
            for value, name in zip(outputs, names, strict=True)
        ]
        given += [f"a{at} AS {self.dialect.name_of(name)}" for at, name in enumerate(taken)]
        order = ", ".join(f"b.k{at}" for at in range(len(source.order)))
        end = f"\nORDER BY {order}" if order else ""
        if self.dialect.name == "sqlite":
            end += f"\n{self.dialect.fence}"  # without it here, too, it is no fence before
        return self._text(given, end)

    def test(self, test: SelfTest) -> str:
        """Write the query that runs the self-test: how many of its rows are answered otherwise."""
        computation, dialect = self.computation, self.dialect
        leaves = computation.n_trees <= _TESTED_LEAVES
        expected = [dialect.literal(label) for label in computation.model.classes.tolist()]
        rows = []
        for row, reached, answer, label in zip(
            test.rows.tolist(),
            test.leaves.tolist(),
            test.answers.tolist(),
            test.labels,
            strict=True,
        ):
            values = [self._raw(place, entry) for place, entry in enumerate(row)]
            if not computation.says_numbers:
                values.append(expected[label])
            values += [self.number(number) for number in answer]
            values += [str(leaf) for leaf in reached] if leaves else []
            rows.append(f"({', '.join(values)})")
        n_columns = len(computation.columns)
        n_labels = 0 if computation.says_numbers else 1
        n_outputs = n_labels + computation.n_answers + (computation.n_trees if leaves else 0)
        names = [f"c{at}" for at in range(n_columns)] + [f"e{at}" for at in range(n_outputs)]
        if not rows:
            rows = [f"({', '.join(['NULL'] * len(names))})"]
        source = TableColumns(
            "tests",
            [f"a.c{at}" for at in range(n_columns)],
            [],
            [(f"a.e{at}", f"e{at}") for at in range(n_outputs)],
        )
        outputs = self._answers(source, leaves)
        checks = []
        rounded = computation.finish in ("pairs", "sum", "log_odds")
        shares = range(n_labels, n_labels + computation.n_answers)
        for at, output in enumerate(outputs):
            differs = f"({output}) <> a{at}"
            if rounded and at in shares:
                differs = f"ABS(({output}) - a{at}) > {self.number(_CLOSE)}"
            checks.append(f"WHEN ({output}) IS NULL OR {differs} THEN 1")
        counted = f"CASE {' '.join(checks)} ELSE 0 END"
        tests = f"tests({', '.join(names)}) AS (VALUES\n" + ",\n".join(rows) + ")"
        self.layers.insert(0, tests)
        if not len(test.rows):
            counted = "0"
        return self._text([f"COALESCE(SUM({counted}), 0) AS differing"], "")

    def _raw(self, place: int, entry: float) -> str:
        """Write an entry of a row as a table has it."""
        column = self.computation.columns[place]
        value = raw_value(column, entry)
        if value is None:
            return "NULL"
        if column.kind == QUALITATIVE:
            return self.dialect.level(column, value)
        return self.number(value)

    def _text(self, given: list[str], end: str) -> str:
        """Put the chain of queries together."""
        first = "WITH RECURSIVE " if self.recursive else "WITH "
        return (
            f"-- Written by obliqua {version('obliqua')} for {self.dialect.name}.\n"
            + first
            + ",\n".join(self.layers)
            + "\nSELECT "
            + ",\n".join(given)
            + f"\nFROM {self.last} AS b{end}\n"
        )

    def say_size(self) -> None:
        """Warn of a text of many bytes, and refuse what has too many columns."""
        computation = self.computation
        n_nodes, n_coef, n_table = computation.size
        # What it is for SQLite; texts for the others have a tenth or a third less.
        size = 160 * (n_coef + n_table) + n_nodes * (150 + 50 * computation.n_answers)
        if size > _LARGE:
            warnings.warn(
                f"The SQL text will have up to about {size / 1e6:.0f} MB: "
                f"{computation.n_trees} trees, {n_nodes} nodes, {n_coef} coefficients.",
                CostWarning,
                stacklevel=3,
            )
        width = computation.n_trees + 2 * computation.n_answers + len(computation.columns)
        if width > self.dialect.most_columns:
            raise TreeError(
                f"The query would have about {width} columns ({computation.n_trees} trees, "
                f"{computation.n_answers} answers, {len(computation.columns)} entries); "
                f"{self.dialect.name} takes {self.dialect.most_columns}. export_c and "
                "export_javascript have no such limit."
            )

    # --- layers -------------------------------------------------------------------------------

    def _start(self) -> None:
        self.layers: list[str] = []
        self.last = ""
        self.recursive = False
        self.columns: list[str] = []

    def _select(
        self, values: Sequence[str], source: str, where: str = "", fence: bool = True
    ) -> str:
        end = f"\n{self.dialect.fence}" if fence and self.dialect.fence else ""
        return f"SELECT {', '.join(values)}\nFROM {source}{where}{end}"

    def _put(self, name: str, query: str) -> None:
        self.last = self.prefix + name
        self.layers.append(f"{self.last} AS {self.dialect.inline}(\n{query})")

    def _layer(self, new: Mapping[str, str], drop: Iterable[str] = (), where: str = "") -> None:
        """Add a query that has some columns more, or other values in them."""
        if not new and not drop and not where:
            return
        gone = {*new, *drop}
        kept = [column for column in self.columns if column not in gone]
        values = kept + [f"\n{value} AS {name}" for name, value in new.items()]
        self._put(f"q{len(self.layers)}", self._select(values, self.last, where))
        self.columns = kept + list(new)

    def _answers(self, source: TableColumns, leaves: bool) -> list[str]:
        """Write all layers, and return the expressions of the answer over the last."""
        self._start()
        self.entries = Entries.of(self.computation)
        self.prefix = "obliqua_"  # no table may have the name of a query
        while self.dialect.same(source.table).strip('"').startswith(self.prefix):
            self.prefix += "_"
        odd = bool(self.entries.most) or self.entries.always_odd
        self._read("entries", source)
        carried = [*self.columns[: len(source.order) + len(source.keep)]]
        if odd:
            self._only_sure()
        self._find_leaves()
        results = carried + [c for c in self.columns if c[0] in "nv"]
        if odd:
            fast = self.last
            self._read("odd", source, raw=True)
            self.layers += walk_of_odd_rows(
                self, self.last, self.prefix, carried, self._sure(raw=True)
            )
            self.recursive = True
            both = self._select(results, fast, fence=False) + "\nUNION ALL\n"
            walked = self._select(results, f"{self.prefix}walked", "\nWHERE tree = 0")
            self._put("reached", both + walked)
        self.columns = results
        self._say_lines()
        return self._finish(leaves)

    def _read(self, name: str, source: TableColumns, raw: bool = False) -> None:
        """Write the first layer: what a row has in each column, as trees ask for it."""
        dialect, entries = self.dialect, self.entries
        values = {f"k{at}": name for at, name in enumerate(source.order)}
        values |= {f"a{at}": name for at, (name, _) in enumerate(source.keep)}
        for j in sorted(entries.used):
            value = dialect.entry(self.computation.columns[j], source.columns[j])
            if j in entries.coded:
                whole = (
                    "CAST({} AS INTEGER)"
                    if dialect.name == "sqlite"
                    else ("CAST(FLOOR({}) AS INTEGER)")
                )
                value = (
                    f"CASE WHEN {value} >= 0 AND {value} < {entries.coded[j]} THEN "
                    f"{whole.format(value)} WHEN {value} IS NOT NULL THEN -1 END"
                )
            fill = entries.shared_fill(j)
            if raw or fill is None:
                values[f"x{j}"] = value
            else:
                values[f"z{j}"] = f"COALESCE({value}, {self.number(fill)})"
                if j in entries.aside:
                    values[f"x{j}"] = value
        if not values:  # a tree of one leaf
            values = {"k0": "0"}
        named = [f"\n{value} AS {name}" for name, value in values.items()]
        # A column that the table does not have is an error with `a.` before it; without, SQLite
        # takes its quoted name for a text.
        self._put(name, self._select(named, f"{source.table} AS a"))
        self.columns = list(values)

    def _sure(self, raw: bool = False) -> str:
        """Write the condition under which no product overflows, nor vanishes."""
        if self.entries.always_odd:
            return "1 = 0"
        conditions = []
        for j, most in sorted(self.entries.most.items()):
            fill = self.entries.shared_fill(j)
            x = f"x{j}" if fill is None else f"z{j}"
            if raw and fill is not None:
                x = f"COALESCE(x{j}, {self.number(fill)})"
            condition = f"{x} BETWEEN {self.number(-most)} AND {self.number(most)}"
            least = self.entries.least[j]
            if self.dialect.stops and least > 0.0:
                low, high = self.number(-least), self.number(least)
                condition += f" AND ({x} = 0 OR {x} >= {high} OR {x} <= {low})"
            if x[0] == "x":
                condition = f"({x} IS NULL OR {condition})"
            conditions.append(condition)
        while len(conditions) > 1:  # few at a time, so that the expression is not deep
            parts = [conditions[at : at + 20] for at in range(0, len(conditions), 20)]
            conditions = ["(" + "\nAND ".join(part) + ")" for part in parts]
        return conditions[0]

    def _only_sure(self) -> None:
        self._put("sure", self._select(self.columns, self.last, f"\nWHERE {self._sure()}"))

    def _find_leaves(self) -> None:
        """Add a column for each tree: its leaf, by places from left to right."""
        walks = [
            WayDown(self, number, part) for number, part in enumerate(self.computation.parts())
        ]
        self.wide: list[list[str]] = []
        layers: list[dict[str, str]] = []
        for walk in walks:
            for depth, text in enumerate(walk.texts()):
                if depth == len(layers):
                    layers.append({})
                layers[depth][walk.column] = text
        lines = {f"v{w.number}": w.lines() for w in walks if w.part.tree.has_lines}
        for at, terms in enumerate(self.wide):
            for begin in range(0, len(terms), _TERMS):
                start = [f"w{at}"] if begin else []
                self._layer({f"w{at}": " + ".join(start + terms[begin : begin + _TERMS])})
        for layer in layers:
            self._layer(layer)
        self._layer(lines)
        self.places = [walk.leaves for walk in walks]
        self.place_of_leaf = [walk.place for walk in walks]

    def sum_of(self, terms: list[str]) -> str:
        """Write a sum, or the name of a column that has it if it is a long one."""
        if len(terms) <= _TERMS:
            return " + ".join(terms)
        self.wide.append(terms)
        return f"w{len(self.wide) - 1}"

    def term(self, term: SumTerm, aside: bool = False) -> str:
        """Write a product; NULL if the entry is missing and nothing stands in, or is asked."""
        fill = math.nan if aside else term.coef * term.fill
        if term.table:
            products = [term.coef * value for value in term.table]
            runs = [(code, self.number(p)) for code, p in enumerate([0.0, *products])]
            value = search(f"x{term.column}", [*runs, (len(runs), self.number(0.0))])
        else:
            shared = None if aside else self.entries.shared_fill(term.column)
            value = f"x{term.column}" if shared is None else f"z{term.column}"
            if term.coef != 1.0:
                value = f"{self.number(term.coef)}*{value}"
            if shared is not None:
                return value
        return value if fill != fill else f"COALESCE({value}, {self.number(fill)})"

    # --- the answer ---------------------------------------------------------------------------

    def _number_by_leaf(self, number: int, values: Sequence[float]) -> str:
        """Write a number for each leaf of a tree."""
        said = [values[leaf] for leaf in self.places[number]]
        n_runs = 1 + sum(one != other for one, other in pairwise(said))
        if self.dialect.array and n_runs > _WAYS and all(map(math.isfinite, said)):
            return f"({self.dialect.array_of(said, self.dialect.double)})[n{number} + 1]"
        return self._by_leaf(number, [self.number(value) for value in values])

    def _by_leaf(self, number: int, values: Sequence[str]) -> str:
        """Write a value for each leaf of a tree."""
        leaves = self.places[number]
        return search(f"n{number}", [(at + 1, values[leaf]) for at, leaf in enumerate(leaves)])

    def _say_lines(self) -> None:
        """Turn what linear functions are into what leaves say."""
        limits: dict[str, str] = {}
        said: dict[str, str] = {}
        for number, part in enumerate(self.computation.parts()):
            tree = part.tree
            if not tree.has_lines:
                continue
            mean, low, high = (
                self._number_by_leaf(number, values.tolist())
                for values in (part.said[:, 0], tree.leaf_low, tree.leaf_high)
            )
            limits |= {f"v{number}": f"COALESCE(v{number}, {mean})"}
            limits |= {f"l{number}": low, f"h{number}": high}
            v, low, high = f"v{number}", f"l{number}", f"h{number}"
            said[v] = (
                f"CASE WHEN {v} < {low} THEN {low} WHEN {v} > {high} THEN {high} ELSE {v} END"
            )
        self._layer(limits)
        self._layer(said, [name for name in limits if name[0] in "lh"])

    def _said(self, number: int, part: Part) -> list[str]:
        """Write what the leaf of a row in a tree says of each answer."""
        if part.tree.has_lines:
            return [f"v{number}"]
        return [self._number_by_leaf(number, column) for column in part.said.T.tolist()]

    def _votes(self, number: int, part: Part) -> list[str]:
        return [
            self._number_by_leaf(number, (part.chosen == c).astype(np.float64).tolist())
            for c in range(self.computation.n_answers)
        ]

    def _add(self, name: str, start: float, said: Callable[[int, Part], list[str]]) -> list[str]:
        """Add up what leaves say, in the order of the trees."""
        sums = [f"{name}{c}" for c in range(self.computation.n_answers)]
        terms = [[self.number(start)] for _ in sums]
        for number, part in enumerate(self.computation.parts()):
            for c, value in enumerate(said(number, part)):
                terms[c].append(value)
            if len(terms[0]) > _TERMS or number == self.computation.n_trees - 1:
                self._layer({s: " + ".join(t) for s, t in zip(sums, terms, strict=True)})
                terms = [[s] for s in sums]
        return sums

    def _total(self, values: Sequence[str]) -> None:
        """Add a column `total`, from the first to the last."""
        for begin in range(0, len(values), _TERMS):
            start = ["total"] if begin else []
            self._layer({"total": " + ".join([*start, *values[begin : begin + _TERMS]])})

    def _over(self, value: str, divisor: str) -> str:
        """Write a quotient that is 0 where it vanishes, which stops some databases."""
        if not self.dialect.stops:
            return f"{value}/{divisor}"
        tiny = self.number(_VANISHING)
        scaled = f"{value}/{divisor}"
        if not self._has_tiny:
            return scaled
        return f"CASE WHEN ABS({value}) < {tiny}*{divisor} THEN 0 ELSE {scaled} END"

    def _finish(self, leaves: bool) -> list[str]:
        """Write the last step, and return the expressions of the answer."""
        computation = self.computation
        finish, n_trees = computation.finish, computation.n_trees
        self._check_sums()
        parts = list(computation.parts()) if n_trees == 1 else []
        if finish == "leaf":
            answers = sums = self._said(0, parts[0])
        elif finish == "vote":
            sums = self._add("s", 0.0, self._votes)
            answers = [self._over(s, self.number(n_trees)) for s in sums]
        else:
            sums = self._add("s", computation.start, self._said)
            answers = sums
            if finish == "mean":
                answers = [self._over(s, self.number(n_trees)) for s in sums]
            elif finish == "pairs":
                votes = self._add("y", 0.0, self._votes)
                pairs = zip(votes, sums, strict=True)
                over = {s: f"{v} + {self._over(s, self.number(n_trees + 1))}" for v, s in pairs}
                self._layer(over, votes)
        if computation.says_numbers:
            return answers + (self._leaf_numbers() if leaves else [])
        labels = [self.dialect.literal(label) for label in computation.model.classes.tolist()]
        if computation.leaf_chooses:
            (part,) = parts
            label = self._by_leaf(0, [labels[chosen] for chosen in part.chosen.tolist()])
        else:
            self._layer({"best": self.dialect.largest_of(sums)})
            cases = " ".join(
                f"WHEN {s} = best THEN {x}" for s, x in zip(sums, labels, strict=True)
            )
            label = f"CASE {cases} END"
        if finish in ("pairs", "sum", "log_odds"):
            answers = self._shares(sums)
        return [label, *answers, *(self._leaf_numbers() if leaves else [])]

    def _shares(self, sums: list[str]) -> list[str]:
        """Write sums over their total."""
        finish, zero = self.computation.finish, self.number(0.0)
        shares = sums
        if finish != "pairs":
            shares = [f"t{c}" for c in range(len(sums))]
            if finish == "sum":
                part = f"CASE WHEN {{0}} < {zero} THEN {zero} ELSE {{0}} END"
            else:
                if self.computation.leaf_chooses:
                    self._layer({"best": self.dialect.largest_of(sums)})
                # Below that it is 0, which stops PostgreSQL.
                part = f"CASE WHEN {{0}} - best < -745 THEN {zero} ELSE EXP({{0}} - best) END"
            self._layer({t: part.format(s) for t, s in zip(shares, sums, strict=True)})
        self._total(shares)
        return [f"{t}/NULLIF(total, 0)" for t in shares]

    def _check_sums(self) -> None:
        """Look whether sums can overflow, or quotients vanish, where that stops the query."""
        self._has_tiny = False
        if not self.dialect.stops:
            return
        most = 0.0
        for part in self.computation.parts():
            size = np.abs(part.said[part.tree.is_leaf])
            self._has_tiny |= bool(((size > 0) & (size < 1e-290)).any())
            if part.tree.has_lines:
                limits = np.abs([part.tree.leaf_low, part.tree.leaf_high])
                size = np.append(size, limits[np.isfinite(limits)])
                self._has_tiny = True
            most += float(size.max()) / 4.0
        if self.computation.n_trees > 1 and not most < _SURE:
            raise TreeError(
                "Sums of what the leaves say would overflow, which stops a query of "
                f"{self.dialect.name}. export_c, export_javascript and export_json take it."
            )

    def _leaf_numbers(self) -> list[str]:
        return [
            self._by_leaf(number, [str(node) for node in range(len(self._nodes(number)))])
            for number in range(self.computation.n_trees)
        ]

    def _nodes(self, number: int) -> range:
        return range(self.computation.part(number).tree.n_nodes)

    def _names_of_outputs(self, leaves: bool) -> list[str]:
        """Return the names of the columns of the answer, which all differ."""
        computation = self.computation
        if computation.says_numbers:
            n = computation.n_answers
            names = ["prediction"] if n == 1 else [f"prediction_{k}" for k in range(n)]
        else:
            names = ["prediction"]
            classes = computation.model.classes.tolist()
            seen = {self.dialect.same(f"p_{label}") for label in classes}
            # If the database takes two for one, they are numbered.
            alike = len(seen) < len(classes)
            names += [f"p_{k}" if alike else f"p_{label}" for k, label in enumerate(classes)]
        if leaves:
            n = computation.n_trees
            names += ["leaf"] if n == 1 else [f"leaf_{k}" for k in range(n)]
        return names


class WayDown:
    """The way down one tree as CASE expressions, a few levels in each."""

    def __init__(self, writer: Writer, number: int, part: Part) -> None:
        self.writer, self.number, self.part = writer, number, part
        self.column = f"n{number}"
        self.leaves = leaves_in_order(part.tree)
        self.place = {leaf: place for place, leaf in enumerate(self.leaves)}
        self.ahead: list[int] = []

    def texts(self) -> list[str]:
        """Return an expression for each layer."""
        texts = [self._below(0, _LEVELS)]
        while self.ahead:
            nodes, self.ahead = self.ahead, []
            base = len(self.leaves)
            runs = [(base, self.column)]
            runs += [(base + at + 1, self._below(node, _LEVELS)) for at, node in enumerate(nodes)]
            texts.append(search(self.column, runs))
        return texts

    def _below(self, node: int, levels: int) -> str:
        """Write where a row comes to from a node: a leaf, or a node for the next layer."""
        tree = self.part.tree
        kind = tree.kind[node]
        if kind == NodeKind.LEAF:
            return str(self.place[node])
        if not levels:
            self.ahead.append(node)
            return str(len(self.leaves) + len(self.ahead) - 1)
        first = int(tree.first_child[node])
        terms, threshold = plane_terms(tree, node), float(tree.threshold[tree.plane_ptr[node]])
        if kind == NodeKind.LEVELS:
            return self._by_levels(terms[0], int(threshold), first, levels)
        side = tree.missing_side[tree.plane_ptr[node]]
        aside = side != MissingSide.NONE
        value = self.writer.sum_of([self.writer.term(term, aside) for term in terms]) or "0"
        left, right = self._below(first, levels - 1), self._below(first + 1, levels - 1)
        against = self.writer.number(threshold)
        # A missing value makes the comparison NULL, which is not true.
        if side == MissingSide.LEFT:
            return f"CASE WHEN {value} > {against}\nTHEN {right} ELSE {left} END"
        otherwise = f"ELSE {right}"
        if not aside and any(term.fill != term.fill for term in terms):
            otherwise = f"WHEN {value} > {against} THEN {right}"
        return f"CASE WHEN {value} <= {against}\nTHEN {left} {otherwise} END"

    def _by_levels(self, term: SumTerm, unseen: int, first: int, levels: int) -> str:
        x = f"x{term.column}"
        branches: dict[int, list[int]] = {}
        for code, branch in enumerate(term.table):
            branches.setdefault(int(branch), []).append(code)
        parts = []
        missing = -1 if term.fill != term.fill else int(term.fill)
        if missing < 0:
            parts.append(f"WHEN {x} IS NULL THEN NULL")
        elif missing != unseen:
            branches.setdefault(missing, [])
        for branch in sorted(set(branches) - {unseen}):
            conditions = []
            if branches[branch]:
                conditions.append(f"{x} IN ({', '.join(map(str, branches[branch]))})")
            if branch == missing:
                conditions.append(f"{x} IS NULL")
            below = self._below(first + branch, levels - 1)
            parts.append(f"WHEN {' OR '.join(conditions)}\nTHEN {below}")
        otherwise = self._below(first + unseen, levels - 1)
        return f"CASE {' '.join(parts)} ELSE {otherwise} END" if parts else otherwise

    def lines(self) -> str:
        """Write the linear function of the leaf."""
        writer, tree = self.writer, self.part.tree
        runs = []
        for at, leaf in enumerate(self.leaves):
            start = writer.number(float(tree.leaf_intercept[leaf]))
            terms = [writer.term(term) for term in line_terms(tree, leaf)]
            runs.append((at + 1, writer.sum_of([start, *terms])))
        return search(self.column, runs)


def leaves_in_order(tree: Tree) -> list[int]:
    """Return the leaves from left to right."""
    found, stack = [], [0]
    while stack:
        node = stack.pop()
        if tree.kind[node] == NodeKind.LEAF:
            found.append(node)
        first, n = int(tree.first_child[node]), int(tree.n_children[node])
        stack += range(first + n - 1, first - 1, -1)
    return found


def search(key: str, runs: Sequence[tuple[int, str]], top: bool = True) -> str:
    """Write a value for each range of a whole number: up to, but without, the number of a run.

    Ranges with the same value that stand side by side become one. NULL gives NULL.
    """
    if top:
        runs = [
            run
            for run, after in zip(runs, [*runs[1:], (0, None)], strict=True)
            if run[1] != after[1]
        ]
        if len(runs) == 1:
            return f"CASE WHEN {key} IS NOT NULL THEN {runs[0][1]} END"
    if len(runs) == 1:
        return runs[0][1]
    size = -(-len(runs) // _WAYS)
    groups = [runs[at : at + size] for at in range(0, len(runs), size)]
    cases = [
        f"WHEN {key} < {group[-1][0]} THEN {search(key, group, False)}" for group in groups[:-1]
    ]
    last = search(key, groups[-1], False)
    end = f"WHEN {key} >= {groups[-2][-1][0]} THEN {last}" if top else f"ELSE {last}"
    return f"CASE {' '.join(cases)} {end} END"
