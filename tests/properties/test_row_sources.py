"""Trees from rows in parts are the trees of one memory, bit for bit.

Parts are ragged, some empty, some of one class; rows stand in another order; and a reducer in
plain Python sends all that travels through `pickle`, in any order, joining some on the way.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import problems
from core.adapter import problem_of
from obliqua.criteria import CRITERIA, get_criterion
from obliqua.data import encode
from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode_numbers
from obliqua.data.row_source import Answers, RowSource
from obliqua.data.table import Table
from obliqua.engine import (
    OnePass,
    Proposals,
    RowsInMemory,
    RowsInParts,
    Rules,
    Zoom,
    grow_from,
)
from obliqua.engine.grow import grow
from obliqua.engine.grow_from import AtOnce
from obliqua.engine.questions import LineHistogram, OpenHistogram
from obliqua.methods.cart_lc import LinearCombination
from obliqua.methods.discriminants import Discriminants
from obliqua.methods.hhcart import Householder
from obliqua.methods.oc1 import Climb
from obliqua.methods.sadt import Anneal
from obliqua.methods.slopes import Slopes
from problems import Case, examples

PARTS = (1, 4, 16, 37)
METHODS = {
    "CART": None,
    "HHCART(A)": Householder(),
    "HHCART(D)": Householder("dominant"),
    "nearest": Householder("dominant", tau=0.0, target="nearest"),
    "Fisher": Householder("dominant", fisher=True),
    "min_rows": Householder(fisher=True, min_rows="2p"),
    "both": Householder("dominant", discriminants=True),
    "discriminants": Discriminants(),
}
OF_NUMBERS = {"slopes": Slopes(price=0.3, min_rows=5)}


def cut_up(problem: Problem, n_parts: int, seed: int) -> list[Problem]:
    """The rows in another order, in ragged parts, each with arrays of its own."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(problem.n_rows)
    if seed % 3 == 0:  # then parts have hardly more than one class
        order = order[np.argsort(problem.target.labels()[order], kind="stable")]
    ends = np.sort(rng.integers(0, len(order) + 1, n_parts - 1))
    return [problem.take(some) for some in np.split(order, ends)]


class Post:
    """A reducer in plain Python: what it carries is pickled, and its size is noted."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.largest = 0
        self.passes = 0

    def carried(self, what: Any) -> Any:
        letter = pickle.dumps(what)
        self.largest = max(self.largest, len(letter))
        return pickle.loads(letter)

    def __call__(self, one_pass: OnePass, parts: Sequence[RowSource]) -> Iterator[Answers]:
        self.passes += 1
        held: list[Answers] = []
        for part in self.random.sample(parts, len(parts)):
            held.append(self.carried(self.carried(one_pass)(part)))
            if self.random.random() < 0.5:
                held = [one_pass.joined(held)]
        yield from held


zooms = st.builds(
    Zoom, st.sampled_from([2, 3, 16, 256]), st.sampled_from([0, 5, 40, 4096]), st.integers(0, 4)
)
few_rows = st.sampled_from([0, 0, 0, 5, 12])


@st.composite
def proposals(draw: st.DrawFn, name: str) -> Proposals:
    """A method with everything that can be asked of it."""
    method = {**METHODS, **OF_NUMBERS}[name]
    if method is None:
        return Proposals()
    without = getattr(method, "discriminants", False)  # their second round is not for all
    return Proposals(
        method,
        axis_parallel=without or draw(st.sampled_from([True, True, True, False])),
        max_features=draw(st.sampled_from([None, None, 1, 2])),
        scale=draw(st.sampled_from([None, None, "standard", "robust", "minmax"])),
        axis_bias=draw(st.sampled_from([1.0, 1.0, 0.0, 1.3])),
    )


# --- classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(METHODS))
@examples(120)
@given(data=st.data(), rules=problems.rules(), zoom=zooms, few=few_rows)
def test_trees_of_classes(
    name: str, data: st.DataObject, rules: dict[str, Any], zoom: Zoom, few: int
) -> None:
    """Ties, duplicates, weights, constant columns, huge and tiny values; all criteria."""
    ordinary = data.draw(st.booleans())
    columns = problems.ORDINARY if ordinary else problems.COLUMNS
    problem = problem_of(data.draw(problems.cases(max_rows=40, columns=columns)))
    proposer = data.draw(proposals(name))
    criterion = data.draw(st.sampled_from(list(CRITERIA)))
    n_parts, seed = data.draw(st.sampled_from(PARTS)), data.draw(st.integers(0, 99))
    source = RowsInParts(cut_up(problem, n_parts, seed), Post(seed))
    found = grow_from(source, proposer, criterion, Rules(**rules), few_rows=few, zoom=zoom)
    assert found == grow(problem, proposer, criterion, Rules(**rules))


def wide_case(n: int = 20_000) -> Case:
    """Three classes in ten columns, with far outliers: bins must be looked into again."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 10))
    y = (X @ rng.normal(size=10) + 2 * rng.normal(size=n) > 0) + (X[:, 3] > 1.0)
    X[rng.random(n) < 0.002] *= 1e5
    return Case(X.astype(np.float32), y.astype(np.int64), 3)


