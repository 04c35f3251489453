"""All that reads trees reads a forest, one of its trees or all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import obliqua
from forest_cases import FRAME, LABELS, NUMBERS, forest
from obliqua.cli._app import app
from obliqua.errors import TreeError
from obliqua.explain import importances, margins, regions

pytestmark = pytest.mark.filterwarnings("ignore:Of 160 rows")
each_kind = pytest.mark.parametrize("kind", ["classes", "numbers"])


@each_kind
def test_one_tree_of_a_forest_is_read_as_any_other(kind: str) -> None:
    model = forest(kind, max_depth=3)
    member = model.estimators_[4]
    assert obliqua.export_text(model, tree=4) == obliqua.export_text(member)
    assert obliqua.export_graphviz(model, tree=4) == obliqua.export_graphviz(member)
    assert obliqua.export_rules(model, tree=4) == obliqua.export_rules(member)
    rows = FRAME[["a", "c", "d"]]  # regions and margins are known of numbers only
    plain = type(model)(3, max_depth=3, random_state=0)
    plain.fit(rows, LABELS if kind == "classes" else NUMBERS[:, 0])
    assert len(regions(plain, tree=2)) == plain.estimators_[2].get_n_leaves()
    found, alone = margins(plain, rows, tree=2), margins(plain.estimators_[2], rows)
    np.testing.assert_array_equal(found.distance, alone.distance)
    with pytest.raises(TreeError, match=r"7 trees\. Say which one to read"):
        obliqua.export_text(model)


@each_kind
def test_all_trees_together(kind: str) -> None:
    model = forest(kind)
    shares = np.mean([importances(tree) for tree in model.model_.trees], axis=0)
    np.testing.assert_allclose(model.feature_importances_, shares)
    path, starts = model.decision_path(FRAME)
    leaves, passed = model.apply(FRAME), path.toarray()
    assert all(passed[row, starts[:-1] + leaves[row]].all() for row in range(160))
    y = LABELS if kind == "classes" else NUMBERS[:, 0]
    student = obliqua.distil(model, FRAME, y)
    assert obliqua.fidelity(student, model, FRAME)
    result = obliqua.compare(FRAME, y, {"forest": type(model)(5)}, n_folds=3)
    assert set(result.folds) == {"forest"}


@each_kind
def test_the_command_line_shows_a_file_and_predicts_with_it(kind: str, tmp_path: Path) -> None:
    model, file, data = forest(kind), tmp_path / "m.obliqua", tmp_path / "rows.csv"
    obliqua.save(model, file)
    FRAME.to_csv(data, index=False)

    def said(*words: Any) -> str:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert obliqua.export_text(model, tree=0).splitlines()[-1] in said("show", file)
    assert said("show", file, "--tree", 1) != said("show", file, "--tree", 2)
    lines = said("predict", file, data, "--proba" if kind == "classes" else "--spread").split()
    if kind == "classes":
        assert [line.split(",")[0] for line in lines[1:]] == model.predict(FRAME).tolist()
    else:
        numbers = np.array([line.split(",") for line in lines[1:]], dtype=float)
        np.testing.assert_allclose(numbers, np.c_[model.predict(FRAME), model.predict_std(FRAME)])
