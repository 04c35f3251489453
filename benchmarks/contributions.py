"""How near ways to share out oblique splits come to Shapley values.

``python -m benchmarks.contributions`` fits oblique trees and forests to tables of four to eight
features, and computes exact Shapley values of some rows: with all sets of features, of which the
others come from other rows. It prints how far contributions are from them, as a share of their
size, and how they correlate, for four ways to share out the change of an oblique split:

push
    by what has pushed a row to its side, beyond stand-ins: what `contributions` does
size
    by the size of push and pull
spread
    by ``|coefficient| * spread``, the same for all rows
signed
    by push and pull with their signs, which may be huge where they cancel

The figures in the notes of `contributions` are those of a run with the default options.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

import obliqua.explain.contributions  # noqa: F401  the module has the name of its function
from obliqua import (
    HHCartClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeRegressor,
    RefinedTreeClassifier,
    Tree,
)
from obliqua._typing import AnyArray, FloatArray, Int64Array

MODULE: Any = sys.modules["obliqua.explain.contributions"]
PUSH = MODULE._shares
Shares = tuple[Int64Array, FloatArray]


def _pushes(tree: Tree, node: int, branch: int, Z: AnyArray) -> tuple[Int64Array, FloatArray]:
    """How far each feature of a hyperplane has pushed rows to their side."""
    first, last = tree.coef_ptr[tree.plane_ptr[node] :][:2].tolist()
    columns = tree.coef_idx[first:last]
    away = tree.coef[first:last] * (Z[:, columns] - tree.fill[first:last])
    return columns.astype(np.int64), away if branch else -away


def by_size(tree: Tree, node: int, branch: int, Z: AnyArray) -> Shares:
    columns, push = _pushes(tree, node, branch, Z)
    return columns, np.abs(push) / np.abs(push).sum(axis=1, keepdims=True)


def by_spread(tree: Tree, node: int, branch: int, Z: AnyArray) -> Shares:
    first, last = tree.coef_ptr[tree.plane_ptr[node] :][:2].tolist()
    effect = np.abs(tree.coef[first:last]) * tree.spread[first:last]
    shares = np.tile(effect / effect.sum(), (len(Z), 1))
    return tree.coef_idx[first:last].astype(np.int64), shares


def signed(tree: Tree, node: int, branch: int, Z: AnyArray) -> Shares:
    columns, push = _pushes(tree, node, branch, Z)
    return columns, push / push.sum(axis=1, keepdims=True)


RULES: dict[str, Callable[..., Shares]] = {
    "push": PUSH, "size": by_size, "spread": by_spread, "signed": signed
}  # fmt: skip


def tables(rng: np.random.Generator) -> dict[str, tuple[AnyArray, AnyArray]]:
    cancer, wine = load_breast_cancer(), load_wine()
    diabetes = load_diabetes()
    planted = rng.normal(size=(600, 6))
    alike = rng.normal(size=(600, 6)) + 10.0
    alike[:, 1] = alike[:, 0] + 0.5 * alike[:, 1]
    return {
        "iris": load_iris(return_X_y=True),
        "cancer": (cancer.data[:, [0, 1, 4, 6, 7, 20, 21, 27]], cancer.target),
        "wine": (wine.data[:, [0, 1, 3, 6, 9, 10, 11, 12]], wine.target),
        "diabetes": (diabetes.data[:, [0, 1, 2, 3, 6, 7, 8, 9]], diabetes.target),
        "planted": (
            planted,
            (planted[:, 0] + planted[:, 1] > 0) + 2 * (planted[:, 2] - 2 * planted[:, 3] > 0.5),
        ),
        "alike": (alike, alike[:, 0] - alike[:, 1] + 0.3 * alike[:, 2] > -2),
    }


def methods(name: str, seed: int) -> list[Any]:
    if name == "diabetes":
        return [
            ObliqueTreeRegressor(leaf_model="constant", random_state=seed),
            ObliqueForestRegressor(n_estimators=10, random_state=seed),
        ]
    return [
        HHCartClassifier(extra_directions="fisher", random_state=seed),
        RefinedTreeClassifier(random_state=seed),
        ObliqueForestClassifier(n_estimators=10, random_state=seed),
    ]


def shapley(says: Callable[[AnyArray], AnyArray], rows: AnyArray, others: AnyArray) -> FloatArray:
    """Shapley values of rows, where features that are not known come from other rows."""
    n, p = rows.shape
    known = np.array(list(itertools.product([False, True], repeat=p)))
    answers = []
    for mask in known:
        mixed = np.where(mask, rows[:, None, :], others[None, :, :]).reshape(-1, p)
        answers.append(says(mixed).reshape(n, len(others), -1).mean(axis=1))
    said = np.array(answers)
    weights = [math.factorial(s) * math.factorial(p - s - 1) for s in range(p)]
    found = np.zeros((n, p, said.shape[2]))
    for column in range(p):
        without = np.flatnonzero(~known[:, column])
        weight = np.array(weights)[known[without].sum(axis=1)] / math.factorial(p)
        change = said[without + (1 << (p - 1 - column))] - said[without]
        found[:, column] = np.tensordot(weight, change, axes=1)
    return found


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    found: dict[tuple[str, str], list[list[tuple[float, float, float]]]] = {}
    for seed in range(given.seeds):
        rng = np.random.default_rng(seed)
        for name, (X, y) in tables(rng).items():
            for model in methods(name, seed):
                model.fit(X, y)
                says = getattr(model, "predict_proba", model.predict)
                rows = X[rng.choice(len(X), 25, replace=False)]
                true = shapley(says, rows, X[rng.choice(len(X), 50, replace=False)])
                line = []
                for rule in RULES.values():
                    MODULE._shares = rule
                    values = MODULE.contributions(model, rows).values
                    off = np.abs(values - true).mean() / np.abs(true).mean()
                    alike = np.corrcoef(values.ravel(), true.ravel())[0, 1]
                    largest = np.abs(values).max() / np.abs(true).max()
                    line.append((float(off), float(alike), float(largest)))
                found.setdefault((name, type(model).__name__), []).append(line)
    print(f"{'table':10}{'method':24}" + "".join(f"{rule:>22}" for rule in RULES))
    print(f"{'':34}" + "".join(f"{'off':>8}{'alike':>7}{'most':>7}" for _ in RULES))
    means = {which: np.mean(lines, axis=0) for which, lines in found.items()}
    means["all", ""] = np.mean(list(means.values()), axis=0)
    for (name, method), mean in means.items():
        cells = "".join(f"{off:8.2f}{alike:7.2f}{most:7.1f}" for off, alike, most in mean)
        print(f"{name:10}{method:24}{cells}")


if __name__ == "__main__":
    main()
