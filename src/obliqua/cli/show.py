"""``obliqua show``: a saved model as text, rules, importances or a picture."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from obliqua._extras import require
from obliqua._typing import FloatArray
from obliqua.cli import _command as shared
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._models import (
    costs_used,
    features_used,
    holds_out,
    load_model,
    rows_that_grew,
)
from obliqua.cli._output import (
    check_target,
    console,
    listed,
    note,
    print_facts,
    print_laid_out,
    print_text,
    shown,
    write_file,
)
from obliqua.cli._rows import known_rows
from obliqua.cli._types import QUALITATIVE
from obliqua.errors import TreeError
from obliqua.io.values import text_of
from obliqua.words.phrases import cells, fill_lines, parts_of

if TYPE_CHECKING:
    from obliqua.tree.model import Model
    from obliqua.tree.tree import Tree

PICTURES = (".png", ".svg", ".pdf")
MOST_NAMES = 12  # that a list has
INDENT = 4  # of what does not fit into a line of a rule
BAR = 20  # signs of the longest bar


@shared.command(
    "obliqua show model.obliqua",
    "obliqua show model.obliqua --depth 2 --details",
    "obliqua show model.obliqua --rules",
    "obliqua show model.obliqua --subclasses --data patients.csv -t diagnosis",
    "obliqua show model.obliqua --plot tree.png --data patients.csv -t diagnosis",
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--depth",
    type=shared.at_least(0),
    help="Show so many levels of the tree; count what is below.",
)
@click.option(
    "--terms",
    type=shared.at_least(1),
    default=5,
    show_default=True,
    help="Name so many features of a split, those that move rows most.",
)
@click.option(
    "--details", is_flag=True, help="Say under each split what it gained and what a unit counts."
)
@click.option("--rules", is_flag=True, help="Print a rule per leaf in place of the tree.")
@click.option(
    "--subclasses",
    is_flag=True,
    help="Print, or --plot, how the rows of --data in each leaf differ from their class.",
)
@click.option(
    "--tree",
    type=shared.at_least(0),
    metavar="N",
    help="Which tree of a model with several, from 0 on; the first if not given.",
)
@click.option(
    "--dot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the tree for Graphviz, and print nothing.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the tree into a .png, .svg or .pdf file, and print nothing.",
)
@click.option("--data", metavar="FILE", help="A table whose rows --plot or --subclasses show.")
@click.option("--target", "-t", metavar="COLUMN", help="The column of --data with the classes.")
@shared.missing_option
@shared.dates_option
@shared.delimiter_option
def show(model: str, dot: Path | None, plot: Path | None, **given: Any) -> None:
    """Show a saved model: its facts, its tree, its importances.

    MODEL is a file that `obliqua fit` has made. A split is a question, to which rows say yes or
    no; the features of a question stand in the order in which they move rows.
    """
    _check_options(model, dot, plot, given)
    fitted, container = load_model(model)
    _check_tree(container, given["tree"])
    if dot is not None:
        from obliqua.export.dot import export_graphviz

        text = export_graphviz(fitted, max_depth=given["depth"], **_words(container, given))
        write_file(dot, f"{text}\n".encode())
        note(f"{dot} is for Graphviz: dot -Tsvg {dot} -o tree.svg")
    if plot is not None:
        X, y = known_rows(container, given)
        words = _words(container, given)
        if given["subclasses"]:
            words.pop("max_terms")
            draw(fitted, plot, X, y, subclasses=True, **words)
        else:
            draw(fitted, plot, X, y, max_depth=given["depth"], **words)
        note(f"The picture is in {plot}.")
    if given["subclasses"] and plot is None:
        print_text(_subclasses(fitted, container, given))
    elif dot is None and plot is None:
        print_facts(_facts(fitted, container, model))
        print_text("")
        words = _words(container, given)
        print_text(_rules(fitted, words) if given["rules"] else _tree(fitted, given, words))
        print_importances(fitted, container.encoding.names)


def _check_options(model: str, dot: Path | None, plot: Path | None, given: dict[str, Any]) -> None:
    for path in (dot, plot):
        if path is not None:
            check_target(path, model, given["data"])
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise click.UsageError(f"--plot: {plot} does not end in {', '.join(PICTURES)}.")
    if given["subclasses"] and (given["data"] is None or given["target"] is None):
        raise click.UsageError(
            "--subclasses needs the rows of a table, --data, and their classes, --target."
        )
    for name, other in (("rules", given["rules"]), ("details", given["details"]), ("dot", dot)):
        if given["subclasses"] and other:
            raise click.UsageError(f"--subclasses shows no tree, so --{name} is not for it.")
    if given["data"] is not None and plot is None and not given["subclasses"]:
        raise click.UsageError("--data is for --plot and --subclasses, which show its rows.")
    if given["missing"] and given["data"] is None:
        raise click.UsageError("--missing is for the table of --data, which is not given.")
    if given["target"] is not None and given["data"] is None:
        raise click.UsageError("--target is a column of --data, which is not given.")


def _check_tree(container: Model, number: int | None) -> None:
    n = len(container.trees)
    if number is not None and number >= n:
        raise Trouble(f"--tree {number}: the model has {counted(n, 'tree')}, counted from 0.")
    if number is None and n > 1:
        note(f"The model has {n} trees. This is the first; --tree N shows another.")


def _facts(fitted: Any, container: Model, path: str) -> list[tuple[str, str]]:
    # An estimator's repr names the parameters that differ from the defaults.
    kind = repr(fitted) if hasattr(fitted, "get_params") else type(fitted).__name__
    return [
        ("model", f"{path}, {' '.join(kind.split())}"),
        ("features", _features(container)),
        _learnt(container),
        *_trees_of(container),
        *costs_used(container),
        *_rows_of(fitted),
        *features_used(container),
    ]


def _trees_of(container: Model) -> list[tuple[str, str]]:
    """Say how many trees there are, if several, and how large they are together."""
    n, n_leaves = len(container.trees), container._n_leaves
    if n == 1:
        return []
    return [("trees", f"{n:,} with {n_leaves:,} leaves, depth at most {container._depth}")]


def _learnt(container: Model) -> tuple[str, str]:
    """Say which classes, or which numbers, a model knows."""
    if container.task == "classification":
        return "classes", _counted_names([text_of(label) for label in container.classes.tolist()])
    values = np.concatenate([_said(tree) for tree in container.trees])
    return "numbers", f"leaves from {values.min():,.6g} to {values.max():,.6g}"


def _said(tree: Tree) -> FloatArray:
    """Return the numbers that leaves say, or the least and largest of their functions."""
    if tree.has_lines:
        return np.concatenate([tree.leaf_low[tree.is_leaf], tree.leaf_high[tree.is_leaf]])
    return tree.mean[tree.is_leaf].ravel()


def _rows_of(fitted: Any) -> list[tuple[str, str]]:
    """Say how many rows grew the tree; of those that pruned it a file keeps the share only."""
    from obliqua.prune.pruners import MOST_CROSS_VALIDATED

    if not holds_out(fitted):
        return []
    n, share = rows_that_grew(fitted), float(fitted.prune_fraction)
    if n * share < 1 - share:  # too few to hold one out
        return []
    if fitted.pruning == "auto" and n <= MOST_CROSS_VALIDATED:
        return []  # cross-validated, or there were few more
    return [("rows", f"{n:,} grew the tree, about {100 * share:.3g} % of all pruned it")]


def _features(container: Model) -> str:
    columns = container.encoding.columns
    text = _counted_names(container.encoding.names)
    coded = [column for column in columns if column.kind == QUALITATIVE]
    if not coded:
        return text
    n_empty = sum(not column.levels for column in coded)
    kinds = [(len(coded) - n_empty, "qualitative"), (n_empty, "empty")]
    named = [f"{len(columns) - len(coded)} numeric"]
    named += [f"{count} {kind}" for count, kind in kinds if count]
    return f"{text} ({', '.join(named)})"


def _counted_names(names: Sequence[Any]) -> str:
    more = ", ..." if len(names) > MOST_NAMES else ""
    return f"{len(names)}: {', '.join(listed(name) for name in names[:MOST_NAMES])}{more}"


def _words(container: Model, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a tree is written with: the same words for classes as `predict` has."""
    classes = container.classes
    names = [text_of(label) for label in classes.tolist()] if classes.dtype == bool else None
    return {"max_terms": given["terms"], "class_names": names, "tree": given["tree"] or 0}


