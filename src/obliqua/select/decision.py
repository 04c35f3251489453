"""Which tree, if any: the rules by which `advise` decides, as a function of what was measured.

One candidate is *ahead* of another by half a point of accuracy at least; where numbers are learnt,
if its root mean square error is at least 2 % smaller. It *beats* the other if it is ahead and the
corrected paired t-test finds the difference, of accuracy or of R2, at 5 %, both tails. What is
smaller changes nobody's mind, and what is not found is noise. Only one tail counts, so with two
candidates that might beat a third by luck the chance is still at most 5 %; with more, p-values are
multiplied by half their number.

The *plain* tree is axis-parallel, with a class or a number in each leaf. A *richer* one has
oblique splits, or linear functions in its leaves.

1. What does not beat the most frequent class, or the mean, has *learnt* nothing. If no candidate
   has learnt anything, none is recommended.
2. Richer trees *pay in accuracy* if one that has learnt something beats the plain one. They *pay
   in size* if the plain tree neither beats nor is twice that far ahead of such a one that has at
   most half its leaves, beyond noise, and no more terms. They *perhaps* pay if the linear model or
   the forest beats the plain tree, but not such a richer one that is ahead of it and at least half
   of the way there. It is *unclear* whether they pay if one is ahead, or has at most half the
   leaves and no more terms, and that may be noise. Otherwise they do not pay.
3. Where they do not pay, or that is unclear, the tree to take is the plain one. Where they pay, or
   perhaps do, it is a richer tree for which that is so, in accuracy none that the most accurate of
   them beats; of these the one with the fewest terms. If the plain tree has learnt nothing, it is
   the one with the fewest terms among the trees that have; if no tree has, none is taken.
4. If the linear model or the forest beats that tree, it is recommended in its place: the linear
   model, unless the forest beats it. If there is no tree to take, those of them that have learnt
   something stand for those that beat it.

*Terms* are what a reader has to take in: splits times features per split, and leaves times
features of their linear functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from obliqua.select.result import LEVEL

__all__ = [
    "FLOORS",
    "RICHER",
    "WORTH",
    "Decision",
    "Evidence",
    "Measured",
    "decide",
    "gain_of",
    "settled",
]

#: A smaller gain changes nobody's mind: in accuracy; in shares of the root mean square error.
WORTH = {"classification": 0.005, "regression": 0.02}
#: The kinds of trees that are more than a plain one.
RICHER = ("oblique", "leaves")
#: To pay in size, a tree has at most this share of the leaves of a plain one.
FEWER_LEAVES = 0.5
#: The level for what is said where nothing else was found.
SURE = 0.01
#: By what factor a p-value of one cross-validation may well be wrong.
DOUBT = 5.0
#: The choice where nothing is better than always giving the same answer.
FLOORS = {"classification": "majority", "regression": "mean"}


@dataclass(frozen=True)
class Measured:
    """What cross-validation says of a candidate.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"axis", "oblique", "leaves", "linear", "forest", "floor"}
        What it is; "leaves" has linear functions in its leaves.
    score, macro_f : float
        The mean share of right answers, and the mean of the classes' F-measures. Of numbers, R2.
    leaves, features_per_split, features_per_leaf : float
        Means over the folds; NaN if there are none.
    """

    name: str
    kind: str
    score: float
    macro_f: float = math.nan
    leaves: float = math.nan
    features_per_split: float = math.nan
    features_per_leaf: float = math.nan

    @property
    def terms(self) -> float:
        """What a reader has to take in: features of splits, and of functions in leaves."""
        splits = self.leaves - 1.0
        of_splits = splits * self.features_per_split if splits > 0 else 0.0
        lines = not math.isnan(self.features_per_leaf)
        return of_splits + (self.leaves * self.features_per_leaf if lines else 0.0)


@dataclass(frozen=True)
class Evidence:
    """What a decision rests on.

    Parameters
    ----------
    measured : sequence of Measured
        The candidates, one of them axis-parallel and one the floor.
    p_score, p_leaves : mapping of (str, str) to float
        The p-value of the difference of two candidates, by their names in either order; what is
        not there is 1.
    p_rare : mapping of str to float
        By name, the p-value of finding rare classes better than chance; what is not there is 1.
    task : {"classification", "regression"}
        Whether classes or numbers were learnt.
    se_score : mapping of (str, str) to float
        The standard error of the difference of two candidates; what is not there is not known.
    """

    measured: Sequence[Measured]
    p_score: Mapping[tuple[str, str], float]
    p_leaves: Mapping[tuple[str, str], float]
    p_rare: Mapping[str, float] = field(default_factory=dict)
    task: str = "classification"
    se_score: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> list[Measured]:
        """Return the candidates of some kinds.

        Parameters
        ----------
        *kinds : str
            The kinds.

        Returns
        -------
        list of Measured
            The candidates, as they were given.
        """
        return [each for each in self.measured if each.kind in kinds]

    @property
    def axis(self) -> Measured:
        """The plain, axis-parallel tree."""
        return self.of_kind("axis")[0]

    @property
    def richer(self) -> list[Measured]:
        """The trees with oblique splits, or with linear functions in their leaves."""
        return self.of_kind(*RICHER)

    def gain(self, one: Measured, other: Measured) -> float:
        """Return by how much one is better than another.

        Parameters
        ----------
        one, other : Measured
            The candidates.

        Returns
        -------
        float
            The difference in accuracy. Where numbers are learnt, the share of the other's root
            mean square error that one saves; it is negative if its own is larger.
        """
        return gain_of(one.score, other.score, self.task)

    def ahead(self, one: Measured, other: Measured, times: float = 1.0) -> bool:
        """Say whether one is better by so much that it matters, noise or not.

        Parameters
        ----------
        one, other : Measured
            The candidates.
        times : float, default=1
            How many times that.

        Returns
        -------
        bool
            Whether it is.
        """
        return self.gain(one, other) >= times * WORTH[self.task] - 1e-12

    def se(self, one: Measured, other: Measured) -> float:
        """Return the standard error of a difference in accuracy or R2.

        Parameters
        ----------
        one, other : Measured
            The candidates.

        Returns
        -------
        float
            The standard error; NaN if it is not known.
        """
        return _either(self.se_score, one, other, math.nan)

    def p(self, one: Measured, other: Measured) -> float:
        """Return the p-value of a difference in accuracy or R2.

        Parameters
        ----------
        one, other : Measured
            The candidates.

        Returns
        -------
        float
            The p-value, both tails.
        """
        return _either(self.p_score, one, other)

    def beats(self, one: Measured, other: Measured, rivals: int = 1) -> bool:
        """Say whether one is better than another, beyond noise and by enough to matter.

        Parameters
        ----------
        one, other : Measured
            The candidates.
        rivals : int, default=1
            How many might beat the other one by luck.

        Returns
        -------
        bool
            Whether it is.
        """
        sure = self.p(one, other) * max(1.0, rivals / 2) < LEVEL
        return sure and self.ahead(one, other)

    def learnt(self) -> list[Measured]:
        """Return the candidates that beat the most frequent class, or the mean.

        Returns
        -------
        list of Measured
            Those that do.
        """
        others = [each for each in self.measured if each.kind != "floor"]
        floors = self.of_kind("floor")
        return [
            each
            for each in others
            if any(self.beats(each, floor, len(others)) for floor in floors)
        ]

    def finding_rare(self) -> list[Measured]:
        """Return the candidates that find rare classes better than chance.

        Returns
        -------
        list of Measured
            Those that do, at 1 %: it is said where nothing else was found, so it must be sure.
        """
        others = [each for each in self.measured if each.kind != "floor"]
        return [
            each
            for each in others
            if self.p_rare.get(each.name, 1.0) * max(1.0, len(others) / 2) < SURE
        ]

    def rivals_beating(self, tree: Measured) -> list[Measured]:
        """Return which of linear model and forest beat a tree.

        Parameters
        ----------
        tree : Measured
            The tree.

        Returns
        -------
        list of Measured
            Those that do.
        """
        rivals = self.of_kind("linear", "forest")
        return [each for each in rivals if self.beats(each, tree, len(rivals))]

    def smaller(self, one: Measured, other: Measured) -> bool:
        """Say whether one tree has so few leaves and terms that this alone is a reason.

        Parameters
        ----------
        one, other : Measured
            Two trees.

        Returns
        -------
        bool
            Whether it has at most half the leaves and no more terms, and is not less accurate:
            neither beyond noise nor by a whole point, or an error that is 4 % larger.
        """
        return (
            one.leaves <= FEWER_LEAVES * other.leaves
            and one.terms <= other.terms
            and not self.beats(other, one)
            and self.gain(other, one) < 2 * WORTH[self.task]
        )

    def p_of_leaves(self, one: Measured, other: Measured) -> float:
        """Return the p-value of a difference in leaves.

        Parameters
        ----------
        one, other : Measured
            Two trees.

        Returns
        -------
        float
            The p-value, both tails.
        """
        return _either(self.p_leaves, one, other)


@dataclass(frozen=True)
class Decision:
    """What is recommended.

    Parameters
    ----------
    choice : str
        The candidate to take; ``"majority"`` or ``"mean"`` where nothing was learnt.
    tree : str
        The tree to take if it is to be a single tree; ``"majority"`` or ``"mean"`` where no tree
        has learnt anything.
    pays : {"accuracy", "size", "perhaps", "unclear", "no"}
        What richer trees are good for.
    oblique : str or None
        The richer tree that this is said of, an oblique one where classes are learnt: the one for
        which it pays or may pay, or else the most accurate one; None if there is none.
    """

    choice: str
    tree: str
    pays: str
    oblique: str | None


def gain_of(score: float, other: float, task: str) -> float:
    """Return by how much one accuracy, or R2, is better than another; see `Evidence.gain`."""
    if task == "classification":
        return score - other
    own, others = max(0.0, 1.0 - score), max(0.0, 1.0 - other)
    if others == 0.0:
        return 0.0 if own == 0.0 else -math.inf
    return 1.0 - math.sqrt(own / others)


def decide(evidence: Evidence) -> Decision:
    """Decide which candidate to take.

    Parameters
    ----------
    evidence : Evidence
        What was measured.

    Returns
    -------
    Decision
        The choice, and whether richer trees pay.
    """
    learnt = evidence.learnt()
    pays, oblique = _whether_it_pays(evidence, learnt)
    tree = _tree(evidence, learnt, oblique if pays in ("accuracy", "size", "perhaps") else None)
    choice = _chosen(evidence, learnt, tree)
    floor = FLOORS[evidence.task]
    return Decision(
        floor if choice is None else choice.name,
        floor if tree is None else tree.name,
        pays,
        None if oblique is None else oblique.name,
    )


def settled(evidence: Evidence) -> bool:
    """Say whether more of the same evidence will hardly change the decision.

    Parameters
    ----------
    evidence : Evidence
        What was measured.

    Returns
    -------
    bool
        Whether p-values that are `DOUBT` times as large, or as small, lead to the same decision.
    """
    decision = decide(evidence)
    return all(
        decide(
            replace(
                evidence,
                p_score={pair: min(p * factor, 1.0) for pair, p in evidence.p_score.items()},
                p_leaves={pair: min(p * factor, 1.0) for pair, p in evidence.p_leaves.items()},
            )
        )
        == decision
        for factor in (DOUBT, 1.0 / DOUBT)
    )


def _whether_it_pays(
    evidence: Evidence, learnt: Sequence[Measured]
) -> tuple[str, Measured | None]:
    """Say what richer trees are good for, and of which that is said."""
    axis, richer = evidence.axis, evidence.richer
    if not richer:
        return "no", None
    useful = [each for each in richer if each in learnt]
    better = [each for each in useful if evidence.beats(each, axis, len(richer))]
    if better:
        top = _best(better)
        return "accuracy", _easiest([each for each in better if not evidence.beats(top, each)])
    smaller = [each for each in useful if evidence.smaller(each, axis)]
    surely = [each for each in smaller if evidence.p_of_leaves(each, axis) < LEVEL]
    if surely:
        return "size", _easiest(surely)
    spared = _spared(evidence, useful)
    if spared:
        return "perhaps", _easiest(spared)
    top = _best(richer)
    if evidence.ahead(top, axis):
        return "unclear", top
    return ("unclear", _easiest(smaller)) if smaller else ("no", top)


def _tree(
    evidence: Evidence, learnt: Sequence[Measured], oblique: Measured | None
) -> Measured | None:
    """Return the tree to take: the one that pays, the plain one, or one that learnt."""
    if oblique is not None:
        return oblique
    trees = [each for each in evidence.of_kind("axis", *RICHER) if each in learnt]
    if evidence.axis in trees or not trees:
        return evidence.axis if trees else None
    return _easiest(trees)


def _spared(evidence: Evidence, richer: Sequence[Measured]) -> list[Measured]:
    """Return richer trees ahead of the plain one that nothing beats that beats it."""
    axis = evidence.axis
    winners = evidence.rivals_beating(axis)
    if not winners:
        return []
    half = evidence.gain(_best(winners), axis) / 2
    return [
        each
        for each in richer
        if evidence.gain(each, axis) >= max(WORTH[evidence.task], half) - 1e-12
        and not any(winner in winners for winner in evidence.rivals_beating(each))
    ]


def _chosen(
    evidence: Evidence, learnt: Sequence[Measured], tree: Measured | None
) -> Measured | None:
    """Return the tree, or what beats it; None if nothing was learnt."""
    rivals = learnt if tree is None else evidence.rivals_beating(tree)
    better = {each.kind: each for each in rivals}
    linear, forest = better.get("linear"), better.get("forest")
    if linear is not None and forest is not None:
        return forest if evidence.beats(forest, linear) else linear
    return linear or forest or tree


def _best(measured: Sequence[Measured]) -> Measured:
    return max(measured, key=lambda each: each.score)


def _easiest(measured: Sequence[Measured]) -> Measured:
    return min(measured, key=lambda each: each.terms)


def _either(
    found: Mapping[tuple[str, str], float], one: Measured, other: Measured, otherwise: float = 1.0
) -> float:
    return found.get((one.name, other.name), found.get((other.name, one.name), otherwise))
