"""`export_c`: a model as one C99 file, with `const` tables, without heap and without libm.

What it computes is said in docs/concepts/exported.md. `c_tables` makes the tables, `c_code` has
the code that walks them; here they are written, with names, numbers and texts as C has them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import AnyArray
from obliqua.data.encoding import QUALITATIVE, Column
from obliqua.export.c_code import CODE, DECLARATIONS, TEST, written
from obliqua.export.c_tables import (
    LEVELS,
    TABLES,
    Tables,
    in_fixed_point,
    in_single,
    largest_bounds,
    most_multiplications,
    tables_of,
)
from obliqua.export.certificate import SINGLE, bound_of, certified, warn_if_all_near
from obliqua.export.computation import SMALL, Computation
from obliqua.export.cost import warn_if_large
from obliqua.export.fixed_point import MOST, FixedPointPlan, line_of, values_at
from obliqua.export.self_test import SelfTest, answered, self_test

__all__ = ["export_c"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MOST_LETTERS = 40  # of a name, so that identifiers differ in their first 63
_MOST_OF_A_STRING = 4095  # bytes of a literal that every compiler takes
_SINGLE = 2.0**-24


class _Types(NamedTuple):
    """The C types of what a file computes with."""

    row: str  # the entries of a row
    total: str  # sums at splits, and thresholds
    factor: str  # coefficients
    answer: str


_TYPES = {
    "double": _Types("double", "double", "double", "double"),
    "float": _Types("float", "float", "float", "float"),
    "int16": _Types("int32_t", "int64_t", "int16_t", "float"),
}


def export_c(
    model: Any,
    name: str = "tree",
    *,
    header: bool = False,
    numbers: str = "double",
    rows: Any = None,
    test_rows: Any = None,
    n_tests: int | None = None,
) -> str:
    r"""Write a model as C99 source, for any compiler of C or C++.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a `Model` or a `Tree`.
    name : str, default="tree"
        What all names in the source begin with: ``tree_predict``, ``TREE_N_FEATURES``.
    header : bool, default=False
        Whether to write the header, which declares what the source has, in place of the source.
        The source does not need it.
    numbers : {"double", "float", "int16"}, default="double"
        What to compute with. ``"double"`` gives the leaves and answers that the model gives, to
        the last bit. ``"float"`` has tables of half the size. ``"int16"`` has coefficients of 16
        bits, and computes with whole numbers at all splits. With both, rows that are very close to
        a threshold may go elsewhere: `certify` counts them, and the source says how close that is
        for each split.
    rows : array-like of shape (n_rows, n_features), default=None
        Rows that show the ranges of columns, for ``"float"`` and ``"int16"``: what the source says
        of rounding holds within them, and ``"int16"`` has its units from them. By default those
        of rows that are made of the trees. Give `certify` the same.
    test_rows : array-like of shape (n_rows, n_features), default=None
        Rows to keep with their answers, for the self-test. By default rows are made of the
        trees, and no row of the data is in the text.
    n_tests : int, default=None
        The most rows of the self-test; by default as many as reach each leaf, if these are not
        too many. 0 leaves them out.

    Returns
    -------
    str
        The text, in ASCII. Compiled with ``-DTREE_SELFTEST`` it is a program that exits with 0
        if all rows of the self-test have the leaves and answers that they have here.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else.
    ValueError
        If the name is no identifier of C, or the model has numbers beyond single precision.

    Warns
    -----
    CostWarning
        If the text will be very long.

    See Also
    --------
    certify : Count the rows that might get another answer, where numbers are rounded.

    Examples
    --------
    >>> from obliqua import TreeBuilder, export_c
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    >>> builder.set_leaf("low", [8, 1])
    >>> builder.set_leaf("high", [0, 5])
    >>> text = export_c(builder.build(), "risk", header=True)
    >>> print("\n".join(line for line in text.splitlines() if line.startswith("int")))
    int risk_predict(const double *x);
    int risk_predict_proba(const double *x, double *out);
    int risk_apply(const double *x, int32_t *leaves);
    """
    _check_name(name)
    if numbers not in _TYPES:
        raise ValueError(
            f"numbers must be one of {', '.join(map(repr, _TYPES))}; got {numbers!r}."
        )
    computation = Computation.of(model)
    source = _Source(computation, name, numbers)
    if header:
        return source.header()
    warn_if_large(computation, "The C source", _estimated_bytes(computation))
    test = self_test(computation, test_rows, n_tests)
    if numbers == "double":
        return source.source(test, None)
    made = rows is None and test_rows is None and n_tests is None  # both of the same rows
    plan = (
        FixedPointPlan.of_test(computation, test) if made else FixedPointPlan.of(computation, rows)
    )
    return source.source(test, plan)


def _estimated_bytes(computation: Computation) -> float:
    """Return about how long the text is: most shares of classes are 0, and many leaves alike."""
    nodes, coefs, entries = computation.size
    said = (nodes + computation.n_trees) / 2 * computation.n_answers
    return (
        12.0 * nodes
        + 45.0 * coefs
        + 10.0 * entries
        + said * (20.0 if computation.says_numbers else 2.0)
    )


def _tolerance(
    computation: Computation, test: SelfTest, numbers: str, plan: FixedPointPlan
) -> float:
    """Return by how much answers to the rows of a self-test may be off."""
    parts = list(computation.parts())
    said = [float(np.abs(part.said).max()) for part in parts]
    together = sum(said) if computation.finish in ("sum", "log_odds") else max(said)
    off = 4.0 * (len(parts) + 4) * _SINGLE * (together + 1.0)
    for number, part in enumerate(parts):
        if not part.tree.has_lines:
            continue
        for leaf in np.unique(test.leaves[:, number]).tolist():
            line = line_of(part.tree, leaf)
            values = values_at(line, test.rows[test.leaves[:, number] == leaf])
            whole = plan.node([line], machine=False)[0]
            size = np.abs(line.coef) * (np.abs(values) + np.abs(whole.offset))
            largest = float(np.nanmax(size.sum(axis=1))) + abs(line.threshold)
            bound = SINGLE.bound(line.coef, values, line.threshold)
            if numbers == "int16":
                bound = whole.bound(values)
            off += float(np.nanmax(bound)) + 8.0 * _SINGLE * largest
    return min(off, sys.float_info.max)  # rows beyond all limits: answers may be any


def _check_name(name: Any) -> None:
    """Raise unless identifiers can begin with a name."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string; got {type(name).__name__}.")
    wrong = None
    if not _NAME.fullmatch(name):
        wrong = "begin with a letter and have letters, digits and underscores only, all in ASCII"
    elif len(name) > _MOST_LETTERS:
        wrong = f"have at most {_MOST_LETTERS} characters, since compilers may look at no more"
    elif "__" in name or name.endswith("_"):
        wrong = "have no two underscores in a row and none at its end, which C++ keeps to itself"
    if wrong:
        raise ValueError(f"name must {wrong}; got {name[:60]!r}.")


