"""Figures in sentences come from the logs: none is typed, and none is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reproduction import page
from reproduction.choices import CHOICES
from reproduction.facts import NOT_RUN, Facts, known_facts, placeholders
from reproduction.papers import etct, hhcart, oc1, odt
from reproduction.reasons import REASONS
from reproduction.tests.kept import kept_row

PAPERS = (hhcart, oc1, etct, odt)

#: All sentences that say what came out, or why.
SENTENCES = {
    **{f"reason {place}": one.text for place, one in enumerate(REASONS)},
    **{f"summary {name}": words for name, _, words in page.IN_A_WORD},
    **{f"choice {place}": " ".join(one) for place, one in enumerate(CHOICES)},
    **{
        f"{name} of {module.__name__}, {one.where}": one.why
        for module in PAPERS
        for name in ("FAILURES", "READINGS")
        for one in getattr(module, name)
    },
}

#: Names that have digits in them, and labels.
NAMES = re.compile(
    r"2C-ETCT|\bHHCART|\bOC1|C4\.5(/93|-S)?|J48|LS10|\b(0|20):(0|20)\b|\bd(5|6|7|8|9|10|11)\b|"
    r"(AFT|ODT)-(32|3)\b|/20\b|tables? [1-9]( and [1-9])?|section [1-9](\.[1-9])?|version [23]|"
    r"answer(s|ing)? 1\b|labels 0 and 1|100 perturbations|101 cycles|docs/\S+",
    re.IGNORECASE,
)
NUMBER_WORDS = re.compile(
    r"\b(three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|hundred|"
    r"thousands?)\b",
    re.IGNORECASE,
)
#: What a method is, not what came out.
WHAT_IT_IS = re.compile(r"three nodes|five components")


@pytest.mark.parametrize("name", SENTENCES)
def test_no_figure_is_typed(name: str) -> None:
    text = re.sub(r"\{[^{}]*\}", "", SENTENCES[name])
    typed = re.findall(r"\S*\d\S*", NAMES.sub("", text))
    assert typed == [], "let it be looked up: see reproduction.facts"
    assert NUMBER_WORDS.findall(WHAT_IT_IS.sub("", text)) == []


def test_a_typed_figure_would_be_found() -> None:
    """The test above can fail."""
    for text in ("It has 95.4 % here.", "OC1 has 3 leaves.", "In 5 of 50 trees.", "d12 is worse."):
        assert re.findall(r"\d", NAMES.sub("", text))
    for text in ("OC1 on LS10 with 20:20", "J48 of table 3", "ODT-32/20", "C4.5/93 on d11"):
        assert not re.findall(r"\d", NAMES.sub("", text))


@pytest.mark.parametrize("name", SENTENCES)
def test_every_figure_is_known(name: str) -> None:
    for wanted in placeholders(SENTENCES[name]):
        if ";" in wanted:  # others are counted by the page itself
            found = known_facts().look_up(wanted)
            assert found != NOT_RUN, wanted
            assert re.fullmatch(r"-?[\d.,]+( to -?[\d.,]+)?", found), wanted


def test_the_page_lacks_nothing() -> None:
    text = page.PAGE.read_text("utf-8")
    assert NOT_RUN not in text
    assert not re.search(r"[{}](?!toctree)", text.replace("{toctree}", ""))


def test_figures_are_those_of_the_logs() -> None:
    row = kept_row("oc1-table-1", "cancer", "OC1+program")
    facts = known_facts()
    where = "oc1-table-1; cancer; OC1+program; accuracy"
    assert facts.look_up(f"{where}; ours") == f"{row.ours.accuracy[0]:.1f}"
    assert facts.look_up(f"{where}; ours_sd") == f"{row.ours.accuracy[1]:.1f}"
    assert facts.look_up(f"{where}; z") == f"{row.z_accuracy:.2f}"
    assert facts.look_up(f"{where}; away") == f"{-row.z_accuracy:.2f}"
    assert facts.look_up(f"{where}; paper") == "96.2"
    assert facts.look_up(f"{where}; reference") == "95.4"
    assert facts.look_up(f"{where}; repeats") == "10"
    least, most = (facts.look_up(f"{where}; {which}") for which in ("least", "most"))
    assert float(least) < row.ours.accuracy[0] < float(most)
    # Several at once, from the smallest to the largest.
    others = [
        kept_row("oc1-table-1", name, "OC1").ours.accuracy[0] for name in ("iris", "housing")
    ]
    found = facts.look_up("oc1-table-1; iris|hous*; OC1; accuracy; ours")
    assert found == f"{min(others):.1f} to {max(others):.1f}"
    # Trees, counted one by one.
    leaves = [n for cell in kept_row("oc1-table-2", "POL", "20:20").cells for n in cell.leaves]
    assert facts.look_up("oc1-table-2; POL; 20:20; leaves; trees") == str(len(leaves))
    assert facts.look_up("oc1-table-2; POL; 20:20; leaves; trees 5") == str(leaves.count(5))
    assert facts.fill("of {count; oc1-table-1; cancer; OC1-AP; all} figures") == "of 2 figures"


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    nothing = Facts(tmp_path)
    assert nothing.fill("It has {oc1-table-1; cancer; OC1; accuracy; ours} %.") == (
        f"It has {NOT_RUN} %."
    )
    assert nothing.look_up("count; oc1-table-1; *; *; all") == "0"
    with pytest.raises(ValueError, match="five parts"):
        nothing.fill("{oc1-table-1; cancer}")
    with pytest.raises(KeyError):
        nothing.fill("{no-table; cancer; OC1; accuracy; ours}")
