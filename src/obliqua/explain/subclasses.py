"""The clusters of a class: what the leaves that predict it have in common, and what not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import written_name
from obliqua.words.frame import encodable, frame_library
from obliqua.words.levels import written_levels
from obliqua.words.numbers import write_number
from obliqua.words.phrases import on_one_line, written_share
from obliqua.words.subject import Subject, subject_of

__all__ = ["Subclasses", "subclasses"]

SHOWN = 3  # features that a line of text names
HEAD = "means that differ most (by deviations of the class)"
SHORT_HEAD = "differ most (by deviations)"


@dataclass(frozen=True, eq=False, repr=False)
class Subclasses:
    """The cluster of each leaf against its class; what `subclasses` returns.

    A cluster is the rows that reach a leaf and are of the class that it predicts. An entry per
    leaf, or a row per leaf and a column per feature. Leaves are in order of their classes, and
    within a class the largest cluster comes first.

    Parameters
    ----------
    leaves : ndarray of int64, of shape (n_leaves,)
        The leaves, by their numbers in the tree.
    codes : ndarray of int64, of shape (n_leaves,)
        The class of each leaf, as a position among the classes.
    class_names : tuple of str
        What it is called.
    n_rows : ndarray of int64, of shape (n_leaves,)
        Rows of the cluster.
    share : ndarray of shape (n_leaves,)
        Which share of the rows of its class the cluster is; NaN if the class has none.
    purity : ndarray of shape (n_leaves,)
        Which share of the rows in the leaf are of its class; NaN if it has none.
    distance : ndarray of shape (n_leaves,)
        How far the cluster's mean is from that of its class: the root of the mean square of
        `difference` over the features. NaN for a cluster without rows.
    mean, class_mean, class_sd : ndarray of shape (n_leaves, n_columns)
        The mean of each feature in the cluster, its mean in all rows of the class, and its
        standard deviation there. NaN where nothing is known.
    difference : ndarray of shape (n_leaves, n_columns)
        ``(mean - class_mean) / class_sd``; 0 where the feature does not vary in the class.
    features : tuple of str
        What the columns are called: a numeric feature by its name. A qualitative one has a column
        per level, ``colour = red``, whose mean is the share of the level.
    """

    leaves: Int64Array
    codes: Int64Array
    class_names: tuple[str, ...]
    n_rows: Int64Array
    share: FloatArray
    purity: FloatArray
    distance: FloatArray
    mean: FloatArray
    class_mean: FloatArray
    class_sd: FloatArray
    difference: FloatArray
    features: tuple[str, ...]

    def to_frame(self, library: str = "pandas") -> Any:
        """Return all figures as a frame with a row per leaf and feature.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Whose frame to make.

        Returns
        -------
        DataFrame
            With the columns ``leaf``, ``class``, ``rows``, ``share``, ``purity``, ``distance``,
            ``feature``, ``mean``, ``class_mean``, ``class_sd`` and ``difference``.

        Raises
        ------
        MissingDependency
            If the library is not installed.
        ValueError
            If it is another one.
        """
        module = frame_library(library, "subclasses")
        n_leaves, n_features = self.mean.shape
        of_leaf = {
            "leaf": self.leaves,
            "class": np.array([encodable(name) for name in self.class_names], dtype=object),
            "rows": self.n_rows,
            "share": self.share,
            "purity": self.purity,
            "distance": self.distance,
        }
        columns = {name: np.repeat(values, n_features) for name, values in of_leaf.items()}
        names = [encodable(name) for name in self.features]
        columns["feature"] = np.array(names * n_leaves, dtype=object)
        for name in ("mean", "class_mean", "class_sd", "difference"):
            columns[name] = getattr(self, name).ravel()
        texts = {name: columns[name].tolist() for name in ("class", "feature")}
        return module.DataFrame(columns | texts)

    def text(self, width: int | None = None) -> str:
        """Return a table with a line per leaf, and the features that differ most at its end.

        Parameters
        ----------
        width : int, default=None
            How long a line may be, if it can be; of the features at the end, as many are named
            as there is room for. None for three of them.

        Returns
        -------
        str
            The table; `print` shows the same.
        """
        heads = ("leaf", "class", "rows", "share", "pure", "distance")
        columns: list[Iterable[str]] = [
            map(str, self.leaves.tolist()),
            map(on_one_line, self.class_names),
            map(str, self.n_rows.tolist()),
            map(_share, self.share.tolist()),
            map(_share, self.purity.tolist()),
            ("-" if value != value else f"{value:.2f}" for value in self.distance.tolist()),
        ]
        cells = [[head, *column] for head, column in zip(heads, columns, strict=True)]
        # Names stand at the left of their column, numbers at the right.
        widths = [max(map(len, column)) for column in cells]
        padded = [
            [cell.ljust(width) if place == 1 else cell.rjust(width) for cell in column]
            for place, (column, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines = ["  ".join(row) + "  " for row in zip(*padded, strict=True)]
        space = None if width is None else width - len(lines[0])
        head = HEAD if space is None or len(HEAD) <= space else SHORT_HEAD
        last = [head, *(self._furthest(place, space) for place in range(len(self.leaves)))]
        return "\n".join(f"{line}{text}".rstrip() for line, text in zip(lines, last, strict=True))

    def _furthest(self, place: int, space: int | None) -> str:
        """Write the features in which a cluster differs most from its class."""
        away = np.nan_to_num(self.difference[place])
        # What differs by rounding only stays in the order of the columns.
        order = np.argsort(-np.abs(away).round(9), kind="stable")[:SHOWN].tolist()
        # So many digits that a fifth of a standard deviation can be seen.
        steps = self.class_sd[place] / 5
        text = ""
        for k in order:
            mean = write_number(self.mean[place, k], 3, steps[k])
            more = f"{', ' if text else ''}{self.features[k]} {mean} ({away[k]:+.1f})"
            full = text and space is not None and len(text + more) > space
            if full or abs(away[k]) < 0.05:
                break
            text += more
        return text

    def __str__(self) -> str:
        return self.text()

    def __len__(self) -> int:
        return len(self.leaves)

    def __repr__(self) -> str:
        n_classes = len(set(self.codes.tolist()))
        return (
            f"Subclasses({len(self)} leaves of {n_classes} classes, {len(self.features)} columns)"
        )


def _share(share: float) -> str:
    return "-" if share != share else written_share(share)


def subclasses(
    model: Any,
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
) -> Subclasses:
    """Compare the rows of a class in each of its leaves with all rows of the class.

    Several leaves of one class may be subclasses: groups of rows that nobody has named, in
    which the class looks different. This says how large they are, how far from the rest, and in
    which features.

    Parameters
    ----------
    model : estimator, Model or Tree
        What the rows walk.
    X : array-like of shape (n_rows, n_features)
        The rows, those of the training or others.
    y : array-like of shape (n_rows,)
        Their labels. For a tree about two classes, rows of others are left out.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    Subclasses
        The figures, an entry per leaf; printed, they are a table.

    Raises
    ------
    ValueError
        If there are not as many labels as rows, a label is none of the classes, or all are of
        classes that the tree is not about.

    Notes
    -----
    Features are compared one by one, each in units of its standard deviation within the class. So
    features that go together count as often as there are of them, and a direction in which only
    several of them together differ is not seen. A large tree divides a class where others stand
    between, too: a small leaf with a small distance is no subclass.

    Values that are missing are left out of means.

    Examples
    --------
    >>> from obliqua import CartClassifier
    >>> from obliqua.explain import subclasses
    >>> X = [[1.0], [2.0], [3.0], [5.0], [6.0], [9.0]]
    >>> y = ["a", "a", "a", "b", "b", "a"]
    >>> found = subclasses(CartClassifier(pruning=None).fit(X, y), X, y)
    >>> print(found)
    leaf  class  rows  share   pure  distance  means that differ most (by deviations of the class)
       1  a         3   75 %  100 %      0.56  x0 2 (-0.6)
       4  a         1   25 %  100 %      1.69  x0 9 (+1.7)
       3  b         2  100 %  100 %      0.00
    """
    subject = subject_of(model, feature_names, class_names, tree)
    subject.require_classes("Subclasses are leaves with rows of one class")
    Z, codes = subject.labelled_rows(X, y)
    rows = subject.rows_told_apart(codes)
    if not rows.all():
        Z, codes = Z[rows], codes[rows]
    at = subject.tree.apply(Z)
    values, features, units = _values(subject, Z)
    n_in_class = np.bincount(codes, minlength=subject.tree.n_stats)
    leaves = np.flatnonzero(subject.tree.is_leaf)
    label = np.asarray(subject.tree.leaf_label[leaves], dtype=np.int64)
    n_rows = np.array(
        [
            np.count_nonzero((at == leaf) & (codes == c))
            for leaf, c in zip(leaves, label, strict=True)
        ]
    )
    order = np.lexsort((leaves, -n_rows, label))
    leaves, label, n_rows = leaves[order], label[order], n_rows[order]
    n_in_leaf = np.bincount(at, minlength=subject.tree.n_nodes)[leaves]
    of_class = [_mean_and_sd(values[codes == c]) for c in range(subject.tree.n_stats)]
    mean = np.array(
        [
            _mean_and_sd(values[(at == leaf) & (codes == c)])[0]
            for leaf, c in zip(leaves, label, strict=True)
        ]
    )
    class_mean, class_sd = (np.array([of_class[c][part] for c in label]) for part in (0, 1))
    away = mean - class_mean
    varies = (class_sd > 0) | np.isnan(away)
    difference = np.divide(away, class_sd, out=np.zeros_like(away), where=varies)
    return Subclasses(
        leaves.astype(np.int64),
        label,
        tuple(subject.class_names[c] for c in label),
        n_rows.astype(np.int64),
        _ratio(n_rows, n_in_class[label]),
        _ratio(n_rows, n_in_leaf),
        _root_mean_square(difference),
        mean * units,
        class_mean * units,
        class_sd * units,
        difference,
        features,
    )


def _values(subject: Subject, Z: AnyArray) -> tuple[FloatArray, tuple[str, ...], FloatArray]:
    """Return the columns to compare, their names, and the unit of each.

    Numbers are divided by the largest one, so that sums of huge ones can be formed. A qualitative
    column becomes one of 0 and 1 for each level.
    """
    columns: list[FloatArray] = []
    names: list[str] = []
    units: list[float] = []
    for place, column in enumerate(subject.encoding.columns):
        entries = np.asarray(Z[:, place], dtype=np.float64)
        if column.kind == "qualitative":
            for code, level in enumerate(written_levels(column)):
                names.append(f"{written_name(column.name)} = {level}")
                columns.append(np.where(np.isnan(entries), np.nan, entries == code))
                units.append(1.0)
            continue
        names.append(written_name(column.name))
        units.append(float(np.abs(entries[~np.isnan(entries)]).max(initial=0.0)) or 1.0)
        columns.append(entries / units[-1])
    return np.array(columns).reshape(len(columns), len(Z)).T, tuple(names), np.array(units)


def _mean_and_sd(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of what is there in each column; NaN if nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    mean = _ratio(np.where(known, values, 0.0).sum(axis=0), count)
    away = np.where(known, values - mean, 0.0)
    # Entries that are all the same have no spread, whatever rounding says of their mean.
    ends = (
        np.where(known, values, np.inf).min(axis=0, initial=np.inf),
        np.where(known, values, -np.inf).max(axis=0, initial=-np.inf),
    )
    sd = np.sqrt(_ratio(np.square(away).sum(axis=0), count))
    return mean, np.where(ends[0] == ends[1], 0.0, sd)


def _ratio(part: AnyArray, whole: AnyArray) -> FloatArray:
    nothing = np.full(np.shape(part), np.nan)
    return np.divide(part, whole, out=nothing, where=np.asarray(whole) > 0)


def _root_mean_square(difference: FloatArray) -> FloatArray:
    known = ~np.isnan(difference)
    squares = np.square(np.where(known, difference, 0.0)).sum(axis=1)
    return np.sqrt(_ratio(squares, known.sum(axis=1)))
