"""Write docs/reproduction.md, and the tables in docs/results, from the logs in reproduction/logs.

``python -m reproduction.page`` writes them. ``--keep FOLDER`` first takes the logs that
``obliqua reproduce`` has left in a folder; large ones are packed. With ``--check`` nothing is
changed, and it fails when something is not what the logs say.
"""

from __future__ import annotations

import argparse
import gzip
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from reproduction.catalogue import CLAIM_TABLES, OWN_TABLES, TABLES
from reproduction.choices import choice_lines
from reproduction.facts import LOGS, LONGER, Facts
from reproduction.figures import LEVEL, unavailable_lines
from reproduction.own import income
from reproduction.papers import etct, hhcart, oc1, odt
from reproduction.reasons import why_not
from reproduction.store import Kept
from reproduction.tables import Comparison, PaperTable
from reproduction.verdict import Summed, counted, far, sum_up

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reproduction.md"
RESULTS = ROOT / "docs" / "results"
LARGE = 300_000  # bytes; a larger log is kept packed

PAPERS: dict[str, tuple[str, ModuleType]] = {
    "hhcart": ("HHCART (Wickramarachchi et al. 2016)", hhcart),
    "oc1": ("OC1 (Murthy, Kasif, Salzberg 1994)", oc1),
    "2c-etct": ("2C-ETCT (De Bruyne, Plastria)", etct),
    "odt": ("Orthogonal decision trees (Kargupta, Dutta 2004)", odt),
}

INTRO = """\
# Reproduction

```{toctree}
:hidden:

guides/reproduce
```

The tables of four papers, made again with this library: the paper's figures, ours, and how near
they are. This page is written by `python -m reproduction.page` from the logs in
`reproduction/logs`; no figure of ours on it is typed by hand. `make reproduce` makes
everything again, and `obliqua reproduce hhcart-table-2` a single table; [the
guide](guides/reproduce.md) says how, and what is measured.

A figure is judged by the standard deviation that the paper prints, which is that of single
repeats: *1 sd* is at most one of them away, *2 sd* at most two, *> 2 sd* more, and beyond one the
side is told: more accuracy is better, and so are fewer leaves. Beyond two a figure is **not
reproduced**, on the better side as on the worse. Where a paper prints no standard deviation, that
of our own repeats stands in (*own sd*): made smaller in proportion where our mean is larger than
the paper's, at most half of the paper's figure, so that nothing passes because our repeats vary
much, and at least the last digit that the paper prints. Where there is neither, nothing is said.

Two standard deviations of single repeats are a wide gate. The strict test stands beside it: *se*
is the difference of the two means in standard errors, with the paper's number of repeats and ours
(ten each for HHCART and OC1; 2C-ETCT and the orthogonal trees show one; where the paper prints no
standard deviation, the one that stands in is taken), and *spread* is our standard deviation
divided by the paper's. A star means that Welch's test, or an F test, tells the two apart at the
level of 5 %; chance alone does so in one of twenty. Repeats are cross-validations of the same
rows, so both are about the same data, not about other data.

A published number is counted once. Where several readings of it were run, the one that does what
the paper says is counted: `OC1+program`, which has the settings of the paper's own program,
before `OC1`, ours; of the orthogonal trees samples of 20 rows and the trees that the paper
describes. Rates of two classes that follow from each other are counted once, and so are the rates
of a method on a set that are printed as 1.00, and a row that is printed twice. † marks figures
that are probably misprinted; they count.
"""


