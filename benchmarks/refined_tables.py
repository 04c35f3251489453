"""The tables of `benchmarks.refined`: rows in, Markdown out."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.report import NO_VALUE, number, table

Row = dict[str, Any]

GREEDY, REFINED = "greedy, HHCART(D) with Fisher directions", "refined"
CYCLES, TWO_THREADS = "refined, 6 cycles", "refined, two threads"
SMALL_GREEDY, SMALL_REFINED = "greedy, pruned by cross-validation", "RefinedTreeClassifier()"
PER_SPLIT, PER_TREE = (1, 2, 3, 5, None), (4, 8, 12)
ALWAYS, COMPARED = "always refined", "refined, or greedy where that is better"

PROTOTYPE = {
    ("letter, random 70 / 30", 64): (".856", "4.2"),
    ("letter, random 70 / 30", 256): (".934", "9.0"),
    ("letter, first 15,000 / last 5,000 rows", 256): (".931", "9"),
    ("planted, depth 2", 4): (".96", ".3"),
    ("planted, depth 4", 16): (".89 to .92", ".9"),
    ("make_classification, 100,000 × 20", 16): (".976", "3"),
}


def groups(rows: list[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows that agree in some columns."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def mean(rows: list[Row], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def footer(rows: list[Row]) -> str:
    """When, and how busy the machine was."""
    dates = " and ".join(sorted({row["date"] for row in rows}))
    loads = [row["load"] for row in rows]
    between = f"{min(loads):.1f} to {max(loads):.1f}"
    return (
        f"Measured on {dates}, load average {between}. A busy machine makes CPU seconds longer, "
        "up to twice as long. Accuracy does not depend on it."
    )


def framed(said: str, head: list[str], lines: list[list[str]], rows: list[Row]) -> str:
    """A table with what it shows above and when it was measured below."""
    above = said.format(len({row["seed"] for row in rows}))
    return f"{above}\n\n{table(head, lines)}\n\n{footer(rows)}"


def equal_text(rows: list[Row]) -> str:
    """Methods with equal leaves, a table per problem and number of leaves."""
    parts = []
    head = ["", "accuracy", "least", "greatest", "leaves", "depth", "CPU s", "wall s"]
    for (problem, wanted), ours in groups(rows, "problem", "wanted").items():
        lines = []
        for (method,), some in groups(ours, "method").items():
            spread = [share(f([r["accuracy"] for r in some])) for f in (min, max)]
            spread = spread if len(some) > 1 else [NO_VALUE] * 2
            shape = [f"{mean(some, 'leaves'):.4g}", f"{mean(some, 'depth'):.3g}"]
            times = [number(mean(some, key), 3) for key in ("cpu", "wall")]
            lines.append([method, share(mean(some, "accuracy")), *spread, *shape, *times])
        if (problem, wanted) in PROTOTYPE:
            accuracy, cpu = PROTOTYPE[problem, wanted]
            lines.append(["the prototype", accuracy, *[NO_VALUE] * 4, cpu, NO_VALUE])
        seeds = len({row["seed"] for row in ours})
        times = f", means of {seeds} seeds" if seeds > 1 else ""
        parts.append(f"**{problem}**, at most {wanted} leaves{times}:\n\n{table(head, lines)}")
    return "\n\n".join([*parts, footer(rows)])


def million_text(rows: list[Row]) -> str:
    """Equal leaves, and what two threads gain."""
    wall = {row["method"]: row["wall"] for row in rows}
    times = wall.get(REFINED, 0.0) / wall.get(TWO_THREADS, np.inf)
    said = f"By the clock, two threads are {times:.2f} times as fast as one.\n\n"
    return (said if times else "") + equal_text(rows)


def sparse_text(rows: list[Row]) -> str:
    """Accuracy and CPU seconds by features per split and by features of the whole tree."""
    limits = {
        **{("refined", k): f"{k} per split" if k else "all" for k in PER_SPLIT},
        **{("per tree", k): f"{k} per tree" for k in PER_TREE},
    }
    lines = []
    for (problem, wanted), ours in groups(rows, "problem", "wanted").items():
        by = groups(ours, "method")
        cells: dict[str, list[str]] = {"greedy": [], "refined": [], "CPU s": []}
        for kind, k in limits:
            greedy, refined = by.get((f"greedy {k}",)), by.get((f"{kind} {k}",))
            plain = greedy if kind == "refined" else None
            cells["greedy"].append(share(mean(plain, "accuracy")) if plain else NO_VALUE)
            cells["refined"].append(share(mean(refined, "accuracy")) if refined else NO_VALUE)
            cells["CPU s"].append(number(mean(refined, "cpu"), 2) if refined else NO_VALUE)
        lines += [[f"{problem}, {wanted} leaves, {what}", *row] for what, row in cells.items()]
    said = (
        "Accuracy on held-out rows by the most features of a split and of the whole tree, means "
        "of {} seeds, with CPU seconds of the refined fits."
    )
    return framed(said, ["", *limits.values()], lines, rows)


def small_text(rows: list[Row]) -> str:
    """Nine sets and their means."""
    by = groups(rows, "problem", "method")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    head = ["", *(f"{method}<br>accuracy (leaves)" for method in methods), "refined was chosen"]
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        some = [by[problem, method] for method in methods]
        cells = [f"{share(mean(r, 'accuracy'))} ({mean(r, 'leaves'):.1f})" for r in some]
        fits = by[problem, SMALL_REFINED]
        chosen = sum(row["refined"] for row in fits)
        lines.append([problem, *cells, f"{chosen} of {5 * len(fits)}"])
    whole = list(groups(rows, "method").values())
    cells = [f"{share(mean(r, 'accuracy'))} ({mean(r, 'leaves'):.1f})" for r in whole]
    lines.append(["**mean**", *cells, ""])
    lines.append(["CPU s of a fit", *(number(mean(r, "cpu")) for r in whole), ""])
    said = "Means of {} five-fold cross-validations; all methods choose the number of leaves."
    return framed(said, head, lines, rows)


def probabilities_text(rows: list[Row]) -> str:
    """Log loss and Brier score by way."""
    head = ["", "probabilities", "log loss", "Brier score", "own class has 0", "CPU s"]
    lines = []
    for (problem, wanted, way), some in groups(rows, "problem", "wanted", "method").items():
        size = "leaves chosen" if wanted is None else f"{wanted} leaves"
        loss, brier = (f"{mean(some, key):.3f}" for key in ("log_loss", "brier"))
        zero = f"{100 * mean(some, 'zero'):.2f} %"
        cpu = number(mean(some, "cpu"))
        lines.append([f"{problem}, {size}", f"`{way}`", loss, brier, zero, cpu])
    said = (
        "Held-out rows, means of {} seeds; smaller is better. A share of 0 for a row's own "
        "class counts as 1e-9 in the log loss. The Brier score is the sum over classes."
    )
    return framed(said, head, lines, rows)
