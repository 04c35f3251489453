"""Experiments for conclusions of which the papers' own tables hold no cells.

All are cross-validations as in OC1's tables: five simple folds, and the same divisions for all
methods. Methods with ``+program`` take features and make jumps as the original program does.

**claims-measures**: OC1 and axis-parallel trees with each of its six impurity measures, pruned as
in its table 1. **claims-search**: other numbers of restarts and jumps, and orders of the
coefficients. **claims-artificial** and **claims-separator**: unpruned trees as in its table 2,
with 20 restarts and 20 jumps, and what its footnote 8 says of LS10. **claims-shuttle**: CART-LC of
the OC1 program on Shuttle with that program's rule of making a leaf, and with its range of
numbers; see `reproduction.claims.lost`.
"""

from __future__ import annotations

from typing import Any

from obliqua.select.methods import Method
from reproduction.papers.hhcart import TABLE_2 as HHCART_2
from reproduction.papers.oc1 import DATA_SETS_1, DATA_SETS_2
from reproduction.tables import PaperTable

__all__ = ["ARTIFICIAL", "MEASURES", "SEARCH", "SEPARATOR", "SHUTTLE", "TABLES"]

#: The six measures of the paper, those first that it finds better on average.
BETTER = ("twoing", "gini", "entropy")
WORSE = ("max_minority", "sum_minority", "sum_variances")
#: Numbers of starts.
RESTARTS = (1, 20, 50, 100)

_PROGRAM: dict[str, Any] = {"scale": None, "jump_search": "program"}
_WAYS: dict[str, dict[str, Any]] = {"": {}, "+program": _PROGRAM}
_AXIS: dict[str, Any] = {"min_samples_split": 2, "zero_gain_splits": False, "pruning": "holdout"}
_LINEAR: dict[str, Any] = {"variant": "oc1", "pruning": "holdout"}


def _climbs(name: str, title: str, **params: Any) -> list[Method]:
    """OC1, ours and with the program's features and jumps."""
    return [
        Method(f"{name}{way}", title, "obliqua.OC1Classifier", {**params, **more})
        for way, more in _WAYS.items()
    ]


def _table(name: str, title: str, **parts: Any) -> PaperTable:
    methods = tuple(parts.pop("methods"))
    return PaperTable(
        name=name,
        title=title,
        methods=methods,
        standard=tuple(method.name for method in methods),
        published={},
        prototype={},
        **parts,
    )


#: The six impurity measures.
MEASURES = _table(
    "claims-measures",
    "OC1's impurity measures",
    data_sets=(*DATA_SETS_1, *DATA_SETS_2),
    methods=[
        method
        for measure in (*BETTER, *WORSE)
        for method in (
            *_climbs(f"OC1/{measure}", f"20 restarts, 5 jumps, {measure}", criterion=measure),
            Method(
                f"AP/{measure}",
                f"axis-parallel, {measure}",
                "obliqua.CartClassifier",
                {**_AXIS, "criterion": measure},
            ),
        )
    ],
)

#: How hard OC1 searches.
SEARCH = _table(
    "claims-search",
    "OC1's restarts, jumps and orders of coefficients",
    data_sets=(*DATA_SETS_1, *DATA_SETS_2),
    methods=[
        *(
            method
            for n in RESTARTS
            for method in _climbs(f"{n}:5", f"{n} starts, 5 jumps", n_restarts=n)
        ),
        *_climbs("1:0", "one start, no jump", n_restarts=1, n_jumps=0),
        *_climbs("1:1", "one start, one jump", n_restarts=1, n_jumps=1),
        *_climbs("best", "the coefficient that gains most", order="best"),
        *_climbs("random", "any coefficient, fifty times", order="random", n_picks=50),
    ],
)


def _unpruned(measure: str) -> list[Method]:
    title = f"20 restarts, 20 jumps, {measure}"
    return _climbs(f"20:20/{measure}", title, n_jumps=20, criterion=measure, pruning=None)


#: Trees that are not pruned, on data whose smallest tree is known.
ARTIFICIAL = _table(
    "claims-artificial",
    "OC1's impurity measures without pruning",
    data_sets=DATA_SETS_2[1:],
    methods=[method for measure in (*BETTER, *WORSE) for method in _unpruned(measure)],
)

#: What it takes to find a hyperplane in ten dimensions.
SEPARATOR = _table(
    "claims-separator",
    "OC1 on LS10, without pruning",
    data_sets=DATA_SETS_2[:1],
    methods=[
        *_unpruned("twoing"),
        *_unpruned("entropy"),
        *_climbs("10:200", "10 restarts, 200 jumps", n_restarts=10, n_jumps=200, pruning=None),
    ],
)

#: The program's rule of making a leaf, on the data on which its CART-LC does badly in the paper.
SHUTTLE = _table(
    "claims-shuttle",
    "CART-LC of the OC1 program on Shuttle, with its rule of making a leaf",
    data_sets=tuple(one for one in HHCART_2.data_sets if one.name == "SHUT"),
    methods=[
        Method(name, title, f"reproduction.claims.lost.{kind}", _LINEAR)
        for name, title, kind in (
            ("LC+leaf", "CART-LC; all rows on one side make a leaf", "LeafWhereLost"),
            ("LC+single", "the same with numbers up to 3.4e38", "LeafBeyondSingle"),
        )
    ],
)

#: All of them.
TABLES = (MEASURES, SEARCH, ARTIFICIAL, SEPARATOR, SHUTTLE)
