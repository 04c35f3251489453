"""Files that were written once must load for ever. tests/files/make.py says how they were made."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obliqua
from obliqua.io.files import read_model
from obliqua.tree.tree import Tree

FILES = Path(__file__).resolve().parent / "files"
NAMES = sorted(path.stem for path in FILES.glob("*.obliqua"))

each_file = pytest.mark.parametrize("name", NAMES)


def expected(name: str, folder: Path = FILES) -> Any:
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def numbers(values: Any) -> np.ndarray:
    """Lists as an array; None is a missing number."""
    return np.array(values, dtype=np.float64)


def test_the_files_are_there() -> None:
    assert {
        "bare_tree",
        "cart",
        "every_kind_of_node",
        "hhcart_fixed_width_labels",
        "hhcart_with_names",
        "own_proposer",
        "several_trees",
        "sum_of_counts",
        "sum_of_numbers",
        "numbers",
        "sides",
        "other_levels",
        "lines",
        "forest",
        "costs",
        "log_odds",
        "edited",
    } <= set(NAMES)
    assert max(path.stat().st_size for path in FILES.glob("*.obliqua")) < 10_000


@each_file
def test_the_trees_are_those_that_were_saved(name: str) -> None:
    assert_trees(FILES, name)


def assert_trees(folder: Path, name: str) -> None:
    """The file holds the trees that the JSON beside it tells of."""
    said = expected(name, folder)
    trees = read_model(folder / f"{name}.obliqua")[0].trees
    assert len(trees) == len(said["trees"])
    for tree, arrays, labels in zip(trees, said["trees"], said["origin_labels"], strict=True):
        assert list(tree.origin_labels) == labels
        for key, values in arrays.items():
            array = numbers(values).reshape(getattr(tree, key).shape)
            np.testing.assert_array_equal(getattr(tree, key), array, err_msg=key)
            assert (np.signbit(getattr(tree, key)) == np.signbit(array))[~np.isnan(array)].all()


@each_file
def test_what_is_loaded_answers_as_it_did(name: str) -> None:
    said = expected(name)
    model = obliqua.load(FILES / f"{name}.obliqua")
    assert type(model).__name__ == said["class"]
    rows = numbers(said["rows"])
    if isinstance(model, Tree):
        assert model.apply(rows).tolist() == said["leaves"]
        return
    container = getattr(model, "model_", model)
    assert container.predict(rows).tolist() == said["predicted"]
    if len(container.classes):
        # Processors round powers differently.
        rtol = 1e-14 if container.combine == "log_odds" else 0.0
        np.testing.assert_allclose(container.predict_proba(rows), said["shares"], rtol, 0.0)
    assert container.combine == said["combine"]
    assert container.classes.tolist() == said["classes"]
    assert str(container.classes.dtype) == said["classes_type"]
    assert list(container.encoding.names) == said["names"]
    assert [list(column.levels) for column in container.encoding.columns] == said["levels"]
    if "parameters" in said:
        assert list(getattr(model, "feature_names_in_", [])) == said["feature_names_in"]
        parameters = {key: repr(value) for key, value in model.get_params().items()}
        assert len(said["parameters"]) >= 19
        assert said["parameters"].items() <= parameters.items()  # later versions may know more


def test_levels_without_a_name_are_read_as_the_others() -> None:
    column = obliqua.load(FILES / "other_levels.obliqua").encoding.columns[2]
    assert column.others
    assert [column.code(level) for level in ("Bonn", 7, "Rome")] == [0, 1, 2]


def test_rewriting_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The script leaves what is there alone, be it as it may, and makes the others.

    They need not be the files that are kept: trees may grow in another way today.
    """
    script = tmp_path / "make.py"
    shutil.copy(FILES / "make.py", script)
    kept = tmp_path / "cart.obliqua"
    kept.write_bytes(b"an old file")
    runpy.run_path(str(script), run_name="__main__")
    assert kept.read_bytes() == b"an old file"
    assert "cart.obliqua is there and stays" in capsys.readouterr().out
    assert sorted(path.stem for path in tmp_path.glob("*.obliqua")) == NAMES
    assert not kept.with_suffix(".json").exists()
    for name in NAMES:
        if name != "cart":
            assert_trees(tmp_path, name)
            assert expected(name, tmp_path).keys() == expected(name).keys()
