"""Oblique forests beside scikit-learn's, ydf's, treeple's and LightGBM.

``python -m benchmarks.forests`` measures part by part, with one thread and by turns, and keeps
what it finds in `benchmarks/results/forests/<part>.json`; the tables stand in docs/benchmarks.md.

- *accuracy*: accuracy, Brier score and log loss on held-out rows of tables with classes, CPU.
- *numbers*: squared error on held-out rows of the sixteen tables of `benchmarks.regression`.
- *size*: time, memory and size of large forests, each in a process of its own.

Tables are looked for in the folder that ``OBLIQUA_DATA`` names. A library that is not there, or
does not run, is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata
from sklearn import datasets as of_sklearn
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks import machine, regression
from benchmarks.measure import best_call, clock, limit_threads, microseconds, rounded
from benchmarks.memory import high_water, settled
from benchmarks.problems import SEED
from benchmarks.report import NO_VALUE, ROOT, keep, number, table
from obliqua import ObliqueForestClassifier, ObliqueForestRegressor, datasets, save

RESULTS = ROOT / "benchmarks" / "results" / "forests"
DEFAULT, FULL, CHEAP = "obliqua", "obliqua, bootstrap=False", "obliqua, n_oblique=1"
OURS = (DEFAULT, FULL, CHEAP)
REFERENCE = "scikit-learn"
YDF = "ydf sparse oblique"
LEAST_CHANCE = 0.001  # in the log loss: a class that was thought impossible costs 6.9
LIBRARIES = {"obliqua", "ydf", "treeple", "lightgbm"}


# --- libraries --------------------------------------------------------------------------------


class Ydf:
    """ydf's random forest, grown in full as the others are."""

    split: ClassVar[dict[str, Any]] = {
        "split_axis": "SPARSE_OBLIQUE",
        "sparse_oblique_normalization": "MIN_MAX",
        "sparse_oblique_num_projections_exponent": 1.0,
    }

    def __init__(self, n_trees: int, seed: int, n_threads: int = 1) -> None:
        self.n_trees, self.seed, self.n_threads = n_trees, seed, n_threads

    def fit(self, X: Any, y: Any) -> Ydf:
        import ydf

        learner = ydf.RandomForestLearner(
            label="y",
            num_trees=self.n_trees,
            **self.split,
            max_depth=-1,
            min_examples=1,
            compute_oob_performances=False,
            num_threads=self.n_threads,
            random_seed=self.seed,
        )
        self.model = learner.train({"x": X, "y": y}, verbose=0)
        return self

    def predict_proba(self, X: Any) -> Any:
        """The shares of the classes 0, 1, ..."""
        said = self.model.predict({"x": X}, num_threads=self.n_threads)
        if said.ndim == 1:
            said = np.column_stack([1.0 - said, said])
        found = np.zeros_like(said)
        found[:, np.asarray(self.model.label_classes(), dtype=np.int64)] = said
        return found


class YdfAxis(Ydf):
    """The same with splits along single features."""

    split: ClassVar[dict[str, Any]] = {"split_axis": "AXIS_ALIGNED"}


def treeple(n_trees: int, seed: int) -> Any:
    from treeple import ObliqueRandomForestClassifier

    return ObliqueRandomForestClassifier(n_trees, random_state=seed, n_jobs=1)


def light(n_trees: int, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=n_trees, random_state=seed, n_jobs=1, verbose=-1)


Maker = Callable[[int, int], Any]
CLASSIFIERS: dict[str, Maker] = {
    DEFAULT: lambda n, seed: ObliqueForestClassifier(n, random_state=seed),
    FULL: lambda n, seed: ObliqueForestClassifier(n, random_state=seed, bootstrap=False),
    CHEAP: lambda n, seed: ObliqueForestClassifier(n, random_state=seed, n_oblique=1),
    REFERENCE: lambda n, seed: RandomForestClassifier(n, random_state=seed),
    "ExtraTrees": lambda n, seed: ExtraTreesClassifier(n, random_state=seed),
    YDF: Ydf,
    "ydf": YdfAxis,
    "treeple": treeple,
    "LightGBM": light,
}


def light_numbers(n_trees: int, seed: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=n_trees, random_state=seed, n_jobs=1, verbose=-1)


