"""Ways to Fisher's direction with more than two classes, and without the limit for few rows.

``python -m benchmarks.fisher_ways classes`` compares the two groups of classes of
`FisherTreeClassifier` with seven other ways that are Fisher's direction for two classes. Where a
way has several directions, the split with the largest gain wins. ``... limit`` compares the
method, on the six sets of HHCART's table 5, with one that trusts directions in which nothing
varies however few rows there are. ``... income`` prunes in other ways on Income. All print a
table and write it, with the figures unrounded,
into the folder ``docs/results/fdt``. What is drawn at random follows from the repeat alone, and
all ways see the same folds.
"""

from __future__ import annotations

import argparse
import csv
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.cluster import KMeans

from obliqua import FisherTreeClassifier, datasets
from obliqua.engine.proposals import Directions, Proposals
from obliqua.methods import fdt
from obliqua.select.methods import Method
from reproduction.papers.hhcart import TABLE_5, TABLE_7
from reproduction.protocol import CellResult, run_cell, summarise
from reproduction.rows import ExperimentRows

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "fdt"
Pair = tuple[np.ndarray, np.ndarray]  # a scatter matrix and a difference of means


class Classes:
    """Weights, means and scatter matrices of the classes at a node, features in their units."""

    def __init__(self, node: Any) -> None:
        size = node.X.std(axis=0)
        self.used = size > 0
        self.size = size[self.used]
        X = (node.X[:, self.used] - node.X[:, self.used].mean(axis=0)) / self.size
        present = np.unique(node.y)
        parts = [(X[node.y == c], node.sample_weight[node.y == c]) for c in present]
        self.weights = np.array([w.sum() for _, w in parts])
        self.means = np.array([w @ rows / w.sum() for rows, w in parts])
        self.scatter = np.array(
            [
                ((rows - mean).T * w) @ (rows - mean)
                for (rows, w), mean in zip(parts, self.means, strict=True)
            ]
        )
        self.moments = fdt.GroupMoments(self.weights, self.means, self.scatter.sum(axis=0))
        self.node = node

    def groups(self, second: np.ndarray) -> Pair:
        """Of two groups of classes."""
        merged = fdt.merged(self.moments, second)
        return merged.within, merged.means[0] - merged.means[1]

    def pair(self, one: int, other: int, common: bool = False) -> Pair:
        """Of two classes alone, with their own scatter or that of all classes."""
        within = self.moments.within if common else self.scatter[[one, other]].sum(axis=0)
        return within, self.means[one] - self.means[other]

    def normal(self, within: np.ndarray, apart: np.ndarray) -> np.ndarray:
        """Fisher's direction in the units of the rows."""
        enough = int(self.used.sum()) + 2
        w = fdt.separating(within, apart, lambda: fdt.distinct_rows(self.node) >= enough)
        normal = np.zeros(len(self.used))
        normal[self.used] = w / self.size
        return normal / max(np.abs(normal).max(), 1e-300)

    def discriminants(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of the means along the discriminants, and the discriminants."""
        values, vectors = np.linalg.eigh(self.moments.within)
        least = fdt.NO_SPREAD * values[-1] if values[-1] > 0 else 1.0
        whitened = vectors / np.sqrt(np.maximum(values, least))
        mean = self.weights @ self.means / self.weights.sum()
        along = (self.means - mean) @ whitened
        _, axes = np.linalg.eigh((along.T * self.weights) @ along)
        axes = axes[:, ::-1][:, : len(self.weights) - 1]
        return along @ axes, whitened @ axes

    def cuts(self) -> list[np.ndarray]:
        """All cuts of the order of the means along the first discriminant."""
        order = np.argsort(self.discriminants()[0][:, 0], kind="stable")
        masks = []
        for cut in range(1, len(order)):
            second = np.zeros(len(order), dtype=bool)
            second[order[cut:]] = True
            masks.append(second)
        return masks


class Way(FisherTreeClassifier):
    """Fisher's tree with other directions at nodes with more than two classes."""

    @abstractmethod
    def _normals(self, node: Any) -> np.ndarray:
        """Return the directions, one per row."""

    def _directions(self, node: Any) -> Directions:
        if len(np.unique(node.y)) < 3 or not np.ptp(node.X, axis=0).any():
            return fdt.fisher_direction(node)
        normals = self._normals(node)
        normals = normals[np.isfinite(normals).all(axis=1) & normals.any(axis=1)]
        return Directions(normals) if len(normals) else fdt.every_feature(node)

    def _proposer(self) -> object:
        return Proposals(self._directions, axis_parallel=False)


class PairsWay(Way):
    """Fisher's directions of some pairs of a scatter matrix and a difference of means."""

    @abstractmethod
    def _pairs(self, k: Classes) -> Iterator[Pair]:
        """Return the pairs."""

    def _normals(self, node: Any) -> np.ndarray:
        k = Classes(node)
        return np.array([k.normal(*pair) for pair in self._pairs(k)])


class Discriminants(Way):
    """All discriminants: as many as classes less one."""

    def _normals(self, node: Any) -> np.ndarray:
        k = Classes(node)
        normals = np.zeros((min(len(k.weights) - 1, len(k.size)), len(k.used)))
        normals[:, k.used] = k.discriminants()[1].T / k.size
        return normals / np.maximum(np.abs(normals).max(axis=1, keepdims=True), 1e-300)


class WithoutLimit(FisherTreeClassifier):
    """Trusts directions in which nothing varies, however few rows there are."""

    def _proposer(self) -> object:
        def direction(node: Any) -> Directions:
            with mock.patch.object(fdt, "distinct_rows", return_value=10**9):
                return fdt.fisher_direction(node)

        return Proposals(direction, axis_parallel=False)


class TwoGroups(PairsWay):
    """Two groups, as in the library."""

    def _pairs(self, k: Classes) -> Iterator[Pair]:
        yield k.groups(fdt.two_groups(k.moments))


class LargestRatio(PairsWay):
    """The cut of the order whose groups lie apart the furthest along their own direction."""

    def _pairs(self, k: Classes) -> Iterator[Pair]:
        pairs, ratios = [], []
        for second in k.cuts():
            within, apart = k.groups(second)
            # The sum of squares between both groups, in units of that within them. The distance
            # of the means alone would cut single classes off the ends of the order.
            share = k.weights[second].sum() * k.weights[~second].sum() / k.weights.sum()
            ratios.append(share * (apart @ np.linalg.pinv(within, rcond=1e-10) @ apart))
            pairs.append((within, apart))
        yield pairs[int(np.argmax(ratios))]


class TwoMeans(PairsWay):
    """Two groups of means by 2-means."""

    def _pairs(self, k: Classes) -> Iterator[Pair]:
        means = KMeans(2, n_init=10, random_state=0).fit(k.means, sample_weight=k.weights)
        yield k.groups(means.labels_ == 1)


class AllCuts(PairsWay):
    """Every cut of the order."""

    def _pairs(self, k: Classes) -> Iterator[Pair]:
        yield from (k.groups(second) for second in k.cuts())


class EachClass(PairsWay):
    """Each class against the rest."""

    def _pairs(self, k: Classes) -> Iterator[Pair]:
        every = np.arange(len(k.weights))
        yield from (k.groups(every == one) for one in every)


class EachPair(PairsWay):
    """Each pair of classes."""

    def _pairs(self, k: Classes) -> Iterator[Pair]:
        yield from (k.pair(*two) for two in combinations(range(len(k.weights)), 2))


class PairsOneMatrix(PairsWay):
    """Each pair of means, with the scatter of all classes."""

    def _pairs(self, k: Classes) -> Iterator[Pair]:
        yield from (k.pair(*two, common=True) for two in combinations(range(len(k.weights)), 2))


# Each way with its number of directions.
WAYS = {
    "two groups, as in the library": ("TwoGroups", "1"),
    "two groups, the cut with the largest Fisher ratio": ("LargestRatio", "1"),
    "two groups by 2-means": ("TwoMeans", "1"),
    "all cuts of the order": ("AllCuts", "C - 1"),
    "each class against the rest": ("EachClass", "C"),
    "each pair of classes": ("EachPair", "C (C - 1) / 2"),
    "pairs, one matrix for all classes": ("PairsOneMatrix", "C (C - 1) / 2"),
    "all discriminants": ("Discriminants", "C - 1"),
}


def rows_of(load: Callable[[], Any], most: int | None = None) -> ExperimentRows:
    """The first rows of a set, in stratified folds."""
    found = load()
    return ExperimentRows(found.data[:most], found.target[:most], stratified=True)


def measure(name: str, rows: ExperimentRows, method: Method, repeats: int) -> list[CellResult]:
    """Repeat a cross-validation."""
    plain = replace(rows, n_folds=5)
    return [run_cell(name, plain, method, repeat, 0) for repeat in range(repeats)]


def way(title: str, name: str) -> Method:
    """A class of this file as a method."""
    return Method(title, "", f"{__name__}.{name}")


def note(found: list[list[Any]], stem: str) -> None:
    """Write the figures, with the mean over repeats and the standard deviation."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{stem}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        head = ["set", "way", "repeats", "accuracy", "accuracy_sd", "leaves", "leaves_sd"]
        writer.writerows([head, *found])


def cell(line: list[Any]) -> str:
    """Accuracy and leaves; accuracies near 100 differ by hundredths."""
    leaves = f"{line[5]:,.0f}" if line[5] > 100 else f"{line[5]:.1f}"
    return f"{line[3]:.{2 if line[3] > 99 else 1}f}, {leaves}"


def table(found: list[list[Any]]) -> str:
    """A line per way, a column per set."""
    sets = list(dict.fromkeys(line[0] for line in found))
    cells = {(line[1], line[0]): cell(line) for line in found}
    lines = ["| | " + " | ".join(sets) + " |", "|--" + "|--:" * len(sets) + "|"]
    for title in dict.fromkeys(line[1] for line in found):
        named = f"{title} ({WAYS[title][1]})" if title in WAYS else title
        lines += ["| " + " | ".join([named, *(cells[title, name] for name in sets)]) + " |"]
    return "\n".join(lines) + "\n"


def compare(sets: dict[str, tuple[ExperimentRows, int]], methods: list[Method], stem: str) -> None:
    """Run everything, and write it anew after each set."""
    found: list[list[Any]] = []
    for name, (rows, repeats) in sets.items():
        for method in methods:
            ours = summarise(measure(name, rows, method, repeats))
            figures = ["" if np.isnan(x) else x for x in (*ours.accuracy, *ours.leaves)]
            found.append([name, method.name, repeats, *figures])
            print(*found[-1], flush=True)
        note(found, stem)
        (FOLDER / f"{stem}.md").write_text(table(found), "utf-8")
    print(table(found))


def main() -> None:
    """Measure what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["classes", "limit", "income"])
    parser.add_argument("--repeats", type=int, default=20, help="of small sets")
    given = parser.parse_args()
    if given.what == "income":
        rows = TABLE_7.choose_sets(["Income"])[0].load()
        kinds: dict[str, dict[str, Any]] = {
            "default": {},
            '`pruning="holdout"`': {"pruning": "holdout"},
            "`confidence_factor=0.0001`": {"confidence_factor": 0.0001},
        }
        name = "obliqua.FisherTreeClassifier"
        methods = [Method(title, "", name, params) for title, params in kinds.items()]
        compare({"Income": (rows, 1)}, methods, "income")
        return
    if given.what == "limit":
        sets = {one.name: (one.load(), given.repeats) for one in TABLE_5.data_sets}
        plain = Method("with the limit", "", "obliqua.FisherTreeClassifier")
        compare(sets, [plain, way("without", "WithoutLimit")], "limit")
        return
    small = {
        "Balance Scale": datasets.load_balance_scale,
        "Glass": datasets.load_glass,
        "Wine": datasets.load_wine,
        "Iris": datasets.load_iris,
    }
    sets = {name: (rows_of(load), given.repeats) for name, load in small.items()}
    sets["Shuttle"] = rows_of(datasets.load_shuttle, 20_000), 2
    sets["Letter"] = rows_of(datasets.load_letter, 8_000), 2
    compare(sets, [way(title, name) for title, (name, _) in WAYS.items()], "classes")


if __name__ == "__main__":
    main()
