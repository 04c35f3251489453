"""The methods that can be named: on the command line, in `compare`, in whatever comes later.

A new method is one more line here.
"""

from __future__ import annotations

from difflib import get_close_matches

from obliqua.experiments.protocol import Method

__all__ = ["BY_DEFAULT", "METHODS", "find_method"]


def _hhcart(name: str, title: str, variant: str, **more: object) -> Method:
    return Method(name, title, "obliqua.HHCartClassifier", {"variant": variant, **more})


#: Methods by name, in the order in which tables show them. Parameters that are not given have
#: the estimator's own defaults.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("cart", "CART: one feature per split", "obliqua.CartClassifier"),
        Method("c45", "C4.5: gain ratio, pessimistic pruning", "obliqua.C45Classifier"),
        _hhcart("hhcart-a", "HHCART(A): all eigenvectors", "all"),
        _hhcart("hhcart-d", "HHCART(D): the dominant eigenvector", "dominant"),
        _hhcart(
            "hhcart-d-fisher",
            "HHCART(D) + Fisher directions",
            "dominant",
            extra_directions="fisher",
        ),
        _hhcart(
            "hhcart-3",
            "HHCART(A) + Fisher, at most 3 features",
            "all",
            extra_directions="fisher",
            max_features_per_split=3,
        ),
        Method(
            "refined",
            "refined: all splits moved together",
            "obliqua.RefinedTreeClassifier",
        ),
        Method(
            "fdt", "FDT: Fisher's direction, pessimistic pruning", "obliqua.FisherTreeClassifier"
        ),
        Method(
            "etct",
            "2C-ETCT: eigen transformations",
            "obliqua.EigenTreeClassifier",
        ),
        Method("quest", "QUEST: one feature per split", "obliqua.QuestClassifier"),
        Method(
            "quest-linear",
            "QUEST: linear combinations",
            "obliqua.QuestClassifier",
            {"split": "linear"},
        ),
        Method("cart-lc", "CART-LC: linear combinations", "obliqua.CartLCClassifier"),
        Method(
            "cart-lc-oc1",
            "CART-LC as in the OC1 program",
            "obliqua.CartLCClassifier",
            {"variant": "oc1"},
        ),
        Method("lmdt", "LMDT: linear machines, a branch per class", "obliqua.LMDTClassifier"),
        Method("oc1", "OC1: climbing, with restarts and jumps", "obliqua.OC1Classifier"),
        Method(
            "oc1-vote",
            "OC1: the vote of several trees",
            "obliqua.experiments.repeated.repeated",
            {"method": "oc1", "n_estimators": 11},
        ),
        Method(
            "aft",
            "AFT: one tree for bagged C4.5 trees",
            "obliqua.AggregatedTreeClassifier",
        ),
        Method(
            "odt",
            "ODT: components of bagged C4.5 trees",
            "obliqua.OrthogonalTreesClassifier",
        ),
        Method("sadt", "SADT: simulated annealing", "obliqua.SADTClassifier"),
        Method("means", "differences of class means", "obliqua.ObliqueTreeClassifier"),
        Method(
            "sklearn", "scikit-learn's tree, not pruned", "sklearn.tree.DecisionTreeClassifier"
        ),
    )
}

#: What `compare` runs if it is told no names. A fit of the others grows 40 trees first: both
#: together take twice as long as all the rest.
BY_DEFAULT = tuple(name for name in METHODS if name not in ("aft", "odt"))


def find_method(name: str) -> Method:
    """Return the method of a name.

    Parameters
    ----------
    name : str
        One of `METHODS`.

    Returns
    -------
    Method
        The method.

    Raises
    ------
    ValueError
        If there is none; the message names the nearest, and all.

    Examples
    --------
    >>> from obliqua.experiments.methods import find_method
    >>> find_method("hhcart-d").title
    'HHCART(D): the dominant eigenvector'
    """
    if name not in METHODS:
        near = get_close_matches(name.lower(), METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"There is no method {name!r}.{hint} The methods are {', '.join(METHODS)}."
        )
    return METHODS[name]
