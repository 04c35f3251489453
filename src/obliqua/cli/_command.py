"""What the commands share: how they look in --help, and options that mean the same in each."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from obliqua.cli._errors import did_you_mean
from obliqua.cli._imports import import_scikit_learn
from obliqua.cli._output import DEBUG, QUIET, SETTINGS
from obliqua.select.task import MANY_CLASSES, TASKS

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _remember(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    ctx.meta[QUIET if option.name == "quiet" else DEBUG] = value


class Command(click.Command):
    """A command with examples, --quiet and --debug.

    Parameters
    ----------
    *args
        As click's.
    examples : sequence of str, default=()
        Command lines to show below the options.
    methods : str, default=None
        List the methods there too whose classes are in this package; "" lists all.
    **kwargs
        As click's.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        methods: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.methods = methods
        self.context_settings = SETTINGS
        for flags, text in (
            (["-q", "--quiet"], "Print no notes and no progress."),
            (["--debug"], "Show where an error happened."),
        ):
            self.params.append(
                click.Option(
                    flags, is_flag=True, expose_value=False, callback=_remember, help=text
                )
            )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        import_scikit_learn()
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write methods and examples."""
        if self.methods is not None:
            from obliqua.select.methods import methods_for

            for title, task in (
                ("Methods", "classification"),
                ("Methods that learn numbers", "regression"),
            ):
                known = methods_for(task).values()
                listed = [m for m in known if m.estimator.startswith(self.methods)]
                with formatter.section(title):
                    formatter.write_dl([(method.name, method.title) for method in listed])
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def command(*examples: str, methods: str | None = None) -> Callable[[Any], click.Command]:
    """Make a command of a function."""
    return click.command(cls=Command, examples=examples, methods=methods)


class Names(click.ParamType):
    """Names with commas between them; a name with a comma in it stands in quotes."""

    name = "a,b,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Split the text."""
        if isinstance(value, list):
            return value
        try:
            words = next(csv.reader([value], skipinitialspace=True, strict=True), [])
        except csv.Error:
            raise click.BadParameter(
                f"{value!r} has a quote that is not closed.", ctx, param
            ) from None
        names = [word.strip() for word in words]
        if not names or not all(names):
            raise click.BadParameter(
                f"{value!r} has an empty name; write names as a,b,c.", ctx, param
            )
        return list(dict.fromkeys(names))


def quoted(name: str) -> str:
    """Write a name as the options for columns take it, and a shell."""
    if "," in name or '"' in name:
        name = '"' + name.replace('"', '""') + '"'
    return shlex.quote(name)


class Delimiter(click.ParamType):
    """A single character, or the word tab."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check that it is one character."""
        sign = "\t" if value in ("tab", "\\t") else str(value)
        if len(sign) != 1 or not sign.isascii() or sign in '"\r\n':
            raise click.BadParameter(
                f"{value!r} is not a single character, or the word tab.", ctx, param
            )
        return sign


class Whole(click.ParamType):
    """A whole number.

    Parameters
    ----------
    kind : str
        What it must be, for a message.
    fits : callable
        Whether a number is that.
    """

    name = "N"

    def __init__(self, kind: str, fits: Callable[[int], bool]) -> None:
        self.kind = kind
        self.fits = fits

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Check the number."""
        try:
            number = int(value)
            if self.fits(number):
                return number
        except ValueError:
            pass
        raise click.BadParameter(f"{value!r} is not a whole number {self.kind}.", ctx, param)


def at_least(least: int) -> Whole:
    """Make the type of numbers that are not smaller."""
    return Whole(f"of at least {least}", lambda number: number >= least)


SEED = Whole("from 0 to 4294967295", lambda number: 0 <= number < 2**32)
JOBS = Whole("other than 0", lambda number: number != 0)


class MethodName(click.ParamType):
    """The name of a method.

    Parameters
    ----------
    package : str, default=""
        Messages name the methods only whose classes are in this package.
    """

    name = "method"

    def __init__(self, package: str = "") -> None:
        self.package = package

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Look the name up."""
        from obliqua.select.methods import METHODS, NUMBER_METHODS

        name = str(value)
        if name in METHODS or name in NUMBER_METHODS:
            return name
        known = [*METHODS.values(), *NUMBER_METHODS.values()]
        found = [m.name for m in known if m.estimator.startswith(self.package)]
        listed = list(dict.fromkeys(found))
        raise click.BadParameter(
            f"There is no method {name!r}.{did_you_mean(name, listed)} The methods are "
            f"{', '.join(listed)}.",
            ctx,
            param,
        )


