"""Splits on levels: what is written names them, and sends every row as the tree does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import (
    CartClassifier,
    HHCartClassifier,
    Tree,
    TreeBuilder,
    export_graphviz,
    export_rules,
    export_text,
)
from obliqua.data.encoding import Column, Encoding
from obliqua.export import Between, OneOf
from obliqua.tree.model import Model
from obliqua.words.levels import asks_for_levels, level_branches, written_levels
from obliqua.words.question import conditions, question_of
from obliqua.words.subject import subject_of
from problems import examples
from rules_reader import Reader, _masked, _unmasked
from strategies import rows, trees
from trees_to_read import NASTY, people, strangers

METHODS = {
    "cart": CartClassifier(pruning=None, max_depth=5),
    "hhcart": HHCartClassifier(variant="dominant", pruning=None, max_depth=4),
    "three": HHCartClassifier(pruning=None, max_depth=4, max_features_per_split=3),
    "training": HHCartClassifier(pruning=None, max_depth=3, fill="training"),
}
X_NAMES = ["x0", "x1", "x2", "x3"]
each_method = pytest.mark.parametrize("method", METHODS)


def one_column(
    table: list[float],
    levels: tuple[Any, ...],
    threshold: float = 0.0,
    fill: float | None = 0.0,
    coef: float = 1.0,
) -> Model:
    """A split on the scores of one column."""
    builder = TreeBuilder(1, 2)
    fills = None if fill is None else {0: fill}
    split = {"tables": {0: table}, "fill": fills}
    builder.add_split("root", {0: coef}, threshold, ("a", "b"), **split)
    builder.set_leaf("a", [3, 1], 4)
    builder.set_leaf("b", [0, 2], 2)
    encoding = Encoding((Column("town", "qualitative", levels),))
    return Model((builder.build(),), "single", encoding, np.array(["no", "yes"]))


def asked(model: Model, **options: Any) -> list[str]:
    return conditions(model.trees[0], 0, model.encoding, **options)


def reader_of(model: Any, names: list[str]) -> Reader:
    """A reader that knows how the levels of a fitted model are written."""
    subject = subject_of(model, feature_names=names)
    levels = {
        k: {name: code for code, name in enumerate(written_levels(column))}
        for k, column in enumerate(subject.encoding.columns)
    }
    assert all(len(set(known)) == len(known) for known in levels.values())
    return Reader(levels)


# --- every row goes the written way -----------------------------------------------------------


@each_method
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_rules_of_fitted_trees(method: str, seed: int) -> None:
    frame, classes = people(200, seed)
    model = METHODS[method].fit(frame, classes)
    reader = reader_of(model, X_NAMES)
    rules = export_rules(model, exact=True, feature_names=X_NAMES)
    assert len(rules) == model.get_n_leaves() > 3
    for table in (frame, strangers()):
        Z, leaves = model._check_rows(table), model.apply(table)
        assert np.isnan(Z).any()
        for rule in rules:
            found = reader.rule(rule.text, Z)
            np.testing.assert_array_equal(found, leaves == rule.leaf, err_msg=rule.text)


@each_method
def test_rules_for_reading_say_the_same(method: str) -> None:
    """As objects they hold for the same rows, but for those on a boundary."""
    frame, classes = people()
    model = METHODS[method].fit(frame, classes)
    table = strangers()
    Z, leaves = model._check_rows(table), model.apply(table)
    n_clear = 0
    for rule in export_rules(model):
        columns = [c.column for c in rule.conditions if isinstance(c, OneOf)]
        assert len(set(columns)) == len(columns), "one set of levels per column"
        clear, inside = np.ones((2, len(Z)), dtype=bool)
        for part in rule.conditions:
            holds, sure = held(part, Z)
            inside, clear = inside & holds, clear & sure
        np.testing.assert_array_equal(inside[clear], (leaves == rule.leaf)[clear])
        n_clear += int((clear & inside).sum())
    assert n_clear > 0.95 * len(Z)


def held(part: Any, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For which rows a condition holds by its numbers, and for which that is clear."""
    sure = np.ones(len(Z), dtype=bool)
    if isinstance(part, OneOf):
        column = Z[:, part.column]
        inside = np.isin(column, part.codes) != part.negated
        return np.where(np.isnan(column), part.missing, inside), sure
    assert isinstance(part, Between)
    if len(part.columns) == 1:
        column = part.coefficients[0] * Z[:, part.columns[0]]
        inside = (column > part.low) & (column < part.high)
        return np.where(np.isnan(column), part.missing, inside), sure
    value = np.zeros(len(Z))
    gone = np.zeros(len(Z), dtype=bool)
    if not part.fills:  # rows that miss a value go to a side
        gone = np.isnan(Z[:, part.columns]).any(axis=1)
    fills = part.fills or (0.0,) * len(part.columns)
    terms = zip(part.columns, part.coefficients, part.tables, fills, strict=True)
    for place, coefficient, table, fill in terms:
        column = Z[:, place].copy()
        if table:
            known = (column >= 0) & (column < len(table))
            column[known] = np.array(table)[column[known].astype(int)]
            column[~known & ~np.isnan(column)] = 0.0
        value += coefficient * np.where(np.isnan(column), fill, column)
    for bound in (part.low, part.high):
        if np.isfinite(bound):
            sure &= gone | (np.abs(value - bound) > 1e-9 * (1 + abs(bound)))
    return np.where(gone, part.missing, (value > part.low) & (value < part.high)), sure