REGRESSORS: dict[str, Maker] = {
    DEFAULT: lambda n, seed: ObliqueForestRegressor(n, random_state=seed),
    REFERENCE: lambda n, seed: RandomForestRegressor(n, random_state=seed),
    "scikit-learn, max_features=1/3": lambda n, seed: RandomForestRegressor(
        n, max_features=1 / 3, random_state=seed
    ),
    "LightGBM": light_numbers,
}


def usable(makers: dict[str, Maker]) -> tuple[dict[str, Maker], dict[str, str]]:
    """Those that run, and why the others do not. What is imported once is no part of a fit."""
    X, y = of_sklearn.load_iris(return_X_y=True)
    there, left_out = {}, {}
    for name, make in makers.items():
        try:
            make(2, 0).fit(X, y)
        except ModuleNotFoundError:
            left_out[name] = "it is not installed"
        except Exception as error:  # whatever another library has
            left_out[name] = f"it does not run with these versions: {error}"
        else:
            there[name] = make
    return there, left_out


# --- tables with classes ----------------------------------------------------------------------


def waveform(n_rows: int) -> tuple[Any, Any]:
    """Waves of Breiman et al. (1984), mixtures of two of three triangles, and 19 noisy columns."""
    rng = np.random.default_rng(SEED)
    triangles = np.maximum(6 - np.abs(np.arange(21) - np.array([[7], [15], [11]])), 0)
    y, share = rng.integers(0, 3, n_rows), rng.random((n_rows, 1))
    pairs = np.array([(0, 1), (0, 2), (1, 2)])[y]
    waves = share * triangles[pairs[:, 0]] + (1 - share) * triangles[pairs[:, 1]]
    return np.hstack([waves, np.zeros((n_rows, 19))]) + rng.normal(size=(n_rows, 40)), y


def mixtures(n_rows: int) -> tuple[Any, Any]:
    """Eight classes of two normal clouds each in twelve dimensions, each of a shape of its own."""
    rng = np.random.default_rng(SEED)
    cloud = rng.integers(0, 16, n_rows)
    middle, shape = 1.2 * rng.normal(size=(16, 12)), 0.5 * rng.normal(size=(16, 12, 12))
    noise = np.einsum("npq,nq->np", shape[cloud], rng.normal(size=(n_rows, 12)))
    return middle[cloud] + noise, cloud % 8


def axis_rules(n_rows: int) -> tuple[Any, Any]:
    """Two rules about two columns each, of ten; 8 % of the rows are told the wrong class."""
    rng = np.random.default_rng(SEED)
    X = rng.random((n_rows, 10))
    y = (X[:, 0] > 0.5) & (X[:, 1] > 0.3) | (X[:, 2] < 0.3) & (X[:, 3] > 0.6)
    return X, (y ^ (rng.random(n_rows) < 0.08)).astype(np.int64)


def spect() -> tuple[Any, Any]:
    """Both parts of SPECT together: the first alone has 80 rows."""
    parts = [datasets.load_spect(subset=part, return_X_y=True) for part in ("train", "test")]
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def frame(load: Callable[..., Any]) -> Callable[[], tuple[Any, Any]]:
    return lambda: load(return_X_y=True, as_frame=True)


#: Name: rows and classes, number of divisions.
SETS: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "letter": (frame(datasets.load_letter), 4),
    "adult": (frame(datasets.load_adult), 2),
    **{
        name: (frame(getattr(datasets, f"load_{name}")), 5)
        for name in (
            "australian", "balance_scale", "boston_housing", "breast_cancer_wisconsin", "bupa",
            "glass", "haberman", "heart", "pima",
        )
    },
    "spect": (spect, 5),
    "breast_cancer (s)": (lambda: of_sklearn.load_breast_cancer(return_X_y=True), 5),
    "digits (s)": (lambda: of_sklearn.load_digits(return_X_y=True), 3),
    "iris (s)": (lambda: of_sklearn.load_iris(return_X_y=True), 5),
    "wine (s)": (lambda: of_sklearn.load_wine(return_X_y=True), 5),
    "waveform (g)": (lambda: waveform(2_000), 3),
    "mixtures (g)": (lambda: mixtures(3_000), 3),
    "axis rules (g)": (lambda: axis_rules(2_000), 3),
}  # fmt: skip
QUICK: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "waveform (g)": (lambda: waveform(200), 1),
    "axis rules (g)": (lambda: axis_rules(200), 1),
}


