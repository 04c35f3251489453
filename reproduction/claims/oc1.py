"""What the OC1 paper concludes (Murthy, Kasif, Salzberg, 1994).

The copy of the paper that was at hand has lost its numbers of sections, so their titles stand
here. Each conclusion about OC1 is judged twice: *ours* has scaled features and exact jumps,
*program* takes features and makes jumps as the original program does. What its table 2 shows is
judged by the paper's points and by points that each repeat draws anew.
"""

from __future__ import annotations

from reproduction.claims import experiments
from reproduction.claims.evidence import (
    ACCURACY,
    HYPERPLANES,
    LEAVES,
    Claim,
    Comparison,
    against,
    smallest_trees,
)
from reproduction.claims.experiments import BETTER, WORSE
from reproduction.papers import oc1

__all__ = ["CLAIMS"]

T1, T2 = oc1.TABLE_1.name, oc1.TABLE_2.name
MEASURES, SEARCH = experiments.MEASURES.name, experiments.SEARCH.name
ARTIFICIAL, SEPARATOR = experiments.ARTIFICIAL.name, experiments.SEPARATOR.name
REAL = tuple(one.name for one in oc1.DATA_SETS_1)
MADE = tuple(one.name for one in oc1.DATA_SETS_2)
EVERY = (*REAL, *MADE)
WAYS = {"ours": "", "program": "+program"}
POINTS = {"the paper's points": T2, "drawn anew": experiments.DRAWN.name}
RUNS = [
    (f"{name}, {points}", table, way)
    for points, table in POINTS.items()
    for name, way in WAYS.items()
]
AXIS = ("OC1-AP", "CART-AP", "C4.5/93")


def _better(
    table: str, names: tuple[str, ...], left: str, rights: tuple[str, ...]
) -> tuple[Comparison, ...]:
    """More accurate, and smaller."""
    return (
        *against(table, names, left, "more", rights, ACCURACY),
        *against(table, names, left, "less", rights, LEAVES),
    )


def _as_good(
    table: str, names: tuple[str, ...], left: str, rights: tuple[str, ...]
) -> tuple[Comparison, ...]:
    return (
        *against(table, names, left, "not less", rights, ACCURACY),
        *against(table, names, left, "not more", rights, LEAVES),
    )


