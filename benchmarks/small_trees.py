"""Small refined trees where rows are few, classes rare or depth is short: before and after.

``python -m benchmarks.small_trees --keep before.json`` measures and keeps a row for each problem,
method and seed; after a change ``--beside before.json`` measures again and prints both. Scores are
shares of held-out rows that are right; of rare classes the harmonic mean of recall and precision.
Nothing in the library may be chosen by what comes out here for the seeds that are used: try other
ones, ``--first-seed 100``. The real sets are few, and have no others.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import clock, limit_threads
from benchmarks.refined import Division, Fit, codes, digits, divided, letter, planted
from benchmarks.refined_tables import Row, groups, mean
from benchmarks.report import table
from obliqua import DatasetMissing, RefinedTreeClassifier

GREEDY, DEFAULT, ALWAYS = "greedy, pruned", "refined", "always refined"
LINEAR = "logistic regression, regularised"
#: Rows to learn from in wide sets, and their columns.
WIDE = (200, 60)


# --- problems ---------------------------------------------------------------------------------


def papers(seed: int, quick: bool) -> Iterator[Division]:
    """The nine small sets of HHCART's table 2, five folds each."""
    from sklearn.model_selection import StratifiedKFold

    from reproduction.papers.hhcart import DATA_SETS

    for data in DATA_SETS[: 1 if quick else 9]:
        rows = data.load()
        X, y = np.asarray(rows.X, dtype=np.float64), codes(rows.y)
        division = StratifiedKFold(2 if quick else 5, shuffle=True, random_state=seed)
        for a, b in division.split(X, y):
            yield Division(data.title, seed, X[a], y[a], X[b], y[b])


