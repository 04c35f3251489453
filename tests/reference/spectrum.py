"""Twin of `obliqua.spectrum`: the whole domain is enumerated, and sums are written out.

Nothing here is fast. A domain is given by its cardinalities, a function by an array with an axis
for each feature and a last one for the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from obliqua.spectrum import Domain
from obliqua.tree.tree import Tree

Partition = tuple[tuple[int, int], ...]


def points(cardinalities: Sequence[int]) -> np.ndarray:
    """All points of a domain, one per row."""
    return np.array(list(product(*map(range, cardinalities))), dtype=np.int64).reshape(
        -1, len(cardinalities)
    )


def rows_of(domain: Domain) -> np.ndarray:
    """A row as a tree walks it for each point: a code, a value, or a number of the interval."""
    columns = []
    for feature in domain.features:
        if feature.kind == "intervals":
            ends = list(feature.entries)
            columns.append([*ends, (ends[-1] if ends else 0.0) + 1.0])
        elif feature.kind == "values":
            columns.append(list(feature.entries))
        else:
            columns.append([float(code) for code in range(feature.cardinality)])
    every = points(domain.cardinalities)
    rows = [[columns[f][level] for f, level in enumerate(point)] for point in every.tolist()]
    return np.array(rows, dtype=np.float64).reshape(len(every), domain.n_features)


def function_of(tree: Tree, domain: Domain, values: Any) -> np.ndarray:
    """The values of a tree at all points, of shape (n_points, n_outputs)."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    return table[tree.apply(rows_of(domain))]


def wave(every: np.ndarray, j: Sequence[int], cardinalities: Sequence[int]) -> np.ndarray:
    """The basis function of partition j at all points."""
    turns = np.zeros(len(every))
    for feature, (entry, n) in enumerate(zip(j, cardinalities, strict=True)):
        turns += every[:, feature] * entry / n
    return np.exp(2j * np.pi * turns)


def spectrum(values: np.ndarray, cardinalities: Sequence[int]) -> dict[Partition, np.ndarray]:
    """The coefficient of every partition: the mean of function times basis function."""
    every = points(cardinalities)
    return {
        tuple((f, e) for f, e in enumerate(j) if e): (
            values * wave(every, j, cardinalities)[:, None]
        ).mean(axis=0)
        for j in every.tolist()
    }


def inverse(coefficients: dict[Partition, Any], cardinalities: Sequence[int]) -> np.ndarray:
    """The function at all points: the sum of coefficients times conjugate basis functions."""
    every = points(cardinalities)
    total: Any = np.zeros((len(every), 1))
    for partition, value in coefficients.items():
        j = [0] * len(cardinalities)
        for feature, entry in partition:
            j[feature] = entry
        total = total + np.atleast_1d(value) * np.conj(wave(every, j, cardinalities))[:, None]
    return np.asarray(total)


def inner(one: np.ndarray, other: np.ndarray) -> float:
    """The mean of the product over all points, added up over outputs."""
    return float((one * other).sum() / len(one))


def gram(functions: Sequence[np.ndarray], centred: bool = False) -> np.ndarray:
    """All inner products, of functions without their means if `centred`."""
    taken = [f - f.mean(axis=0) for f in functions] if centred else functions
    return np.array([[inner(one, other) for other in taken] for one in taken])


def restricted(
    values: np.ndarray, cardinalities: Sequence[int], feature: int, level: int
) -> np.ndarray:
    """The function with one feature fixed, at all points."""
    every = points(cardinalities)
    place = {tuple(x): i for i, x in enumerate(every.tolist())}
    fixed = every.copy()
    fixed[:, feature] = level
    return values[[place[tuple(x)] for x in fixed.tolist()]]
