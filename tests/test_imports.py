"""Imports run one way: cli -> experiments -> estimators -> stages -> ground -> _core.

The rooms that are planned but not yet built stand in the table too. A module that the table
does not know fails the test: whoever adds it says where it belongs.
"""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from obliqua import CartClassifier

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "obliqua"

# A module may import from its own floor and from those above it in this list (below it in
# the house), never from a later one.
FLOORS = [
    ("core", {"_core", "_typing"}),  # _typing names types, for the stubs too
    ("ground", {"criteria", "data", "errors", "io", "model", "tree"}),
    (
        "stages",
        {
            *("proposals", "scatter", "scale", "odd", "search", "parts"),  # the engine
            *("sorted_columns", "finders", "grow"),
            *("methods", "prune", "refine", "soft", "spread"),  # what makes and changes trees
            *("spectrum", "explain", "export", "plot", "report"),  # what reads them
            *("datasets", "distributed", "metrics", "ranks"),
        },
    ),
    ("estimators", {"estimators", "testing"}),
    ("experiments", {"experiments"}),
    ("cli", {"cli", "__main__"}),
]
FLOOR_OF = {room: number for number, (_, rooms) in enumerate(FLOORS) for room in rooms}
GROUND = FLOOR_OF["tree"]

# What needs only a finished tree never sees how one is grown.
READERS = {"spectrum", "explain", "export", "plot", "report"}
GROWERS = {
    *("proposals", "scatter", "scale", "odd", "search", "parts", "sorted_columns"),
    *("finders", "grow", "methods", "estimators"),
}


def room_of(module: str) -> str:
    """The first name below the package: obliqua.estimators.cart -> estimators."""
    parts = module.split(".")
    return parts[1] if parts[0] == "obliqua" and len(parts) > 1 else ""


def floor_of(room: str) -> int | None:
    """A private module beside the public ones, such as _weights, is part of the ground."""
    return FLOOR_OF.get(room, GROUND if re.match(r"_[a-z]", room) else None)


def python_imports(path: Path) -> Iterator[str]:
    """Every module that a Python file imports, inside functions and for typing too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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


PYTHON = [path for path in files("*.py", "*.pyi") if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_imports_run_one_way(path: Path) -> None:
    here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    floor = floor_of(here)
    assert floor is not None, f"say in FLOORS on which floor obliqua.{here} lives"
    for module in python_imports(path):
        if module.split(".")[0] != "obliqua":
            continue
        there = room_of(module)
        below = floor_of(there)
        assert below is not None, f"{name_of(path)} imports {module}, which no floor holds"
        assert below <= floor, f"{name_of(path)} imports {module} from above"
        if here in READERS:
            assert there not in GROWERS, f"{name_of(path)} reads trees but imports {module}"


@pytest.mark.parametrize("path", files("*.pyx", "*.pxd"), ids=name_of)
def test_the_compiled_room_knows_only_itself(path: Path) -> None:
    for module in cython_imports(path):
        parts = module.split(".")
        assert parts[0] != "sklearn", f"{name_of(path)} imports {module}"
        if parts[0] == "obliqua":
            assert parts[1:2] == ["_core"], f"{name_of(path)} imports {module} from above"


def test_the_rule_sees_what_it_should(tmp_path: Path) -> None:
    """The two readers of imports find each form in which an import can be written."""
    file = tmp_path / "sample"
    file.write_text(
        "import obliqua.tree\n"
        "from obliqua import grow\n"
        "def late():\n    from obliqua.estimators.base import X\n"
    )
    assert list(python_imports(file)) == [
        "obliqua.tree",
        "obliqua.grow",
        "obliqua.estimators.base",
    ]
    file.write_text(
        "from obliqua._core.base.types cimport i64\n"
        "cimport obliqua.tree\n"
        "cdef f():\n    import obliqua.grow\n"
    )
    assert list(cython_imports(file)) == [
        "obliqua._core.base.types",
        "obliqua.tree",
        "obliqua.grow",
    ]


def loaded_after(program: str) -> set[str]:
    """Names of all modules that a fresh interpreter holds after a program."""
    program += "\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


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
    assert "obliqua.tree" in loaded
    unneeded = (GROWERS | {"prune"}) - {"estimators"}
    assert not {name for name in loaded if room_of(name) in unneeded}
