"""The figures of the documentation are what their scripts draw.

The files are not compared byte by byte: labels depend on the version of matplotlib. Points,
lines and cells have names in the files, and their coordinates are compared.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
HUNDREDTH_OF_A_POINT = 0.01


def geometry(path: Path) -> dict[str, list[float]]:
    """The coordinates of each named part of a figure."""
    parts = {}
    for group in ElementTree.parse(path).iter(f"{SVG}g"):
        name = group.get("id", "")
        if re.fullmatch(r"panel-\d-.+", name):
            points = [float(u.get(k, "")) for u in group.iter(f"{SVG}use") for k in "xy"]
            outlines = [path.get("d", "") for path in group.iter(f"{SVG}path")]
            parts[name] = points or [float(n) for d in outlines for n in NUMBER.findall(d)]
    return parts


def assert_same(now: dict[str, list[float]], before: dict[str, list[float]]) -> None:
    assert now.keys() == before.keys()
    for name, numbers in before.items():
        assert len(numbers) >= 4, name
        np.testing.assert_allclose(now[name], numbers, atol=HUNDREDTH_OF_A_POINT, err_msg=name)


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "hhcart.py"))


@pytest.fixture(scope="module")
def beside() -> Iterator[None]:
    # Scripts may import each other: Python finds what lies beside the one that it is given.
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FIGURES))
        yield


@pytest.fixture(scope="module")
def of_oc1(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "oc1.py"))


@pytest.fixture(scope="module")
def of_oc1_paper(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "oc1_paper.py"))


@pytest.fixture(scope="module")
def of_etct(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "etct.py"))


@pytest.fixture(scope="module")
def of_odt(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "odt.py"))


@pytest.fixture(scope="module")
def of_forest(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "forest.py"))


@pytest.fixture(scope="module")
def of_ranks(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "ranks.py"))


@pytest.fixture(scope="module")
def of_refined(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "refined.py"))


@pytest.fixture(scope="module")
def of_regression(beside: None) -> dict[str, Any]:
    return runpy.run_path(str(FIGURES / "regression.py"))


@pytest.fixture(scope="module")
def drawn(
    script: dict[str, Any],
    of_oc1: dict[str, Any],
    of_oc1_paper: dict[str, Any],
    of_forest: dict[str, Any],
    of_ranks: dict[str, Any],
    of_refined: dict[str, Any],
    of_regression: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    for one in (script, of_oc1, of_oc1_paper, of_forest, of_ranks, of_refined, of_regression):
        one["write"](one["figures"], folder)
    return folder


KEPT = sorted(FIGURES.glob("*-*.svg"))
# These can be drawn where the data are.
GLASS = FIGURES / "etct-glass.svg"
SPECT = [FIGURES / "odt-component.svg", FIGURES / "odt-samples.svg"]
ANYWHERE = [path for path in KEPT if path not in (GLASS, *SPECT)]


@pytest.mark.parametrize("kept", ANYWHERE, ids=lambda p: p.stem)
def test_a_figure_is_what_its_script_draws(kept: Path, drawn: Path) -> None:
    assert_same(geometry(drawn / kept.name), geometry(kept))
    assert len(geometry(kept)) >= 6


@pytest.mark.data
def test_the_figure_of_glass_is_what_its_script_draws(
    of_etct: dict[str, Any], tmp_path: Path
) -> None:
    of_etct["write"](of_etct["figures"], tmp_path)
    assert_same(geometry(tmp_path / GLASS.name), geometry(GLASS))
    assert len(geometry(GLASS)) >= 6


@pytest.mark.data
def test_the_figures_of_spect_are_what_their_script_draws(
    of_odt: dict[str, Any], tmp_path: Path
) -> None:
    of_odt["write"](of_odt["figures"], tmp_path)
    for kept in SPECT:
        assert_same(geometry(tmp_path / kept.name), geometry(kept))
        assert len(geometry(kept)) >= 16


@pytest.mark.data
def test_a_component_of_three_nodes_answers_the_same_everywhere(of_odt: dict[str, Any]) -> None:
    """As the text below the figure says; with eight leaves it does not."""
    three, eight = (of_odt["fitted"](n) for n in (2, 8))
    shares = [
        model.component_weights_[0] * model.trees_[0].mean[model.trees_[0].is_leaf, 1]
        for model in (three, eight)
    ]
    assert len(shares[0]) == 2 and (shares[0] > 0.5).all()
    assert len(shares[1]) == 8 and (shares[1] < 0.5).any()
    assert three.fidelity_[0] < eight.fidelity_[0] < 1.0


def test_the_map_of_the_house_is_what_its_script_draws() -> None:
    house = runpy.run_path(str(FIGURES / "house.py"))
    assert (FIGURES / "house.svg").read_text("utf-8") == house["draw"]()


def test_all_figures_are_kept(drawn: Path) -> None:
    assert {p.name for p in drawn.glob("*.svg")} == {path.name for path in ANYWHERE}
    assert all(path in KEPT for path in (GLASS, *SPECT))


@pytest.mark.parametrize(("data", "column"), [("stripes", 1), ("head_to_tail", 0)])
def test_the_figures_show_what_the_text_says(
    script: dict[str, Any], data: str, column: int
) -> None:
    """One split lies along the eigenvector, the other across it, and each parts the classes."""
    X, y = script[data]()
    found = script["root_reflection"](X, y)
    assert found.column == column
    np.testing.assert_array_equal(X @ found.normal <= found.threshold, y == 0)


def test_cells_fill_the_box_and_hold_their_rows(script: dict[str, Any]) -> None:
    from obliqua import CartClassifier

    X, y = script["stripes"]()
    fitted = CartClassifier(pruning=None).fit(X, y)
    box = np.array([[-1.0, -1.0], [8.0, -1.0], [8.0, 8.0], [-1.0, 8.0]])
    cells = script["cells"](fitted.tree_, box)
    assert len(cells) == fitted.get_n_leaves()
    area = 0.0
    for _, corners in cells:
        x, z = corners.T
        area += abs(x @ np.roll(z, 1) - z @ np.roll(x, 1)) / 2
    assert area == pytest.approx(81.0)


def test_the_climb_is_what_the_text_says(of_oc1: dict[str, Any]) -> None:
    """It comes to rest at the first band, jumps, and ends at the third one; it is never worse."""
    way = of_oc1["climb_on_pol"]()
    jump = of_oc1["jump_of"](way)
    assert np.flatnonzero(way[0].normal).tolist() == [1]
    for step, band in ((way[jump - 1], 0.3125), (way[-1], 1.0625)):
        normal = step.normal / step.normal.mean()
        np.testing.assert_allclose(normal, 1.0, atol=0.01)
        assert step.threshold / step.normal.mean() == pytest.approx(band, abs=0.005)
    goodness = [step.goodness for step in way]
    assert all(b >= a - 1e-12 for a, b in pairwise(goodness))


def test_all_ways_to_part_five_points_by_a_line_are_drawn(of_oc1_paper: dict[str, Any]) -> None:
    """As many as Cover (1965) counts, and each line parts the points as it says."""
    points, sides = of_oc1_paper["FIVE"], of_oc1_paper["parted_by_a_line"]()
    n = len(points)
    assert len(sides) == n * (n - 1) // 2
    for side, (normal, threshold) in zip(sides, of_oc1_paper["oblique_splits"](), strict=True):
        np.testing.assert_array_equal(points @ normal > threshold, side)


def test_a_jump_parts_what_climbs_do_not(of_oc1_paper: dict[str, Any]) -> None:
    """As the text below the figure says: neither the climb nor CART-LC gets there."""
    from obliqua import CartLCClassifier
    from obliqua.datasets import load_oc1_figure5

    X, y = load_oc1_figure5(return_X_y=True)
    way = of_oc1_paper["climb_of_figure_5"]()
    rest, end = way[of_oc1_paper["jump_of"](way) - 1], way[-1]
    for step, parts in ((rest, False), (end, True)):
        right = X @ step.normal > step.threshold
        assert bool((right == (y == "2")).all()) is parts
    stuck = CartLCClassifier(variant="oc1", pruning=None, random_state=0).fit(X, y)
    assert stuck.get_n_leaves() == 3


@pytest.mark.data
def test_the_tree_of_glass_is_what_the_text_says(of_etct: dict[str, Any]) -> None:
    """A window's main cluster on one side of the first split; one far from it on the other."""
    tree, X, y = of_etct["fitted"]()
    assert tree.transformation_ == "first+pca"
    grown = tree.tree_
    means = X[y == "window"].mean() - X[y == "non-window"].mean()
    root = grown.coefficients(0)
    cosine = root @ means / np.linalg.norm(root) / np.linalg.norm(means)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-6)
    sides = [
        grown.coefficients(int(node))
        for node in np.flatnonzero(grown.node_depth == 1)
        if not grown.is_leaf[node]
    ]
    for side in sides:
        assert abs(side @ root) < 1e-6 * np.linalg.norm(side) * np.linalg.norm(root)


def test_the_forest_is_what_the_text_says(of_forest: dict[str, Any]) -> None:
    """Its trees say different things, and most of what it says is due to single features."""
    found = of_forest["diagnosed"]()
    assert found.n_trees == 50
    assert 15 < found.n_effective < 25
    assert found.repeats() == []
    assert found.energy.orders["1"] > 0.7
    assert found.energy.features[int(found.energy.main.argmax())] == "worst concave points"


def test_the_tables_on_ranks_are_what_the_results_say(of_ranks: dict[str, Any]) -> None:
    guides = FIGURES.parent / "guides"
    assert of_ranks["table"]() in (guides / "ranks.md").read_text("utf-8")
    assert of_ranks["side_by_side"]() in (guides / "advise.md").read_text("utf-8")
