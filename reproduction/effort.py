"""What the trees of a table took: hyperplanes tried, CPU time of a fit, features per split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reproduction.protocol import Summary
    from reproduction.tables import Row

__all__ = ["effort_names", "effort_table", "effort_values", "mean_effort"]


def effort_names(reference: str) -> list[str]:
    """Return the heads of the columns that `effort_values` fills."""
    names = ["hyperplanes_paper", f"hyperplanes_{reference}", f"cpu_ms_{reference}"]
    for measure in ("hyperplanes", "cpu_ms", "features_per_split"):
        names += [f"{measure}_ours", f"{measure}_ours_sd"]
    return names


def effort_values(row: Row) -> list[float]:
    """Return what a row knows of the effort, in the order of `effort_names`; or NaN."""
    ours = row.ours
    return [
        row.published.hyperplanes.mean,
        row.prototype.hyperplanes.mean,
        row.prototype.cpu_ms.mean,
        *ours.hyperplanes,
        *ours.cpu_ms,
        *ours.features,
    ]


def effort_table(rows: Sequence[Row], reference: str) -> list[str]:
    """Return the second table of a comparison; columns without a figure are left out."""
    heads = [
        "hyperplanes: paper",
        f"hyperplanes: {reference}",
        "hyperplanes: ours",
        f"CPU ms: {reference}",
        "CPU ms: ours",
        "features per split",
    ]
    columns = np.array(
        [
            [
                _text(row.published.hyperplanes.mean, 0),
                _text(row.prototype.hyperplanes.mean, 0),
                _text(row.ours.hyperplanes[0], 0, row.ours.hyperplanes[1]),
                _text(row.prototype.cpu_ms.mean, 1),
                _text(row.ours.cpu_ms[0], 1, row.ours.cpu_ms[1]),
                _text(row.ours.features[0], 1),
            ]
            for row in rows
        ]
    )
    shown = (columns != "").any(axis=0)
    kept = [head for head, show in zip(heads, shown, strict=True) if show]
    lines = [
        "What a tree took:",
        "",
        "| set | method | " + " | ".join(kept) + " |",
        "|--|--" + "|--:" * len(kept) + "|",
    ]
    for row, texts in zip(rows, columns[:, shown], strict=True):
        lines.append("| " + " | ".join([row.data_set, row.method, *texts]) + " |")
    return lines


def _text(value: float, digits: int, sd: float = math.nan) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.{digits}f}" + ("" if math.isnan(sd) else f" ± {sd:,.{digits}f}")


def mean_effort(found: Sequence[Summary]) -> str:
    """Return features per split and CPU time of a fit, means over data sets, as cells of a row."""
    features = float(np.mean([one.features[0] for one in found]))
    return (
        f" {_text(features, 1)} | {_text(float(np.mean([one.cpu_ms[0] for one in found])), 1)} |"
    )
