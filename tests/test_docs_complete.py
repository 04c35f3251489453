"""The reference is complete: every parameter of everything in it is described, and every error."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from obliqua import errors

DOCS = Path(__file__).resolve().parents[1] / "docs"
LISTED = re.compile(r"^ {3}(obliqua(?:\.\w+)+)$", re.MULTILINE)
REFERENCE = sorted(set(LISTED.findall((DOCS / "reference" / "index.md").read_text("utf-8"))))


def listed(name: str) -> Any:
    owner, _, last = name.rpartition(".")
    return getattr(import_module(owner), last)


def section(doc: str, title: str) -> str:
    """The text below a heading of a numpydoc docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def described(doc: str) -> list[str]:
    """The names of the parameters that a docstring describes."""
    lines = re.findall(
        r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :.*)?$", section(doc, "Parameters"), re.M
    )
    return [name.strip("*") for line in lines for name in line.split(", ")]


def undescribed(name: str, thing: Any, doc: str) -> list[str]:
    """What is wrong with the description of a callable's parameters."""
    try:
        parameters = [p for p in inspect.signature(thing).parameters if p not in ("self", "cls")]
    except (TypeError, ValueError):
        return []
    told = described(doc)
    wrong = [f"{name}: {p} is not described" for p in parameters if p not in told]
    return wrong + [f"{name}: {p} is described, but none" for p in told if p not in parameters]


def own_methods(cls: type) -> list[tuple[str, Any]]:
    """The public methods that obliqua itself defines."""
    return [
        (name, member)
        for name, member in inspect.getmembers(cls, callable)
        if not name.startswith("_")
        and (getattr(member, "__module__", None) or "").startswith("obliqua")
        and not inspect.isclass(member)
    ]


def test_everything_has_a_docstring_that_describes_every_parameter() -> None:
    wrong = []
    for name in REFERENCE:
        thing = listed(name)
        things = [(name, thing)]
        if inspect.isclass(thing):
            methods = [(f"{name}.{method}", member) for method, member in own_methods(thing)]
            # Nobody makes an error or a protocol with parameters of their own.
            made = not (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False))
            things = [*things, *methods] if made else methods
            assert inspect.getdoc(thing), name
        for called, member in things:
            doc = inspect.getdoc(member)
            wrong += undescribed(called, member, doc) if doc else [f"{called}: no docstring"]
    assert not wrong, "\n".join(wrong)


def test_every_error_is_in_the_reference() -> None:
    assert {f"obliqua.{name}" for name in errors.__all__} <= set(REFERENCE)


def test_the_readers_of_docstrings_see_what_they_should() -> None:
    def sample(a: int, *, b: int = 1) -> None:
        """Do nothing.

        Parameters
        ----------
        a : int
            One.
        c : int
            None such.

        Returns
        -------
        x : int
            Nothing.
        """

    assert undescribed("sample", sample, inspect.getdoc(sample) or "") == [
        "sample: b is not described",
        "sample: c is described, but none",
    ]
