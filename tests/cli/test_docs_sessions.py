"""The sessions in docs/guides/command_line.md are what the command prints.

``python tests/cli_sessions.py`` writes them again.
"""

from __future__ import annotations

import os
import re

import click
import pytest

from cli_sessions import BLOCK, PAGE, masked, rewritten
from obliqua.cli._app import COMMANDS, command_of


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
    for name in COMMANDS:
        assert f"## `{name}`: " in page
        (text,) = [
            shown for line, shown in BLOCK.findall(page) if line == f"obliqua {name} --help"
        ]
        for option in command_of(name).params:
            if isinstance(option, click.Option):
                for flag in option.opts:
                    assert re.search(rf"(?<!\S){flag}\b", text), f"{name} {flag}"
