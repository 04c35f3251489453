"""What the benchmark needs to know about a library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmarks.problems import Features, Labels, Problem


class Library(ABC):
    """One way of growing one tree with one library."""

    name: str
    """How the tables call it."""
    library: str
    """Name of the distribution, for its version."""
    module: str
    """Name of the module to import."""

    def version(self) -> str | None:
        """The installed version; None if the library is not installed."""
        try:
            return metadata.version(self.library)
        except metadata.PackageNotFoundError:
            return None

    def missing(self) -> str | None:
        """Why this adapter cannot be used at all; None if it can."""
        if find_spec(self.module.partition(".")[0]) is None:
            return "not installed"
        return None

    @abstractmethod
    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        """The label of each row."""

    @abstractmethod
    def leaves(self, model: Any) -> int:
        """Number of leaves."""


class Adapter(Library):
    """A tree grown in full.

    Parameters are chosen so that the trees can be compared: no pruning, no limit of depth,
    leaves down to one row.
    """

    library: ClassVar[str]
    module: ClassVar[str]
    threads: tuple[int, ...] = (1,)
    """The numbers of threads that a user can ask this library for, as far as measured."""

    def supports(self, problem: Problem) -> str | None:
        """Why this problem is left out; None if it is measured."""
        return None

    @abstractmethod
    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        """Grow a tree. All that a user waits for happens here, and nothing else."""

    @abstractmethod
    def depth(self, model: Any) -> int:
        """Depth of the deepest leaf; a tree that is one leaf has depth 0."""

    def walk(self, model: Any, row: Features) -> Callable[[], Any] | None:
        """The shortest way of one row (a 1 x p array) to its leaf, without checks of the
        input; None if the library has none."""
        return None


Setting = dict[str, Any]


class Contender(Library):
    """A tree of at most so many leaves, with one thread.

    What is not a limit of size has the library's defaults. The first of the settings is these
    defaults; tuning chooses among all of them, three for each contender.
    """

    settings: tuple[Setting, ...] = ({},)

    @abstractmethod
    def grow(self, X: Features, y: Labels, n_leaves: int, seed: int, **setting: Any) -> Any:
        """Grow a tree of at most so many leaves."""

    def readings(self, model: Any, X: Features) -> dict[str, npt.NDArray[np.int64]]:
        """The labels of rows, by what the name of this way of reading the model adds."""
        return {"": self.predict(model, X)}


class Estimator(Contender):
    """An estimator with scikit-learn's face.

    `size` says how its size is limited: "leaves" is `max_leaf_nodes`; else it is the name of the
    parameter for the depth, which is such that a complete tree has the leaves that are allowed.
    """

    def __init__(
        self,
        name: str,
        library: str,
        path: str,
        size: str,
        settings: tuple[Setting, ...],
        **parameters: Any,
    ) -> None:
        self.name = name
        self.library = library
        self.module, _, self.estimator = path.rpartition(".")
        self.size = size
        self.settings = settings
        self.parameters = parameters

    def limit(self, n_leaves: int) -> Setting:
        """The parameter that limits the size."""
        if self.size == "leaves":
            return {"max_leaf_nodes": n_leaves}
        return {self.size: n_leaves.bit_length() - 1}

    def grow(self, X: Features, y: Labels, n_leaves: int, seed: int, **setting: Any) -> Any:
        make = getattr(import_module(self.module), self.estimator)
        parameters = {**self.parameters, **self.limit(n_leaves), "random_state": seed, **setting}
        model = make(**parameters)
        model.fit(X, y)
        return model

    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        return np.asarray(model.predict(X), dtype=np.int64)

    def leaves(self, model: Any) -> int:
        return int(model.get_n_leaves())