class _Source:
    """The parts of a C file."""

    def __init__(self, computation: Computation, name: str, numbers: str) -> None:
        self.computation, self.name, self.capitals = computation, name, name.upper()
        self.numbers, self.types = numbers, _TYPES[numbers]
        self.columns = computation.columns
        self.exact = numbers == "double"
        self.levels = [level for column in self.columns for level in _levels(column)]

    # --- the header ---------------------------------------------------------------------------

    def header(self) -> str:
        """Write what other files need."""
        guard = f"{self.capitals}_H"
        return (
            f"{self.about()}\n#ifndef {guard}\n#define {guard}\n\n"
            f"#include <stddef.h>\n#include <stdint.h>\n\n{self.declarations()}\n#endif\n"
        )

    def about(self) -> str:
        """Say what the file is, and what the columns of a row are."""
        model = self.computation.model
        trees = (
            "one tree" if self.computation.n_trees == 1 else f"{self.computation.n_trees} trees"
        )
        by = f"written by obliqua {version('obliqua')}"
        lines = [
            f"{trees.capitalize()} with {model._n_leaves} leaves, {by}.",
            "",
            "A row x has an entry for each column:",
        ]
        for place, column in enumerate(self.columns):
            lines.append(f"  x[{place}]  {_in_comment(column.name)}{_kind(column)}")
        lines += ["NaN is a missing value."]
        if not self.computation.says_numbers:
            lines += ["", "Classes:"]
            lines += [
                f"  {number}  {_in_comment(str(label))}"
                for number, label in enumerate(model.classes.tolist())
            ]
        return _comment(lines)

    def declarations(self) -> str:
        """Declare all that is seen from outside."""
        computation = self.computation
        sizes = {
            "N_FEATURES": len(self.columns),
            "N_OUTPUTS" if computation.says_numbers else "N_CLASSES": computation.n_answers,
            "N_TREES": computation.n_trees,
        }
        lines = [f"#define {self.capitals}_{what} {size}" for what, size in sizes.items()]
        lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        lines += [
            f"extern const char *const {self.name}_feature_names[{self.capitals}_N_FEATURES];"
        ]
        if not computation.says_numbers:
            lines += [
                f"extern const char *const {self.name}_class_labels[{self.capitals}_N_CLASSES];"
            ]
        code = written(DECLARATIONS, self.has_names(), self.words())
        return "\n".join([*lines, "", code, "#ifdef __cplusplus", "}", "#endif", ""])

    def has_names(self) -> set[str]:
        """Return which functions there are."""
        return {
            word
            for word, there in {
                "classes": not self.computation.says_numbers,
                "rounded": not self.exact,
                "levels": bool(self.levels),
                "number_levels": any(not isinstance(level, str) for level in self.levels),
            }.items()
            if there
        }

    def words(self) -> dict[str, str]:
        """Return what stands for the words of the code."""
        what = "N_OUTPUTS" if self.computation.says_numbers else "N_CLASSES"
        return {
            "START_OF_LINE": "0" if self.numbers == "int16" else "@_limits[row][0]",
            "START": _number(self.computation.start),
            "MOST": str(MOST),
            "SCALE": "1, " if self.exact else "",
            "SMALL": _number(SMALL),
            "N_ANSWERS": f"$_{what}",
            "ROW": self.types.row,
            "SUM": self.types.total,
            "REAL": self.types.answer,
            "ENDING": "" if self.exact else "_row",
            "@": self.name,
            "$": self.capitals,
        }

    # --- the source ---------------------------------------------------------------------------

    def source(self, test: SelfTest, plan: FixedPointPlan | None) -> str:
        """Write the file."""
        tables = tables_of(self.computation)
        has = self.has_names() | self.has(tables)
        facts = self.facts(tables)
        # The exponential of a C library may differ from ours in the last digits.
        tolerance = 1e-14 if self.computation.finish == "log_odds" else 0.0
        if plan is not None:
            facts += self.rounding(plan)
            test, left_out = self.sure(test, plan)
            tolerance = _tolerance(self.computation, test, self.numbers, plan)
            if left_out:
                facts += [f"The self-test leaves {left_out} rows out that are too close to tell."]
            fixed = self.numbers == "int16"
            tables = in_fixed_point(tables, self.computation, plan) if fixed else in_single(tables)
        arrays = list(self.arrays(tables, has))
        if plan is not None and self.numbers == "int16":
            arrays += self.scales(plan)
        n_bytes = sum(array.n_bytes for array in arrays)
        size = f"{n_bytes} bytes, without names, labels and levels"
        facts += [f"The tables take {size}; the code up to 1.5 kB (gcc 12 -Os, x86-64)."]
        texts = list(self.texts(has))
        needs_nan = "number_levels" in has or (
            "stand_ins" in has
            and tables.fill.dtype.kind == "f"
            and bool(np.isnan(tables.fill).any())
        )
        includes = ["float.h"] * self.exact + ["math.h"] * needs_nan + ["stddef.h", "stdint.h"]
        if needs_nan:
            facts += ["<math.h> is there for the constant NAN; no function of it is called."]
        return "\n".join(
            [
                self.about(),
                _comment(facts),
                *(f"#include <{one}>" for one in includes),
                "",
                self.declarations(),
                *texts,
                *(array.text for array in arrays),
                "",
                written(CODE, has, self.words()),
                self.test(test, tolerance),
            ]
        )

    def facts(self, tables: Tables) -> list[str]:
        """Say what the file takes and needs."""
        most = most_multiplications(tables)
        repeated = "; up to four times as many where values are missing or products overflow"
        return [
            f"Compiled with -D{self.capitals}_SELFTEST this is a program that tests itself.",
            f"A row takes at most {most} multiplications{repeated if self.exact else ''}.",
        ]

    def rounding(self, plan: FixedPointPlan) -> list[str]:
        """Say how much rounding changes at splits."""
        bounds = largest_bounds(self.computation, self.numbers, plan)
        lines = [
            "Rounding moves the value of a split by no more than is said here, plane by plane,"
        ]
        lines += ["for rows within these ranges:"]
        for place, (low, high) in enumerate(zip(plan.low, plan.high, strict=True)):
            scale = ""
            if self.numbers == "int16":
                scale = f"; (x - {plan.offset[place]!s}) * 2^{plan.exponent[place]}"
            lines.append(f"  x[{place}]  {low!s} to {high!s}{scale}")
        lines += ["The largest differences:"]
        said = [f"{bound:.2g}" for bound in bounds.tolist()]
        return lines + [f"  {line}" for line in _wrapped(said or ["0"]).split("\n    ")]

    def sure(self, test: SelfTest, plan: FixedPointPlan) -> tuple[SelfTest, int]:
        """Return the rows whose leaves rounding cannot change, and how many others there are."""
        bounds = bound_of("c", self.numbers, self.computation, plan)
        near = certified(self.computation, test.rows, "c", self.numbers, bounds).near
        warn_if_all_near(len(test.rows), near, self.numbers)
        kept = np.delete(test.rows, near, axis=0)
        return answered(self.computation, kept), len(near)

    def scales(self, plan: FixedPointPlan) -> list[_Array]:
        """Write what makes whole numbers of the entries of a row."""
        scale = np.ldexp(1.0, plan.exponent)
        return [
            _Array.of(f"{self.name}_offset", "double", plan.offset, "What is subtracted of x."),
            _Array.of(f"{self.name}_scale", "double", scale, "What it is multiplied with then."),
        ]

    def has(self, tables: Tables) -> set[str]:
        """Return what the trees have, and how answers are made."""
        computation, finish = self.computation, self.computation.finish
        n_planes = np.diff(tables.plane)
        slow = bool((tables.how >= LEVELS).any() or (n_planes > 1).any())
        single = np.isin(np.arange(len(tables.how)), tables.plane[:-1][n_planes == 1])
        return {
            word
            for word, there in {
                "exact": self.exact,
                "floating": self.numbers != "int16",
                "tables": bool(len(tables.table)),
                "stand_ins": not np.isnan(tables.fill).all(),
                "machines": bool((n_planes > 1).any()),
                "level_sets": bool((tables.how == LEVELS).any()),
                "sides": bool(np.isin(tables.how % TABLES, (1, 2)).any()),
                "plain": self.numbers != "int16" and bool((single & (tables.how < LEVELS)).any()),
                "slow": slow,
                "lines": bool(len(tables.line)),
                "says": finish != "vote",
                "leaf_chooses": computation.leaf_chooses,
                "shares": finish != "leaf",
                "total": finish in ("pairs", "sum", "log_odds"),
                "clipped": finish == "sum",
                finish: True,
            }.items()
            if there
        }

    def arrays(self, tables: Tables, has: set[str]) -> Iterator[_Array]:
        """Write the tables."""
        types = self.types

        def whole(what: str, values: AnyArray, about: str) -> _Array:
            return broken(what, values, about, _type_for(values))

        def broken(what: str, values: AnyArray, about: str, type_: str) -> _Array:
            return _Array.of(f"{self.name}_{what}", type_, values, about)

        yield whole("root", tables.root, "The first node of each tree.")
        yield whole("next", tables.next, "The first child of a node; of a leaf, what it says.")
        yield whole("plane", tables.plane, "Where the planes of nodes begin; leaves have none.")
        if has & {"level_sets", "sides"} or has >= {"plain", "slow"}:
            about = "If a value is missing: 1 left, 2 right. 3: a set of levels. 4: has tables."
            yield whole("how", tables.how, about)
        yield broken("threshold", tables.threshold, "The thresholds of planes.", types.total)
        yield whole("term", tables.term, "Where the terms of planes begin.")
        yield whole("column", tables.column, "The columns of terms.")
        yield broken("coef", tables.coef, "The coefficients of terms.", types.factor)
        if len(tables.shift):
            yield whole("shift", tables.shift, "By how many bits coefficients are shifted.")
        if "stand_ins" in has:
            yield broken("stand_in", tables.fill, "What stands in for missing values.", types.row)
        if "tables" in has:
            yield whole("table_at", tables.table_at, "Where the tables of terms begin.")
            yield broken("table", tables.table, "The numbers, or branches, of levels.", types.row)
        if has & {"leaf_chooses", "vote", "pairs"} and "classes" in has:
            yield whole("chooses", tables.chooses, "The classes that leaves choose.")
        if "says" in has:
            yield broken("says", tables.says.ravel(), "What leaves say.", types.answer)
        if "lines" in has:
            yield whole("line", tables.line, "Where the terms of the functions of leaves begin.")
            about = "The constant of a function, the least and the largest number that it says."
            about += " The unit of its sum." if self.numbers == "int16" else ""
            yield broken("limits", tables.limits, about, types.answer)

    def texts(self, has: set[str]) -> Iterator[str]:
        """Write names, labels and levels."""
        name, capitals = self.name, self.capitals
        yield from _strings(
            f"{name}_feature_names", f"[{capitals}_N_FEATURES]", [c.name for c in self.columns]
        )
        if "classes" in has:
            labels = [str(label) for label in self.computation.model.classes.tolist()]
            yield from _strings(f"{name}_class_labels", f"[{capitals}_N_CLASSES]", labels)
        if "levels" in has:
            at = np.concatenate([[0], np.cumsum([len(_levels(c)) for c in self.columns])])
            others = np.array([int(column.others) for column in self.columns])
            yield _Array.of(f"{name}_levels_at", _type_for(at), at).text
            yield _Array.of(f"{name}_others", "uint8_t", others).text
            yield from _strings(
                f"{name}_levels", "[]", [_text(level) for level in self.levels], "static "
            )
        if "number_levels" in has:
            known = [np.nan if isinstance(v, str) else float(v) for v in self.levels]
            yield _Array.of(f"{name}_level_numbers", "double", np.array(known)).text

    def test(self, test: SelfTest, tolerance: float) -> str:
        """Write the program that tests itself."""
        name, capitals = self.name, self.capitals
        if not len(test.rows):
            return (
                f"#ifdef {capitals}_SELFTEST\n"
                '#error "this file was written without rows for a self-test: none was wanted, or '
                'all were too close to a threshold"\n'
                "#endif\n"
            )
        arrays = [
            _Array.of(f"{name}_test_rows", "double", test.rows),
            _Array.of(f"{name}_test_leaves", _type_for(test.leaves), test.leaves),
            _Array.of(f"{name}_test_answers", "double", test.answers),
        ]
        if not self.computation.says_numbers:
            arrays.append(_Array.of(f"{name}_test_labels", _type_for(test.labels), test.labels))
        words = {"TOLERANCE": _number(tolerance), "N_TESTS": str(len(test.rows)), **self.words()}
        code = written(TEST, self.has_names(), words)
        opened, rest = code.split("\n\n", 1)
        nan = "\n#include <math.h>" if np.isnan(test.rows).any() else ""
        return "\n".join([opened + nan, "", *(array.text for array in arrays), "", rest])