@pytest.mark.parametrize("name", ["CART", "HHCART(A)", "HHCART(D)"])
def test_many_rows(name: str) -> None:
    problem = problem_of(wide_case(8000))
    method, rules = METHODS[name], Rules(max_depth=4)
    whole = grow(problem, method, "twoing", rules)
    for few in (0, 1000):
        post = Post()
        source = RowsInParts(cut_up(problem, 5, seed=1), post)
        assert grow_from(source, method, "twoing", rules, few_rows=few) == whole
        assert post.passes < 20 * whole.depth


def many_lines() -> Case:
    """Ten classes in sixty columns: one node alone has more lines than a pass has room for."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 60))
    return Case(X, np.argmax(X @ rng.normal(size=(60, 10)), axis=1), 10)


@pytest.mark.parametrize(
    ("name", "case", "depth", "most"),
    [
        ("CART", wide_case(6000), 6, 1 << 14),
        ("HHCART(D)", wide_case(6000), 6, 1 << 14),
        ("HHCART(D)", many_lines(), 1, 1 << 12),
    ],
)
def test_histograms_of_a_pass_fit(name: str, case: Case, depth: int, most: int) -> None:
    """Nodes wait for memory, and children do not wait for all others of a level."""
    problem, rules = problem_of(case), Rules(max_depth=depth)
    asked: list[int] = []
    depths: list[int] = []

    def run(one_pass: OnePass, parts: Sequence[RowSource]) -> Iterator[Answers]:
        every = [question for some in one_pass.questions.values() for question in some]
        asked.append(
            sum(
                question.n_bins * len(question.lines)
                for question in every
                if isinstance(question, OpenHistogram)
            )
            + sum(
                question.n_bins * len(question.intervals[0])
                for question in every
                if isinstance(question, LineHistogram)
            )
        )
        depths.append(len({node.bit_length() for node in one_pass.questions}))
        return map(one_pass, parts)

    source = RowsInParts([problem], run)
    found = grow_from(
        source, METHODS[name], "twoing", rules, few_rows=0, at_once=AtOnce(most, 1 << 20)
    )
    assert found == grow(problem, METHODS[name], "twoing", rules)
    assert max(asked) <= 2 * most
    assert max(depths) > (depth > 1)


def test_what_travels_is_small() -> None:
    """Histograms, and the few values that they leave undecided; not the rows."""
    problem, post = problem_of(wide_case()), Post()
    source = RowsInParts(cut_up(problem, 2, seed=1), post)
    grow_from(source, None, "gini", Rules(max_depth=3), few_rows=0, zoom=Zoom(32, 500))
    assert post.largest < problem.Z.nbytes / 8


def tiny_differences(seed: int) -> Problem:
    """Classes differ by less than the rounding of a normal: winners may not be confirmed."""
    rng = np.random.default_rng(seed)
    t, z = rng.normal(size=(2, 150))
    X = np.column_stack([t, 0.37 * t + 1e-7 * z])
    return encode(X, (z + rng.normal(size=150) > 0).astype(int), 2)


def neighbours(seed: int) -> Problem:
    """Values that hardly more than rounding tells apart: what counts as equal decides."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 40, (200, 2))
    y = (steps @ [1, -1] + 20 * rng.normal(size=200) > 0).astype(int)
    return encode(1.0 + steps * 2.0**-46, y, 2)


