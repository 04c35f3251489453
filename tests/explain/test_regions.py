"""The regions of leaves as inequalities."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import HHCartClassifier
from obliqua.errors import TreeError
from obliqua.explain import Region, _polyhedron, region, regions
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from problems import examples, gaussians
from reference.walk import path
from strategies import rows, trees
from trees_to_read import chain

KINDS = (NodeKind.HYPERPLANE, NodeKind.MACHINE)


def holds(found: Region, row: list[float]) -> bool:
    """Whether a row is in a region, in exact arithmetic."""
    for normal, bound, strict in zip(found.A, found.b, found.strict, strict=True):
        value = sum(
            (Fraction(a) * Fraction(x) for a, x in zip(normal.tolist(), row, strict=True)),
            Fraction(0),
        )
        if value > Fraction(float(bound)) or (strict and value == Fraction(float(bound))):
            return False
    return True


def exact_leaf(tree: Tree, row: list[float]) -> int:
    """The leaf that a row would reach if nothing were rounded."""
    node, values = 0, [Fraction(x) for x in row]
    while not tree.is_leaf[node]:
        scores = []
        for plane in range(tree.plane_ptr[node], tree.plane_ptr[node + 1]):
            part = range(tree.coef_ptr[plane], tree.coef_ptr[plane + 1])
            terms = (Fraction(float(tree.coef[k])) * values[tree.coef_idx[k]] for k in part)
            scores.append(sum(terms, Fraction(0)) - Fraction(float(tree.threshold[plane])))
        if tree.kind[node] == NodeKind.HYPERPLANE:
            branch = 0 if scores[0] <= 0 else 1
        else:
            branch = scores.index(max(scores))
        node = int(tree.first_child[node]) + branch
    return node


@st.composite
def walks(draw: Any, kinds: tuple[NodeKind, ...] = KINDS) -> tuple[Tree, np.ndarray]:
    tree = draw(trees(kinds=kinds, tables=False))
    return tree, draw(rows(tree))


@examples(300)
@given(walks(kinds=(NodeKind.HYPERPLANE,)))
def test_a_row_is_in_the_region_of_its_leaf_and_in_no_other(walk: Any) -> None:
    tree, Z = walk
    found = regions(tree)
    assert [each.leaf for each in found] == np.flatnonzero(tree.is_leaf).tolist()
    for row in Z.astype(float).tolist():
        inside = [each.leaf for each in found if holds(each, row)]
        assert inside == [exact_leaf(tree, row)]


# Numbers of which no sum or product is rounded.
dyadic = st.integers(-8, 8).map(lambda k: k / 4)


@st.composite
def exact_walks(draw: Any) -> tuple[Tree, np.ndarray]:
    """Trees and rows in small fractions, in which floats are exact, machines too."""
    builder = TreeBuilder(2, 1)
    open_nodes = ["r"]
    for _ in range(draw(st.integers(1, 5))):
        name = open_nodes.pop(draw(st.integers(0, len(open_nodes) - 1)))
        n_children = draw(st.sampled_from([2, 2, 3]))
        children = [f"{name}{k}" for k in range(n_children)]
        normals = [{0: draw(dyadic), 1: draw(dyadic)} for _ in children]
        if n_children == 2:
            builder.add_split(name, normals[0], draw(dyadic), children)
        else:
            builder.add_machine(name, normals, [draw(dyadic) for _ in children], children)
        open_nodes += children
    for name in open_nodes:
        builder.set_leaf(name, [1])
    Z = draw(st.lists(st.tuples(dyadic, dyadic), min_size=1, max_size=8))
    return builder.build(), np.array(Z)


@examples(100)
@given(exact_walks())
def test_contains_agrees_with_the_walk(walk: Any) -> None:
    tree, Z = walk
    leaves = tree.apply(Z)
    assert leaves.tolist() == [path(tree, row)[-1] for row in Z.tolist()]
    for found in regions(tree):
        small = found.minimal()
        np.testing.assert_array_equal(found.contains(Z), leaves == found.leaf)
        np.testing.assert_array_equal(small.contains(Z), leaves == found.leaf)
        assert len(small) <= len(found)
        if found.is_empty:
            assert not (leaves == found.leaf).any()
            assert "(empty" in str(found)


@examples(60)
@given(exact_walks())
def test_what_is_left_out_is_implied(walk: Any) -> None:
    tree, _ = walk
    grid = np.stack(np.meshgrid(*[np.linspace(-12, 12, 41)] * 2), axis=-1).reshape(-1, 2)
    for found in regions(tree):
        small = found.minimal()
        np.testing.assert_array_equal(found.contains(grid), small.contains(grid))
        if found.is_empty or len(found) == 0:
            continue
        centre, radius = found.ball()
        if np.isfinite(radius):
            slack = found.b - found.A @ centre
            lengths = np.linalg.norm(found.A, axis=1)
            assert (slack >= radius * lengths - 1e-6).all()
            assert radius >= 0
        else:
            assert not found.is_bounded
            assert (found.A @ centre <= found.b + 1e-6).all()
        if found.is_bounded:
            # Far away in every direction there is nothing.
            turn = np.linspace(0, 2 * np.pi, 720)
            assert not found.contains(1e5 * np.column_stack([np.cos(turn), np.sin(turn)])).any()


def square(*, oblique: float) -> Tree:
    """The unit square, cut by x0 + x1 <= oblique."""
    builder = TreeBuilder(2, 1)
    cuts: list[tuple[dict[int, float], float, bool]] = [
        ({0: 1.0}, 1.0, True),
        ({0: 1.0}, 0.0, False),
        ({1: 1.0}, 1.0, True),
        ({1: 1.0}, 0.0, False),
        ({0: 1.0, 1: 1.0}, oblique, True),
    ]
    for k, (normal, threshold, left) in enumerate(cuts):
        children = (k + 1, f"out {k}") if left else (f"out {k}", k + 1)
        builder.add_split(k, normal, threshold, children)
        builder.set_leaf(f"out {k}", [1])
    builder.set_leaf(5, [1])
    return builder.build()


def test_redundant_inequalities_go() -> None:
    tree = square(oblique=3.0)
    leaf = int(tree.apply(np.array([[0.5, 0.5]]))[0])
    found = region(tree, leaf)
    assert len(found) == 5
    small = region(tree, leaf, minimal=True)
    assert str(small).splitlines() == ["x0 <= 1", "x0 > 0", "x1 <= 1", "x1 > 0"]
    assert small.is_box
    assert (small.low.tolist(), small.high.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    np.testing.assert_array_equal(small.strict, [False, True, False, True])
    np.testing.assert_array_equal(small.nodes, found.nodes[:4])
    for each in (found, small):
        assert each.is_bounded
        assert not each.is_empty
        centre, radius = each.ball()
        np.testing.assert_allclose(centre, [0.5, 0.5], atol=1e-7)
        assert radius == pytest.approx(0.5)
    assert [each.leaf for each in regions(tree, minimal=True)] == [
        each.leaf for each in regions(tree)
    ]


def test_a_triangle() -> None:
    tree = square(oblique=1.0)
    leaf = int(tree.apply(np.array([[0.1, 0.1]]))[0])
    small = region(tree, leaf, minimal=True)
    # Those that touch it in a corner may stay; the three sides must.
    assert {"x0 > 0", "x1 > 0", "x0 + x1 <= 1"} <= set(small.conditions)
    centre, radius = small.ball()
    assert radius == pytest.approx(1 / (2 + np.sqrt(2)))
    np.testing.assert_allclose(centre, [radius, radius], atol=1e-7)
    centre, radius = small.ball(scale=[2.0, 2.0])
    assert radius == pytest.approx(0.5 / (2 + np.sqrt(2)))
    assert small.is_bounded


@pytest.mark.parametrize(("n_features", "bounded"), [(2, True), (3, False)])
def test_a_triangle_is_bounded_and_a_prism_is_not(n_features: int, bounded: bool) -> None:
    builder = TreeBuilder(n_features, 1)
    for k, normal in enumerate(({0: 1.0, 1: 1.0}, {0: -1.0, 1: 2.0}, {0: 1.0, 1: -3.0})):
        builder.add_split(k, normal, 1.0, (k + 1, f"out {k}"))
        builder.set_leaf(f"out {k}", [1])
    builder.set_leaf(3, [1])
    tree = builder.build()
    found = region(tree, int(tree.apply(np.zeros((1, n_features)))[0]))
    assert len(found) == 3
    assert found.is_bounded == bounded
    twice = {name: np.tile(getattr(found, name), 2) for name in ("b", "strict", "nodes")}
    both = replace(found, A=np.vstack([found.A] * 2), **twice)
    assert both.is_bounded == bounded


def test_an_empty_region_is_said() -> None:
    tree = square(oblique=-0.5)
    deepest = int(np.flatnonzero(tree.is_leaf & (tree.node_depth == 5))[0])
    found = region(tree, deepest)
    assert found.is_empty
    assert found.is_bounded
    assert str(found).endswith("(empty: no complete row can be here)")
    assert len(found.minimal()) == len(found)
    with pytest.raises(TreeError, match=f"region of leaf {deepest} is empty"):
        found.ball()


@pytest.mark.parametrize(
    ("second", "branch", "empty"),
    [(1.0, 1, True), (np.nextafter(1.0, 0.0), 1, False), (2.0, 1, True), (2.0, 0, False)],
)
def test_emptiness_of_parallel_splits_is_exact(second: float, branch: int, empty: bool) -> None:
    """Above `second` (or below it) after x0 + x1 <= 1, which is also asked for in thirds."""
    builder = TreeBuilder(2, 1)
    builder.add_split("root", {0: 3.0, 1: 3.0}, 3.0, ("low", "high"))
    builder.add_split("low", {0: 1.0, 1: 1.0}, second, ("a", "b"))
    for leaf in ("high", "a", "b"):
        builder.set_leaf(leaf, [1])
    assert region(builder.build(), 3 + branch).is_empty == empty


def test_the_tightest_of_parallel_inequalities_stays() -> None:
    builder = TreeBuilder(2, 1)
    builder.add_split("a", {0: 2.0}, 3.0, ("b", "1"))
    builder.add_split("b", {0: -1.0}, -1.0, ("2", "c"))  # x0 >= 1 goes left
    builder.add_split("c", {0: 1.0}, 1.0, ("d", "3"))
    builder.set_leaf("d", [1])
    for leaf in "123":
        builder.set_leaf(leaf, [1])
    tree = builder.build()
    found = region(tree, int(tree.apply(np.array([[0.0, 0.0]]))[0]))
    assert found.conditions == ("x0 < 1",)
    assert found.high.tolist() == [1.0, np.inf]
    assert not found.is_bounded
    assert found.ball()[1] == np.inf


def test_a_tree_of_one_leaf() -> None:
    builder = TreeBuilder(3, 1)
    builder.set_leaf("only", [1])
    (found,) = regions(builder.build(), minimal=True)
    assert (str(found), len(found), found.is_empty, found.is_bounded) == (
        "everything",
        0,
        False,
        False,
    )
    assert found.ball()[1] == np.inf
    assert found.contains(np.zeros((2, 3))).all()


def test_units_do_not_matter_for_what_is_redundant() -> None:
    case = gaussians(300, n_columns=3, seed=5)
    units = np.array([1e-6, 1.0, 1e6])
    tree = HHCartClassifier(pruning=None, max_depth=7).fit(case.X, case.y).tree_
    arrays = tree.to_arrays() | {"coef": tree.coef / units[tree.coef_idx]}
    other = Tree.from_arrays(arrays)
    for one, two in zip(regions(tree, minimal=True), regions(other, minimal=True), strict=True):
        np.testing.assert_array_equal(one.nodes, two.nodes)
        assert one.is_bounded == two.is_bounded
        assert one.is_empty == two.is_empty


def test_what_a_region_is_not_known_for() -> None:
    builder = TreeBuilder(2, 1)
    builder.add_levels("root", 1, [0, 1], ("a", "b"))
    builder.set_leaf("a", [1])
    builder.set_leaf("b", [1])
    tree = builder.build()
    with pytest.raises(TreeError, match="Node 0 is a set of levels; a region is known for"):
        region(tree, 1)
    with pytest.raises(TreeError, match="There is no node 7"):
        region(tree, 7)
    with pytest.raises(TreeError, match="takes arrays of shape"):
        region(square(oblique=1.0), 3).contains(np.zeros(2))
    with pytest.raises(ValueError, match="scale must hold"):
        region(square(oblique=1.0), 3).ball(scale=[1.0])


def test_scores_too_far_apart() -> None:
    builder = TreeBuilder(1, 1)
    builder.add_machine("root", [{0: 1e308}, {0: -1e308}], [0.0, 0.0], ("a", "b"))
    builder.set_leaf("a", [1])
    builder.set_leaf("b", [1])
    with pytest.raises(TreeError, match="differ by more than the largest number"):
        regions(builder.build())


def test_coefficients_that_the_solver_would_not_see() -> None:
    """A false "empty" is worse than none: what the solver would take for 0 is not given to it."""
    builder = TreeBuilder(2, 1)
    builder.add_split("root", {0: 1.0, 1: 1e-12}, 0.0, ("low", "high"))
    builder.add_split("low", {0: -1.0, 1: 3e-12}, -1.0, ("a", "b"))
    builder.add_split("a", {0: 1.0, 1: 1.0}, 0.0, ("c", "d"))
    for leaf in ("high", "b", "c", "d"):
        builder.set_leaf(leaf, [1])
    tree = builder.build()
    row = np.array([[2.0, -3e12]])
    found = region(tree, int(tree.apply(row)[0]), minimal=True)
    assert found.contains(row).all()
    assert not found.is_empty
    with pytest.raises(TreeError, match="Give a scale that makes the features comparable"):
        found.ball()
    centre, radius = found.ball(scale=[1.0, 1e12])
    assert found.contains(centre[None]).all()
    assert radius > 0


def test_a_linear_program_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numerical trouble cannot be had on demand, so the solver is replaced."""
    tree = square(oblique=1.5)
    found = region(tree, int(tree.apply(np.array([[0.5, 0.5]]))[0]))
    failed = SimpleNamespace(status=4, x=None, fun=None, message="trouble")
    monkeypatch.setattr(_polyhedron, "linprog", lambda *args, **kwargs: failed)
    assert not found.is_empty
    assert len(found.minimal()) == len(found)
    with pytest.raises(TreeError, match="too far apart for linear programming: trouble"):
        found.ball()


