"""Models of every kind that an export must know, with rows that are hard on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import obliqua
from obliqua import TreeBuilder
from obliqua.data.encoding import Column, Encoding
from obliqua.export.computation import Computation, raw_value
from obliqua.export.self_test import self_test
from obliqua.tree.model import Model

Case = tuple[Any, np.ndarray]  # a model, and rows as its trees walk them


def mixed_table(n: int = 300) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, levels and gaps; labels and numbers to learn."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 12, n).round(1),
            "mass (kg)": rng.normal(70, 9, n),
            "town": rng.choice(["Aa", "Bé", "C'c", 'D"d', "e;--"], n),
            "yes": rng.choice(["no", "yes"], n),
            "floor": rng.integers(0, 4, n).astype(float),
        }
    )
    value = table["age"] + 0.5 * table["mass (kg)"] + 15 * (table["town"] == "Aa")
    value += 8 * (table["yes"] == "yes") * (table["floor"] > 1) + rng.normal(0, 3, n)
    table.loc[::7, "age"] = np.nan
    table.loc[::11, "town"] = None
    labels = np.array(["low", "middle", "high"])[np.searchsorted([80.0, 95.0], value)]
    return table, labels, value.to_numpy()


def _mixed(estimator: Any, numbers: bool = False) -> Any:
    table, labels, values = mixed_table()
    return estimator.fit(table, values if numbers else labels)


def _plain(estimator: Any, n_classes: int = 4) -> Any:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(240, 5))
    y = (np.argmax(X[:, :n_classes] + 0.3 * X[:, 4:], axis=1) * 3 - 2).astype(np.int32)
    return estimator.fit(X, y)


def _together(combine: str, numbers: bool = False, classes: bool = True) -> Model:
    """Three trees of classes, or of numbers, put together in a way."""
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 3, 120)
    trees = []
    for depth in (1, 2, 3):
        if numbers:
            aim = np.eye(3)[y] if classes else X[:, 0] * X[:, depth]
            model = obliqua.CartRegressor(max_depth=depth, pruning=None).fit(X, aim)
        else:
            model = obliqua.CartClassifier(max_depth=depth, pruning=None).fit(X, y)
        trees.append(model.tree_)
    labels = np.array([0.5, 1.0, 7.25] if classes else [])
    return Model(tuple(trees), combine, Encoding.identity(4), labels)


def by_hand() -> Model:
    """A tree with every kind of node, a missing side, a question about gaps, and odd numbers."""
    builder = TreeBuilder(4, 3)
    branches = [0, 1, 2, 1]
    builder.add_levels("root", 2, branches, ["plane", "machine", "side"], unseen=2, missing=1)
    fill = dict.fromkeys((0, 1, 3), 0.25)
    builder.add_split("plane", {0: 1e308, 1: -1e308, 3: 3.0}, 5e-324, ["a", "b"], fill=fill)
    normals = [{0: 1.0, 1: 2.0}, {1: -1.5, 3: 0.25}, {0: -1.0}]
    builder.add_machine("machine", normals, [0.5, -0.0, 1e-310], ["c", "d", "e"], fill=fill)
    normal = {0: 0.1, 1: 0.2, 3: 0.3}
    builder.add_split("side", normal, 0.6, ["f", "g"], missing="right", fill=fill)
    for place, name in enumerate("abcdefg"):
        builder.set_leaf(name, np.roll([5.0, 1.0, place], place))
    columns = (
        Column("x"),
        Column("y"),
        Column("l", "qualitative", (1, 2.5, "t", "u")),
        Column("z"),
    )
    return Model(
        (builder.build(),),
        "single",
        Encoding(columns),
        np.array(["a*/b", "--'c\"", "</script>\n"]),
    )


def _orthogonal(ensemble: Any) -> Any:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 3, (120, 4)).astype(float)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 3] + rng.normal(size=120), [1.5, 3])]
    return obliqua.OrthogonalTreesClassifier(ensemble, random_state=0).fit(X, y).model_


def _edited(name: str) -> Any:
    """A model whose first tree asks something else at its root, with a leaf relabelled."""
    model = MAKERS[name]()
    tree = model.model_.trees[0]
    leaf = int(np.flatnonzero(tree.is_leaf)[-1])
    other = model.classes_[(int(tree.leaf_label[leaf]) + 1) % len(model.classes_)].item()
    terms = [{"column": 0, "coefficient": 1.25}, {"column": 1, "coefficient": -0.5}]
    plane = {"terms": terms, "threshold": 0.25, "missing": None}
    edits = [
        {"tree": 0, "node": 0, "edit": "split", "kind": "hyperplane", "plane": plane},
        {"tree": 0, "node": leaf, "edit": "label", "class": other},
    ]
    return obliqua.apply_edits(model, edits)


MAKERS: dict[str, Callable[[], Any]] = {
    "one oblique tree": lambda: _plain(obliqua.HHCartClassifier(random_state=0)),
    "levels and gaps": lambda: _mixed(obliqua.HHCartClassifier(random_state=0, pruning=None)),
    "sets of levels": lambda: _mixed(obliqua.C45Classifier()),
    "axis-parallel, gaps": lambda: _mixed(obliqua.CartClassifier(random_state=0)),
    "linear machines": lambda: _plain(obliqua.LMDTClassifier(random_state=0)),
    "votes": lambda: _plain(obliqua.RepeatedTreesClassifier(random_state=0)),
    "pairs": lambda: _plain(obliqua.EigenTreeClassifier(random_state=0)),
    # As many classes as NumPy adds up in an order of its own.
    "pairs of many classes": lambda: obliqua.EigenTreeClassifier(random_state=0).fit(
        np.random.default_rng(2).normal(size=(150, 3)), np.arange(150) % 10
    ),
    "forest": lambda: _mixed(obliqua.ObliqueForestClassifier(7, random_state=0)),
    "forest of numbers": lambda: _mixed(obliqua.ObliqueForestRegressor(5, random_state=0), True),
    "numbers": lambda: _mixed(obliqua.ObliqueTreeRegressor(random_state=0), True),
    "linear leaves": lambda: _mixed(
        obliqua.ObliqueTreeRegressor(leaf_model="linear", random_state=0), True
    ),
    "several outputs": lambda: obliqua.CartRegressor(random_state=0).fit(
        *np.split(np.random.default_rng(1).normal(size=(150, 6)), [4], axis=1)
    ),
    "log odds": lambda: _orthogonal(GradientBoostingClassifier(n_estimators=4, random_state=0)),
    "mean of trees": lambda: _together("mean"),
    "sum of classes": lambda: _together("sum"),
    "sum of numbers about classes": lambda: _together("sum", numbers=True),
    "sum of numbers": lambda: _together("sum", numbers=True, classes=False),
    "by hand": by_hand,
    "edited": lambda: _edited("one oblique tree"),
    "edited votes": lambda: _edited("votes"),
}


@cache
def case(name: str) -> Case:
    """A model and rows for it: near thresholds, with gaps and unknown levels, and random ones."""
    model = MAKERS[name]()
    computation = Computation.of(model)
    near = self_test(computation).rows
    rng = np.random.default_rng(11)
    mixed = near[rng.integers(0, len(near), (200, near.shape[1])), np.arange(near.shape[1])]
    return model, np.concatenate([near, mixed])


def raw_rows(model: Any, rows: np.ndarray) -> list[list[Any]]:
    """Rows as a user has them: levels in the place of codes, None for what is missing."""
    columns = Computation.of(model).columns
    return [[raw_value(c, v) for c, v in zip(columns, row, strict=True)] for row in rows.tolist()]


def equal_to(model: Model, answer: np.ndarray) -> Any:
    """What an export has to say: the same numbers, but for the last digits of exp."""
    numbers = answer.tolist()
    return pytest.approx(numbers, rel=1e-14) if model.combine == "log_odds" else numbers