@pytest.mark.parametrize("make", [tiny_differences, neighbours])
def test_reflected_rows_decide_and_canonical_values_confirm(make: Any) -> None:
    for seed in range(5):
        problem, rules = make(seed), Rules(max_depth=5)
        source = RowsInParts(cut_up(problem, 3, seed))
        whole = grow(problem, Householder(), "gini", rules)
        assert grow_from(source, Householder(), "gini", rules, few_rows=0) == whole


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_superclasses(spread: float) -> None:
    """Directions of a second round, which start from the best cuts of the first, and of axes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, 1500)
    X = rng.normal(size=(1500, 5)) + spread * rng.normal(size=(6, 5))[y]
    X[:, 0] += y % 2
    problem, rules = encode(X, y, 6), Rules(max_depth=4)
    for method in (Discriminants(), Householder("dominant", discriminants=True)):
        whole = grow(problem, method, "gini", rules)
        assert any(label.startswith("superclass") for label in whole.origin_labels)
        source = RowsInParts(cut_up(problem, 4, seed=1))
        zoom = Zoom(few_values=300)
        assert grow_from(source, method, "gini", rules, few_rows=0, zoom=zoom) == whole


@pytest.mark.parametrize("scale", ["standard", "robust", "minmax"])
def test_fetched_rows_are_scaled_as_all_rows_are(scale: str) -> None:
    problem = problem_of(problems.gaussians(600, n_columns=3))
    proposer = Proposals(Householder("dominant"), scale=scale)
    whole = grow(problem, proposer, "gini")
    for few in (0, 100):
        source = RowsInParts(cut_up(problem, 4, seed=1))
        assert grow_from(source, proposer, "gini", few_rows=few) == whole


def test_quartiles_that_end_with_a_value() -> None:
    """A quarter of the rows has the least value: exactly that many are enough."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(400) % 4, rng.normal(size=400)])
    problem = encode(X, (X @ [1.0, 2.0] + rng.normal(size=400) > 2).astype(int), 2)
    proposer = Proposals(Householder(), scale="robust")
    source = RowsInParts(cut_up(problem, 4, seed=1))
    found = grow_from(source, proposer, "gini", few_rows=0, zoom=Zoom(16, 0, 3))
    assert found == grow(problem, proposer, "gini")


@pytest.mark.parametrize("kind", ["integers", "tenths"])
def test_weights_and_leaves(kind: str) -> None:
    """A limit on leaves, with weights and with rows that count as several."""
    problem = problem_of(problems.weighted(problems.integers(400), kind))
    for method in (None, Householder(min_rows=40)):
        for rules in (Rules(max_leaf_nodes=9), Rules(max_leaf_nodes=1), Rules(zero_gain=True)):
            whole = grow(problem, method, "gini", rules)
            for few in (0, 60):
                source = RowsInParts(cut_up(problem, 6, seed=2))
                assert grow_from(source, method, "gini", rules, few_rows=few) == whole


def test_of_equal_gains_the_first_in_path_order_is_taken() -> None:
    problem = encode(np.arange(8.0)[:, None], range(8), 8)
    for most in range(2, 9):
        rules = Rules(max_leaf_nodes=most)
        whole = grow(problem, None, "twoing", rules)
        source = RowsInParts(cut_up(problem, 3, seed=1))
        assert grow_from(source, None, "twoing", rules) == whole


