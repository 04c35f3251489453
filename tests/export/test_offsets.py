"""What is written sends rows the way of the tree, also where features are far from 0."""

from __future__ import annotations

import re

import numpy as np
import pytest

from obliqua import CartClassifier, HHCartClassifier, TreeBuilder, export_rules
from obliqua.data.encoding import Encoding
from obliqua.words.question import question_of

PROBLEMS = ["days", "days and degrees", "seconds", "years", "both large", "ordinary"]


def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 400
    day = 2460000 + rng.uniform(0, 30, n).round(3)
    warm = rng.normal(293, 5, n).round(2)
    columns = {
        "days": [day],
        "days and degrees": [day, warm],
        "seconds": [1.7e9 + rng.normal(0, 3600, n).round(), rng.normal(25, 4, n)],
        "years": [rng.integers(1990, 2024, n).astype(float), rng.normal(25, 4, n)],
        "both large": [1e9 + rng.normal(0, 50, n), 5e8 + rng.normal(0, 20, n)],
        "ordinary": [rng.normal(0, 1, n), rng.normal(10, 3, n)],
    }[name]
    X = np.column_stack(columns)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (Z.sum(axis=1) + 0.4 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    "model",
    [
        CartClassifier(pruning=None, max_depth=4),
        HHCartClassifier(pruning=None, max_depth=4, extra_directions="fisher", scale="standard"),
    ],
    ids=["CART", "HHCART"],
)
def test_what_is_written_is_what_happens(name: str, model: CartClassifier) -> None:
    X, y = problem(name)
    tree = model.fit(X, y).tree_
    passes = tree.decision_path(X).toarray().astype(bool)
    encoding = Encoding.identity(X.shape[1])
    asked = wrong = 0
    for node in tree.node_of_plane.tolist():
        question = question_of(tree, node, encoding)
        value = np.zeros(len(X))
        for term in question.terms:
            size = float(question.written_coefficient(term, 4))
            value += np.copysign(size, term.coefficient) * X[:, term.column]
        cut = float(question.cut())
        left = value <= cut if question.relation == "<=" else value >= cut
        here = passes[:, node]
        asked += int(here.sum())
        wrong += int((left != passes[:, tree.children_left[node]])[here].sum())
    assert asked >= 800
    assert wrong <= 0.004 * asked, f"{wrong} of {asked} answers differ"


def holds(text: str, X: np.ndarray) -> np.ndarray:
    """Answer a condition as a person would who has nothing but the text."""
    number = r"-?[\d.]+(?:e[-+]?\d+)?"
    found = re.fullmatch(rf"(?:({number}) (<=?) )?(.*?)(?: (<=?|>=?) ({number}))?", text)
    assert found is not None
    low, above, formula, below, high = found.groups()
    value = np.zeros(len(X))
    for sign, size, column in re.findall(rf"([-+]?) ?(?:({number})\*)?x(\d+)", formula):
        value += (-1 if sign == "-" else 1) * float(size or 1) * X[:, int(column)]
    asked = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    inside = np.ones(len(X), dtype=bool)
    if low is not None:
        inside &= asked[above](float(low), value)
    if high is not None:
        inside &= asked[below](value, float(high))
    return inside


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("digits", [2, 4])
@pytest.mark.parametrize("oblique", [False, True], ids=["CART", "HHCART"])
def test_exactly_one_printed_rule_holds(name: str, digits: int, oblique: bool) -> None:
    X, y = problem(name)
    model = (
        HHCartClassifier(pruning=None, max_depth=5, extra_directions="fisher", scale="standard")
        if oblique
        else CartClassifier(pruning=None, max_depth=7)
    ).fit(X, y)
    rules = export_rules(model, digits=digits, order="tree")
    assert len(rules) >= 8
    times, right = np.zeros(len(X), dtype=int), np.zeros(len(X), dtype=bool)
    leaf = model.apply(X)
    for rule in rules:
        inside = np.ones(len(X), dtype=bool)
        for condition in rule.conditions:
            inside &= holds(str(condition), X)
        times += inside
        right |= inside & (leaf == rule.leaf)
    wrong = int(np.count_nonzero((times != 1) | ~right))
    assert wrong <= 0.005 * len(X), f"{wrong} of {len(X)} rows have another rule, none or two"


def test_a_threshold_reads_the_same_in_all_rules() -> None:
    """Two cuts that are close ask for digits, also where only one of them stands in a rule."""
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 5.000123, ("low", "high"))
    builder.set_leaf("low", [1, 0])
    builder.add_split("high", {0: 2.0}, 10.000252, ("between", "above"))
    builder.set_leaf("between", [0, 1])
    builder.set_leaf("above", [1, 0])
    written = [str(rule.conditions[0]) for rule in export_rules(builder.build(), order="tree")]
    assert written == ["x0 <= 5.000123", "5.000123 < x0 <= 5.000126", "x0 > 5.000126"]
