"""Spectra of trees: how exact they are, and what they cost as trees, depth and levels grow.

``python -m benchmarks.spectra`` writes `benchmarks/results/growth/spectra.json` and the table
`docs/results/odt/growth.md`. Trees are grown by `CartClassifier` to a given depth from rows with
random labels, so that they are as full as they can be. Exactness is measured against all points
of a domain of 720 points.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.measure import limit_threads
from benchmarks.report import ROOT, number, table
from obliqua import CartClassifier, OrthogonalTreesClassifier
from obliqua.spectrum import (
    Domain,
    SpectralEnsemble,
    gram_of_leaves,
    gram_of_spectra,
    leaf_sum_of,
    principal_components,
    spectrum_of,
    tree_of,
)
from obliqua.tree.tree import Tree

RESULT = ROOT / "benchmarks" / "results" / "growth" / "spectra.json"
TABLE = ROOT / "docs" / "results" / "odt" / "growth.md"

SMALL = (2, 3, 4, 2, 3, 5)
#: What grows: numbers of trees, depths, numbers of levels. The rest stays as in `USUAL`.
AXES = {"trees": (10, 40, 160), "depth": (3, 5, 7, 9), "levels": (2, 3, 4, 6, 8)}
USUAL = {"trees": 40, "depth": 4, "levels": 2}
FEATURES = 24
ROWS = 8_000


def trees_of(n_trees: int, depth: int, levels: tuple[int, ...], n_rows: int) -> list[Tree]:
    """Trees that are as full as they can be."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n_trees):
        X = np.stack([rng.integers(0, n, n_rows) for n in levels], axis=1).astype(np.float64)
        y = rng.integers(0, 2, n_rows)
        model = CartClassifier(max_depth=depth, pruning=None).fit(X, y)
        found.append(model.tree_)
    return found


def votes(tree: Tree) -> np.ndarray:
    """The class of each node, as a number."""
    return tree.leaf_label[:, None].astype(np.float64)


# --- how exact --------------------------------------------------------------------------------


def exactness(n_trees: int) -> dict[str, float]:
    """The largest errors over all trees and all points of a small domain."""
    rng = np.random.default_rng(1)
    points = np.array(list(product(*map(range, SMALL))))
    X, y = points.astype(np.float64), rng.integers(0, 2, len(points))
    model = OrthogonalTreesClassifier(
        CartClassifier(max_depth=6, pruning=None),
        n_estimators=n_trees,
        n_components=None,
        coding="0/1",
        domain="discrete",
        random_state=0,
    ).fit(X, y)
    trees, spectra = model.model_.trees, model.spectra_
    values = np.array([votes(tree)[tree.apply(X)][:, 0] for tree in trees])
    inverse = max(
        np.abs(s.value(points)[:, 0] - v).max() for s, v in zip(spectra, values, strict=True)
    )
    parseval = max(
        abs(s.energy / (v**2).mean() - 1.0) for s, v in zip(spectra, values, strict=True)
    )
    rebuilt = [tree_of(s) for s in spectra]
    there_and_back = max(
        np.abs(tree.stats[tree.apply(X)][:, 0] - v).max()
        for tree, v in zip(rebuilt, values, strict=True)
    )
    components = model.component_values(X)[:, :, 0]
    inner = components.T @ components / len(X)
    crossed = np.abs([inner[a, b] for a, b in combinations(range(len(inner)), 2)]).max()
    shares = values.mean(axis=0)
    total = components @ model.component_weights_
    return {
        "inverse": float(inverse),
        "Parseval, relative": float(parseval),
        "tree, spectrum, tree": float(there_and_back),
        "orthogonality, of the largest eigenvalue": float(crossed / model.eigenvalues_[0]),
        "inner products": float(
            np.abs(gram_of_spectra(spectra) - values @ values.T / len(X)).max()
        ),
        "all components against the ensemble": float(np.abs(total - shares).max()),
        "predictions that differ": float((model.predict(X) != (shares > 0.5)).sum()),
    }


# --- what it costs ----------------------------------------------------------------------------


