"""The paper on orthogonal trees: the kept tables are complete and of this code; what they say.

Its 8.02 % is the error of always answering "positive", and so is ours wherever it is reached.
"""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.papers.odt import TABLE_1, TABLE_2, TABLE_CV, of_bagged
from reproduction.papers.odt_shown import error, nodes
from reproduction.protocol import run_cell
from reproduction.tests.kept import RESULTS, kept_figures

CONSTANT = 100.0 * 15 / 187
TABLES = {table.name: table for table in (TABLE_1, TABLE_2, TABLE_CV)}


def errors(name: str, method: str, data_set: str = "SPECT") -> dict[str, float]:
    return kept_figures(name)[data_set, method]


@pytest.mark.parametrize("name", TABLES)
def test_the_kept_tables_are_complete(name: str) -> None:
    table = TABLES[name]
    sets = [data_set.name for data_set in table.data_sets]
    assert list(kept_figures(name)) == [(one, method) for one in sets for method in table.standard]
    assert {row["repeats"] for row in kept_figures(name).values()} == {30.0}
    text = (RESULTS / f"{name}.md").read_text("utf-8")
    assert text.startswith(f"## {table.title}\n")
    for (_, method), row in kept_figures(name).items():
        if "error_ours" in row:
            assert f"| {row['error_ours']:.2f} ± {row['error_ours_sd']:.2f} |" in text, method


@pytest.mark.data
def test_c45_is_that_of_the_paper() -> None:
    rows = TABLE_1.choose_sets()[0].load()
    usual, plain = (
        run_cell("SPECT", rows, method, 0, seed=0)
        for method in TABLE_1.choose_methods(["C4.5", "C4.5-S"])
    )
    assert (error(usual), nodes(usual, "C4.5")) == (pytest.approx(100.0 * 46 / 187), 11.0)
    assert (error(plain), nodes(plain, "C4.5-S")) == (pytest.approx(100.0 * 40 / 187), 13.0)


@pytest.mark.data
def test_the_whole_aggregated_tree_is_the_aggregated_spectrum() -> None:
    rows = TABLE_1.choose_sets()[0].load()
    assert rows.X_test is not None
    cut = {"coding": "0/1", "spectrum_energy": 0.9, "max_samples": 20}
    tree = of_bagged(0, one_tree=True, max_leaf_nodes=None, merge="class", **cut).fit(
        rows.X, rows.y
    )
    function = of_bagged(0, n_components=None, **cut).fit(rows.X, rows.y)
    assert tree.tree_.n_nodes > 3000
    everywhere = np.vstack([rows.X, rows.X_test])
    np.testing.assert_array_equal(tree.predict(everywhere), function.predict(everywhere))


# --- what they say ----------------------------------------------------------------------------


def test_components_follow_bagging() -> None:
    for sample in ("20", "all"):
        bagging = errors("odt-table-1", f"bagging/{sample}")
        for name in ("AFT", "ODT"):
            row = errors("odt-table-1", f"{name}/{sample}")
            # Within what one seed differs from another.
            assert abs(row["error_ours"] - bagging["error_ours"]) < bagging["error_ours_sd"]
            assert row["error_ours"] > CONSTANT + 5.0
            assert row["only_positive"] == 0


def test_the_prototype_found_the_same() -> None:
    for (_, method), row in kept_figures("odt-table-1").items():
        theirs = row["error_prototype"]
        # An own stream of samples, and trees pruned in another way.
        if not np.isnan(theirs) and method != "ODT-sum+-1/20":
            assert abs(row["error_ours"] - theirs) < max(2.5, row["error_ours_sd"]), method


@pytest.mark.parametrize("method", ["AFT-3", "ODT-sum3", "ODT-sum12"])
@pytest.mark.parametrize("sample", ["20", "all"])
def test_what_has_the_papers_error_gives_one_answer_only(method: str, sample: str) -> None:
    row = errors("odt-table-1", f"{method}/{sample}")
    assert row["error_ours"] == pytest.approx(CONSTANT)
    assert row["error_ours_sd"] < 1e-9
    assert (row["balanced"], row["only_positive"]) == (50.0, 30.0)


def test_no_other_method_comes_near_the_papers_error() -> None:
    for (_, method), row in kept_figures("odt-table-1").items():
        assert row["constant"] == pytest.approx(CONSTANT)
        if row["only_positive"] == 0:
            assert row["error_ours"] > CONSTANT + 2.0, method


def test_under_cross_validation_three_nodes_are_the_constant() -> None:
    for data_set, wrong in (("SPECT-80", 50.0), ("SPECT-267", 100.0 * 55 / 267)):
        for sample in ("20", "all"):
            row = errors("odt-cross-validation", f"ODT-sum3/{sample}", data_set)
            assert row["constant"] == pytest.approx(wrong)
            assert row["error_ours"] >= wrong - 0.5
            assert row["balanced"] < 55.0
            bagging = errors("odt-cross-validation", f"bagging/{sample}", data_set)
            ours = errors("odt-cross-validation", f"ODT/{sample}", data_set)
            assert abs(ours["error_ours"] - bagging["error_ours"]) < 3.0


def test_sizes() -> None:
    table = kept_figures("odt-table-2")
    assert table["SPECT", "bagging/20"]["nodes_ours"] == pytest.approx(5.3, abs=0.3)
    # The prototype, whose trees were not raised, had 14.4.
    assert table["SPECT", "bagging/all"]["nodes_ours"] == pytest.approx(13.0, abs=0.5)
    for sample in ("20", "all"):
        assert table["SPECT", f"AFT-whole/{sample}"]["nodes_ours"] > 5000
        assert table["SPECT", f"ODT-sum3/{sample}"]["nodes_ours"] == 3.0


def test_the_papers_shares_are_near_squares_of_ours() -> None:
    row = kept_figures("odt-table-2")["SPECT", "AFT/20"]
    assert 70.0 < row["share_1"] < 82.0
    assert row["square_1"] == pytest.approx(99.2, abs=0.3)
    assert row["square_2"] == pytest.approx(0.38, abs=0.15)
