"""The rows of a table as a model knows them, with their labels if they are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from obliqua._typing import AnyArray
from obliqua.cli._data import read_table
from obliqua.cli._errors import counted
from obliqua.cli._labels import check_known, class_numbers
from obliqua.cli._models import has_own_names
from obliqua.cli._output import note
from obliqua.cli._table import choose_known
from obliqua.cli._types import plain_numbers, read_as

if TYPE_CHECKING:
    from obliqua.tree.model import Model


def known_rows(container: Model, given: dict[str, Any]) -> tuple[Any, AnyArray | None]:
    """Read the rows of --data, if there are any; without a target they have no labels."""
    if given["data"] is None:
        return None, None
    table = read_table(given["data"], given["delimiter"], given["missing"], given["dates"])
    table, _ = choose_known(table, container.encoding.names, has_own_names(container))
    columns, gaps = container.encoding.columns, container.takes_missing
    target = given["target"]
    if target is None:
        return read_as(table, columns, gaps), None
    table.require([target], "--target")
    table = table.without_missing(target, drop=True)
    if container.task == "regression":
        y = plain_numbers(table, [target], "the target")[target].to_numpy()
        return read_as(table, columns, gaps), y
    labels = table.labels(target)
    numbers = class_numbers(container.classes, labels)
    unknown = check_known(numbers, labels, container.classes, f"--target {target}")
    if unknown:
        note(f"{counted(len(labels), 'row')}{unknown}. They are left out.")
        table, numbers = table.filtered(numbers >= 0), numbers[numbers >= 0]
    return read_as(table, columns, gaps), container.classes.take(numbers)