class Setting(click.ParamType):
    """A parameter and its value: name=value."""

    name = "name=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Read the value as Python would, or else as a word."""
        import ast

        if isinstance(value, tuple):
            return value
        name, equals, text = (part.strip() for part in str(value).partition("="))
        if not (name.isidentifier() and equals and text):
            raise click.BadParameter(
                f"{value!r} is not of the form name=value, as max_depth=3.", ctx, param
            )
        words = {"none": None, "true": True, "false": False}
        if text.lower() in words:
            return name, words[text.lower()]
        try:
            return name, ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return name, text


# --- options that several commands have ------------------------------------------------------

data_argument = click.argument("data", metavar="DATA")
files_argument = click.argument("data", metavar="DATA...", nargs=-1, required=True)
target_option = click.option(
    "--target", "-t", required=True, metavar="COLUMN", help="The column to learn."
)
task_option = click.option(
    "--task",
    type=click.Choice(["auto", *TASKS]),
    default="auto",
    show_default=True,
    help="Whether classes or numbers are learnt. By default it is found out: a target with "
    f"fractions, or with more than {MANY_CLASSES} different whole numbers, is numbers.",
)
delimiter_option = click.option(
    "--delimiter",
    type=Delimiter(),
    help="What stands between the values of a CSV file. By default it is found out among comma, "
    "semicolon, tab and |.",
)
drop_missing_option = click.option(
    "--drop-missing-target",
    is_flag=True,
    help="Leave out rows without a target. By default they are an error.",
)
seed_option = click.option(
    "--seed",
    type=SEED,
    default=0,
    show_default=True,
    help="All that is random follows from it.",
)
set_option = click.option(
    "--set",
    "settings",
    type=Setting(),
    multiple=True,
    help="A parameter of the method, as max_depth=3 or pruning=cv. May be repeated.",
)


missing_option = click.option(
    "--missing",
    metavar="TEXT",
    multiple=True,
    help="A text that stands for a missing value, as ? or -999. May be repeated. Empty cells are "
    "missing anyway.",
)
dates_option = click.option(
    "--dates",
    type=click.Choice(["dmy", "mdy"]),
    help="Whether the day or the month stands first in dates such as 3/4/2024. By default it is "
    "found out from all of a column.",
)
types_option = click.option(
    "--types", is_flag=True, help="Print what each column is taken for, and stop there."
)


def _joined(
    ctx: click.Context, option: click.Parameter, value: tuple[list[str], ...]
) -> list[str] | None:
    """Join the names of an option that was given several times."""
    return list(dict.fromkeys(name for names in value for name in names)) if value else None


def features_options(function: Decorated) -> Decorated:
    """Add the options that say which columns are used, and as what."""
    function = missing_option(dates_option(function))
    for flag, text in (
        ("--numeric", "Columns of numbers, where that is not found out from the table."),
        ("--categorical", "Columns of categories that look like numbers, as codes do."),
        ("--drop", "Columns to leave out; all others but the target are used."),
        ("--features", "The columns to use, instead of all but the target."),
    ):
        function = click.option(flag, type=Names(), multiple=True, callback=_joined, help=text)(
            function
        )
    return function


def folds_options(repeats: int | None, more: str = "") -> Callable[[Decorated], Decorated]:
    """Add the options of a cross-validation; `more` says what is done without --repeats."""
    many = click.option(
        "--repeats",
        type=at_least(1),
        default=repeats,
        show_default=repeats is not None,
        help=f"How often to cross-validate, with other folds each time{more}.",
    )
    folds = click.option(
        "--folds",
        type=at_least(2),
        default=10,
        show_default=True,
        help="Folds of the cross-validation; fewer if a class has fewer rows.",
    )
    return lambda function: folds(many(function))


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "markdown", "json"]),
    default="table",
    show_default=True,
    help="How the result is printed.",
)


def jobs_option(what: str) -> Callable[[Decorated], Decorated]:
    """Add --jobs."""
    return click.option(
        "--jobs",
        "-j",
        type=JOBS,
        default=1,
        show_default=True,
        help=f"How many {what} to use, -1 for all cores. Never changes a result.",
    )
