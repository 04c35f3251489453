"""The methods that can be named: on the command line, in `compare`, in whatever comes later.

A new method is one more line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from obliqua.estimators.repeated import RepeatedTreesClassifier

__all__ = [
    "BY_DEFAULT",
    "DEFAULTS",
    "METHODS",
    "NUMBER_METHODS",
    "Method",
    "by_default",
    "default_method",
    "find_method",
    "methods_for",
    "repeated",
]


@dataclass(frozen=True)
class Method:
    """An estimator class and its parameters under a short name.

    The class is named, not given, and is imported when the method is first used: a list
    may name methods that the program at hand does not need.

    Parameters
    ----------
    name : str
        The name in tables and on the command line.
    title : str
        What it is, in a few words.
    estimator : str
        Where the class lives, for instance ``"obliqua.CartClassifier"``, or a function that
        makes the estimator.
    params : mapping
        Parameters of its constructor. ``random_state`` is added by `make`.
    """

    name: str
    title: str
    estimator: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def make(self, random_state: int | None) -> Any:
        """Make an unfitted estimator.

        Parameters
        ----------
        random_state : int or None
            Its seed.

        Returns
        -------
        estimator
            The estimator.
        """
        module, _, name = self.estimator.rpartition(".")
        try:
            return getattr(import_module(module), name)(**self.params, random_state=random_state)
        except (ImportError, AttributeError, TypeError) as error:
            raise ValueError(f"the method {self.name} cannot be made: {error}") from error


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
        _hhcart("hhcart-g", "HHCART(G): one reflection, to an angle bisector", "geometric"),
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
            "obliqua.select.methods.repeated",
            {"method": "oc1", "n_estimators": 11, "settings": {"pruning": "holdout"}},
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
        Method("forest", "forest: the mean of many trees", "obliqua.ObliqueForestClassifier"),
        Method("sadt", "SADT: simulated annealing", "obliqua.SADTClassifier"),
        Method("means", "differences of class means", "obliqua.ObliqueTreeClassifier"),
        Method(
            "sklearn", "scikit-learn's tree, not pruned", "sklearn.tree.DecisionTreeClassifier"
        ),
    )
}


def _numbers(name: str, title: str, kind: str, leaf_model: str | None = None) -> Method:
    params = {} if leaf_model is None else {"leaf_model": leaf_model}
    return Method(name, title, f"obliqua.{kind}Regressor", params)


#: The same for methods that learn numbers.
NUMBER_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _numbers("cart", "CART: one feature per split", "Cart"),
        _numbers("cart-linear", "CART, linear functions in the leaves", "Cart", "linear"),
        _numbers("oblique", "oblique splits along slopes", "ObliqueTree"),
        _numbers(
            "oblique-linear",
            "oblique, linear functions in the leaves",
            "ObliqueTree",
            "linear",
        ),
        _numbers("refined", "refined: all splits moved together", "RefinedTree"),
        _numbers("refined-constant", "refined, a number in each leaf", "RefinedTree", "constant"),
        _numbers(
            "refined-linear", "refined, linear functions in the leaves", "RefinedTree", "linear"
        ),
        _numbers("forest", "forest: the mean of many trees", "ObliqueForest"),
        Method("sklearn", "scikit-learn's tree, not pruned", "sklearn.tree.DecisionTreeRegressor"),
    )
}

#: What to start with, as `benchmarks.defaults` has chosen it, up to so many features; with more it
#: takes too long, and the next one is taken.
DEFAULTS: dict[str, tuple[tuple[str, float], ...]] = {
    "classification": (("refined", 5_000), ("hhcart-d-fisher", inf)),
    "regression": (("oblique-linear", 400), ("oblique", inf)),
}

#: What `compare` runs if it is told no names. A fit of AFT and ODT grows 40 trees first: both
#: together take twice as long as all the rest. HHCART(G) is one HHCART more among four.
BY_DEFAULT = tuple(name for name in METHODS if name not in ("aft", "odt", "hhcart-g"))


def methods_for(task: str) -> dict[str, Method]:
    """Return the methods that learn classes ("classification") or numbers ("regression")."""
    return METHODS if task == "classification" else NUMBER_METHODS


def by_default(task: str) -> tuple[str, ...]:
    """Return the names of what `compare` runs if it is told none."""
    return BY_DEFAULT if task == "classification" else tuple(NUMBER_METHODS)


def default_method(task: str, n_features: int) -> str:
    """Return the name of the method that is taken if none is named."""
    return next(name for name, most in DEFAULTS[task] if n_features <= most)


def find_method(name: str, task: str = "classification") -> Method:
    """Return the method of a name.

    Parameters
    ----------
    name : str
        One of `METHODS`, or of `NUMBER_METHODS`.
    task : {"classification", "regression"}, default="classification"
        What it is to learn.

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
    >>> from obliqua.select.methods import find_method
    >>> find_method("hhcart-d").title
    'HHCART(D): the dominant eigenvector'
    """
    methods = methods_for(task)
    if name not in methods:
        known = name in METHODS or name in NUMBER_METHODS
        near = [] if known else get_close_matches(name.lower(), methods, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        what, other = "classes", "numbers"
        if task == "regression":
            what, other = other, what
        wrong = f"The method {name!r} learns {other}, not {what}."
        raise ValueError(
            f"{wrong if known else f'There is no method {name!r}.'}{hint} The methods that learn "
            f"{what} are {', '.join(methods)}."
        )
    return methods[name]


def repeated(
    method: str,
    random_state: int | None = None,
    settings: Mapping[str, Any] | None = None,
    **params: Any,
) -> RepeatedTreesClassifier:
    """Make a vote, or a choice, of trees of a method that has a name; `settings` are its own."""
    from obliqua.estimators.repeated import RepeatedTreesClassifier

    tree = find_method(method).make(None).set_params(**(settings or {}))
    return RepeatedTreesClassifier(tree, random_state=random_state, **params)
