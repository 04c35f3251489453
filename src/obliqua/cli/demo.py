"""``obliqua demo``: what the library does, on data that need no file and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.cli import _command as shared
from obliqua.cli._models import make_estimator, rows_that_grew
from obliqua.cli._output import check_target, console, note, print_text, progress, write_file
from obliqua.cli.compare import print_result
from obliqua.cli.show import PICTURES, can_draw_lines, draw, print_importances
from obliqua.errors import MissingDependency

if TYPE_CHECKING:
    import polars as pl

METHOD = "hhcart-3"  # three features in a split can be read
WINE = "wine"
OF_OC1 = ("ls10", "pol", "rcb")


class DemoData(NamedTuple):
    """Data to show, and what their labels are called."""

    title: str
    X: pl.DataFrame
    y: AnyArray
    target: str


@shared.command(
    "obliqua demo",
    "obliqua demo --picture wine.svg --table wine.csv",
    "obliqua demo --data pol --table pol.csv",
)
@click.option(
    "--data",
    type=click.Choice([WINE, *OF_OC1]),
    default=WINE,
    show_default=True,
    help="The data: wines, or artificial data of the OC1 paper.",
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    default=Path("obliqua-demo.png"),
    show_default=True,
    help="The file for the picture of the tree: .png, .svg or .pdf.",
)
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the data into this CSV file too, to try the other commands on.",
)
@shared.seed_option
def demo(data: str, picture: Path, table: Path | None, seed: int) -> None:
    """Compare methods on a small data set and show a tree.

    The data are 178 wines of three growers, with 13 measurements each; they come with
    scikit-learn. The methods are cross-validated side by side. Then one tree is grown, printed,
    and drawn if matplotlib is installed.
    """
    from obliqua.export.text import export_text
    from obliqua.select.compare import compare

    check_target(picture)
    if table is not None:
        check_target(table)
    if picture.suffix.lower() not in PICTURES:
        raise click.UsageError(f"--picture: {picture} does not end in {', '.join(PICTURES)}.")
    title, X, y, target = _shown(data)
    with progress("comparing") as step:
        result = compare(X.to_numpy(), y, random_state=seed, progress=step)
    sizes = f"{len(y)} rows, {X.width} features, {result.n_classes} classes"
    print_result(result, "table", f"{title}: {sizes}")
    tree = make_estimator(METHOD, (), seed).fit(X, y)
    screen = console()
    grown = rows_that_grew(tree)
    pruned = "all rows and pruned by cross-validation"
    if grown < len(y):
        pruned = f"{grown} of {len(y)} rows and pruned on the other {len(y) - grown}"
    screen.print(f"\nThe tree of {METHOD}, grown from {pruned}:\n")
    style = "unicode" if can_draw_lines() else "ascii"
    print_text(export_text(tree, style=style, width=max(screen.width, 40)))
    print_importances(tree, X.columns)
    try:
        draw(tree, picture, X, y)
        screen.print(f"\nIts picture: {picture}", soft_wrap=True)
    except MissingDependency as error:
        note(str(error))
    if table is not None:
        write_file(table, X.with_columns(**{target: y}).write_csv().encode())
        screen.print(f"The data, with the target {target}: {table}", soft_wrap=True)
    screen.print("\nThe same with your data: obliqua compare data.csv --target COLUMN")


def _shown(data: str) -> DemoData:
    from sklearn.datasets import load_wine

    from obliqua import datasets

    polars = require("polars", "cli", "The command obliqua")
    if data == WINE:
        loaded = load_wine()
        title, target = "Wine, which comes with scikit-learn", "grower"
        y = loaded.target_names[loaded.target].astype(str)
    else:
        loaded = getattr(datasets, f"make_{data}")()
        title, target, y = (
            f"{data.upper()}, artificial data of the OC1 paper",
            "class",
            loaded.target,
        )
    return DemoData(
        title, polars.DataFrame(loaded.data, schema=list(loaded.feature_names)), y, target
    )
