"""What a method says to the engine: a node in, directions out.

A proposer is an object with ``propose(node)``, or a function of a node. It looks at a `NodeView`
and returns `Directions` (or a plain array of normals). Where the thresholds are, how good the
splits are and whether the tree goes on is the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from typing import Any, NamedTuple, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.weights import round_significant
from obliqua.errors import NodeViewClosed, ProposerError

__all__ = ["AXIS", "Directions", "NodeView", "Planes", "Proposals", "Proposer"]

SIGNIFICANT_BITS = 24


class NodeView:
    """What a proposer sees of a node. It is dead after the call: use it, do not keep it.

    The engine makes it. What is expensive is computed when it is first asked for.

    Parameters
    ----------
    makers : mapping of callables
        What makes `X`, `encoded`, `n_levels`, `y`, `sample_weight`, `row_weight` and
        `few_rows`, and, if classes are learnt, `counts` and `n_classes`.
    depth : int
        See below.
    key : int
        The seed of `rng`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The node's rows, float64, read-only. All of it is finite: levels are numbers that the
        node's rows give them (CRIMCOORD), and what is missing is filled in.
    encoded : ndarray of shape (n_samples, n_features)
        The rows as they are in the data: codes 0, 1, ... of levels, and NaN for what is missing.
        Numbers are never scaled.
    n_levels : ndarray of int32, of shape (n_features,)
        The number of levels of each qualitative column in all of the data, 0 for a numeric one.
    y : ndarray of int32, of shape (n_samples,)
        Class codes 0, 1, ..., n_classes - 1; not every class need be there. If numbers are
        learnt, these, as float64; with several outputs, a column for each.
    sample_weight : ndarray of shape (n_samples,)
        Weights of the rows, those of their classes included (priors and costs).
    row_weight : ndarray of shape (n_samples,)
        As how many rows each row counts, for tests of significance: its weight without that of
        its class. Weights that are not all whole numbers are brought to a mean of 1 over all of
        the data.
    few_rows : bool
        Whether all of the data has few rows beside its features, so that products of rows are
        cheaper than matrices of features.
    counts : ndarray of shape (n_classes,)
        Weight of each class in the node. There are none if numbers are learnt.
    n_classes : int
        The number of classes.
    n_samples, n_features, depth : int
        Sizes; the root has depth 0.
    rng : numpy.random.Generator
        Random numbers that depend on the seed and on the node's place in the tree only.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Any]], depth: int, key: int) -> None:
        self._makers: dict[str, Callable[[], Any]] = {
            **makers,
            "n_samples": lambda: len(self.y),
            "n_features": lambda: len(self.n_levels),
            "depth": lambda: depth,
            "rng": lambda: np.random.Generator(np.random.Philox(key=key)),
        }
        self._made: dict[str, Any] = {}
        self._title = f"{len(self.y)} rows at depth {depth}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._made:
            return self._made[name]
        if not self._makers:
            raise NodeViewClosed(
                f"The view of a node was asked for {name!r} after the proposer had returned. "
                "Copy what you need while the proposer runs."
            )
        if name not in self._makers:
            numbers = "" if "counts" in self._makers else " Numbers are learnt here, no classes."
            raise AttributeError(
                f"A node has no {name!r}. It has {', '.join(self._makers)}.{numbers}"
            )
        value = self._makers[name]()
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        self._made[name] = value
        return value

    def __repr__(self) -> str:
        return f"<NodeView: {self._title}{'' if self._makers else ', closed'}>"

    def close(self) -> None:
        """End the view: from now on reading it raises `NodeViewClosed`."""
        self._makers = {}
        self._made = {}


@runtime_checkable
class Proposer(Protocol):
    """Anything that proposes directions for a node."""

    def propose(self, node: NodeView) -> Any:
        """Return `Directions`, an array of normals, or None for no proposal."""


def function_of(proposer: Proposer | Callable[[NodeView], Any]) -> Callable[[NodeView], Any]:
    """Return the function of a node that a proposer is, or has."""
    return proposer.propose if isinstance(proposer, Proposer) else proposer


def check_instance(parameter: str, proposer: Any) -> None:
    """Refuse the class of a proposer in the place of a proposer."""
    if isinstance(proposer, type):
        raise TypeError(
            f"{parameter} must be a function of a node or an object that proposes; got the class "
            f"{proposer.__name__} itself. Write {proposer.__name__}()."
        )


def check_classes(node: NodeView, who: str) -> None:
    """Raise if numbers are learnt where a proposer parts classes."""
    if node.y.dtype.kind != "i":
        raise ProposerError(
            f"{who} parts classes, and numbers are learnt here. Take a proposer for numbers, such "
            "as obliqua.methods.slopes.Slopes(), leave it out, or take a classifier."
        )


