"""The tables of `benchmarks.duel`: rows in, Markdown out."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.report import NO_VALUE, number, table

Row = dict[str, Any]
OURS = "obliqua refined"

REFERENCES = {
    "DTSemNet": (
        "S. P. Panda, B. Genest, A. Easwaran, P. N. Suganthan, *Vanilla gradient descent for "
        "oblique decision trees*, ECAI 2024; accuracy in %, from the logs in "
        "`results/ecai_reported` of the authors' repository. Half of the rows are learnt from "
        "and half of the others tried on, 100 divisions there, ten made in the same way here. Of "
        "letter the last 5,000 rows are tried on and 10,500 of the others learnt from: those of "
        "LIBSVM there, ten times others by chance here"
    ),
    "RADDT": (
        "Q. Mao and others, *Differentiable decision tree via “ReLU+Argmin” reformulation*, "
        "NeurIPS 2025, table 15; mean F1 of the classes in %, a fifth of the rows tried on, ten "
        "divisions there, ten others here, which are stratified. Its adult and bank marketing "
        "tables have other rows or columns than those at hand and are left out"
    ),
    "HRT": (
        "H. Li, H. Lin, J. Xu, *Hinge regression tree*, ICLR 2026, arXiv:2602.05371, linear "
        "models in leaves, as a public summary of the paper quotes it; root mean squared error, "
        "less is better. How its rows were divided is not known here; ours are five folds. Its "
        "program is on no package index, so it was not run"
    ),
}

ERRORS = ("HRT",)  # whose figures are errors: less is better


def share(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.3f}".removeprefix("0")


def picked(rows: list[Row], **values: Any) -> list[Row]:
    """Rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def mean(rows: list[Row], key: str) -> float | None:
    """The mean of a figure; None if there is no row, or one failed."""
    if not rows or any("failure" in row for row in rows):
        return None
    return float(np.mean([row[key] for row in rows]))


def in_order(rows: list[Row], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))


def methods_of(rows: list[Row]) -> list[str]:
    """All that were ever read; a soft tree that failed has no other reading there."""
    return in_order(rows, "method")


def _of(rows: list[Row], method: str) -> list[Row]:
    """The rows of a method. A failure of a model is one of each way of reading it."""
    found = [row for row in rows if row["method"] == method]
    plain = method.partition(", ")[0]
    if plain != method:
        found += [row for row in rows if row["method"] == plain and "failure" in row]
    return sorted(found, key=lambda row: row["division"])


def scores(rows: list[Row], key: str, **values: Any) -> dict[str, float | None]:
    """The mean of a figure, by method."""
    some = picked(rows, **values)
    return {method: mean(_of(some, method), key) for method in methods_of(rows)}


def ranks(found: dict[str, float | None]) -> dict[str, float]:
    """1 is the best; equal ones share a rank, and all that failed the last place."""
    values = [-1.0 if value is None else value for value in found.values()]
    order = rankdata([-value for value in values])
    last = float(len(values))
    return {
        method: last if value is None else float(rank)
        for (method, value), rank in zip(found.items(), order, strict=True)
    }


def fields(rows: list[Row], mode: str = "default") -> list[tuple[str, int]]:
    """All tables and sizes that were measured."""
    some = picked(rows, mode=mode)
    return list(dict.fromkeys((row["set"], row["wanted"]) for row in some))


def mean_ranks(rows: list[Row], key: str, mode: str = "default", *sizes: int) -> dict[str, float]:
    """By method, over tables and sizes."""
    found = [
        ranks(scores(rows, key, set=name, wanted=size, mode=mode))
        for name, size in fields(rows, mode)
        if not sizes or size in sizes
    ]
    return {method: float(np.mean([one[method] for one in found])) for method in found[0]}


def rivals(found: dict[str, float | None]) -> dict[str, float]:
    """Those of other libraries that did not fail."""
    return {
        method: value
        for method, value in found.items()
        if value is not None and not method.startswith("obliqua")
    }


