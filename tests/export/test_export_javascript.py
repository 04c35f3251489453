"""`export_javascript`: the module says in Node what the model says, to the last bit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obliqua
from export_cases import MAKERS, case, equal_to, raw_rows
from node import node, run_module
from obliqua import TreeBuilder
from obliqua.data.encoding import Column, Encoding
from obliqua.errors import CostWarning
from obliqua.export.computation import Computation
from obliqua.tree.model import Model
from trees_to_read import NASTY

pytestmark = pytest.mark.needs("node")


@pytest.mark.parametrize("name", MAKERS)
def test_the_module_computes_what_the_model_does(name: str, tmp_path: Path) -> None:
    model, rows = case(name)
    inner = Computation.of(model).model
    text = obliqua.export_javascript(model)
    said = run_module(text, raw_rows(model, rows), tmp_path)
    assert said["leaves"] == inner.apply(rows).reshape(len(rows), -1).tolist()
    answers = inner.predict_proba(rows) if inner.n_classes else inner.predict(rows)
    for said_of_row, answer in zip(said["answers"], answers.reshape(len(rows), -1), strict=True):
        assert said_of_row == equal_to(inner, answer)
    assert said["labels"] == inner.predict(rows).tolist()
    assert said["tested"] > 3
    assert said["columns"] == list(inner.encoding.names)
    assert said["classes"] == inner.classes.tolist()
    assert text.isascii()


def stump(columns: list[Column], labels: Any) -> Model:
    """A tree that asks about the first column, which is the only one if it has levels."""
    builder = TreeBuilder(len(columns), 2)
    if columns[0].levels:
        branches = np.arange(len(columns[0].levels)) % 2
        builder.add_levels("root", 0, branches, ["a", "b"], unseen=1, missing=0)
    else:
        builder.add_split("root", {0: 1.0}, 0.5, ["a", "b"])
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    return Model((builder.build(),), "single", Encoding(tuple(columns)), np.array(labels))


HARD = [*dict.fromkeys(NASTY), "</script>", "<!--", "__proto__", "constructor", "toString", "*/"]
HARD += ["'", "${x}", "x" * 200, "\U0001f600", "class", "length", "0"]


def test_nasty_names_levels_and_labels(tmp_path: Path) -> None:
    columns = [Column("l", "qualitative", tuple(HARD)), *map(Column, HARD)]
    text = obliqua.export_javascript(stump(columns, ["</script><!--", "\u2028'\"\\"]))
    assert text.isascii()
    assert not re.search("</script|<!--", text.partition("// --- What follows")[0])
    rows = [dict.fromkeys(["l", *HARD], 1.0) | {"l": level} for level in [*HARD, "other", None]]
    said = run_module(text, rows, tmp_path)
    assert said["columns"] == ["l", *HARD]
    branches = [k % 2 for k in range(len(HARD))] + [1, 0]
    assert said["leaves"] == [[1 + branch] for branch in branches]
    assert said["labels"] == [["</script><!--", "\u2028'\"\\"][branch] for branch in branches]
    assert said["tested"] > 3


def test_the_runtime_is_safe_in_a_page() -> None:
    runtime = obliqua.export_javascript(stump([Column("x")], [0, 1]))
    assert "</" not in runtime
    assert "<!" not in runtime
    assert "-->" not in runtime


def test_columns_of_the_same_name_want_arrays(tmp_path: Path) -> None:
    text = obliqua.export_javascript(stump([Column("same"), Column("same")], [0, 1]))
    said = run_module(text, [{"same": 1.0}, [1.0, 2.0]], tmp_path)
    assert "same name" in said["leaves"][0]["error"]
    assert said["leaves"][1] == [2]
    assert said["tested"] > 3


def test_ten_thousand_levels_are_written_once(tmp_path: Path) -> None:
    levels = tuple(f"level {k}" for k in range(10_000))
    builder = TreeBuilder(2, 2)
    table = np.arange(10_000) / 7
    for k in range(50):
        names = (f"leaf {k}", f"node {k + 1}" if k < 49 else "last")
        name = f"node {k}" if k else "root"
        tables, fill = {0: table}, {0: 0.5, 1: 0.5}
        builder.add_split(name, {0: 1.0, 1: 1.0}, 20.0 * k, names, tables=tables, fill=fill)
        builder.set_leaf(names[0], [k, 1])
    builder.set_leaf("last", [0, 1])
    columns = (Column("l", "qualitative", levels), Column("x"))
    model = Model((builder.build(),), "single", Encoding(columns), np.array(["a", "b"]))
    text = obliqua.export_javascript(model, n_tests=100)
    assert len(text) < 1_000_000
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(-1, 10_000, 500), rng.normal(size=500)], axis=1)
    said = run_module(text, raw_rows(model, codes), tmp_path)
    assert said["leaves"] == model.apply(codes)[:, None].tolist()
    assert said["tested"] == 100


def test_other_levels_go_with_those_that_are_not_named(tmp_path: Path) -> None:
    levels = Column("l", "qualitative", (3, 1, True, "rest"), others=True)
    said = run_module(
        obliqua.export_javascript(stump([levels], ["a", "b"])), [[3], [1], [8], [False]], tmp_path
    )
    # 1 is true, and the level true is the later one; what is not named is the last.
    assert [levels.code(value) for value in (3, 1, 8, False)] == [0, 2, 3, 3]
    assert said["leaves"] == [[1], [1], [2], [2]]


def test_rows_that_are_refused(tmp_path: Path) -> None:
    """What is absent, of another type or not there at all is an error that names the column."""
    columns = [Column("town", "qualitative", ("Aa", "Bb")), Column("__proto__"), Column("age")]
    text = obliqua.export_javascript(stump(columns, [False, True]))
    sound = {"town": "Aa", "__proto__": 1, "age": None}
    wrong = [
        ({"town": "Aa", "age": 1}, 'The row has no "__proto__". Give null'),
        (sound | {"age": "3"}, '"age" is one of numbers; got the text "3"'),
        (sound | {"age": {}}, '"age" is one of numbers; got an object'),
        (sound | {"town": 3}, '"town" are text; got number 3'),
        (sound | {"town": ["Aa"]}, '"town" takes text'),
        (["Aa", 1], "has 3 entries, one for each column; got 2"),
        (None, "an object or an array; got an object"),
        (7, "an object or an array; got number 7"),
    ]
    said = run_module(text, [sound, ["Cc", None, True], *(row for row, _ in wrong)], tmp_path)
    assert said["labels"][:2] == [False, True]
    for got, (_, message) in zip(said["labels"][2:], wrong, strict=True):
        assert message in got["error"]


def test_no_answer_throws(tmp_path: Path) -> None:
    text = obliqua.export_javascript(stump([Column("x")], ["a", "b"]))
    said = run_module(text, [[None], {"x": None}, {}], tmp_path)
    assert "There is no answer" in said["leaves"][0]["error"]
    assert "There is no answer" in said["labels"][1]["error"]
    assert 'has no "x"' in said["labels"][2]["error"]


def test_a_regressor_has_no_shares(tmp_path: Path) -> None:
    path = tmp_path / "m.mjs"
    path.write_text(obliqua.export_javascript(case("numbers")[0]))
    script = "import(process.argv[1]).then((m) => m.predictProba([])).catch((e) => "
    assert "says numbers" in node(f"{script} console.log(e.message))", str(path))


def test_integers_beyond_doubles_stay_exact(tmp_path: Path) -> None:
    big = 2**53 + 1
    model = stump([Column("l", "qualitative", (big - 1, big, 3))], [big, 5])
    path = tmp_path / "m.mjs"
    path.write_text(obliqua.export_javascript(model))
    script = """
    const m = await import(process.argv[1]);
    const levels = [9007199254740992, 9007199254740993n, 9007199254740992n, 3n, 2n ** 2000n];
    console.log(m.selfTest(), String(m.classes), String(levels.map((l) => m.apply([l]))));
    """
    tested, classes, leaves = node(script, str(path)).split()
    assert int(tested) > 3
    assert classes == f"{big},5"
    assert leaves == "1,2,1,1,2"


def test_log_odds_become_shares(tmp_path: Path) -> None:
    """Sums as they are, told to be log odds; models that say so have a step of their own."""
    model, rows = case("sum of numbers about classes")
    text = obliqua.export_javascript(model, n_tests=0)
    text = text.replace('const FINISH = "sum"', 'const FINISH = "log_odds"')
    text = re.sub(r"const START = .*;", "const START = 0;", text)
    said = run_module(text, raw_rows(model, rows), tmp_path)
    sums = sum(
        added[tree.apply(rows)] for tree, added in zip(model.trees, model.added, strict=True)
    )
    odds = np.exp(sums - sums.max(axis=1, keepdims=True))
    shares = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(said["answers"], shares, rtol=1e-14)
    assert said["labels"] == model.classes[sums.argmax(axis=1)].tolist()


def test_a_changed_module_fails_its_self_test(tmp_path: Path) -> None:
    model, _ = case("one oblique tree")
    text = obliqua.export_javascript(model)
    coefficients = re.search(r'"coef":\[([^,]*),', text)
    assert coefficients is not None
    first = coefficients[1]
    turned = text.replace(coefficients[0], f'"coef":[{-float(first)},', 1)
    said = run_module(turned, [], tmp_path)
    assert "of the self-test reaches the leaves" in said["tested"]["error"]
    for change in ('"chooses":[', '"says":['):
        place = text.index(change) + len(change)
        other = f"{text[:place]}{2 if text[place] != '2' else 3}{text[place + 1 :]}"
        assert "of the self-test" in run_module(other, [], tmp_path)["tested"]["error"]


def test_the_tests_are_rows_of_the_user_if_given(tmp_path: Path) -> None:
    model, rows = case("one oblique tree")
    text = obliqua.export_javascript(model, test_rows=rows[:5])
    assert run_module(text, [], tmp_path)["tested"] == 5
    assert run_module(obliqua.export_javascript(model, n_tests=0), [], tmp_path)["tested"] == 0
    with pytest.raises(ValueError, match="n_tests must be"):
        obliqua.export_javascript(model, n_tests=-1)


def test_what_cannot_be_exported_is_refused() -> None:
    with pytest.raises(TypeError, match="can be read; got int"):
        obliqua.export_javascript(3)
    odd = stump([Column("l", "qualitative", ((1, 2), "b"))], [0, 1])
    with pytest.raises(TypeError, match="one of type tuple"):
        obliqua.export_javascript(odd)


def test_a_large_module_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = case("forest")
    size = len(obliqua.export_javascript(model, n_tests=0))
    monkeypatch.setattr("obliqua.export.cost.LARGE", size / 4)
    with pytest.warns(CostWarning, match="A JavaScript module of 7 trees"):
        obliqua.export_javascript(model, n_tests=0)


@pytest.mark.filterwarnings("error")
def test_what_is_announced_is_about_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 8)), rng.integers(0, 4, 2000)
    model = obliqua.ObliqueForestClassifier(20, random_state=0).fit(X, y)
    for write in (obliqua.export_javascript, obliqua.export_json):
        monkeypatch.setattr("obliqua.export.cost.LARGE", 0)
        with pytest.warns(CostWarning, match="takes about") as told:
            text = write(model, n_tests=0)
        said = re.search(r"about ([\d,.]+) MB", str(told[0].message))
        assert said is not None
        assert 0.5 < 1e6 * float(said[1].replace(",", "")) / len(text) < 2


def test_infinite_numbers_are_compared_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "m.mjs"
    path.write_text(obliqua.export_javascript(stump([Column("x")], ["a", "b"])))
    script = "const m = await import(process.argv[1]);"
    script += "console.log(JSON.stringify([Infinity, -Infinity].map((x) => m.apply({ x }))))"
    assert json.loads(node(script, str(path))) == [[2], [1]]


@pytest.mark.parametrize("name", ["floats", "levels and gaps", "forest"])
def test_json_that_javascript_has_written_again_is_read(name: str) -> None:
    """Its numbers are the same, but it writes 1 for 1.0."""
    levels = Column("l", "qualitative", (1.0, 2.5, 3.0))
    model = stump([levels], [1.0, 2.5]) if name == "floats" else case(name)[0]
    script = 'import { readFileSync } from "node:fs";'
    script += "process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0))))"
    text = node(script, stdin=obliqua.export_json(model))
    again = Computation.of(obliqua.from_json(text)).model
    assert again == Computation.of(model).model


def test_the_page_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "guides" / "export_javascript.md"
    blocks = dict(re.findall(r"^```(python|js)\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S))
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks["python"], "page", "exec"), {})
    Path("use.mjs").write_text(blocks["js"])
    tested, label, *rest = node('import "./use.mjs";').splitlines()
    assert int(tested.split()[0]) > 3
    assert label == "yes"
    assert rest == ["[ 0, 1 ] [ 'no', 'yes' ] [ 'age', 'town' ]", "[ 2 ]"]
