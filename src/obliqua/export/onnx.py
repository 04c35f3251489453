"""`export_onnx`: a model as an ONNX graph, which onnxruntime and other servers run.

No operator of ONNX knows an oblique split. So the graph first computes the value of every
different hyperplane for all rows at once, ``Z = X W'``, with stand-ins where entries are missing
and tables where levels are asked for; a `TreeEnsemble` over these values finds the leaf of each
tree; and what the leaves say is looked up and put together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, FloatArray
from obliqua.data.encoding import QUALITATIVE, Column
from obliqua.errors import TreeError
from obliqua.export.certificate import bound_of, certified, warn_if_all_near
from obliqua.export.computation import Computation, Part
from obliqua.export.cost import Bytes, estimated_bytes, warn_if_large
from obliqua.export.json import tests_of
from obliqua.export.self_test import SelfTest, answered, self_test
from obliqua.io.format import to_bytes
from obliqua.io.values import text_of
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.subject import lines_of, read_column

__all__ = ["export_onnx", "run_onnx_tests"]

# The oldest versions that have all that is used: TreeEnsemble came with 5 of ai.onnx.ml.
_OPSET, _ML_OPSET, _IR = 18, 5, 9
_NUMBERS = {"double": np.float64, "float": np.float32}
_LEQ = 0  # the mode of a node that goes to its first branch if a value is at most a threshold
_MOST_LEAVES = 2**24  # of a tree: more are not whole numbers in float32
_TESTS = "obliqua.tests"
# A node has eight whole numbers and two others; a matrix has an entry for each column and value.
_BYTES = Bytes(node=60, coefficient=16, entry=8, answer=8)


def export_onnx(
    model: Any,
    *,
    numbers: str = "double",
    leaves: bool = False,
    test_rows: Any = None,
    n_tests: int | None = None,
) -> Any:
    """Write a model as an ONNX graph.

    A model whose columns are all numeric has one input, ``X``, of shape (n_rows, n_features).
    Otherwise each column is an input of its own, of shape (n_rows, 1), under its name: numbers, or
    strings for a column of text, in which the empty string is a missing value (``"<missing>"``,
    where the empty string is a level).

    The outputs have the names and types that scikit-learn's converter gives them without
    `zipmap`: ``label`` and ``probabilities``, or ``variable`` for a regressor.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a `Model` or a `Tree`; no linear machines.
    numbers : {"double", "float"}, default="double"
        The numbers that the graph takes and computes with.
    leaves : bool, default=False
        Whether the graph has the output ``leaves`` too: the node that a row reaches in each tree.
    test_rows : array-like of shape (n_rows, n_features), default=None
        Rows to keep with their answers in the file, see `run_onnx_tests`. By default rows are
        made of the trees.
    n_tests : int, default=None
        The most rows of the self-test.

    Returns
    -------
    onnx.ModelProto
        The graph; ``SerializeToString()`` gives the bytes of a file.

    Raises
    ------
    MissingDependency
        If the package onnx is not installed.
    TreeError
        If a tree has a linear machine, which ONNX cannot express.

    Warns
    -----
    CastWarning
        If numbers of single precision are too coarse for many rows.
    CostWarning
        If the graph will be very large.

    See Also
    --------
    run_onnx_tests : Run the self-test.
    certify : Which rows are so close to a threshold that rounding may change their leaf.

    Notes
    -----
    The products are added in an order of the runtime's own. `certify` with the format ``"onnx"``
    counts the rows that are so close to a threshold that this may matter: for onnxruntime on a
    CPU, whose numbers are IEEE's. A row with a missing value for which the model has nothing gets
    NaN for its shares; ONNX knows no errors.
    """
    if numbers not in _NUMBERS:
        raise ValueError(f"numbers must be 'double' or 'float'; got {numbers!r}.")
    computation = Computation.of(model)
    computation.refuse_machines("ONNX")
    warn_if_large(computation, "The ONNX graph", estimated_bytes(computation, _BYTES))
    require("onnx", "onnx", "export_onnx")
    graph = _OnnxGraph(_NUMBERS[numbers])
    writer = _OnnxWriter(computation, graph)
    writer.write(leaves)
    test = self_test(computation, test_rows, n_tests)
    bounds = bound_of("onnx", numbers, computation)
    near = certified(computation, test.rows, "onnx", numbers, bounds).near
    # Rows on a threshold may go elsewhere where products are added in another order.
    warn_if_all_near(len(test.rows), near, numbers)
    test = answered(computation, np.delete(test.rows, near, axis=0))
    sizes = _sizes(computation, test).tolist()
    kept = zip(tests_of(computation, test), sizes, strict=True)
    tests = [{**one, "size": size} for one, size in kept]
    facts = {
        "obliqua.version": version("obliqua"),
        "obliqua.numbers": numbers,
        "obliqua.columns": json.dumps([column.name for column in computation.columns]),
        "obliqua.missing": json.dumps([missing_mark(column) for column in computation.columns]),
        "obliqua.checksum": f"sha256:{hashlib.sha256(to_bytes(computation.model)).hexdigest()}",
        _TESTS: json.dumps(tests, allow_nan=False),
    }
    return graph.built(facts)


def run_onnx_tests(model: Any) -> int:
    """Run the rows that an exported graph carries through onnxruntime.

    Parameters
    ----------
    model : onnx.ModelProto, bytes, str or path-like
        What `export_onnx` has made, its bytes, or its file.

    Returns
    -------
    int
        The number of rows, all of which had the answer that obliqua gave.

    Raises
    ------
    MissingDependency
        If onnxruntime is not installed.
    AssertionError
        If a row has another answer; it is named.
    ValueError
        If the graph carries no rows.
    """
    runtime = require("onnxruntime", "onnx", "run_onnx_tests")
    data = model.SerializeToString() if hasattr(model, "SerializeToString") else model
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    kept = session.get_modelmeta().custom_metadata_map
    if _TESTS not in kept:
        raise ValueError("This graph carries no tests; was it made by export_onnx?")
    tests = json.loads(kept[_TESTS])
    if not tests:
        raise ValueError(
            "This graph carries no rows to be tested with: it was made with n_tests=0, or all "
            "rows lay so close to a threshold that rounding may send them elsewhere; certify "
            "tells. Export it with numbers='double', or give test_rows."
        )
    given = onnx_inputs(
        session, [test["row"] for test in tests], json.loads(kept["obliqua.columns"])
    )
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(names, given), strict=True))
    answers = found["probabilities" if "probabilities" in found else "variable"]
    double = kept["obliqua.numbers"] == "double"
    for number, (test, answer) in enumerate(zip(tests, answers, strict=True)):
        expected = np.array(test["answer"])
        near = test["size"] * (1e-12 if double else 1e-5)
        same = bool((np.abs(answer - expected) <= near).all())
        if "label" in test:
            same &= text_of(found["label"][number]) == text_of(test["label"])
        if not same:
            raise AssertionError(
                f"Row {number} of the self-test, {test['row']}, should have {test['answer']}; "
                f"got {answer.tolist()}."
            )
    return len(tests)


def _sizes(computation: Computation, test: SelfTest) -> FloatArray:
    """Return how large the numbers are that the answer to each row is added up of."""
    sizes = np.maximum(np.abs(test.answers).max(axis=1, initial=0.0), 1.0)
    for number, part in enumerate(computation.parts()):
        tree = part.tree
        if not tree.has_lines:
            continue
        lines, size = lines_of(tree), np.abs(tree.leaf_intercept[test.leaves[:, number]])
        for row, node in enumerate(test.leaves[:, number].tolist()):
            for k in range(int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1])):
                term = lines.coef[k] * read_column(lines, k, test.rows[row : row + 1])[0]
                size[row] += np.nan_to_num(abs(term))
        sizes = np.maximum(sizes, size)
    return sizes


def onnx_inputs(session: Any, rows: Sequence[Sequence[Any]], names: Sequence[str]) -> Any:
    """Return rows as a session takes them."""
    inputs = session.get_inputs()
    marks = json.loads(session.get_modelmeta().custom_metadata_map["obliqua.missing"])
    dtype = {"tensor(double)": np.float64, "tensor(float)": np.float32}
    if inputs[0].name == "X":
        numbers = [[np.nan if entry is None else entry for entry in row] for row in rows]
        with np.errstate(over="ignore"):
            return {"X": np.array(numbers, dtype[inputs[0].type]).reshape(-1, len(names))}
    given: dict[str, AnyArray] = {}
    for one in inputs:
        place = (
            int(one.name.rpartition("#")[2]) if "#" in one.name else list(names).index(one.name)
        )
        column = [row[place] for row in rows]
        if one.type == "tensor(string)":
            texts = [marks[place] if entry is None else text_of(entry) for entry in column]
            given[one.name] = np.array(texts, dtype=object)[:, None]
        else:
            entries = [np.nan if entry is None else float(entry) for entry in column]
            given[one.name] = np.array(entries, dtype=dtype[one.type])[:, None]
    return given


@dataclass
class _OnnxGraph:
    """A graph in the making: names are given to what its nodes compute."""

    dtype: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)

    def constant(self, array: Any) -> str:
        """Add an array."""
        from onnx import numpy_helper

        name = f"#c{len(self.constants)}"  # no input begins like this
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def numbers(self, array: Any) -> str:
        """Add an array of the numbers that the graph computes with."""
        return self.constant(self.rounded(array))

    def rounded(self, array: Any) -> AnyArray:
        """Round numbers to those of the graph; what is too large becomes the largest.

        An infinite coefficient would make NaN of every row that has 0 for it.
        """
        wide = np.asarray(array, dtype=np.float64)
        most = float(np.finfo(self.dtype).max)
        return np.where(np.isfinite(wide), np.clip(wide, -most, most), wide).astype(self.dtype)

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node, and return the name of what it computes."""
        from onnx import helper

        name = output or f"#n{len(self.nodes)}"
        domain = "ai.onnx.ml" if kind in ("TreeEnsemble", "LabelEncoder") else ""
        self.nodes.append(
            helper.make_node(kind, list(inputs), [name], domain=domain, **attributes)
        )
        return name

    def number_type(self) -> int:
        """Return ONNX's number for the type that the graph computes with."""
        from onnx import TensorProto

        return int(TensorProto.DOUBLE if self.dtype is np.float64 else TensorProto.FLOAT)

    def built(self, facts: dict[str, str]) -> Any:
        """Return the graph as a model."""
        from onnx import checker, helper

        graph = helper.make_graph(
            self.nodes, "obliqua", self.inputs, self.outputs, initializer=self.constants
        )
        versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        proto = helper.make_model(
            graph,
            opset_imports=versions,
            ir_version=_IR,
            producer_name="obliqua",
            producer_version=version("obliqua"),
        )
        helper.set_model_props(proto, facts)
        checker.check_model(proto, full_check=True)
        return proto