def test_large_weights() -> None:
    """Beyond 2^36 units, weights are shortened before products are summed: by all rows' weight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X.sum(axis=1) + rng.normal(size=300) > 0).astype(int)
    problem = encode(X, y, 2, sample_weight=rng.integers(1, 2**40, 300) | 1)
    assert problem.total_weight > 2**40
    whole = grow(problem, Householder(fisher=True), "gini")
    for few in (0, 50):
        source = RowsInParts(cut_up(problem, 5, seed=1))
        assert grow_from(source, Householder(fisher=True), "gini", few_rows=few) == whole


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CART", "slopes"])
@examples(240)
@given(data=st.data(), rules=problems.rules(), zoom=zooms, few=few_rows)
def test_trees_of_numbers(
    name: str, data: st.DataObject, rules: dict[str, Any], zoom: Zoom, few: int
) -> None:
    case = data.draw(problems.cases(max_rows=40))
    n_outputs = data.draw(st.sampled_from([1, 3, 7]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    y = rng.normal(size=(len(case.y), n_outputs)) * data.draw(st.sampled_from([1.0, 1e-3, 1e9]))
    if data.draw(st.booleans()):
        y = np.round(y)
    criterion = data.draw(st.sampled_from(["squared_error", "poisson"]))
    y = np.abs(y) + (criterion == "poisson")
    problem = encode_numbers(case.X, y, sample_weight=case.sample_weight)
    problem = problem.measured_by(get_criterion(criterion))
    n_parts, seed = data.draw(st.sampled_from(PARTS)), data.draw(st.integers(0, 99))
    source = RowsInParts(cut_up(problem, n_parts, seed), Post(seed))
    proposer = data.draw(proposals(name))
    found = grow_from(source, proposer, criterion, Rules(**rules), few_rows=few, zoom=zoom)
    assert found == grow(problem, proposer, criterion, Rules(**rules))


@pytest.mark.parametrize("n_outputs", [1, 7])
def test_slopes_of_many_rows(n_outputs: int) -> None:
    """All kinds of directions win somewhere, and a price keeps some of them from winning."""
    rng = np.random.default_rng(n_outputs)
    X = rng.normal(size=(1500, 4)).astype(np.float32)
    y = np.abs(X @ rng.normal(size=(4, n_outputs)) + X[:, :1] * X[:, 1:2])
    weights = rng.integers(1, 4, 1500)
    labels = set()
    for criterion, method in [
        ("squared_error", Slopes()),
        ("squared_error", Slopes(price=30.0, min_rows=40)),
        ("poisson", Slopes()),
    ]:
        problem = encode_numbers(X, y, weights).measured_by(get_criterion(criterion))
        rules = Rules(max_depth=5)
        whole = grow(problem, method, criterion, rules)
        labels |= {label.split()[0] for label in whole.origin_labels}
        post = Post()
        source = RowsInParts(cut_up(problem, 7, seed=3), post)
        found = grow_from(source, method, criterion, rules, few_rows=0, zoom=Zoom(few_values=200))
        assert found == whole
        assert post.passes < 25 * whole.depth
    assert labels == {"axis-parallel", "bend", "least", "numbers"}


def test_many_numbers() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 4)).astype(np.float32)
    y = np.column_stack([X[:, 0] * X[:, 1], 1e9 + X[:, 2], np.zeros(5000)])
    problem = encode_numbers(X, y, sample_weight=rng.integers(1, 4, 5000))
    whole = grow(problem, None, "squared_error", Rules(max_depth=7))
    for few in (0, 400):
        source = RowsInParts(cut_up(problem, 16, seed=3), Post())
        rules = Rules(max_depth=7)
        assert grow_from(source, None, "squared_error", rules, few_rows=few) == whole


# --- levels and missing values ------------------------------------------------------------------

FILLS = ("side", "side", "node", "training")


@st.composite
def coded_tables(draw: st.DrawFn, case: Case) -> Table:
    """Columns of a case as numbers, numbers with gaps, or levels; some miss everything."""
    Z = np.array(case.X, dtype=np.float64, order="F")
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    columns = []
    for k in range(Z.shape[1]):
        kind = draw(st.sampled_from(["numbers", "gaps", "levels", "gaps in levels"]))
        n_levels = draw(st.integers(2, 6)) if "levels" in kind else 0
        if n_levels:
            Z[:, k] = np.unique(Z[:, k], return_inverse=True)[1] % n_levels
        if "gaps" in kind:
            # Some fall together with a class, so that it matters where they go.
            gone = (case.y == 0) | (rng.random(len(Z)) < 0.1)
            gone = gone if draw(st.booleans()) else rng.random(len(Z)) < 0.3
            Z[gone if draw(st.integers(0, 9)) else slice(None), k] = np.nan
        used = np.unique(Z[~np.isnan(Z[:, k]), k])
        if n_levels:
            Z[:, k] = np.where(np.isnan(Z[:, k]), np.nan, np.searchsorted(used, Z[:, k]))
        levels = tuple(range(len(used))) if n_levels else ()
        columns.append(Column(f"x{k}", "qualitative" if levels else "numeric", levels))
    return Table(Z, Encoding(tuple(columns)), np.isnan(Z).any(axis=0))


@pytest.mark.parametrize("name", ["CART", "HHCART(A)", "Fisher", "min_rows", "both"])
@examples(60)
@given(data=st.data(), rules=problems.rules(), zoom=zooms, few=few_rows)
def test_coded_trees_of_classes(
    name: str, data: st.DataObject, rules: dict[str, Any], zoom: Zoom, few: int
) -> None:
    """Numbers of levels, stand-ins and sides come from sums."""
    case = data.draw(problems.cases(max_rows=40, columns=problems.ORDINARY))
    table, fill = data.draw(coded_tables(case)), data.draw(st.sampled_from(FILLS))
    problem = encode(table, case.y, case.n_classes, sample_weight=case.sample_weight, fill=fill)
    problem = replace(problem, level_squares=data.draw(st.booleans()))
    proposer = data.draw(proposals(name))
    criterion = data.draw(st.sampled_from(list(CRITERIA)))
    n_parts, seed = data.draw(st.sampled_from(PARTS)), data.draw(st.integers(0, 99))
    source = RowsInParts(cut_up(problem, n_parts, seed), Post(seed))
    found = grow_from(source, proposer, criterion, Rules(**rules), few_rows=few, zoom=zoom)
    assert found == grow(problem, proposer, criterion, Rules(**rules))


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@examples(60)
@given(data=st.data(), rules=problems.rules(), zoom=zooms, few=few_rows)
def test_coded_trees_of_numbers(
    criterion: str, data: st.DataObject, rules: dict[str, Any], zoom: Zoom, few: int
) -> None:
    case = data.draw(problems.cases(max_rows=40))
    table, fill = data.draw(coded_tables(case)), data.draw(st.sampled_from(FILLS))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    y = np.abs(rng.normal(size=(len(case.y), data.draw(st.integers(1, 3))))) + case.y[:, None]
    if data.draw(st.booleans()):
        y = np.round(y)
    problem = encode_numbers(table, y, sample_weight=case.sample_weight, fill=fill)
    problem = problem.measured_by(get_criterion(criterion))
    n_parts, seed = data.draw(st.sampled_from(PARTS)), data.draw(st.integers(0, 99))
    source = RowsInParts(cut_up(problem, n_parts, seed), Post(seed))
    found = grow_from(source, None, criterion, Rules(**rules), few_rows=few, zoom=zoom)
    assert found == grow(problem, None, criterion, Rules(**rules))


def coded_rows(seed: int, n: int = 500) -> tuple[Table, np.ndarray]:
    """Six classes in numbers, numbers with gaps, and levels, with ties and without."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n)
    Z = rng.normal(size=(n, 5)) + rng.normal(size=(6, 5))[y]
    Z[:, :2] = np.round(Z[:, :2], 1)
    n_levels = (0, 0, 0, 40, 4)
    for k in (3, 4):
        Z[:, k] = np.clip(np.round(2 * Z[:, k] + n_levels[k] / 2), 0, n_levels[k] - 1)
    gone = rng.random((n, 5)) < [0.0, 0.1, 0.3, 0.0, 0.1]
    gone[:, 2] |= (y == 0) & (rng.random(n) < 0.7)
    Z[gone] = np.nan
    columns = []
    for k, most in enumerate(n_levels):
        used = np.unique(Z[~np.isnan(Z[:, k]), k]) if most else []
        if most:
            Z[:, k] = np.where(np.isnan(Z[:, k]), np.nan, np.searchsorted(used, Z[:, k]))
        kind = "qualitative" if most else "numeric"
        columns.append(Column(f"x{k}", kind, tuple(range(len(used)))))
    return Table(Z, Encoding(tuple(columns)), np.isnan(Z).any(axis=0)), y


