"""The criteria: how good it is to part a node's class sums into a left and a right side.

Goodness is larger for a better split. With class sums ``L_c`` and ``R_c``, ``N_c = L_c + R_c``,
totals ``nL``, ``nR``, ``n``, ``D_c = L_c n - N_c nL`` (an exact integer where the sums are
integers) and ``minority(v) = sum(v) - max(v)``:

==============  ====  =======================================================================
name            code  goodness
==============  ====  =======================================================================
twoing          0     ``(sum |D_c|)^2 / (4 n^2 nL nR)``
gini            1     ``sum D_c^2 / (n^2 nL nR)``, which is the decrease of gini impurity
entropy         2     ``H(N) - nL/n H(L) - nR/n H(R)`` in bits; exactly 0 where all ``D_c`` are
gain_ratio      3     entropy over ``-(pL log2 pL + pR log2 pR)``
max_minority    4     ``(minority(N) - max(minority(L), minority(R))) / n``
sum_minority    5     ``(minority(N) - minority(L) - minority(R)) / n``
sum_variances   6     ``(V(N) - V(L) - V(R)) / n`` with ``V(v) = sum v_c (k_c - mean)^2``
node_variances  10    the same with one number per class, ``(sum k_c D_c)^2 / (n^2 nL nR)``
==============  ====  =======================================================================

In ``sum_variances`` the number ``k_c`` of a class is its place 1, 2, ...; with more than two
classes they are numbered by ascending size, anew in the node and on each side, as OC1's
program does. In ``node_variances`` they are numbered by ascending size in the node, once for both
sides, as OC1's paper says; of equally frequent classes the earlier one comes first. A split with
an empty side has goodness 0.

For numbers, sums are the weight ``n``, the weighted sum ``S_j`` of each output and two for the
squares (see ``_core/base/target.pxd``), all integers on a grid, and ``D_j = S_Lj n - S_j nL``:

==============  ===  =======================================================================
squared_error   7    ``sum D_j^2 / (n^2 nL nR)``, which is the decrease of the mean square error
poisson         8    ``sum (S_Lj log(S_Lj / nL) + S_Rj log(S_Rj / nR) - S_j log(S_j / n)) / n``,
                     half the decrease of the mean Poisson deviance; a side whose sum is 0 is
                     not allowed: minus infinity
absolute_error  9    ``(A(N) - A(L) - A(R)) / n``, ``A`` the sum of distances from the median
==============  ===  =======================================================================

``absolute_error`` cannot be told from sums: ``_core/search/medians.pyx`` looks at the rows.

``code`` is the number by which compiled code knows the same formula; both evaluate it in the
same order of operations. Any Python function of the two count vectors is a criterion too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from obliqua._core.search.criterion import logarithms
from obliqua._typing import AnyArray, FloatArray, GoodnessFunction, Int64Array

__all__ = ["CRITERIA", "NUMBER_CRITERIA", "Criterion", "get_criterion", "vectorized"]

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__obliqua_vectorized__"

# Sums up to this size have differences D_c whose absolute values can be added in 64 bits.
_NARROW = 2**30
# Up to this, sums of integers fit in 64 bits.
_WIDE = 2**62


@dataclass(frozen=True)
class Criterion:
    """A measure of goodness by name.

    Parameters
    ----------
    name : str
        The name of a built-in criterion, or of the user's function.
    code : int
        The number of the compiled twin; -1 where there is none.
    function : callable
        Goodness of ``(left, right)``.
    convex : bool, default=False
        Whether goodness is convex in the counts, which lets a search skip whole bins.
    vectorized : bool, default=False
        Whether ``function`` takes many pairs of count vectors at once.
    needs_rows : bool, default=False
        Whether sums are not enough, so that ``function`` can only refuse.
    """

    name: str
    code: int
    function: GoodnessFunction
    convex: bool = False
    vectorized: bool = False
    needs_rows: bool = False

    def goodness(self, left: ArrayLike, right: ArrayLike) -> FloatArray:
        """Goodness of every pair of count vectors.

        Parameters
        ----------
        left, right : array-like of shape (..., n_classes)
            Class sums of the two sides.

        Returns
        -------
        ndarray of shape (...)
            One float64 per pair.

        Raises
        ------
        ValueError
            If a user's function does not return one number per pair.
        """
        a, b = np.asarray(left), np.asarray(right)
        if self.code >= 0:
            return np.asarray(self.function(a, b), dtype=np.float64)
        a, b = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
        pairs = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
        if self.vectorized:
            answers = [self.function(*pairs)]
            expected: tuple[int, ...] = (len(pairs[0]),)
        else:
            answers = [self.function(u, v) for u, v in zip(*pairs, strict=True)]
            expected = ()
        values = [self._checked(answer, expected) for answer in answers]
        flat = values[0] if self.vectorized else np.array(values, dtype=np.float64)
        return flat.reshape(a.shape[:-1])

    def _checked(self, answer: Any, expected: tuple[int, ...]) -> FloatArray:
        """Read the answer of a user's function as numbers of the expected shape."""
        wanted = f"{expected[0]} numbers, one per row" if expected else "one number"
        advice = (
            "return a 1-D array with the goodness of each row of (left, right)"
            if expected
            else "return a float, or decorate it with obliqua.criteria.vectorized if it takes "
            "many rows at once"
        )
        try:
            values = None if answer is None else np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            values = None
        if values is None or values.shape != expected:
            got = type(answer).__name__ if values is None else f"shape {values.shape}"
            raise ValueError(
                f"The criterion {self.name!r} must return {wanted}; got {got}. Please {advice}."
            )
        return values


