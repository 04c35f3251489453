"""Several trees of a randomised method: what a vote and the best of several are worth.

The OC1 paper says that a randomised method offers new kinds of classifiers, for instance the vote
of several trees, and gives no figures. Here they are measured as its table 1: ten five-fold
cross-validations on four of its data sets. The leaves of a vote are those of all its trees.

All methods see the same folds and have the same seed in each. The trees of a vote of five are the
first five of those of a vote of eleven.
"""

from __future__ import annotations

from typing import Any

from obliqua.select.methods import Method
from reproduction.papers.oc1 import DATA_SETS_1, PUBLISHED_1
from reproduction.tables import PaperTable

__all__ = ["METHODS", "TABLE_REPEATED"]


def _of_oc1(name: str, title: str, n_trees: int, combine: str, **more: Any) -> Method:
    return _of("oc1", name, title, n_estimators=n_trees, combine=combine, **more)


def _of(method: str, name: str, title: str, **params: Any) -> Method:
    home = "obliqua.select.methods.repeated"
    return Method(name, title, home, {"method": method, **params})


_WHOLE = {"pruning": None}
_COUNTS = (1, 5, 11, 21)

METHODS = (
    Method("OC1", "one tree", "obliqua.OC1Classifier"),
    *(_of_oc1(f"vote {k}", f"the vote of {k} trees", k, "vote") for k in _COUNTS),
    *(_of_oc1(f"best {k}", f"the best of {k} on a held-out fifth", k, "best") for k in _COUNTS),
    # To tell apart what makes the difference.
    _of_oc1("mean 11", "the mean of the shares of 11 trees", 11, "mean"),
    _of_oc1(
        "best 11/10", "the best of 11 on a held-out tenth", 11, "best", selection_fraction=0.1
    ),
    _of_oc1(
        "best 11/training", "the best of 11 on the training rows", 11, "best", selection="training"
    ),
    _of_oc1("vote 11/whole", "the vote of 11 trees, not pruned", 11, "vote", settings=_WHOLE),
    _of_oc1("mean 11/whole", "the mean of 11 trees, not pruned", 11, "mean", settings=_WHOLE),
    _of_oc1(
        "best 11/whole",
        "the best of 11, not pruned, on a held-out fifth",
        11,
        "best",
        settings=_WHOLE,
    ),
    Method("OC1/whole", "one tree, not pruned", "obliqua.OC1Classifier", _WHOLE),
    Method("SADT", "one tree", "obliqua.SADTClassifier"),
    _of("sadt", "SADT vote 11", "the vote of 11 trees", n_estimators=11),
    Method("LMDT", "one tree", "obliqua.LMDTClassifier"),
    _of("lmdt", "LMDT vote 11", "the vote of 11 trees", n_estimators=11),
    Method("HHCART(A)", "one tree, nothing random", "obliqua.HHCartClassifier"),
    _of("hhcart-a", "HHCART(A) vote 11", "11 trees, each with other rows to prune it"),
)

#: Votes and choices of OC1's trees on the data of its table 1.
TABLE_REPEATED = PaperTable(
    name="oc1-repeated",
    title="votes of several OC1 trees, and the best of several",
    data_sets=DATA_SETS_1,
    methods=METHODS,
    standard=tuple(method.name for method in METHODS),
    published={one.name: {"OC1": PUBLISHED_1[one.name]["OC1"]} for one in DATA_SETS_1},
    prototype={},
)
