"""What the documentation says is true: its code runs, prints what it shows, and is complete."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import Any

import pytest

import obliqua

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def fences(page: Path) -> list[tuple[str, str]]:
    """The blocks of code of a page as (language, text)."""
    return FENCE.findall(page.read_text("utf-8"))


RUNNABLE = [page for page in PAGES if any(language == "python" for language, _ in fences(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_code_runs_and_prints_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of a page run in order, in one namespace; an `output` block is compared."""
    monkeypatch.chdir(tmp_path)  # what a page writes stays out of the repository
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for language, text in fences(page):
        if language == "python":
            stdout = io.StringIO()
            with contextlib.redirect_stdout(stdout):
                exec(compile(text, name_of(page), "exec"), namespace)
            printed = stdout.getvalue()
        elif language == "output":
            assert printed.rstrip() == text.rstrip(), f"{name_of(page)} shows another output"


def test_the_pages_with_code_are_found() -> None:
    names = {name_of(page) for page in RUNNABLE}
    assert {"README.md", "docs/guides/own_method.md"} <= names


PACKAGE = Path(obliqua.__path__[0])
WITH_EXAMPLES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings(name: str) -> None:
    module = __import__(name, fromlist=["_"])
    done = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0


def reference() -> set[str]:
    """Every name that the reference lists in an autosummary table."""
    text = "\n".join(page.read_text("utf-8") for page in sorted((DOCS / "reference").glob("*.md")))
    return set(re.findall(r"^ {3}(obliqua(?:\.\w+)+)$", text, re.MULTILINE))


def test_public_names_are_in_the_reference() -> None:
    public = {f"obliqua.{name}" for name in obliqua.__all__ if name != "__version__"}
    assert public - reference() == set()


def test_the_reference_lists_only_what_exists() -> None:
    for name in reference():
        owner, _, last = name.rpartition(".")
        module = __import__(owner, fromlist=[last])
        assert hasattr(module, last), f"the reference lists {name}, which does not exist"


def test_links_between_files_lead_somewhere() -> None:
    for page in (*PAGES, *sorted(ROOT.glob("*.md"))):
        for target in LINK.findall(page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"
