"""What the benchmark needs to know about a library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmarks.problems import Features, Labels, Problem


class Adapter(ABC):
    """One way of growing one tree with one library.

    Parameters are chosen so that the trees can be compared: no pruning, no limit of depth,
    leaves down to one row.
    """

    name: str
    """How the tables call it."""
    library: ClassVar[str]
    """Name of the distribution, for its version."""
    module: ClassVar[str]
    """Name of the module to import."""
    threads: tuple[int, ...] = (1,)
    """The numbers of threads that a user can ask this library for, as far as measured."""

    def version(self) -> str | None:
        """The installed version; None if the library is not installed."""
        try:
            return metadata.version(self.library)
        except metadata.PackageNotFoundError:
            return None

    def missing(self) -> str | None:
        """Why this adapter cannot be used at all; None if it can."""
        if find_spec(self.module) is None:
            return "not installed"
        return None

    def supports(self, problem: Problem) -> str | None:
        """Why this problem is left out; None if it is measured."""
        return None

    @abstractmethod
    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        """Grow a tree. All that a user waits for happens here, and nothing else."""

    @abstractmethod
    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        """The label of each row."""

    @abstractmethod
    def leaves(self, model: Any) -> int:
        """Number of leaves."""

    @abstractmethod
    def depth(self, model: Any) -> int:
        """Depth of the deepest leaf; a tree that is one leaf has depth 0."""

    def walk(self, model: Any, row: Features) -> Callable[[], Any] | None:
        """The shortest way of one row (a 1 x p array) to its leaf, without checks of the
        input; None if the library has none."""
        return None