#: What the counts come to, paper by paper: how the tables begin, and what else is to be said.
IN_A_WORD = (
    (
        "HHCART",
        "hhcart-table-2|hhcart-table-3|hhcart-table-4|hhcart-table-5|hhcart-table-7",
        (
            "Not reproduced are rates of rare classes on Shuttle, sizes of FDT's single trees, "
            "and what is probably misprinted. HHCART(A)'s trees on Income are larger than the "
            "paper's even where those of the table pass: in a longer run "
            "{experiment hhcart-table-7; Income; A+squares; leaves; ours} leaves with a standard "
            "error of {experiment hhcart-table-7; Income; A+squares; leaves; se} where numbers of "
            "levels are as published, {experiment hhcart-table-7; Income; A; leaves; ours} with "
            "{experiment hhcart-table-7; Income; A; leaves; se} where they are standardised, "
            "{hhcart-table-7; Income; A; leaves; paper} in the paper. OC1-LC on Shuttle passes "
            "because its published spread is wide ({hhcart-table-2; SHUT; LC; accuracy; paper} ± "
            "{hhcart-table-2; SHUT; LC; accuracy; paper_sd}, {hhcart-table-2; SHUT; LC; "
            "accuracy; ours} here): its means are {hhcart-table-2; SHUT; LC; accuracy; t} "
            "standard errors apart."
        ),
    ),
    (
        "OC1",
        "oc1-table-1|oc1-table-2",
        (
            "With the program's settings, which are counted, accuracy is {oc1-table-1; cancer; "
            "OC1+program; accuracy; away} published standard deviations below the paper on "
            "cancer and {oc1-table-1; diabetes; OC1+program; accuracy; away} on diabetes, and "
            "RCB is far off: with 0:20 {oc1-table-2; RCB; 0:20+program; accuracy; ours} % and "
            "{oc1-table-2; RCB; 0:20+program; leaves; ours} leaves, {oc1-table-2; RCB; 0:20; "
            "accuracy; paper} and {oc1-table-2; RCB; 0:20; leaves; paper} in the paper. The "
            "original program, version 3, has {oc1-table-1; cancer; OC1+program; "
            "accuracy; reference} on cancer, {oc1-table-1; diabetes; OC1+program; accuracy; "
            "reference} on diabetes, {oc1-table-2; RCB; 0:20; accuracy; reference} and "
            "{oc1-table-2; RCB; 0:20; leaves; reference} on RCB. On cancer dividing features by "
            "their ranges explains it, which version 2 could do: {oc1-table-1; cancer; "
            "OC1+blind; accuracy; reference} by the program and {oc1-table-1; cancer; OC1; "
            "accuracy; ours} by ours. For diabetes and RCB nothing that was tried does. Our own "
            "settings, which stand beside them and are not counted, give fewer leaves. Where no "
            "jumps are made that is because features are counted from their smallest value at "
            "the node: on POL with 0:0 {oc1-table-2; POL; 0:0; leaves; ours} instead of "
            "{oc1-table-2; POL; 0:0+program; leaves; ours}, with 20:0 {oc1-table-2; POL; 20:0; "
            "leaves; ours} instead of {oc1-table-2; POL; 20:0+program; leaves; ours}. Where "
            "jumps are made they are exact too: on LS10 with 20:20 {oc1-table-2; LS10; 20:20; "
            "leaves; ours} instead of {oc1-table-2; LS10; 20:20+program; leaves; ours}."
        ),
    ),
    (
        "2C-ETCT",
        "2c-etct-table-1|2c-etct-table-2|2c-etct-table-3",
        (
            "Of the method's own accuracies {count; "
            "2c-etct-table-1|2c-etct-table-2|2c-etct-table-3; *; 2C-ETCT; reproduced} of {count; "
            "2c-etct-table-1|2c-etct-table-2|2c-etct-table-3; *; 2C-ETCT; all} are reproduced. "
            "How far the classes are apart and where the clusters lie is not published and was "
            "found from the paper's figures, so this proves little."
        ),
    ),
    (
        "Orthogonal trees",
        "odt-table-1|odt-table-2",
        (
            "This does not hold. The paper does not say what was run; its numbers are set "
            "against several readings, of which one is counted. The readings that come near its "
            "error of {odt-table-1; SPECT; ODT/20; error; paper} %, or below, give one answer "
            "for every row: that is no success."
        ),
    ),
)


def logs(folder: Path = LOGS) -> dict[str, Kept]:
    """The kept logs, by the name of the table whose cells they hold."""
    found = {}
    for path in sorted(folder.glob("*.jsonl*")):
        kept = Kept(path)
        found[str(kept.head["table"])] = kept
    return found


def filled(table: PaperTable, kept: dict[str, Kept]) -> Comparison | None:
    """A table with what the logs hold of it, or None."""
    log = kept.get(table.cells_of or table.name)
    if log is None:
        return None
    compared = table.filled(log, table.choose_sets(), table.choose_methods())
    return compared if compared.rows else None


def written(folder: Path = LOGS) -> dict[Path, str]:
    """Everything that is written from the logs, by its file: the page, and each table."""
    kept = logs(folder)
    found = {PAGE: page(folder)}
    for table in paper_tables():
        compared = filled(table, kept)
        if compared is not None:
            found[RESULTS / f"{table.name}.md"] = compared.markdown()
            found[RESULTS / f"{table.name}.csv"] = compared.csv()
    found[income.PAGE] = income.table()
    return found


def paper_tables() -> list[PaperTable]:
    """The tables of the papers, in their order."""
    return [table for name, table in TABLES.items() if name not in OWN_TABLES]


