"""Statements that are made twice agree, and nothing of somebody's machine is left in a file."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

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


def source_of(kernel: str) -> str:
    return (CORE / f"{kernel}.pyx").read_text("utf-8")


def test_every_kernel_is_compiled_and_typed() -> None:
    listed = re.search(r"core_modules = \[(.*?)\]", (ROOT / "meson.build").read_text(), re.DOTALL)
    assert listed is not None
    names = re.findall(r"'(\w+)'", listed[1])
    assert names == sorted(path.stem for path in CORE.glob("*.pyx"))
    for name in names:
        # What only other kernels can call needs no stub.
        visible = re.search(r"^(def|cpdef|class|cdef class) ", source_of(name), re.MULTILINE)
        assert not visible or (CORE / f"{name}.pyi").exists(), f"_core/{name}.pyi is missing"


@pytest.mark.parametrize("suffix", ["py", "pyx", "pxd", "pyi"])
def test_files_stay_readable(suffix: str) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in kept_files()
        if path.suffix == f".{suffix}"
        and (lines := len(path.read_text("utf-8").splitlines())) > 850
    }
    assert long == {}
