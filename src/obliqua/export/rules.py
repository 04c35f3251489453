"""`export_rules`: a tree as rules, one per leaf."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from obliqua.errors import TreeError
from obliqua.export.conditions import Condition, Paths
from obliqua.export.text import check_limits
from obliqua.words.phrases import (
    cells,
    holds_values,
    written_label,
    written_number_of_rows,
    written_share,
)
from obliqua.words.subject import Subject, subject_of

__all__ = ["Rule", "export_rules"]

WIDTH = 100  # a rule that is longer is written in several lines
NOTE = " " * 7  # stands before what is said of a condition


@dataclass(frozen=True)
class Rule:
    """What leads to one leaf, and what is found there.

    ``str(rule)`` is the rule in words, with a condition per line if it is long.

    Parameters
    ----------
    leaf : int
        The node number of the leaf, as `apply` gives it.
    label : object
        The class that it predicts, as it is in `y`.
    class_name : str
        What that class is called.
    conditions : tuple of Condition
        What holds for the rows that reach the leaf: `Between`, `OneOf` or `Largest`. All of
        them must hold.
    rows : int
        How many training rows reach it.
    weight : float
        Their weight.
    share : float
        The share of the class in that weight; NaN if there is none.
    lift : float
        That share divided by the share of the class among all training rows: how much more
        frequent the class is here. NaN if there is none.
    """

    leaf: int
    label: Any
    class_name: str
    conditions: tuple[Condition, ...]
    rows: int
    weight: float
    share: float
    lift: float

    @property
    def text(self) -> str:
        """The rule on one line."""
        if not self.conditions:
            return f"always {self._conclusion}"
        return f"if {' and '.join(map(str, self.conditions))} then {self._conclusion}"

    @property
    def _conclusion(self) -> str:
        facts = written_number_of_rows(self.rows, self.weight)
        if not math.isnan(self.share):
            facts += f", {written_share(self.share)}"
        return f"{written_label(self.class_name)} ({facts})"

    def __str__(self) -> str:
        if cells(self.text) <= WIDTH:
            return self.text
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Write the rule with a condition per line, and below it what levels count in it.

        Returns
        -------
        list of str
            The lines.
        """
        if not self.conditions:
            return [self.text]
        written: list[str] = []
        for condition in self.conditions:
            text, *notes = condition.lines
            written.append(f"{'   and' if written else 'if'} {text}")
            written += [f"{NOTE}{note}" for note in notes]
        return [*written, f"   then {self._conclusion}"]


ORDERS: dict[str, Callable[[Rule], Any] | None] = {
    "rows": lambda rule: (-rule.weight, -rule.rows),
    "share": lambda rule: (math.isnan(rule.share), -rule.share, -rule.weight),
    "tree": None,
}


def export_rules(
    model: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
    max_terms: int | None = None,
    digits: int = 4,
    order: str = "rows",
    exact: bool = False,
) -> list[Rule]:
    r"""Write a tree as rules: one per leaf, of which exactly one holds for any row.

    Conditions on the same sum of features are merged into one, ``2 < age <= 5`` for instance,
    and those that say nothing new are left out. So are those on the level of one qualitative
    feature: ``(town in {Bonn, Rome} or is missing)`` are the levels that reach the leaf. A level
    that was not there in training *is new*. In a sum such a feature is a score, and what its
    levels count stands behind the condition, in brackets or on a line of its own.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of this library, a model that was loaded, or a tree.
    feature_names : sequence of str, default=None
        Names of the features instead of those that the model knows.
    class_names : sequence of str, default=None
        Names of the classes, in the order of `classes_`, instead of their labels.
    tree : int, default=None
        Which tree of a model with several.
    max_terms : int, default=None
        How many features of a condition to show, those first that move rows most; the others
        are counted. None shows all.
    digits : int, default=4
        How many significant digits to show.
    order : {"rows", "share", "class", "tree"}, default="rows"
        Which rules come first: those with the most weight of training rows; those with the
        largest share of their class; those of the first class, with the most weight first; or
        those at the left of the tree.
    exact : bool, default=False
        Whether to write the conditions to the last digit, with the tree's own coefficients in
        the order in which the tree adds them up, instead of scaled to a leading coefficient of
        1 and rounded, and to say what missing numbers count in a sum, and which conditions on
        one number hold where it is missing (the conditions' attribute `missing` says it in any
        case). `digits` and `max_terms` are not used then.

    Returns
    -------
    list of Rule
        The rules. ``print(*rules, sep="\n")`` prints them.

    Raises
    ------
    TypeError
        If `model` holds no tree.
    ValueError
        If a parameter makes no sense, or the names are not as many as there are columns or
        classes.
    TreeError
        If the nodes hold values of a function, as those of a component of an ensemble.

    See Also
    --------
    export_text : The same as a tree.

    Examples
    --------
    >>> from obliqua import TreeBuilder, export_rules
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0}, 5.0, ("young", "old"))
    >>> builder.add_split("young", {0: 1.0}, 2.0, ("baby", "child"))
    >>> builder.set_leaf("baby", [1, 7], n_samples=8)
    >>> builder.set_leaf("child", [4, 0], n_samples=4)
    >>> builder.set_leaf("old", [0, 3], n_samples=3)
    >>> rules = export_rules(builder.build(), feature_names=["age", "bmi"])
    >>> print(*rules, sep="\n")
    if age <= 2 then class 1 (8 rows, 88 %)
    if 2 < age <= 5 then class 0 (4 rows, 100 %)
    if age > 5 then class 1 (3 rows, 100 %)
    >>> rules[1].conditions[0].low, rules[1].lift
    (2.0, 3.0)
    """
    subject = subject_of(model, feature_names, class_names, tree)
    if holds_values(subject):
        raise TreeError(
            "The nodes of this tree hold values of a function, some of them negative, and rules "
            "are about shares of rows. export_text and plot_tree show values."
        )
    check_limits(max_terms=max_terms)
    check_limits(1, digits=digits)
    if order not in (*ORDERS, "class"):
        known = ", ".join(map(repr, (*ORDERS, "class")))
        raise ValueError(f"order must be one of {known}; got {order!r}.")
    paths = Paths(subject, digits, max_terms, exact)
    rules = [_rule(subject, leaf, conditions) for leaf, conditions in paths.leaves()]
    if order == "class":
        rules.sort(key=lambda rule: (int(subject.tree.leaf_label[rule.leaf]), -rule.weight))
    else:
        key = ORDERS[order]
        if key is not None:
            rules.sort(key=key)
    return rules


def _rule(subject: Subject, leaf: int, conditions: tuple[Condition, ...]) -> Rule:
    tree = subject.tree
    label = int(tree.leaf_label[leaf])
    weight = float(tree.weighted_n_node_samples[leaf])
    share = lift = math.nan
    if tree.stats[leaf].any():
        share = float(tree.proportion[leaf, label])
        everywhere = float(tree.proportion[0, label]) if tree.stats[0].any() else 0.0
        lift = share / everywhere if everywhere > 0 else math.nan
    return Rule(
        leaf,
        subject.classes.tolist()[label],
        subject.class_names[label],
        conditions,
        int(tree.n_samples[leaf]),
        weight,
        share,
        lift,
    )