@examples(200)
@given(st.data())
def test_conditions_of_a_node(data: st.DataObject) -> None:
    """The written sets, and where others and missing levels go, are those of the walk."""
    tree = data.draw(trees(filled=True, shape=(1, 2, 2), max_splits=6))
    levels = ("a, b", "a", "b", "missing")
    columns = (Column("x0"), *(Column(name, "qualitative", levels) for name in ("x1", "{")))
    encoding = Encoding(columns)
    Z = np.asarray(data.draw(rows(tree, missing=True)), dtype=np.float64)
    codes = {name: code for code, name in enumerate(written_levels(columns[1]))}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        if not asks_for_levels(tree, node):
            continue
        below = tree.subtree(node)
        column = Z[:, int(below.coef_idx[0])]
        taken = np.argmax(below.decision_path(Z).toarray()[:, 1 : 1 + below.n_children[0]], axis=1)
        sets = [written_set(text, codes) for text in conditions(tree, node, encoding)]
        for branch, written in enumerate(sets):
            expected = [holds(value, written) for value in column.tolist()]
            np.testing.assert_array_equal(expected, taken == branch)


WrittenSet = tuple[bool, set[int], bool]


def written_set(text: str, codes: dict[str, int]) -> WrittenSet:
    """Whether it is negated, the codes in braces, and whether missing levels are in."""
    if text.endswith((" is known", " is any level or missing")):
        return True, set(), text.endswith("missing")
    masked, quoted = _masked(text)
    found = re.fullmatch(
        r"\S+(?: (not |neither missing nor )?in \{(.*)\})?(?: (or|is) missing)?(: no level)?",
        masked,
    )
    assert found is not None, text
    names = [_unmasked(part, quoted) for part in (found[2] or "").split(", ") if part]
    missing = bool(found[3]) or found[1] == "not "  # what is missing is not in a set either
    return bool(found[1]), {codes[name] for name in names}, missing


def holds(value: float, written: WrittenSet) -> bool:
    """Whether a level fulfils a condition, by its own text alone."""
    negated, named, missing = written
    return missing if np.isnan(value) else (value in named) != negated


# --- how it reads ---------------------------------------------------------------------------


def test_a_split_on_one_column_is_a_set() -> None:
    model = one_column([0.5, -1.0, 0.25], ("Bonn", "Oslo", "Rome"))
    assert asked(model) == ["town not in {Bonn, Rome}", "town in {Bonn, Rome}"]
    assert export_text(model).splitlines()[2:] == [
        "town not in {Bonn, Rome} (6 rows)",
        "├─ yes: no (4 rows, 75 %)",
        "└─ no:  yes (2 rows, 100 %)",
    ]
    assert [rule.text for rule in export_rules(model)] == [
        "if (town in {Oslo} or is new or is missing) then no (4 rows, 75 %)",
        "if town in {Bonn, Rome} then yes (2 rows, 100 %)",
    ]
    assert 'label="town not in {Bonn, Rome}\\n6 rows"' in export_graphviz(model)
    frame = model.trees[0].to_frame(model.encoding, model.classes)
    assert frame["question"][0] == "town not in {Bonn, Rome}"
    assert model.trees[0].to_frame()["question"][0] == "x0 not in {code 0, code 2}"


