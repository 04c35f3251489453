"""OC1 and HHCART side by side on the nine small data sets of HHCART's table 2.

The protocol is that of both papers: ten five-fold cross-validations, a tenth of the training rows
held out for pruning. The published figures are HHCART's, of its own methods and of its re-run of
OC1 (Wickramarachchi and others, 2016); the program's are of the original one, version 3, run on
the same data with the seeds 1 to 10.
"""

from __future__ import annotations

from typing import Any

from obliqua.select.methods import Method
from obliqua.select.result import Figure
from reproduction.entries import TableEntry
from reproduction.papers import hhcart
from reproduction.tables import PaperTable

__all__ = ["METHODS", "PROGRAM", "PUBLISHED", "TABLE"]


def _climb(name: str, title: str, **params: Any) -> Method:
    return Method(name, title, "obliqua.OC1Classifier", params)


METHODS = (
    *(method for method in hhcart.METHODS if method.name in ("A", "D", "D+fisher", "AP")),
    _climb("OC1", "OC1: 20 restarts, 5 jumps"),
    _climb("OC1+fisher", "OC1, one start along Fisher's direction", guided_start="fisher"),
    _climb(
        "OC1+2+fisher",
        "OC1, two starts, one along Fisher's direction",
        n_restarts=2,
        guided_start="fisher",
    ),
    _climb(
        "OC1+backward", "OC1, features of little use are left out", feature_selection="backward"
    ),
    _climb("OC1+forward", "OC1, features join one by one", feature_selection="forward"),
    _climb("OC1/3", "OC1, at most 3 features per split", max_features_per_split=3),
    _climb(
        "OC1+program",
        "OC1, features and jumps as in the original program",
        scale=None,
        jump_search="program",
    ),
    Method("LC", "CART-LC as in the OC1 program", "obliqua.CartLCClassifier", {"variant": "oc1"}),
    Method("LC+book", "CART-LC as in Breiman et al. (1984)", "obliqua.CartLCClassifier"),
)

_UNKNOWN = float("nan")
_Rows = dict[str, tuple[tuple[float, ...], ...]]


def _entries(names: tuple[str, ...], rows: _Rows) -> dict[str, dict[str, TableEntry]]:
    """By data set and method: accuracy, leaves, their deviations, CPU ms."""
    return {
        data_set: {name: _entry(*figures) for name, figures in zip(names, row, strict=True)}
        for data_set, row in rows.items()
    }


def _entry(
    accuracy: float, accuracy_sd: float, leaves: float, leaves_sd: float, cpu_ms: float = _UNKNOWN
) -> TableEntry:
    return TableEntry(
        Figure(accuracy, accuracy_sd), Figure(leaves, leaves_sd), cpu_ms=Figure(cpu_ms)
    )


#: Table 2 of HHCART. Its authors have run the original program; here its figures stand beside
#: our own OC1.
PUBLISHED = {
    data_set.name: {
        ours: hhcart.PUBLISHED_2[data_set.name][theirs]
        for ours, theirs in (
            *(("A", "A"), ("D", "D"), ("AP", "AP"), ("OC1", "OC1+program"), ("LC", "LC")),
        )
    }
    for data_set in hhcart.DATA_SETS[:9]
}

#: From the original program. Beside OC1+program: it takes features as they are.
PROGRAM = _entries(
    ("OC1+program", "AP", "LC"),
    {
        "BC": (
            (95.4, 0.3, 2.7, 0.8, 185.8),
            (94.1, 0.9, 6.7, 3.4, 1.9),
            (95.4, 0.6, 4.5, 1.7, 9.9),
        ),
        "BH": (
            (83.0, 1.6, 6.0, 2.2, 149.7),
            (82.2, 1.2, 9.8, 3.0, 3.1),
            (82.8, 1.4, 8.7, 2.2, 15.2),
        ),
        "PIND": (
            (73.2, 1.8, 6.7, 4.2, 273.5),
            (74.3, 1.1, 10.7, 7.0, 3.4),
            (73.8, 0.6, 8.9, 6.6, 24.2),
        ),
        "BS": (
            (91.5, 1.3, 6.1, 1.7, 130.0),
            (78.2, 1.2, 36.4, 9.7, 1.6),
            (84.8, 1.2, 11.9, 4.2, 9.3),
        ),
        "BUPA": (
            (66.9, 1.8, 7.4, 4.0, 90.9),
            (63.5, 2.9, 13.7, 8.3, 1.4),
            (63.9, 2.3, 11.9, 5.8, 5.7),
        ),
        "GLS": (
            (63.2, 3.4, 9.9, 3.5, 43.7),
            (64.9, 4.5, 15.1, 3.8, 1.1),
            (65.8, 4.3, 11.9, 3.2, 4.3),
        ),
        "HRT": (
            (76.4, 2.8, 4.1, 1.7, 54.4),
            (76.4, 3.5, 7.1, 3.4, 1.2),
            (75.9, 1.9, 4.5, 1.3, 6.8),
        ),
        "WINE": (
            (89.9, 3.3, 3.6, 0.3, 19.6),
            (89.8, 2.3, 4.6, 0.6, 0.9),
            (90.4, 2.1, 3.8, 0.4, 2.4),
        ),
        "SUR": (
            (71.7, 2.9, 6.4, 3.8, 28.6),
            (71.2, 2.2, 9.7, 11.7, 0.8),
            (71.4, 1.9, 7.5, 5.5, 2.6),
        ),
    },
)
PROGRAM = {name: {**row, "OC1": row["OC1+program"]} for name, row in PROGRAM.items()}

#: Nine data sets, both methods.
TABLE = PaperTable(
    name="oc1-hhcart",
    title="OC1 and HHCART on the small data sets of HHCART's table 2",
    data_sets=hhcart.DATA_SETS[:9],
    methods=METHODS,
    standard=tuple(method.name for method in METHODS),
    published=PUBLISHED,
    prototype=PROGRAM,
    reference="program",
    effort=True,
)
