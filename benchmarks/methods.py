"""Fit times of the methods that papers compare with: FDT, QUEST and C4.5.

``python -m benchmarks.methods`` fits them with one thread to Letter (numbers) and to Income
(qualitative columns too), beside CART and scikit-learn's tree. It writes
`benchmarks/results/methods/methods.json` and the tables in docs/benchmarks.md. Unpruned trees take
turns within a round, and the least CPU time of all rounds counts. With their own pruning, which
may grow eleven trees, methods are fitted once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks import machine, tables
from benchmarks.measure import limit_threads, rounded
from benchmarks.problems import SEED
from benchmarks.report import NO_VALUE, ROOT, all_sections, keep, number, table
from benchmarks.tables import Case

RESULT = ROOT / "benchmarks" / "results" / "methods" / "methods.json"
REFERENCE = "scikit-learn"


def _letter() -> tuple[Any, Any]:
    from obliqua.datasets import load_letter

    return load_letter(as_frame=True, return_X_y=True)


PROBLEMS: dict[str, tuple[str, Callable[[], tuple[Any, Any]]]] = {
    "letter": ("Letter recognition", _letter),
    "income": tables.PROBLEMS["income"],
    "tiny": tables.PROBLEMS["tiny"],
}
FULL = ("letter", "income")

#: Name, class and parameters, without those of pruning.
METHODS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("CART", "obliqua.CartClassifier", {"criterion": "gini"}),
    ("FDT", "obliqua.FisherTreeClassifier", {}),
    ("QUEST", "obliqua.QuestClassifier", {}),
    ("QUEST, linear splits", "obliqua.QuestClassifier", {"split": "linear"}),
    ("C4.5", "obliqua.C45Classifier", {}),
    (REFERENCE, "sklearn.tree.DecisionTreeClassifier", {}),
)


def case(name: str, *, pruned: bool) -> Case:
    """A method as its paper prunes it, or not pruned."""
    ((_, place, params),) = (method for method in METHODS if method[0] == name)

    def make() -> Any:
        module, _, kind = place.rpartition(".")
        more = {} if pruned or name == REFERENCE else {"pruning": None}
        return getattr(import_module(module), kind)(**params, **more, random_state=SEED)

    return Case(name, tables.one_hot if name == REFERENCE else tables.as_it_is, make)


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Everything about one problem."""
    title, load = PROBLEMS[name]
    X, y = load()
    names = [method[0] for method in METHODS]
    unpruned = [case(method, pruned=False) for method in names]
    pruned = [case(method, pruned=True) for method in names if method != REFERENCE]
    for one in unpruned + pruned:
        tables.warm_up(one)
    for turn in range(rounds):
        for one in unpruned[turn % len(names) :] + unpruned[: turn % len(names)]:
            one.round(X, y)
            _tell(f"{name} {turn + 1}/{rounds} {one.name}", one)
    for one in pruned:
        one.round(X, y)
        _tell(f"{name}, pruned, {one.name}", one)
    return {
        "name": name,
        "title": title,
        "rows": len(y),
        "columns": int(X.shape[1]),
        "qualitative": len(tables.qualitative(X)),
        "rounds": rounds,
        "unpruned": {one.name: rounded(one.figures) for one in unpruned},
        "pruned": {one.name: rounded(one.figures) for one in pruned},
    }


def _tell(what: str, one: Case) -> None:
    print(f"{what}: {one.figures['fit_cpu']:.3f} s CPU", file=sys.stderr, flush=True)


HEAD = [
    *("", "not pruned, CPU s", "ratio", "leaves", "own pruning, CPU s", "ratio", "leaves"),
]


def _cells(figures: dict[str, Any] | None, unit: float) -> list[str]:
    if figures is None:
        return [NO_VALUE] * 3
    seconds = figures["fit_cpu"]
    return [number(seconds, 3), number(seconds / unit), f"{figures['leaves']:,}"]


def section(problem: dict[str, Any]) -> str:
    """The table of one problem."""
    unit = problem["unpruned"][REFERENCE]["fit_cpu"]
    title = (
        f"**{problem['title']}**: {problem['rows']:,} × {problem['columns']}, "
        f"{problem['qualitative']} of them qualitative. Not pruned: least of {problem['rounds']} "
        "rounds."
    )
    rows = [
        [name, *_cells(figures, unit), *_cells(problem["pruned"].get(name), unit)]
        for name, figures in problem["unpruned"].items()
    ]
    return f"{title}\n\n{table(HEAD, rows)}"


def text(result: dict[str, Any]) -> str:
    """The tables as the documentation shows them."""
    return all_sections(result, section)


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.methods", description=__doc__)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--problems", nargs="+", choices=[*PROBLEMS], default=[*FULL])
    words.add_argument("--quick", action="store_true", help="small data, print only")
    options = words.parse_args(arguments)
    names, rounds = (["tiny"], 1) if options.quick else (options.problems, options.rounds)
    with limit_threads(1):
        found = [measure(name, rounds) for name in names]
    result = {
        "machine": machine.facts(),
        "versions": machine.versions({"obliqua", "pandas"}),
        "seed": SEED,
        "problems": found,
    }
    if options.quick:
        print(text(result))
        return 0
    keep(result, RESULT, text(result), "methods")
    return 0


if __name__ == "__main__":
    sys.exit(main())
