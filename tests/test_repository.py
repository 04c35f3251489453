"""Statements that are made twice agree, and nothing of somebody's machine is left in a file."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "src" / "obliqua" / "_core"

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def kept_files() -> list[Path]:
    """What git keeps, or would keep; without git, what is not in a hidden or a build folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return [
            path
            for path in ROOT.rglob("*")
            if path.is_file()
            and not re.match(r"\.|build$|dist$|__pycache__$", path.relative_to(ROOT).parts[0])
        ]
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_holds_a_path_of_a_machine() -> None:
    found = []
    for path in kept_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in MACHINE_PATH.finditer(text)]
    assert found == []


def test_build_requirements_agree() -> None:
    declared = project()
    assert set(declared["build-system"]["requires"]) <= set(declared["dependency-groups"]["build"])


def test_extras_and_groups_agree() -> None:
    declared = project()
    extras = declared["project"]["optional-dependencies"]
    assert {"plot", "cli"} <= set(extras)
    for name, packages in extras.items():
        assert packages == declared["dependency-groups"][name]


def test_versions_agree() -> None:
    version = project()["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def compiled_modules() -> dict[str, list[str]]:
    """The table of meson.build: room by room, the names of its modules."""
    text = (ROOT / "meson.build").read_text("utf-8")
    table = re.search(r"^core_modules = (\{.*?^\})", text, re.DOTALL | re.MULTILINE)
    assert table is not None
    modules: dict[str, list[str]] = ast.literal_eval(table[1])
    return modules


def test_every_kernel_is_compiled_and_typed() -> None:
    modules = compiled_modules()
    listed = [CORE / room / f"{name}.pyx" for room, names in modules.items() for name in names]
    assert sorted(listed) == sorted(CORE.rglob("*.pyx"))
    for source in listed:
        # What only other kernels can call needs no stub.
        visible = re.search(
            r"^(def|cpdef|class|cdef class) ", source.read_text("utf-8"), re.MULTILINE
        )
        assert not visible or source.with_suffix(".pyi").exists(), f"{source} has no stub"


def test_what_only_the_compiler_reads_is_not_installed() -> None:
    text = (ROOT / "meson.build").read_text("utf-8")
    named = re.search(r"^only_to_compile = (\[.*?^\])", text, re.DOTALL | re.MULTILINE)
    assert named is not None
    others = {
        f"_core/{path.relative_to(CORE).as_posix()}"
        for path in CORE.rglob("*")
        if path.suffix == ".h" or (path.suffix == ".pxd" and not path.with_suffix(".pyx").exists())
    }
    assert set(ast.literal_eval(named[1])) == others


# A compiled room may cimport from itself and from those named here.
BELOW = {
    "base": set(),
    "search": {"base"},
    "grow": {"base", "search"},
    "methods": {"base", "search", "grow"},
    "refine": {"base"},
    "forest": {"base"},
}


def test_compiled_rooms_stand_on_each_other() -> None:
    assert set(BELOW) == set(compiled_modules())
    for path in [*CORE.rglob("*.pyx"), *CORE.rglob("*.pxd")]:
        here = path.parent.name
        for there in re.findall(r"obliqua\._core\.(\w+)", path.read_text("utf-8")):
            assert there in BELOW[here] | {here}, f"{path.relative_to(CORE)} uses {there}"