class Settings:
    """Base of proposers that are dataclasses: a search over parameters may set their fields."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, as estimators do.

        Parameters
        ----------
        deep : bool, default=True
            Changes nothing: settings have none of their own.

        Returns
        -------
        dict
            The settings.
        """
        return {field.name: getattr(self, field.name) for field in self._settable()}

    def set_params(self, **params: Any) -> Self:
        """Change settings, as estimators do.

        Parameters
        ----------
        **params : object
            Values by name.

        Returns
        -------
        self : object
            The same object.

        Raises
        ------
        ValueError
            If there is no such setting, or the value makes no sense.
        """
        known = [field.name for field in self._settable()]
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no setting {name!r}. It has {', '.join(known)}."
                )
        changed = replace(cast(Any, self), **params)  # is checked as a new one
        self.__dict__.update(vars(changed))
        return self

    def _settable(self) -> list[Field[Any]]:
        """Return the fields but what is written during a search."""
        return [field for field in fields(cast(Any, self)) if field.name != "journal"]


@dataclass(frozen=True)
class Directions:
    """Proposed normals of hyperplanes.

    Parameters
    ----------
    normals : array-like or sparse matrix of shape (n_directions, n_features)
        One normal per row; a single normal may be a plain vector. Length does not matter.
        Normals are rounded to 24 significant bits before they are scored. Rows that are zero
        or not finite are passed over.
    thresholds : array-like of shape (n_directions,), default=None
        If given, the split ``x @ normal <= threshold`` is only scored; else every threshold
        is searched. With a limit on the features of a split, a direction that loses features
        loses its threshold too.
    labels : sequence of str, default=None
        What each direction is, for the tree's memory of where a split came from.
    """

    normals: Any
    thresholds: ArrayLike | None = None
    labels: Sequence[str] | None = None


@dataclass(frozen=True)
class Proposals:
    """A proposer, and whether axis-parallel splits compete with what it proposes.

    Parameters
    ----------
    proposer : Proposer or callable or None
        Where oblique directions come from; None for none.
    axis_parallel : bool, default=True
        Whether every feature is a candidate too. They come first, so they win ties.
    max_features : int, default=None
        The most features that a split may use. A direction that uses more is replaced by its
        sparse version, which keeps the entries of largest ``|coefficient| * spread``. Methods of
        the library that multiply features fit a direction anew by so many of them.
    scale : {"standard", "robust", "minmax"}, default=None
        What the proposer sees: features divided by their standard deviation, by their
        interquartile range or by their range. The splits are in original units all the same.
    axis_bias : float, default=1.0
        An oblique split must be better than the best axis-parallel one by more than this factor.
        With 0 any oblique split is taken, and axis-parallel ones only where there is none.
    at_root : bool, default=False
        Whether the proposer is asked at the root only, and all nodes look along what it says.
    n_drawn : int, default=None
        How many features a node looks at, drawn anew; as many more while no split gains. A method
        of the library knows of these features alone. None: it looks at all.
    """

    proposer: Any = None
    axis_parallel: bool = True
    max_features: int | None = None
    scale: str | None = None
    axis_bias: float = 1.0
    at_root: bool = False
    n_drawn: int | None = None


#: Axis-parallel splits alone, as in CART: the method that needs no proposer.
AXIS = Proposals()


class Planes(NamedTuple):
    """Normals as CSR rows, ready for the engine."""

    ptr: Int64Array
    idx: Int32Array
    coef: FloatArray
    thresholds: FloatArray | None
    labels: tuple[str, ...] | None
    opened: BoolArray | None = None  # whose given thresholds are void: they are searched

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def is_given(self, d: int) -> bool:
        """Say whether the threshold of direction d was proposed with it."""
        return self.thresholds is not None and not (self.opened is not None and self.opened[d])

    def only(self, chosen: BoolArray) -> Planes:
        """Return the same with all other directions empty: those are passed over."""
        sizes = np.where(chosen, np.diff(self.ptr), 0)
        keep = np.repeat(chosen, np.diff(self.ptr))
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Planes(ptr, self.idx[keep], self.coef[keep], self.thresholds, self.labels)

    def row(self, d: int) -> tuple[Int32Array, FloatArray]:
        """Return columns and coefficients of direction d."""
        window = slice(self.ptr[d], self.ptr[d + 1])
        return self.idx[window], self.coef[window]


def identity_planes(n_features: int) -> Planes:
    """Every feature as a direction of its own."""
    return Planes(
        np.arange(n_features + 1, dtype=np.int64),
        np.arange(n_features, dtype=np.int32),
        np.ones(n_features),
        None,
        None,
    )