def cancer(seed: int, quick: bool) -> Iterator[Division]:
    """scikit-learn's breast cancer data, 569 x 30, three divisions a seed."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    for k in range(1 if quick else 3):
        one = divided("breast cancer", 3 * seed + k, X, y)
        yield Division(one.problem, seed, one.X, one.y, one.X_new, one.y_new)


def wide(seed: int, quick: bool) -> Iterator[Division]:
    """Generated sets of few rows and many columns."""
    from sklearn.datasets import make_classification

    n, p = (60, 12) if quick else WIDE
    n_all = n + 2_000
    chance = np.random.default_rng(1_000 + seed)
    # Neighbouring columns are alike, as those of a spectrum are.
    along = chance.normal(size=(n_all, p))
    for k in range(1, p):
        along[:, k] = 0.9 * along[:, k - 1] + np.sqrt(1 - 0.81) * along[:, k]
    slope = chance.normal(size=p)
    height = along @ slope
    height /= height.std()
    yield divided(
        "spectrum, a line, much noise", seed, along, height + chance.normal(size=n_all) > 0, n
    )
    few = along[:, 5] - along[:, p // 2] + along[:, -5]
    yield divided(
        "spectrum, three columns", seed, along, few + 0.3 * chance.normal(size=n_all) > 0, n
    )
    plain = chance.normal(size=(n_all, p))
    noise = chance.normal(size=n_all)
    yield divided(
        "columns at random, eight tell", seed, plain, plain[:, :8].sum(axis=1) + noise > 0, n
    )
    hidden = chance.normal(size=(n_all, 4))
    shown = hidden @ chance.normal(size=(4, p)) + chance.normal(size=(n_all, p))
    yield divided(
        "two borders in four hidden columns",
        seed,
        shown,
        np.where(hidden[:, 0] > 0, hidden[:, 1] > 0, hidden[:, 2] > 0.5),
        n,
    )
    yield divided("a line in four hidden columns", seed, shown, hidden.sum(axis=1) > 0, n)
    for n_classes in () if quick else (2, 3):
        X, y = make_classification(
            n_all,
            p,
            n_informative=10,
            n_redundant=20,
            n_classes=n_classes,
            flip_y=0.05,
            random_state=seed,
        )
        yield divided(f"make_classification, {n_classes} classes", seed, X, y, n)


def noisy(seed: int, quick: bool) -> Iterator[Division]:
    """Overlapping classes and wrong labels."""
    n = 300 if quick else 2_000
    chance = np.random.default_rng(2_000 + seed)
    middle = 0.5 * chance.normal(size=(9, 12))
    y = chance.integers(9, size=n + 5_000)
    yield divided(
        "nine overlapping classes", seed, middle[y] + chance.normal(size=(len(y), 12)), y, n
    )
    one = planted(3, seed, n)
    wrong = chance.random(n) < 0.2
    labels = np.where(wrong, chance.permutation(one.y), one.y)
    yield Division(
        "planted, depth 3, a fifth of labels at random", seed, one.X, labels, one.X_new, one.y_new
    )


def rare(seed: int, quick: bool) -> Iterator[Division]:
    """Few rows of one class, beyond a line and in a ball."""
    n = 4_000 if quick else 40_000
    chance = np.random.default_rng(3_000 + seed)
    X = chance.normal(size=(4 * n, 6))
    line = X[:, 0] + X[:, 1]
    far = np.sqrt(((X[:, :3] - 1.0) ** 2).sum(axis=1))
    for name, values in ("a line", line), ("a ball", -far):
        for share in (0.01,) if quick else (1 / 200, 1 / 1_000, 1 / 3_000):
            y = values > np.quantile(values, 1 - share)
            yield divided(f"beyond {name}, 1 of {1 / share:.0f}", seed, X, y, n)


def many(seed: int, quick: bool) -> Iterator[Division]:
    """Where refined trees are at home; they must not lose."""
    yield digits(seed)
    yield planted(2, seed, 500 if quick else 10_000)
    if not quick:
        yield planted(4, seed)
        yield letter(seed)


def deep(seed: int, quick: bool) -> Iterator[Division]:
    """Many classes."""
    yield digits(seed) if quick else letter(seed)


# --- methods ----------------------------------------------------------------------------------


def refined(X: Any, y: Any, **more: Any) -> Any:
    return RefinedTreeClassifier(n_jobs=1, **more).fit(X, y)


def greedy(X: Any, y: Any) -> Any:
    from benchmarks.refined import greedy as grown

    return grown(X, y, None, 0, pruning="cv", prune_root=True)


def linear(X: Any, y: Any) -> Any:
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegressionCV(max_iter=2_000)).fit(X, y)


CHOSEN: dict[str, Any] = {
    DEFAULT: refined,
    ALWAYS: partial(refined, compare_greedy=False),
    GREEDY: greedy,
    LINEAR: linear,
}
TWO: dict[str, Any] = {**CHOSEN, "refined, 2 leaves": partial(refined, max_leaf_nodes=2)}
SIZES: dict[str, Any] = {
    f"refined, {n} leaves": partial(refined, max_leaf_nodes=n) for n in (4, 16, 64)
}
DEPTHS: dict[str, Any] = {f"refined, depth {d}": partial(refined, max_depth=d) for d in (10, 8, 6)}
BOTH = partial(refined, max_depth=8, max_leaf_nodes=64)

#: Divisions by seed, and methods.
PARTS: dict[str, tuple[Callable[[int, bool], Iterator[Division]], dict[str, Fit]]] = {
    "papers": (papers, CHOSEN),
    "cancer": (cancer, TWO),
    "wide": (wide, CHOSEN),
    "noisy": (noisy, {key: CHOSEN[key] for key in (DEFAULT, ALWAYS, GREEDY)}),
    "rare": (rare, {key: CHOSEN[key] for key in (DEFAULT, GREEDY)}),
    "many": (many, SIZES),
    "deep": (deep, {**DEPTHS, "refined, depth 8, 64 leaves": BOTH}),
}


# --- measuring --------------------------------------------------------------------------------


def measured(part: str, one: Division, name: str, fit: Any) -> Row:
    model, cpu, _ = clock(lambda: fit(one.X, one.y))
    guess = model.predict(one.X_new)
    tree = getattr(model, "tree_", None)
    row = {
        "part": part,
        "problem": one.problem,
        "method": name,
        "seed": one.seed,
        "score": f1(one.y_new, guess) if part == "rare" else float((guess == one.y_new).mean()),
        "leaves": 1 if tree is None else int(tree.n_leaves),
        "depth": 0 if tree is None else int(tree.max_depth),
        "cpu": cpu,
        "kept": getattr(model, "chosen_", ""),
    }
    print(*row.values(), file=sys.stderr, flush=True)
    return row


def f1(y: Any, guess: Any) -> float:
    """The harmonic mean of recall and precision of the class 1."""
    hits = float(((y == 1) & (guess == 1)).sum())
    return 2 * hits / float((y == 1).sum() + (guess == 1).sum())


def text(rows: list[Row], before: list[Row]) -> str:
    """A table per part: scores, leaves and CPU seconds, before and after if there is a before."""
    parts = []
    old = groups(before, "part", "problem", "method")
    for (part,), ours in groups(rows, "part").items():
        lines = []
        by_method = groups(ours, "method")
        for (problem, method), some in groups(ours, "problem", "method").items():
            seeds = {row["seed"] for row in some}
            was = [row for row in old.get((part, problem, method), []) if row["seed"] in seeds]
            lines.append([problem, method, *facts(was, some)])
        if len({row["problem"] for row in ours}) > 1:
            for (method,), some in by_method.items():
                keys = {(row["problem"], row["seed"]) for row in some}
                was = [row for row in before if (row["part"], row["method"]) == (part, method)]
                was = [row for row in was if (row["problem"], row["seed"]) in keys]
                lines.append(["**mean**", method, *facts(was, some)])
        parts.append(f"**{part}**\n\n{table(HEAD, lines)}")
    return "\n\n".join(parts)


HEAD = [
    "problem",
    "method",
    "before",
    "after",
    "leaves before",
    "after",
    "depth before",
    "after",
    "CPU s before",
    "after",
]


def facts(before: list[Row], after: list[Row]) -> list[str]:
    """Means before and after, by turns."""
    kinds = {"score": "{:.3f}", "leaves": "{:.1f}", "depth": "{:.1f}", "cpu": "{:.2f}"}
    return [
        how.format(mean(rows, key)) if rows else ""
        for key, how in kinds.items()
        for rows in (before, after)
    ]


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.small_trees", description=__doc__)
    words.add_argument("--only", metavar="wide,rare", help="parts; all if not given")
    words.add_argument("--methods", default="", help="methods, divided by ';'; all if not given")
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--first-seed", type=int, default=0)
    words.add_argument("--keep", type=Path, metavar="FILE", help="add rows to this file")
    words.add_argument("--beside", type=Path, metavar="FILE", help="rows from before a change")
    words.add_argument("--report", action="store_true", help="measure nothing: read --keep")
    words.add_argument("--quick", action="store_true", help="small data, one seed")
    options = words.parse_args(arguments)
    names = options.only.split(",") if options.only else [*PARTS]
    if unknown := set(names) - set(PARTS):
        words.error(f"no part is called {min(unknown)!r}; there are {', '.join(PARTS)}")
    wanted = set(filter(None, options.methods.split(";")))
    rows: list[Row] = json.loads(options.keep.read_text("utf-8")) if options.report else []
    for name in () if options.report else names:
        make, methods = PARTS[name]
        try:
            with limit_threads(1):
                for seed in range(1 if options.quick else options.seeds):
                    for one in make(options.first_seed + seed, options.quick):
                        for method, fit in methods.items():
                            if not wanted or method in wanted:
                                rows.append(measured(name, one, method, fit))
        except DatasetMissing as error:
            print(f"{name} is left out: {error}")
    if options.keep and not options.report:
        options.keep.write_text(json.dumps(rows, indent=0) + "\n", encoding="utf-8")
    before = json.loads(options.beside.read_text("utf-8")) if options.beside else []
    print(text([row for row in rows if row["part"] in names], before))
    return 0


if __name__ == "__main__":
    sys.exit(main())
