"""Measure. ``python -m benchmarks.run --help`` says what can be chosen.

Every round fits each library once, one after the other, so that a slow minute of the machine
meets all of them; the least time of all rounds counts. One file per problem is written, and
ratios are only ever taken inside a file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import adapters, machine, memory, problems, report
from benchmarks.adapters.base import Adapter
from benchmarks.checks import same_trees
from benchmarks.measure import Case, rounded

FORMAT = 1


def say(text: str) -> None:
    """Progress goes to stderr; results are what stdout is for."""
    print(text, file=sys.stderr, flush=True)


def cases_of(
    problem: problems.Problem, chosen: tuple[Adapter, ...], threads: list[int]
) -> tuple[list[Case], dict[str, str]]:
    """What can be measured on a problem, and the reasons for what cannot."""
    cases, left_out = [], {}
    for adapter in chosen:
        reason = adapter.missing() or adapter.supports(problem)
        if reason is not None:
            left_out[adapter.name] = reason
            continue
        cases += [Case(adapter, n) for n in threads if n in adapter.threads]
    return cases, left_out


def attempt(case: Case, problem: problems.Problem) -> None:
    """One round of a case. Another library's error is a result; it does not end the run."""
    if case.failure is not None:
        return
    try:
        case.round(problem)
    except Exception as error:
        # The text of an error may hold paths of this machine: it is shown, not stored.
        case.failure = type(error).__name__
        say(f"  {case.label}: {case.failure}: {error}")


def measure_memory(cases: list[Case], problem: problems.Problem) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memory.save(problem, folder)
        for case in cases:
            if case.failure is None:
                peak = memory.peak(folder, case.adapter, case.n_threads)
                ratio = None if peak is None else peak / problem.X.nbytes
                case.figures["peak_over_x"] = ratio


def check_trees(cases: list[Case], problem: problems.Problem) -> dict[str, bool]:
    if not any(c.adapter.library == "obliqua" and c.failure is None for c in cases):
        return {}
    return same_trees(problem)


def measure(problem: problems.Problem, options: argparse.Namespace) -> dict[str, Any]:
    """Everything about one problem, as it is written to its file."""
    chosen = adapters.choose(options.adapters)
    cases, left_out = cases_of(problem, chosen, options.threads)
    rounds = options.rounds or problems.SOURCES[problem.name].rounds
    for number in range(rounds):
        # A different one goes first in each round: who follows whom is part of the noise.
        start = number % len(cases) if cases else 0
        for case in cases[start:] + cases[:start]:
            attempt(case, problem)
            if case.failure is None:
                least = f"least so far {case.figures['fit_cpu']:.3f} s CPU"
                say(f"  {problem.name} {number + 1}/{rounds} {case.label}: {least}")
    if options.memory:
        measure_memory(cases, problem)
    checks = check_trees(cases, problem) if options.checks else {}
    return {
        "format": FORMAT,
        "problem": {
            "name": problem.name,
            "title": problems.SOURCES[problem.name].title,
            "rows": problem.n_rows,
            "columns": problem.n_columns,
            "classes": problem.n_classes,
        },
        "machine": machine.facts(),
        "versions": machine.versions({adapter.library for adapter in chosen}),
        "seed": problems.SEED,
        "rounds": rounds,
        "cases": [rounded(case.result()) for case in cases],
        "left_out": left_out,
        "same_tree": checks,
    }


def write(result: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['problem']['name']}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def troubles(result: dict[str, Any]) -> list[str]:
    """What must not happen to obliqua: it failed, or two of its trees differ."""
    name = result["problem"]["name"]
    return [
        f"{name}: {case['adapter']} failed with {case['failure']}"
        for case in result["cases"]
        if case["failure"] and case["adapter"].startswith("obliqua ")
    ] + [
        f"{name}: the tree differs: {check}"
        for check, same in result["same_tree"].items()
        if not same
    ]


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    words.add_argument("--quick", action="store_true", help="small problems, one round, no files")
    words.add_argument("--problems", nargs="+", metavar="NAME", choices=[*problems.SOURCES])
    words.add_argument("--adapters", nargs="+", metavar="NAME", help="names or how they begin")
    words.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    words.add_argument("--rounds", type=int, help="instead of each problem's own number")
    words.add_argument("--no-memory", dest="memory", action="store_false")
    words.add_argument("--no-checks", dest="checks", action="store_false")
    words.add_argument("--results", type=Path, help="folder for the results files")
    return words


def main(arguments: list[str] | None = None) -> int:
    words = parser()
    options = words.parse_args(arguments)
    try:
        adapters.choose(options.adapters)
    except KeyError as error:
        words.error(error.args[0])
    if options.quick:
        options.rounds = options.rounds or 1
    folder = options.results or (None if options.quick else report.RESULTS)
    names = options.problems or (problems.QUICK if options.quick else problems.FULL)
    found = []
    for name in names:
        try:
            result = measure(problems.load(name), options)
        except problems.DataMissing as error:
            say(f"{name} is left out: {error}")
            if options.problems:
                return 2
            continue
        found += troubles(result)
        if folder is None:
            print(report.section(result))
        else:
            write(result, folder)
    for trouble in found:
        say(trouble)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