def read_directions(
    answer: Any,
    n_features: int,
    scale: FloatArray | None = None,
    max_features: int | None = None,
    spread: Callable[[], FloatArray] | None = None,
) -> Planes | None:
    """Check what a proposer returned and make CSR rows of it; None if it proposed nothing.

    `scale` brings normals that were made for scaled features back to original units. With
    `max_features`, `spread()` says how much each feature varies in the node.
    """
    if answer is None:
        return None
    if not isinstance(answer, Directions):
        answer = Directions(answer)
    normals = answer.normals
    if normals is None:
        return None
    rows = _as_csr(normals, n_features)
    k, coef = len(rows.ptr) - 1, rows.coef
    if scale is not None:
        with np.errstate(over="ignore"):  # a row that is not finite is passed over later
            coef = coef * scale[rows.idx]
    # Noise in the last bits, from another BLAS or order of sums, hardly ever reaches a tree.
    coef = round_significant(coef, SIGNIFICANT_BITS)
    rows = _SparseRows(rows.ptr, rows.idx, coef).only(coef != 0)
    opened = None
    if max_features is not None and np.diff(rows.ptr).max(initial=0) > max_features:
        assert spread is not None
        opened = np.diff(rows.ptr) > max_features
        rows = _sparse_version(rows, max_features, spread())
    thresholds = _checked_thresholds(answer.thresholds, k)
    labels = None if answer.labels is None else tuple(str(label) for label in answer.labels)
    if labels is not None and len(labels) != k:
        raise ProposerError(
            f"A proposer must give one label per direction; got {len(labels)} labels for {k} "
            "directions."
        )
    if k == 0:
        return None
    # A row that is not finite is passed over whole; its place in the order stays.
    bad = np.zeros(k, dtype=bool)
    bad[rows.number[~np.isfinite(rows.coef)]] = True
    rows = rows.only(~bad[rows.number])
    return Planes(
        rows.ptr.astype(np.int64),
        rows.idx.astype(np.int32),
        np.ascontiguousarray(rows.coef),
        thresholds,
        labels,
        None if thresholds is None else opened,
    )


class _SparseRows(NamedTuple):
    """Sparse rows. SciPy's own kind costs as much to make as a small node's search."""

    ptr: NDArray[Any]
    idx: NDArray[Any]
    coef: FloatArray

    @property
    def number(self) -> Int64Array:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))

    def only(self, keep: BoolArray) -> _SparseRows:
        """Return the rows with some of their entries."""
        if keep.all():
            return self
        sizes = np.bincount(self.number[keep], minlength=len(self.ptr) - 1)
        return _SparseRows(np.append(0, np.cumsum(sizes)), self.idx[keep], self.coef[keep])


def _sparse_version(rows: _SparseRows, most: int, spread: FloatArray) -> _SparseRows:
    """Keep the `most` entries of each row that matter most; of equals the earlier ones."""
    number = rows.number
    # A row that is not finite is passed over later; what makes it so must stay in it.
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(rows.coef) * spread[rows.idx]
    order = np.lexsort((rows.idx, -size, np.isfinite(rows.coef), number))
    place = np.arange(len(order)) - rows.ptr[:-1][number[order]]
    keep = np.zeros(len(order), dtype=bool)
    keep[order[place < most]] = True
    return rows.only(keep)


def _as_csr(normals: Any, n_features: int) -> _SparseRows:
    if not sparse.issparse(normals):
        try:
            dense: NDArray[Any] = np.asarray(normals)
            if dense.dtype.kind != "c":
                dense = dense.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ProposerError(
                f"A proposer must return numbers (an array of normals); got "
                f"{type(normals).__name__}, which is not: {error}"
            ) from error
        if dense.ndim == 1 and dense.size:
            dense = dense[None, :]
        if dense.size == 0:
            return _SparseRows(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))
        normals = dense
    if normals.dtype.kind == "c":
        raise ProposerError(
            "A proposer must return real numbers; got complex ones. Take .real if the imaginary "
            "parts are 0 (or numpy.linalg.eigh for eigenvectors of a symmetric matrix)."
        )
    if normals.ndim != 2 or normals.shape[1] != n_features:
        raise ProposerError(
            f"A proposer must return normals of shape (n_directions, {n_features}); got shape "
            f"{tuple(normals.shape)}. One row per direction, one column per feature."
        )
    if not sparse.issparse(normals):
        rows, columns = np.nonzero(normals)
        ptr = np.searchsorted(rows, np.arange(len(normals) + 1))
        return _SparseRows(ptr, columns, normals[rows, columns])
    matrix = sparse.csr_array(normals, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.sort_indices()
    return _SparseRows(matrix.indptr, matrix.indices, matrix.data)


def _checked_thresholds(thresholds: ArrayLike | None, k: int) -> FloatArray | None:
    if thresholds is None:
        return None
    try:
        values = np.asarray(thresholds).astype(np.float64, casting="same_kind").ravel()
    except (TypeError, ValueError) as error:
        raise ProposerError(
            f"A proposer's thresholds must be real numbers, one per direction; got "
            f"{type(thresholds).__name__}: {error}"
        ) from error
    if len(values) != k:
        raise ProposerError(
            f"A proposer must give one threshold per direction or none at all; got {len(values)} "
            f"thresholds for {k} directions."
        )
    return values
