"""How large HHCART(A)'s trees on Income are: a hundred of each way, in a log of their own.

The ten trees of table 7 differ by the tenth of the rows that prunes them, and so much that ten say
little. The log is made by ``obliqua reproduce hhcart-table-7 --sets Income --methods
A,A+squares,A+units,A+units+squares --repeats 100`` (`make experiments`). ``python -m
reproduction.page`` writes from it the table that the guide shows; nothing in it is typed.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import mean, quantiles, stdev

from reproduction.papers.hhcart import METHODS_7, PUBLISHED_7, TABLE_7
from reproduction.store import Kept

__all__ = ["LOG", "PAGE", "sizes", "table"]

ROOT = Path(__file__).parents[2]
LOG = Path(__file__).parents[1] / "logs" / "experiments" / "hhcart-table-7.jsonl"
PAGE = ROOT / "docs" / "results" / "hhcart-income.md"
METHODS = ("A", "A+squares", "A+units", "A+units+squares")


def sizes(log: Kept, method: str) -> list[int]:
    """Return the leaves of all trees of a method."""
    return [int(cell["leaves"][0]) for cell in log.cells("Income", method).values()]


def table() -> str:
    """Return what the log says of sizes and accuracies, beside the paper."""
    log, printed = Kept(LOG), PUBLISHED_7["Income"]["A"]
    titles = {method.name: method.title for method in METHODS_7}
    paper_error = printed.leaves.sd / math.sqrt(TABLE_7.repeats)
    lines = [
        "| method | trees | accuracy | leaves | standard error | range | middle half | z |",
        "|--|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in METHODS:
        leaves = sizes(log, name)
        right = [
            100 * sum(row[k] for k, row in enumerate(cell["confusion"]))
            / sum(map(sum, cell["confusion"]))
            for cell in log.cells("Income", name).values()
        ]  # fmt: skip
        error = stdev(leaves) / math.sqrt(len(leaves))
        away = (mean(leaves) - printed.leaves.mean) / math.hypot(error, paper_error)
        low, _, high = quantiles(leaves, n=4)
        lines.append(
            f"| {name} | {len(leaves)} | {mean(right):.2f} ± {stdev(right):.2f} "
            f"| {mean(leaves):.1f} ± {stdev(leaves):.1f} | {error:.1f} "
            f"| {min(leaves)} to {max(leaves)} | {low:.0f} to {high:.0f} | {away:+.1f} |"
        )
    lines.append(
        f"| paper | {TABLE_7.repeats} | {printed.accuracy.mean} ± {printed.accuracy.sd} "
        f"| {printed.leaves.mean} ± {printed.leaves.sd} | {paper_error:.1f} |  |  |  |"
    )
    named = "; ".join(f"*{name}*: {titles[name]}" for name in METHODS)
    last = "z: from the paper's mean to ours, in standard errors of the difference."
    return "\n".join([*lines, "", f"{named}. {last}", ""])