def test_levels_that_answer_no_are_named() -> None:
    """However many they are: any other level is no list that a reader could check."""
    levels = tuple("abcdef")
    model = one_column([1.0, -1.0, -2.0, -3.0, 0.0, 0.0], levels, threshold=0.5, fill=2.0)
    assert asked(model) == ["town neither missing nor in {a}", "town in {a} or missing"]
    texts = [rule.conditions[0].text for rule in export_rules(model)]
    assert texts == ["town neither missing nor in {a}", "(town in {a} or is missing)"]
    other = one_column([1.0, -1.0, -2.0, -3.0, 0.0, 0.0], levels, threshold=0.5)
    assert asked(other) == ["town not in {a}", "town in {a}"]
    turned = one_column([1.0, -1.0, -2.0, -3.0, 0.0, 0.0], levels, 0.5, None, coef=-1.0)
    assert asked(turned) == ["town not in {b, c, d}", "town in {b, c, d}"]
    alone = one_column([1.0, -1.0, -2.0, 0.0, 0.0, 0.0], levels, 0.5, 2.0, coef=-1.0)
    assert asked(alone) == ["town not in {b, c}", "town in {b, c}"]


def test_only_missing_values_may_go_elsewhere() -> None:
    model = one_column([-1.0, -2.0], ("a", "b"), threshold=0.5, fill=2.0)
    assert asked(model) == ["town is known", "town is missing"]
    texts = [rule.conditions[0].text for rule in export_rules(model)]
    assert texts == ["town is known", "town is missing"]
    everything = one_column([-1.0, -2.0], ("a", "b"), threshold=0.5)
    assert asked(everything) == ["town is any level or missing", "town: no level"]
    assert export_rules(everything)[0].conditions[0].text == "(town is any level or is missing)"


def test_levels_that_a_node_has_not_seen_are_summed_up() -> None:
    levels = tuple(f"level {k}" for k in range(10_000))
    table = [0.0] * 10_000
    table[17], table[4711] = 1.0, -1.0
    model = one_column(table, levels, threshold=0.5)
    assert asked(model) == ["town not in {level 17}", "town in {level 17}"]
    assert len(export_text(model)) < 300
    # Which of them are known is no matter to a rule: the shorter list is written.
    first, second = export_rules(model, exact=True)
    assert first.conditions[0].text == "town not in {level 17}"
    assert second.conditions[0].text == "town in {level 17}"


def test_many_levels_are_counted() -> None:
    levels = tuple(f"level{k:02}" for k in range(30))
    table = [1.0] * 15 + [-1.0] * 15
    model = one_column(table, levels)
    text = export_text(model, max_terms=2).splitlines()[2]
    assert text == "town not in {level00, level01, level02, level03, 11 more} (6 rows)"
    assert asked(model, max_terms=1)[1] == "town in {level00, level01, 13 more}"
    short = export_rules(model, max_terms=1)
    assert short[1].conditions[0].text == "town in {level00, level01, 13 more}"
    for rules in (export_rules(model), export_rules(model, max_terms=1, exact=True)):
        assert "more" not in rules[1].text and rules[1].text.count("level") == 15


def test_sets_on_a_path_are_one() -> None:
    """Also where one node asks by scores and another by branches."""
    builder = TreeBuilder(1, 2)
    scores = {"tables": {0: [1.0, -1.0, -1.0, 0.0]}, "fill": {0: -1.0}}
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"), **scores)
    builder.add_levels("a", 0, [0, 1, 0], ("c", "d"), unseen=1, missing=0)
    builder.add_split("c", {0: -2.0}, 1.0, ("e", "f"), tables={0: [0, 0, -3.0]}, fill={0: 3.0})
    for leaf in "bdef":
        builder.set_leaf(leaf, [1, 0], 1)
    column = Column("town", "qualitative", ("Bonn", "Oslo", "Rome", "Kiel"))
    model = Model((builder.build(),), "single", Encoding((column,)), np.array([0, 1]))
    assert [str(rule.conditions[0]) for rule in export_rules(model, order="tree")] == [
        "town is missing",
        "town in {Rome}",
        "town neither missing nor in {Bonn, Rome}",
        "town in {Bonn}",
    ]
    assert all(len(rule.conditions) == 1 for rule in export_rules(model))


def two_kinds(spread: list[float] | None = None, **more: Any) -> Model:
    builder = TreeBuilder(3, 2)
    split = {"tables": {1: [8.0, -4.0, 0.0]}, "fill": {0: 40.0, 1: 2.0, 2: 1.5}} | more
    builder.add_split("root", {0: 2.0, 1: -3.0, 2: 1.0}, 84.0, ("a", "b"), **split)
    builder.set_leaf("a", [3, 1], 4)
    builder.set_leaf("b", [0, 2], 2)
    town = Column("town", "qualitative", ("Bonn", "Oslo", "Rome"))
    encoding = Encoding((Column("age"), town, Column("pay")))
    tree = builder.build()
    if spread is not None:
        arrays = tree.to_arrays() | {"spread": np.array(spread)}
        tree = Tree.from_arrays(arrays)
    return Model((tree,), "single", encoding, np.array(["no", "yes"]))


