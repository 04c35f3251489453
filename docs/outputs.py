"""Write the `output` blocks of the README and of the documentation again.

``python docs/outputs.py [page ...]`` runs the Python blocks of each page in order and puts what
they print into the `output` blocks behind them. ``tests/test_docs.py`` compares the two.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(python|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def refreshed(text: str) -> str:
    """The page with what its code prints now."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""

    def block(found: re.Match[str]) -> str:
        nonlocal printed
        if found[1] == "output":
            return f"```output\n{printed.rstrip()}\n```"
        stdout = io.StringIO()
        with contextlib.redirect_stdout(stdout):
            exec(compile(found[2], "page", "exec"), namespace)
        printed = stdout.getvalue()
        return found[0]

    return FENCE.sub(block, text)


def main(names: list[str]) -> int:
    os.environ.setdefault("MPLBACKEND", "Agg")
    given = [Path(name).resolve() for name in names]
    for page in given or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        before = page.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            after = refreshed(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"written again: {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
