"""``obliqua edit``: a saved model changed as an edits file says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from obliqua._typing import AnyArray
from obliqua.cli import _command as shared
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._labels import fit_of_numbers
from obliqua.cli._models import load_model, size_of
from obliqua.cli._output import check_target, note, print_facts, print_text
from obliqua.cli._rows import known_rows

if TYPE_CHECKING:
    from obliqua.tree.model import Model


@shared.command(
    "obliqua edit model.obliqua edits.json -o edited.obliqua",
    "obliqua edit model.obliqua edits.json rows.csv -t diagnosis -o new.obliqua",
)
@click.argument("model", metavar="MODEL")
@click.argument("edits", metavar="EDITS")
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write, by convention with the ending .obliqua.",
)
@click.option("--target", "-t", metavar="COLUMN", help="The column of DATA that was learnt.")
@shared.missing_option
@shared.dates_option
@shared.delimiter_option
def edit(model: str, edits: str, data: str | None, output: Path, **given: Any) -> None:
    """Change a saved model as an edits file says.

    MODEL is a file that `obliqua fit` has made. EDITS is a JSON file, as a page that shows the
    tree saves it. The edited model answers as that page did. With DATA, a CSV or Parquet file,
    rows, spreads and gains are counted anew; without it they are not known wherever rows may go
    elsewhere.
    """
    from obliqua.edit import log_of, read_edits
    from obliqua.estimators._editing import apply_edits
    from obliqua.estimators.files import save
    from obliqua.words.subject import container_of

    _check_options(data, given)
    check_target(output, model, edits, data)
    fitted, container = load_model(model)
    if not Path(edits).exists():
        raise Trouble(f"{edits} is not there; name an edits file.")
    listed = read_edits(Path(edits))
    X, y = known_rows(container, {**given, "data": data})
    changed = apply_edits(fitted, listed, X, y)
    after, _ = container_of(changed)
    save(changed, output)
    for number, line in enumerate(log_of(container, listed), start=1):
        print_text(f"{number}. {line}")
    facts = [("leaves", f"{container._n_leaves:,} before, {after._n_leaves:,} now")]
    if X is not None and y is not None:
        facts.append(_measured(container, after, X, y))
    elif _is_unknown(after):
        note("What splits gain is not known now. Give DATA to count it anew.")
    print_facts([*facts, ("saved", f"{output}, {size_of(output)}")])


def _check_options(data: str | None, given: dict[str, Any]) -> None:
    """Refuse options that are about DATA, if there is none."""
    if data is not None and given["target"] is None:
        raise click.UsageError("DATA needs --target, the column that was learnt.")
    for option in ("target", "missing", "dates", "delimiter"):
        if data is None and given[option]:
            raise click.UsageError(f"--{option} is for DATA, which is not given.")


def _is_unknown(model: Model) -> bool:
    return model._packed is None and any(np.isnan(tree.gain).any() for tree in model.trees)


def _measured(before: Model, after: Model, X: Any, y: AnyArray) -> tuple[str, str]:
    """Say how good the answers on DATA were and are."""
    rows = counted(len(y), "row")
    if before.task == "regression":
        said = [fit_of_numbers(y, model.predict(model.rows(X)), None) for model in (before, after)]
        return "R squared", f"{said[0]} before, {said[1]} now on {rows}"
    right = [100 * float((model.predict(model.rows(X)) == y).mean()) for model in (before, after)]
    return "accuracy", f"{right[0]:.1f} % before, {right[1]:.1f} % now on {rows}"
