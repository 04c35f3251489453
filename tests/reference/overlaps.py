"""Twin of `gram` and `energy`: every cell of the grid is enumerated, and sums are written out.

Nothing here is fast. A cell is a choice of a level for each feature; what is missing and what no
domain knows are levels too, if they weigh something.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from obliqua.spectrum import Measure, TreeSum


def levels_of(measure: Measure, feature: int) -> tuple[list[float], np.ndarray]:
    """A number of each level as a tree walks it, and how likely each level is."""
    known = measure.domain.features[feature]
    if known.kind == "intervals":
        ends = list(known.entries)
        numbers = [*ends, (ends[-1] if ends else 0.0) + 1.0]
    elif known.kind == "values":
        numbers = list(known.entries)
    else:
        numbers = [float(code) for code in range(known.cardinality)]
    weights = [float(weight) for weight in measure.weights[feature]]
    for number, weight in ((-1.0, measure.unseen[feature]), (np.nan, measure.missing[feature])):
        if weight > 0:
            numbers.append(number)
            weights.append(float(weight))
    return numbers, np.array(weights) / sum(weights)


def cells(measure: Measure) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """A row for each cell, how likely it is, and the number of levels of each feature."""
    known = [levels_of(measure, f) for f in range(measure.domain.n_features)]
    shape = tuple(len(numbers) for numbers, _ in known)
    rows = np.array(list(product(*(numbers for numbers, _ in known))), dtype=np.float64)
    mass = np.array([np.prod(masses) for masses in product(*(shares for _, shares in known))])
    return rows.reshape(-1, len(shape)), mass, shape


def functions(trees: TreeSum, rows: np.ndarray) -> np.ndarray:
    """What each tree says of each row: trees, rows, outputs."""
    return np.array([v[t.apply(rows)] for t, v in zip(trees.trees, trees.values, strict=True)])


def gram(trees: TreeSum, measure: Measure) -> np.ndarray:
    """The inner products."""
    rows, mass, _ = cells(measure)
    found = functions(trees, rows)
    return np.einsum("irk,jrk,r->ij", found, found, mass)


def means(trees: TreeSum, measure: Measure) -> np.ndarray:
    """The mean of each tree."""
    rows, mass, _ = cells(measure)
    return np.einsum("irk,r->ik", functions(trees, rows), mass)


def effects(trees: TreeSum, measure: Measure) -> dict[tuple[int, ...], float]:
    """The energy of what each set of features adds to the sum of the trees (ANOVA)."""
    rows, mass, shape = cells(measure)
    total: Any = np.einsum("irk,i->rk", functions(trees, rows), trees.weights)
    total = total.reshape(*shape, -1)
    shares = [levels_of(measure, f)[1] for f in range(len(shape))]
    added: dict[tuple[int, ...], np.ndarray] = {}
    energy = {}
    for order in range(len(shape) + 1):
        for chosen in combinations(range(len(shape)), order):
            part = total
            for feature, share in enumerate(shares):
                if feature not in chosen:
                    view = [1] * part.ndim
                    view[feature] = -1
                    part = (part * share.reshape(view)).sum(axis=feature, keepdims=True)
            for fewer, known in added.items():
                if set(fewer) < set(chosen):
                    part = part - known
            added[chosen] = part
            square = np.broadcast_to(part, total.shape).reshape(len(rows), -1) ** 2
            energy[chosen] = float((square.sum(axis=1) * mass).sum())
    return energy