# --- arrays --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Array:
    """The definition of a table."""

    text: str
    n_bytes: int

    @classmethod
    def of(cls, name: str, type_: str, values: AnyArray, about: str = "") -> _Array:
        """Write a table of one or two dimensions; C has none without entries."""
        if not values.size:
            values = np.zeros(1, dtype=values.dtype)
        sizes = "".join(f"[{n}]" for n in values.shape)
        suffix = "f" if type_ == "float" else ""
        if values.ndim == 2:
            entries = [f"{{{', '.join(_numbers(row, suffix))}}}" for row in values]
            body = ",\n    ".join(entries)
        else:
            body = _wrapped(list(_numbers(values, suffix)))
        n_bytes = values.size * _BYTES[type_]
        comment = f"/* {about} */\n" if about else ""
        return cls(f"{comment}static const {type_} {name}{sizes} = {{\n    {body}\n}};", n_bytes)


_BYTES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int16_t": 2, "int32_t": 4, "int64_t": 8}
_BYTES |= {"float": 4, "double": 8}


def _type_for(values: AnyArray) -> str:
    """Return the smallest type of whole numbers from 0 on that holds all values."""
    most = int(values.max(initial=0))
    return "uint8_t" if most < 2**8 else "uint16_t" if most < 2**16 else "uint32_t"