def lost(rows: list[Row]) -> list[tuple[float, str, int, str, str]]:
    """Where another library's mean accuracy is higher: the gap, the table, the size, who, text.

    Where ours failed and another did not, the gap is all of the other's accuracy.
    """
    out = []
    for name, size in fields(rows):
        found = scores(rows, "accuracy", set=name, wanted=size, mode="default")
        ours, others = found.get(OURS), rivals(found)
        if not others:
            continue
        best = max(others, key=lambda method: others[method])
        if ours is None:
            out.append((others[best], name, size, best, "ours failed"))
            continue
        gap = others[best] - ours
        if gap > 1e-9:
            here = picked(rows, set=name, wanted=size, mode="default")
            pairs = zip(_of(here, best), _of(here, OURS), strict=True)
            gaps = np.array([one["accuracy"] - other["accuracy"] for one, other in pairs])
            error = f" ± {100 * gaps.std(ddof=1) / len(gaps) ** 0.5:.1f}" if len(gaps) > 1 else ""
            out.append((gap, name, size, best, f"{100 * gap:.1f}{error}"))
    return sorted(out, reverse=True)


def losses(rows: list[Row]) -> list[str]:
    """What was lost, a line each, largest first."""
    return [
        f"lost: {name}, {size} leaves: {who}, {text}" for _, name, size, who, text in lost(rows)
    ]


def failures(result: dict[str, Any]) -> list[str]:
    """Who failed, how often and how, and who is left out."""
    lines = [f"left out: {name}: {why}" for name, why in result.get("left_out", {}).items()]
    rows = result["rows"]
    for method in methods_of(rows):
        mine = [row for row in rows if row["method"] == method and row["mode"] == "default"]
        for kind in dict.fromkeys(row["failure"] for row in mine if "failure" in row):
            failed = [row for row in mine if row.get("failure") == kind]
            tables = ", ".join(in_order(failed, "set"))
            lines.append(f"failed: {method}: {kind}, {len(failed)} of {len(mine)} fits: {tables}")
    return lines


def _lost_text(rows: list[Row]) -> str:
    found = lost(rows)
    if not found:
        return f"*{OURS}* lost nowhere."
    lines = []
    for _, name, size, who, text in found:
        both = scores(rows, "accuracy", set=name, wanted=size, mode="default")
        lines.append([name, str(size), share(both[OURS]), share(both[who]), who, text])
    head = ["lost by *obliqua refined*", "leaves", "ours", "the best other", "who", "points"]
    return table(head, lines)


def _ranks_text(rows: list[Row]) -> str:
    sizes = sorted({size for _, size in fields(rows)})
    overall = mean_ranks(rows, "accuracy")
    by_size = [mean_ranks(rows, "accuracy", "default", size) for size in sizes]
    balanced = mean_ranks(rows, "balanced")
    tuned = mean_ranks(rows, "accuracy", "tuned") if fields(rows, "tuned") else {}
    lines = []
    for method in sorted(overall, key=lambda each: overall[each]):
        mine = [row for row in _of(picked(rows, mode="default"), method) if "failure" not in row]
        n_failed = len(_of(picked(rows, mode="default"), method)) - len(mine)
        cpu = [row["cpu"] for row in mine]
        lines.append(
            [
                method,
                f"{overall[method]:.2f}",
                *(f"{one[method]:.2f}" for one in by_size),
                f"{balanced[method]:.2f}",
                f"{tuned[method]:.2f}" if method in tuned else NO_VALUE,
                number(float(np.median(cpu)), 2) if cpu else NO_VALUE,
                number(max(cpu), 2) if cpu else NO_VALUE,
                str(n_failed),
            ]
        )
    head = [
        "mean ranks", "accuracy", *(f"{size} leaves" for size in sizes), "balanced accuracy",
        "tuned", "CPU s, median", "largest", "failures",
    ]  # fmt: skip
    return table(head, lines)


