"""What `advise` has found, as tables and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from obliqua.select.advice_words import Wording
from obliqua.select.candidates import Candidate
from obliqua.select.decision import FLOORS, Decision, Evidence
from obliqua.select.result import CompareResult, cells, heads

__all__ = ["Advice", "advice_cells", "advice_heads"]


@dataclass(frozen=True, eq=False)
class Advice:
    """What `advise` has measured, and what follows from it.

    Parameters
    ----------
    result : CompareResult
        The candidates, cross-validated side by side.
    curve : mapping of str to mapping of int to float
        By tree, the mean accuracy, or R2, of trees that are not pruned, by their number of leaves.
    evidence : Evidence
        What the decision rests on: means, and p-values of all pairs.
    decision : Decision
        What is recommended.
    candidates : tuple of Candidate
        What was tried.
    """

    result: CompareResult
    curve: Mapping[str, Mapping[int, float]]
    evidence: Evidence
    decision: Decision
    candidates: tuple[Candidate, ...]

    @property
    def choice(self) -> str:
        """The candidate to take; ``"majority"`` or ``"mean"`` where nothing was learnt."""
        return self.decision.choice

    @property
    def tree(self) -> str:
        """The tree to take if it must be one; ``"majority"`` or ``"mean"`` where none learnt."""
        return self.decision.tree

    @property
    def pays(self) -> str:
        """What oblique splits, or linear functions in leaves, are good for.

        "accuracy", "size", "perhaps" (accuracy), "unclear" (the rows cannot tell) or "no".
        """
        return self.decision.pays

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: that rows were drawn, for instance."""
        return self.result.notes

    @cached_property
    def _wording(self) -> Wording:
        return Wording(self.result, self.curve, self.evidence, self.decision, self.candidates)

    def make(self, name: str | None = None) -> Any:
        """Make an unfitted estimator of a candidate.

        Parameters
        ----------
        name : str, default=None
            The candidate; the recommended one for None.

        Returns
        -------
        estimator
            The estimator, as `Candidate.method` has it. Those of scikit-learn take numbers only.
        """
        wanted = self.choice if name is None else name
        known = {each.name: each for each in self.candidates}
        if wanted not in known:
            raise ValueError(f"There is no candidate {wanted!r}; there are {', '.join(known)}.")
        return known[wanted].method.make(None)

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per candidate: what `CompareResult.rows` has, and more.

        Returns
        -------
        list of dict
            ``kind``, ``title`` and ``p_axis``, the p-value of the difference in accuracy, or R2,
            to the axis-parallel tree, join the others.
        """
        axis = self.evidence.axis
        known = {each.name: each for each in self.evidence.measured}
        titles = {each.name: each for each in self.candidates}
        return [
            {
                **row,
                "kind": titles[row["method"]].kind,
                "title": titles[row["method"]].method.title,
                "p_axis": self.evidence.p(known[row["method"]], axis),
            }
            for row in self.result.rows()
        ]

    def curve_rows(self) -> list[list[str]]:
        """Return the accuracies, or R2, of trees of equal sizes as a table shows them.

        Returns
        -------
        list of list of str
            The heads, then a line per number of leaves: accuracies in per cent, or R2.
        """
        classes = self.result.task == "classification"
        unit, factor, digits = (" %", 100, 1) if classes else ("", 1, 3)
        names = list(self.curve)
        sizes = sorted({size for of_name in self.curve.values() for size in of_name})
        lines = [["leaves", *(f"{name}{unit}" for name in names)]]
        for size in sizes:
            found = [f"{factor * self.curve[name][size]:.{digits}f}" for name in names]
            lines.append([f"{size}", *found])
        return lines

    def recommendation(self) -> str:
        """Return what to do, in a sentence or three.

        Returns
        -------
        str
            The recommendation, with its reasons.
        """
        return self._wording.recommendation()

    def describe(self) -> str:
        """Return all of it in words.

        Returns
        -------
        str
            Paragraphs: what was measured, what a leaf is worth, whether obliqueness pays, and
            what to do.
        """
        return "\n\n".join(self._wording.paragraphs())

    def markdown(self) -> str:
        """Return the tables and the words as Markdown.

        Returns
        -------
        str
            The text. Accuracies are per cent, times milliseconds.
        """
        task = self.result.task
        lined = [advice_cells(row, task) for row in self.rows()]
        tables = [[advice_heads(task), *lined], self.curve_rows()]
        lines: list[str] = []
        for table in tables:
            written = ["| " + " | ".join(line) + " |" for line in table]
            rule = "|---" + "|---:" * (len(table[0]) - 1) + "|"
            lines += [written[0], rule, *written[1:], ""]
        lines += [self.result.reading(), "", self.describe()]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single folds, ready for JSON.

        Returns
        -------
        dict
            What `CompareResult.to_dict` has, with ``kind``, ``title`` and ``p_axis`` in each
            line; ``curve``, ``choice``, ``tree``, ``pays``, and the words under ``advice``.
        """
        found = self.result.to_dict()
        for line, row in zip(found["methods"], self.rows(), strict=True):
            line |= {key: row[key] for key in ("kind", "title", "p_axis")}
        return {
            **found,
            "curve": {
                name: {str(size): mean for size, mean in of_name.items()}
                for name, of_name in self.curve.items()
            },
            "choice": self.choice,
            "tree": self.tree,
            "pays": self.pays,
            "advice": self.describe(),
        }

    def command(self) -> str:
        """Return the words after ``obliqua fit DATA --target Y`` that make the tree to take.

        Returns
        -------
        str
            The words; "" where no tree has learnt anything.
        """
        if self.tree == FLOORS[self.result.task]:
            return ""
        return next(each.command for each in self.candidates if each.name == self.tree)


def advice_heads(task: str = "classification") -> list[str]:
    """Return the heads of `advice_cells`: those of `compare`, and the test against "axis"."""
    _, *measures, time = heads(task)
    return ["candidate", *measures, "p axis", time]


def advice_cells(row: Mapping[str, Any], task: str = "classification") -> list[str]:
    """Return a row of `Advice.rows` as a table shows it: the texts below `advice_heads`."""
    plain = cells(row, task)
    p = "" if row["kind"] == "axis" else f"{row['p_axis']:.3f}"
    return [*plain[:-1], p, plain[-1]]
