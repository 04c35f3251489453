"""How table 2 of the paper on 2C-ETCT depends on where the clusters lie.

The paper says neither how far clusters are from each other nor, clearly, from what that is
measured. Here are both readings and five distances, each in three dimensions: 2C-ETCT against the
better one of the two linear methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from reproduction.own.missing import difference
from reproduction.papers.etct import METHODS, OURS, clusters, drawn
from reproduction.protocol import DataSet
from reproduction.tables import Comparison, PaperTable

__all__ = ["PROTOTYPE", "TABLE", "Gains", "set_name"]

LAYOUTS, DISTANCES, DIMENSIONS = ("chain", "star"), (3, 4, 5, 6, 8), (5, 8, 11)
LINEAR = ("Bayes", "SVM")

#: What the prototype gained over the better linear method, in points; four sets of rows.
PROTOTYPE = {
    ("chain", 3): (0.9, 0.3, -1.2),
    ("chain", 4): (2.1, -1.3, -0.9),
    ("chain", 5): (3.8, 0.7, 0.3),
    ("chain", 6): (4.9, -0.8, 0.2),
    ("chain", 8): (5.0, -0.3, 0.4),
    ("star", 3): (0.9, 0.9, -1.4),
    ("star", 4): (1.8, 1.8, -0.6),
    ("star", 5): (2.1, 2.6, 0.9),
    ("star", 6): (2.1, 2.0, 1.9),
    ("star", 8): (1.5, 1.5, 1.6),
}


def set_name(layout: str, distance: int, d: int) -> str:
    """Return the name of a data set."""
    return f"{layout}{distance}-d{d}"


@dataclass(frozen=True)
class Gains(Comparison):
    """What 2C-ETCT gains over the better linear method, for each layout and distance."""

    def gain(self, name: str) -> tuple[float, float] | None:
        """Return what is gained on a data set, in points; None if a method was not run."""
        found = {row.method: row for row in self.rows if row.data_set == name}
        if not {OURS, *LINEAR} <= set(found):
            return None
        better = max((found[method] for method in LINEAR), key=lambda row: row.ours.accuracy[0])
        return difference(found[OURS], better)

    def markdown(self) -> str:
        """The gains, and below them all figures, as Markdown."""
        head = "| layout |" + "".join(f" {d} features | prototype |" for d in DIMENSIONS)
        lines = [f"## {self.table.title}", "", head, "|--|" + "--:|" * 2 * len(DIMENSIONS)]
        for (layout, distance), theirs in PROTOTYPE.items():
            line = f"| {layout}, steps of {distance} |"
            gains = [self.gain(set_name(layout, distance, d)) for d in DIMENSIONS]
            for gain, other in zip(gains, theirs, strict=True):
                line += f" {_written(gain)} | {other:+.1f} |"
            lines += [line] if any(gains) else []
        lines += ["", _MEANING, "", super().markdown().partition("\n\n")[2]]
        return "\n".join(lines)


_MEANING = (
    "Accuracy of 2C-ETCT minus that of naive Bayes or the linear machine, whichever is better on "
    "the mean, in points. Means and standard deviations of the differences, taken repeat by "
    "repeat. All figures:"
)


def _written(gain: tuple[float, float] | None) -> str:
    if gain is None:
        return ""
    mean, sd = gain
    return f"{mean:+.1f}" + ("" if sd != sd else f" ± {sd:.1f}")


#: Other layouts and distances of the clusters.
TABLE = PaperTable(
    shown_as=Gains,
    name="etct-clusters",
    title="2C-ETCT against linear methods, by where the clusters lie",
    data_sets=tuple(
        DataSet(
            set_name(layout, distance, d),
            f"{layout}, steps of {distance}, {d} features",
            partial(drawn, clusters, n_features=d, layout=layout, distance=float(distance)),
        )
        for layout in LAYOUTS
        for distance in DISTANCES
        for d in DIMENSIONS
    ),
    methods=METHODS,
    standard=(OURS, *LINEAR),
    published={},
    prototype={},
)
