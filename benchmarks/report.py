"""Write the tables of the README and of docs/benchmarks.md from the results files.

``python -m benchmarks.report`` rewrites what stands between the markers in both files;
with ``--check`` it changes nothing and fails when a table is not what the results say.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.adapters import REFERENCE
from benchmarks.problems import SOURCES

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = "docs/benchmarks.md"
NO_VALUE = "–"

Result = dict[str, Any]
Row = dict[str, Any]


class Stale(Exception):
    """A table that is not what the results say, or a file without a place for it."""


def read(folder: Path = RESULTS) -> list[Result]:
    """The results files, in the order of the problems."""
    order = list(SOURCES)
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return sorted(found, key=lambda result: order.index(result["problem"]["name"]))


def number(value: float | None, digits: int = 2) -> str:
    """A figure with so many significant digits, thousands apart."""
    if value is None:
        return NO_VALUE
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.0e}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: text left, figures right."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def size(result: Result) -> str:
    problem = result["problem"]
    return f"{problem['rows']:,} × {problem['columns']}"


def fitted(result: Result) -> list[Row]:
    return [case for case in result["cases"] if case["failure"] is None]


def find(result: Result, adapter: str, threads: int) -> Row | None:
    """The case of an adapter with that many threads, if it was measured."""
    for case in fitted(result):
        if case["adapter"] == adapter and case["threads"] == threads:
            return case
    return None


def ratio(case: Row, result: Result) -> float | None:
    """CPU time of a fit in units of scikit-learn's in the same run."""
    reference = find(result, REFERENCE, 1)
    return None if reference is None else case["fit_cpu"] / reference["fit_cpu"]


def speed_table(results: list[Result]) -> str:
    """CPU seconds of one fit with one thread: a row per library, a column per problem."""
    names = list(dict.fromkeys(c["adapter"] for r in results for c in r["cases"]))
    rows = []
    for name in names:
        cells = []
        for result in results:
            case = find(result, name, 1)
            if case is None:
                cells.append(NO_VALUE)
            else:
                share = number(ratio(case, result))
                cells.append(f"{number(case['fit_cpu'], 3)} s ({share})")
        rows.append([name, *cells])
    head = ["", *(f"{r['problem']['name']}<br>{size(r)}" for r in results)]
    return table(head, [row for row in rows if row[0] != "zeros"])


COLUMNS: dict[str, Callable[[Row, Result], str]] = {
    "threads": lambda c, r: str(c["threads"]),
    "fit, CPU s": lambda c, r: number(c["fit_cpu"], 3),
    "ratio": lambda c, r: number(ratio(c, r)),
    "fit, wall s": lambda c, r: number(c["fit_wall"], 3),
    "accuracy": lambda c, r: f"{c['accuracy']:.4f}",
    "leaves": lambda c, r: f"{c['leaves']:,}",
    "depth": lambda c, r: str(c["depth"]),
    "memory / X": lambda c, r: number(c.get("peak_over_x")),
    "rows/s": lambda c, r: number(r["problem"]["rows"] / c["predict_wall"]),
    "rows/CPU s": lambda c, r: number(r["problem"]["rows"] / c["predict_cpu"]),
    "one row, µs": lambda c, r: number(c["row_us"]),
    "walk, µs": lambda c, r: number(c.get("walk_us")),
}


def case_table(result: Result) -> str:
    """Everything measured on one problem: a row per library and number of threads."""
    rows = [
        [c["adapter"], *(cell(c, result) for cell in COLUMNS.values())] for c in fitted(result)
    ]
    return table(["", *COLUMNS], rows)


def section(result: Result) -> str:
    """One problem: its table, what was left out and why, and the checks."""
    problem, machine = result["problem"], result["machine"]
    parts = [
        f"## {problem['name']}: {problem['title']}, {size(result)}, {problem['classes']} classes",
        case_table(result),
        f"{setting(result)} Least of {result['rounds']} rounds, {machine['date']}.",
    ]
    left_out = {
        **result["left_out"],
        **{c["adapter"]: f"failed with {c['failure']}" for c in result["cases"] if c["failure"]},
    }
    if left_out:
        reasons = "; ".join(f"{name} ({reason})" for name, reason in left_out.items())
        parts.append(f"Left out: {reasons}.")
    if result["same_tree"]:
        verdicts = (f"{name} {'yes' if s else 'NO'}" for name, s in result["same_tree"].items())
        parts.append(f"obliqua's tree is the same, bit for bit: {', '.join(verdicts)}.")
    return "\n\n".join(parts)