def _tree(fitted: Any, given: dict[str, Any], words: dict[str, Any]) -> str:
    from obliqua.export.text import export_text

    return export_text(
        fitted,
        max_depth=given["depth"],
        **words,
        details=given["details"],
        style="unicode" if can_draw_lines() else "ascii",
        width=max(console().width, 40),
    )


def can_draw_lines() -> bool:
    """Say whether the lines of a tree can be printed."""
    try:
        "├─└".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _rules(fitted: Any, words: dict[str, Any]) -> str:
    from obliqua.export.rules import export_rules

    width = max(console().width, 40)
    lines: list[str] = []
    for rule in export_rules(fitted, **words):
        if cells(rule.text) <= width:
            lines.append(rule.text)
        else:
            for part in rule.lines():
                lines += _filled(part, width)
    return "\n".join(lines)


def _subclasses(fitted: Any, container: Model, given: dict[str, Any]) -> str:
    from obliqua.explain.subclasses import subclasses

    X, y = known_rows(container, given)
    words = _words(container, given)
    found = subclasses(fitted, X, y, class_names=words["class_names"], tree=words["tree"])
    return found.text(max(console().width, 40))


def _filled(line: str, width: int) -> list[str]:
    """Break a line of a rule between terms of a sum or of a list; the rest stands further in."""
    start = len(line) - len(line.lstrip())
    pieces = parts_of(line.lstrip(), " (?=[-+] |[<>])|(?<=,) ")
    first, *others = fill_lines(pieces, width - start - INDENT)
    return [f"{'':{start}}{first}", *(f"{'':{start + INDENT}}{other}" for other in others)]