class _Features:
    """The different values that splits ask for, and where the ensemble finds each of them."""

    def __init__(self) -> None:
        self.places: dict[tuple[Any, ...], int] = {}
        self.planes: list[tuple[Tree, int, int]] = []  # a tree, its plane, and a kind of value

    def place(self, tree: Tree, plane: int, kind: int) -> int:
        """Return where a value is: the same for planes whose terms are the same."""
        part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
        tables = slice(int(tree.table_ptr[part.start]), int(tree.table_ptr[part.stop]))
        key: tuple[Any, ...] = (
            kind,
            int(tree.threshold[plane]) if kind == NodeKind.LEVELS else 0,
            int(tree.missing_side[plane]),
            tree.coef_idx[part].tobytes(),
            tree.coef[part].tobytes(),
            tree.fill[part].tobytes(),
            np.diff(tree.table_ptr[part.start : part.stop + 1]).tobytes(),
            tree.table[tables].tobytes(),
        )
        if key not in self.places:
            self.places[key] = len(self.planes)
            self.planes.append((tree, plane, kind))
        return self.places[key]


#: Beside the kinds of nodes: whether an entry is missing for which nothing stands in.
_GAP = 9


class _OnnxWriter:
    """Writes the parts of the graph, one after another."""

    def __init__(self, computation: Computation, graph: _OnnxGraph) -> None:
        self.computation, self.graph = computation, graph
        self.columns = computation.columns
        self.parts = list(computation.parts())
        self.missing = computation.model.takes_missing
        # By column: the place of the row in tables of levels, after them unknown and missing.
        self.codes: dict[int, str] = {}

    def write(self, leaves: bool) -> None:
        """Write the whole graph."""
        from onnx import TensorProto, helper

        graph = self.graph
        self.write_inputs()
        features = _Features()
        ensemble = _Ensemble(features, self.missing)
        for part in self.parts:
            ensemble.take(part)
        values = self.values(features)
        reached = graph.add(
            "Cast",
            graph.add("TreeEnsemble", values, **ensemble.attributes(graph)),
            to=TensorProto.INT64,
        )
        place = graph.add("Add", reached, graph.constant(np.array(ensemble.first, dtype=np.int64)))
        if leaves:
            node = graph.add("Gather", graph.constant(ensemble.node), place, output="leaves")
            shape = [None, len(self.parts)]
            graph.outputs.append(helper.make_tensor_value_info(node, TensorProto.INT64, shape))
        self.write_answer(place, ensemble)

    # --- what goes in ----------------------------------------------------------------------

    def write_inputs(self) -> None:
        """Declare the inputs; make a matrix of the numbers, and codes of the levels."""
        from onnx import TensorProto, helper

        graph, names = self.graph, input_names(self.columns)
        numeric = [k for k, column in enumerate(self.columns) if column.kind != QUALITATIVE]
        self.numeric = {place: at for at, place in enumerate(numeric)}
        if len(numeric) == len(self.columns):
            shape = [None, len(numeric)]
            graph.inputs.append(helper.make_tensor_value_info("X", graph.number_type(), shape))
            self.read_numbers("X")
            return
        for place, column in enumerate(self.columns):
            levels = column.kind == QUALITATIVE
            text = levels and not _all_doubles(column)
            # Levels are compared, so they are not rounded.
            kind = TensorProto.DOUBLE if levels else graph.number_type()
            kind = TensorProto.STRING if text else kind
            graph.inputs.append(helper.make_tensor_value_info(names[place], kind, [None, 1]))
            if levels:
                self.codes[place] = self.read_levels(names[place], column, text)
        if numeric:
            self.read_numbers(graph.add("Concat", *(names[place] for place in numeric), axis=1))
        else:
            size = graph.add("Shape", names[0], start=0, end=1)
            shape_ = graph.add("Concat", size, graph.constant(np.array([0])), axis=0)
            self.read_numbers(graph.add("Expand", graph.numbers(np.zeros((1, 1))[:, :0]), shape_))

    def read_numbers(self, matrix: str) -> None:
        """Keep a matrix with 0 where entries are missing, and one that says where."""
        graph = self.graph
        gone = graph.add("IsNaN", matrix)
        there = graph.add("Where", gone, graph.numbers(0.0), matrix)
        # Infinity times a coefficient of 0 is NaN.
        most = float(np.finfo(graph.dtype).max)
        self.plain = graph.add("Clip", there, graph.numbers(-most), graph.numbers(most))
        self.gone = graph.add("Cast", gone, to=graph.number_type())

    def read_levels(self, name: str, column: Column, text: bool) -> str:
        """Return codes: the place of a level, or one of two places behind them."""
        from onnx import TensorProto

        graph, n = self.graph, len(column.levels)
        unknown, gone = n - 1 if column.others else n, n + 1
        named = column.levels[:-1] if column.others else column.levels
        if text:
            keys = [text_of(level) for level in named]
            if len(set(keys)) < len(keys):
                raise TreeError(
                    f"Column {column.name!r} has levels that are the same as text, which ONNX "
                    "cannot tell apart. Make them text before fitting."
                )
            codes = list(range(len(keys)))
            keys, codes = [*keys, missing_mark(column)], [*codes, gone]
            found = graph.add(
                "LabelEncoder",
                name,
                keys_strings=keys,
                values_int64s=codes,
                default_int64=unknown,
            )
            return graph.add("Squeeze", found, graph.constant(np.array([1])))
        levels = graph.constant(np.array([[float(level) for level in named]]))
        hit = graph.add("Cast", graph.add("Equal", name, levels), to=graph.number_type())
        first = graph.add("ArgMax", hit, axis=1, keepdims=0)
        one = graph.constant(np.array([1]))
        any_ = graph.add("Cast", graph.add("ReduceMax", hit, one, keepdims=0), to=TensorProto.BOOL)
        code = graph.add("Where", any_, first, graph.constant(np.array(unknown)))
        empty = graph.add("Squeeze", graph.add("IsNaN", name), graph.constant(np.array([1])))
        return graph.add("Where", empty, graph.constant(np.array(gone)), code)

    # --- the values of splits ---------------------------------------------------------------

    def values(self, features: _Features) -> str:
        """Return a matrix with a column for each value that is asked for."""
        graph = self.graph
        planes = features.planes
        if not planes:
            return graph.add("Concat", self.first_zero(), axis=1)
        n, p = len(planes), len(self.numeric)
        weight, filled = np.zeros((p, n)), np.zeros((p, n))
        aside = np.zeros((p, n))  # where a missing entry sends rows to a side
        tables = {
            place: np.zeros((len(self.columns[place].levels) + 2, n)) for place in self.codes
        }
        sides = {place: np.zeros_like(table) for place, table in tables.items()}
        side = np.array([int(tree.missing_side[plane]) for tree, plane, _ in planes])
        for at, (tree, plane, kind) in enumerate(planes):
            for k in range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])):
                place = int(tree.coef_idx[k])
                unseen = float(tree.threshold[plane]) if kind == NodeKind.LEVELS else 0.0
                if kind == _GAP:
                    coef, fill, table = 0.0, float(np.isnan(tree.fill[k])), None
                else:
                    coef, fill = float(tree.coef[k]), float(np.nan_to_num(tree.fill[k]))
                    fill *= coef
                    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
                if place in self.numeric:
                    if table is not None and len(table):
                        raise TreeError(
                            f"Column {self.columns[place].name!r} is numeric, and a split has a "
                            "table of levels for it, which ONNX cannot express."
                        )
                    row = self.numeric[place]
                    weight[row, at], filled[row, at] = coef, fill
                    aside[row, at] = 1.0 if kind == NodeKind.HYPERPLANE and side[at] else 0.0
                    continue
                target, n_levels = tables[place], len(self.columns[place].levels)
                if table is not None:
                    known = min(len(table), n_levels)
                    target[:known, at] = coef * table[:known]
                    # Levels beyond the table, and those that nobody knows.
                    target[known : n_levels + 1, at] = coef * unseen
                    if not len(table):
                        target[:n_levels, at] = coef * np.arange(n_levels)
                        target[n_levels, at] = -coef
                target[n_levels + 1, at] = fill
                if kind == NodeKind.HYPERPLANE and side[at]:
                    sides[place][n_levels + 1, at] = 1.0
        total = self.products(weight, filled)
        for place, table in tables.items():
            if table.any():
                found = graph.add("Gather", graph.numbers(table), self.codes[place], axis=0)
                total = graph.add("Add", total, found)
        return self.put_aside(total, aside, sides, side)

    def first_zero(self) -> str:
        """Return a column of zeros, for trees that ask nothing."""
        graph = self.graph
        rows = graph.add("Shape", self.plain, start=0, end=1)
        shape = graph.add("Concat", rows, graph.constant(np.array([1])), axis=0)
        return graph.add("Expand", graph.numbers(np.zeros((1, 1))), shape)

    def products(self, weight: FloatArray, filled: FloatArray) -> str:
        """Return rows times coefficients, plus what stands in for missing entries."""
        graph = self.graph
        if not len(self.numeric):
            shape = graph.add("Shape", self.first_zero(), start=0, end=1)
            width = graph.constant(np.array([weight.shape[1]]))
            size = graph.add("Concat", shape, width, axis=0)
            return graph.add("Expand", graph.numbers(np.zeros((1, 1))), size)
        total = graph.add("MatMul", self.plain, graph.numbers(weight))
        if filled.any():
            gaps = graph.add("MatMul", self.gone, graph.numbers(filled))
            total = graph.add("Add", total, gaps)
        return total

    def put_aside(
        self, total: str, aside: FloatArray, sides: dict[int, FloatArray], side: AnyArray
    ) -> str:
        """Put the values of rows that miss an entry on the side that a split has for them."""
        graph = self.graph
        count = None
        if aside.any():
            count = graph.add("MatMul", self.gone, graph.numbers(aside))
        for place, table in sides.items():
            if table.any():
                found = graph.add("Gather", graph.numbers(table), self.codes[place], axis=0)
                count = found if count is None else graph.add("Add", count, found)
        if count is None:
            return total
        gone = graph.add("Greater", count, graph.numbers(0.5))
        far = np.where(side == MissingSide.LEFT, -np.inf, np.inf)[None, :]
        return graph.add("Where", gone, graph.numbers(far), total)

    # --- the answer -------------------------------------------------------------------------

    def write_answer(self, place: str, ensemble: _Ensemble) -> None:
        """Look up what leaves say, put it together, and declare the outputs."""
        graph, computation = self.graph, self.computation
        said = np.concatenate(ensemble.said)
        chosen = np.concatenate(ensemble.chosen)
        one = graph.constant(np.array([1]))
        finish = computation.finish
        votes = np.eye(max(computation.n_answers, 1))[chosen]
        votes[ensemble.node < 0] = np.nan

        def added(table: FloatArray) -> str:
            found = graph.add("Gather", graph.numbers(table), place, axis=0)
            return graph.add("ReduceSum", found, one, keepdims=0)

        if computation.says_numbers:
            sums = added(said)
            if any(part.tree.has_lines for part in self.parts):
                sums = self.lines(place, ensemble)
        elif finish == "vote":
            sums = added(votes)
        elif finish == "pairs":
            n = graph.numbers(len(self.parts) + 1.0)
            sums = graph.add("Add", added(votes), graph.add("Div", added(said), n))
        else:
            sums = added(said)
            if computation.start:
                sums = graph.add("Add", sums, graph.numbers(computation.start))
        shares = self.shares(sums, finish, one)
        if not self.missing:
            # Nothing stands in for what is missing, so there is no answer.
            for gone in self.anything_missing(one):
                shares = graph.add("Where", gone, graph.numbers(np.nan), shares)
        self.declare(shares, sums, chosen, place)

    def anything_missing(self, one: str) -> Iterator[str]:
        """Say of numbers, and of each column of levels, whether a row misses them."""
        graph = self.graph
        if self.numeric:
            most = graph.add("ReduceMax", self.gone, one, keepdims=1)
            yield graph.add("Greater", most, graph.numbers(0.5))
        for place, code in self.codes.items():
            gone = graph.constant(np.array([len(self.columns[place].levels) + 1]))
            yield graph.add("Unsqueeze", graph.add("Equal", code, gone), one)

    def shares(self, sums: str, finish: str, one: str) -> str:
        """Return shares of classes, or numbers, of sums."""
        graph = self.graph
        if finish in ("vote", "mean"):
            return graph.add("Div", sums, graph.numbers(float(len(self.parts))))
        if finish == "leaf" or self.computation.says_numbers:
            return sums
        if finish == "log_odds":
            return graph.add("Softmax", sums, axis=1)
        if finish == "sum":
            sums = graph.add("Max", sums, graph.numbers(0.0))
        return graph.add("Div", sums, graph.add("ReduceSum", sums, one, keepdims=1))

    def declare(self, shares: str, sums: str, chosen: AnyArray, place: str) -> None:
        """Declare the outputs."""
        from onnx import TensorProto, helper

        graph, computation = self.graph, self.computation
        name = "variable" if computation.says_numbers else "probabilities"
        graph.add("Identity", shares, output=name)
        shape = [None, computation.n_answers]
        outputs = [helper.make_tensor_value_info(name, graph.number_type(), shape)]
        if not computation.says_numbers:
            if computation.leaf_chooses:
                flat = graph.add("Squeeze", place, graph.constant(np.array([1])))
                index = graph.add("Gather", graph.constant(chosen.astype(np.int64)), flat)
            else:
                index = graph.add("ArgMax", sums, axis=1, keepdims=0)
            labels = _labels(computation.model.classes)
            graph.add("Gather", graph.constant(labels), index, output="label")
            kind = helper.np_dtype_to_tensor_dtype(labels.dtype)
            if labels.dtype == object:
                kind = TensorProto.STRING
            outputs.insert(0, helper.make_tensor_value_info("label", kind, [None]))
        graph.outputs[:0] = outputs

    def lines(self, place: str, ensemble: _Ensemble) -> str:
        """Return what the linear functions of leaves say, added up over the trees."""
        graph = self.graph
        n_leaves = sum(map(len, ensemble.said))
        coef, fill, nothing = np.zeros((3, n_leaves, len(self.numeric)))
        limits = np.zeros((n_leaves, 4))  # intercept, low, high, otherwise
        tables = {at: np.zeros((n_leaves, len(self.columns[at].levels) + 2)) for at in self.codes}
        for row, (part, node) in enumerate(ensemble.leaf_nodes):
            tree = part.tree
            limits[row] = float(part.said[node, 0]) if node >= 0 else np.nan
            if tree.has_lines and node >= 0:
                _take_line(tree, node, row, self.numeric, (coef, fill, nothing), tables)
                limits[row, :3] = (
                    tree.leaf_intercept[node],
                    tree.leaf_low[node],
                    tree.leaf_high[node],
                )
        last = graph.constant(np.array([2]))
        found = [graph.add("Gather", graph.numbers(limits[:, k]), place) for k in range(4)]
        value, low, high, otherwise_ = found
        for table, factor in ((coef, self.plain), (fill, self.gone)):
            if table.any():
                factors = graph.add("Unsqueeze", factor, graph.constant(np.array([1])))
                terms = graph.add("Mul", graph.add("Gather", graph.numbers(table), place), factors)
                value = graph.add("Add", value, graph.add("ReduceSum", terms, last, keepdims=0))
        if nothing.any():  # an entry is missing for which the function has nothing
            factors = graph.add("Unsqueeze", self.gone, graph.constant(np.array([1])))
            gaps = graph.add("Mul", graph.add("Gather", graph.numbers(nothing), place), factors)
            count = graph.add("ReduceSum", gaps, last, keepdims=0)
            odd = graph.add("Greater", count, graph.numbers(0.5))
            value = graph.add("Where", odd, graph.numbers(np.nan), value)
        for at, table in tables.items():
            if table.any():
                width = graph.constant(np.array(table.shape[1]))
                code = graph.add("Unsqueeze", self.codes[at], graph.constant(np.array([1])))
                spot = graph.add("Add", graph.add("Mul", place, width), code)
                value = graph.add(
                    "Add", value, graph.add("Gather", graph.numbers(table.ravel()), spot)
                )
        value = graph.add("Where", graph.add("IsNaN", value), otherwise_, value)
        value = graph.add("Min", graph.add("Max", value, low), high)
        return graph.add("ReduceSum", value, graph.constant(np.array([1])), keepdims=1)