def vectorized(function: F) -> F:
    """Mark a criterion function that scores many splits in one call.

    The marked function is called with two float64 arrays of shape ``(k, n_classes)`` and
    returns ``k`` values, instead of two vectors and one value.

    Parameters
    ----------
    function : callable
        The function to mark.

    Returns
    -------
    callable
        The same function.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua.criteria import get_criterion, vectorized
    >>> @vectorized
    ... def smaller_side(left, right):
    ...     return np.minimum(left.sum(axis=1), right.sum(axis=1))
    >>> get_criterion(smaller_side).goodness([[1, 2], [3, 4]], [[5, 5], [1, 0]])
    array([3., 1.])
    """
    setattr(function, _MARK, True)
    return function


def _formula(
    function: Callable[[AnyArray, AnyArray], FloatArray],
) -> Callable[[ArrayLike, ArrayLike], FloatArray]:
    """Let a formula take anything like two arrays: integers stay integers, else float64."""

    @functools.wraps(function)
    def widened(left: ArrayLike, right: ArrayLike) -> FloatArray:
        a, b = np.asarray(left), np.asarray(right)
        exact = a.dtype.kind in "iub" and b.dtype.kind in "iub"
        dtype = np.int64 if exact else np.float64
        return function(a.astype(dtype, copy=False), b.astype(dtype, copy=False))

    return widened


def _total(v: AnyArray) -> AnyArray:
    return np.asarray(v.sum(axis=-1))


def _in_order(terms: FloatArray) -> FloatArray:
    """Sum over the classes from the first to the last, as a plain loop would."""
    return np.asarray(np.cumsum(terms, axis=-1)[..., -1], dtype=np.float64)


def _float(v: AnyArray) -> FloatArray:
    return np.asarray(v, dtype=np.float64)


