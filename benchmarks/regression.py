"""Regression trees on sixteen tables with fixed divisions, on planted trees, and under limits.

``python -m benchmarks.regression`` measures part by part and keeps what it finds in
`benchmarks/results/regression/<part>.json`; the tables stand in docs/benchmarks.md.

- *tables*: the sixteen tables of the publication of CLARITree (ICML 2026), its five divisions
  each, R squared on the test rows, beside scikit-learn's tree of the same bound, ridge regression
  and LightGBM, and columns that were computed from the result files of the authors. Eight of the
  tables, marked (t), were looked at while defaults were chosen.
- *planted*: rows whose numbers a random oblique tree of eight leaves has given.
- *limits*: few features per split and per leaf; California housing at depth 3.

The tables are looked for in the folder `regression` of that which ``OBLIQUA_DATA`` names.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from benchmarks import machine
from benchmarks.measure import limit_threads
from benchmarks.report import NO_VALUE, ROOT, keep, table
from obliqua import ObliqueTreeRegressor, RefinedTreeRegressor

RESULTS = ROOT / "benchmarks" / "results" / "regression"
N_FOLDS = 5

#: Looked at while defaults were chosen, and those that were not.
TUNED = (
    "airfoil", "auction", "energe_c", "insurance", "real_estate", "seoul_bike", "synch",
    "temperature_max",
)  # fmt: skip
OTHERS = (
    "auto_mpg", "california_housing", "energe_h", "optical_net", "servo", "temperature_min",
    "walmart", "yacht",
)  # fmt: skip

#: R squared as published, by table in the order above: computed from the result files of the
#: authors of CLARITree, for each division the setting of the least validation error.
PUBLISHED: dict[str, tuple[float, ...]] = {
    "CLARITree, linear, at most 8": (
        .841, .922, .968, .861, .620, .710, 1.000, .848,
        .845, .712, .997, .884, .473, .886, .150, .996,
    ),
    "CLARITree, linear, depth 4": (
        .870, .930, .969, .861, .624, .723, 1.000, .871,
        .845, .750, .997, .900, .473, .897, .210, .996,
    ),
    "CLARITree, constant, at most 8": (
        .469, .885, .918, .837, .376, .590, .975, .677,
        .758, .552, .939, .680, .464, .756, .111, .985,
    ),
    "CLARITree, constant, depth 5": (
        .674, .924, .961, .837, .231, .669, .996, .749,
        .792, .644, .995, .834, .464, .803, .176, .984,
    ),
}  # fmt: skip

#: Ours and the published column that has the same bound.
SETTINGS: dict[str, tuple[str, int, str]] = {
    "linear, at most 8": ("linear", 8, "CLARITree, linear, at most 8"),
    "linear, at most 16": ("linear", 16, "CLARITree, linear, depth 4"),
    "constant, at most 8": ("constant", 8, "CLARITree, constant, at most 8"),
    "constant, at most 32": ("constant", 32, "CLARITree, constant, depth 5"),
}
BOUNDS = (8, 16, 32)


# --- rows -------------------------------------------------------------------------------------


def folder() -> Path | None:
    """Where the tables are, if they are anywhere."""
    place = Path(os.environ.get("OBLIQUA_DATA", "")) / "regression"
    return place if "OBLIQUA_DATA" in os.environ and place.is_dir() else None


def rows_of(name: str) -> tuple[Any, Any, Any]:
    """X, y and the division in which each row is held out; without the tables, rows made up."""
    place = folder()
    if place is None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4))
        y = np.where(X[:, 0] + X[:, 1] > 0, X[:, 2], 3.0) + 0.2 * rng.normal(size=300)
        return X, y, np.arange(300) % N_FOLDS
    with open(place / f"{name}.csv", encoding="utf-8") as file:
        head = file.readline().strip().split(",")
        values = np.loadtxt(file, delimiter=",")
    assert head[-2:] == ["target", "fold"]
    return values[:, :-2], values[:, -2], values[:, -1]


def planted(seed: int, linear: bool, n_rows: int = 10_000) -> tuple[Any, Any]:
    """Ten turned features, a tree of depth 3 with dense splits, noise of a tenth of the signal.

    Leaves have a normal number, and if they are linear a random function of standard deviation 1.
    """
    rng = np.random.default_rng(seed)
    turned = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    X = (rng.normal(size=(n_rows, 10)) * rng.uniform(0.5, 2.0, 10)) @ turned
    leaf = np.zeros(n_rows, dtype=int)
    for depth in range(3):
        below = 2 * leaf
        for node in range(2**depth):
            here = leaf == node
            along = X[here] @ rng.normal(size=10)
            below[here] += along > np.quantile(along, rng.uniform(0.35, 0.65))
        leaf = below
    y = rng.normal(size=8)[leaf]
    if linear:
        functions = rng.normal(size=(8, 10))
        functions /= (X @ functions.T).std(axis=0)[:, None]
        y = y + (X * functions[leaf]).sum(axis=1)
    return X, y + 0.1 * y.std() * rng.normal(size=n_rows)


def california() -> tuple[Any, Any]:
    """California housing with the eight features of scikit-learn's table.

    They are computed from the table with the counts, which lacks the 207 districts without a
    number of bedrooms. In units of 100,000 dollars.
    """
    X, y, _ = rows_of("california_housing")
    if X.shape[1] != 13:
        return X, y
    longitude, latitude, age, rooms, bedrooms, people, households, income = X[:, :8].T
    per = [rooms / households, bedrooms / households, people, people / households]
    return np.column_stack([income, age, *per, latitude, longitude]), y / 1e5


# --- the sixteen tables -----------------------------------------------------------------------


def light(seed: int) -> Any:
    """LightGBM, if it is there."""
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        return None
    return LGBMRegressor(verbose=-1, n_jobs=1, random_state=seed)


def methods() -> dict[str, Any]:
    """What is fitted to each table."""
    made: dict[str, Any] = {
        name: RefinedTreeRegressor(leaf_model=model, max_leaf_nodes=most, random_state=0)
        for name, (model, most, _) in SETTINGS.items()
    }
    for most in BOUNDS:
        made[f"CART, {most}"] = DecisionTreeRegressor(max_leaf_nodes=most, random_state=0)
    made["ridge"] = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))
    made["LightGBM"] = light(0)
    return {name: method for name, method in made.items() if method is not None}


def measure_tables(quick: bool) -> list[dict[str, Any]]:
    """R squared, leaves and CPU seconds of all methods on all divisions."""
    found = []
    names = ("yacht", "servo") if quick else TUNED + OTHERS
    for name in names:
        X, y, fold = rows_of(name)
        for k in range(1 if quick else N_FOLDS):
            held = fold == k
            for method, model in methods().items():
                started = process_time()
                model.fit(X[~held], y[~held])
                row = {
                    "table": name,
                    "fold": k,
                    "method": method,
                    "cpu": round(process_time() - started, 4),
                    "r2": round(float(model.score(X[held], y[held])), 5),
                }
                if hasattr(model, "get_n_leaves"):
                    row["leaves"] = int(model.get_n_leaves())
                found.append(row)
            print(name, k, file=sys.stderr, flush=True)
    return found


def means(rows: list[dict[str, Any]], method: str, key: str) -> dict[str, float]:
    """The mean over the divisions, by table."""
    tables = dict.fromkeys(row["table"] for row in rows)
    picked = {
        name: [row[key] for row in rows if row["table"] == name and row["method"] == method]
        for name in tables
    }
    return {name: float(np.mean(values)) for name, values in picked.items() if values}


def published(column: str, names: list[str]) -> dict[str, float]:
    return {name: PUBLISHED[column][(TUNED + OTHERS).index(name)] for name in names}


def difference(ours: dict[str, float], theirs: dict[str, float], names: Any) -> str:
    """The mean difference over tables, its standard error, and Wilcoxon's p."""
    off = np.array([ours[name] - theirs[name] for name in names if name in ours])
    if len(off) < 3:
        return NO_VALUE
    error = off.std(ddof=1) / np.sqrt(len(off))
    return f"{off.mean():+.3f} ± {error:.3f}, p {wilcoxon(off).pvalue:.3f}"


