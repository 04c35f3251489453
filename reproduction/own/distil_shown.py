"""What small trees keep of a forest: the tables that are shown.

By data set and way, side by side for sizes; then means over the data sets, and in how many cells
one way did better than another.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from obliqua.select.result import Figure, mean_and_sd
from reproduction.tables import Comparison, Row

__all__ = ["Lost"]

#: Ways that are compared cell by cell: the question, and the ways.
_QUESTIONS = (
    ("An oblique tree (HHCART) against a CART tree of the same size", "hhcart", "cart"),
    ("An oblique tree (OC1) against a CART tree of the same size", "oc1", "cart"),
    ("Four CART trees that are added up against one", "residual", "cart"),
    ("A CART tree from what the forest says against one from the classes", "cart", "labels"),
)


@dataclass(frozen=True)
class Lost(Comparison):
    """Accuracy, agreement and difference by data set and way, side by side for sizes."""

    def markdown(self) -> str:
        """The table, as Markdown."""
        lines = [f"## {self.table.title}", ""]
        for data_set in dict.fromkeys(row.data_set for row in self.rows):
            lines += [*self._of_set(data_set), ""]
        lines += [*self._together(), ""]
        return "\n".join([*lines, _MEANING]) + "\n"

    def _of_set(self, data_set: str) -> list[str]:
        found = {row.method: row for row in self.rows if row.data_set == data_set}
        sizes = list(dict.fromkeys(name.partition("@")[2] for name in found if "@" in name))
        lines = [f"### {data_set}", ""]
        if "forest" in found:
            ours = found["forest"].ours
            accuracy = Figure(*ours.accuracy).text(1)
            lines += [f"The forest: {accuracy} % accurate, {ours.leaves[0]:.0f} leaves.", ""]
        head, rule = "| way |", "|--|"
        for size in sizes:
            head += f" {size} leaves: accuracy | agreement | difference | CPU s |"
            rule += "--:|--:|--:|--:|"
        lines += [head, rule]
        for way in dict.fromkeys(name.partition("@")[0] for name in found if "@" in name):
            line = f"| {way} |"
            for size in sizes:
                row = found.get(f"{way}@{size}")
                line += " | | | |" if row is None else f" {' | '.join(_written(row))} |"
            lines.append(line)
        return lines

    def _together(self) -> list[str]:
        """Means over the data sets, and how often one way does better than another."""
        names = list(dict.fromkeys(row.method for row in self.rows if "@" in row.method))
        sizes = list(dict.fromkeys(name.partition("@")[2] for name in names))
        lines = ["### All sets together", ""]
        lines += ["| way |" + "".join(f" {n} leaves: accuracy | agreement |" for n in sizes)]
        lines += ["|--|" + "--:|--:|" * len(sizes)]
        for way in dict.fromkeys(name.partition("@")[0] for name in names):
            line = f"| {way} |"
            for size in sizes:
                rows = [row for row in self.rows if row.method == f"{way}@{size}"]
                for measure in (_accuracy, _agreement):
                    line += f" {np.mean([measure(row) for row in rows]):.1f} |" if rows else " |"
            lines.append(line)
        found = {(row.data_set, row.method): row for row in self.rows}
        told = []
        for question, one, other in _QUESTIONS:
            pairs = [
                (row, found[key, f"{other}@{size}"])
                for (key, method), row in found.items()
                for way, _, size in [method.partition("@")]
                if way == one and (key, f"{other}@{size}") in found
            ]
            if pairs:
                told.append(f"- {question}: {_verdicts(pairs)}.")
        return [*lines, "", *told] if told else lines

    def csv(self) -> str:
        """The same figures, unrounded, a line per method, as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        measures = ("accuracy", "agreement", "difference", "cpu_ms", "leaves")
        head = [name for measure in measures for name in (measure, f"{measure}_sd")]
        writer.writerow(["set", "way", "max_leaves", "seeds", *head])
        for row in self.rows:
            way, _, size = row.method.partition("@")
            lost = [_lost(row, name) for name in measures[1:4]]
            figures = [row.ours.accuracy, *lost, row.ours.leaves]
            plain = ["" if value != value else value for pair in figures for value in pair]
            writer.writerow([row.data_set, way, size, row.ours.repeats, *plain])
        return text.getvalue()


_MEANING = (
    "Accuracy and agreement with the forest in per cent; the difference is half the sum of the "
    "absolute differences of the shares of the classes, from 0 to 1. Means over the seeds, and "
    "sample standard deviations of the percentages. CPU seconds are those of the small model "
    "alone; those of odt include the inner products of all trees, which are found once for all."
)


def _lost(row: Row, name: str) -> tuple[float, float]:
    factor = 100.0 if name == "agreement" else 1.0
    values = [factor * float(np.mean([one[name] for one in cell.lost])) for cell in row.cells]
    return mean_and_sd(values)


def _written(row: Row) -> list[str]:
    return [
        Figure(*row.ours.accuracy).text(1),
        Figure(*_lost(row, "agreement")).text(1),
        f"{_lost(row, 'difference')[0]:.3f}",
        f"{_lost(row, 'cpu_ms')[0] / 1000:.1f}",
    ]


def _accuracy(row: Row) -> float:
    return row.ours.accuracy[0]


def _agreement(row: Row) -> float:
    return _lost(row, "agreement")[0]


def _verdicts(pairs: list[tuple[Row, Row]]) -> str:
    """In how many pairs the first is better, as printed: to a tenth of a per cent."""
    texts = []
    for name, measure in (("agreement", _agreement), ("accuracy", _accuracy)):
        gains = [round(measure(one), 1) - round(measure(other), 1) for one, other in pairs]
        higher, lower = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        mean = float(np.mean([measure(one) - measure(other) for one, other in pairs]))
        texts.append(
            f"{name} is higher in {higher} of {len(pairs)} and lower in {lower}, "
            f"{mean:+.1f} on the average"
        )
    return "; ".join(texts)