def as_numbers(X: Any) -> Any:
    """A float for each entry: the codes of levels, in the order of their names."""
    if not hasattr(X, "columns"):
        return np.asarray(X, dtype=np.float64)
    columns = [
        X[name].cat.codes if str(X[name].dtype) == "category" else X[name] for name in X.columns
    ]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def measure_accuracy(quick: bool) -> dict[str, Any]:
    """All methods on all divisions, by turns; 75 % of the rows are learnt from."""
    n_trees = 5 if quick else 100
    makers, left_out = usable(CLASSIFIERS)
    found: list[dict[str, Any]] = []
    for name, (load, n_divisions) in (QUICK if quick else SETS).items():
        X, labels = load()
        y = np.unique(np.asarray(labels), return_inverse=True)[1]
        plain = as_numbers(X)
        divide = StratifiedShuffleSplit(n_divisions, test_size=0.25, random_state=SEED)
        for k, (seen, held) in enumerate(divide.split(plain, y)):
            for method, make in makers.items():
                native = method in OURS and hasattr(X, "iloc")
                rows = [X.iloc[part] if native else plain[part] for part in (seen, held)]
                model = make(n_trees, k)
                _, fit, _ = clock(lambda m=model, X=rows[0], y=y[seen]: m.fit(X, y))
                chances, predict, _ = clock(lambda m=model, X=rows[1]: m.predict_proba(X))
                row = {"set": name, "division": k, "method": method, "fit": fit}
                found.append(rounded(row | {"predict": predict} | scores(chances, y[held])))
            print(name, k, file=sys.stderr, flush=True)
    return {"trees": n_trees, "left_out": left_out, "rows": found}


def scores(chances: Any, y: Any) -> dict[str, float]:
    """Accuracy, Brier score (summed over the classes) and log loss."""
    own = chances[np.arange(len(y)), y]
    others = (chances**2).sum(axis=1) - own**2
    return {
        "accuracy": float((chances.argmax(axis=1) == y).mean()),
        "brier": float((others + (1 - own) ** 2).mean()),
        "log_loss": float(-np.log(np.maximum(own, LEAST_CHANCE)).mean()),
    }


Rows = list[dict[str, Any]]


