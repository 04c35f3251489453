"""The data that every library is measured on: one name, one X, one y."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_classification

SEED = 0

Features = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


class DataMissing(Exception):
    """The folder with the papers' data sets is not known or does not hold a file."""


@dataclass(frozen=True)
class Problem:
    """Data with a name. Labels are the integers 0 .. n_classes - 1."""

    name: str
    X: Features
    y: Labels

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1


@dataclass(frozen=True)
class Source:
    """How to get a problem, what it is, and how often to repeat a measurement on it."""

    load: Callable[[], tuple[Features, Labels]]
    title: str
    rounds: int


def data_folder() -> Path:
    """The folder that OBLIQUA_DATA names."""
    folder = os.environ.get("OBLIQUA_DATA")
    if not folder:
        raise DataMissing(
            "this problem is read from a file, but the environment variable OBLIQUA_DATA is not "
            "set; set it to the folder that holds letter.csv and shuttle_train.csv"
        )
    return Path(folder)


def _read(file_name: str) -> tuple[Features, Labels]:
    """Read a CSV file with a header whose last column is the class."""
    path = data_folder() / file_name
    if not path.is_file():
        raise DataMissing(
            f"OBLIQUA_DATA names a folder without {file_name}; put the file there or set the "
            "variable to the folder that holds it"
        )
    cells = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    codes = np.unique(cells[:, -1], return_inverse=True)[1]
    return np.ascontiguousarray(cells[:, :-1].astype(np.float64)), codes.astype(np.int64)


def _letter() -> tuple[Features, Labels]:
    return _read("letter.csv")


def _shuttle() -> tuple[Features, Labels]:
    return _read("shuttle_train.csv")


def _synthetic(n_rows: int, n_columns: int, n_informative: int) -> tuple[Features, Labels]:
    X, y = make_classification(
        n_rows, n_columns, n_informative=n_informative, n_classes=2, random_state=SEED
    )
    return np.ascontiguousarray(X), y.astype(np.int64)


def _tiny_grid() -> tuple[Features, Labels]:
    """Few different values, so that ties decide; four classes, some noise."""
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 8, size=(1_500, 6)).astype(np.float64)
    y = 2 * (X[:, 0] + X[:, 1] > 7) + (X[:, 2] > X[:, 3])
    noisy = rng.random(y.size) < 0.1
    return X, np.where(noisy, rng.integers(0, 4, size=y.size), y).astype(np.int64)


SOURCES: dict[str, Source] = {
    "letter": Source(_letter, "letter", 5),
    "shuttle": Source(_shuttle, "shuttle (training part)", 5),
    "synthetic_100k": Source(
        lambda: _synthetic(100_000, 20, 10), "synthetic, 10 of 20 columns informative", 3
    ),
    "synthetic_1m": Source(
        lambda: _synthetic(1_000_000, 20, 10), "synthetic, 10 of 20 columns informative", 3
    ),
    "tiny": Source(lambda: _synthetic(2_000, 10, 5), "synthetic, small", 3),
    "tiny_grid": Source(_tiny_grid, "integers 0 to 7, small", 3),
}
FULL = ("letter", "shuttle", "synthetic_100k", "synthetic_1m")
QUICK = ("tiny",)


def load(name: str) -> Problem:
    """The problem of that name."""
    if name not in SOURCES:
        raise KeyError(f"no problem is called {name!r}; there are {', '.join(SOURCES)}")
    X, y = SOURCES[name].load()
    return Problem(name, X, y)
