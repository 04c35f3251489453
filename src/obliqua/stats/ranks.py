"""Whether methods differ over many data sets: mean ranks and the tests that go with them.

As Demšar has it (*Statistical comparisons of classifiers over multiple data sets*, Journal of
Machine Learning Research 7, 2006): on each data set the best method has rank 1, and what is
compared are ranks, not scores. Friedman's test says whether all methods could be the same;
Nemenyi's critical difference, which mean ranks are too close to be told apart; Wilcoxon's signed
ranks compare two methods, with Holm's correction for the number of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import stats

from obliqua._typing import AnyArray, FloatArray
from obliqua.words.phrases import on_one_line

__all__ = [
    "MOST_EXACT",
    "Pair",
    "Ranks",
    "holm",
    "near_ranks",
    "rank_methods",
    "read_scores",
    "signed_rank_p",
    "words_on_gaps",
]

#: On a data set, scores that are no further apart than this share of its largest one are equal:
#: the rest is rounding.
SAME = 1e-12


@dataclass(frozen=True)
class Pair:
    """Two methods compared by Wilcoxon's signed-rank test.

    Parameters
    ----------
    better, worse : str
        The methods; `better` has the smaller mean rank.
    wins, losses, ties : int
        On how many data sets `better` has the better score, the worse one, the same.
    p_value : float
        Two-sided; exact, over all choices of signs, up to 200 data sets on which the two differ,
        and by the normal distribution with more, ties taken into account. Data sets on which
        both are the same count when differences are ranked, and have no sign.
    adjusted : float
        The same after Holm's correction for the number of comparisons.
    """

    better: str
    worse: str
    wins: int
    losses: int
    ties: int
    p_value: float
    adjusted: float


@dataclass(frozen=True, eq=False)
class Ranks:
    """How methods rank over data sets. Made by `rank_methods`.

    Parameters
    ----------
    methods : tuple of str
        The methods, as they were given.
    data_sets : tuple of str
        The data sets.
    scores : ndarray of shape (n_data_sets, n_methods)
        The scores.
    larger_is_better : bool
        Whether a larger score is the better one.
    level : float
        Differences with a larger p-value count as noise.
    notes : tuple of str
        What a reader should know: data sets that were left out, for instance.
    """

    methods: tuple[str, ...]
    data_sets: tuple[str, ...]
    scores: FloatArray
    larger_is_better: bool = True
    level: float = 0.05
    notes: tuple[str, ...] = ()

    @cached_property
    def ranks(self) -> FloatArray:
        """The rank of each method on each data set; 1 is the best, and ties share their mean."""
        signed = -self.scores if self.larger_is_better else self.scores
        lines = zip(signed, self._same, strict=True)
        return np.array([near_ranks(line, np.full(len(line), same)) for line, same in lines])

    @cached_property
    def _same(self) -> FloatArray:
        """How far apart scores of a data set may be that count as equal."""
        return np.asarray(SAME * np.abs(self.scores).max(axis=1))

    @cached_property
    def mean_ranks(self) -> dict[str, float]:
        """The mean rank of each method over the data sets."""
        return dict(zip(self.methods, self.ranks.mean(axis=0).tolist(), strict=True))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The methods, that with the smallest mean rank first."""
        return tuple(sorted(self.methods, key=self.mean_ranks.__getitem__))

    @property
    def best(self) -> str:
        """The method with the smallest mean rank; the first of them at ties."""
        return self.order[0]

    @cached_property
    def firsts(self) -> tuple[str, ...]:
        """The methods with the smallest mean rank: several at ties, in the order given."""
        least = self.mean_ranks[self.best]
        return tuple(name for name in self.methods if self.mean_ranks[name] == least)

    @cached_property
    def friedman(self) -> tuple[float, float]:
        """Friedman's chi-square, corrected for ties, and its p-value."""
        n, k = self.ranks.shape
        off = self.ranks - (k + 1) / 2.0
        spread = float((off**2).sum())
        if spread == 0.0:  # all methods are the same everywhere
            return 0.0, 1.0
        found = n * (k - 1) * n * float((off.mean(axis=0) ** 2).sum()) / spread
        return found, float(stats.chi2.sf(found, k - 1))

    @cached_property
    def iman_davenport(self) -> tuple[float, float]:
        """Iman and Davenport's F, which is less cautious than Friedman's test, and its p-value.

        Where all data sets have the same order F is infinite, and Friedman's p-value stands in.
        """
        n, k = self.ranks.shape
        chi_square = self.friedman[0]
        rest = n * (k - 1) - chi_square
        if rest <= 1e-9 * n * (k - 1):  # the methods have the same order everywhere
            return float("inf"), self.friedman[1]
        found = (n - 1) * chi_square / rest
        return found, float(stats.f.sf(found, k - 1, (k - 1) * (n - 1)))

    @cached_property
    def critical_difference(self) -> float:
        """Mean ranks that are at least so far apart differ, by Nemenyi's test."""
        n, k = self.ranks.shape
        range_of_normals = float(stats.studentized_range.ppf(1.0 - self.level, k, np.inf))
        return range_of_normals * float(np.sqrt(k * (k + 1) / (12.0 * n)))

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Methods that Nemenyi's test cannot tell apart: largest groups of two or more.

        Each is in the order of mean ranks, and groups may overlap.
        """
        means = [self.mean_ranks[name] for name in self.order]
        found: list[tuple[str, ...]] = []
        reached = 0
        for first, mean in enumerate(means):
            end = first
            while end < len(means) and means[end] - mean < self.critical_difference:
                end += 1
            if end - first > 1 and end > reached:
                found.append(self.order[first:end])
                reached = end
        return tuple(found)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of methods by Wilcoxon's signed-rank test, in the order of mean ranks."""
        return self._compared(list(combinations(self.order, 2)))

    def against(self, method: str) -> tuple[Pair, ...]:
        """Compare one method with each other one, corrected for these comparisons only.

        That is right for a method that was named before anything was measured: a new one, or the
        one that all others must beat. For the best of many it is a little hopeful.

        Parameters
        ----------
        method : str
            The method.

        Returns
        -------
        tuple of Pair
            A comparison with each other method, in the order of mean ranks.
        """
        if method not in self.methods:
            raise ValueError(
                f"There is no method {method!r}. The methods are {', '.join(self.methods)}."
            )
        return self._compared([pair for pair in combinations(self.order, 2) if method in pair])

    def _compared(self, names: list[tuple[str, str]]) -> tuple[Pair, ...]:
        """Compare pairs of methods, and correct for their number."""
        found = [self._signed_ranks(*pair) for pair in names]
        plain = [signed_rank_p(signed) for signed in found]
        return tuple(
            Pair(
                *(one, other),
                *(int((signed > 0).sum()), int((signed < 0).sum()), int((signed == 0).sum())),
                *(p, adjusted),
            )
            for (one, other), signed, p, adjusted in zip(
                names, found, plain, holm(plain), strict=True
            )
        )

    def _signed_ranks(self, one: str, other: str) -> FloatArray:
        """Return the ranks of differences by size, with the sign of the one that is better.

        0 where both are the same. Sizes are the same if rounding explains how far they are apart,
        as that of 0.9 - 0.8 and 0.8 - 0.7.
        """
        sign = 1.0 if self.larger_is_better else -1.0
        columns = dict(zip(self.methods, self.scores.T, strict=True))
        gains = sign * (columns[one] - columns[other])
        gains[np.abs(gains) <= self._same] = 0.0
        return np.sign(gains) * near_ranks(np.abs(gains), self._same)

    def pair(self, one: str, other: str) -> Pair:
        """Return the comparison of two methods.

        Parameters
        ----------
        one, other : str
            The methods, in any order.

        Returns
        -------
        Pair
            What `pairs` has of them.
        """
        for pair in self.pairs:
            if {pair.better, pair.worse} == {one, other}:
                return pair
        raise ValueError(
            f"There is no pair {one!r} and {other!r}. The methods are {', '.join(self.methods)}."
        )

    def describe(self) -> str:
        """Say in words what was found."""
        n, k = self.ranks.shape
        ranked = ", ".join(f"{name} {self.mean_ranks[name]:.2f}" for name in self.order)
        first = f"{k} methods on {n} data sets. Mean ranks (1 is best): {ranked}."
        lines = [first, self._words_on_all(), self._words_on_groups(), self._words_on_best()]
        return "\n".join([*lines, *self.notes, *self._cautions()])

    def _words_on_all(self) -> str:
        """Say whether all methods could be the same."""
        n, k = self.ranks.shape
        chi_square, p = self.friedman
        f, p_of_f = self.iman_davenport
        differ = p_of_f < self.level
        return (
            f"Friedman's chi-square is {chi_square:.2f} (degrees of freedom: {k - 1}; "
            f"{_p(p)}), Iman and Davenport's F {f:.2f} ({k - 1} and {(k - 1) * (n - 1)}; "
            f"{_p(p_of_f)}): "
            + ("the methods differ." if differ else "no difference can be seen beyond noise.")
        )

    def _words_on_difference(self) -> str:
        return (
            f"Mean ranks differ if they are {self.critical_difference:.2f} apart (Nemenyi, "
            f"{100 * self.level:g} %)."
        )

    def _words_on_groups(self) -> str:
        text = f"{self._words_on_difference()} "
        if not self.groups:
            return text + "All of them can be told apart."
        if len(self.groups[0]) == len(self.methods):
            return text + "None of them can be told apart."
        named = "; ".join(", ".join(group) for group in self.groups)
        return text + f"Not told apart: {named}."

    def _words_on_best(self) -> str:
        """Say which methods the best one beats by Wilcoxon's test."""
        # The best was chosen from the same scores, so the correction is for all pairs.
        test = f"(Wilcoxon's signed ranks with Holm's correction, {100 * self.level:g} %)"
        if len(self.firsts) > 1:
            return self._words_on_firsts(test)
        beaten = self._beaten(self.best)
        if not beaten:
            return f"{self.best} has the best mean rank, but beats no other beyond noise {test}."
        if len(beaten) == len(self.methods) - 1:
            return f"{self.best} beats every other method beyond noise {test}."
        return f"{self.best} beats {', '.join(beaten)} beyond noise {test}."

    def _words_on_firsts(self, test: str) -> str:
        """Say the same of methods that share the best mean rank."""
        share = f"{', '.join(self.firsts[:-1])} and {self.firsts[-1]} share the best mean rank"
        won = [(name, self._beaten(name)) for name in self.firsts]
        found = [f"{name} beats {', '.join(beaten)}" for name, beaten in won if beaten]
        if not found:
            return f"{share}, but beat no other beyond noise {test}."
        return f"{share}; {'; '.join(found)} beyond noise {test}."

    def _beaten(self, name: str) -> list[str]:
        """Return which methods one beats by Wilcoxon's test, the best ones first."""
        return [
            other
            for other in self.order
            if other != name
            and self.pair(name, other).adjusted < self.level
            and self._signed_ranks(name, other).sum() > 0.0  # which mean ranks may see otherwise
        ]

    def _cautions(self) -> list[str]:
        n = len(self.data_sets)
        if 2.0 ** (1 - n) * len(self.pairs) < self.level:
            return []
        text = (
            f"With {n} data sets and {len(self.methods)} methods Wilcoxon's test cannot find any "
            "difference, however large; Nemenyi's is rough."
        )
        return [text]

    def markdown(self) -> str:
        """Return a table of mean ranks as Markdown, with the tests in words below.

        Returns
        -------
        str
            The text. Letters mark groups: methods that share one cannot be told apart by
            Nemenyi's test. The last columns compare each method with the best one, by Wilcoxon's
            test with Holm's correction for all pairs, because the best was chosen from the same
            scores.
        """
        lines = [
            "| method | mean rank | group | against the best: won-lost-tied | p | p, Holm |",
            "|--|--:|--|--:|--:|--:|",
        ]
        against = {pair.worse: pair for pair in self.pairs if pair.better == self.best}
        for name in self.order:
            letters = "".join(
                _letter(place) for place, group in enumerate(self.groups) if name in group
            )
            cells = [_cell(name), f"{self.mean_ranks[name]:.2f}", letters, "", "", ""]
            if name != self.best:
                pair = against[name]
                cells[3] = f"{pair.wins}-{pair.losses}-{pair.ties}"
                cells[4:] = [_number(pair.p_value), _number(pair.adjusted)]
            lines.append(f"| {' | '.join(cells)} |")
        letters = f"{self._words_on_difference()} Methods with a letter in common do not."
        words = [self._words_on_all(), letters, self._words_on_best(), *self.notes]
        return "\n".join([*lines, "", "\n\n".join([*words, *self._cautions()])]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON.

        Returns
        -------
        dict
            Methods, data sets, mean ranks, statistics with their p-values, groups and pairs. An
            infinite F is None.
        """
        f, p_of_f = self.iman_davenport
        return {
            "methods": list(self.methods),
            "data_sets": list(self.data_sets),
            "larger_is_better": self.larger_is_better,
            "level": self.level,
            "mean_ranks": self.mean_ranks,
            "friedman": {"chi_square": self.friedman[0], "p_value": self.friedman[1]},
            "iman_davenport": {"f": f if np.isfinite(f) else None, "p_value": p_of_f},
            "critical_difference": self.critical_difference,
            "groups": [list(group) for group in self.groups],
            "pairs": [vars(pair).copy() for pair in self.pairs],
            "notes": list(self.notes),
        }


def rank_methods(
    scores: Any, *, larger_is_better: bool = True, level: float = 0.05, missing: str = "raise"
) -> Ranks:
    """Rank methods over data sets, and test whether they differ.

    Parameters
    ----------
    scores : mapping or DataFrame
        A column per method with a score per data set: a mapping of method to a mapping of data
        set to score, or to a sequence of scores in the same order for all; or a DataFrame of
        pandas or polars with such columns. pandas' index names the data sets.
    larger_is_better : bool, default=True
        Whether a larger score is the better one, as for accuracies; False for errors, numbers of
        leaves and times.
    level : float, default=0.05
        The level of all tests, between 0 and 1.
    missing : {"raise", "drop"}, default="raise"
        What to do where a method has no score, or NaN: say so, or leave the data set out for all
        methods, which a note says.

    Returns
    -------
    Ranks
        Mean ranks, Friedman's and Iman and Davenport's tests, Nemenyi's critical difference and
        groups, and all pairs by Wilcoxon's test with Holm's correction.

    Raises
    ------
    ValueError
        If there are fewer than two methods or two data sets, if a score is missing, or if scores
        are no numbers.

    See Also
    --------
    obliqua.plot_critical_difference : The picture of it.

    Notes
    -----
    Scores of a data set that differ by at most 1e-12 of its largest one are taken for equal: what
    is left is rounding, and must not make a rank. The p-values of Wilcoxon's test are exact up to
    200 data sets on which two methods differ, and those of the normal distribution beyond.

    Examples
    --------
    >>> from obliqua import rank_methods
    >>> found = rank_methods({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.7, 0.6]})
    >>> found.mean_ranks
    {'a': 1.125, 'b': 1.875}
    >>> round(found.critical_difference, 2)
    0.98
    """
    if not (isinstance(level, float) and 0.0 < level < 1.0):
        raise ValueError(f"level must be a number between 0 and 1, as 0.05; got {level!r}.")
    if missing not in ("raise", "drop"):
        raise ValueError(f"missing must be 'raise' or 'drop'; got {missing!r}.")
    methods, sets, table = read_scores(scores)
    gaps = np.isnan(table)
    notes: tuple[str, ...] = ()
    if gaps.any():
        if missing == "raise":
            raise ValueError(words_on_gaps(gaps, methods, sets))
        left_out = [name for name, gap in zip(sets, gaps, strict=True) if gap.any()]
        notes = (f"Left out, because not all methods have a score: {', '.join(left_out)}.",)
        sets = [name for name in sets if name not in left_out]
        table = table[~gaps.any(axis=1)]
    if len(sets) < 2:
        raise ValueError(
            f"At least two data sets on which all methods have a score are needed; got "
            f"{len(sets)}. One data set says nothing about others."
        )
    return Ranks(tuple(methods), tuple(sets), table, bool(larger_is_better), level, notes)


def _number(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"


def _p(p: float) -> str:
    return f"p = {_number(p)}" if p > 0.0 else "p = 0"


def _letter(place: int) -> str:
    return chr(ord("a") + place) if place < 26 else f"({place + 1})"


def _cell(text: str) -> str:
    return on_one_line(text).replace("|", "\\|")


def read_scores(scores: Any) -> tuple[list[str], list[str], FloatArray]:
    """Make a table of scores."""
    columns, sets = _columns(scores)
    if len(columns) < 2:
        raise ValueError(f"At least two methods are needed to rank them; got {len(columns)}.")
    table = np.array([[_score(c.get(s), m, s) for m, c in columns.items()] for s in sets])
    return list(columns), sets, table.reshape(len(sets), len(columns))


@runtime_checkable
class DictFrame(Protocol):
    """A frame of pandas or polars: it says its columns as a mapping."""

    def to_dict(self) -> Any:
        """Return columns by name."""


def _columns(scores: Any) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return scores by method and data set, and the names of all data sets."""
    index, names = getattr(scores, "index", None), getattr(scores, "columns", None)
    for what, labels in (("data sets", index), ("methods", names)):
        if getattr(labels, "is_unique", True) is False:
            raise ValueError(f"Two {what} of the frame have the same name; rename one.")
    given = scores.to_dict() if isinstance(scores, DictFrame) else scores
    if not isinstance(given, Mapping):
        raise ValueError(
            "scores must be a mapping of method to scores, or a DataFrame with a column per "
            f"method; got an object of class {type(scores).__name__}."
        )
    out: dict[str, dict[str, Any]] = {}
    for method, column in given.items():
        if not isinstance(column, Mapping):
            column = {f"set {place}": value for place, value in enumerate(column, start=1)}
        named = {str(name): value for name, value in column.items()}
        if str(method) in out or len(named) < len(column):
            raise ValueError("Two methods or two data sets have the same name; rename one.")
        out[str(method)] = named
    lengths = {name: len(column) for name, column in out.items()}
    plain = [name for name, column in given.items() if not isinstance(column, Mapping)]
    if len({lengths[str(name)] for name in plain}) > 1:
        counts = ", ".join(f"{name} {lengths[str(name)]}" for name in plain)
        raise ValueError(f"All methods must have as many scores; got {counts}.")
    return out, list(dict.fromkeys(name for column in out.values() for name in column))