def page(folder: Path = LOGS) -> str:
    """The whole page."""
    kept = logs(folder)
    facts = Facts(folder)
    made = {table.name: filled(table, kept) for table in paper_tables()}
    there = [compared for compared in made.values() if compared is not None]
    lines = [
        INTRO,
        *summary(made, facts),
        "",
        *measured(kept, folder),
        "",
        *what_does_not_hold(there),
    ]
    lines += ["", *choice_lines(there, facts), "", *not_available()]
    for title, intro, name in REMARKS:
        lines += ["", *remarks(title, intro, name, facts)]
    lines += ["", "## The tables", ""]
    for compared in there:
        text = compared.markdown().rstrip().removeprefix("## ")
        protocol = f"\n\n{compared.table.protocol}" if compared.table.protocol else ""
        title, _, rest = text.partition("\n")
        name = f"`obliqua reproduce {compared.table.name}`"
        lines += [f"### {title}{protocol}", "", f"Again: {name}.", "", rest.strip(), ""]
    return "\n".join(lines).rstrip() + "\n"


_COLUMNS = (
    *("within one", "within two", "better", "worse", "not judged"),
    *("means differ", "spreads differ", "not counted"),
)


def summary(made: dict[str, Comparison | None], facts: Facts) -> list[str]:
    """How many figures hold, table by table and over all."""
    lines = [
        *("## Summary", ""),
        "| table | published numbers | " + " | ".join(_COLUMNS) + " |",
        "|--" + "|--:" * (len(_COLUMNS) + 1) + "|",
    ]
    together = Summed()
    by_table = {}
    for name, compared in made.items():
        if compared is None:
            lines.append(f"| `{name}` | not run yet |" + " |" * len(_COLUMNS))
            continue
        found = by_table[name] = sum_up(compared.figures())
        together += found
        lines.append(_counted(f"`{name}`", found))
    lines += [_counted("**all**", together), ""]
    lines += [
        (
            "*better* and *worse*: by more than two standard deviations, not reproduced. *means "
            "differ*, *spreads differ*: at the level of 5 %, of those that can be tested. *not "
            "counted*: other readings of the same numbers, and rates that follow from others."
        ),
        "",
    ]
    for name, tables, words in IN_A_WORD:
        some = [by_table[table] for table in tables.split("|") if table in by_table]
        found = sum(some, Summed())
        if found.both.total:
            lines.append(f"- **{name}**: {_in_numbers(found)} {facts.fill(words)}")
    lines.append("")
    for sentence in together.sentences():
        lines += [sentence, ""]
    return lines[:-1]


def _in_numbers(found: Summed) -> str:
    both = found.both
    return (
        f"of {both.total} published numbers {both.reproduced} are reproduced; by more than two "
        f"standard deviations better: {both.better}, worse: {both.worse}; means differ in "
        f"{found.means}, where chance alone gives {LEVEL * found.means.tested:.1f}."
    )


def _counted(name: str, found: Summed) -> str:
    both = found.both
    counts = (both.within_one, both.within_two, both.better, both.worse, found.unjudged)
    total = both.total + found.unjudged
    rest = (found.means, found.spreads, found.repeated)
    return "| " + " | ".join([name, str(total), *map(str, counts), *map(str, rest)]) + " |"


def measured(kept: dict[str, Kept], folder: Path) -> list[str]:
    """When, where and with what."""
    lines = ["## When, where and with what", ""]
    lines += ["| log | date | seed | cells | hours of fitting | obliqua | machine |"]
    lines += ["|--|--|--:|--:|--:|--|--|"]
    settings: dict[tuple[tuple[str, Any], ...], str] = {}
    longer = sorted((folder / LONGER).glob("*.jsonl*"))
    every = kept | {f"{LONGER}/{path.name.partition('.')[0]}": Kept(path) for path in longer}
    for name, log in every.items():
        dates = sorted({str(run["date"]) for run in log.runs})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        cells = list(_cells(log))
        hours = sum(cell["seconds"] for cell in cells) / 3600
        commits = dict.fromkeys(str(run.get("commit", "")) for run in log.runs)
        code = ", ".join([str(log.runs[-1]["obliqua"]), *filter(None, commits)])
        marks = []
        for run in log.runs:
            about = ("cpu", "cores", "system", "python", "numpy", "scipy", "scikit-learn")
            setting = tuple((fact, run[fact]) for fact in about)
            marks.append(settings.setdefault(setting, chr(ord("A") + len(settings))))
        machines = ", ".join(dict.fromkeys(marks))
        line = [f"`{name}`", when, str(log.head["seed"]), str(len(cells)), f"{hours:.2f}"]
        lines.append("| " + " | ".join([*line, code, machines]) + " |")
    lines.append("")
    for facts, mark in settings.items():
        known = dict(facts)
        versions = ", ".join(f"{n} {known[n]}" for n in ("numpy", "scipy", "scikit-learn"))
        lines.append(
            f"- {mark}: {known['cpu']}, {known['cores']} cores, {known['system']}; Python "
            f"{known['python']}, {versions}."
        )
    return lines


