"""Missing values: accuracy of trees of equal size beside scikit-learn's.

``python -m benchmarks.missing`` removes a fifth of the entries of numeric columns, from rows to
learn from and rows to try on alike, and grows trees of at most 24 leaves without pruning. It
writes `benchmarks/results/missing/missing.json` and the tables in docs/benchmarks.md. An entry
goes by chance, independently of all others, in one of three ways:

- *at random*: with a chance of 20 %.
- *by class*: in half of the numeric columns, drawn by the seed, the chance rises evenly with the
  code of the class, by 30 points from the first class to the last, and has a mean of 20 % over
  the rows. In the other columns it is 20 %.
- *by value*: the chance is 40 % of the rank of the value in its column, from 0 to 1; equal values
  share their mean rank. So its mean is 20 %, and large values are missing more often.

A fourth way, *one class*, leaves the data complete and adds a column of noise that is missing
exactly where the class is the second one. Each seed is a new removal and a new stratified
division, 70 % and 30 %, both the same for all methods. Errors are standard errors of means.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from benchmarks import machine
from benchmarks.measure import limit_threads
from benchmarks.problems import SEED
from benchmarks.report import NO_VALUE, ROOT, all_sections, keep, table
from obliqua import (
    C45Classifier,
    CartClassifier,
    DatasetMissing,
    HHCartClassifier,
    MissingDependency,
    QuestClassifier,
    datasets,
)

RESULT = ROOT / "benchmarks" / "results" / "missing" / "missing.json"
FILLS = ("side", "node", "training")
N_LEAVES = 24
SHARE = 0.2  # of the entries of numeric columns
SPAN = 0.3  # between the first class and the last
MOST_ROWS, FEW_ROWS = 10_000, 200

SETS: dict[str, Callable[..., Any]] = {
    "pima": datasets.load_pima,
    "wine": datasets.load_wine,
    "income": datasets.load_adult,
}


# --- removing entries -------------------------------------------------------------------------


def at_random(X: Any, y: Any, rng: Any) -> Any:
    """The same chance everywhere."""
    return np.full(X.shape, SHARE)


def by_class(X: Any, y: Any, rng: Any) -> Any:
    """A chance that rises with the class in half of the columns."""
    chance = at_random(X, y, rng)
    chosen = rng.permutation(X.shape[1])[: (X.shape[1] + 1) // 2]
    step = y / y.max()
    chance[:, chosen] += SPAN * (step - step.mean())[:, None]
    return chance


def by_value(X: Any, y: Any, rng: Any) -> Any:
    """A chance that rises with the rank of the value."""
    return 2.0 * SHARE * (rankdata(X, axis=0) - 0.5) / len(X)


CHANCES = {"at random": at_random, "by class": by_class, "by value": by_value}
ONE_CLASS = "one class"
WAYS = (*CHANCES, ONE_CLASS)


def removed(way: str, X: Any, y: Any, seed: int) -> Any:
    """A copy of the frame with entries missing in that way."""
    rng = np.random.default_rng([SEED, WAYS.index(way), seed])
    if way == ONE_CLASS:
        return X.assign(noise=np.where(y == 1, np.nan, rng.normal(size=len(y))))
    names = X.select_dtypes("number").columns
    numbers = X[names].to_numpy()
    gone = rng.random(numbers.shape) < CHANCES[way](numbers, y, rng)
    return X.assign(**{name: X[name].mask(gone[:, k]) for k, name in enumerate(names)})


# --- methods ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A name, what makes an unfitted model from a seed, and what is to be known of it."""

    name: str
    make: Callable[[int], Any]
    ours: bool = False
    default: bool = False  # does what its class does unless told otherwise
    levels: bool = True  # takes qualitative columns as they are


UNPRUNED: dict[str, Any] = {"max_leaf_nodes": N_LEAVES, "pruning": None, "n_jobs": 1}
OURS: dict[str, Callable[..., Any]] = {
    "CART": partial(CartClassifier, **UNPRUNED),
    "HHCART(A)": partial(HHCartClassifier, **UNPRUNED),
    "QUEST": partial(QuestClassifier, **UNPRUNED),
    "C4.5": partial(C45Classifier, **UNPRUNED, collapse=False),
}


