"""Trees in a terminal: what is written, how wide, and for how deep a tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from obliqua import (
    CartClassifier,
    HHCartClassifier,
    Tree,
    TreeBuilder,
    export_graphviz,
    export_text,
)
from obliqua.data.encoding import Column, Encoding
from obliqua.tree.model import Model
from obliqua.words.phrases import (
    cells,
    fill_lines,
    written_label,
    written_number_of_rows,
    written_share,
)
from problems import examples
from strategies import trees
from trees_to_read import NASTY, chain, mixed, nasty, oblique, single

NAMES = {"feature_names": ["age", "bmi"], "class_names": ["healthy", "ill"]}

PLAIN = """\
4 leaves, depth 3; 100 rows, healthy: 55 %

age + 0.37*bmi <= 45 (100 rows)
├─ yes: age <= 40 (59 rows)
│  ├─ yes: healthy (51 rows, 98 %)
│  └─ no:  age <= 42.5 (8 rows)
│     ├─ yes: ill (4 rows, 100 %)
│     └─ no:  healthy (4 rows, 75 %)
└─ no:  ill (41 rows, 95 %)"""

DETAILED = """\
4 leaves, depth 3; 100 rows, healthy: 55 %

age + 0.37*bmi <= 45 (100 rows)
|    1 unit of bmi counts as 0.37 of age
|    per standard deviation: age 10, bmi 1.85
|    gain 0.3, 20 % above the best axis-parallel split (0.25)
|    proposed by: mean of\\nclasses
|- yes: age <= 40 (59 rows)
|  |    gain 0.02
|  |    proposed by: axis-parallel
|  |- yes: healthy (51 rows, 98 %)
|  `- no:  age <= 42.5 (8 rows)
|     |- yes: ill (4 rows, 100 %)
|     `- no:  healthy (4 rows, 75 %)
`- no:  ill (41 rows, 95 %)"""

MIXED = """\
6 leaves, depth 2; 27 rows, weight 29.5, x: 54 %

which colour? (27 rows, weight 29.5)
├─ red, blue: x (10 rows, 60 %; y: 30 %, z: 10 %)
├─ green or any other level: which of 3 scores is largest? (10 rows, weight 12.5)
│  ├─ 2*size - 1: y (1 row, weight 2.5, 100 %)
│  ├─ -size + 3: x (9 rows, 100 %)
│  └─ -0.5: x (weight 1, 100 %)
└─ `a,b` or missing: size + score(colour) >= -0.25 (7 rows)
   │    score(colour): blue 0.75, red -0.5, any other level 0, missing -0.5
   │    missing counts as: size 2
   ├─ yes: z (7 rows, 100 %)
   └─ no:  x (no rows)"""


def test_a_small_tree() -> None:
    assert export_text(oblique(), **NAMES) == PLAIN


def test_details_and_ascii() -> None:
    assert export_text(oblique(), details=True, style="ascii", **NAMES) == DETAILED


def test_all_kinds_of_nodes() -> None:
    assert export_text(mixed(), details=True) == MIXED


def test_a_tree_that_asks_nothing() -> None:
    assert (
        export_text(single([3, 1], 4))
        == "1 leaf, depth 0; 4 rows, class 0: 75 %\n\nclass 0 (4 rows, 75 %)"
    )
    assert export_text(single([0, 0])) == "1 leaf, depth 0; no rows\n\nclass 0 (no rows)"


def test_what_is_below_is_counted() -> None:
    shown = export_text(oblique(), max_depth=1, **NAMES).splitlines()
    assert shown[3] == "├─ yes: healthy … (3 leaves below, 59 rows, 90 %)"
    assert len(shown) == 5
    assert export_text(oblique(), max_depth=0).splitlines()[2:] == [
        "class 0 … (4 leaves below, 100 rows, 55 %)"
    ]


def test_features_are_left_out_and_counted() -> None:
    assert "age + (1 more) <= 45" in export_text(oblique(), max_terms=1, **NAMES)
    assert "(2 terms) <= 45" in export_text(oblique(), max_terms=0, details=True, **NAMES)


def test_no_rates_without_terms() -> None:
    builder = TreeBuilder(3, 1)
    builder.add_split("root", {0: 3.0, 1: 2.0, 2: 1.0}, 1.0, ("low", "high"))
    builder.set_leaf("low", [1], 1)
    builder.set_leaf("high", [1], 1)
    tree = builder.build()
    counts = [
        export_text(tree, max_terms=n, details=True).count("unit of") for n in (0, 1, 2, 3, None)
    ]
    assert counts == [0, 0, 1, 2, 2]


@pytest.mark.parametrize("kind", ["split", "machine"])
def test_what_stands_in_is_written_for_shown_terms_only(kind: str) -> None:
    builder = TreeBuilder(4, 1)
    fill = {0: 40.0, 1: 30.0, 2: 20.0, 3: 10.0}
    sums = {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}
    if kind == "split":
        builder.add_split("root", sums, 1.0, ("low", "high"), fill=fill)
    else:
        builder.add_machine("root", [sums, {}], [1.0, 0.0], ("low", "high"), fill=fill)
    builder.set_leaf("low", [1], 1)
    builder.set_leaf("high", [1], 1)
    tree = builder.build()
    written = []
    for n in (0, 1, 2, None):
        lines = export_text(tree, max_terms=n, details=True).splitlines()
        written.append([line[5:] for line in lines if "missing" in line])
    assert written == [
        [],
        ["missing counts as: x3 10"],
        ["missing counts as: x2 20, x3 10"],
        ["missing counts as: x0 40, x1 30, x2 20, x3 10"],
    ]


@pytest.mark.parametrize(
    ("coef", "fill", "written"),
    [
        (1.0, 5.0, ["missing goes on at: yes"]),
        (1.0, 6.0, ["missing goes on at: no"]),
        (-1.0, -6.0, ["missing goes on at: no"]),
        (-1.0, -4.0, ["missing goes on at: yes"]),
        (1.0, None, []),
    ],
)
def test_where_a_missing_number_goes_on(
    coef: float, fill: float | None, written: list[str]
) -> None:
    """Of one number no more than the side counts; the number that stands in says nothing."""
    builder = TreeBuilder(1, 1)
    filled = {} if fill is None else {0: fill}
    builder.add_split("root", {0: coef}, 5.0, ("left", "right"), fill=filled)
    builder.set_leaf("left", [1], 1)
    builder.set_leaf("right", [1], 1)
    tree = builder.build()
    lines = export_text(tree, details=True).splitlines()
    assert [line[5:] for line in lines if "missing" in line] == written
    if fill is not None:
        reached = int(tree.apply(np.array([[np.nan]]))[0])
        assert reached == (1 if written[0].endswith("yes") else 2)


@pytest.mark.parametrize(
    ("rows", "weight", "written"),
    [
        (569, 569.0000001, "569 rows"),
        (569, 569.02, "569 rows"),
        (569, 569.06, "569 rows, weight 569.1"),
        (1000, 1000.9, "1,000 rows, weight 1001"),
        (12345, 12345.0, "12,345 rows"),
        (1, 2.5, "1 row, weight 2.5"),
        (0, 0.0, "no rows"),
    ],
)
def test_a_weight_is_written_where_it_reads_differently(
    rows: int, weight: float, written: str
) -> None:
    assert written_number_of_rows(rows, weight) == written


def test_balanced_classes_weigh_what_their_rows_do() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = CartClassifier(max_depth=1, pruning=None, class_weight="balanced").fit(X, y)
    assert float(model.tree_.weighted_n_node_samples[0]) != 569.0
    assert "; 569 rows, class " in export_text(model).splitlines()[0]


def test_of_many_classes_three_are_named() -> None:
    tree = single([float(k) for k in range(26)], 325)
    letters = [chr(ord("a") + k) for k in range(26)]
    last = export_text(tree, class_names=letters).splitlines()[-1]
    assert last == "z (325 rows, 8 %; y: 7 %, x: 7 %, 22 more)"


def test_a_number_is_called_a_class() -> None:
    written = [written_label(name) for name in ("3", "-1", "2.5", "True", "3rd", "iv")]
    assert written == ["class 3", "class -1", "class 2.5", "class True", "3rd", "iv"]


def test_an_estimator_knows_its_names() -> None:
    import pandas

    X = pandas.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "bmi": [1.0, 0.0, 1.0, 0.0]})
    model = CartClassifier(pruning=None).fit(X, ["no", "no", "yes", "yes"])
    assert export_text(model).splitlines()[2:] == [
        "age <= 2.5 (4 rows)",
        "├─ yes: no (2 rows, 100 %)",
        "└─ no:  yes (2 rows, 100 %)",
    ]


@pytest.mark.parametrize("width", [60, 100])
def test_lines_stay_narrow(width: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = (X @ rng.normal(size=12) + rng.normal(size=300) > 0).astype(int)
    names = [f"a rather long name {k}" for k in range(12)]
    model = HHCartClassifier(pruning=None).fit(X, y)
    text = export_text(model, feature_names=names, details=True, width=width)
    assert model.get_depth() > 3
    assert max(map(cells, text.splitlines())) <= width
    assert text.count("rows,") + text.count("row,") == model.get_n_leaves() + 1


def test_a_deep_tree_starts_again_at_the_margin() -> None:
    text = export_text(chain(5000))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    # A line per node, and three more for each new start.
    starts = [line for line in lines if line.startswith("[")]
    assert len(lines) == 2 + 10001 + 3 * len(starts)
    for line in starts[:3]:
        assert text.count(f"go on at {line.partition(' ')[0]} below") == 1


def test_names_keep_to_their_lines() -> None:
    usual = export_text(nasty(), max_terms=None, width=10_000, details=True)
    text = export_text(
        nasty(), feature_names=NASTY, class_names=NASTY, max_terms=None, width=10_000, details=True
    )
    assert text.isprintable() or set(text) - {c for c in text if c.isprintable()} == {"\n"}
    assert len(text.splitlines()) == len(usual.splitlines())
    assert "`two\\nlines`" in text and "年齢" in text and "`half \\ud800`" in text
    assert "same [10]" in text and "same [11]" in text


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"style": "emoji"}, "style must be one of 'unicode', 'ascii'; got 'emoji'"),
        ({"max_depth": -1}, "max_depth must be None or an integer of at least 0; got -1"),
        ({"max_terms": -2}, "max_terms must be None or an integer of at least 0; got -2"),
        ({"digits": 0}, "digits must be an integer of at least 1"),
        ({"digits": None}, "digits must be an integer of at least 1; got None"),
        ({"max_depth": "2"}, "max_depth must be None or an integer of at least 0; got '2'"),
        ({"width": 10}, "width must be an integer of at least 40; got 10"),
        ({"feature_names": ["a"]}, "each of the 2 columns; got 1 names"),
    ],
)
def test_parameters_that_make_no_sense(wrong: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        export_text(oblique(), **wrong)


@examples(100)
@given(trees(), st.booleans())
def test_every_leaf_is_written_once(tree: Tree, details: bool) -> None:
    text = export_text(tree, details=details, width=200)
    assert len(text.splitlines()) >= tree.n_nodes + 2
    assert text.count("└─ ") == tree.n_nodes - tree.n_leaves


@given(st.text(max_size=30))
def test_a_class_stays_on_one_line(name: str) -> None:
    assert len(written_label(name).splitlines()) == 1
    assert written_label(name).strip()


@given(st.floats(0, 1))
def test_only_what_is_whole_reads_so(share: float) -> None:
    written = written_share(share)
    assert (written == "100 %") == (share == 1.0)
    assert (written == "0 %") == (share == 0.0)


def test_wide_letters_take_two_columns() -> None:
    assert cells("年齢") == 4
    assert cells("e\u0301") == 1
    assert fill_lines(["年齢", "年齢"], 8) == ["年齢", "年齢"]
    assert fill_lines(["年齢", "年齢"], 9) == ["年齢 年齢"]
    assert fill_lines(["a long piece", "b"], 6) == ["a long", "piece", "b"]


def test_lines_are_not_broken_in_backquotes() -> None:
    assert fill_lines(["in {`a  long, piece`, `b``  c d`, e}"], 6) == [
        "in",
        "{`a  long, piece`,",
        "`b``  c d`,",
        "e}",
    ]
    assert fill_lines(["it`s a long piece"], 6) == ["it`s a", "long", "piece"]
    builder = TreeBuilder(1, 1)
    builder.add_levels("root", 0, [0, 1, 0], ("low", "high"))
    builder.set_leaf("low", [1], 1)
    builder.set_leaf("high", [1], 1)
    town = Column(
        "town",
        "qualitative",
        ("two  blanks, a comma", "b", "and  some more of them, and even more"),
    )
    model = Model((builder.build(),), "single", Encoding((town,)), np.array(["yes,  I do"]))
    for text in (export_text(model, width=40), export_graphviz(model)):
        for level in (0, 2):
            assert f"`{town.levels[level]}`" in text
        assert "`yes,  I do`" in text