@pytest.mark.parametrize(
    ("name", "fill", "seed"),
    [
        ("CART", "node", 1),
        ("CART", "side", 2),
        ("HHCART(A)", "side", 7),
        ("HHCART(D)", "training", 4),
        ("discriminants", "side", 8),
    ],
)
def test_many_coded_rows(name: str, fill: str, seed: int) -> None:
    """Nodes in parts and fetched ones; superclasses; gaps at both sides."""
    table, y = coded_rows(seed)
    problem = encode(table, y, 6, sample_weight=[None, y % 3 + 1][seed % 2], fill=fill)
    proposer = Proposals(METHODS[name], scale=[None, "standard", "robust"][seed % 3])
    whole = grow(problem, proposer, "gini", Rules(max_depth=4))
    for few in (0, 100):
        source = RowsInParts(cut_up(problem, 6, seed))
        found = grow_from(source, proposer, "gini", Rules(max_depth=4), few_rows=few)
        assert found == whole
    assert set(whole.missing_side.tolist()) == ({0, 1, 2} if fill == "side" else {0})
    superclasses = any(label.startswith("superclass") for label in whole.origin_labels)
    assert superclasses == (name == "discriminants")


def test_the_mean_of_all_rows_stands_in_where_fetched_rows_know_none() -> None:
    """A column that is missing on one side of the first split has a part in mirrors below."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 4)) + 5.0
    Z[:, 3] = np.repeat([0.0, 100.0], 150)
    y = (Z[:, 1] + Z[:, 2] + rng.normal(size=300) > 10).astype(int) + 2 * (Z[:, 3] > 0)
    Z[Z[:, 3] > 0, 0] = np.nan
    table = Table(Z, Encoding.identity(4), np.isnan(Z).any(axis=0))
    for fill in ("node", "side"):
        problem, rules = encode(table, y, 4, fill=fill), Rules(max_depth=3)
        whole = grow(problem, Householder(), "gini", rules)
        below = (whole.coef_idx == 0) & (np.abs(whole.fill - problem.means[0]) < 1e-12)
        assert below.any()
        source = RowsInParts(cut_up(problem, 3, seed=1))
        assert grow_from(source, Householder(), "gini", rules, few_rows=150) == whole


def test_many_coded_rows_of_numbers() -> None:
    for seed, fill in enumerate(FILLS):
        table, y = coded_rows(seed)
        problem = encode_numbers(table, y + np.nan_to_num(table.Z[:, 2]), fill=fill)
        whole = grow(problem, None, "squared_error", Rules(max_depth=5))
        assert whole.table_ptr[-1] > 0
        for few in (0, 100):
            source = RowsInParts(cut_up(problem, 4, seed))
            rules = Rules(max_depth=5)
            assert grow_from(source, None, "squared_error", rules, few_rows=few) == whole


# --- sources ------------------------------------------------------------------------------------


def test_one_memory_is_a_source_too() -> None:
    problem = problem_of(problems.integers(400))
    whole = grow(problem, Householder(), "gini")
    source = RowsInMemory(problem)
    assert grow_from(source, Householder(), "gini", few_rows=0) == whole
    # What it remembers of one tree does not spoil the next.
    assert grow_from(source, None, "twoing", few_rows=0) == grow(problem, None, "twoing")
    assert grow_from(source, Householder(), "gini") == whole


def test_parts_of_parts() -> None:
    problem = problem_of(problems.integers(300))
    parts = cut_up(problem, 6, seed=1)
    nested = RowsInParts([RowsInParts(parts[:2]), RowsInParts(parts[2:5]), parts[5]])
    assert grow_from(nested, None, "gini", few_rows=0) == grow(problem, None, "gini")


def test_a_part_that_forgets_everything() -> None:
    """Nothing is kept on the other side: every pass starts from all rows of the part."""
    problem = problem_of(problems.integers(300))

    def forgetful(one_pass: OnePass, parts: Sequence[RowSource]) -> Iterator[Answers]:
        for part in parts:
            yield pickle.loads(pickle.dumps(one_pass))(pickle.loads(pickle.dumps(part)))

    source = RowsInParts(cut_up(problem, 3, seed=1), forgetful)
    assert grow_from(source, None, "gini", few_rows=0) == grow(problem, None, "gini")


# --- what is refused ----------------------------------------------------------------------------


def one_direction(node: Any) -> Any:
    return np.ones((1, node.n_features))


@pytest.mark.parametrize(
    ("proposer", "criterion", "said"),
    [
        (Climb(), "gini", "the method Climb must see the rows"),
        (Anneal(), "gini", "the method Anneal must see"),
        (LinearCombination(), "gini", "the method LinearCombination must see"),
        (Householder(trim=0.1), "gini", r"Householder with trim=0\.1 must see"),
        (Proposals(Householder(), at_root=True), "gini", "asked at the root only must see"),
        (one_direction, "gini", "the proposer one_direction, which is written in Python, must"),
        (None, lambda left, right: 0.0, "written in Python, must see"),
        (
            Proposals(Discriminants(), axis_parallel=False),
            "gini",
            "Discriminants with superclasses but without axis-parallel splits must see",
        ),
        (None, "squared_error", "not for classification"),
    ],
)
def test_what_needs_rows_is_refused(proposer: Any, criterion: Any, said: str) -> None:
    problem = problem_of(problems.integers(40, n_classes=5))
    with pytest.raises(ValueError, match=said):
        grow_from(RowsInParts([problem]), proposer, criterion)


def test_no_rows_are_refused() -> None:
    problem = problem_of(problems.integers(40))
    nothing = problem.take(np.zeros(40, dtype=bool))
    with pytest.raises(ValueError, match="one row at least and 2147483647 at most; got 0 in all"):
        grow_from(RowsInParts([nothing, nothing]))


def test_parts_that_cannot_be_added_are_refused() -> None:
    X, y = np.arange(6.0)[:, None], [0, 1] * 3
    one = encode(X, y, 2)
    with pytest.raises(ValueError, match="same unit"):
        RowsInParts([one, encode(X, y, 2, sample_weight=[0.5] * 6)])
    with pytest.raises(ValueError, match="same grid"):
        RowsInParts([encode_numbers(X, X[:, 0]), encode_numbers(X, 3 * X[:, 0])])
    with pytest.raises(ValueError, match="1 columns with 2 sums and 1 columns with 3 sums"):
        RowsInParts([one, encode(X, y, 3)])
    with pytest.raises(ValueError, match="weights, or none; got both"):
        RowsInParts([one, encode(X, y, 2, sample_weight=[1.0] * 5 + [2.0])])
    with pytest.raises(ValueError, match="need a part at least"):
        RowsInParts([])


def test_rows_in_memory_travel_after_they_were_asked() -> None:
    """What was found out about them on the way stays behind."""
    problem = encode(np.arange(8.0)[:, None], [0, 0, 1, 1, 1, 0, 0, 0], 2)
    source = RowsInMemory(problem)
    tree = grow_from(RowsInParts([source]), few_rows=0)
    sent = pickle.loads(pickle.dumps(source))
    assert grow_from(RowsInParts([sent]), few_rows=0) == tree == grow(problem)