def _seeded(kind: Callable[..., Any], seed: int, **more: Any) -> Any:
    return kind(**more, random_state=seed)


def own_methods() -> list[Method]:
    """The methods of obliqua with each fill that they take, the default first."""
    return [
        Method(f"{name}, {fill}", partial(_seeded, kind, fill=fill), True, default=fill == "side")
        for name, kind in OURS.items()
        for fill in (("side", "heaviest") if name == "C4.5" else FILLS)
    ]


def _tree(seed: int) -> Any:
    return DecisionTreeClassifier(max_leaf_nodes=N_LEAVES, random_state=seed)


def _boosted(seed: int) -> Any:
    """A single round of boosting: one tree for two classes, otherwise one for each class."""
    rules: dict[str, Any] = {"max_iter": 1, "learning_rate": 1.0, "early_stopping": False}
    size = {"max_leaf_nodes": N_LEAVES, "min_samples_leaf": 1}
    return HistGradientBoostingClassifier(**rules, **size, random_state=seed)


def _imputed(strategy: str, indicator: bool, seed: int) -> Any:
    return make_pipeline(SimpleImputer(strategy=strategy, add_indicator=indicator), _tree(seed))


REFERENCE = "scikit-learn tree"
PEERS = (
    Method(REFERENCE, _tree, levels=False),
    Method("scikit-learn, one round of boosting", _boosted),
    Method("mean, then scikit-learn tree", partial(_imputed, "mean", False), levels=False),
    Method(
        "median and indicators, then scikit-learn tree",
        partial(_imputed, "median", True),
        levels=False,
    ),
)


def leaves(model: Any) -> int:
    """The leaves of a tree, or of all trees of a round of boosting."""
    if isinstance(model, HistGradientBoostingClassifier):
        return sum(tree.get_n_leaf_nodes() for trees in model._predictors for tree in trees)
    last = model[-1] if hasattr(model, "steps") else model
    return int(last.get_n_leaves())


def as_codes(X: Any) -> Any:
    """Levels as whole numbers in the order of their names."""
    return X.assign(**{name: X[name].cat.codes for name in X.select_dtypes("category")})


# --- measuring --------------------------------------------------------------------------------


def some_rows(name: str, most: int) -> tuple[Any, Any]:
    """A data set as a frame and codes of classes; if it has too many rows, some of them."""
    X, y = SETS[name](return_X_y=True, as_frame=True)
    chosen = np.sort(np.random.default_rng(SEED).permutation(len(y))[:most])
    return X.iloc[chosen], np.unique(y.iloc[chosen], return_inverse=True)[1].astype(np.int64)


def measure(name: str, methods: list[Method], seeds: int, most: int) -> dict[str, Any]:
    """Accuracy and leaves of all methods on one data set, for each way and seed."""
    X, y = some_rows(name, most)
    found: dict[str, Any] = {"missing": {}}
    for way in WAYS:
        figures: dict[str, Any] = {one.name: {"accuracy": [], "leaves": []} for one in methods}
        shares = []
        for seed in range(seeds):
            holed = removed(way, X, y, seed)
            shares.append(float(holed.select_dtypes("number").isna().to_numpy().mean()))
            plain = as_codes(holed)
            rows, new = train_test_split(
                np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed
            )
            for method in methods:
                given = holed if method.levels else plain
                model = method.make(seed).fit(given.iloc[rows], y[rows])
                right = model.predict(given.iloc[new]) == y[new]
                figures[method.name]["accuracy"].append(round(float(right.mean()), 6))
                figures[method.name]["leaves"].append(leaves(model))
            print(f"{name}, {way}, seed {seed}", file=sys.stderr, flush=True)
        found["missing"][way] = round(float(np.mean(shares)), 4)
        found[way] = figures
    return {
        "name": name,
        "rows": len(y),
        "columns": int(X.shape[1]),
        "qualitative": len(X.select_dtypes("category").columns),
        "classes": int(y.max()) + 1,
        "seeds": seeds,
        "ours": [method.name for method in methods if method.ours],
        "defaults": [method.name for method in methods if method.default],
        **found,
    }


# --- tables -----------------------------------------------------------------------------------


