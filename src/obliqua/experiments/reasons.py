"""Why figures do not hold: what is known of cells that are worse than in the paper.

Each reason is backed by an experiment that can be run again. A figure of the kept results that is
worse by more than two standard deviations must have one; a test asks for it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["REASONS", "Reason", "reason_of"]


class Reason(NamedTuple):
    """Why some figures of a table are worse than the published ones.

    Parameters
    ----------
    table : str
        The name of the table.
    data_sets, methods, figures : tuple of str
        Which figures it is about; an empty one means all.
    text : str
        The reason, in a sentence or two.
    experiment : str
        What backs it: a command, or where the results of one are kept.
    """

    table: str
    data_sets: tuple[str, ...]
    methods: tuple[str, ...]
    figures: tuple[str, ...]
    text: str
    experiment: str


#: What is known.
REASONS = (
    Reason(
        "hhcart-table-7",
        ("Income",),
        ("A",),
        ("leaves",),
        "The size of a tree depends on the tenth of the rows that prunes it: a hundred trees have "
        "12 to 156 leaves, 49 ± 32, which is 1.3 of the paper's standard deviations above its "
        "mean. The ten trees of the table are large by chance.",
        "obliqua reproduce hhcart-table-7 --sets Income --methods A --repeats 100",
    ),
    Reason(
        "oc1-table-2",
        ("RCB",),
        ("0:0", "20:0", "20:20"),
        ("accuracy", "leaves"),
        "The original program, version 3, does not reach the paper's figures either, on the "
        "paper's own points and with ten seeds: they stand in the column program.",
        "The column program, and docs/results/oc1-table-2.md.",
    ),
)


def reason_of(table: str, data_set: str, method: str, figure: str) -> Reason | None:
    """Return why a figure does not hold, if that is known.

    Parameters
    ----------
    table, data_set, method, figure : str
        Which figure.

    Returns
    -------
    Reason or None
        The reason.
    """
    for reason in REASONS:
        pairs = ((reason.data_sets, data_set), (reason.methods, method), (reason.figures, figure))
        if reason.table == table and all(not names or name in names for names, name in pairs):
            return reason
    return None
