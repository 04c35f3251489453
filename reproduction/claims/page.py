"""Write the page "Claims" of the documentation, and its numbers, from the kept logs.

``python -m reproduction.claims.page`` writes ``docs/claims.md`` and ``docs/claims_numbers.md``;
nothing on them is typed by hand. With ``--check`` it changes nothing and fails if a page is not
what the logs say.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from reproduction.catalogue import CLAIM_TABLES
from reproduction.claims import etct, hhcart, oc1, odt
from reproduction.claims.evidence import NOT_RUN, Claim, Finding, Methods, Outcome, examined
from reproduction.claims.judging import FAILS, HOLDS, LEVEL, OPEN
from reproduction.claims.shuttle import shuttle_lines
from reproduction.page import PAPERS, ROOT, logs
from reproduction.store import Kept

__all__ = ["CLAIMS", "DOCS", "judged", "main", "pages", "said", "summary", "table"]

DOCS = ROOT / "docs"
PAGE, NUMBERS = "claims.md", "claims_numbers.md"

#: The conclusions of each paper, by the names of `reproduction.page.PAPERS`.
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "hhcart": hhcart.CLAIMS,
    "oc1": oc1.CLAIMS,
    "2c-etct": etct.CLAIMS,
    "odt": odt.CLAIMS,
}

#: What the papers conclude and no experiment here judges, and why.
NOT_JUDGED = {
    "HHCART, OC1: bounds of the worst case time": "They are proved, not measured; what is "
    "measured of times is above.",
    "HHCART: outliers, or clusters within a class, mislead it": "It is said as a possibility, "
    "without an experiment.",
    "OC1: dim stars and galaxies": "The data are not to be had.",
    "OC1: other measures seldom make trees much deeper than max minority": "Cells keep no depth.",
    "2C-ETCT: C4.5 overfits more with more features": "Each number of features has other rows, "
    "and the classes come apart as it grows.",
    "2C-ETCT, orthogonal trees: they are easy to read": "Nobody was asked.",
    "Orthogonal trees: components are orthogonal": "It is an identity, and a test of the library.",
}

INTRO = f"""\
# Claims

```{{toctree}}
:hidden:

claims_numbers
```

What the four papers conclude, and whether it holds with this library. Each conclusion is put in
our words, with the section in which it stands, and is judged by an experiment and a test. This
page is written by `python -m reproduction.claims.page` from the logs in `reproduction/logs`;
nothing on it is typed by hand. [All comparisons](claims_numbers.md) are on a page of their own,
and [Reproduction](reproduction.md) has the papers' tables, figure by figure.

`obliqua reproduce claims` runs the experiments that the papers' own tables do not hold
({", ".join(f"`{one.name}`" for one in CLAIM_TABLES)}) and judges all conclusions.

## The rules

All but the last were written down before any verdict was looked at.

- **A comparison** has one difference per repeat, as both methods have the same rows to train and
  to test on. Sizes, times and numbers of hyperplanes are compared by their logarithms: their
  differences are factors.
- **The standard error** of the mean of $r$ cross-validations with $k$ folds is
  $s \\sqrt{{1/r + k/(k-1)}}$, with $s$ the standard deviation of the differences and $r - 1$
  degrees of freedom: repeats share their rows, and folds are taken to be correlated by $1/k$
  (Nadeau and Bengio, 2003). Where each repeat draws rows anew (tables 1 and 2 of 2C-ETCT, and
  points that are *drawn anew*), it is $s / \\sqrt r$. So it is where the test rows are fixed
  (SHUT, Income, SPECT); a verdict is then about these test rows.
- **More, less**: a two-sided $t$ test. **Same**: two one-sided tests that the difference is within
  a margin; that nothing is significant does not make two methods the same. **Not less, not
  more**: one of these. The margin is 1 point of accuracy, 0.02 of an F-measure, and a factor of
  1.25.
- **A conclusion** about each of several data sets *holds* if all comparisons are significant for
  it, and *does not hold* if one is significant against it, with Holm's correction over its
  comparisons. One about an average over data sets has Wilcoxon's signed-rank test of the mean
  differences. The level is {100 * LEVEL:g} %. Else it *cannot be told*.
- **These rows**: the same verdict with $s / \\sqrt r$ throughout. It is about a narrower question,
  whether the same would come out with other divisions of the same rows, which is what the papers'
  own standard deviations are about. This column was added after the verdicts had been seen,
  because they leave so much open; they stand as they are. So were the experiments on points that
  are drawn anew, in which repeats share no rows, and the other layouts of 2C-ETCT's clusters.

