"""LMDT: what a split gains, which comes first, and what its parts are seeded with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

import obliqua.methods.lmdt as lmdt
from obliqua._core.base.rng import child_key
from obliqua.criteria import CRITERIA, get_criterion
from obliqua.data.problem import encode
from obliqua.engine.many_branches import goodness_of_branches
from obliqua.engine.rules import Rules
from obliqua.methods.lmdt import Machine, grow_lmdt
from obliqua.tree.tree import Tree
from problems import examples


def minority(counts: np.ndarray) -> float:
    return float(counts.sum() - counts.max())


def variance(counts: np.ndarray) -> float:
    """Of class numbers by ascending size, times the number of rows."""
    numbers = np.argsort(np.argsort(counts, kind="stable")) + 1
    mean = np.average(numbers, weights=counts)
    return float((counts * (numbers - mean) ** 2).sum())


def by_definition(parts: np.ndarray, name: str) -> float:
    """What each measure says of a division into several branches."""
    whole, total = parts.sum(axis=0), parts.sum()
    sizes = parts.sum(axis=1) / total
    if name == "twoing":
        rest = whole - parts
        apart = np.abs(parts / parts.sum(1, keepdims=True) - rest / rest.sum(1, keepdims=True))
        return float((sizes * (1 - sizes) * apart.sum(axis=1) ** 2 / 4).max())
    if name == "max_minority":
        return (minority(whole) - max(map(minority, parts))) / float(total)
    if name in ("sum_minority", "sum_variances"):
        of = minority if name == "sum_minority" else variance
        return (of(whole) - sum(map(of, parts))) / float(total)
    if name == "node_variances":
        numbers = np.argsort(np.argsort(whole, kind="stable"))
        means = [np.average(numbers, weights=part) for part in parts]
        return float(np.dot(sizes, (means - np.average(numbers, weights=whole)) ** 2))
    if name == "gini":
        pure = [((part / part.sum()) ** 2).sum() for part in parts]
        return float(np.dot(sizes, pure) - ((whole / total) ** 2).sum())
    gain = entropy(whole, base=2) - np.dot(sizes, [entropy(part, base=2) for part in parts])
    return float(gain / entropy(sizes, base=2) if name == "gain_ratio" else gain)


def test_numbers_of_thousands_of_classes_fit_whatever_they_weigh() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 2**40, (3, 5000))
    found = goodness_of_branches(counts << 9, get_criterion("node_variances"))
    assert found == pytest.approx(goodness_of_branches(counts, get_criterion("node_variances")))
    assert found == pytest.approx(by_definition(counts.astype(np.float64), "node_variances"))


@pytest.mark.parametrize("name", list(CRITERIA))
@examples(30)
@given(seed=st.integers(0, 10**6))
def test_gains_of_several_branches_in_any_order(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.integers(1, 40, (int(rng.integers(3, 7)), 3))
    found = goodness_of_branches(parts, get_criterion(name))
    assert found == pytest.approx(by_definition(parts, name), abs=1e-12)
    order = rng.permutation(len(parts))
    again = goodness_of_branches(parts[order], get_criterion(name))
    assert again == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("name", list(CRITERIA))
def test_gains_of_two_branches_are_the_criterion(name: str) -> None:
    two, criterion = np.array([[5, 1, 0], [0, 4, 6]]), get_criterion(name)
    assert goodness_of_branches(two, criterion) == criterion.goodness(*two)


def test_a_perfect_division_has_a_gain_ratio_of_1() -> None:
    parts = np.diag([10, 20, 30, 40])
    assert goodness_of_branches(parts, get_criterion("gain_ratio")) == pytest.approx(1.0)


def test_gains_by_a_function() -> None:
    """It sees two sides: each branch, and all others together, in the weights that were given."""
    seen = []

    def judge(left: Any, right: Any) -> float:
        seen.append((left.tolist(), right.tolist()))
        return float(left[0])

    parts = np.array([[5, 1], [7, 4], [2, 6]])
    assert goodness_of_branches(parts, get_criterion(judge), 0.5) == 3.5
    assert seen == [
        ([2.5, 0.5], [4.5, 5.0]),
        ([3.5, 2.0], [3.5, 3.5]),
        ([1.0, 3.0], [6.0, 2.5]),
    ]
    assert goodness_of_branches(parts[:2], get_criterion(judge)) == 5.0


# --- which node comes first -------------------------------------------------------------------


def noisy(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that overlap, so that all splits are hyperplanes of two branches."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(n, 2))
    return rows, (rows[:, 0] + rng.normal(size=n) * 0.7 > 0).astype(int)


def best_gains(tree: Tree, n_splits: int) -> list[float]:
    """The gains of so many splits of a full tree, each time the largest that is within reach."""
    reach, gains = [0], []
    while len(gains) < n_splits:
        node = max((k for k in reach if not tree.is_leaf[k]), key=lambda k: tree.gain[k])
        gains.append(float(tree.gain[node]))
        first = int(tree.first_child[node])
        reach = [k for k in reach if k != node] + [first, first + 1]
    return sorted(gains)


@pytest.mark.parametrize("most", [3, 5, 8, 13])
def test_the_node_with_the_largest_gain_is_divided_first(most: int) -> None:
    problem = encode(*noisy(), 2)
    full = grow_lmdt(problem)
    some = grow_lmdt(problem, rules=Rules(max_leaf_nodes=most))
    assert full.n_leaves > 2 * most
    assert some.n_leaves == most
    assert sorted(some.gain[~some.is_leaf].tolist()) == best_gains(full, most - 1)


@pytest.mark.parametrize("zero_gain", [False, True])
def test_a_machine_without_gain(zero_gain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine across a chessboard of four equal fields gains nothing, and no column does."""

    def across(Y: np.ndarray, *rest: Any) -> tuple[Machine, int]:
        return Machine(np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]), np.arange(2), 0.5), 3

    monkeypatch.setattr(lmdt, "best_machine", across)
    rows = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    rules = Rules(zero_gain=zero_gain, max_depth=1)
    tree = grow_lmdt(encode(rows, np.array([0, 1, 1, 0]), 2), rules=rules)
    assert tree.n_leaves == (2 if zero_gain else 1)
    assert set(tree.origin_labels) == ({"linear machine"} if zero_gain else set())
    assert tree.gain.tolist() == [0.0] * tree.n_nodes


# --- seeds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("best_first", [False, True])
def test_each_branch_has_a_key_of_its_own(
    best_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made of the parent's key and of the number of the branch."""
    keys: dict[int, set[int]] = {}
    original = lmdt.best_machine

    def spy(Y: Any, classes: Any, weights: Any, key: int, *rest: Any) -> Any:
        keys.setdefault(key, set()).add(int(weights.sum()))
        return original(Y, classes, weights, key, *rest)

    monkeypatch.setattr(lmdt, "best_machine", spy)
    tree = grow_lmdt(encode(*noisy(), 2), rules=Rules(best_first=best_first), key=11)
    expected: dict[int, set[int]] = {}
    waiting = [(0, 11)]
    while waiting:
        node, key = waiting.pop()
        if (tree.stats[node] > 0).sum() > 1:
            expected.setdefault(key, set()).add(int(tree.stats[node].sum()))
        first = int(tree.first_child[node])
        waiting += [(first + k, child_key(key, k)) for k in range(int(tree.n_children[node]))]
    assert keys == expected
    assert len(keys) > 20
