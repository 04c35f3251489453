"""The group of commands, and what becomes of errors."""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

import click

from obliqua.cli import INTERRUPTED
from obliqua.cli._errors import Trouble, did_you_mean
from obliqua.cli._output import DEBUG, EXPECTED, SETTINGS, close_stdout, note
from obliqua.errors import CostWarning, ObliquaError

# In the order of their use, with the first line of their help: a list of commands imports none.
COMMANDS = {
    "fit": "Grow a tree from the rows of DATA and save it.",
    "predict": "Predict what each row of DATA is, with a saved model.",
    "show": "Show a saved model: its facts, its tree, its importances.",
    "report": "Write a page that shows a saved model and edits it.",
    "edit": "Change a saved model as an edits file says.",
    "compare": "Cross-validate methods side by side on DATA.",
    "advise": "Say which kind of tree suits DATA, and whether one does.",
    "distil": "Make a small model that does what another one does.",
    "export": "Write a saved model for other programs.",
    "demo": "Compare methods on a small data set and show a tree.",
    "reproduce": "Make tables of the papers again, in a clone.",
}
# What others call it, or what is an option here.
OTHER_WORDS = {
    "plot": "obliqua show MODEL --plot tree.png",
    "draw": "obliqua show MODEL --plot tree.png",
    "train": "obliqua fit",
    "score": "obliqua predict MODEL DATA --score COLUMN",
}
BROKEN_PIPE = 141  # 128 + SIGPIPE


class Commands(click.Group):
    """The command ``obliqua``, which turns errors into messages and exit codes."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the words; --help and --version print here, before there is a command."""
        try:
            return super().make_context(*args, **more)
        except BrokenPipeError:  # click would say 1
            close_stdout()
            raise click.exceptions.Exit(BROKEN_PIPE) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        with _messages(ctx), _warnings_as_notes():
            result = super().invoke(ctx)
            # What does not fit on a full disk is found out here, not when Python ends.
            sys.stdout.flush()
            return result

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        return command_of(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; of one that is not there, say which may be meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            other = OTHER_WORDS.get(name.lower())
            hint = did_you_mean(name, COMMANDS) if other is None else f" It is: {other}"
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the commands do."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def command_of(name: str) -> click.Command:
    """Import the command of a name."""
    return cast("click.Command", getattr(import_module(f"obliqua.cli.{name}"), name))


@contextmanager
def _messages(ctx: click.Context) -> Iterator[None]:
    """Whatever goes wrong in here becomes a message and an exit code."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort) as error:
        if ctx.meta.get(DEBUG) and isinstance(error, Trouble):
            traceback.print_exc()
        raise
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        ctx.exit(INTERRUPTED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            close_stdout()
            ctx.exit(BROKEN_PIPE)
        if ctx.meta.get(DEBUG):
            traceback.print_exc()
        raise Trouble(_described(error)) from error


def _described(error: Exception) -> str:
    """Return the message of an exception that is not ours to print as it is."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"There is not enough memory for this. {text}".rstrip()
    if isinstance(error, OSError) and not isinstance(error, ObliquaError):
        close_stdout()  # it may be the very thing that failed
        return f"{error.filename or 'The output'}: {error.strerror or text}."
    if isinstance(error, ObliquaError | ValueError):
        return text or type(error).__name__
    return (
        f"This should not have happened: {type(error).__name__}: {text}. Please report it; "
        "--debug shows where it happened."
    )


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print the library's warnings as notes, without the line of code that Python shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what concerns programmers only
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: _noted(message)
        yield


def _noted(message: Warning | str) -> None:
    """Say what a warning says, and remember how long a work is expected to take."""
    if isinstance(message, CostWarning):
        click.get_current_context().meta[EXPECTED] = message.seconds
    note(" ".join(str(message).split()))


@click.group(
    cls=Commands,
    context_settings=SETTINGS,
    epilog="obliqua COMMAND --help shows the options of a command, with examples.",
)
@click.version_option(package_name="obliqua", message="%(prog)s %(version)s")
def app() -> None:
    """Decision trees whose splits are hyperplanes, on CSV and Parquet files.

    Results go to stdout, everything else to stderr. The exit code is 0 if all went well, 1 for
    trouble with the data or the model, 2 for wrong usage.
    """


def run(words: Sequence[str] | None) -> int:
    """Run the command with these words; the result is its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A letter that the terminal's encoding lacks is no reason to stop.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app.main(None if words is None else list(words), prog_name="obliqua")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except OSError as error:  # what no command prints: --help, --version and wrong usage
        close_stdout()
        if error.errno == errno.EPIPE:
            return BROKEN_PIPE
        click.echo(f"Error: {_described(error)}", err=True)
        return 1
    return 0