A conclusion about many data sets asks for much: one comparison that is not significant leaves it
open, so the numbers of comparisons stand beside the verdict. *Paper* says of how many comparisons
the means that the paper prints say the same, without any test.
"""

NUMBERS_INTRO = """\
# Claims in numbers

All comparisons behind [the verdicts](claims.md), which also has the rules: means over the repeats,
the mean difference with its standard error, and Holm's p-values for and against what the paper
says. Written by `python -m reproduction.claims.page`.
"""


def judged(kept: Mapping[str, Kept]) -> dict[str, list[tuple[Claim, list[Finding]]]]:
    """All conclusions of each paper with their findings."""
    return {
        paper: [(claim, examined(claim, kept)) for claim in claims]
        for paper, claims in CLAIMS.items()
    }


Judged = Mapping[str, Sequence[tuple[Claim, Sequence[Finding]]]]


def pages(kept: Mapping[str, Kept] | None = None) -> dict[str, str]:
    """The page with the verdicts and the page with the numbers, by the names of their files."""
    known = logs() if kept is None else kept
    found = judged(known)
    lines = [INTRO, *summary(found), "", *table(found), "", *shuttle_lines(known), ""]
    lines += ["## What is not judged", ""]
    lines += [f"- {what}. {why}" for what, why in NOT_JUDGED.items()]
    numbers = [NUMBERS_INTRO]
    for paper, claims in found.items():
        numbers += [f"## {PAPERS[paper][0]}", ""]
        for number, (claim, findings) in enumerate(claims, start=1):
            numbers += [*_details(f"{paper} {number}", claim, findings), ""]
    return {
        name: "\n".join(text).rstrip() + "\n" for name, text in ((PAGE, lines), (NUMBERS, numbers))
    }


def summary(found: Judged) -> list[str]:
    """How many conclusions hold, by paper; one with several readings counts once for each."""
    heads = [HOLDS, FAILS, OPEN, NOT_RUN, *(f"{kind}, these rows" for kind in _KINDS)]
    lines = ["## Summary", "", "| paper | conclusions | verdicts | " + " | ".join(heads) + " |"]
    lines.append("|--|--:|--:" + "|--:" * len(heads) + "|")
    rows = [(PAPERS[paper][0], claims) for paper, claims in found.items()]
    rows.append(("**all**", [one for claims in found.values() for one in claims]))
    lines += [_counted(name, claims) for name, claims in rows]
    return [
        *lines,
        "",
        "A conclusion that can be read or run in several ways has a verdict for each.",
    ]


_KINDS = (HOLDS, FAILS, OPEN)


def _counted(name: str, claims: Sequence[tuple[Claim, Sequence[Finding]]]) -> str:
    every = [one for _, findings in claims for one in findings]
    verdicts = Counter(one.verdict for one in every)
    here = Counter(one.here for one in every)
    counts = [*(verdicts[kind] for kind in (*_KINDS, NOT_RUN)), *(here[kind] for kind in _KINDS)]
    return "| " + " | ".join(map(str, [name, len(claims), len(every), *counts])) + " |"


def table(found: Judged) -> list[str]:
    """A line per conclusion and reading."""
    lines = ["## The verdicts", ""]
    for paper, claims in found.items():
        lines += [f"**{PAPERS[paper][0]}**", ""]
        heads = "where | what | reading | verdict | for | against | open | these rows | paper"
        lines += [f"| no. | {heads} | repeats |", "|--:|--|--|--|--|--:|--:|--:|--|--:|--:|"]
        for number, (claim, findings) in enumerate(claims, start=1):
            for place, one in enumerate(findings):
                first = [str(number), claim.where, claim.says] if place == 0 else ["", "", ""]
                lines.append("| " + " | ".join([*first, one.reading, *_verdict(one)]) + " |")
        lines.append("")
    return lines[:-1]


def _verdict(finding: Finding) -> list[str]:
    """Verdict, comparisons for, against and open, these rows, the paper's means, repeats."""
    if finding.missing:
        return [NOT_RUN, *[""] * 6]
    said = [one.printed for one in finding.outcomes if one.printed is not None]
    printed = f"{sum(said)} of {len(said)}" if said else ""
    if finding.average is None:
        sides = Counter(_side(one) for one in finding.outcomes)
    else:
        sides = Counter("for" if _right_way(one) else "against" for one in finding.outcomes)
    repeats = sorted({len(one.difference.values) for one in finding.outcomes})
    shown = str(repeats[0]) if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    counts = [str(sides[side]) for side in ("for", "against", "open")]
    return [f"**{finding.verdict}**", *counts, finding.here, printed, shown]


