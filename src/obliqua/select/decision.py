"""Which tree, if any: the rules by which `advise` decides, as a function of what was measured.

One candidate *beats* another if its accuracy is at least half a point larger and the corrected
paired t-test finds the difference at 5 %, both tails. What is smaller than half a point changes
nobody's mind, and what is not found is noise. Only one tail counts, so with two candidates that
might beat a third by luck the chance is still at most 5 %; with more, p-values are multiplied by
half their number.

1. What does not beat the most frequent class has *learnt* nothing. If no candidate has learnt
   anything, none is recommended.
2. Obliqueness *pays in accuracy* if an oblique tree that has learnt something beats the
   axis-parallel one. It *pays in size* if the axis-parallel tree neither beats nor is a whole
   point ahead of such an oblique one that has at most half its leaves, beyond noise, and no more
   terms. It *perhaps* pays if the linear model or the forest beats the axis-parallel tree, but not
   such an oblique one that is half a point ahead of it and at least half of the way there. It is
   *unclear* whether it pays if an oblique tree is half a point ahead, or has at most half the
   leaves and no more terms, and that may be noise. Otherwise it does not pay.
3. Where it does not pay, or that is unclear, the tree to take is the axis-parallel one. Where it
   pays, or perhaps does, it is an oblique tree for which that is so, in accuracy none that the
   most accurate of them beats; of these the one with the fewest terms. If the axis-parallel tree
   has learnt nothing, it is the one with the fewest terms among the trees that have; if no tree
   has, none is taken.
4. If the linear model or the forest beats that tree, it is recommended in its place: the linear
   model, unless the forest beats it. If there is no tree to take, those of them that have learnt
   something stand for those that beat it.

*Terms* are what a reader has to take in: splits times features per split.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from obliqua.select.result import LEVEL

__all__ = ["FLOOR", "WORTH", "Decision", "Evidence", "Measured", "decide"]

#: A smaller difference in accuracy changes nobody's mind.
WORTH = 0.005
#: To pay in size, a tree has at most this share of the leaves of an axis-parallel one.
FEWER_LEAVES = 0.5
#: The level for what is said where nothing else was found.
SURE = 0.01
#: The choice where nothing is better than always giving the same answer.
FLOOR = "majority"


@dataclass(frozen=True)
class Measured:
    """What cross-validation says of a candidate.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"axis", "oblique", "linear", "forest", "floor"}
        What it is.
    accuracy, macro_f : float
        The mean share of right answers, and the mean of the classes' F-measures.
    leaves, features_per_split : float
        Means over the folds; NaN if there are none.
    """

    name: str
    kind: str
    accuracy: float
    macro_f: float = math.nan
    leaves: float = math.nan
    features_per_split: float = math.nan

    @property
    def terms(self) -> float:
        """What a reader has to take in: splits times features per split."""
        splits = self.leaves - 1.0
        return splits * self.features_per_split if splits > 0 else 0.0


@dataclass(frozen=True)
class Evidence:
    """What a decision rests on.

    Parameters
    ----------
    measured : sequence of Measured
        The candidates, one of them axis-parallel and one the floor.
    p_accuracy, p_leaves : mapping of (str, str) to float
        The p-value of the difference of two candidates, by their names in either order; what is
        not there is 1.
    p_rare : mapping of str to float
        By name, the p-value of finding rare classes better than chance; what is not there is 1.
    """

    measured: Sequence[Measured]
    p_accuracy: Mapping[tuple[str, str], float]
    p_leaves: Mapping[tuple[str, str], float]
    p_rare: Mapping[str, float] = field(default_factory=dict)

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
        """The axis-parallel tree."""
        return self.of_kind("axis")[0]

    def p(self, one: Measured, other: Measured) -> float:
        """Return the p-value of a difference in accuracy.

        Parameters
        ----------
        one, other : Measured
            The candidates.

        Returns
        -------
        float
            The p-value, both tails.
        """
        return _either(self.p_accuracy, one, other)

    def beats(self, one: Measured, other: Measured, rivals: int = 1) -> bool:
        """Say whether one is more accurate than another, beyond noise and by enough to matter.

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
        ahead = one.accuracy - other.accuracy >= WORTH - 1e-12
        return ahead and self.p(one, other) * max(1.0, rivals / 2) < LEVEL

    def learnt(self) -> list[Measured]:
        """Return the candidates that beat the most frequent class.

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
            neither beyond noise nor by a whole point.
        """
        return (
            one.leaves <= FEWER_LEAVES * other.leaves
            and one.terms <= other.terms
            and not self.beats(other, one)
            and other.accuracy - one.accuracy < 2 * WORTH
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
        The candidate to take; ``"majority"`` where nothing was learnt.
    tree : str
        The tree to take if it is to be a single tree; ``"majority"`` where no tree has learnt
        anything.
    pays : {"accuracy", "size", "perhaps", "unclear", "no"}
        What obliqueness is good for.
    oblique : str or None
        The oblique tree that this is said of: the one for which it pays or may pay, or else the
        most accurate one; None if there is none.
    """

    choice: str
    tree: str
    pays: str
    oblique: str | None


def decide(evidence: Evidence) -> Decision:
    """Decide which candidate to take.

    Parameters
    ----------
    evidence : Evidence
        What was measured.

    Returns
    -------
    Decision
        The choice, and whether obliqueness pays.
    """
    learnt = evidence.learnt()
    pays, oblique = _whether_it_pays(evidence, learnt)
    tree = _tree(evidence, learnt, oblique if pays in ("accuracy", "size", "perhaps") else None)
    choice = _chosen(evidence, learnt, tree)
    return Decision(
        FLOOR if choice is None else choice.name,
        FLOOR if tree is None else tree.name,
        pays,
        None if oblique is None else oblique.name,
    )


def _whether_it_pays(
    evidence: Evidence, learnt: Sequence[Measured]
) -> tuple[str, Measured | None]:
    """Say what obliqueness is good for, and of which tree that is said."""
    axis, oblique = evidence.axis, evidence.of_kind("oblique")
    if not oblique:
        return "no", None
    useful = [each for each in oblique if each in learnt]
    better = [each for each in useful if evidence.beats(each, axis, len(oblique))]
    if better:
        top = _most_accurate(better)
        return "accuracy", _easiest([each for each in better if not evidence.beats(top, each)])
    smaller = [each for each in useful if evidence.smaller(each, axis)]
    surely = [each for each in smaller if evidence.p_of_leaves(each, axis) < LEVEL]
    if surely:
        return "size", _easiest(surely)
    spared = _spared(evidence, useful)
    if spared:
        return "perhaps", _easiest(spared)
    top = _most_accurate(oblique)
    if top.accuracy - axis.accuracy >= WORTH - 1e-12:
        return "unclear", top
    return ("unclear", _easiest(smaller)) if smaller else ("no", top)


def _tree(
    evidence: Evidence, learnt: Sequence[Measured], oblique: Measured | None
) -> Measured | None:
    """Return the tree to take: the one that pays, the axis-parallel one, or one that learnt."""
    if oblique is not None:
        return oblique
    trees = [each for each in evidence.of_kind("axis", "oblique") if each in learnt]
    if evidence.axis in trees or not trees:
        return evidence.axis if trees else None
    return _easiest(trees)


def _spared(evidence: Evidence, oblique: Sequence[Measured]) -> list[Measured]:
    """Return oblique trees ahead of the axis-parallel one that nothing beats that beats it."""
    axis = evidence.axis
    winners = evidence.rivals_beating(axis)
    if not winners:
        return []
    half = (_most_accurate(winners).accuracy - axis.accuracy) / 2
    return [
        each
        for each in oblique
        if each.accuracy - axis.accuracy >= max(WORTH, half) - 1e-12
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


def _most_accurate(measured: Sequence[Measured]) -> Measured:
    return max(measured, key=lambda each: each.accuracy)


def _easiest(measured: Sequence[Measured]) -> Measured:
    return min(measured, key=lambda each: each.terms)


def _either(found: Mapping[tuple[str, str], float], one: Measured, other: Measured) -> float:
    return found.get((one.name, other.name), found.get((other.name, one.name), 1.0))
