"""The rows of an experiment: fixed, drawn anew by each repeat, or with holes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from obliqua._typing import AnyArray

__all__ = ["ExperimentRows"]


@dataclass(frozen=True)
class ExperimentRows:
    """Rows to train on and, where the test rows are fixed, rows to test on.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows: floats, or objects where there are qualitative columns.
    y : ndarray of shape (n_rows,)
        Their labels.
    X_test, y_test : ndarray, default=None
        The same of rows to test on; None where the protocol divides the rows itself.
    missing : float, default=0
        The share of all entries that each repeat removes at random, of rows to train on and of
        rows to test on.
    stratified : bool, default=False
        Whether each fold has the classes in the shares of all rows; else folds are simply
        random.
    n_folds : int, default=None
        How many folds a cross-validation of these rows has; None: as the table has it.
    n_tested : int, default=None
        How many of the folds are rows to test on, in turn; None: all of them.
    draw : callable, default=None
        For artificial data: makes other rows and labels of a `numpy.random.Generator`. Each
        repeat then has rows of its own, and those given here are a sample.
    """

    X: AnyArray
    y: AnyArray
    X_test: AnyArray | None = None
    y_test: AnyArray | None = None
    missing: float = 0.0
    stratified: bool = False
    n_folds: int | None = None
    n_tested: int | None = None
    draw: Callable[[np.random.Generator], tuple[AnyArray, AnyArray]] | None = None

    @cached_property
    def checksum(self) -> str:
        """Checksum of everything, in its order: other folds would come from another order."""
        digest = hashlib.sha256(f"missing {self.missing!r}".encode() if self.missing else b"")
        digest.update(b"drawn anew" if self.draw else b"")
        for part in (self.X, self.y, self.X_test, self.y_test):
            if part is not None:
                plain = part if part.dtype.kind == "f" else np.asarray(part, dtype="U")
                digest.update(repr(plain.shape).encode() + np.ascontiguousarray(plain).tobytes())
        return digest.hexdigest()

    def division(self, n_folds: int) -> str:
        """Say how these rows are divided to train and to test; the text differs where folds do."""
        if self.X_test is not None and self.y_test is not None:
            return "fixed test rows"
        kind = "stratified" if self.stratified else "simple"
        first = "" if self.n_tested is None else f"the first {self.n_tested} of "
        return f"{first}{self.n_folds or n_folds} {kind} folds"

    def drawn(self, rng: np.random.Generator) -> ExperimentRows:
        """Draw rows anew, if there is a way to."""
        if self.draw is None:
            return self
        X, y = self.draw(rng)
        return replace(self, X=X, y=y, draw=None)

    def with_holes(self, rng: np.random.Generator) -> ExperimentRows:
        """Put NaN in the place of the share of the entries that is to be missing, rounded."""
        if not self.missing:
            return self
        X_test = None if self.X_test is None else _with_holes(self.X_test, self.missing, rng)
        return replace(self, X=_with_holes(self.X, self.missing, rng), X_test=X_test, missing=0.0)


def _with_holes(X: AnyArray, share: float, rng: np.random.Generator) -> AnyArray:
    holed = X.copy()
    holed.flat[rng.permutation(X.size)[: round(share * X.size)]] = np.nan
    return holed
