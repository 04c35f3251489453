"""The sessions in docs/guides/command_line.md are what the command prints.

``python tests/cli/test_docs_sessions.py`` writes them again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from obliqua.cli._app import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "command_line.md"
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


@pytest.mark.parametrize("time", ["  1.2", " 23.4", "  567"])
def test_times_are_masked_whatever_they_are(time: str) -> None:
    line = "cart             90.9 ± 6.7 *  0.91 ± 0.07  4.3 ± 1.1    3.2     1.0"
    assert masked(f"{line}   {time}\n") == f"{line}     0.0\n"


def test_deviations_are_not_masked() -> None:
    line = "class_0  cart      93.5 ± 0.7   61.6 ± 2.6\n"
    assert masked(line) == line


@pytest.mark.skipif(os.name == "nt", reason="the sessions are for a Unix shell")
def test_the_sessions_are_real() -> None:
    page = PAGE.read_text("utf-8")
    assert len(BLOCK.findall(page)) > 10
    assert rewritten(page) == page


def test_every_command_and_option_is_documented() -> None:
    page = PAGE.read_text("utf-8")
    for name, command in app.commands.items():
        assert f"## `{name}`: " in page
        (text,) = [
            shown for line, shown in BLOCK.findall(page) if line == f"obliqua {name} --help"
        ]
        for option in command.params:
            if isinstance(option, click.Option):
                for flag in option.opts:
                    assert re.search(rf"(?<!\S){flag}\b", text), f"{name} {flag}"


def main() -> None:
    page = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(rewritten(page), "utf-8")


if __name__ == "__main__":
    main()