def _score(value: Any, method: str, data_set: str) -> float:
    if value is None:
        return float("nan")
    try:
        if isinstance(value, str | bytes):  # float() would read '1' as a number
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"Scores must be numbers; {method} has {value!r} on {data_set}. A column of names "
            "must be an index, or be left out; numbers that are written as text, made numbers."
        ) from None
    if np.isinf(number):
        raise ValueError(f"Scores must be finite; {method} has {number} on {data_set}.")
    return number


def words_on_gaps(gaps: AnyArray, methods: list[str], sets: list[str]) -> str:
    """Say which scores are missing, a few of them by name."""
    named = [f"{methods[column]} on {sets[row]}" for row, column in np.argwhere(gaps).tolist()]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return (
        f"Every method needs a score on every data set; there is none of {', '.join(named[:3])}"
        f"{more}. missing='drop' leaves such data sets out for all methods."
    )


#: With more differences that are not 0, Wilcoxon's p-value is that of the normal distribution: the
#: exact one takes a time that grows with their cube.
MOST_EXACT = 200


def near_ranks(values: FloatArray, same: FloatArray) -> FloatArray:
    """Rank values, 1 for the smallest; neighbours that are close share their mean rank."""
    order = np.argsort(values, kind="stable")
    ordered, near = values[order], same[order]
    apart = np.diff(ordered) > np.maximum(near[1:], near[:-1])
    places = np.empty(len(values))
    places[order] = np.concatenate([[0], np.cumsum(apart)])
    return np.asarray(stats.rankdata(places))