def of_method(rows: Rows, method: str, key: str, by: str = "set") -> dict[str, list[float]]:
    """By set, the figures of its divisions."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["method"] == method:
            found.setdefault(row[by], []).append(row[key])
    return found


def set_means(rows: Rows, method: str, key: str, by: str = "set") -> Any:
    return np.array([np.mean(values) for values in of_method(rows, method, key, by).values()])


def with_error(differences: Any, digits: int, unit: float = 1.0) -> str:
    """The mean and its standard error."""
    values = unit * np.asarray(differences)
    mean = f"{round(values.mean(), digits) + 0.0:+.{digits}f}"  # no minus before a zero
    if len(values) < 2:
        return mean
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{mean} ± {error:.{digits}f}"


def accuracy_text(result: dict[str, Any]) -> str:
    """By set, by method, and how sure the differences are."""
    rows: Rows = result["rows"]
    names = list(dict.fromkeys(row["method"] for row in rows))
    by_method = {name: of_method(rows, name, "accuracy") for name in names}
    lines = []
    for name, ours in by_method[DEFAULT].items():
        off = np.round(np.array(ours) - by_method[REFERENCE][name], 9)
        means = (f"{100 * np.mean(values[name]):.2f}" for values in by_method.values())
        lines.append([f"{name}, {len(ours)}", *means, with_error(off, 2, 100)])
    head = ["accuracy in %; set, divisions", *names, f"{DEFAULT} − {REFERENCE}"]
    return "\n\n".join([table(head, lines), _means_text(rows, names), _sure_text(rows, names)])


def _means_text(rows: Rows, names: list[str]) -> str:
    reference = set_means(rows, REFERENCE, "fit")
    lines = []
    for name in names:
        fit = set_means(rows, name, "fit")
        lines.append(
            [
                name,
                f"{100 * set_means(rows, name, 'accuracy').mean():.2f}",
                f"{set_means(rows, name, 'brier').mean():.4f}",
                f"{set_means(rows, name, 'log_loss').mean():.4f}",
                f"{fit.sum():.2f}",
                f"{fit.sum() / reference.sum():.2f}",
                f"{np.exp(np.log(fit / reference).mean()):.2f}",
                f"{set_means(rows, name, 'predict').sum():.2f}",
            ]
        )
    head = [
        "means over sets", "accuracy, %", "Brier", "log loss", "fit, CPU s in sum",
        f"of {REFERENCE}'s", "geometric mean of ratios", "predict, CPU s in sum",
    ]  # fmt: skip
    return table(head, lines)


def _sure_text(rows: Rows, names: list[str]) -> str:
    lines = []
    for ours in OURS:
        for peer in names:
            if peer in OURS:
                continue
            off = {
                key: set_means(rows, ours, key) - set_means(rows, peer, key)
                for key in ("accuracy", "brier", "log_loss")
            }
            right = np.round(off["accuracy"], 9)
            others = np.delete(right, np.abs(right).argmax())
            lines.append(
                [
                    f"{ours} − {peer}",
                    with_error(off["accuracy"], 2, 100),
                    with_error(others, 2, 100) if len(others) else NO_VALUE,
                    f"{(right > 0).sum()}, {(right == 0).sum()}, {(right < 0).sum()}",
                    with_error(off["brier"], 4),
                    with_error(off["log_loss"], 4),
                ]
            )
    head = [
        "differences over sets", "accuracy, points", "without the largest", "better, equal, worse",
        "Brier", "log loss",
    ]  # fmt: skip
    return table(head, lines)


# --- tables with numbers ----------------------------------------------------------------------


def measure_numbers(quick: bool) -> dict[str, Any]:
    """Squared error of held-out rows, in units of that of the mean of the others; two folds."""
    n_trees = 5 if quick else 100
    makers, left_out = usable(REGRESSORS)
    found: list[dict[str, Any]] = []
    for name in ("yacht",) if quick else regression.TUNED + regression.OTHERS:
        X, y, fold = regression.rows_of(name)
        for k in range(1 if quick else 2):
            seen, held = fold != k, fold == k
            worst = ((y[held] - y[seen].mean()) ** 2).sum()
            for method, make in makers.items():
                model = make(n_trees, k)
                _, fit, _ = clock(lambda m=model, X=X, y=y, s=seen: m.fit(X[s], y[s]))
                off, predict, _ = clock(lambda m=model, X=X, y=y, h=held: m.predict(X[h]) - y[h])
                row = {"set": name, "division": k, "method": method, "fit": fit}
                found.append(rounded(row | {"predict": predict, "error": (off**2).sum() / worst}))
            print(name, k, file=sys.stderr, flush=True)
    return {"trees": n_trees, "left_out": left_out, "rows": found}


def numbers_text(result: dict[str, Any]) -> str:
    """By table, then means, ranks and CPU seconds."""
    rows: Rows = result["rows"]
    names = list(dict.fromkeys(row["method"] for row in rows))
    errors = np.array([set_means(rows, name, "error") for name in names])
    fits = np.array([set_means(rows, name, "fit") for name in names])
    predicts = [set_means(rows, name, "predict").sum() for name in names]
    tables = list(of_method(rows, names[0], "error"))
    lines = [
        [name, *(f"{error:.4f}" for error in errors[:, place])]
        for place, name in enumerate(tables)
    ]
    ranks = rankdata(errors, axis=0).mean(axis=1)
    lines.append(["**mean**", *(f"{error:.4f}" for error in errors.mean(axis=1))])
    lines.append(["mean rank", *(f"{rank:.2f}" for rank in ranks)])
    ours = names.index(DEFAULT)
    differences = [NO_VALUE if k == ours else with_error(errors[ours] - errors[k], 4)
                   for k in range(len(names))]  # fmt: skip
    lines.append([f"{DEFAULT} − this", *differences])
    lines.append(["fit, CPU s in sum", *(f"{seconds:.2f}" for seconds in fits.sum(axis=1))])
    lines.append(["predict, CPU s in sum", *(f"{seconds:.2f}" for seconds in predicts)])
    return table(["squared error, 1: that of the mean", *names], lines)


# --- size -------------------------------------------------------------------------------------

N_COLUMNS, N_NEW = 20, 100_000
CASES = ((DEFAULT, 1), (DEFAULT, 2), (REFERENCE, 1), (REFERENCE, 2), (YDF, 1))
SIZES = {100_000: (100, 2), 1_000_000: (20, 1)}  # rows: trees, rounds
MOST_FOR_ALL = 200_000  # rows; with more, only our forest and scikit-learn's, with one thread


def make_large(name: str, n_trees: int, n_threads: int) -> Any:
    if name == YDF:
        return Ydf(n_trees, SEED, n_threads)
    kind = ObliqueForestClassifier if name == DEFAULT else RandomForestClassifier
    return kind(n_trees, random_state=SEED, n_jobs=n_threads)


def measure_case(name: str, n_threads: int, n_rows: int, n_trees: int) -> dict[str, Any]:
    """What the process of one case does: fit once, and look at the forest."""
    n_new = min(N_NEW, n_rows)
    X, y = of_sklearn.make_classification(
        n_rows + n_new, N_COLUMNS, n_informative=10, random_state=SEED
    )
    X, X_new, y, y_new = X[:n_rows].copy(), X[n_rows:].copy(), y[:n_rows], y[n_rows:]
    warm = make_large(name, 2, n_threads).fit(X[:500], y[:500])
    warm.predict_proba(X[:500])
    gc.collect()
    before = settled()
    model, cpu, wall = clock(lambda: make_large(name, n_trees, n_threads).fit(X, y))
    after = high_water()
    figures: dict[str, Any] = {"fit_cpu": cpu, "fit_wall": wall, "peak": None, "bytes": None}
    if before is not None and after is not None:
        figures["peak"] = max(0, after - before) / X.nbytes
    figures["accuracy"] = float((model.predict_proba(X_new).argmax(axis=1) == y_new).mean())
    figures["predict_cpu"], figures["predict_wall"] = best_call(
        lambda: model.predict_proba(X_new), budget=4.0
    )
    singles = cycle([X_new[k : k + 1].copy() for k in range(min(1_000, n_new))])
    figures["row_us"] = microseconds(lambda: model.predict_proba(next(singles)))
    if name == YDF:
        with tempfile.TemporaryDirectory() as folder:
            model.model.save(folder)
            figures["bytes"] = sum(path.stat().st_size for path in Path(folder).iterdir())
    else:
        figures["bytes"] = len(pickle.dumps(model, protocol=5))
    if name == DEFAULT:
        with tempfile.TemporaryDirectory() as folder:
            save(model, Path(folder) / "model")
            figures["file_bytes"] = (Path(folder) / "model").stat().st_size
    return figures


def in_own_process(name: str, n_threads: int, n_rows: int, n_trees: int) -> dict[str, Any] | None:
    """The figures of one case; None if it failed."""
    case = json.dumps([name, n_threads, n_rows, n_trees])
    command = [sys.executable, "-m", "benchmarks.forests", "--case", case]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found: dict[str, Any] | None = None if done.returncode else json.loads(done.stdout)
    return found


def measure_size(quick: bool, sizes: list[int] | None = None) -> dict[str, Any]:
    """Each case in a process of its own, by turns; the least times of all rounds."""
    makers, left_out = usable({name: CLASSIFIERS[name] for name, _ in CASES})
    found: list[dict[str, Any]] = []
    cases = [case for case in CASES if case[0] in makers]
    for n_rows in [1_000] if quick else sizes or list(SIZES):
        n_trees, rounds = (5, 1) if quick else SIZES[n_rows]
        here = cases[:1] if quick else cases
        if n_rows > MOST_FOR_ALL:
            here = [case for case in cases if case in ((DEFAULT, 1), (REFERENCE, 1))]
        by_case: dict[tuple[str, int], dict[str, Any]] = {}
        for turn in range(rounds):
            for name, n_threads in here:
                figures = in_own_process(name, n_threads, n_rows, n_trees)
                print(n_rows, turn, name, n_threads, figures, file=sys.stderr, flush=True)
                if figures is None:
                    continue
                best = by_case.setdefault((name, n_threads), figures)
                for key, value in figures.items():
                    if isinstance(value, float) and key != "accuracy":
                        best[key] = min(value, best[key])
        for (name, n_threads), figures in by_case.items():
            what = {"rows": n_rows, "trees": n_trees, "rounds": rounds}
            found.append(what | {"method": name, "threads": n_threads} | rounded(figures))
    return {"left_out": left_out, "rows": found}


def size_text(result: dict[str, Any]) -> str:
    """A table for each number of rows."""
    parts = []
    for n_rows in dict.fromkeys(row["rows"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["rows"] == n_rows]
        walls = {(row["method"], row["threads"]): row["fit_wall"] for row in rows}
        n_new = min(N_NEW, n_rows)
        lines = []
        for row in rows:
            alone = walls.get((row["method"], 1))
            faster = None if row["threads"] == 1 or alone is None else alone / row["fit_wall"]
            lines.append(
                [
                    row["method"],
                    str(row["threads"]),
                    number(row["fit_cpu"], 3),
                    number(row["fit_wall"], 3),
                    NO_VALUE if faster is None else f"{faster:.2f}",
                    NO_VALUE if row["peak"] is None else number(row["peak"]),
                    number(row["bytes"] / 1e6, 3),
                    f"{100 * row['accuracy']:.2f}",
                    number(n_new / row["predict_cpu"]),
                    number(row["row_us"]),
                ]
            )
        head = [
            "", "threads", "fit, CPU s", "wall s", "times faster", "memory / X", "model, MB",
            "accuracy, %", "rows/CPU s", "one row, µs",
        ]  # fmt: skip
        ours = next(row for row in rows if row["method"] == DEFAULT)
        title = (
            f"**{n_rows:,} × {N_COLUMNS}, {ours['trees']} trees**, rounds: "
            f"{ours['rounds']}. The file that `obliqua.save` writes has "
            f"{number(ours['file_bytes'] / 1e6, 3)} MB."
        )
        parts.append(f"{title}\n\n{table(head, lines)}")
    return "\n\n".join(parts)


PARTS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[[dict[str, Any]], str]]] = {
    "accuracy": (measure_accuracy, accuracy_text),
    "numbers": (measure_numbers, numbers_text),
    "size": (measure_size, size_text),
}


def page_text(part: str, result: dict[str, Any]) -> str:
    """What the page has of a part: its tables, what was left out, where it was measured."""
    facts = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    parts = [PARTS[part][1](result)]
    parts += [f"Left out: {name}; {reason}." for name, reason in result["left_out"].items()]
    parts.append(
        f"Measured on {facts['date']}: {facts['cpu']}, {facts['cores']} cores, {versions}."
    )
    return "\n\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.forests", description=__doc__)
    words.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    words.add_argument("--rows", type=int, nargs="+", choices=SIZES, help="sizes of the part size")
    words.add_argument("--quick", action="store_true", help="little of it, print only")
    words.add_argument("--case", help=argparse.SUPPRESS)
    options = words.parse_args(arguments)
    warnings.filterwarnings("ignore", message="X does not have valid feature names")  # LightGBM
    if options.case is not None:
        name, n_threads, n_rows, n_trees = json.loads(options.case)
        with limit_threads(n_threads):
            print(json.dumps(measure_case(name, n_threads, n_rows, n_trees)))
        return 0
    if regression.folder() is None and not options.quick:
        print("OBLIQUA_DATA names no folder with the tables", file=sys.stderr)
        return 1
    for part in options.parts or PARTS:
        more = {"sizes": options.rows} if part == "size" else {}
        with limit_threads(1):
            found = PARTS[part][0](options.quick, **more)
        if more and options.rows and not options.quick:  # other sizes stay as they were
            before = json.loads((RESULTS / "size.json").read_text("utf-8"))["rows"]
            found["rows"] += [row for row in before if row["rows"] not in options.rows]
            found["rows"].sort(key=lambda row: row["rows"])
        facts = {"machine": machine.facts(), "versions": machine.versions(LIBRARIES)}
        text = page_text(part, facts | found)
        if options.quick:
            print(text)
        else:
            keep(facts | found, RESULTS / f"{part}.json", text, f"forests-{part}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
