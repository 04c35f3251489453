"""Sessions of the command on pages of the documentation: lines, and what they print now.

``python tests/cli_sessions.py`` writes those of docs/guides/command_line.md again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

from obliqua.cli._app import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "command_line.md"
BLOCK = re.compile(r"^```console\n\$ (.*?)\n(.*?)```$", re.MULTILINE | re.DOTALL)
SCREEN = {"COLUMNS": "80", "NO_COLOR": "1"}

# Times differ from run to run, sizes of packed files from one zlib to another.
TIME = re.compile(r"^(.* ± .*?)(?<!±)( +\d+(?:\.\d)?)$", re.MULTILINE)
SIZE = re.compile(r"(?<=\.obliqua), [\d.]+ (kB|bytes)")


def masked(text: str) -> str:
    """The text without what differs, and without spaces at the ends of lines."""
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    text = TIME.sub(lambda found: found[1] + "0.0".rjust(len(found[2])), text)
    return SIZE.sub(", 5.0 kB", text)


def session(line: str) -> str:
    """What a line prints, stdout and stderr together."""
    if line.startswith("obliqua ") and "|" not in line:
        words = line.split()[1:]
        return CliRunner(env=SCREEN).invoke(app, words, prog_name="obliqua").output
    program = f"obliqua() {{ '{sys.executable}' -m obliqua \"$@\"; }}\n{line}"
    done = subprocess.run(
        ["sh", "-c", program],
        env={**os.environ, **SCREEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def rewritten(page: str) -> str:
    """The page with what its lines print now."""

    def block(match: re.Match[str]) -> str:
        return f"```console\n$ {match[1]}\n{masked(session(match[1]))}```"

    return BLOCK.sub(block, page)


def main() -> None:
    page = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(rewritten(page), "utf-8")


if __name__ == "__main__":
    main()
