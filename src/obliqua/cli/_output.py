"""Where things are printed: results on stdout, everything else on stderr, files as a whole."""

from __future__ import annotations

import errno
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click

from obliqua._extras import require
from obliqua.cli._errors import Trouble, counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn
    from rich.table import Table as RichTable

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}  # of click
LONG = 20  # seconds that a work may take without a word on how long it takes
QUIET, DEBUG = "obliqua.quiet", "obliqua.debug"
NARROW = 60  # letters: on such screens there is no clock
UNFINISHED = 0.999  # a share: with 1 the clock of a bar would stop
SAID = "obliqua.said"  # notes that are not said again
EXPECTED = "obliqua.expected"  # seconds that a work will take, as was said before

# Called with the number of finished steps, the number of all, and what is being done.
Step = Callable[[int, int, str], None]


def console(stderr: bool = False) -> Console:
    """Make a console that prints texts as they are: no markup, no emoji, no guessed colours."""
    made = require("rich.console", "cli", "The command obliqua").Console(
        stderr=stderr, markup=False, emoji=False, highlight=False
    )
    made.on_broken_pipe = _say_so  # rich itself would end the program
    return cast("Console", made)


def _say_so() -> None:
    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def note(text: str) -> None:
    """Say something that is no result, on stderr, unless --quiet was given."""
    meta = click.get_current_context().meta
    said = meta.get(SAID)
    if said is not None:
        named = re.search(r"'[^']*'", text)
        kind = (named and named[0], re.sub(r"'[^']*'|[\d,.]+", "", text))
        if kind in said:
            return
        said.add(kind)
    if not meta.get(QUIET):
        click.echo(f"Note: {text}", err=True)


def counted_here(n: int, thing: str, things: str | None = None) -> str:
    """Write a number and what is counted; of one part of a table no number is said."""
    if SAID in click.get_current_context().meta:
        return f"some {things or thing + 's'}"
    return counted(n, thing, things)


@contextmanager
def each_note_once() -> Iterator[None]:
    """Say once what would be said of each part of a table: of each column, or of all.

    Counts are those of a part, and are not said.
    """
    meta = click.get_current_context().meta
    meta[SAID] = set()
    try:
        yield
    finally:
        del meta[SAID]


def shown(name: object) -> str:
    """Return a name for a table or a list: control characters are written as escapes."""
    return "".join(
        repr(sign)[1:-1] if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") else sign
        for sign in str(name)
    )


def listed(name: object) -> str:
    """Write a name in a list: in backquotes if it could be taken for several, or not be seen."""
    text = shown(name)
    if text and text == text.strip() and not set(text) & set(",`"):
        return text
    return f"`{text.replace('`', '``')}`"


class _Estimate:
    """Say after the first round how long a work will take, if it is long and was not known."""

    def __init__(self, n_rounds: int, meta: Mapping[str, Any]) -> None:
        self.n_rounds = n_rounds
        self.meta = meta
        self.start = time.monotonic()
        self.said = False

    def __call__(self, done: int, total: int, _name: str) -> None:
        if self.said or done * self.n_rounds < total:
            return
        self.said = True
        seconds = (time.monotonic() - self.start) * total / done
        known = self.meta.get(EXPECTED, 0.0)
        if seconds >= LONG and not known / 2 <= seconds <= known * 2:
            from obliqua.select.forecast import time_in_words

            note(
                f"{done:,} of {total:,} fits are done; all take about {time_in_words(seconds)}. "
                "Ctrl-C prints what is known by then."
            )


@contextmanager
def progress(what: str, n_rounds: int = 0) -> Iterator[Step | None]:
    """Show how far a long work is, if there is somebody at a terminal to see it.

    Of `n_rounds` rounds the first one tells how long all will take, which is said if it is long.
    """
    meta = click.get_current_context().meta
    if meta.get(QUIET):
        yield None
        return
    estimate = _Estimate(n_rounds, meta)
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield estimate
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def step(done: int, total: int, name: str) -> None:
            estimate(done, total, name)
            bar.update(task, completed=done, total=total, description=f"{what}: {name}")

        yield step