def setting(result: Result) -> str:
    """Machine and versions in a sentence."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    where = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}"
    return f"{where}, Python {machine['python']}, {versions}."


def readme_text(results: list[Result]) -> str:
    """What the README shows: time for all problems, the rest for the largest one."""
    largest = max(results, key=lambda result: result["problem"]["rows"])
    dates = " and ".join(sorted({result["machine"]["date"] for result in results}))
    return f"""\
CPU seconds to grow one unpruned tree with one thread; in brackets the ratio to scikit-learn in
the same run, smaller is faster.

{speed_table(results)}

On {largest["problem"]["name"]} ({size(largest)}), with accuracy on the training rows, peak memory
of a fit above X in units of X, and rows predicted per second:

{_short_table(largest)}

Measured on {dates}: {setting(largest)}
All figures, and how they are taken: [docs/benchmarks.md](docs/benchmarks.md)."""


def _short_table(result: Result) -> str:
    names = ("threads", "fit, wall s", "accuracy", "leaves", "memory / X", "rows/s", "one row, µs")
    rows = [
        [case["adapter"], *(COLUMNS[name](case, result) for name in names)]
        for case in fitted(result)
        if case["adapter"] != "zeros"
    ]
    return table(["", *names], rows)


HOW = """\
Every tree is grown in full: no pruning, no limit of depth, leaves down to one row. Labels are
integers, X is float64. All rounds run in one process; BLAS and OpenMP are held to the number of
threads that is asked for.

- *fit*: CPU seconds of all threads, and seconds by the clock. *ratio*: CPU seconds in units of
  scikit-learn's in the same run.
- *accuracy*, *leaves*, *depth*: of the tree, on the rows that it was grown from.
- *memory / X*: peak memory of a fit above what was in use before it, in a process of its own, in
  units of the size of X.
- *rows/s*, *rows/CPU s*: rows of the problem predicted per second, by the clock and by CPU time
  of all threads. *one row*: one row through `predict`. *walk*: one row straight through
  the tree, `tree_.apply`, where a library has it.
- *zeros* does nothing: it shows what the measuring costs."""


def docs_text(results: list[Result]) -> str:
    """All figures, after what they mean."""
    return "\n\n".join([HOW, *(section(result) for result in results)])


def placed(page: str, text: str, part: str = "bench", name: str = PAGE) -> str:
    """The page with the text between the markers of a part."""
    begin, end = f"<!-- {part}:begin -->", f"<!-- {part}:end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise Stale(f"{name} needs the lines {begin} and {end} once each, in this order")
    before, rest = page.split(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def keep(result: Result, path: Path, text: str, part: str, in_file: str | None = None) -> None:
    """Write a result into its file, and the text about it into its part of docs/benchmarks.md."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((in_file or json.dumps(result, indent=1)) + "\n", encoding="utf-8")
    page = ROOT / PAGE
    page.write_text(placed(page.read_text(encoding="utf-8"), text, part), encoding="utf-8")


def all_sections(result: Result, section: Callable[[Row], str]) -> str:
    """All problems of a result, and where and when they were measured."""
    facts = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    where = f"Measured on {facts['date']}: {facts['cpu']}, one thread, {versions}."
    return "\n\n".join([*(section(problem) for problem in result["problems"]), where])


def update(root: Path, results: list[Result], check: bool) -> list[str]:
    """Bring both pages up to date, or say which are not; returns the names of those."""
    changed = []
    for name, text in (("README.md", readme_text(results)), (PAGE, docs_text(results))):
        path = root / name
        if not path.is_file():
            raise Stale(f"{name} is missing")
        old = path.read_text(encoding="utf-8")
        new = placed(old, text, name=name)
        if new != old:
            changed.append(name)
            if not check:
                path.write_text(new, encoding="utf-8")
    return changed


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    words.add_argument("--check", action="store_true", help="fail if a table is out of date")
    words.add_argument("--root", type=Path, default=ROOT, help="folder with README.md and docs")
    options = words.parse_args(arguments)
    results = read(options.root / "benchmarks" / "results")
    if not results:
        print("benchmarks: no results yet; python -m benchmarks.run makes them", file=sys.stderr)
        return 0
    try:
        changed = update(options.root, results, options.check)
    except Stale as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    for name in changed:
        state = "is out of date; run python -m benchmarks.report" if options.check else "written"
        print(f"benchmarks: {name} {state}", file=sys.stderr)
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