def said(found: Judged) -> Iterator[str]:
    """What is printed: each conclusion, and below it a line per reading."""
    for paper, claims in found.items():
        yield f"{PAPERS[paper][0]}\n"
        for number, (claim, findings) in enumerate(claims, start=1):
            yield f"{number}. {claim.says} ({claim.where})"
            for one in findings:
                verdict, *counts = _verdict(one)
                text = f"{one.reading}: " * bool(one.reading) + verdict.strip("*")
                if not one.missing:
                    text += "; {} for, {} against, {} open; on these rows: {}".format(*counts)
                yield f"   {text}"
        yield ""
    every = [one.verdict for claims in found.values() for _, fs in claims for one in fs]
    kinds = (HOLDS, FAILS, OPEN, NOT_RUN)
    counted = ", ".join(f"{every.count(kind)} {kind}" for kind in kinds)
    yield f"{len(every)} verdicts: {counted}."


def _side(outcome: Outcome) -> str:
    if outcome.p.of <= LEVEL:
        return "for"
    return "against" if outcome.p.against <= LEVEL else "open"


def _right_way(outcome: Outcome) -> bool:
    """Whether a mean difference has the side that the paper says."""
    return (outcome.difference.mean > 0) == (outcome.comparison.asked == "more")


def _details(name: str, claim: Claim, findings: Sequence[Finding]) -> Iterator[str]:
    yield f"**{name}**, {claim.where}: {claim.says}"
    yield ""
    if claim.note:
        yield claim.note
        yield ""
    yield f"Again: `obliqua reproduce {' '.join(claim.tables)}`."
    yield ""
    for finding in findings:
        reading = f"*{finding.reading}*: " if finding.reading else ""
        verdict = f"{reading}{finding.verdict}"
        if finding.missing:
            verdict += f"; cells are missing of `{'`, `'.join(finding.missing)}`"
        if finding.average is not None:
            p = finding.average
            verdict += f"; Wilcoxon's p = {_p(p.of)} for it, {_p(p.against)} against it"
        yield f"{verdict}."
        yield ""
        if not finding.outcomes:
            continue
        yield "| set | what | is it | left | right | difference ± error | p for | p against |"
        yield "|--|--|--|--:|--:|--:|--:|--:|"
        for one in finding.outcomes:
            yield _line(one, finding)
        yield ""


def _line(one: Outcome, finding: Finding) -> str:
    c = one.comparison
    measure = c.measure
    sides = [f"{value:,.{measure.digits}f}" for value in (one.left, one.right)]
    error = "" if one.difference.error != one.difference.error else _error(one)
    asked = f"{_named(c.left)} {c.asked} than {_named(c.right)}"
    asked = asked.replace("same than", "same as")
    # Of an average single comparisons are not judged.
    p = ["", ""] if finding.average else [_p(one.p.of), _p(one.p.against)]
    cells = [
        c.data_set,
        measure.name,
        asked,
        *sides,
        measure.text(one.difference.mean) + error,
        *p,
    ]
    return "| " + " | ".join(cells) + " |"


def _error(one: Outcome) -> str:
    if one.comparison.measure.ratio:
        return f" ± {100.0 * one.difference.error:.0f} %"
    return f" ± {one.difference.error:.{one.comparison.measure.digits + 1}f}"


def _named(side: Methods | float) -> str:
    if isinstance(side, float):
        return f"{side:g}"
    return side if isinstance(side, str) else f"the mean of {', '.join(side)}"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _there(name: str) -> str:
    path = DOCS / name
    return path.read_text("utf-8") if path.is_file() else ""


def main(words: Sequence[str] | None = None) -> int:
    """Write the page, or look whether it is stale."""
    parser = argparse.ArgumentParser(prog="reproduction.claims.page", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    given = parser.parse_args(words)
    written = pages()
    if given.check:
        stale = [name for name, text in written.items() if _there(name) != text]
        said = f"{', '.join(stale)}: stale" if stale else "the claims are what the logs say"
        print(said, file=sys.stderr)
        return int(bool(stale))
    for name, text in written.items():
        (DOCS / name).write_text(text, "utf-8")
        print(f"wrote {DOCS / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
