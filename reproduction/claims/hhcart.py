"""What the HHCART paper concludes (Wickramarachchi and others, 2016).

Data sets and methods have the names of `reproduction.papers.hhcart`. Where the paper compares with
OC1, both are tried: with the program's features and jumps, as the paper ran it, and ours.
"""

from __future__ import annotations

from reproduction.claims.evidence import (
    ACCURACY,
    CPU,
    LEAVES,
    LESS_FOUND,
    MACRO_F,
    RATE,
    Claim,
    Comparison,
    against,
)
from reproduction.papers import hhcart

__all__ = ["CLAIMS"]

T2, T5, T7 = (table.name for table in (hhcart.TABLE_2, hhcart.TABLE_5, hhcart.TABLE_7))
ALL = tuple(one.name for one in hhcart.DATA_SETS)
TWO_CLASSES = tuple(one.name for one in hhcart.DATA_SETS_5)
PUBLISHED_7 = tuple(hhcart.PUBLISHED_7)
UNEVEN = ("BS", "BC", "BUPA", "GLS", "PIND", "SHUT", "SUR")  # by the paper's table 3
OC1S = {"with the program's OC1": "OC1+program", "with our OC1": "OC1"}
METHODS = ("A", "D", "OC1+program", "AP", "LC")


def _but(*names: str) -> tuple[str, ...]:
    """Return all data sets but some."""
    return tuple(name for name in ALL if name not in names)


def _as_good(names: tuple[str, ...], left: str, rights: tuple[str, ...]) -> tuple[Comparison, ...]:
    """Not less accurate, and not larger."""
    return (
        *against(T2, names, left, "not less", rights, ACCURACY),
        *against(T2, names, left, "not more", rights, LEAVES),
    )


def _alike(names: tuple[str, ...], left: str, right: str) -> tuple[Comparison, ...]:
    return (
        *against(T2, names, left, "same", (right,), ACCURACY),
        *against(T2, names, left, "same", (right,), LEAVES),
    )


