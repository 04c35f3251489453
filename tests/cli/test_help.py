"""Every command and every option says what it is for."""

from __future__ import annotations

import click
import pytest

import obliqua
from cli_tools import Run
from obliqua.cli._app import COMMANDS, command_of
from obliqua.select.methods import METHODS


def test_the_commands() -> None:
    names = "fit predict show report edit compare advise distil export demo reproduce"
    assert names.split() == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_and_options_have_help(name: str) -> None:
    command = command_of(name)
    assert (
        command.get_short_help_str(60) == COMMANDS[name]
    )  # which is written without importing it
    assert len(command.get_short_help_str(60)) < 60
    assert not command.get_short_help_str(60).endswith("...")
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.opts} has no help"
            assert option.help.endswith("."), option.help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_screen_and_has_examples(run: Run, name: str) -> None:
    text = run(name, "--help").stdout
    assert run(name, "-h").stdout == text
    assert max(map(len, text.splitlines())) <= 80
    examples = text.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all("obliqua " in line for line in examples)


def test_examples_use_options_that_exist() -> None:
    for name in COMMANDS:
        command = command_of(name)
        known = {flag for option in command.params for flag in option.opts}
        for example in command.examples:
            words = example.partition("obliqua ")[2].partition("|")[0].split()
            assert words[0] == name
            flags = {word for word in words[1:] if word.startswith("-") and word != "-"}
            assert flags <= known, example


@pytest.mark.parametrize("name", ["fit", "compare"])
def test_help_lists_the_methods(run: Run, name: str) -> None:
    text = run(name, "--help").stdout
    for method in METHODS.values():
        possible = name == "compare" or method.name != "sklearn"
        assert (f"  {method.name} " in text) == possible
        assert (method.title in text) == possible


def test_help_and_version_of_the_whole(run: Run) -> None:
    text = run("--help").stdout
    for name in COMMANDS:
        assert f"  {name} " in text
    assert run("--version").stdout == f"obliqua {obliqua.__version__}\n"
    assert "Commands:" in run(code=2).output


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("plot", "It is: obliqua show MODEL --plot tree.png"),
        ("predit", "Did you mean 'predict'?"),
        ("xyz", "No such command 'xyz'."),
    ],
)
def test_commands_that_are_not_there(run: Run, word: str, hint: str) -> None:
    assert run(word, "model.obliqua", code=2).stderr.rstrip().endswith(hint)
