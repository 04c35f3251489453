"""Experiments for conclusions of which the papers' own tables hold no cells.

All are cross-validations as in OC1's tables: five simple folds, and the same divisions for all
methods. Methods with ``+program`` take features and make jumps as the original program does.

**claims-measures**: OC1 and axis-parallel trees with each of its six impurity measures, pruned as
in its table 1. **claims-search**: other numbers of restarts and jumps, and orders of the
coefficients. **claims-drawn**: its table 2 with points that each repeat draws anew, so that
repeats share none. **claims-artificial** and **claims-separator**: the same with each measure, 20
restarts and 20 jumps, and what its footnote 8 says of LS10. **claims-shuttle**: CART-LC of the OC1
program on Shuttle with that program's rule of making a leaf, and with its range of numbers; see
`reproduction.claims.lost`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.datasets import make_ls10, make_pol, make_rcb
from obliqua.select.methods import Method
from reproduction.papers.hhcart import TABLE_2 as HHCART_2
from reproduction.papers.oc1 import DATA_SETS_1, DATA_SETS_2, METHODS_2
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.tables import PaperTable

__all__ = ["ARTIFICIAL", "DRAWN", "MEASURES", "SEARCH", "SEPARATOR", "SHUTTLE", "TABLES"]

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


def _new_points(name: str, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
    make = {"LS10": make_ls10, "POL": make_pol, "RCB": make_rcb}[name]
    X, y = make(2000, random_state=rng, return_X_y=True)
    return X, y


def _drawn(name: str) -> ExperimentRows:
    """Return points that each repeat draws anew; processes must know how by its name."""
    draw = partial(_new_points, name)
    return ExperimentRows(*draw(np.random.default_rng(0)), draw=draw)


_MADE = tuple(
    DataSet(one.name, f"{one.title}, drawn anew", partial(_drawn, one.name)) for one in DATA_SETS_2
)
_TABLE_2 = (
    *(f"{r}:{j}{way}" for r in (0, 20) for j in (0, 20) for way in _WAYS),
    *("CART-LC", "OC1-AP", "SADT", "LMDT"),
)


def _unpruned(measure: str) -> list[Method]:
    title = f"20 restarts, 20 jumps, {measure}"
    return _climbs(f"20:20/{measure}", title, n_jumps=20, criterion=measure, pruning=None)


#: OC1's table 2 on other points.
DRAWN = _table(
    "claims-drawn",
    "OC1's table 2, points drawn anew in each repeat",
    data_sets=_MADE,
    methods=[method for method in METHODS_2 if method.name in _TABLE_2],
)

#: Trees that are not pruned, on data whose smallest tree is known.
ARTIFICIAL = _table(
    "claims-artificial",
    "OC1's impurity measures without pruning",
    data_sets=_MADE[1:],
    methods=[method for measure in (*BETTER, *WORSE) for method in _unpruned(measure)],
)

#: What it takes to find a hyperplane in ten dimensions.
SEPARATOR = _table(
    "claims-separator",
    "OC1 on LS10, without pruning",
    data_sets=_MADE[:1],
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
TABLES = (MEASURES, SEARCH, DRAWN, ARTIFICIAL, SEPARATOR, SHUTTLE)
