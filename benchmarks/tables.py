"""Tables with qualitative columns: trees that take levels against one-hot columns.

``python -m benchmarks.tables`` grows unpruned trees with one thread, writes
`benchmarks/results/tables/tables.json` and the tables in docs/benchmarks.md. obliqua gets the
frame as it is. scikit-learn gets numbers: a column per level, or the codes of the levels; what it
takes to make them is measured apart. All take turns within a round, and the least CPU time of all
rounds counts. Peak memory is that of one process per case.
"""

from __future__ import annotations

import argparse
import gc
import json
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.measure import clock, limit_threads, rounded
from benchmarks.memory import high_water, settled
from benchmarks.problems import SEED
from benchmarks.report import NO_VALUE, ROOT, all_sections, keep, number, table

RESULT = ROOT / "benchmarks" / "results" / "tables" / "tables.json"
REFERENCE = "scikit-learn, one-hot"
PATIENCE = 600.0  # seconds that a single fit may take


# --- problems ---------------------------------------------------------------------------------


def _income() -> tuple[Any, Any]:
    from obliqua.datasets import load_adult

    X, y = load_adult(as_frame=True, return_X_y=True)
    return X, y


def _bank() -> tuple[Any, Any]:
    from obliqua.datasets import load_bank_full

    X, y = load_bank_full(as_frame=True, return_X_y=True)
    return X, y


def levels(n_rows: int, n_levels: int) -> tuple[Any, Any]:
    """One column with very many levels, each with a chance of its own, and four of numbers."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    codes = np.concatenate([np.arange(n_levels), rng.integers(n_levels, size=n_rows - n_levels)])
    numbers = rng.normal(size=(n_rows, 4))
    chance = rng.normal(size=n_levels)[codes] + numbers[:, 0] + 0.5 * numbers[:, 1]
    X = pd.DataFrame(numbers, columns=["a", "b", "c", "d"])
    X.insert(0, "level", pd.Categorical([f"level {code}" for code in codes]))
    y = (chance + rng.normal(size=n_rows) > 0).astype(np.int64)
    return X, pd.Series(y, name="class")


PROBLEMS: dict[str, tuple[str, Callable[[], tuple[Any, Any]]]] = {
    "income": ("Income (Adult), training rows", _income),
    "bank": ("Bank marketing", _bank),
    "levels": ("synthetic, one column of 10,000 levels", lambda: levels(100_000, 10_000)),
    "tiny": ("synthetic, small", lambda: levels(600, 40)),
}
FULL = ("income", "bank", "levels")


# --- cases ------------------------------------------------------------------------------------


@dataclass
class Case:
    """One way from a frame to a tree: what comes before the fit, and the fit."""

    name: str
    prepare: Callable[[Any], Any]
    make: Callable[[], Any]
    figures: dict[str, Any] = field(default_factory=dict)

    def round(self, X: Any, y: Any) -> None:
        """Do it once; keep the least times."""
        ready, before, _ = clock(lambda: self.prepare(X))
        model, fit, _ = clock(lambda: self.make().fit(ready, y))
        for name, seconds in (("prepare_cpu", before), ("fit_cpu", fit)):
            self.figures[name] = min(seconds, self.figures.get(name, seconds))
        self.figures["columns"] = int(ready.shape[1])
        self.figures["leaves"] = int(model.get_n_leaves())
        self.figures["depth"] = int(model.get_depth())


def as_it_is(X: Any) -> Any:
    return X


def _as_text(X: Any) -> Any:
    """Make text of categories, as a file is usually read. It is nothing that a user waits for."""
    return X.astype(dict.fromkeys(qualitative(X), object))


def qualitative(X: Any) -> list[str]:
    return [name for name in X.columns if str(X.dtypes[name]) == "category"]


def one_hot(X: Any) -> Any:
    """A column per level; a sparse matrix if a dense one would not fit."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    names = qualitative(X)
    columns = sum(len(X[name].cat.categories) for name in names) + X.shape[1]
    dense = columns < 1_000
    encoder = OneHotEncoder(sparse_output=not dense, dtype=np.float32)
    encode = make_column_transformer(
        (encoder, names), remainder="passthrough", sparse_threshold=0.0 if dense else 1.0
    )
    # The tree works with float32 in any case, and column by column if the matrix is sparse.
    encoded = encode.fit_transform(X)
    return np.asarray(encoded, np.float32) if dense else encoded.astype(np.float32).tocsc()