@pytest.mark.parametrize("leaf", ["a", None, [1], float("nan"), float("inf"), 1.5])
def test_a_leaf_is_a_number(leaf: Any) -> None:
    builder = TreeBuilder(n_features=1, n_stats=1)
    builder.set_leaf("root", [1])
    with pytest.raises(TreeError, match=r"node"):
        region(builder.build(), leaf)


@pytest.mark.parametrize("status", [1, 2, 4])
def test_only_what_is_unbounded_has_balls_of_any_size(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """A first program that fails says nothing of the size, though a second one is solved."""
    tree = square(oblique=1.5)
    found = region(tree, int(tree.apply(np.array([[0.5, 0.5]]))[0]))
    assert not found.is_empty
    solve = _polyhedron.linprog

    def failing(c: Any, A_ub: Any, **more: Any) -> Any:
        if len(A_ub) == len(found):
            return SimpleNamespace(status=status, x=None, fun=None, message="trouble")
        return solve(c, A_ub=A_ub, **more)

    monkeypatch.setattr(_polyhedron, "linprog", failing)
    with pytest.raises(TreeError, match="too far apart for linear programming: trouble"):
        found.ball()


def test_an_unclear_answer_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it has looked closer the solver may not tell "unbounded" from "infeasible"."""
    builder = TreeBuilder(2, 1)
    builder.add_split("root", {0: 1.0, 1: 1.0}, 1.0, ("low", "high"))
    builder.set_leaf("low", [1])
    builder.set_leaf("high", [1])
    found = region(builder.build(), 1)
    solve = _polyhedron.linprog

    def unsure(*args: Any, **more: Any) -> Any:
        said = solve(*args, **more)
        if said.status == 3 and "options" not in more:
            said.status = 4
        return said

    monkeypatch.setattr(_polyhedron, "linprog", unsure)
    assert found.ball()[1] == np.inf


def test_an_inequality_that_touches_the_rim_stays() -> None:
    """It leaves no room, so rounding could make the region larger without it."""
    tree = square(oblique=2.0)
    leaf = int(tree.apply(np.array([[0.5, 0.5]]))[0])
    assert region(tree, leaf, minimal=True).conditions[-1] == "x0 + x1 <= 2"
    assert len(region(tree, leaf, minimal=True)) == 5


def test_the_inequalities_of_a_machine_keep_their_digits() -> None:
    builder = TreeBuilder(2, 1)
    normals = [{0: 1.0}, {0: 2.0, 1: -1234567.5}, {0: 1.0}]
    builder.add_machine("root", normals, [0.0, -2469135.0, 1.0], ("a", "b", "c"))
    for leaf in "abc":
        builder.set_leaf(leaf, [1])
    first, second, _ = regions(builder.build())
    assert first.conditions == ("x0 - 1234568*x1 <= -2469135",)
    assert second.conditions == ("-x0 + 1234568*x1 < 2469135",)
    builder = TreeBuilder(1, 1)
    builder.add_machine("root", [{0: 1.0}, {0: 1.0}], [0.0, -1.0], ("a", "b"))
    for leaf in "ab":
        builder.set_leaf(leaf, [1])
    found = regions(builder.build())
    assert [each.conditions for each in found] == [("0 <= -1",), ()]


def test_each_branch_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that is done again for each leaf below would grow with the square of the depth."""
    module = import_module("obliqua.explain.regions")  # the package has a function of that name
    calls = {"direction": 0, "question_of": 0}

    def counted(name: str) -> Any:
        made = getattr(module, name)

        def count(*args: Any) -> Any:
            calls[name] += 1
            return made(*args)

        return count

    for name in calls:
        monkeypatch.setattr(module, name, counted(name))
    found = regions(chain(300))
    assert calls == {"direction": 600, "question_of": 0}
    assert found[-2].conditions == ("x0 <= 1",)
    assert found[1].conditions == ("x0 <= 300", "x0 > 299")
    assert calls["question_of"] == 3