@contextmanager
def share_bar() -> Iterator[Callable[[str, float | None], None]]:
    """Show what is being done and which share of it is done, if somebody is there to see it.

    A share that nobody knows is None.
    """
    screen = console(stderr=True)
    if click.get_current_context().meta.get(QUIET) or not screen.is_terminal:
        yield lambda what, share: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns: list[ProgressColumn] = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=min(30, screen.width // 8)),
        TaskProgressColumn(),
    ]
    if screen.width >= NARROW:
        columns.append(TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(what: str, share: float | None) -> None:
            done = min(share or 0.0, UNFINISHED)
            total = None if share is None else 1.0
            bar.update(task, description=what, completed=done, total=total)

        yield show


def write_stdout(data: bytes) -> None:
    """Write bytes to stdout: data are UTF-8 wherever they go."""
    sys.stdout.flush()
    rest = memoryview(data)
    while rest:  # with PYTHONUNBUFFERED a part may be written, and only its size returned
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def print_text(text: str) -> None:
    """Print a text as it is, line breaks included."""
    encoding = sys.stdout.encoding or "utf-8"
    write_stdout(f"{text}\n".encode(encoding, "backslashreplace"))


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values below each other."""
    grid = require("rich.table", "cli", "The command obliqua").Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for fact in facts:
        grid.add_row(*fact)
    print_laid_out(grid)


def print_laid_out(thing: RichTable | str) -> None:
    """Print cells or a text as the screen has room, without spaces at the ends of lines."""
    screen = console()
    if screen.is_terminal:  # where spaces are not seen, and may have colours after them
        screen.print(thing)
        return
    with screen.capture() as captured:
        screen.print(thing)
    print_text("\n".join(line.rstrip() for line in captured.get().splitlines()))


def check_target(path: Path, *inputs: str | Path | None) -> None:
    """Refuse a file that cannot be written, or that is read, before anything long is computed."""
    for given in inputs:
        if given is not None and path.exists() and _same_file(path, Path(given)):
            raise Trouble(f"{path} is the file that is read; name another one to write.")
    if path.is_dir():
        raise Trouble(f"{path} is a folder; name a file to write.")
    folder = path.parent
    if not folder.is_dir():
        raise Trouble(f"The folder {folder} of {path} is not there. Make it first.")
    # A file is written beside the old one and then takes its place: that needs the folder.
    places = [path] if path.exists() else []
    if not path.exists() or path.is_file():
        places.append(folder)
    if not all(os.access(place, os.W_OK) for place in places):
        raise Trouble(f"{path} cannot be written: permission denied.")


def chosen_target(output: Path | None, default: str, *inputs: str | None) -> Path:
    """Return where a model goes; nothing is lost that was not named."""
    path = Path(default) if output is None else output
    if output is None and path.exists():
        raise Trouble(
            f"{path} is there already. Say --output {path} to replace it, or another name."
        )
    check_target(path, *inputs)
    return path


def _same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # standard input, or a file that is not there
        return False


def write_file(path: Path, data: bytes) -> None:
    """Write a whole file; the old one stays as it is until the new one is complete."""
    with file_to_write(path) as file:
        file.write(data)


@contextmanager
def file_to_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write part by part; it gets its name when all is written."""
    from obliqua.io.files import whole_file

    try:
        with whole_file(str(path)) as file:
            yield file
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise Trouble(f"{path} cannot be written: {reason}.") from error


@contextmanager
def quiet_native_code() -> Iterator[None]:
    """Send what compiled code writes to stderr nowhere, unless --debug was given.

    polars panics at some damaged files. The exception tells enough; the panic's own report of
    where in the Rust code it happened would stand before our message.
    """
    try:
        screen = sys.stderr.fileno()
    except (OSError, ValueError):  # no real file behind it, as in tests
        screen = -1
    if screen < 0 or click.get_current_context().meta.get(DEBUG):
        yield
        return
    kept, nowhere = os.dup(screen), os.open(os.devnull, os.O_WRONLY)
    sys.stderr.flush()
    try:
        os.dup2(nowhere, screen)
        yield
    finally:
        os.dup2(kept, screen)
        os.close(kept)
        os.close(nowhere)


def close_stdout() -> None:
    """Send what is still buffered nowhere, so that nothing is said about it at exit."""
    with suppress(OSError, ValueError):  # no real file behind it, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