CLAIMS = (
    Claim(
        "abstract, section 5",
        "HHCART(A) compares with the benchmarks: on every data set its trees are neither less "
        "accurate nor larger than those of OC1, OC1-AP and OC1-LC.",
        {name: _as_good(ALL, "A", (oc1, "AP", "LC")) for name, oc1 in OC1S.items()},
    ),
    Claim(
        "section 4.1.1",
        "Oblique splits make smaller trees than axis-parallel ones on all data sets.",
        {
            name: against(T2, ALL, name, "less", ("AP",), LEAVES)
            for name in ("A", "D", "OC1+program", "LC")
        },
    ),
    Claim(
        "section 4.1.1",
        "Oblique splits are more accurate than axis-parallel ones on most data sets.",
        {
            name: against(T2, ALL, name, "more", ("AP",), ACCURACY)
            for name in ("A", "D", "OC1+program", "LC")
        },
        average=True,
    ),
    Claim(
        "section 4.1.1",
        "On BC HHCART(A) is more accurate than OC1, OC1-AP and OC1-LC.",
        {
            name: against(T2, ("BC",), "A", "more", (oc1, "AP", "LC"), ACCURACY)
            for name, oc1 in OC1S.items()
        },
    ),
    Claim(
        "section 4.1.1",
        "On all data sets but BC and LET the accuracies of HHCART(A) and of OC1, OC1-AP and "
        "OC1-LC do not differ.",
        {
            name: against(T2, _but("BC", "LET"), "A", "same", (oc1, "AP", "LC"), ACCURACY)
            for name, oc1 in OC1S.items()
        },
        note="The paper calls a difference significant beyond two of its standard deviations.",
    ),
    Claim(
        "section 4.1.1",
        "HHCART(A) is more accurate than all other methods on BS, BH, WINE and SUR.",
        {
            name: against(
                T2, ("BS", "BH", "WINE", "SUR"), "A", "more", ("D", oc1, "AP", "LC"), ACCURACY
            )
            for name, oc1 in OC1S.items()
        },
    ),
    Claim(
        "section 4.1.1",
        "The trees of HHCART(A) are consistently smaller than those of the other methods, except "
        "on HRT, PIND and SUR.",
        {
            name: against(
                T2, _but("HRT", "PIND", "SUR"), "A", "less", ("D", oc1, "AP", "LC"), LEAVES
            )
            for name, oc1 in OC1S.items()
        },
    ),
    Claim(
        "section 4.1.1",
        "On average over all data sets the trees of HHCART(A) are smaller than those of the other "
        "methods.",
        {
            f"than {name}": against(T2, ALL, "A", "less", (name,), LEAVES)
            for name in ("D", "OC1+program", "OC1", "AP", "LC")
        },
        average=True,
        note="A weaker reading of the one before, added after the verdict on that had been seen.",
    ),
    Claim(
        "section 4.1.1",
        "It works with many features: on BH, BC, PIND, WINE and SHUT HHCART(A) compares with OC1 "
        "and OC1-LC.",
        {
            name: _as_good(("BH", "BC", "PIND", "WINE", "SHUT"), "A", (oc1, "LC"))
            for name, oc1 in OC1S.items()
        },
    ),
    Claim(
        "section 4.1.1",
        "HHCART(D) is as accurate as HHCART(A) on all data sets but BS and WINE.",
        {"": against(T2, _but("BS", "WINE"), "D", "same", ("A",), ACCURACY)},
    ),
    Claim(
        "section 4.1.1",
        "The trees of HHCART(D) have about the size of those of HHCART(A), except on BS, BUPA, "
        "HRT, LET and SUR.",
        {"": against(T2, _but("BS", "BUPA", "HRT", "LET", "SUR"), "D", "same", ("A",), LEAVES)},
    ),
    Claim(
        "section 4.1.1",
        "HHCART(D) is like OC1 in accuracy and size, except on BS, BUPA, HRT and SUR.",
        {name: _alike(_but("BS", "BUPA", "HRT", "SUR"), "D", oc1) for name, oc1 in OC1S.items()},
    ),
    Claim(
        "section 4.1.1, table 3",
        "All methods find the smallest class less often than the largest.",
        {name: against(T2, UNEVEN, name, "less", (0.0,), LESS_FOUND) for name in METHODS},
    ),
    Claim(
        "section 4.1.1, table 3",
        "HHCART(D) and OC1 find the smallest class more often than the other methods, by mean "
        "ranks.",
        {
            f"{left} and {right}": against(T2, UNEVEN, left, "more", (right,), RATE)
            for left in ("D", "OC1+program")
            for right in ("A", "AP", "LC")
        },
        average=True,
    ),
    Claim(
        "section 4.1.1, table 4; section 5",
        "The F-measures of HHCART(A) and HHCART(D) are alike, except on BS and SHUT.",
        {"": against(T2, _but("BS", "SHUT", "LET"), "D", "same", ("A",), MACRO_F)},
    ),
    Claim(
        "section 4.1.1, table 4",
        "HHCART(A) has the higher F-measure on BS, HHCART(D) on SHUT.",
        {
            "": (
                Comparison(T2, "BS", "A", "more", "D", MACRO_F),
                Comparison(T2, "SHUT", "D", "more", "A", MACRO_F),
            )
        },
    ),
    Claim(
        "section 4.1.2",
        "The trees of both HHCARTs are smaller than those of FDT.",
        {name: against(T5, TWO_CLASSES, name, "less", ("FDT",), LEAVES) for name in ("A", "D")},
        note="As in the paper, the size of FDT is that of one tree from all rows.",
    ),
    Claim(
        "section 4.1.2",
        "HHCART(A) is more accurate than FDT on BC, PIND and SUR.",
        {"": against(T5, ("BC", "PIND", "SUR"), "A", "more", ("FDT",), ACCURACY)},
    ),
    Claim(
        "section 4.1.2",
        "HHCART(A) has higher F-measures than FDT on BC, BUPA, PIND and SUR, and lower ones on BH "
        "and HRT.",
        {
            "": (
                *against(T5, ("BC", "BUPA", "PIND", "SUR"), "A", "more", ("FDT",), MACRO_F),
                *against(T5, ("BH", "HRT"), "A", "less", ("FDT",), MACRO_F),
            )
        },
    ),
    Claim(
        "sections 4.1.2 and 5",
        "With two classes HHCART is better than FDT in accuracy, F-measure and size.",
        {
            f"{name}, {measure.name}": against(
                T5, TWO_CLASSES, name, "less" if measure is LEAVES else "more", ("FDT",), measure
            )
            for name in ("A", "D")
            for measure in (ACCURACY, MACRO_F, LEAVES)
        },
        average=True,
    ),
    Claim(
        "section 4.2",
        "On Income HHCART(A) is better than QUEST in accuracy and size.",
        {
            "": (
                Comparison(T7, "Income", "A", "more", "QUEST", ACCURACY),
                Comparison(T7, "Income", "A", "less", "QUEST", LEAVES),
            )
        },
    ),
    Claim(
        "section 4.2",
        "On Bank and StatLog HHCART(A) is as accurate as QUEST, with smaller trees.",
        {
            "": (
                *against(T7, ("Bank", "StatLog"), "A", "same", ("QUEST",), ACCURACY),
                *against(T7, ("Bank", "StatLog"), "A", "less", ("QUEST",), LEAVES),
            )
        },
    ),
    Claim(
        "section 4.2",
        "With qualitative columns HHCART(D) has larger trees than HHCART(A), and is as accurate.",
        {
            "": (
                *against(T7, PUBLISHED_7, "D", "more", ("A",), LEAVES),
                *against(T7, PUBLISHED_7, "D", "same", ("A",), ACCURACY),
            )
        },
    ),
    Claim(
        "sections 3 and 5, appendix",
        "With many rows both HHCARTs take less time than OC1.",
        {
            f"{left}, {name}": against(T2, ("SHUT", "LET"), left, "less", (oc1,), CPU)
            for name, oc1 in OC1S.items()
            for left in ("A", "D")
        },
        note="CPU times of our programs, on the two largest data sets.",
    ),
    Claim(
        "section 4.1.1, appendix",
        "HHCART(D) takes less time than HHCART(A).",
        {"": against(T2, ("SHUT", "LET"), "D", "less", ("A",), CPU)},
        note="CPU times of our programs, on the two largest data sets.",
    ),
)
