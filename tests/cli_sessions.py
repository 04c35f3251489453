"""Sessions of the command on pages of the documentation: lines, and what they print now.

``python tests/cli_sessions.py`` writes those of docs/guides/command_line.md again.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from click.testing import CliRunner

from obliqua.cli._app import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "command_line.md"
BLOCK = re.compile(r"^```console\n\$ (.*?)\n(.*?)```$", re.MULTILINE | re.DOTALL)
SCREEN = {"COLUMNS": "80", "NO_COLOR": "1"}

# Times differ from run to run, sizes of files from one zlib, and one version, to another.
TIME = re.compile(r"^(.* ± .*?)(?<!±)( +\d+(?:\.\d)?)$", re.MULTILINE)
ESTIMATE = re.compile(r"^Note: .* fits (are done; all|will) take about .*\n", re.MULTILINE)
SIZE = re.compile(r"(\.(?:obliqua|mjs|json)), [\d.]+ (?:kB|bytes)")


def masked(text: str) -> str:
    """The text without what differs, and without spaces at the ends of lines."""
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    text = ESTIMATE.sub("", text)
    text = TIME.sub(lambda found: found[1] + "0.0".rjust(len(found[2])), text)
    return SIZE.sub(r"\1, 5.0 kB", text)


def session(line: str) -> str:
    """What a line prints: stderr, then stdout.

    `obliqua` is called in this process, also in a pipe: a process of its own takes longer to
    import the package than most sessions last.
    """
    errors, text = "", ""
    for command in line.split(" | "):
        name, _, words = command.partition(" ")
        if name == "obliqua":
            runner = CliRunner(env=SCREEN)
            done = runner.invoke(app, words.split(), input=text, prog_name="obliqua")
            errors, text = errors + done.stderr, done.stdout
        else:
            shell = ["sh", "-c", command]
            text = subprocess.run(shell, input=text, capture_output=True, text=True).stdout
    return errors + text


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
