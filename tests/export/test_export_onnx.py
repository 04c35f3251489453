"""`export_onnx`: onnxruntime gives the leaves and answers of the model, outside the bound."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import obliqua
from export_cases import MAKERS, case, mixed_table, raw_rows
from obliqua import TreeBuilder
from obliqua.data.encoding import Column, Encoding
from obliqua.errors import TreeError
from obliqua.export.certificate import bound_of, certified
from obliqua.export.computation import Computation
from obliqua.export.onnx import onnx_inputs
from obliqua.tree.model import Model
from trees_to_read import NASTY

if os.environ.get("OBLIQUA_ALL_TOOLS"):
    import onnxruntime
else:
    onnxruntime = pytest.importorskip("onnxruntime")


def session_of(model: Any, **options: Any) -> Any:
    data = obliqua.export_onnx(model, **options).SerializeToString()
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def run(session: Any, rows: list[list[Any]], names: Any) -> dict[str, np.ndarray]:
    outputs = [output.name for output in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, onnx_inputs(session, rows, names)), strict=True))


WITHOUT_MACHINES = [name for name in MAKERS if name not in ("linear machines", "by hand")]


@pytest.mark.parametrize("numbers", ["double", "float"])
@pytest.mark.parametrize("name", WITHOUT_MACHINES)
def test_leaves_and_answers_are_those_of_the_model(name: str, numbers: str) -> None:
    model, rows = case(name)
    computation = Computation.of(model)
    found = run(
        session_of(model, leaves=True, numbers=numbers),
        raw_rows(model, rows),
        [column.name for column in computation.columns],
    )
    inner = computation.model
    near = certified(
        computation, rows, "onnx", numbers, bound_of("onnx", numbers, computation)
    ).near
    far = np.setdiff1d(np.arange(len(rows)), near)
    assert len(far) > 20
    leaves = inner.apply(rows).reshape(len(rows), -1)
    assert (found["leaves"][far] == leaves[far]).all()
    exact = numbers == "double"
    if inner.n_classes:
        assert (found["label"][far] == inner.predict(rows)[far]).all()
        answers, got = inner.predict_proba(rows), found["probabilities"]
    else:
        answers, got = inner.predict(rows).reshape(len(rows), -1), found["variable"]
    assert got.dtype == (np.float64 if exact else np.float32)
    limit = 1e-14 if exact else 1e-6
    assert (np.abs(got - answers) <= limit * np.maximum(np.abs(answers), 1))[far].all()


@pytest.mark.parametrize("name", ["levels and gaps", "forest of numbers"])
def test_the_graph_carries_its_tests(name: str) -> None:
    model, _ = case(name)
    proto = obliqua.export_onnx(model)
    assert obliqua.run_onnx_tests(proto) > 5
    (facts,) = [entry for entry in proto.metadata_props if entry.key == "obliqua.tests"]
    facts.value = facts.value.replace('"answer": [', '"answer": [1', 1)
    with pytest.raises(AssertionError, match="should have"):
        obliqua.run_onnx_tests(proto.SerializeToString())


def test_outputs_are_those_of_scikit_learns_converter() -> None:
    model, _ = case("one oblique tree")
    session = session_of(model)
    assert [(one.name, one.type) for one in session.get_inputs()] == [("X", "tensor(double)")]
    outputs = [(one.name, one.type) for one in session.get_outputs()]
    assert outputs == [("label", "tensor(int64)"), ("probabilities", "tensor(double)")]
    table, labels, _ = mixed_table()
    session = session_of(obliqua.CartClassifier(random_state=0).fit(table, labels))
    assert [one.name for one in session.get_inputs()] == list(table.columns)


def test_linear_machines_are_refused_by_name() -> None:
    model, _ = case("linear machines")
    with pytest.raises(TreeError, match=r"Node 0 of tree 0 is a linear machine, which ONNX"):
        obliqua.export_onnx(model)
    with pytest.raises(ValueError, match="'double' or 'float'; got 'half'"):
        obliqua.export_onnx(case("votes")[0], numbers="half")


def _two_splits(**first: Any) -> Model:
    """A split by levels that are numbers, below it one where something may stand in or not."""
    builder = TreeBuilder(3, 2)
    builder.add_levels("root", 1, [0, 2, 1], ["a", "b", "split"], unseen=1, missing=2)
    builder.add_split("split", {0: 1.0, 2: -2.0}, 0.25, ["c", "d"], **first)
    for place, leaf in enumerate("abcd"):
        builder.set_leaf(leaf, [place, 2])
    columns = (Column("x"), Column("l", "qualitative", (1, 2.5, -3)), Column("z"))
    return Model((builder.build(),), "single", Encoding(columns), np.array([False, True]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_missing_entries_go_to_their_side(side: str) -> None:
    model = _two_splits(missing=side)
    found = run(session_of(model, leaves=True), [[None, 2.5, 1], [9, 2.5, 1], [1, 7, 1]], "xlz")
    expected = [[{"left": 4, "right": 5}[side]], [5], [2]]
    assert found["leaves"].tolist() == expected
    assert found["label"].dtype == bool


def test_a_missing_entry_without_a_stand_in_has_no_answer() -> None:
    model = _two_splits(fill={0: 3.0})
    rows = [[None, 2.5, 1], [1, None, None], [1, None, 1], [None, 1, None]]
    found = run(session_of(model, leaves=True), rows, "xlz")
    assert found["leaves"].ravel().tolist() == [5, -1, 4, 1]
    assert np.isnan(found["probabilities"]).any(axis=1).tolist() == [False, True, False, False]
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.5, ["a", "b"])
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    found = run(session_of(builder.build()), [[None], [1.0]], "x")
    assert np.isnan(found["probabilities"]).any(axis=1).tolist() == [True, False]


def test_odd_names_and_labels() -> None:
    builder = TreeBuilder(len(NASTY), 2)
    builder.add_split("root", dict.fromkeys(range(len(NASTY)), 1.0), 0.5, ["a", "b"])
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    names = [f"{name}{place}" if name == "same" else name for place, name in enumerate(NASTY)]
    columns = [Column(name) for name in names]
    columns[0] = Column(names[0], "qualitative", ("", "年齢", "</script>"))
    model = Model((builder.build(),), "single", Encoding(tuple(columns)), np.array(["-", "年\n'"]))
    rows = [["年齢", *[0.0] * (len(names) - 1)], ["", *[0.0] * (len(names) - 1)]]
    found = run(session_of(model), rows, names)
    assert found["label"].tolist() == ["年\n'", "-"]


def test_a_tree_that_is_one_leaf() -> None:
    tree = obliqua.CartClassifier(random_state=0).fit([[0.0], [1.0]] * 3, ["a"] * 6)
    assert run(session_of(tree), [[5.0]], "x")["label"].tolist() == ["a"]


def _split(normal: dict[int, float], threshold: float, n: int = 2, **more: Any) -> obliqua.Tree:
    builder = TreeBuilder(n, 2)
    builder.add_split("root", normal, threshold, ["a", "b"], **more)
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    return builder.build()


@pytest.mark.filterwarnings("ignore:.*single precision:obliqua.errors.CastWarning")
def test_numbers_that_are_too_large_spoil_no_other_column() -> None:
    tree = _split({1: 1.0}, 0.5)
    found = run(session_of(tree, leaves=True, numbers="float"), [[1e39, 0.0], [-1e39, 1.0]], "ab")
    assert found["leaves"].ravel().tolist() == [1, 2]
    tree = _split({0: 1e20}, 5e19, n=1, fill={0: 1e19})
    found = run(session_of(tree, leaves=True, numbers="float"), [[0.0], [None]], "a")
    assert found["leaves"].ravel().tolist() == [1, 2]


def test_levels_are_compared_as_they_are() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_levels("root", 0, [0, 1, 0], ["a", "b"], unseen=0, missing=1)
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    for levels in ((2**24, 2**24 + 1, 5), (2**60, 2**60 + 1, 5), ("", "u", "<missing>")):
        column = Column("c0", "qualitative", levels)
        model = Model((builder.build(),), "single", Encoding((column,)), np.arange(2))
        session = session_of(model, numbers="float")
        rows: list[list[Any]] = [[level] for level in (*levels, None)]
        assert run(session, rows, ["c0"])["label"].tolist() == [0, 1, 0, 1]


def test_where_there_is_no_answer_no_tree_votes() -> None:
    trees = (_split({0: 1.0, 1: 1.0}, 0.5, fill={0: 0.0}), _split({0: 1.0}, 0.5, fill={0: 0.0}))
    model = Model(trees, "vote", Encoding.identity(2), np.arange(2))
    found = run(session_of(model), [[1.0, None], [None, 1.0]], "ab")
    assert np.isnan(found["probabilities"]).any(axis=1).tolist() == [True, False]
    column = Column("q", "qualitative", ("u", "v"))
    builder = TreeBuilder(1, 2)
    builder.add_levels("root", 0, [0, 1], ["a", "b"])
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    model = Model((builder.build(),), "single", Encoding((column,)), np.arange(2))
    found = run(session_of(model), [[None], ["v"]], "q")
    assert np.isnan(found["probabilities"]).any(axis=1).tolist() == [True, False]


def test_a_graph_without_rows_to_test_says_so() -> None:
    with pytest.raises(ValueError, match="carries no rows"):
        obliqua.run_onnx_tests(obliqua.export_onnx(_split({0: 1.0}, 0.5), n_tests=0))


def test_linear_leaves_far_from_zero_pass_their_tests() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 0] += 1e5
    model = obliqua.CartRegressor(leaf_model="linear").fit(X, X[:, 0] - 1e5 + (X[:, 1] > 0))
    assert obliqua.run_onnx_tests(obliqua.export_onnx(model)) > 2


def test_only_names_that_cannot_be_inputs_are_written_otherwise() -> None:
    columns = (Column("a", "qualitative", ("u",)), Column("label"), Column("x"))
    model = Model((_split({1: 1.0}, 0.5, n=3),), "single", Encoding(columns), np.arange(2))
    names = [one.name for one in session_of(model).get_inputs()]
    assert names == ["a", "'label'#1", "x"]
    found = run(session_of(model), [["u", 1.0, 0.0]], ["a", "label", "x"])
    assert found["label"].tolist() == [1]