def test_scores_are_in_units_of_the_leading_number() -> None:
    model = two_kinds([10.0, 5.0, 1.0])
    question = question_of(model.trees[0], 0, model.encoding)
    assert question.sentence() == "age + score(town) + 0.5*pay <= 42"
    note = "score(town): Oslo 6, Bonn -12, any other level 0, missing -3"
    assert [" ".join(words) for words in question.scores()] == [note]
    assert question.rates() == ["1 unit of pay counts as 0.5 of age"]
    assert question.effects() == ["age 10", "score(town) 7.5", "pay 0.5"]
    text = export_text(model, details=True).splitlines()
    assert text[2:7] == [
        "age + score(town) + 0.5*pay <= 42 (6 rows)",
        f"│    {note}",
        "│    1 unit of pay counts as 0.5 of age",
        "│    per standard deviation: age 10, score(town) 7.5, pay 0.5",
        "│    missing counts as: age 40, pay 1.5",
    ]
    assert f"│    {note}" in export_text(model) and "missing counts" not in export_text(model)
    assert note not in export_text(model, max_terms=1)
    assert "1 unit" not in export_text(model, max_terms=2, details=True)
    graph = export_graphviz(model)
    assert "score(town): Oslo 6, Bonn -12," in graph
    assert "score" not in export_graphviz(model, max_terms=1)


def test_a_score_may_lead() -> None:
    """The first number is the unit all the same, unless it hardly moves rows."""
    model = two_kinds([10.0, 50.0, 1.0])
    question = question_of(model.trees[0], 0, model.encoding)
    assert question.sentence() == "score(town) + age + 0.5*pay <= 42"
    idle = question_of(two_kinds([1e-4, 50.0, 1e-4]).trees[0], 0, model.encoding)
    assert idle.terms[0].scores is not None
    assert np.abs(idle.terms[0].scores.numbers).max() == 1.0
    assert idle.relation == "<=" and idle.threshold == pytest.approx(84.0 / 24.0)


def test_an_unknown_level_is_not_missing() -> None:
    model = two_kinds()
    written = " ".join(question_of(model.trees[0], 0, model.encoding).scores()[0])
    assert written.endswith("any other level 0, missing -3")
    without = two_kinds(fill={0: 40.0, 2: 1.5})
    written = " ".join(question_of(without.trees[0], 0, model.encoding).scores()[0])
    assert written.endswith("any other level 0")


def test_scores_of_many_levels_show_both_ends() -> None:
    levels = tuple(f"level{k:02}" for k in range(30))
    builder = TreeBuilder(2, 2)
    tables = {0: [float(k + 1) for k in range(30)]}
    builder.add_split("root", {0: 1.0, 1: 1.0}, 3.0, ("a", "b"), tables=tables)
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    encoding = Encoding((Column("town", "qualitative", levels), Column("age")))
    model = Model((builder.build(),), "single", encoding, np.array([0, 1]))
    text = export_text(model, max_terms=2, width=200).splitlines()[3]
    assert text == (
        "│    score(town): level29 30, level28 29, 26 more, level01 2, level00 1, "
        "any other level 0"
    )
    exact = export_rules(model, exact=True, max_terms=1)[0]
    assert exact.text.count("level") == 30 + 1
    assert len(exact.lines()) == 3 and exact.lines()[1].startswith(
        "       score(town): level29 30"
    )


def test_stand_ins_of_a_node_do_not_keep_bounds_apart() -> None:
    """Means differ from node to node; conditions on one feature are one all the same."""
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 5.0, ("a", "b"), fill={0: 3.0})
    builder.add_split("a", {0: 1.0}, 2.0, ("c", "d"), fill={0: 1.0})
    for leaf in "bcd":
        builder.set_leaf(leaf, [1, 0], 1)
    rules = export_rules(builder.build(), order="tree")
    assert [str(rule.conditions[0]) for rule in rules] == ["x0 <= 2", "2 < x0 <= 5", "x0 > 5"]
    assert [rule.conditions[0].missing for rule in rules] == [True, False, False]
    exact = export_rules(builder.build(), order="tree", exact=True)
    assert exact[0].conditions[0].text == "(x0 <= 2 or is missing)"
    assert exact[1].conditions[0].text == "2 < x0 <= 5"


