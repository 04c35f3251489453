"""A reduced table 5 of the HHCART paper: accuracies of FDT stay near the published ones.

Two cross-validations of ten. The band is three published standard deviations of a single one, so
a right method leaves it about once in 40,000 times where its true mean is the published one.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from obliqua import FisherTreeClassifier
from obliqua.data import encode
from obliqua.prune import prune_pessimistic
from reproduction.papers.hhcart import PUBLISHED_5, TABLE_5
from reproduction.store import Store
from reproduction.tables import Comparison, run_table

WIDTH = 3.0


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    store = Store(tmp_path_factory.mktemp("table") / "table-5.json", TABLE_5.name, seed=0)
    return run_table(TABLE_5, store, methods=["FDT"], repeats=2, progress=lambda line: None)


@pytest.mark.data
@pytest.mark.parametrize("data_set", list(PUBLISHED_5))
def test_accuracy_stays_in_its_band(compared: Comparison, data_set: str) -> None:
    (row,) = (row for row in compared.rows if row.data_set == data_set)
    assert abs(row.z_accuracy) <= WIDTH, f"{data_set}: {row.ours.accuracy[0]:.2f}"


@pytest.mark.data
def test_sizes_of_the_trees_from_all_rows(compared: Comparison) -> None:
    """They are not random; the paper's are 21, 7, 43, 67, 20 and 42."""
    leaves = {row.data_set: row.ours.leaves[0] for row in compared.rows}
    expected = {"BH": 16, "BC": 10, "BUPA": 34, "PIND": 67, "HRT": 17, "SUR": 19}
    assert leaves == expected
    assert all(np.isnan(row.ours.leaves[1]) for row in compared.rows)


@pytest.mark.data
def test_sizes_without_subtree_raising(tmp_path: Path) -> None:
    """The prototype, which does not raise, has 18, 10, 33, 71, (18) and 27."""
    store = Store(tmp_path / "table-5.json", TABLE_5.name, seed=0)
    table = run_table(TABLE_5, store, methods=["FDT-S"], repeats=1, progress=lambda line: None)
    leaves = {row.data_set: row.ours.leaves[0] for row in table.rows}
    assert leaves == {"BH": 16, "BC": 10, "BUPA": 35, "PIND": 71, "HRT": 17, "SUR": 27}


@pytest.mark.data
def test_how_sizes_depend_on_pruning() -> None:
    """What FDT's page says of SUR, and of the others."""
    sizes: dict[str, dict[str, int]] = {"grown": {}, "0.25": {}, "0.5": {}, "c45": {}}
    for data_set in TABLE_5.data_sets:
        rows = data_set.load()
        codes = np.unique(rows.y, return_inverse=True)[1]
        problem = encode(rows.X, codes, 2)
        tree = FisherTreeClassifier(pruning=None).fit(rows.X, codes).tree_
        prune = partial(prune_pessimistic, tree, problem, prune_root=True)
        trees = (tree, prune(), prune(confidence_factor=0.5), prune(bound="c45"))
        for which, one in zip(sizes.values(), trees, strict=True):
            which[data_set.name] = one.n_leaves
    assert [which.pop("SUR") for which in sizes.values()] == [64, 19, 40, 23]
    assert max(sizes["0.5"][name] - size for name, size in sizes["0.25"].items()) == 7
    assert sizes["c45"] == sizes["0.25"]