def _take_line(
    tree: Tree,
    node: int,
    row: int,
    numeric: dict[int, int],
    numbers: tuple[FloatArray, FloatArray, FloatArray],
    tables: dict[int, FloatArray],
) -> None:
    """Write the linear function of a leaf into a row of the tables of all leaves."""
    coef, fill, nothing = numbers
    for k in range(int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1])):
        place, factor = int(tree.leaf_idx[k]), float(tree.leaf_coef[k])
        stand_in = factor * float(tree.leaf_fill[k])
        if place in numeric:
            at = numeric[place]
            coef[row, at], fill[row, at] = factor, np.nan_to_num(stand_in)
            nothing[row, at] = float(np.isnan(stand_in))
            continue
        table = tree.leaf_table[tree.leaf_table_ptr[k] : tree.leaf_table_ptr[k + 1]]
        tables[place][row, : len(table)] = factor * table
        tables[place][row, -1] = stand_in


@dataclass
class _Ensemble:
    """The attributes of the `TreeEnsemble`: nodes that compare, and leaves."""

    features: _Features
    missing: bool
    roots: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    branches: list[list[tuple[int, bool]]] = field(default_factory=list)  # true, false; is a leaf
    weight: list[float] = field(default_factory=list)  # the leaf's number in its tree
    target: list[int] = field(default_factory=list)  # the leaf's tree
    first: list[int] = field(default_factory=list)  # where the leaves of each tree begin
    said: list[FloatArray] = field(default_factory=list)
    chosen: list[AnyArray] = field(default_factory=list)
    leaf_nodes: list[tuple[Part, int]] = field(default_factory=list)

    @property
    def node(self) -> AnyArray:
        """The number that each leaf has in its tree, -1 where there is no answer."""
        return np.array([node for _, node in self.leaf_nodes], dtype=np.int64)

    def take(self, part: Part) -> None:
        """Add a tree."""
        tree, number = part.tree, len(self.first)
        leaves = np.flatnonzero(tree.is_leaf)
        guarded = self.missing and bool(np.isnan(tree.fill[_asked(tree)]).any())
        if len(leaves) + 1 > _MOST_LEAVES:
            raise TreeError(f"Tree {number} has {len(leaves)} leaves, too many for ONNX.")
        self.first.append(len(self.leaf_nodes))
        at = {int(leaf): len(self.weight) + k for k, leaf in enumerate(leaves)}
        for k, leaf in enumerate(leaves.tolist()):
            self.leaf(k, number, part, leaf)
        said, chosen = part.said[leaves], part.chosen[leaves]
        nowhere = -1
        if guarded:
            nowhere = self.leaf(len(leaves), number, part, -1)
            said = np.concatenate([said, np.full((1, said.shape[1]), np.nan)])
            chosen = np.append(chosen, 0)
        self.said.append(said)
        self.chosen.append(chosen)
        start: dict[int, int] = {}
        for node in range(tree.n_nodes):
            start[node] = len(self.feature)
            if node in at:
                continue
            if guarded:
                self.guard(tree, node, nowhere)
            plane, n_children = int(tree.plane_ptr[node]), int(tree.n_children[node])
            kind = int(tree.kind[node])
            where = self.features.place(tree, plane, kind)
            for branch in range(n_children - 1):
                cut = float(branch) if kind == NodeKind.LEVELS else float(tree.threshold[plane])
                self.compare(where, cut)
        # Where children begin is known now.
        for node in range(tree.n_nodes):
            if node not in at:
                self.connect(tree, node, start, at, guarded)
        self.roots.append(start[0])
        if 0 in at:  # a tree that is one leaf asks a question whose answers are the same
            self.compare(0, 0.0)
            self.branches[-1] = [(at[0], True), (at[0], True)]

    def leaf(self, number: int, tree: int, part: Part, node: int) -> int:
        """Add a leaf, and return its number among all."""
        self.weight.append(float(number))
        self.target.append(tree)
        self.leaf_nodes.append((part, node))
        return len(self.weight) - 1

    def compare(self, feature: int, cut: float) -> None:
        """Add a node, without saying yet where it leads."""
        self.feature.append(feature)
        self.split.append(cut)
        self.branches.append([])

    def guard(self, tree: Tree, node: int, nowhere: int) -> None:
        """Ask first whether an entry is missing for which nothing stands in."""
        plane = int(tree.plane_ptr[node])
        part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
        if tree.missing_side[plane] or not np.isnan(tree.fill[part]).any():
            return
        self.compare(self.features.place(tree, plane, _GAP), 0.5)
        self.branches[-1] = [(len(self.feature), False), (nowhere, True)]

    def connect(
        self, tree: Tree, node: int, start: dict[int, int], at: dict[int, int], guarded: bool
    ) -> None:
        """Say where the nodes that stand for one of the tree lead."""
        first, n_children = int(tree.first_child[node]), int(tree.n_children[node])

        def goal(child: int) -> tuple[int, bool]:
            return (at[child], True) if child in at else (start[child], False)

        own = start[node]
        if guarded and self.branches[own]:
            own += 1
        for branch in range(n_children - 1):
            last = branch == n_children - 2
            other = goal(first + branch + 1) if last else (own + branch + 1, False)
            self.branches[own + branch] = [goal(first + branch), other]

    def attributes(self, graph: _OnnxGraph) -> dict[str, Any]:
        """Return the attributes of the operator."""
        from onnx import numpy_helper

        def tensor(values: Any, dtype: Any = graph.dtype) -> Any:
            rounded = graph.rounded(values) if dtype is graph.dtype else np.array(values, dtype)
            return numpy_helper.from_array(rounded)

        true, false = zip(*self.branches, strict=True)
        return {
            "aggregate_function": 1,
            "post_transform": 0,
            "n_targets": len(self.first),
            "tree_roots": self.roots,
            "nodes_featureids": self.feature,
            "nodes_splits": tensor(self.split),
            "nodes_modes": tensor([_LEQ] * len(self.feature), np.uint8),
            "nodes_truenodeids": [goal for goal, _ in true],
            "nodes_trueleafs": [int(leaf) for _, leaf in true],
            "nodes_falsenodeids": [goal for goal, _ in false],
            "nodes_falseleafs": [int(leaf) for _, leaf in false],
            "leaf_targetids": self.target,
            "leaf_weights": tensor(self.weight),
        }