# --- names ------------------------------------------------------------------------------------


ANY_LEVEL = st.one_of(
    st.text(max_size=8),
    st.text("\\n\n", max_size=4),
    st.sampled_from(NASTY),
    st.integers(-3, 3).flatmap(lambda k: st.sampled_from([k, str(k), f'"{k}"', f"`{k}`"])),
    st.floats(allow_nan=False, allow_infinity=False).flatmap(
        lambda x: st.sampled_from([x, str(x)])
    ),
)


@given(st.lists(ANY_LEVEL, unique=True, max_size=6))
def test_no_two_levels_read_alike(levels: list[Any]) -> None:
    column = Column("town", "qualitative", tuple(levels))
    written = written_levels(column, len(levels) + 1)
    assert len(set(written)) == len(levels) + 1
    for name in written:
        masked, quoted = _masked(name)
        assert len(name.splitlines()) == 1
        assert not set(masked) & set(",{}[]") and len(quoted) <= 1


@pytest.mark.parametrize(
    ("levels", "written"),
    [
        (("a, b", "a", "b"), ("`a, b`", "a", "b")),
        (("", " ", "x"), ("``", "` `", "x")),
        (("3", "-4.5e+30", "3rd", "3 4"), ('"3"', '"-4.5e+30"', "`3rd`", "`3 4`")),
        ((3, 4.5), ("`3`", "`4.5`")),
        ((-3, 1e300, "-3", "1e+300"), ("`-3`", "`1e+300`", '"-3"', '"1e+300"')),
        ((3, "3", '"3"', "`3`"), ("`3`", '"3"', '`"3"`', "```3```")),
        ((True, "True"), ("True", '"True"')),
        (
            ("missing", "any other level", "code 1", "new"),
            ("`missing`", "`any other level`", "`code 1`", "`new`"),
        ),
        (("\n", "\\n", "\\\\n"), (r"`\n`", r"`\\n`", r"`\\\\n`")),
        (("\n\\", "\\n\\", "\\n\n"), (r"`\n\\`", r"`\\n\\`", r"`\\n\n`")),
        (("two\nlines", "a\\b"), (r"`two\nlines`", r"`a\b`")),
        (("x] [y", "日本語"), ("`x] [y`", "日本語")),
    ],
)
def test_levels_cannot_be_mistaken(levels: tuple[Any, ...], written: tuple[str, ...]) -> None:
    assert written_levels(Column("town", "qualitative", levels)) == written


def test_equal_levels_of_other_types_are_written_as_they_are() -> None:
    assert written_levels(Column("a", "qualitative", (True,))) == ("True",)
    assert written_levels(Column("a", "qualitative", (1,))) == ("`1`",)
    assert written_levels(Column("a", "qualitative", (1.0,))) == ("`1.0`",)


def test_a_number_called_like_a_score() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 1.0}, 3.0, ("a", "b"), tables={1: [1.0]})
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    names = ["score(town)", "town"]
    assert question_of(builder.build(), 0, Encoding.identity(2, names)).sentence() == (
        "`score(town)` + score(town) <= 3"
    )


@pytest.mark.parametrize("exact", [False, True])
def test_nasty_levels_keep_to_their_lines(exact: bool) -> None:
    levels = tuple(dict.fromkeys([*NASTY, "a, b", "a", "b", "]", "x" * 500]))
    scores = np.linspace(-1, 1, len(levels)).tolist()
    single = one_column(scores, levels)
    double = two_kinds(tables={1: scores})
    town = Column("town\n", "qualitative", levels)
    double = Model(
        double.trees, "single", Encoding((Column("a"), town, Column("b"))), double.classes
    )
    for model in (single, double):
        for rule in export_rules(model, exact=exact):
            assert rule.text.isprintable()
        text = export_text(model, max_terms=None, width=100_000)
        assert len(text.splitlines()) == 5 + (model is double)
        graph = export_graphviz(model, max_terms=None)
        assert all(line.isprintable() for line in graph.splitlines())


def test_branches_share_out_all_levels() -> None:
    frame, classes = people()
    model = METHODS["cart"].fit(frame, classes)
    encoding, tree = model.model_.encoding, model.tree_
    n_sets = 0
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        if asks_for_levels(tree, node):
            left, right = level_branches(tree, node, encoding)
            assert left.levels == right.rest and right.levels == left.rest
            assert left.others != right.others and left.missing != right.missing
            n_sets += 1
    assert n_sets >= 2