def draw(
    model: Any, path: Path, X: Any = None, y: Any = None, subclasses: bool = False, **more: Any
) -> None:
    """Draw a tree, or the subclasses of its leaves, into a file, without a screen."""
    require("matplotlib", "plot", "Drawing a tree").use("agg")
    from obliqua.plot import plot_subclasses, plot_tree

    picture = plot_subclasses if subclasses else plot_tree
    figure = picture(model, X, y, **more).figure
    stream = io.BytesIO()
    figure.savefig(stream, format=path.suffix.lower().removeprefix("."), dpi=150)
    require("matplotlib.pyplot", "plot", "Drawing a tree").close(figure)
    write_file(path, stream.getvalue())


def print_importances(model: Any, names: Sequence[str]) -> None:
    """Print how much the features contribute, the largest first."""
    from rich.table import Table as Grid

    from obliqua.explain.importance import importances

    try:
        shares = importances(model)
    except TreeError as error:  # a tree that was not grown here may lack what it takes
        note(f"Importances are not known. {error}")
        return
    if not shares.any():
        return
    order = np.argsort(-shares, kind="stable")
    used = [k for k in order.tolist() if shares[k] > 0]
    grid = Grid.grid(padding=(0, 2))
    for _ in range(3):
        grid.add_column(no_wrap=True, overflow="ellipsis")
    mark = "█" if can_draw_lines() else "#"
    for k in used[:MOST_NAMES]:
        bar = mark * max(1, round(BAR * shares[k] / shares[order[0]]))
        grid.add_row(shown(names[k]), f"{100 * shares[k]:5.1f} %", bar)
    screen = console()
    screen.print("\nImportances: shares of the gain, by how far each feature moves rows")
    print_laid_out(grid)
    rest = len(used) - MOST_NAMES
    if rest > 0:
        screen.print(f"and {counted(rest, 'more feature')}")
