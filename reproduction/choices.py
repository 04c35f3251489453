"""Chosen with the tables in sight: every choice that was made after a result had been seen.

A figure that agrees because something was chosen so proves less than one that agrees by itself.
Figures in the texts are looked up, see `reproduction.facts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reproduction.facts import Facts
from reproduction.figures import PublishedFigure
from reproduction.tables import Comparison
from reproduction.verdict import Summed, counted, sum_up, verdict

__all__ = ["CHOICES", "Choice", "choice_lines"]


class Choice(NamedTuple):
    """A choice that was made after a result had been seen.

    Parameters
    ----------
    what : str
        What was chosen.
    before : str
        What it was before, or what else it might be.
    effect : str
        What it did to the tables, as far as it is known.
    """

    what: str
    before: str
    effect: str


_CLUSTERS = "etct-clusters; *-d11; 2C-ETCT; accuracy; ours"
_BEFORE = "earlier hhcart-table-7; {}; leaves; ours"

#: All that are known.
CHOICES = (
    Choice(
        "2C-ETCT, table 2: where the clusters lie, how far apart and how wide they are",
        "Not published. A chain was chosen among several settings, looking at the paper's "
        "figures, those of 2C-ETCT too.",
        "With the other layouts of etct-clusters 2C-ETCT has {" + _CLUSTERS + "} % on d11, "
        "{2c-etct-table-2; d11; 2C-ETCT; accuracy; paper} in the paper.",
    ),
    Choice(
        "2C-ETCT, table 1: how far the two classes are apart",
        "Not published. It was found from the paper's column of naive Bayes.",
        "That column agrees by construction, and so do other linear methods: of the "
        "{count; 2c-etct-table-1; *; *; all} numbers of the table those of C4.5 alone say "
        "something.",
    ),
    Choice(
        "FDT: a direction in which nothing varies is not taken at nodes with few rows",
        "It was taken at all nodes.",
        "Accuracy on BUPA {results fdt/limit; BUPA; without; accuracy; ours} before and {results "
        "fdt/limit; BUPA; with the limit; accuracy; ours} after, on PIND {results fdt/limit; "
        "PIND; without; accuracy; ours} and {results fdt/limit; PIND; with the limit; accuracy; "
        "ours}, in a longer run of other folds; all sets are in docs/results/fdt/limit.md.",
    ),
    Choice(
        "SADT: how hot it starts and how fast it cools",
        "Not published. Schedules were compared on the data of OC1's table 2.",
        "Accuracy on LS10 is {results sadt-schedules; LS10; SADT; accuracy; ours} with ours and "
        "{results sadt-schedules; LS10; SADT+cold; accuracy; ours} with a colder one, "
        "{oc1-table-2; LS10; SADT; accuracy; paper} in the paper.",
    ),
    Choice(
        "LMDT: a loss of a tenth of the accuracy ends the elimination of features",
        "Read the other way, such a loss is allowed in the machine that is chosen.",
        "That gives large trees on LS10, where the paper has {oc1-table-2; LS10; LMDT; leaves; "
        "paper} leaves and ours {oc1-table-2; LS10; LMDT; leaves; ours}; docs/methods/lmdt.md "
        "shows both. What the other way does to the whole table is not known.",
    ),
    Choice(
        "OC1: features are divided by their ranges and counted from their smallest value at the "
        "node",
        "Features as they are, as in version 3 of the program: OC1+program, which is counted.",
        "Accuracy on cancer {oc1-table-1; cancer; OC1+program; accuracy; ours} before and "
        "{oc1-table-1; cancer; OC1; accuracy; ours} after, on housing {oc1-table-1; housing; "
        "OC1+program; accuracy; ours} and {oc1-table-1; housing; OC1; accuracy; ours}, on "
        "diabetes {oc1-table-1; diabetes; OC1+program; accuracy; ours} and {oc1-table-1; "
        "diabetes; OC1; accuracy; ours}; exact jumps have a part in it.",
    ),
    Choice(
        "Pruning: the root's split is never cut",
        "It could be cut. The program of OC1 never does; the HHCART paper does not say.",
        "In the prototype HHCART(A) had {earlier hhcart-prototype; small sets; A: root may be "
        "cut; accuracy; ours} % and {earlier hhcart-prototype; small sets; A: root may be cut; "
        "leaves; ours} leaves on the mean of the small sets before, {earlier hhcart-prototype; "
        "small sets; A: root never cut; accuracy; ours} and {earlier hhcart-prototype; small "
        "sets; A: root never cut; leaves; ours} after; F-measures came nearer to the paper's.",
    ),
    Choice(
        "Pruning: of equally good trees the smallest is taken",
        "The largest. The program of OC1 takes the smallest; the HHCART paper does not say.",
        "In the prototype HHCART(A) had {earlier hhcart-prototype; small sets; A: largest of "
        "equal trees; leaves; ours} leaves with the largest, and HHCART(D) {earlier "
        "hhcart-prototype; small sets; D: largest of equal trees; leaves; ours}, far from the "
        "paper's.",
    ),
    Choice(
        "HHCART: the sign of an eigenvector",
        "Numerical libraries return either sign by accident.",
        "In the prototype HHCART(D) had {earlier hhcart-prototype; BS; D: first coordinate not "
        "positive; accuracy; ours} % on BS with one sign and {earlier hhcart-prototype; BS; D: "
        "first coordinate not negative; accuracy; ours} with the other, which was taken; the "
        "paper has {hhcart-table-2; BS; D; accuracy; paper}.",
    ),
    Choice(
        "HHCART, table 7: numbers of levels (CRIMCOORD) have variance one",
        "Their sum of squares was one, as Loh and Shih have it.",
        "Leaves of HHCART(A) on Income {" + _BEFORE.format("Income; A") + "} before and "
        "{hhcart-table-7; Income; A; leaves; ours} now, on Bank {"
        + _BEFORE.format("Bank; A")
        + "} "
        "and {hhcart-table-7; Bank; A; leaves; ours}, on StatLog {"
        + _BEFORE.format("StatLog; A")
        + "} and {hhcart-table-7; StatLog; A; leaves; ours}; accuracy on Income {earlier "
        "hhcart-table-7; Income; A; accuracy; ours} and {hhcart-table-7; Income; A; accuracy; "
        "ours}. What was published is nearer to the paper. Other changes since then have a part "
        "in the difference.",
    ),
    Choice(
        "Verdicts: the standard deviation of a rate or an F-measure is at least half of the last "
        "digit",
        "A published deviation that is smaller was taken as it is.",
        "Published numbers that would be beyond two standard deviations without it: {floor}.",
    ),
    Choice(
        "Verdicts: a standard deviation of ours that stands in is limited by the paper's figure; "
        "better by more than two is not reproduced; each published number is counted once; FDT's "
        "sizes are judged",
        "Our standard deviation stood in however wide it was, each reading of a number and each "
        "rate counted, and FDT's sizes were not judged.",
        "By the rule before, {within before} of the {all before} figures of today are within two "
        "standard deviations, by this one {within now} of {all now}. The rule was "
        "set after the results had been seen, to be stricter.",
    ),
)


def _floor(figures: Iterable[PublishedFigure]) -> int:
    """How many numbers hold only because what rounding hides is not judged."""
    found = 0
    for one in counted(figures):
        raw = one.published_sd
        if verdict(one) and not verdict(one).startswith(">") and 0.0 < raw < one.judged_by:
            found += abs(one.ours - one.published) > 2.0 * raw
    return found


def _before(figures: Iterable[PublishedFigure]) -> tuple[int, int]:
    """How many figures are within two, and how many there are, by the rule before."""
    within = total = 0
    for one in figures:
        if not verdict(one) or (one.method == "FDT" and one.what == "leaves"):
            continue
        own = min(one.ours_sd, 0.2) if one.what.startswith("true") else one.ours_sd
        by = max(one.judged_by, own) if math.isnan(one.published_sd) else one.judged_by
        total += 1
        within += abs(one.ours - one.published) <= 2.0 * by
    return within, total


def choice_lines(made: Sequence[Comparison], facts: Facts) -> list[str]:
    """List in Markdown what was chosen, what it was before, and what it did."""
    tables = [list(compared.figures()) for compared in made]
    before = [_before(figures) for figures in tables]
    now = sum((sum_up(figures) for figures in tables), Summed()).both
    computed = {
        "floor": sum(map(_floor, tables)),
        "within before": sum(within for within, _ in before),
        "all before": sum(total for _, total in before),
        "within now": now.reproduced,
        "all now": now.total,
    }
    lines = [
        *("## Chosen with the tables in sight", ""),
        (
            "Every choice that was made after a result had been seen: what it was before, or "
            "what else it might be, and what it did to the tables, as far as that is known. A "
            "figure that agrees because of such a choice proves less."
        ),
        *("", "| choice | before | effect |", "|--|--|--|"),
    ]
    for one in CHOICES:
        effect = one.effect
        for name, number in computed.items():
            effect = effect.replace(f"{{{name}}}", str(number))
        lines.append(f"| {one.what} | {one.before} | {facts.fill(effect)} |")
    return lines