def _codes(X: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OrdinalEncoder

    encode = make_column_transformer(
        (OrdinalEncoder(dtype=np.float32), qualitative(X)), remainder="passthrough"
    )
    return encode.fit_transform(X).astype(np.float32)


def _cart() -> Any:
    from obliqua import CartClassifier

    return CartClassifier(criterion="gini", pruning=None, n_jobs=1)


def _hhcart(variant: str) -> Callable[[], Any]:
    def make() -> Any:
        from obliqua import HHCartClassifier

        return HHCartClassifier(variant=variant, pruning=None, n_jobs=1)

    return make


def _sklearn() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(criterion="gini", random_state=SEED)


def cases() -> list[Case]:
    """All ways that are measured."""
    return [
        Case("obliqua CART", as_it_is, _cart),
        Case("obliqua HHCART(D)", as_it_is, _hhcart("dominant")),
        Case("obliqua HHCART(D), text", _as_text, _hhcart("dominant")),
        Case("obliqua HHCART(A)", as_it_is, _hhcart("all")),
        Case(REFERENCE, one_hot, _sklearn),
        Case("scikit-learn, codes as numbers", _codes, _sklearn),
    ]


# --- memory, in processes of their own --------------------------------------------------------


def _in_own_process(folder: Path, case: Case, what: str, patience: float) -> dict[str, Any] | str:
    """What `alone` prints in a new process; why there is nothing if it takes too long or fails."""
    words = [sys.executable, "-m", "benchmarks.tables", "--alone", str(folder), case.name, what]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=patience)
    except subprocess.TimeoutExpired:
        return f"not ready after {patience:g} s"
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        # A message may have several lines; the first names the error.
        named = [line for line in said if re.match(r"[A-Za-z_][\w.]*: ", line)]
        return f"failed: {(named or said)[-1]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def alone(folder: Path, name: str, what: str) -> dict[str, Any]:
    """Fit once; the peak above what was in use before, in bytes, with or without preparing."""
    (case,) = (case for case in cases() if case.name == name)
    warm_up(case)
    # What the fit alone gets was made by another process: memory that preparing has left free
    # would hide what the fit takes.
    with (folder / f"{what}.pickle").open("rb") as file:
        X, y = pickle.load(file)
    if what == "fit":
        case.prepare = as_it_is
    gc.collect()
    before = settled()
    case.round(X, y)
    after = high_water()
    peak = None if before is None or after is None else max(0, after - before)
    return {**case.figures, "peak": peak}


def warm_up(case: Case) -> None:
    """Import the library and touch its code, which the first fit should not pay for."""
    Case(case.name, case.prepare, case.make).round(*levels(300, 20))


# --- measuring --------------------------------------------------------------------------------


def measure_memory(X: Any, y: Any, chosen: list[Case], patience: float) -> dict[str, str]:
    """Peaks of each case; those that fail or take too long are taken off the list and returned."""
    left_out: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _store(folder / "all.pickle", X, y)
        for case in list(chosen):
            _store(folder / "fit.pickle", case.prepare(X), y)
            fit = _in_own_process(folder, case, "fit", patience)
            whole = fit
            if isinstance(fit, dict) and case.name.startswith("scikit-learn"):
                whole = _in_own_process(folder, case, "all", patience)
            if isinstance(fit, str) or isinstance(whole, str):
                left_out[case.name] = fit if isinstance(fit, str) else str(whole)
                chosen.remove(case)
                continue
            case.figures |= {"peak_all": whole["peak"], "peak_fit": fit["peak"]}
            print(f"memory of {case.name}: {fit}", file=sys.stderr, flush=True)
    return left_out


def _store(path: Path, X: Any, y: Any) -> None:
    with path.open("wb") as file:
        pickle.dump((X, y), file)


