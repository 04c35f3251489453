"""``obliqua show``: text, rules, Graphviz and pictures of a saved model."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import obliqua
from cli_tools import Run, Shell, facts, people, table
from obliqua.explain import subclasses
from obliqua.tree.model import Model


def test_facts_tree_and_importances(run: Run, model: Path) -> None:
    result = run("show", "m.obliqua")
    tree = obliqua.load(model)
    assert result.stderr == ""
    said = facts(result.stdout)
    assert said["features"] == "3: a, b, c"
    assert said["classes"] == "2: no, yes"
    assert "HHCartClassifier(pruning=None)" in said["model"]
    assert obliqua.export_text(tree, width=80) in result.stdout
    shares = result.stdout.partition("Importances")[2].splitlines()[1:]
    by_name = {line.split()[0]: float(line.split()[1]) for line in shares}
    assert sum(by_name.values()) == pytest.approx(100, abs=0.2)
    order = sorted(by_name.values(), reverse=True)
    assert list(by_name.values()) == order
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_depth_terms_and_details(run: Run, model: Path) -> None:
    tree = obliqua.load(model)
    text = obliqua.export_text(tree, max_depth=0, max_terms=1, details=True, width=80)
    words = ("show", "m.obliqua", "--depth", "0", "--terms", "1", "--details")
    assert text in run(*words).stdout
    run("show", "m.obliqua", "--depth", "-1", code=2)
    run("show", "m.obliqua", "--terms", "0", code=2)


def test_rules(run: Run, model: Path) -> None:
    text = " ".join(run("show", "m.obliqua", "--rules").stdout.split())
    for rule in obliqua.export_rules(obliqua.load(model), max_terms=5):
        assert rule.text in text


@pytest.mark.parametrize("width", [40, 60, 200])
def test_rules_are_as_wide_as_the_screen(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run("show", "m.obliqua", "--rules").stdout
    rules = shown.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert max(map(len, rules)) <= width
    assert any(line.startswith("    ") for line in rules) == (width == 40)
    every = [rule.text for rule in obliqua.export_rules(obliqua.load(model), max_terms=5)]
    assert " ".join(" ".join(rules).split()) == " ".join(every)


def test_one_of_several_trees(run: Run, data: Path) -> None:
    frame = pl.read_csv(data)
    trees = [
        obliqua.CartClassifier(max_depth=depth, pruning=None).fit(frame["a", "b", "c"], frame["y"])
        for depth in (1, 3)
    ]
    first = trees[0].model_
    two = Model(tuple(t.tree_ for t in trees), "vote", first.encoding, first.classes)
    obliqua.save(two, "two.obliqua")
    result = run("show", "two.obliqua")
    assert obliqua.export_text(two, tree=0, width=80) in result.stdout
    assert "The model has 2 trees" in result.stderr
    assert re.search(r"^trees +2 with \d+ leaves, depth at most \d+$", result.stdout, re.M)
    result = run("show", "two.obliqua", "--tree", "1")
    assert obliqua.export_text(two, tree=1, width=80) in result.stdout
    assert result.stderr == ""
    run("show", "two.obliqua", "--tree", "1", "--dot", "t.dot", "--plot", "t.svg")
    assert Path("t.dot").read_text() == obliqua.export_graphviz(two, tree=1) + "\n"
    assert (
        "has 2 trees, counted from 0" in run("show", "two.obliqua", "--tree", "2", code=1).stderr
    )


def test_graphviz(run: Run, model: Path) -> None:
    result = run("show", "m.obliqua", "--dot", "t.dot")
    assert result.stdout == ""
    assert "dot -Tsvg t.dot" in result.stderr
    assert Path("t.dot").read_text("utf-8").startswith("digraph")


@pytest.mark.parametrize(
    ("name", "magic"), [("t.png", b"\x89PNG"), ("t.SVG", b"<?xml"), ("t.pdf", b"%PDF")]
)
def test_pictures(run: Run, model: Path, data: Path, name: str, magic: bytes) -> None:
    result = run("show", "m.obliqua", "--plot", name)
    assert result.stdout == ""
    assert result.stderr == f"Note: The picture is in {name}.\n"
    plain = Path(name).read_bytes()
    assert plain.startswith(magic)
    run("show", "m.obliqua", "--plot", name, "--data", "data.csv", "-t", "y")
    assert Path(name).read_bytes() != plain
    assert sorted(path.name for path in Path().iterdir()) == sorted(
        ["data.csv", "m.obliqua", name]
    )


def test_subclasses(run: Run, model: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.read_csv(data)
    found = subclasses(obliqua.load(model), rows.select("a", "b", "c"), rows["y"].to_numpy())
    words = ("show", "m.obliqua", "--subclasses", "--data", "data.csv", "-t", "y")
    for width in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = run(*words).stdout
        assert shown == found.text(width) + "\n"
        assert max(map(len, shown.splitlines())) <= max(width, 80)
    assert str(found) == found.text(1000)
    result = run(*words, "--plot", "s.png")
    assert result.stdout == ""
    drawn = Path("s.png").read_bytes()
    run("show", "m.obliqua", "--data", "data.csv", "-t", "y", "--plot", "t.png")
    assert drawn.startswith(b"\x89PNG") and drawn != Path("t.png").read_bytes()


def test_rows_for_a_picture_are_found_by_name(run: Run, model: Path, data: Path) -> None:
    run("show", "m.obliqua", "--plot", "t.svg", "--data", "data.csv")
    pl.read_csv(data).select("c", "y", "b", "a").write_csv("other.csv")
    run("show", "m.obliqua", "--plot", "u.svg", "--data", "other.csv")
    Path("bad.csv").write_text("a,b\n1,2\n")
    result = run("show", "m.obliqua", "--plot", "v.svg", "--data", "bad.csv", code=1)
    assert "lacks 1 column that the model needs: 'c'" in result.stderr
    assert not Path("v.svg").exists()


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--plot", "t.gif"], 2, ".png"),
        (["--plot", "no/t.png"], 1, "is not there"),
        (["--dot", "."], 1, "is a folder"),
        (["--data", "data.csv"], 2, "--plot"),
        (["--subclasses"], 2, "--data"),
        (["--subclasses", "--data", "data.csv"], 2, "--target"),
        (["--subclasses", "--data", "data.csv", "-t", "y", "--rules"], 2, "--rules is not for it"),
        (["--subclasses", "--data", "data.csv", "-t", "y", "--dot", "t.png"], 2, "--dot is not"),
        (["--plot", "t.png", "-t", "y"], 2, "--data"),
        (["--plot", "t.png", "--data", "data.csv", "-t", "z"], 1, "no column 'z'"),
        (["--plot", "t.png", "--data", "data.csv", "-t", "a"], 1, "a quantity"),
    ],
)
def test_refused(
    run: Run, model: Path, data: Path, words: list[str], code: int, part: str
) -> None:
    assert part in run("show", "m.obliqua", *words, code=code).stderr
    assert not Path("t.png").exists()


def test_models_that_cannot_be_shown(run: Run, data: Path) -> None:
    assert "is not there" in run("show", "m.obliqua", code=1).stderr
    assert "model file" in run("show", "data.csv", code=1).stderr


def test_a_tree_by_hand(run: Run) -> None:
    builder = obliqua.TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    builder.set_leaf("low", [8, 1], n_samples=9)
    builder.set_leaf("high", [0, 5], n_samples=5)
    builder.annotate("root", gain=0.4)
    obliqua.save(builder.build(), "hand.obliqua")
    result = run("show", "hand.obliqua")
    assert "x0 + 0.37*x1 <= 45" in result.stdout
    assert "Importances are not known" in result.stderr
    builder = obliqua.TreeBuilder(n_features=1, n_stats=2)
    builder.set_leaf("root", [8, 1], n_samples=9)
    obliqua.save(builder.build(), "leaf.obliqua")
    assert facts(run("show", "leaf.obliqua").stdout)["features per split"] == "-"


def test_odd_names(run: Run) -> None:
    Path("t.csv").write_text(table().replace("a,b", '"[bold]a\n<b>",":smile:"', 1), "utf-8")
    run("fit", "t.csv", "-t", "y", "-o", "m.obliqua")
    text = run("show", "m.obliqua").stdout
    assert r"3: [bold]a\n<b>, :smile:, c" in text
    run("show", "m.obliqua", "--plot", "t.svg", "--data", "t.csv", "-t", "y")
    run("show", "m.obliqua", "--dot", "t.dot")


@pytest.mark.parametrize("width", [40, 80])
def test_names_are_kept_together(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """A comma, a sign or two blanks in backquotes are no place for the end of a line."""
    monkeypatch.setenv("COLUMNS", str(width))
    towns = ("Rome", "Oslo <  Norway, north", "Bonn - Bad Godesberg,  Rhine")
    text = people(90, towns=("Rome", *(f'"{town}"' for town in towns[1:])), gaps=False)
    Path("t.csv").write_text(text.replace("town", '"town with, comma"', 1), "utf-8")
    made = facts(run("fit", "t.csv", "-t", "y", "-o", "m.obliqua").stdout)
    assert made["levels"].startswith("`town with, comma`")
    result = run("show", "m.obliqua", "--rules").stdout
    assert "4: age, `town with, comma`, job, size" in " ".join(result.split())
    rules = result.partition("\n\n")[2].partition("\n\n")[0]
    lines = [line for line in rules.splitlines() if "`" in line]
    assert all(line.count("`") % 2 == 0 for line in lines)
    assert any(f"`{town}`" in rules for town in towns[1:])


def test_a_screen_without_lines(shell: Shell, model: Path) -> None:
    done = shell("PYTHONIOENCODING=ascii obliqua show m.obliqua")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "yes:" in done.stdout


def test_costs_are_told(run: Run, data: Path) -> None:
    words = ("fit", "data.csv", "-t", "y", "-m", "cart", "-o", "m.obliqua")
    fitted = run(*words, "--set", "costs=[[0, 1], [5, 0]]").stdout
    said = "from 1 to 5; leaves say the class that costs least"
    shown = run("show", "m.obliqua").stdout
    assert facts(fitted)["costs"] == facts(shown)["costs"] == said
    assert "Leaves say the class that costs least" in shown
    run(*words)
    assert "costs" not in run("show", "m.obliqua").stdout
