"""The leaves of a tree as regions: a rule, and how much of a class is there and how purely."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.export.rules import Condition, Paths
from obliqua.pages.measures import known
from obliqua.words.phrases import spread_of, written_answer
from obliqua.words.subject import Subject

# A table has room for so much of a rule; the tree itself shows all of it.
DIGITS, MAX_TERMS, MAX_CONDITIONS = 4, 3, 12


def regions(
    subject: Subject, rows: tuple[AnyArray, AnyArray] | None = None
) -> list[dict[str, Any]]:
    """Describe each leaf by its training rows or by others, the one with the most rows first.

    `rows` are rows as the tree walks them, with the numbers of their classes or with numbers.
    """
    facts = _Training(subject) if rows is None else _Given(subject, *rows)
    paths = Paths(subject, DIGITS, MAX_TERMS, exact=False)
    found = [_region(subject, leaf, conditions, facts) for leaf, conditions in paths.leaves()]
    found.sort(key=lambda region: (-(region["rows"] or 0), -(region["share"] or 0.0)))
    return found


def _region(
    subject: Subject, leaf: int, conditions: tuple[Condition, ...], facts: _Training | _Given
) -> dict[str, Any]:
    """Describe one leaf."""
    label = None if subject.holds_numbers else int(subject.tree.leaf_label[leaf])
    coverage = density = mean = sd = None
    if label is None:
        mean, sd = facts.mean_and_sd(leaf)
    else:
        coverage, density = facts.coverage_and_density(leaf, label)
    return {
        "leaf": leaf,
        "rule": _written(conditions),
        "answer": written_answer(subject, leaf),
        "label": label,
        "rows": facts.rows(leaf),
        "share": facts.share(leaf),
        "coverage": coverage,
        "density": density,
        "mean": mean,
        "sd": sd,
    }


def _written(conditions: tuple[Condition, ...]) -> str:
    """Write the conditions of a leaf as one text."""
    more = len(conditions) - MAX_CONDITIONS
    written = [str(condition) for condition in conditions[:MAX_CONDITIONS]]
    if more > 0:
        written.append(f"{more} more condition{'' if more == 1 else 's'}")
    return " and ".join(written) or "always"


def _part(of: float, all_: float) -> float | None:
    """Return a share; None of nothing, and where a tree by hand holds what is no weight."""
    return known(min(of / all_, 1.0)) if all_ > 0 and of >= 0 else None


class _Training:
    """What a tree knows of its training rows; a negative number of rows is not known."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.n, self.weight = subject.tree.n_samples, subject.tree.weighted_n_node_samples

    def _knows(self, *nodes: int) -> bool:
        return bool((self.n[list(nodes)] >= 0).all())

    def rows(self, leaf: int) -> int | None:
        """Return how many rows are in a leaf; a tree by hand may know their weight only."""
        return int(self.n[leaf]) if self._knows(leaf) and self.n[0] != 0 else None

    def share(self, leaf: int) -> float | None:
        """Return which share of all rows is in a leaf; of their weight, if only that is known."""
        if not self._knows(leaf, 0):
            return None
        size = self.n if self.n[0] > 0 else self.weight
        return _part(float(size[leaf]), float(size[0]))

    def coverage_and_density(self, leaf: int, label: int) -> tuple[float | None, float | None]:
        """Return the leaf's share of its class, and the class's share of the leaf."""
        if not self._knows(leaf):
            return None, None
        tree = self.subject.tree
        here, everywhere = tree.stats[[leaf, 0], label].tolist()
        coverage = _part(here, everywhere) if self._knows(0) else None
        some = tree.stats[leaf].any()
        return coverage, _part(float(tree.proportion[leaf, label]), 1.0) if some else None

    def mean_and_sd(self, leaf: int) -> tuple[float | None, float | None]:
        """Return mean and standard deviation of the one number of a leaf's rows."""
        tree = self.subject.tree
        if tree.n_outputs > 1 or tree.loss != "squared_error":
            return None, None
        sd = known(spread_of(self.subject, leaf)) if self._knows(leaf) else None
        return known(tree.mean[leaf, 0]), sd


class _Given:
    """What given rows are like; those of classes that the tree does not tell apart are left out.

    The numbers of a tree that is added to others about classes are none of the rows' own.
    """

    def __init__(self, subject: Subject, Z: AnyArray, y: AnyArray) -> None:
        leaves, self.y = subject.tree.apply(Z), np.asarray(y)
        if not subject.says_numbers:
            told = subject.told_apart[self.y]
            leaves, self.y = leaves[told], self.y[told]
        self.numbers = self._numbers(subject)
        self.n = np.bincount(leaves, minlength=subject.tree.n_nodes)
        order = np.argsort(leaves, kind="stable")
        ends = np.cumsum(self.n)
        self.at = [order[end - n : end] for n, end in zip(self.n, ends, strict=True)]

    def _numbers(self, subject: Subject) -> FloatArray | None:
        if not subject.says_numbers or subject.tree.n_outputs > 1:
            return None
        return np.asarray(self.y, dtype=np.float64).ravel()

    def rows(self, leaf: int) -> int:
        """Return how many rows are in a leaf."""
        return int(self.n[leaf])

    def share(self, leaf: int) -> float | None:
        """Return which share of all rows is in a leaf."""
        return _part(int(self.n[leaf]), len(self.y))

    def coverage_and_density(self, leaf: int, label: int) -> tuple[float | None, float | None]:
        """Return the leaf's share of its class, and the class's share of the leaf."""
        here = int((self.y[self.at[leaf]] == label).sum())
        return _part(here, int((self.y == label).sum())), _part(here, int(self.n[leaf]))

    def mean_and_sd(self, leaf: int) -> tuple[float | None, float | None]:
        """Return mean and standard deviation of the one number of a leaf's rows."""
        if self.numbers is None or not self.n[leaf]:
            return None, None
        here = self.numbers[self.at[leaf]]
        with np.errstate(over="ignore", invalid="ignore"):
            return known(here.mean()), known(here.std())