def _divide(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient that is 0 where the denominator is: a split with an empty side is worth 0."""
    out = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def _differences(left: AnyArray, right: AnyArray) -> AnyArray:
    """``D_c``, in exact integers where the sums are integers."""
    n_left = _total(left)
    n = np.asarray(n_left + _total(right))
    if n.dtype.kind == "i" and n.size and int(np.max(n)) > _NARROW:
        left, right = left.astype(object), right.astype(object)
        n_left, n = n_left.astype(object), n.astype(object)
    difference = left * n[..., None] - (left + right) * n_left[..., None]
    return np.asarray(difference)


def _sides(left: AnyArray, right: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    n_left, n_right = _total(left), _total(right)
    return _float(n_left), _float(n_right), _float(n_left + n_right)


@_formula
def _twoing(left: AnyArray, right: AnyArray) -> FloatArray:
    s = _float(_total(np.abs(_differences(left, right))))
    n_left, n_right, n = _sides(left, right)
    return _divide(_divide(s * s, n_left * n_right), 4.0 * n * n)


@_formula
def _gini(left: AnyArray, right: AnyArray) -> FloatArray:
    d = _float(_differences(left, right))
    n_left, n_right, n = _sides(left, right)
    return _divide(_divide(_in_order(d * d), n_left * n_right), n * n)


def _bits(v: AnyArray) -> FloatArray:
    """Entropy of class sums, base 2."""
    share = _divide(_float(v), _float(_total(v))[..., None])
    return -_in_order(share * logarithms(np.where(share > 0, share, 1.0)))


@_formula
def _entropy(left: AnyArray, right: AnyArray) -> FloatArray:
    n_left, n_right, n = _sides(left, right)
    gained = _bits(left + right)
    gained = gained - _divide(n_left, n) * _bits(left)
    gained = gained - _divide(n_right, n) * _bits(right)
    nothing = (_differences(left, right) == 0).all(axis=-1) | (n_left == 0) | (n_right == 0)
    return np.where(nothing, 0.0, np.maximum(gained, 0.0))


@_formula
def _gain_ratio(left: AnyArray, right: AnyArray) -> FloatArray:
    n_left, n_right, _ = _sides(left, right)
    return _divide(_entropy(left, right), _bits(np.stack([n_left, n_right], axis=-1)))


def _minority(v: AnyArray) -> AnyArray:
    return np.asarray(_total(v) - v.max(axis=-1))


@_formula
def _max_minority(left: AnyArray, right: AnyArray) -> FloatArray:
    n_left, n_right, n = _sides(left, right)
    saved = _minority(left + right) - np.maximum(_minority(left), _minority(right))
    return np.where((n_left == 0) | (n_right == 0), 0.0, _divide(_float(saved), n))


@_formula
def _sum_minority(left: AnyArray, right: AnyArray) -> FloatArray:
    n_left, n_right, n = _sides(left, right)
    saved = _minority(left + right) - _minority(left) - _minority(right)
    return np.where((n_left == 0) | (n_right == 0), 0.0, _divide(_float(saved), n))


def _scatter(v: AnyArray) -> FloatArray:
    """Sum of squared distances of the class numbers from their mean."""
    counts = _float(np.sort(v, axis=-1) if v.shape[-1] > 2 else v)
    number = np.arange(1.0, v.shape[-1] + 1.0)
    first = _in_order(number * counts)
    second = _in_order(number * number * counts)
    return second - _divide(first * first, _float(_total(v)))


@_formula
def _sum_variances(left: AnyArray, right: AnyArray) -> FloatArray:
    n_left, n_right, n = _sides(left, right)
    saved = _scatter(left + right) - _scatter(left) - _scatter(right)
    # Equal shares save nothing, however the sums are rounded.
    alike = (_differences(left, right) == 0).all(axis=-1)
    return np.where((n_left == 0) | (n_right == 0) | alike, 0.0, _divide(saved, n))


def node_numbers(total: AnyArray) -> Int64Array:
    """Return the numbers of the classes by ascending size, from 1; of equals the first first."""
    order = np.argsort(total, axis=-1, kind="stable")
    return np.asarray(np.argsort(order, axis=-1, kind="stable") + 1, dtype=np.int64)


@_formula
def _node_variances(left: AnyArray, right: AnyArray) -> FloatArray:
    number = node_numbers(left + right)
    n_left, n_right, n = _sides(left, right)
    if left.dtype.kind == "i" and n.size and float(np.max(n)) * number.shape[-1] > _WIDE:
        left, right = left.astype(object), right.astype(object)
    # Of sums of numbers the difference is as exact as that of class sums.
    sums = [np.stack([_total(number * v), _total(v)], axis=-1) for v in (left, right)]
    whole = sums[0] + sums[1]
    if whole.dtype.kind == "i" and whole.size and int(np.max(whole)) > _NARROW:
        sums[0], whole = sums[0].astype(object), whole.astype(object)
    apart = _float(sums[0][..., 0] * whole[..., 1] - whole[..., 0] * sums[0][..., 1])
    return _divide(_divide(apart * apart, n_left * n_right), n * n)


@_formula
def _squared_error(left: AnyArray, right: AnyArray) -> FloatArray:
    left, right = left.astype(object), right.astype(object)
    n_left, n = left[..., :1], left[..., :1] + right[..., :1]
    sums = left[..., 1:-2]
    d = _float(sums * n - (sums + right[..., 1:-2]) * n_left)
    n_left, n_right, n = (_float(v[..., 0]) for v in (left, right, n))
    return _divide(_divide(_in_order(d * d), n_left * n_right), n * n)


@np.vectorize
def _log_of_rate(x: float, part: float, total: float, n_part: float, n: float) -> float:
    """The logarithm of (part / n_part) / (total / n), by the C library."""
    off = x / (total * n_part)
    return math.log1p(off) if off > -0.5 else math.log(part / total * (n / n_part))


@_formula
def _poisson(left: AnyArray, right: AnyArray) -> FloatArray:
    left, right = left.astype(object), right.astype(object)
    n_left, n_right = left[..., :1], right[..., :1]
    a, b = left[..., 1:-2], right[..., 1:-2]
    n, total = n_left + n_right, a + b
    x = _float(a * n - total * n_left)
    known = np.asarray((a != 0) & (b != 0))
    # Whatever stands in for a sum of 0 is not looked at.
    a, b, total = (_float(np.where(known, v, 1)) for v in (a, b, total))
    i, r, m = (np.maximum(_float(v), 1.0) for v in (n_left, n_right, n))
    x = np.where(known, x, 0.0)
    terms = a * _log_of_rate(x, a, total, i, m) + b * _log_of_rate(-x, b, total, r, m)
    score = np.maximum(_in_order(terms), 0.0) / m[..., 0]
    score = np.where(known.all(axis=-1), score, -np.inf)
    empty = (_float(n_left) == 0) | (_float(n_right) == 0)
    return np.where(empty[..., 0], 0.0, score)


def _absolute_error(left: AnyArray, right: AnyArray) -> FloatArray:
    """Refuse: a median is not told by sums."""
    raise ValueError(
        "The criterion 'absolute_error' needs the rows of a node: their median is not told by "
        "sums. Grow a tree with it, and look at the tree's gains."
    )


def _built_in(name: str, code: int, function: GoodnessFunction, convex: bool) -> Criterion:
    return Criterion(name, code, function, convex=convex, vectorized=True)


#: Every built-in criterion for classes by its name.
CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        _built_in("twoing", 0, _twoing, True),
        _built_in("gini", 1, _gini, True),
        _built_in("entropy", 2, _entropy, True),
        _built_in("gain_ratio", 3, _gain_ratio, False),
        _built_in("max_minority", 4, _max_minority, False),
        _built_in("sum_minority", 5, _sum_minority, True),
        _built_in("sum_variances", 6, _sum_variances, False),
        _built_in("node_variances", 10, _node_variances, False),
    )
}

#: Every built-in criterion for numbers by its name.
NUMBER_CRITERIA: dict[str, Criterion] = {
    "squared_error": _built_in("squared_error", 7, _squared_error, True),
    # It orders the cuts of a node as the squared error does.
    "friedman_mse": _built_in("squared_error", 7, _squared_error, True),
    "poisson": _built_in("poisson", 8, _poisson, False),
    "absolute_error": Criterion("absolute_error", 9, _absolute_error, needs_rows=True),
}
_BUILT_IN = CRITERIA | NUMBER_CRITERIA


def get_criterion(criterion: str | GoodnessFunction | Criterion) -> Criterion:
    """Find a criterion by its name, or make one of a function.

    Parameters
    ----------
    criterion : str, callable or Criterion
        The name of a built-in criterion, a function of ``(left, right)`` count vectors that
        returns a float (larger is better), or a criterion, which is returned as it is.

    Returns
    -------
    Criterion
        The criterion.

    Raises
    ------
    ValueError
        If there is no built-in criterion of that name.
    TypeError
        If `criterion` is neither a name nor a function.

    Examples
    --------
    >>> from obliqua.criteria import get_criterion
    >>> float(get_criterion("gini").goodness([2, 0], [0, 2]))
    0.5
    """
    if isinstance(criterion, Criterion):
        if criterion.code >= 0 and _BUILT_IN.get(criterion.name) != criterion:
            raise ValueError(
                f"The criterion {criterion.name!r} has code {criterion.code}, which belongs to a "
                "built-in criterion. Use code=-1 for a function of your own."
            )
        return criterion
    if isinstance(criterion, str):
        if criterion not in _BUILT_IN:
            raise ValueError(
                f"There is no criterion {criterion!r}. Use one of {', '.join(CRITERIA)}, or a "
                "function of the left and the right class counts; for numbers, "
                f"{', '.join(NUMBER_CRITERIA)}."
            )
        return _BUILT_IN[criterion]
    if callable(criterion):
        name = getattr(criterion, "__name__", type(criterion).__name__)
        return Criterion(name, -1, criterion, vectorized=bool(getattr(criterion, _MARK, False)))
    raise TypeError(
        "A criterion is a name, or a function of the left and the right class counts; got "
        f"{type(criterion).__name__}."
    )