def _asked(tree: Tree) -> AnyArray:
    """Return which coefficients need something that stands in: not those of splits with a side."""
    return tree.missing_side[tree.plane_of_coef] == MissingSide.NONE


def _labels(classes: AnyArray) -> AnyArray:
    """Return labels as ONNX has them: strings, integers, truth values or numbers."""
    if classes.dtype.kind in "OU":
        return np.array([str(label) for label in classes.tolist()], dtype=object)
    return classes.astype(
        {"i": np.int64, "u": np.int64, "b": np.bool_}.get(classes.dtype.kind, np.float64)
    )


def missing_mark(column: Column) -> str:
    """Return the text that stands for a missing value in a column of text."""
    known = {text_of(level) for level in column.levels}
    marks = chain(("",), ("<missing>" + "!" * n for n in range(len(known) + 1)))
    return next(mark for mark in marks if mark not in known)


def _all_doubles(column: Column) -> bool:
    """Whether all named levels are numbers that a double holds."""
    named = column.levels[:-1] if column.others else column.levels
    return column.text is False and all(
        isinstance(level, int | float) and float(level) == level for level in named
    )


def input_names(columns: Sequence[Column]) -> list[str]:
    """Return names for inputs: those of the columns, numbered if they cannot be told apart."""
    names = [column.name for column in columns]
    taken = {"label", "probabilities", "variable", "leaves", "X"}

    def plain(name: str) -> bool:
        once = names.count(name) == 1 and name not in taken
        return bool(name) and name.isprintable() and "#" not in name and once

    return [name if plain(name) else f"{name!r}#{place}" for place, name in enumerate(names)]