def measure(name: str, rounds: int, patience: float, memory: bool) -> dict[str, Any]:
    """Everything about one problem."""
    title, load = PROBLEMS[name]
    X, y = load()
    chosen = cases()
    left_out = measure_memory(X, y, chosen, patience) if memory else {}
    for case in chosen:
        warm_up(case)
    for turn in range(rounds):
        for case in chosen[turn % len(chosen) :] + chosen[: turn % len(chosen)]:
            case.round(X, y)
            least = f"{case.figures['fit_cpu']:.3f} s CPU"
            print(f"{name} {turn + 1}/{rounds} {case.name}: {least}", file=sys.stderr, flush=True)
    levels = [len(X[column].cat.categories) for column in qualitative(X)]
    return {
        "name": name,
        "title": title,
        "rows": len(y),
        "columns": int(X.shape[1]),
        "qualitative": len(levels),
        "levels": int(sum(levels)),
        "frame": int(X.memory_usage(index=False, deep=True).sum()),
        "rounds": rounds,
        "cases": {case.name: rounded(case.figures) for case in chosen},
        "left_out": left_out,
    }


# --- the text ---------------------------------------------------------------------------------


def _total(case: dict[str, Any]) -> float:
    """All that a user waits for."""
    return float(case["prepare_cpu"]) + float(case["fit_cpu"])


def _row(name: str, case: dict[str, Any], reference: dict[str, Any] | None) -> list[str]:
    prepares = name.startswith("scikit-learn")
    total = _total(case) if prepares else float(case["fit_cpu"])
    ratios = [NO_VALUE, NO_VALUE]
    if reference is not None:
        ratios = [
            number(case["fit_cpu"] / reference["fit_cpu"]),
            number(total / _total(reference)),
        ]
    return [
        name,
        f"{case['columns']:,}",
        number(case["prepare_cpu"], 3) if prepares else NO_VALUE,
        number(case["fit_cpu"], 3),
        *ratios,
        f"{case['leaves']:,}",
        str(case["depth"]),
        _megabytes(case.get("peak_fit")),
        _megabytes(case.get("peak_all")),
    ]


def _megabytes(size: int | None) -> str:
    return NO_VALUE if size is None else f"{size / 1e6:,.0f}"


HEAD = [
    *("", "columns", "encoding, CPU s", "fit, CPU s", "ratio of fits", "ratio of all"),
    *("leaves", "depth", "peak of fit, MB", "peak of all, MB"),
]


def section(problem: dict[str, Any]) -> str:
    """One problem: its table and what was left out."""
    found = problem["cases"]
    reference = found.get(REFERENCE)
    title = (
        f"**{problem['title']}**: {problem['rows']:,} × {problem['columns']}, "
        f"{problem['qualitative']} of them qualitative with {problem['levels']:,} levels; the "
        f"frame has {_megabytes(problem['frame'])} MB. Least of {problem['rounds']} rounds."
    )
    parts = [title, table(HEAD, [_row(name, case, reference) for name, case in found.items()])]
    if problem["left_out"]:
        reasons = (f"{name} ({reason})" for name, reason in problem["left_out"].items())
        parts.append(f"Left out: {'; '.join(reasons)}.")
    return "\n\n".join(parts)


def text(result: dict[str, Any]) -> str:
    """The tables as the documentation shows them."""
    return all_sections(result, section)


def _parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--problems", nargs="+", choices=[*PROBLEMS], default=[*FULL])
    words.add_argument("--patience", type=float, default=PATIENCE, help="seconds for one fit")
    words.add_argument("--quick", action="store_true", help="small data, print only")
    words.add_argument("--no-memory", dest="memory", action="store_false")
    words.add_argument("--alone", nargs=3, metavar=("FOLDER", "CASE", "WHAT"), help="internal")
    return words


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    with limit_threads(1):
        if options.alone:
            folder, name, what = options.alone
            print(json.dumps(alone(Path(folder), name, what)))
            return 0
        names = ["tiny"] if options.quick else options.problems
        rounds = 1 if options.quick else options.rounds
        found = [measure(name, rounds, options.patience, options.memory) for name in names]
    result = {
        "machine": machine.facts(),
        "versions": machine.versions({"obliqua", "pandas"}),
        "seed": SEED,
        "problems": found,
    }
    if options.quick:
        print(text(result))
        return 0
    keep(result, RESULT, text(result), "tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