def mean_and_error(values: Any, sign: str = "") -> str:
    """A mean with its standard error, where there are several values."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
    said = NO_VALUE if error is None else f"{error:.3f}"
    return f"{np.mean(values):{sign}.3f} ± {said}"


def _lines(problem: dict[str, Any]) -> list[list[str]]:
    """A line for each method."""
    lines = []
    for name in problem[ONE_CLASS]:
        usual = name in problem["defaults"]
        line = [f"{name} (default)" if usual else name]
        line += [mean_and_error(problem[way][name]["accuracy"]) for way in CHANCES]
        line.append(f"{np.mean([problem[way][name]['leaves'] for way in CHANCES]):.1f}")
        figures = problem[ONE_CLASS][name]
        line += [mean_and_error(figures["accuracy"]), f"{np.mean(figures['leaves']):.1f}"]
        lines.append(line)
    return lines


def _best(figures: dict[str, Any], names: list[str]) -> str:
    """The name with the largest mean accuracy, the first one at ties."""
    return max(names, key=lambda name: float(np.mean(figures[name]["accuracy"])))


def _difference(figures: dict[str, Any], ours: str, theirs: str) -> str:
    """The mean of the differences, seed by seed."""
    pair = (np.array(figures[name]["accuracy"]) for name in (ours, theirs))
    return mean_and_error(np.subtract(*pair), "+")


def _cart(problem: dict[str, Any]) -> str:
    (name,) = (name for name in problem["defaults"] if name.startswith("CART,"))
    return name


def _duels(problem: dict[str, Any]) -> list[list[str]]:
    """The best of obliqua's defaults against the best peer; and CART against one fixed peer."""
    cart = _cart(problem)
    lines = []
    for way in CHANCES:
        figures = problem[way]
        ours = _best(figures, problem["defaults"])
        theirs = _best(figures, [name for name in figures if name not in problem["ours"]])
        fixed = _difference(figures, cart, REFERENCE)
        lines.append([way, ours, theirs, _difference(figures, ours, theirs), fixed])
    return lines


def section(problem: dict[str, Any]) -> str:
    """The tables of one data set."""
    shares = ", ".join(f"{way} {100 * problem['missing'][way]:.1f} %" for way in CHANCES)
    title = (
        f"**{problem['name']}**: {problem['rows']:,} × {problem['columns']}, "
        f"{problem['qualitative']} of them qualitative, {problem['classes']} classes; "
        f"seeds: {problem['seeds']}. Missing among the numbers: {shares}."
    )
    head = ["", *CHANCES, "leaves", ONE_CLASS, "leaves"]
    fixed = f"{_cart(problem)} − {REFERENCE}"
    against = ["", "obliqua's best default", "best peer", "difference", fixed]
    return "\n\n".join([title, table(head, _lines(problem)), table(against, _duels(problem))])


def text(result: dict[str, Any]) -> str:
    """All that the documentation shows."""
    said = [f"{name} ({why})" for name, why in result["left_out"].items()]
    left_out = [f"Left out: {'; '.join(said)}."] if said else []
    return "\n\n".join([all_sections(result, section), *left_out])


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.missing", description=__doc__)
    words.add_argument("--seeds", type=int, default=5)
    words.add_argument("--quick", action="store_true", help="few rows, one seed, print only")
    options = words.parse_args(arguments)
    if options.seeds < 1:
        words.error(f"--seeds must be at least 1, got {options.seeds}")
    seeds, most = (1, FEW_ROWS) if options.quick else (options.seeds, MOST_ROWS)
    left_out: dict[str, str] = {}
    found = []
    for name in SETS:
        try:
            with limit_threads(1):
                found.append(measure(name, [*own_methods(), *PEERS], seeds, most))
        except (DatasetMissing, MissingDependency) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            left_out[name] = "not found"
    if not found:
        print("benchmarks: no data set was found, so nothing was measured")
        return 0
    result = {
        "machine": machine.facts(),
        "versions": machine.versions({"obliqua", "pandas"}),
        "seed": SEED,
        "left_out": left_out,
        "problems": found,
    }
    print(text(result))
    if not options.quick:
        keep(result, RESULT, text(result), "missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
