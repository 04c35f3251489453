"""The sentences of `Advice`: each says what was measured, how sure that is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from obliqua.select.candidates import Candidate
from obliqua.select.decision import FLOOR, WORTH, Decision, Evidence, Measured
from obliqua.select.result import LEVEL, CompareResult

__all__ = ["Wording", "leaves_needed"]

#: A macro F that is so much larger is worth a word, even where no accuracy is.
NOTABLE_F = 0.05
#: An accuracy that leaves hardly a row.
PERFECT = 0.9995
#: An accuracy is reached where it is at most this much smaller.
NEAR = WORTH


@dataclass(frozen=True, eq=False)
class Wording:
    """What there is to say. The parameters are those of `Advice`."""

    result: CompareResult
    curve: Mapping[str, Mapping[int, float]]
    evidence: Evidence
    decision: Decision
    candidates: tuple[Candidate, ...]

    def paragraphs(self) -> list[str]:
        """All of it, one thought per paragraph."""
        parts = (self.measured(), self.per_leaf(), self.obliqueness(), self.recommendation())
        return [part for part in parts if part]

    def _of(self, name: str) -> Measured:
        return next(each for each in self.evidence.measured if each.name == name)

    def _words(self, measured: Measured) -> str:
        return next(each.words for each in self.candidates if each.name == measured.name)

    def measured(self) -> str:
        """Say what was measured, and on what."""
        result = self.result
        repeats = f", repeated {result.n_repeats} times" if result.n_repeats > 1 else ""
        ordered = sorted(self.evidence.measured, key=lambda each: -each.accuracy)
        listed = "; ".join(_with_size(each) for each in ordered)
        return (
            f"{result.n_rows:,} rows, {_counted(result.n_features, 'feature')}, "
            f"{result.n_classes} classes, {result.n_folds} stratified folds{repeats}. "
            f"Accuracy: {listed}."
        )

    def per_leaf(self) -> str:
        """Say how many leaves an axis-parallel tree needs for what an oblique one does."""
        axis = self.curve.get(self.evidence.axis.name)
        name = self.decision.oblique
        oblique = None if name is None else self.curve.get(name)
        if axis is None or oblique is None:
            return ""
        size = leaves_needed(oblique, max(oblique.values()))
        assert size is not None  # its own best accuracy is reached
        reached = oblique[size]
        needed = leaves_needed(axis, reached)
        start = (
            f"Per leaf: oblique trees ({name}) of {_counted(size, 'leaf', 'leaves')} have "
            f"{_percent(reached)}; axis-parallel trees "
        )
        if needed is None:
            top = max(axis.values())
            return start + (
                f"do not come near that with {max(axis)} leaves, their best is {_percent(top)}."
            )
        if needed == size:
            return start + f"need as many for that ({_percent(axis[needed])})."
        return start + f"need {needed} for that ({_percent(axis[needed])})."

    def obliqueness(self) -> str:
        """Say whether oblique splits pay."""
        if self.decision.oblique is None:
            return "There is one feature, so no split can be oblique."
        axis, oblique = self.evidence.axis, self._of(self.decision.oblique)
        gain, p = oblique.accuracy - axis.accuracy, self.evidence.p(oblique, axis)
        how = f"{_points(gain)} against the axis-parallel tree, {_p(p)}"
        sizes = f"{_leaves(oblique)} in the place of {axis.leaves:.1f}"
        if self.decision.pays == "accuracy":
            return f"Obliqueness pays: {oblique.name} has {how}, with {sizes}."
        if self.decision.pays == "size":
            return (
                f"Obliqueness pays in size, not in accuracy: {oblique.name} has {sizes}, and "
                f"accuracies that cannot be told apart ({how})."
            )
        if self.decision.pays == "perhaps":
            winners = " and ".join(each.name for each in self.evidence.rivals_beating(axis))
            return (
                f"Obliqueness may pay: {oblique.name} has {how}, which may be noise, but "
                f"{winners} can be told from the axis-parallel tree, and not from {oblique.name}."
            )
        if self.decision.tree == FLOOR:
            return (
                "Whether obliqueness pays cannot be told: no tree is better than the most "
                f"frequent class beyond noise; {oblique.name} has {how}."
            )
        if self.decision.pays == "unclear":
            return f"Whether obliqueness pays cannot be told: {self._unclear(oblique, how)}"
        return f"Obliqueness does not pay: {self._why_not(oblique, gain, how)}"

    def _unclear(self, oblique: Measured, how: str) -> str:
        """Say what an oblique tree has that may be noise."""
        axis, more = self.evidence.axis, "More rows, or more repeats, would tell."
        if oblique.accuracy - axis.accuracy < WORTH - 1e-12:
            p = self.evidence.p_of_leaves(oblique, axis)
            return (
                f"{oblique.name} has {_leaves(oblique)} in the place of {axis.leaves:.1f} "
                f"({_p(p)}), but that may be noise; its accuracy has {how}. {more}"
            )
        tried = len(self.evidence.of_kind("oblique"))
        luck = f", where {tried} oblique trees might be ahead by luck" if tried > 2 else ""
        return f"{oblique.name} is ahead, but within noise ({how}{luck}). {more}"

    def _why_not(self, oblique: Measured, gain: float, how: str) -> str:
        """Say why the most accurate oblique tree is no reason."""
        p = self.evidence.p(oblique, self.evidence.axis)
        if p < LEVEL and gain <= -WORTH:
            return f"{oblique.name} is less accurate ({how})."
        if p < LEVEL and 0.0 < gain < WORTH:
            return f"the gain of {oblique.name} is real but too small to matter ({how})."
        return f"no oblique tree is better by half a point; {oblique.name} has {how}."

    def recommendation(self) -> str:
        """Say what to do."""
        if self.decision.choice == FLOOR:
            return self._nothing_learnt()
        text = self._to_take()
        if self._of(self.decision.choice).accuracy >= PERFECT:
            text += (
                " That is too good to be true, if some column is known only when the class is: "
                "look at the splits."
            )
        return text

    def _to_take(self) -> str:
        """Say which candidate to take."""
        chosen = self._of(self.decision.choice)
        from_forest = ", or let obliqua.distil make one of the forest"
        from_forest = from_forest if chosen.kind == "forest" else ""
        start = f"Take {self._words(chosen)}: {_percent(chosen.accuracy)}."
        if self.decision.tree == FLOOR:
            best = self._best("axis", "oblique")
            return f"{start} No single tree is {self._than_floor(best)}."
        tree = self._of(self.decision.tree)
        if chosen is tree:
            return " ".join([self._take(tree), *self._rivals(tree)])
        loss = tree.accuracy - chosen.accuracy
        return (
            f"{start} A single tree costs accuracy here: {_points(loss)} ({tree.name}, "
            f"{_p(self.evidence.p(chosen, tree))}). If it must be a tree that can be read, take "
            f"{self._words(tree)}: {_percent(tree.accuracy)} with {_leaves(tree)}{from_forest}."
        )

    def _best(self, *kinds: str) -> Measured:
        return max(self.evidence.of_kind(*kinds), key=lambda each: each.accuracy)

    def _than_floor(self, best: Measured) -> str:
        """Say that not even the best of some is better than the floor."""
        floor = self.evidence.of_kind("floor")[0]
        return (
            "more accurate, beyond noise, than always giving the most frequent class "
            f"({_percent(floor.accuracy)}; {best.name} has {_percent(best.accuracy)}, "
            f"{_p(self.evidence.p(best, floor))})"
        )

    def _take(self, tree: Measured) -> str:
        """Recommend a single tree."""
        size = f"{_percent(tree.accuracy)} with {_leaves(tree)}"
        words = self._words(tree)
        if tree.kind == "axis":
            return f"Take {words}: {size}.{self._why_axis()}"
        size += f", {tree.features_per_split:.1f} features per split"
        if self.decision.pays in ("unclear", "no"):
            return (
                f"Take {words}: {size}. That it is better than the axis-parallel one cannot be "
                "told, but only of the former it is sure that it has learnt anything."
            )
        return f"Take {words}: {size}."

    def _why_axis(self) -> str:
        if not self.evidence.of_kind("oblique"):
            return ""
        if self.decision.pays == "unclear":
            return " It is the easier one to read, and that an oblique one is better is not sure."
        return " No oblique tree gives reason to read more than one feature per split."

    def _rivals(self, tree: Measured) -> list[str]:
        """Say what is known of linear model and forest, where neither beats the tree."""
        out = []
        for rival in self.evidence.of_kind("linear", "forest"):
            gain, p = rival.accuracy - tree.accuracy, self.evidence.p(rival, tree)
            what = "The linear model" if rival.kind == "linear" else "The forest"
            if self.evidence.beats(tree, rival):
                verdict = "is worse"
            elif gain >= WORTH:
                verdict = "is ahead, but within noise"
            else:
                verdict = "is not better"
            out.append(f"{what} {verdict} ({_points(gain)}, {_p(p)}).")
        return out

    def _nothing_learnt(self) -> str:
        floor = self.evidence.of_kind("floor")[0]
        best = self._best("axis", "oblique", "linear", "forest")
        text = (
            f"Take none of these yet: nothing is {self._than_floor(best)}. The features do not "
            f"tell the classes apart, or {self.result.n_rows:,} rows are too few to see it."
        )
        finding = self.evidence.finding_rare()
        found = max(finding, key=lambda each: each.macro_f, default=floor)
        if found.macro_f >= floor.macro_f + NOTABLE_F:
            text += (
                f" But {found.name} finds rare classes that this answer never gives: macro F "
                f"{found.macro_f:.2f} against {floor.macro_f:.2f} "
                f"({_p(self.evidence.p_rare[found.name])} against chance). If those matter more "
                "than the count of right answers, compare the rates of the classes, or give "
                "class_weight."
            )
        return text


def leaves_needed(accuracies: Mapping[int, float], wanted: float) -> int | None:
    """Return the fewest leaves that reach an accuracy, within half a point; None if none do."""
    enough: Iterable[int] = (
        size for size, found in accuracies.items() if found >= wanted - NEAR - 1e-12
    )
    return min(enough, default=None)


def _with_size(each: Measured) -> str:
    leaves = "" if each.leaves != each.leaves else f" ({_leaves(each)})"
    return f"{each.name} {_percent(each.accuracy)}{leaves}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(gain: float) -> str:
    return f"{round(100 * gain, 1) + 0.0:+.1f} points"  # no -0.0


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _leaves(tree: Measured) -> str:
    if tree.leaves == 1.0:
        return "1 leaf"
    return f"{tree.leaves:,.{0 if tree.leaves >= 100 else 1}f} leaves"


def _counted(n: int, one: str, several: str | None = None) -> str:
    return f"{n} {one if n == 1 else several or one + 's'}"
