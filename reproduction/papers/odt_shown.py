"""How the tables on orthogonal trees are printed: errors beside what explains them, and sizes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from obliqua._typing import FloatArray
from obliqua.select.result import Figure, mean_and_sd
from obliqua.stats import metrics as measures
from reproduction.figures import PublishedFigure, beside_ours
from reproduction.protocol import CellResult
from reproduction.tables import Comparison, PaperTable, Row
from reproduction.verdict import said_of, shown_t

__all__ = ["PAPER_SHARES", "Complexity", "ComplexityBySet", "Errors"]

#: Shares of the variance that the paper prints for its five components.
PAPER_SHARES = (99.4416, 0.3748, 0.0925, 0.0240, 0.0156)

POSITIVE = "1"
_NOTHING = ("", "")


def error(cell: CellResult) -> float:
    """Return the share of wrong answers, in per cent."""
    return 100.0 * (1.0 - measures.accuracy_of(cell.matrix))


def balanced(cell: CellResult) -> float:
    """Return the mean of the classes' shares of right answers, in per cent."""
    return 100.0 * float(measures.positive_rates_of(cell.matrix).mean())


def positive(cell: CellResult) -> float:
    """Return the share of rows for which the answer is "positive", in per cent."""
    place = cell.classes.index(POSITIVE)
    return 100.0 * float(cell.matrix[:, place].sum() / cell.matrix.sum())


def constant(cell: CellResult) -> float:
    """Return the error of always answering "positive", in per cent."""
    place = cell.classes.index(POSITIVE)
    return 100.0 * float(1.0 - cell.matrix[place].sum() / cell.matrix.sum())


def _over(cells: Sequence[CellResult], what: Callable[[CellResult], float]) -> FloatArray:
    return np.array([what(cell) for cell in cells])


@dataclass(frozen=True)
class Errors(Comparison):
    """Errors, with what a reader needs to judge them."""

    def markdown(self) -> str:
        """The errors as Markdown."""
        columns = self._columns()
        lines = [f"## {self.table.title}", "", _line(list(columns))]
        lines.append("|--" + "|--:" * (len(columns) - 1) + "|")
        if "set" in columns:
            lines[-1] = lines[-1].replace("|--|--:", "|--|--", 1)
        lines += [_line(row) for row in zip(*columns.values(), strict=True)]
        titles = {_plain(m.name): m.title for m in self.table.methods}
        run = dict.fromkeys(_plain(row.method) for row in self.rows)
        lines += ["", *(f"- *{name}*: {titles[name]}" for name in run)]
        return "\n".join([*lines, "", _ERRORS_MEAN, *self._told()]) + "\n"

    def figures(self) -> Iterator[PublishedFigure]:
        """Each published error beside ours."""
        for row in self.rows:
            paper = _turned(row.published.accuracy)
            ours = mean_and_sd(_over(row.cells, error).tolist())
            yield from _published(self.table, row, "error", paper.mean, ours)

    def _columns(self) -> dict[str, list[str]]:
        """What stands below each head. A column that would say nothing is left out."""
        found: dict[str, list[str]] = {"set": [], "method": [], "paper": [], "prototype": []}
        said = _said(self)
        for row in self.rows:
            errors, ones = _over(row.cells, error), _over(row.cells, positive)
            for head, text in (
                ("set", row.data_set),
                ("method", row.method),
                ("paper", Figure(_turned(row.published.accuracy).mean).text(2)),
                (self.table.reference, Figure(_turned(row.prototype.accuracy).mean).text(2)),
                ("ours", Figure(*mean_and_sd(errors.tolist())).text(2)),
                ("se", said.get((row.data_set, row.method), _NOTHING)[0]),
                ("verdict", said.get((row.data_set, row.method), _NOTHING)[1]),
                ("range", f"{errors.min():.1f} to {errors.max():.1f}"),
                ("balanced", Figure(*mean_and_sd(_over(row.cells, balanced).tolist())).text(1)),
                ("answers 1", f"{ones.mean():.1f} %"),
                ("only 1", f"{int((ones == 100.0).sum())} of {len(ones)}"),
                ("always 1", f"{_over(row.cells, constant).mean():.2f}"),
            ):
                found.setdefault(head, []).append(text)
        if len(set(found["set"])) == 1:
            del found["set"]
        if not any(found["paper"]):
            del found["paper"], found["se"], found["verdict"]
        return found

    def csv(self) -> str:
        """The same figures, unrounded, as CSV."""
        columns = ("error", "balanced", "positive", "constant")
        head = ["set", "method", "repeats", "error_paper", f"error_{self.table.reference}"]
        head += ["error_ours", "error_ours_sd", "error_ours_min", "error_ours_max"]
        head += [*columns[1:], "only_positive", "verdict"]
        lines: list[Sequence[object]] = [head]
        said = _said(self)
        for row in self.rows:
            found = _over(row.cells, error)
            others = [_over(row.cells, what).mean() for what in (balanced, positive, constant)]
            lines.append(
                [
                    *(row.data_set, row.method, row.ours.repeats),
                    *(_turned(row.published.accuracy).mean, _turned(row.prototype.accuracy).mean),
                    *(*mean_and_sd(found.tolist()), found.min(), found.max(), *others),
                    int((_over(row.cells, positive) == 100.0).sum()),
                    said.get((row.data_set, row.method), _NOTHING)[1],
                ]
            )
        return _csv(lines)