def _numbers(values: AnyArray, suffix: str) -> Iterable[str]:
    if values.dtype.kind in "iu":
        return map(str, values.tolist())
    if values.dtype == np.float32:  # the shortest decimal that is read as this one
        return ("NAN" if value != value else f"{value!s}{suffix}" for value in values)
    return (_number(value, suffix) for value in values.tolist())


def _number(value: float, suffix: str = "") -> str:
    """Write a number so that a compiler reads the same one: the shortest decimal that does."""
    return "NAN" if value != value else f"{value!r}{suffix}"


def _wrapped(entries: Sequence[str]) -> str:
    """Join entries in lines of some 90 characters."""
    per_line = max(90 // (max(map(len, entries)) + 2), 1)
    lines = (", ".join(entries[k : k + per_line]) for k in range(0, len(entries), per_line))
    return ",\n    ".join(lines)


# --- texts ---------------------------------------------------------------------------------------


def _levels(column: Column) -> tuple[Any, ...]:
    return column.levels if column.kind == QUALITATIVE else ()


def _text(level: Any) -> str:
    return level if isinstance(level, str) else str(level)


def _bytes_of(text: str) -> bytes:
    """Return a text in UTF-8; a null character as Java has it, since it would end the string."""
    return text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def _escaped(text: str) -> Iterator[str]:
    """Write each byte of a text as it stands between quotes in C, and as it may in a comment."""
    before = ""
    for byte in _bytes_of(text):
        letter = chr(byte)
        plain = 32 <= byte < 127 and letter not in "\\\"'?" and before + letter not in ("*/", "/*")
        yield letter if plain else f"\\{byte:03o}"
        before = letter


def _string(text: str) -> str:
    return f'"{"".join(_escaped(text))}"'


def _strings(name: str, sizes: str, texts: Sequence[str], static: str = "") -> Iterator[str]:
    """Write an array of strings; those that are too long for a literal as arrays of their own."""
    entries = []
    for number, text in enumerate(texts):
        if len(_bytes_of(text)) <= _MOST_OF_A_STRING:
            entries.append(_string(text))
            continue
        letters = ", ".join(f"'{one}'" for one in _escaped(text))
        entries.append(f"{name}_{number}")
        yield f"static const char {entries[-1]}[] = {{{letters}, 0}};"
    body = ",\n    ".join(entries)
    yield f"{static}const char *const {name}{sizes} = {{\n    {body}\n}};"


_MOST_IN_A_COMMENT = 60  # letters of a name
_MOST_LEVELS_IN_A_COMMENT = 50


def _in_comment(text: str) -> str:
    short = text if len(text) <= _MOST_IN_A_COMMENT else f"{text[:_MOST_IN_A_COMMENT]}..."
    return _string(short)


def _kind(column: Column) -> str:
    """Say in a comment what the entries of a column are."""
    levels = _levels(column)
    if column.kind != QUALITATIVE:
        return ""
    if len(levels) > _MOST_LEVELS_IN_A_COMMENT:
        return f": the code of a level, from 0 to {len(levels) - 1}; -1: not known"
    named = [_in_comment(level) if isinstance(level, str) else str(level) for level in levels]
    if column.others:
        named[-1] = "all others"
    codes = ", ".join(f"{code} = {level}" for code, level in enumerate(named))
    return f": {codes}" + ("" if column.others else ("; " if codes else "") + "-1 = not known")


def _comment(lines: Sequence[str]) -> str:
    body = "\n".join(f" * {line}".rstrip() for line in lines)
    return f"/*\n{body}\n */"