def signed_rank_p(signed: FloatArray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test."""
    sizes = np.abs(signed[signed != 0.0])
    if len(sizes) <= MOST_EXACT:
        return _exact_signed_rank_p(sizes, float(signed[signed > 0.0].sum()))
    # Each sign is the toss of a coin, so the variance of the sum is that of its terms. Ranks that
    # are tied or that zeros have taken are in there as they are.
    z = abs(float(signed.sum())) / float(np.sqrt((sizes**2).sum()))
    return float(2.0 * stats.norm.sf(z))


def _exact_signed_rank_p(sizes: FloatArray, of_positive: float) -> float:
    """Count all choices of signs; ties make no difference.

    The sum of ranks is a walk: each rank is added, or nothing is. Mean ranks are halves of whole
    numbers.
    """
    steps = np.rint(2.0 * sizes).astype(np.int64)
    up = round(2.0 * of_positive)
    whole = int(steps.sum())
    chances = np.zeros(whole + 1)
    chances[0] = 1.0
    for step in steps.tolist():
        chances[step:] = 0.5 * (chances[step:] + chances[: whole + 1 - step])
        chances[:step] *= 0.5
    return min(1.0, 2.0 * float(chances[: min(up, whole - up) + 1].sum()))


def holm(p_values: list[float]) -> list[float]:
    """Correct p-values by Holm: the smallest counts for all of them, the next for one less."""
    plain = np.array(p_values)
    order = np.argsort(plain, kind="stable")
    factors = np.arange(len(plain), 0, -1)
    adjusted = np.empty(len(plain))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * plain[order]))
    return [float(value) for value in adjusted]
