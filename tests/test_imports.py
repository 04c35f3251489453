"""Imports run one way: each room knows the rooms that it rests on, and no other.

A room that docs/develop/rooms.toml does not know fails the test: whoever adds it says there what
it rests on.
"""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from obliqua import CartClassifier

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "obliqua"

# What each room rests on, by docs/develop/rooms.toml.
ROOMS = tomllib.loads((ROOT / "docs" / "develop" / "rooms.toml").read_text("utf-8"))

# Tree.to_frame is a method of convenience; what it does lives with the words. Files name
# estimators, and the table of public names says where they are.
UPWARDS = {("tree/tree.py", "words"), ("tree/tree.py", "export"), ("estimators/files.py", "")}


def below(room: str) -> set[str]:
    """Return all rooms that a room may import from: itself, and all that it rests on."""
    return {room}.union(*(below(other) for other in ROOMS[room]["rests_on"]))


GROWERS = {"engine", "methods", "prune", "refine"}


def room_of(module: str) -> str:
    """The first name below the package: obliqua.estimators.cart -> estimators."""
    parts = module.split(".")
    return parts[1] if parts[0] == "obliqua" and len(parts) > 1 else ""


def python_imports(path: Path) -> Iterator[str]:
    """Every module that a Python file imports, inside functions too, but not for types only."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "obliqua":
                yield from (f"obliqua.{name.name}" for name in node.names)
            elif node.module is not None:
                yield node.module


def cython_imports(path: Path) -> Iterator[str]:
    """The same for Cython, which Python's own parser cannot read."""
    for line in path.read_text("utf-8").splitlines():
        found = re.match(r"\s*(?:from\s+([\w.]+)\s+c?import|c?import\s+([\w.]+))", line)
        if found:
            yield found[1] or found[2]


def files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in PACKAGE.rglob(pattern))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_imports_run_one_way() -> None:
    wrong = []
    for path in files("*.py", "*.pyi"):
        if path.parent == PACKAGE and path.stem == "__init__":
            continue
        here = path.relative_to(PACKAGE).parts[0].partition(".")[0]
        assert here in ROOMS, f"say in docs/develop/rooms.toml what obliqua.{here} rests on"
        wrong += [
            f"{name_of(path)} imports {module}"
            for module in python_imports(path)
            if module.split(".")[0] == "obliqua"
            and room_of(module) not in below(here)
            and (name_of(path), room_of(module)) not in UPWARDS
        ]
    assert not wrong


def test_a_class_name_exists_once() -> None:
    places: dict[str, list[str]] = {}
    for path in files("*.py", "*.pyx"):
        for found in re.finditer(r"^(?:cdef )?class (\w+)", path.read_text("utf-8"), re.MULTILINE):
            places.setdefault(found[1], []).append(name_of(path))
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_the_compiled_room_knows_only_itself() -> None:
    for path in files("*.pyx", "*.pxd"):
        for module in cython_imports(path):
            parts = module.split(".")
            assert parts[0] != "sklearn", f"{name_of(path)} imports {module}"
            if parts[0] == "obliqua":
                assert parts[1:2] == ["_core"], f"{name_of(path)} imports {module} from above"


def test_the_rule_sees_what_it_should(tmp_path: Path) -> None:
    """The two readers of imports find each form in which an import can be written."""
    file = tmp_path / "sample"
    file.write_text(
        "import obliqua.first\n"
        "from obliqua import second\n"
        "if TYPE_CHECKING:\n    from obliqua.hidden import Y\n"
        "def late():\n    from obliqua.third.inner import X\n"
    )
    assert list(python_imports(file)) == ["obliqua.first", "obliqua.second", "obliqua.third.inner"]
    file.write_text(
        "from obliqua._core.base.types cimport i64\n"
        "cimport obliqua.first\n"
        "cdef f():\n    import obliqua.second\n"
    )
    assert list(cython_imports(file)) == [
        "obliqua._core.base.types",
        "obliqua.first",
        "obliqua.second",
    ]


def loaded_after(program: str) -> set[str]:
    """Names of all modules that a fresh interpreter holds after a program."""
    program += "\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "program", ["import obliqua", "from obliqua import CartClassifier, ObliqueTreeClassifier"]
)
def test_import_loads_no_extra(program: str) -> None:
    # scikit-learn itself loads some of them where they are installed.
    loaded = loaded_after(program) - loaded_after("import sklearn.base")
    for extra in ("matplotlib", "pandas", "polars", "pyarrow", "dask", "onnx", "click", "rich"):
        assert extra not in loaded


def test_predicting_loads_nothing_that_grows(tmp_path: Path) -> None:
    """A program that only predicts, from a pickled model, never loads grow, prune or a method."""
    file = tmp_path / "model.pickle"
    file.write_bytes(pickle.dumps(CartClassifier().fit([[0.0], [1.0]], [0, 1])))
    loaded = loaded_after(
        "import pickle\n"
        f"model = pickle.load(open({str(file)!r}, 'rb'))\n"
        "assert list(model.predict([[0.0], [1.0]])) == [0, 1]"
    )
    assert "obliqua.tree.tree" in loaded
    assert not {name for name in loaded if room_of(name) in GROWERS}


def table_file(folder: Path) -> Path:
    """A small table with text and gaps."""
    file = folder / "table.csv"
    rows = [f"{k % 7},{'ab'[k % 2]},{'yes' if k % 3 else 'no'}" for k in range(30)]
    file.write_text("\n".join(["number,word,y", *rows, ",,no"]) + "\n", "utf-8")
    return file


def test_commands_import_nothing_that_they_do_not_need(tmp_path: Path) -> None:
    """Imports are most of the time of a small call."""
    data, model = str(table_file(tmp_path)), str(tmp_path / "model.obliqua")
    calls: list[list[str]] = [
        ["fit", data, "-t", "y", "-o", model],
        ["predict", model, data],
        ["show", model],
    ]
    for words in calls:
        program = f"from obliqua.cli import main\nassert main({words!r}) == 0"
        loaded = loaded_after(program)
        assert "sklearn.base" in loaded
        for heavy in ("pandas", "scipy.optimize", "matplotlib", "sklearn.model_selection"):
            assert heavy not in loaded, f"{words[0]} imports {heavy}"
        assert not {name for name in loaded if name.startswith("scipy.stats.")}
    assert "numpy" not in loaded_after("from obliqua.cli import main\nassert main(['-h']) == 0")


def test_what_commands_leave_out_is_there_for_whoever_asks() -> None:
    loaded = loaded_after(
        "from obliqua.cli._imports import import_scikit_learn\n"
        "import_scikit_learn()\n"
        "import scipy.stats, pandas\n"
        "from scipy import stats\n"
        "assert scipy.stats.norm.cdf(0) == stats.norm.cdf(0) == 0.5\n"
        "import scipy.stats.distributions\n"
        "from sklearn.utils.fixes import _mode\n"
        "assert _mode([1, 2, 2]).mode == 2"
    )
    assert {"pandas", "scipy.stats.distributions"} <= loaded