PEERS = {"linear": ("ridge", "LightGBM"), "constant": ("CART, 8", "CART, 32")}


def tables_text(rows: list[dict[str, Any]]) -> str:
    """One table for each kind of leaf, then how sure the differences are."""
    names = list(dict.fromkeys(row["table"] for row in rows))
    parts = []
    for model, others in PEERS.items():
        columns: dict[str, dict[str, float]] = {}
        leaves: dict[str, dict[str, float]] = {}
        for name, (kind, _, column) in SETTINGS.items():
            if kind == model:
                columns[column] = published(column, names)
                columns[f"**ours, {name}**"] = means(rows, name, "r2")
                leaves[f"**ours, {name}**"] = means(rows, name, "leaves")
        columns |= {name: means(rows, name, "r2") for name in others}
        lines = [
            [name + (" (t)" if name in TUNED else "")]
            + [_shown(values.get(name), 3) for values in columns.values()]
            for name in names
        ]
        lines.append(["**mean**", *(_shown(_mean(values), 4) for values in columns.values())])
        lines.append(["leaves", *(_shown(_mean(leaves.get(name, {})), 1) for name in columns)])
        parts.append(table(["table", *columns], lines))
    return "\n\n".join([*parts, _sure_text(rows, names), _cpu_text(rows)])