def _cells(log: Kept) -> Iterable[dict[str, Any]]:
    return (cell for repeats in log.all_cells().values() for cell in repeats.values())


def what_does_not_hold(made: Sequence[Comparison]) -> list[str]:
    """The figures that are more than two away, with what is known about them."""
    lines = ["## What does not hold", ""]
    by_reason: dict[tuple[str, str], list[str]] = {}
    for compared in made:
        figures = list(compared.figures())
        count = counted(figures)
        for one in far(figures):
            why = why_not(compared.table.name, one) or ("No reason is known.", "")
            side = "better" if one.better else "worse"
            by_reason.setdefault(why, []).append(
                f"`{compared.table.name}` {one.data_set} {one.method}, {one.what} "
                f"({_short(one.published)} in the paper, {_short(one.ours)} here, {side}"
                + (")" if one in count else "; not counted)")
            )
    if not by_reason:
        return [*lines, "No figure is more than two standard deviations away."]
    lines += [
        (
            "Figures that are better or worse by more than two standard deviations, and why. *not "
            "counted*: another reading of a number that is counted elsewhere."
        ),
        "",
    ]
    for (text, experiment), found in by_reason.items():
        backed = f" Backed by: {_as_code(experiment)}" if experiment else ""
        lines.append(f"- {'; '.join(found)}. {text}{backed}")
    return lines


def _as_code(experiment: str) -> str:
    return f"`{experiment}`." if experiment.startswith("obliqua ") else experiment


def _short(value: float) -> str:
    if math.isnan(value):
        return "nothing"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def not_available() -> list[str]:
    """What of the papers' tables cannot be run at all."""
    lines = ["## What cannot be run", ""]
    found = [line for table in paper_tables() for line in unavailable_lines(table)]
    listed = [line for line in found if line.startswith("- ")]
    return [*lines, *listed] if listed else [*lines, "Nothing: all data can be had."]


#: Heads, what they are about, and the name of the list in each paper's module.
REMARKS = (
    (
        "Misprints in the papers",
        "What contradicts the paper itself, or its data.",
        "MISPRINTS",
    ),
    (
        "Failures",
        (
            "What the papers say and what does not come again, here or with the original "
            "programs, beside the single figures above."
        ),
        "FAILURES",
    ),
    (
        "Readings",
        "What can be read in more than one way, and how it is read here.",
        "READINGS",
    ),
)


def remarks(title: str, intro: str, name: str, facts: Facts) -> list[str]:
    """One of the lists of what must be known of the papers."""
    lines = [f"## {title}", "", intro, "", "| paper | where | what | why |", "|--|--|--|--|"]
    for paper, module in PAPERS.values():
        for one in getattr(module, name):
            words = [one.where, facts.fill(one.what), facts.fill(one.why)]
            lines.append(f"| {paper} | {' | '.join(words)} |")
    return lines


def keep(folder: Path, target: Path = LOGS) -> list[Path]:
    """Take the logs of the papers' tables and claims, and of longer runs in a folder below.

    Large ones are packed.
    """
    names = {table.cells_of or table.name for table in (*paper_tables(), *CLAIM_TABLES)}
    taken = _kept(folder, target, names)
    longer = folder / LONGER
    return taken + _kept(longer, target / LONGER, set(TABLES)) if longer.is_dir() else taken


def _kept(folder: Path, target: Path, names: set[str]) -> list[Path]:
    target.mkdir(parents=True, exist_ok=True)
    taken = []
    for name in sorted(names):
        path = folder / f"{name}.jsonl"
        if not path.is_file():
            continue
        found = Kept(path)  # damage is found now
        content = path.read_bytes()[: found.lines.whole]
        for old in target.glob(f"{name}.jsonl*"):
            old.unlink()
        packed = len(content) > LARGE
        kept = target / f"{name}.jsonl{'.gz' if packed else ''}"
        kept.write_bytes(gzip.compress(content, mtime=0) if packed else content)
        taken.append(kept)
    return taken


def main(words: Sequence[str] | None = None) -> int:
    """Write the page, or look whether it is stale."""
    parser = argparse.ArgumentParser(prog="reproduction.page", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="take the logs in it first")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    given = parser.parse_args(words)
    if given.check:
        stale = False
        for path, text in written(LOGS).items():
            old = not path.is_file() or path.read_text("utf-8") != text
            print(f"{path.name} is {'stale' if old else 'what the logs say'}", file=sys.stderr)
            stale |= old
        return int(stale)
    if given.keep is not None:
        for path in keep(given.keep, LOGS):
            print(f"kept {path.name}, {path.stat().st_size:,} bytes")
    for path, text in written(LOGS).items():
        path.write_text(text, "utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
