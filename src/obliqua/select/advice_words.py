"""The sentences of `Advice`: each says what was measured, how sure that is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from obliqua.select.candidates import Candidate
from obliqua.select.decision import (
    FLOORS,
    RICHER,
    WORTH,
    Decision,
    Evidence,
    Measured,
    gain_of,
)
from obliqua.select.result import LEVEL, MEASURES, CompareResult, Figure

__all__ = ["Wording", "leaves_needed"]

#: A macro F that is so much larger is worth a word, even where no accuracy is.
NOTABLE_F = 0.05
#: Results of so few folds are hardly ever told from noise, however far a candidate is ahead.
FEW_FOLDS = 5
#: An accuracy that leaves hardly a row, or an R2 that leaves hardly an error.
PERFECT = 0.9995
#: What trees are called that are more than plain ones.
TREES = {"oblique": "oblique trees", "leaves": "trees with linear leaves"}


@dataclass(frozen=True)
class _Speech:
    """What is said differently of classes and of numbers."""

    score: str = "Accuracy"
    folds: str = "stratified folds"
    floor: str = "the most frequent class"
    learnt: str = "the class"
    nothing: str = "do not tell the classes apart"
    same: str = "accuracies that cannot be told apart"
    no: str = "Obliqueness does not pay: "
    none_better: str = "no oblique tree is better by half a point"
    richer: str = "oblique trees"
    plain: str = "axis-parallel"
    plain_trees: str = "axis-parallel trees"
    another: str = "an oblique one"
    no_reason: str = "No oblique tree gives reason to read more than one feature per split."


_SPEECH = {
    "classification": _Speech(),
    "regression": _Speech(
        score="R2",
        folds="folds",
        floor="the mean",
        learnt="the number",
        nothing="say nothing about the number",
        same="errors that cannot be told apart",
        no="Neither oblique splits nor linear functions in the leaves pay: ",
        none_better="no such tree has an error that is 2 % smaller",
        richer="such trees",
        plain="plain",
        plain_trees="plain trees (one feature per split, a number in each leaf)",
        another="another one",
        no_reason="No other tree is so much better that it is worth reading more.",
    ),
}


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

    def _candidate(self, measured: Measured) -> Candidate:
        return next(each for each in self.candidates if each.name == measured.name)

    def _words(self, measured: Measured) -> str:
        return self._candidate(measured).words

    @property
    def _speech(self) -> _Speech:
        return _SPEECH[self.evidence.task]

    @property
    def _floor(self) -> str:
        return FLOORS[self.evidence.task]

    def _plain_score(self, score: float) -> str:
        return _percent(score) if self.evidence.task == "classification" else f"R2 {score:.3f}"

    def _score(self, measured: Measured) -> str:
        """Say how good a candidate is; of numbers, with its error."""
        text = self._plain_score(measured.score)
        folds = self.result.folds.get(measured.name)
        if self.evidence.task == "classification" or folds is None:
            return text
        error = float(folds[:, MEASURES["regression"].index("rmse")].mean())
        return f"{text} (RMSE {Figure(error).text(None)})"

    def _gain(self, one: Measured, other: Measured) -> str:
        """Say by how much one is better than another."""
        difference = one.score - other.score
        if self.evidence.task == "classification":
            return _points(difference)
        se, saved = self.evidence.se(one, other), self.evidence.gain(one, other)
        spread = "" if se != se else f" ± {se:.3f}"
        share = f"{abs(100 * saved):.0f} % {'smaller' if saved >= 0 else 'larger'}"
        return f"R2 {round(difference, 3) + 0.0:+.3f}{spread}, RMSE {share}"

    def measured(self) -> str:
        """Say what was measured, and on what."""
        result = self.result
        repeats = f", repeated {result.n_repeats} times" if result.n_repeats > 1 else ""
        ordered = sorted(self.evidence.measured, key=lambda each: -each.score)
        classes = self.evidence.task == "classification"
        listed = "; ".join(_with_size(each, classes) for each in ordered)
        of_classes = f"{result.n_classes} classes, " if classes else ""
        return (
            f"{result.n_rows:,} rows, {_counted(result.n_features, 'feature')}, {of_classes}"
            f"{result.n_folds} {self._speech.folds}{repeats}. {self._speech.score}: {listed}."
        )

    def per_leaf(self) -> str:
        """Say how many leaves an axis-parallel tree needs for what an oblique one does."""
        axis = self.curve.get(self.evidence.axis.name)
        name = self.decision.oblique
        oblique = None if name is None else self.curve.get(name)
        if axis is None or oblique is None:
            return ""
        task = self.evidence.task
        size = leaves_needed(oblique, max(oblique.values()), task)
        assert size is not None  # its own best score is reached
        needed = leaves_needed(axis, oblique[size], task)
        assert name is not None
        start = (
            f"Per leaf: {TREES[self._of(name).kind]} ({name}) of "
            f"{_counted(size, 'leaf', 'leaves')} have {self._plain_score(oblique[size])}; "
            f"{self._speech.plain_trees} "
        )
        if needed is None:
            top = self._plain_score(max(axis.values()))
            if self.decision.pays not in ("accuracy", "perhaps"):  # other trees were tested
                return (
                    f"{start}have {top} at best. These trees are not pruned, and nothing is "
                    "tested about them."
                )
            return start + f"do not reach that with {max(axis)} leaves, their best is {top}."
        many = "as many" if needed == size else f"{needed}"
        return start + f"need {many} for that ({self._plain_score(axis[needed])})."

    def obliqueness(self) -> str:
        """Say whether oblique splits, or linear functions in leaves, pay."""
        if self.decision.oblique is None:
            return "There is one feature, so no split can be oblique."
        axis, richer = self.evidence.axis, self._of(self.decision.oblique)
        p = self.evidence.p(richer, axis)
        how = f"{self._gain(richer, axis)} against the {self._speech.plain} tree, {_p(p)}"
        sizes = f"{_leaves(richer)} in the place of {axis.leaves:.1f}"
        gives = self._candidate(richer).gives
        what, pay = gives[0].upper() + gives[1:], "pay" if " " in gives else "pays"
        if self.decision.pays == "accuracy":
            return f"{what} {pay}: {richer.name} has {how}, with {sizes}."
        if self.decision.pays == "size":
            return (
                f"{what} {pay} in size, not in accuracy: {richer.name} has {sizes}, and "
                f"{self._speech.same} ({how})."
            )
        if self.decision.pays == "perhaps":
            winners = " and ".join(each.name for each in self.evidence.rivals_beating(axis))
            return (
                f"{what} may pay: {richer.name} has {how}, which may be noise, but "
                f"{winners} can be told from the {self._speech.plain} tree, and not from "
                f"{richer.name}."
            )
        if self.decision.tree == self._floor:
            return (
                f"Whether {gives} {pay} cannot be told: no tree is better than "
                f"{self._speech.floor} beyond noise; {richer.name} has {how}."
            )
        if self.decision.pays == "unclear":
            return f"Whether {gives} {pay} cannot be told: {self._unclear(richer, how)}"
        return self._speech.no + self._why_not(richer, how)

    def _unclear(self, richer: Measured, how: str) -> str:
        """Say what a richer tree has that may be noise."""
        axis, more = self.evidence.axis, "More rows, or more repeats, would tell."
        if not self.evidence.ahead(richer, axis):
            p = self.evidence.p_of_leaves(richer, axis)
            return (
                f"{richer.name} has {_leaves(richer)} in the place of {axis.leaves:.1f} "
                f"({_p(p)}), but that may be noise; its accuracy has {how}. {more}"
            )
        tried = len(self.evidence.richer)
        luck = f", where {tried} {self._speech.richer} might be ahead by luck" if tried > 2 else ""
        return f"{richer.name} is ahead, but within noise ({how}{luck}). {more}"

    def _why_not(self, richer: Measured, how: str) -> str:
        """Say why the most accurate richer tree is no reason."""
        axis = self.evidence.axis
        gain, p = self.evidence.gain(richer, axis), self.evidence.p(richer, axis)
        worth = WORTH[self.evidence.task]
        if p < LEVEL and gain <= -worth:
            return f"{richer.name} is less accurate ({how})."
        if p < LEVEL and 0.0 < gain < worth:
            return f"the gain of {richer.name} is real but too small to matter ({how})."
        return f"{self._speech.none_better}; {richer.name} has {how}."

    def recommendation(self) -> str:
        """Say what to do."""
        if self.decision.choice == self._floor:
            return self._nothing_learnt()
        text = self._to_take()
        if self._of(self.decision.choice).score >= PERFECT:
            text += (
                " That is too good to be true, if some column is known only when "
                f"{self._speech.learnt} is: look at the splits."
            )
        return text

    def _to_take(self) -> str:
        """Say which candidate to take."""
        chosen = self._of(self.decision.choice)
        from_forest = ", or let obliqua.distil make one of the forest"
        from_forest = from_forest if chosen.kind == "forest" else ""
        start = f"Take {self._words(chosen)}: {self._score(chosen)}."
        if self.decision.tree == self._floor:
            best = self._best("axis", *RICHER)
            return f"{start} No single tree is {self._than_floor(best)}."
        tree = self._of(self.decision.tree)
        if chosen is tree:
            return " ".join([self._take(tree), *self._rivals(tree)])
        return (
            f"{start} A single tree costs accuracy here: {self._gain(tree, chosen)} ({tree.name}, "
            f"{_p(self.evidence.p(chosen, tree))}). If it must be a tree that can be read, take "
            f"{self._words(tree)}: {self._score(tree)} with {_leaves(tree)}{from_forest}."
        )

    def _best(self, *kinds: str) -> Measured:
        return max(self.evidence.of_kind(*kinds), key=lambda each: each.score)

    def _than_floor(self, best: Measured) -> str:
        """Say that not even the best of some is better than the floor."""
        floor = self.evidence.of_kind("floor")[0]
        return (
            f"more accurate, beyond noise, than always giving {self._speech.floor} "
            f"({self._plain_score(floor.score)}; {best.name} has "
            f"{self._plain_score(best.score)}, {_p(self.evidence.p(best, floor))})"
        )

    def _take(self, tree: Measured) -> str:
        """Recommend a single tree."""
        size = f"{self._score(tree)} with {_leaves(tree)}"
        words = self._words(tree)
        if tree.kind == "axis":
            return f"Take {words}: {size}.{self._why_axis()}"
        if tree.features_per_split == tree.features_per_split:
            size += f", {tree.features_per_split:.1f} features per split"
        if tree.features_per_leaf == tree.features_per_leaf:
            size += f", linear functions of {tree.features_per_leaf:.1f} features in the leaves"
        if self.decision.pays in ("unclear", "no"):
            return (
                f"Take {words}: {size}. That it is better than the {self._speech.plain} one "
                "cannot be told, but only of the former it is sure that it has learnt anything."
            )
        return f"Take {words}: {size}."

    def _why_axis(self) -> str:
        if not self.evidence.richer:
            return ""
        if self.decision.pays == "unclear":
            return (
                f" It is the easier one to read, and that {self._speech.another} is better is not "
                "sure."
            )
        return f" {self._speech.no_reason}"

    def _rivals(self, tree: Measured) -> list[str]:
        """Say what is known of linear model and forest, where neither beats the tree."""
        out = []
        for rival in self.evidence.of_kind("linear", "forest"):
            p = self.evidence.p(rival, tree)
            what = "The linear model" if rival.kind == "linear" else "The forest"
            if self.evidence.beats(tree, rival):
                verdict = "is worse"
            elif self.evidence.ahead(rival, tree):
                verdict = "is ahead, but within noise"
            else:
                verdict = "is not better"
            out.append(f"{what} {verdict} ({self._gain(rival, tree)}, {_p(p)}).")
        return out

    def _nothing_learnt(self) -> str:
        floor = self.evidence.of_kind("floor")[0]
        best = self._best("axis", *RICHER, "linear", "forest")
        text = (
            f"Take none of these yet: nothing is {self._than_floor(best)}. "
            f"{self._why_nothing(best, floor)}"
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

    def _why_nothing(self, best: Measured, floor: Measured) -> str:
        """Say why nothing was learnt; a few folds are no evidence against the features."""
        n_results = self.result.n_folds * self.result.n_repeats
        if n_results <= FEW_FOLDS and self.evidence.ahead(best, floor):
            return (
                f"But {best.name} is ahead, and with {n_results} folds next to nothing can be "
                "told from noise: ten folds, or more repeats, would tell."
            )
        return (
            f"The features {self._speech.nothing}, or {self.result.n_rows:,} rows are too few to "
            "see it."
        )


def leaves_needed(
    scores: Mapping[int, float], wanted: float, task: str = "classification"
) -> int | None:
    """Return the fewest leaves whose score is not worse by what matters; None if none are."""
    near = WORTH[task] + 1e-12
    enough: Iterable[int] = (
        size for size, found in scores.items() if gain_of(wanted, found, task) <= near
    )
    return min(enough, default=None)


def _with_size(each: Measured, classes: bool) -> str:
    leaves = "" if each.leaves != each.leaves else f" ({_leaves(each)})"
    return f"{each.name} {_percent(each.score) if classes else f'{each.score:.3f}'}{leaves}"


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