def _mean(values: dict[str, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None


def _shown(value: float | None, digits: int) -> str:
    return NO_VALUE if value is None else f"{value:.{digits}f}"


def _sure_text(rows: list[dict[str, Any]], names: list[str]) -> str:
    unseen = [name for name in names if name in OTHERS]
    lines = []
    for name, (_, most, column) in SETTINGS.items():
        ours, cart = means(rows, name, "r2"), f"CART, {most}"
        for peer, theirs in (
            (column, published(column, names)),
            (cart, means(rows, cart, "r2")),
        ):
            found = [difference(ours, theirs, part) for part in (names, unseen)]
            lines.append([f"{name} − {peer}", *found])
    return table(["difference of R²", "all tables", "those not looked at"], lines)


def _cpu_text(rows: list[dict[str, Any]]) -> str:
    lines = []
    for name in SETTINGS:
        cpu = [row["cpu"] for row in rows if row["method"] == name]
        worst = min(row["r2"] for row in rows if row["method"] == name)
        lines.append([name, f"{np.median(cpu):.2f}", f"{max(cpu):.2f}", f"{worst:.3f}"])
    return table(["", "median CPU s of a fit", "largest", "least R² of a division"], lines)


# --- planted trees, and limits ----------------------------------------------------------------


def measure_planted(quick: bool) -> list[dict[str, Any]]:
    found = []
    for seed in range(1 if quick else 10):
        for leaf_model in ("constant", "linear"):
            X, y = planted(seed, leaf_model == "linear", 2_000 if quick else 20_000)
            X, X_new, y, y_new = (part for rows in (X, y) for part in np.array_split(rows, 2))
            fits = {"CART, 8": DecisionTreeRegressor(max_leaf_nodes=8, random_state=0)}
            fits["greedy"] = ObliqueTreeRegressor(
                leaf_model=leaf_model, max_leaf_nodes=8, pruning=None, leaf_penalty=0.1
            )
            for over in (2, 4):
                fits[f"refined, over={over}"] = RefinedTreeRegressor(
                    leaf_model=leaf_model, max_leaf_nodes=8, over=over, random_state=0
                )
            for name, model in fits.items():
                started = process_time()
                model.fit(X, y)
                cpu = round(process_time() - started, 3)
                r2 = round(float(model.score(X_new, y_new)), 4)
                found.append(
                    {"leaves": leaf_model, "seed": seed, "method": name, "r2": r2, "cpu": cpu}
                )
            print(seed, leaf_model, file=sys.stderr, flush=True)
    return found


def planted_text(rows: list[dict[str, Any]]) -> str:
    lines = []
    for leaves in ("constant", "linear"):
        for name in dict.fromkeys(row["method"] for row in rows):
            picked = [row for row in rows if row["leaves"] == leaves and row["method"] == name]
            r2 = [row["r2"] for row in picked]
            cpu = np.mean([row["cpu"] for row in picked])
            figures = (f"{np.mean(r2):.3f}", f"{min(r2):.3f}", f"{cpu:.2f}")
            lines.append([f"{leaves}, {name}", *figures])
    return table(["", "mean R² of all seeds", "least", "CPU s"], lines)


def measure_limits(quick: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in ("airfoil",) if quick else ("airfoil", "energe_c", "temperature_max"):
        X, y, fold = rows_of(name)
        for most in (1, 2, 3, None):
            for leaf_model in ("constant", "linear"):
                scores = []
                for k in range(1 if quick else N_FOLDS):
                    tree = RefinedTreeRegressor(
                        leaf_model=leaf_model,
                        max_leaf_nodes=3 if quick else 8,
                        max_features_per_split=most,
                        max_features_per_leaf=most,
                        random_state=0,
                    ).fit(X[fold != k], y[fold != k])
                    scores.append(tree.score(X[fold == k], y[fold == k]))
                found.append(
                    {"table": name, "most": most, "leaves": leaf_model, "r2": np.mean(scores)}
                )
        print(name, file=sys.stderr, flush=True)
    X, X_new, y, y_new = train_test_split(*california(), test_size=0.2, random_state=42)
    fits: dict[str, Any] = {"scikit-learn": DecisionTreeRegressor(max_depth=3, random_state=0)}
    few = {"max_depth": 3, "max_features_per_split": 2}
    fits["greedy, two features"] = ObliqueTreeRegressor(**few, pruning=None)
    refined = partial(
        RefinedTreeRegressor, **few, leaf_model="constant", max_leaf_nodes=8, random_state=0
    )
    fits["refined, two features"] = refined()
    fits["refined, two features, cycles=6"] = refined(cycles=6)
    for name, model in fits.items():
        error = mean_squared_error(y_new, model.fit(X, y).predict(X_new))
        found.append({"california": name, "mse": float(error)})
    return found


def limits_text(rows: list[dict[str, Any]]) -> str:
    sparse = [row for row in rows if "table" in row]
    mosts = list(dict.fromkeys(row["most"] for row in sparse))
    lines = [
        [f"{name}, {leaves}"]
        + [f"{row['r2']:.3f}" for row in sparse if (row["table"], row["leaves"]) == (name, leaves)]
        for name in dict.fromkeys(row["table"] for row in sparse)
        for leaves in ("constant", "linear")
    ]
    head = [
        "R², at most 8 leaves",
        *("all features" if m is None else f"at most {m}" for m in mosts),
    ]
    housing = [[row["california"], f"{row['mse']:.3f}"] for row in rows if "california" in row]
    return f"{table(head, lines)}\n\n{table(['California, depth 3', 'test MSE'], housing)}"


PARTS = {
    "tables": (measure_tables, tables_text),
    "planted": (measure_planted, planted_text),
    "limits": (measure_limits, limits_text),
}


def page_text(part: str, result: dict[str, Any]) -> str:
    """What the page has of a part: its tables, and where and when they were measured."""
    facts = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    where = f"Measured on {facts['date']}: {facts['cpu']}, one thread, {versions}."
    return f"{PARTS[part][1](result['rows'])}\n\n{where}"


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__)
    words.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    words.add_argument("--quick", action="store_true", help="little of it, print only")
    options = words.parse_args(arguments)
    if folder() is None and not options.quick:
        print("OBLIQUA_DATA names no folder with the tables in regression/", file=sys.stderr)
        return 1
    for part in options.parts or PARTS:
        measure, text_of = PARTS[part]
        with limit_threads(1):
            rows = measure(options.quick)
        result = {
            "machine": machine.facts(),
            "versions": machine.versions({"obliqua"}),
            "rows": rows,
        }
        if options.quick:
            print(text_of(rows))
        else:
            keep(result, RESULTS / f"{part}.json", page_text(part, result), f"regression-{part}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