def _accuracy_text(result: dict[str, Any], mode: str, size: int) -> str:
    """Accuracy, and below it the leaves that were used, a row for each table."""
    rows = result["rows"]
    names = [name for name, each in fields(rows, mode) if each == size]
    methods = methods_of(rows)
    lines = []
    for name in names:
        found = scores(rows, "accuracy", set=name, wanted=size, mode=mode)
        leaves = scores(rows, "leaves", set=name, wanted=size, mode=mode)
        values = [value for value in found.values() if value is not None]
        best = max(values, default=None)
        cells = []
        for method in methods:
            value, used = found[method], leaves[method]
            text = share(value)
            if value is not None and best is not None and value >= best - 1e-9:
                text = f"**{text}**"
            cells.append(text if used is None else f"{text} ({used:.3g})")
        shape = result["shapes"][name]
        lines.append([f"{name}, {shape[0]:,} × {shape[1]}, {shape[2]}", *cells])
    said = "" if mode == "default" else ", tuned"
    return table([f"at most {size} leaves{said}: table, classes", *methods], lines)


def equal_text(result: dict[str, Any]) -> str:
    """Losses first, then ranks, then all accuracies."""
    rows = result["rows"]
    sizes = sorted({size for _, size in fields(rows)})
    parts = [_lost_text(rows), _ranks_text(rows)]
    parts += [_accuracy_text(result, "default", size) for size in sizes]
    parts += [
        _accuracy_text(result, "tuned", size)
        for size in sorted({size for _, size in fields(rows, "tuned")})
    ]
    failed = failures(result)
    if failed:
        parts.append("\n".join(f"- {line}" for line in failed))
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    for name, beside in result.get("beside", {}).items():
        versions += f"; {name} in an environment with {beside}"
    dates = " and ".join(sorted({row["date"] for row in rows}))
    loads = [row["load"] for row in rows]
    parts.append(
        f"Measured on {dates}: {result['machine']['cpu']}, one thread, load average "
        f"{min(loads):.1f} to {max(loads):.1f}, {versions}."
    )
    return "\n\n".join(parts)


def behind(row: Row) -> float:
    """By how much the published figure is better than ours, as a share of it."""
    gap = (row["figure"] - float(np.mean(row["ours"]))) / row["figure"]
    return -gap if row["source"] in ERRORS else gap


def published_text(result: dict[str, Any]) -> str:
    """Figures of others beside ours, what was lost first."""
    lines = []
    for row in sorted(result["rows"], key=lambda row: -behind(row)):
        ours = np.array(row["ours"])
        error = f" ± {ours.std(ddof=1) / len(ours) ** 0.5:.2g}" if len(ours) > 1 else ""
        figure = f"{row['figure']:.4g}"
        shown = f"{ours.mean():.3g}{error}"
        name, leaves = f"{row['source']}, {row['table']}", f"{row['leaves']:.3g}"
        verdict = "lost" if behind(row) > 0 else ""
        cpu = number(row["cpu"], 2)
        lines.append([name, row["bound"], figure, shown, verdict, leaves, cpu])
    head = ["", "their size", "published", "ours, ± standard error", "", "our leaves", "CPU s"]
    sources = in_order(result["rows"], "source")
    cited = "\n".join(f"- {name}: {REFERENCES[name]}." for name in sources)
    return f"{table(head, lines)}\n\n{cited}\n\nMeasured on {result['machine']['date']}."


def readme_sentence(result: dict[str, Any]) -> str:
    """How refined trees stand among those measured, as a part of a list in the README."""
    rows = result["rows"]
    places = fields(rows)
    overall = mean_ranks(rows, "accuracy")
    others = {name: rank for name, rank in overall.items() if not name.startswith("obliqua")}
    best = min(others, key=lambda name: others[name])
    sizes = sorted({size for _, size in places})
    listed = f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]}"
    text = (
        f"With at most {listed} leaves on {len({name for name, _ in places})} tables their mean "
        f"rank by accuracy is {overall[OURS]:.1f} among {len(overall)} kinds of trees; the best "
        f"of other libraries' of those measured, {best}, has {others[best]:.1f}. On "
        f"{len(lost(rows))} of {len(places)} tables and sizes some other library's tree is more "
        "accurate ([where, and by how much](docs/benchmarks.md#the-duel))."
    )
    lines = textwrap.wrap(text, 116, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"  {line}" for line in lines)