def timed(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """CPU seconds of the fastest of some rounds, and what came out."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        done = work()
        times.append(time.process_time() - started)
    return min(times), done


def costs(rounds: int, n_rows: int, **size: int) -> dict[str, Any]:
    """What the steps from trees to components cost for one size."""
    levels = (size["levels"],) * FEATURES
    domain = Domain.of_rows(_all_levels(levels), _plain(levels))
    trees = trees_of(size["trees"], size["depth"], levels, n_rows)
    tables = [votes(tree) for tree in trees]
    pairs = list(zip(trees, tables, strict=True))
    weights = np.full(len(trees), 1.0 / len(trees))
    seconds, spectra = timed(
        lambda: [spectrum_of(t, domain, v, max_coefficients=2**22) for t, v in pairs], rounds
    )
    gram_seconds, gram = timed(lambda: gram_of_spectra(spectra), rounds)
    leaves_seconds, by_leaves = timed(
        lambda: gram_of_leaves([leaf_sum_of(t, domain, v) for t, v in pairs]), rounds
    )
    eigen_seconds, _ = timed(lambda: principal_components(gram, weights, 5), rounds)
    ensemble = SpectralEnsemble(domain, votes, max_coefficients=2**22)
    for tree in trees[1:]:
        ensemble.add_tree(tree)
    started = time.process_time()
    ensemble.add_tree(trees[0])
    joined = time.process_time() - started
    return {
        **size,
        "leaves": float(np.mean([tree.n_leaves for tree in trees])),
        "coefficients": float(np.mean([len(s) for s in spectra])),
        "together": len(np.unique(np.concatenate([s.keys for s in spectra]), axis=0)),
        "spectra_s": seconds,
        "gram_s": gram_seconds,
        "leaves_s": leaves_seconds,
        "eigen_s": eigen_seconds,
        "join_s": joined,
        "differ": float(np.abs(gram - by_leaves).max()),
    }


def _all_levels(levels: tuple[int, ...]) -> np.ndarray:
    most = max(levels)
    rows = [np.arange(most) % n for n in levels]
    return np.stack(rows, axis=1).astype(np.float64)


def _plain(levels: tuple[int, ...]) -> Any:
    from obliqua.data.encoding import Encoding

    return Encoding.identity(len(levels))


def measure(rounds: int, quick: bool) -> dict[str, Any]:
    """All of it; a quick look leaves out what is large."""
    points: dict[str, list[dict[str, Any]]] = {}
    for axis, sizes in AXES.items():
        points[axis] = []
        for size in sizes[:2] if quick else sizes:
            n_rows = 500 if quick else ROWS
            point = costs(rounds, n_rows, **{**USUAL, axis: size})
            print(axis, point, file=sys.stderr, flush=True)
            points[axis].append(point)
    return {"machine": machine.facts(), "exact": exactness(5 if quick else 40), "points": points}


def text(result: dict[str, Any]) -> str:
    """The tables as the documentation shows them."""
    parts = [
        table(["what", "largest error"], [[k, f"{v:.1e}"] for k, v in result["exact"].items()])
    ]
    for axis, points in result["points"].items():
        says = {"trees": "{} trees", "depth": "depth {}", "levels": "{} levels"}
        fixed = ", ".join(says[k].format(v) for k, v in USUAL.items() if k != axis)
        rows = [
            [
                *(str(point[axis]), f"{point['leaves']:.1f}", f"{point['coefficients']:,.0f}"),
                *(f"{point['together']:,}", number(1000 * point["spectra_s"])),
                *(number(1000 * point[name]) for name in ("gram_s", "leaves_s", "join_s")),
            ]
            for point in points
        ]
        head = [axis, "leaves per tree", "coefficients per tree", "of all together", "spectra, ms"]
        head += ["inner products, ms", "the same from leaves, ms", "one tree joins, ms"]
        parts += [f"With {fixed}:", table(head, rows)]
    worst = max(point["differ"] for points in result["points"].values() for point in points)
    eigen = max(point["eigen_s"] for points in result["points"].values() for point in points)
    facts = result["machine"]
    parts.append(
        f"Inner products from spectra and from leaves differ by at most {worst:.1e}; the "
        f"eigenvectors take at most {number(1000 * eigen)} ms. CPU time, {FEATURES} features, "
        f"{facts['date']}: {facts['cpu']}, one thread."
    )
    return "\n\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.spectra", description=__doc__)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--quick", action="store_true", help="small sizes, print only")
    options = words.parse_args(arguments)
    with limit_threads(1):
        result = measure(1 if options.quick else options.rounds, options.quick)
    if options.quick:
        print(text(result))
        return 0
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(text(result) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