_ERRORS_MEAN = (
    "Errors in per cent; means and sample standard deviations over the repeats, and the smallest "
    "and largest of them. *balanced*: balanced accuracy. *answers 1*: for how many rows the "
    'answer is 1, "positive". *only 1*: in how many repeats that is the answer for every row. '
    "*always 1*: the error of always giving this answer. *se*: the difference from the paper in "
    "standard errors, with a star if a test tells the two apart. /20: trees from samples of 20 "
    "rows; /all: of as many rows as there are to train on. C4.5 has nothing random on fixed test "
    "rows."
)


def _said(compared: Comparison) -> dict[tuple[str, str], tuple[str, str]]:
    """The error, or the nodes, in standard errors, and what is said: by data set and method."""
    return {
        (figure.data_set, figure.method): (shown_t(figure), said_of(figure))
        for figure in compared.figures()
        if figure.what in ("error", "nodes")
    }


def _published(
    table: PaperTable, row: Row, what: str, paper: float, ours: tuple[float, float]
) -> Iterator[PublishedFigure]:
    """A figure beside ours, if the paper has it; it has no standard deviations."""
    if not np.isnan(paper):
        # A share that is near the paper's is neither better nor worse.
        larger = not what.startswith(("error", "nodes"))
        yield beside_ours(table, row, what, Figure(paper), ours, larger)


def _plain(method: str) -> str:
    return method.partition("/")[0]


def _turned(accuracy: Figure) -> Figure:
    return Figure(100.0 - accuracy.mean, accuracy.sd)


#: Functions of the same trees, with other numbers for the labels.
_ALIKE = ("AFT", "AFT+-1", "AFT12")


def n_trees(method: str) -> int:
    """Return how many trees have the leaves that a cell counts."""
    name = _plain(method)
    if name in ("ODT-32", "ODT-sum3"):
        return 5
    return 1 if name.startswith(("C4.5", "AFT-")) else 40


def nodes(cell: CellResult, method: str) -> float:
    """Return the nodes per tree. Features have two values, so every split has two branches."""
    return float(2.0 * np.mean(cell.leaves) / n_trees(method) - 1.0)