CLAIMS = (
    Claim(
        "OC1 and other methods, discussion",
        "OC1 is more accurate than CART-LC in every domain.",
        {
            name: against(T1, REAL, f"OC1{way}", "more", ("CART-LC",), ACCURACY)
            for name, way in WAYS.items()
        },
        note="Stars and galaxies are not to be had. CART-LC is that of the OC1 program.",
    ),
    Claim(
        "OC1 and other methods, discussion",
        "The trees of OC1 and CART-LC have about the same size, except on dim stars.",
        {
            name: against(T1, REAL, f"OC1{way}", "same", ("CART-LC",), LEAVES)
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "OC1 and other methods, discussion",
        "OC1 has the highest accuracy on cancer and diabetes.",
        {
            name: against(
                T1, ("cancer", "diabetes"), f"OC1{way}", "more", ("CART-LC", *AXIS), ACCURACY
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "OC1 and other methods, discussion",
        "On iris and housing C4.5 is the most accurate, and OC1 the next.",
        {
            name: (
                *against(T1, ("iris", "housing"), "C4.5/93", "more", (f"OC1{way}",), ACCURACY),
                *against(
                    T1,
                    ("iris", "housing"),
                    f"OC1{way}",
                    "more",
                    ("CART-LC", "OC1-AP", "CART-AP"),
                    ACCURACY,
                ),
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "OC1 and other methods, discussion",
        "Oblique methods find smaller trees than the others, except on iris.",
        {
            name: against(T1, ("cancer", "housing", "diabetes"), method, "less", AXIS, LEAVES)
            for name, method in (
                ("ours", "OC1"),
                ("program", "OC1+program"),
                ("CART-LC", "CART-LC"),
            )
        },
    ),
    Claim(
        "abstract, introduction",
        "OC1's oblique trees are smaller and more accurate than its axis-parallel ones.",
        {
            name: (
                *_better(T1, REAL, f"OC1{way}", ("OC1-AP",)),
                *_better(T2, MADE, f"20:20{way}", ("OC1-AP",)),
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "the best axis-parallel split",
        "Axis-parallel trees of OC1 are not less accurate than those of CART and C4.5.",
        {"": against(T1, REAL, "OC1-AP", "not less", ("CART-AP", "C4.5/93"), ACCURACY)},
    ),
    Claim(
        "randomization helps OC1, discussion",
        "With more randomness trees are more accurate and smaller: 0:20, 20:0 and 20:20 against "
        "0:0.",
        {
            name: tuple(
                one
                for more in ("0:20", "20:0", "20:20")
                for one in _better(table, MADE, f"{more}{way}", (f"0:0{way}",))
            )
            for name, table, way in RUNS
        },
    ),
    Claim(
        "randomization helps OC1, discussion",
        "Restarts and jumps together, 20:20, are better than either alone.",
        {
            name: _better(table, MADE, f"20:20{way}", (f"0:20{way}", f"20:0{way}"))
            for name, table, way in RUNS
        },
    ),
    Claim(
        "randomization helps OC1, discussion",
        "On LS10 restarts help more than jumps: 20:0 is better than 0:20.",
        {
            name: _better(table, ("LS10",), f"20:0{way}", (f"0:20{way}",))
            for name, table, way in RUNS
        },
    ),
    Claim(
        "randomization",
        "A single random jump makes trees more accurate on every data set.",
        {
            name: against(SEARCH, EVERY, f"1:1{way}", "more", (f"1:0{way}",), ACCURACY)
            for name, way in WAYS.items()
        },
        note="One start, no restarts; the paper does not say how many.",
    ),
    Claim(
        "randomization",
        "More restarts make trees more accurate: 20 against one.",
        {
            name: against(SEARCH, EVERY, f"20:5{way}", "more", (f"1:5{way}",), ACCURACY)
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "randomization",
        "Beyond 20 to 50 restarts more of them change nothing: 100 are as accurate as 50.",
        {
            name: against(SEARCH, EVERY, f"100:5{way}", "same", (f"50:5{way}",), ACCURACY)
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "the perturbation algorithm",
        "In which order coefficients change does not matter: best first and at random are as "
        "accurate as in turn.",
        {
            name: against(
                SEARCH, EVERY, f"20:5{way}", "same", (f"best{way}", f"random{way}"), ACCURACY
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "randomization helps OC1, discussion",
        "On RCB OC1 comes near to the smallest tree, of 8 leaves, in nearly every run.",
        {
            name: against(table, ("RCB",), f"20:20{way}", "not more", (8.0,), LEAVES)
            for name, table, way in RUNS
        },
    ),
    Claim(
        "randomization helps OC1, discussion",
        "On POL OC1 finds the smallest tree, of 5 leaves, most of the time.",
        {
            name: against(table, ("POL",), f"20:20{way}", "more", (50.0,), smallest_trees(5))
            for name, table, way in RUNS
        },
    ),
    Claim(
        "randomization helps OC1, footnote",
        "With 10 restarts and 200 jumps OC1 consistently finds the one hyperplane of LS10.",
        {
            name: against(SEPARATOR, ("LS10",), f"10:200{way}", "more", (90.0,), smallest_trees(2))
            for name, way in WAYS.items()
        },
        note="Consistently: in more than nine of ten trees.",
    ),
    Claim(
        "impurity measures",
        "Information gain, gini and twoing are better on average than the other measures.",
        {
            f"{what}, {name}": against(
                MEASURES,
                EVERY,
                tuple(f"{what}/{measure}{way}" for measure in BETTER),
                "more",
                (tuple(f"{what}/{measure}{way}" for measure in WORSE),),
                ACCURACY,
            )
            for what, name, way in (
                ("OC1", "ours", ""),
                ("OC1", "program", "+program"),
                ("AP", "axis-parallel", ""),
            )
        },
        average=True,
        note="The mean accuracy of the three against that of the other three.",
    ),
    Claim(
        "randomization helps OC1, description of the data",
        "With information gain OC1's trees are not different from those with twoing.",
        {
            name: tuple(
                one
                for table, names in ((SEPARATOR, MADE[:1]), (ARTIFICIAL, MADE[1:]))
                for measure in (ACCURACY, LEAVES)
                for one in against(
                    table, names, f"20:20/entropy{way}", "same", (f"20:20/twoing{way}",), measure
                )
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "impurity measures; randomization helps OC1, discussion",
        "Sum minority easily finds the exact tree of POL.",
        {
            name: against(
                ARTIFICIAL,
                ("POL",),
                f"20:20/sum_minority{way}",
                "more",
                (90.0,),
                smallest_trees(5),
            )
            for name, way in WAYS.items()
        },
        note="Easily: in more than nine of ten trees.",
    ),
    Claim(
        "impurity measures; randomization helps OC1, discussion",
        "On POL sum minority finds the exact tree more often than any other measure.",
        {
            name: against(
                ARTIFICIAL,
                ("POL",),
                f"20:20/sum_minority{way}",
                "more",
                tuple(f"20:20/{m}{way}" for m in (*BETTER, *WORSE) if m != "sum_minority"),
                smallest_trees(5),
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "randomization helps OC1, discussion",
        "On POL sum minority takes less search than any other measure.",
        {
            name: against(
                ARTIFICIAL,
                ("POL",),
                f"20:20/sum_minority{way}",
                "less",
                tuple(f"20:20/{m}{way}" for m in (*BETTER, *WORSE) if m != "sum_minority"),
                HYPERPLANES,
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "randomization helps OC1, description of the data",
        "On RCB sum minority fails, and twoing does much better.",
        {
            name: _better(
                ARTIFICIAL, ("RCB",), f"20:20/twoing{way}", (f"20:20/sum_minority{way}",)
            )
            for name, way in WAYS.items()
        },
    ),
    Claim(
        "randomization helps OC1",
        "OC1's trees are as good as those of SADT and LMDT on the artificial data, or better.",
        {
            name: _as_good(table, MADE, f"20:20{way}", ("SADT", "LMDT"))
            for name, table, way in RUNS
        },
    ),
    Claim(
        "randomization helps OC1",
        "OC1's trees are better than those of SADT, and on POL and RCB than those of LMDT.",
        {
            name: (
                *_better(table, MADE, f"20:20{way}", ("SADT",)),
                *_better(table, MADE[1:], f"20:20{way}", ("LMDT",)),
            )
            for name, table, way in RUNS
        },
        note="The schedule of SADT is not published. Ours was chosen by these data.",
    ),
    Claim(
        "randomization helps OC1, discussion",
        "On POL and RCB LMDT's trees are larger and less accurate than those of SADT.",
        {name: _better(table, MADE[1:], "SADT", ("LMDT",)) for name, table in POINTS.items()},
    ),
    Claim(
        "randomization helps OC1, discussion",
        "On POL and RCB even OC1 without restarts and jumps is better than LMDT.",
        {name: _better(table, MADE[1:], f"0:0{way}", ("LMDT",)) for name, table, way in RUNS},
        note="Our LMDT does much better than the paper's, see its table 2 in Reproduction.",
    ),
    Claim(
        "randomization helps OC1, discussion",
        "SADT looks at many more hyperplanes than OC1.",
        {
            name: against(table, MADE, "SADT", "more", (f"20:20{way}",), HYPERPLANES)
            for name, table, way in RUNS
        },
    ),
    Claim(
        "conclusions",
        "Randomisation improves on the algorithm of CART-LC.",
        {
            name: (
                *_better(T2, MADE, f"20:20{way}", ("CART-LC",)),
                *against(T1, REAL, f"OC1{way}", "more", ("CART-LC",), ACCURACY),
            )
            for name, way in WAYS.items()
        },
        note="CART-LC is that of the OC1 program; that of the book is better.",
    ),
    Claim(
        "conclusions",
        "Randomisation does so without much more search: no more hyperplanes than CART-LC.",
        {
            name: against(table, MADE, f"20:20{way}", "not more", ("CART-LC",), HYPERPLANES)
            for name, table, way in RUNS
        },
    ),
)
