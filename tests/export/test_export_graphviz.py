"""Graphs in DOT: read back by a strict reader of the language."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from obliqua import Tree, export_graphviz
from problems import examples
from strategies import trees
from trees_to_read import NASTY, mixed, nasty, oblique, single

# --- a reader of the part of DOT that is written ---------------------------------------------

TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<word>[A-Za-z_][A-Za-z0-9_]*|[0-9]+)'
    r"|(?P<sign>->|[{}\[\];,=]))"
)
Attributes = dict[str, str]


def tokens(source: str) -> list[str]:
    found, place = [], 0
    source = source.rstrip()
    while place < len(source):
        match = TOKEN.match(source, place)
        assert match is not None, f"no token of DOT at {source[place : place + 40]!r}"
        found.append(match[0].strip())
        place = match.end()
    return found


def unescape(text: str) -> list[str]:
    """The lines that Graphviz would show for a quoted label."""
    assert text[0] == text[-1] == '"'
    lines = [""]
    for part in re.findall(r"\\.|&\w+;|.", text[1:-1]):
        if part == "\\n":
            lines.append("")
        else:
            assert part not in ("&",) and (part[0] != "\\" or part[1] in '\\"'), part
            lines[-1] += {"&amp;": "&"}.get(part, part[-1])
    return lines


def parse(source: str) -> tuple[dict[int, Attributes], dict[tuple[int, int], Attributes]]:
    """The boxes and arrows of a graph, with their attributes."""
    words = tokens(source)
    assert words[:3] == ["digraph", "tree", "{"] and words[-1] == "}"
    boxes: dict[int, Attributes] = {}
    arrows: dict[tuple[int, int], Attributes] = {}
    place = 3
    while place < len(words) - 1:
        end = words.index(";", place)
        statement = words[place:end]
        place = end + 1
        opening = statement.index("[")
        assert statement[-1] == "]"
        inside = statement[opening + 1 : -1]
        assert inside[1::4] == ["="] * len(inside[::4]) and set(inside[3::4]) <= {","}
        attributes = dict(zip(inside[::4], inside[2::4], strict=True))
        head = statement[:opening]
        if head[0] in ("node", "edge"):
            continue
        if len(head) == 3:
            assert head[1] == "->"
            arrows[int(head[0]), int(head[2])] = attributes
        else:
            assert int(head[0]) not in boxes
            boxes[int(head[0])] = attributes
    return boxes, arrows


def label(attributes: Attributes) -> str:
    return "\n".join(line.strip() for line in unescape(attributes["label"]))


# --- what is written -------------------------------------------------------------------------


def test_a_small_tree() -> None:
    names = {"feature_names": ["age", "bmi"], "class_names": ["healthy", "ill"]}
    boxes, arrows = parse(export_graphviz(oblique(), **names))
    assert [label(boxes[node]) for node in range(4)] == [
        "age + 0.37*bmi <= 45\n100 rows",
        "age <= 40\n59 rows",
        "ill\n41 rows, 95 %",
        "healthy\n51 rows, 98 %",
    ]
    assert {edge: label(text) for edge, text in arrows.items()} == {
        (0, 1): "yes",
        (0, 2): "no",
        (1, 3): "yes",
        (1, 4): "no",
        (4, 5): "yes",
        (4, 6): "no",
    }


def test_all_kinds_of_nodes() -> None:
    boxes, arrows = parse(export_graphviz(mixed()))
    assert label(boxes[0]) == "which colour?\n27 rows, weight 29.5"
    assert label(boxes[2]) == "which of 3 scores is largest?\n10 rows, weight 12.5"
    assert [label(arrows[0, child]) for child in (1, 2, 3)] == [
        "red, blue",
        "green or any other level",
        "`a,b` or missing",
    ]
    assert label(arrows[2, 5]) == "-size + 3"
    assert label(boxes[8]) == "x\nno rows" and boxes[8]["fillcolor"] == '"#ffffff"'


def test_colours_say_class_and_share() -> None:
    boxes, _ = parse(export_graphviz(oblique()))
    blue, pale = boxes[3]["fillcolor"], boxes[6]["fillcolor"]
    assert blue != pale and re.fullmatch(r'"#[0-9a-f]{6}"', blue)
    assert boxes[2]["fillcolor"] != blue
    plain, _ = parse(export_graphviz(oblique(), filled=False))
    assert all("fillcolor" not in attributes for attributes in plain.values())
    one_class, _ = parse(export_graphviz(single([3], 3)))
    assert label(one_class[0]) == "class 0\n3 rows, 100 %"


def test_what_is_below_is_counted() -> None:
    boxes, arrows = parse(export_graphviz(oblique(), max_depth=1))
    assert sorted(boxes) == [0, 1, 2] and len(arrows) == 2
    assert label(boxes[1]) == "class 0\n59 rows, 90 %\n(3 leaves below)"
    assert "dashed" in boxes[1]["style"] and "style" not in boxes[2]


def test_nasty_names_are_shown_as_they_are_written() -> None:
    source = export_graphviz(nasty(), feature_names=NASTY, class_names=NASTY, max_terms=None)
    boxes, _ = parse(source)
    shown = " ".join(" ".join(unescape(box["label"])) for box in boxes.values())
    source.encode("utf-8")
    for written in (
        r"`two\nlines`",
        '`say "x"`',
        "<b>bold</b> & more",
        "年齢",
        r"`back\slash\n`",
        "``",
        "`{a|b}`",
        r"`half \ud800`",
        "a -> b; }",
        "same [10]",
        r"\u202egnirts",
    ):
        assert written in shown, written


@examples(100)
@given(trees())
def test_every_node_is_a_box(tree: Tree) -> None:
    boxes, arrows = parse(export_graphviz(tree, max_terms=2))
    assert sorted(boxes) == list(range(tree.n_nodes))
    parent = tree.parent.tolist()
    assert sorted(arrows) == sorted((parent[k], k) for k in range(1, tree.n_nodes))


# --- files -----------------------------------------------------------------------------------


def test_to_a_path_and_to_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.dot"
    path.write_text("old")
    text = export_graphviz(oblique(), path, feature_names=["年齢", "bmi"])
    assert path.read_bytes().decode("utf-8") == text
    assert [file.name for file in tmp_path.iterdir()] == ["tree.dot"]
    export_graphviz(oblique(), str(path))
    assert "x0" in path.read_text("utf-8")
    file = io.StringIO()
    assert export_graphviz(oblique(), file) == file.getvalue()


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tree.dot"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        export_graphviz(oblique(), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["tree.dot"]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing.tree\.dot'.* does not exist") as caught:
        export_graphviz(oblique(), tmp_path / "missing" / "tree.dot")
    assert ".tmp" not in str(caught.value)
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        export_graphviz(oblique(), tmp_path)
    with pytest.raises(OSError, match="null"):
        export_graphviz(oblique(), "a\0b")
    with pytest.raises(TypeError, match="out_file must be a path or a file that is open"):
        export_graphviz(oblique(), 3.5)
    with pytest.raises(TypeError, match="open for text"):
        export_graphviz(oblique(), io.BytesIO())
    with pytest.raises(ValueError, match="digits must be an integer of at least 1; got 0"):
        export_graphviz(oblique(), digits=0)
    with pytest.raises(ValueError, match="max_depth must be None or an integer of at least 0"):
        export_graphviz(oblique(), max_depth=-1)


def test_of_many_classes_three_are_named() -> None:
    tree = single(list(np.arange(26.0)), 325)
    boxes, _ = parse(export_graphviz(tree))
    assert label(boxes[0]) == "class 25\n325 rows, 8 %; class 24: 7 %,\nclass 23: 7 %, 22 more"