@dataclass(frozen=True)
class Complexity(Comparison):
    """Nodes per tree, and the shares of the components in the energy."""

    def markdown(self) -> str:
        """Both tables as Markdown."""
        head = (
            "method",
            "repeats",
            "trees",
            "nodes per tree: paper",
            self.table.reference,
            "ours",
            "se",
            "verdict",
        )
        lines = [f"## {self.table.title}", "", _line([*head, "range"])]
        lines.append("|--" + "|--:" * len(head) + "|")
        said = _said(self)
        lines += [
            _line(self._sizes(row, said)) for row in self.rows if _plain(row.method) not in _ALIKE
        ]
        shares = [row for row in self.rows if _explained(row) is not None]
        if shares:
            lines += ["", "Shares of the first five components, in per cent:", ""]
            lines += [
                _line(("of", "function", *map(str, range(1, 6)))),
                "|--|--" + "|--:" * 5 + "|",
            ]
            lines.append(_line(("paper", "", *(f"{share:g}" for share in PAPER_SHARES))))
            for row in shares:
                lines += [_line(line) for line in _share_lines(row)]
        return "\n".join([*lines, "", _COMPLEXITY_MEANS, *self._told()]) + "\n"

    def figures(self) -> Iterator[PublishedFigure]:
        """Each published number of nodes, and each share of the variance, beside ours."""
        for row in self.rows:
            if _plain(row.method) not in _ALIKE:
                sizes = [nodes(cell, row.method) for cell in row.cells]
                paper = _as_nodes(row.published.leaves).mean
                yield from _published(self.table, row, "nodes", paper, mean_and_sd(sizes))
            explained = _explained(row)
            if explained is not None:
                for place, share in enumerate(PAPER_SHARES):
                    ours = mean_and_sd(_first(explained)[:, place].tolist())
                    what = f"share of component {place + 1}"
                    yield from _published(self.table, row, what, share, ours)

    def _sizes(self, row: Row, said: Mapping[tuple[str, str], tuple[str, str]]) -> list[str]:
        found = np.array([nodes(cell, row.method) for cell in row.cells])
        return [
            *(row.method, str(row.ours.repeats), str(n_trees(row.method))),
            _as_nodes(row.published.leaves).text(2),
            _as_nodes(row.prototype.leaves).text(2),
            Figure(*mean_and_sd(found.tolist())).text(2 if found.max() < 100.0 else 0),
            *said.get((row.data_set, row.method), _NOTHING),
            f"{found.min():.5g} to {found.max():.5g}",
        ]

    def csv(self) -> str:
        """The same figures, unrounded, as CSV."""
        head = [
            "set",
            "method",
            "repeats",
            "trees",
            "nodes_paper",
            f"nodes_{self.table.reference}",
        ]
        head += ["nodes_ours", "nodes_ours_sd"]
        head += [f"share_{k}" for k in range(1, 6)] + [f"square_{k}" for k in range(1, 6)]
        head.append("verdict")
        lines: list[Sequence[object]] = [head]
        said = _said(self)
        for row in self.rows:
            found = [nodes(cell, row.method) for cell in row.cells]
            explained = _explained(row)
            shares: list[object] = [""] * 10
            if explained is not None:
                shares = [*_first(explained).mean(axis=0), *_first(explained**2).mean(axis=0)]
            paper, other = _as_nodes(row.published.leaves), _as_nodes(row.prototype.leaves)
            lines.append(
                [
                    *(row.data_set, row.method, row.ours.repeats, n_trees(row.method)),
                    *(paper.mean, other.mean, *mean_and_sd(found), *shares),
                    said.get((row.data_set, row.method), _NOTHING)[1],
                ]
            )
        return _csv(lines)


_COMPLEXITY_MEANS = (
    "Nodes per tree, of the trees that predict; where components predict as functions these are "
    "the 40 of the ensemble. Shares are means over the repeats, of the eigenvalues and of their "
    "squares, each divided by the sum of all 40."
)


def _as_nodes(leaves: Figure) -> Figure:
    return Figure(2.0 * leaves.mean - 1.0)


def _explained(row: Row) -> FloatArray | None:
    """Return the shares of all components, a line per repeat; None if not all were found."""
    found = [shares for cell in row.cells for shares in cell.explained]
    if not found or len({len(shares) for shares in found}) > 1 or len(found[0]) < 40:
        return None
    return np.array(found)


def _first(explained: FloatArray) -> FloatArray:
    return np.asarray(100.0 * (explained / explained.sum(axis=1, keepdims=True))[:, :5])


def _share_lines(row: Row) -> list[list[str]]:
    explained = _explained(row)
    assert explained is not None
    lines = []
    for what, values in (("eigenvalues", explained), ("their squares", explained**2)):
        first = _first(values)
        means = [f"{mean:.3f}" for mean in first.mean(axis=0)]
        lines.append([row.method, what, *means])
    return lines


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _csv(lines: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for line in lines:
        writer.writerow(["" if value != value else value for value in line])
    return text.getvalue()


@dataclass(frozen=True)
class ComplexityBySet(Complexity):
    """The same of several data sets, in a way of measuring that the paper does not have."""

    def figures(self) -> Iterator[PublishedFigure]:
        """Nothing: no figure of the paper was measured so."""
        return iter(())

    def markdown(self) -> str:
        """Both tables as Markdown, each method with its data set."""
        rows = [replace(row, method=f"{row.method} on {row.data_set}") for row in self.rows]
        return Complexity(self.table, tuple(rows)).markdown()
