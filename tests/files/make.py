"""Write the model files that must load for ever, and beside each what it holds.

``python tests/files/make.py`` writes the files that are not there yet. It never writes one again:
a file that was written once is a promise to those who have such files. To keep a new kind of
model, add it to `MODELS` under a new name. The JSON beside a file is written from the model in
memory, not read from the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import obliqua
from obliqua.data.encoding import Column, Encoding
from obliqua.tree.layout import ARRAYS
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

HERE = Path(__file__).resolve().parent
SPECIES = np.array(["setosa", "versicolor", "virginica"], dtype=object)
NAMES = ["sepal length\n(cm)", '<b>sepal</b> "width"', "Blütenblattlänge", "花弁の幅"]


def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


def cart() -> Any:
    X, y = iris()
    return obliqua.CartClassifier(random_state=0, class_weight={0: 1.0, 1: 2.5, 2: 1}).fit(X, y)


def hhcart_with_names() -> Any:
    X, y = iris()
    frame = pd.DataFrame(X, columns=NAMES)
    return obliqua.HHCartClassifier(random_state=0).fit(frame, SPECIES[y])


def hhcart_fixed_width_labels() -> Any:
    X, y = iris()
    model = obliqua.HHCartClassifier(pruning=None, priors=(0.5, 0.25, 0.25), tau=0.1, n_jobs=1)
    return model.fit(X.astype(np.float32), SPECIES[y].astype("U20"))


def difference_of_means(node: Any) -> Any:
    first = node.y == node.y[0]
    return node.X[first].mean(axis=0) - node.X[~first].mean(axis=0)


def own_proposer() -> Any:
    X, y = iris()
    return obliqua.ObliqueTreeClassifier(difference_of_means, pruning=None).fit(X, y == 1)


def several_trees() -> Model:
    X, y = iris()
    grower = obliqua.HHCartClassifier(pruning=None, variant="dominant", max_depth=3)
    trees = [grower.fit(X[i::3], y[i::3]).tree_ for i in range(3)]
    return Model(tuple(trees), "vote", Encoding.identity(4), np.array([10, 20, 30], np.int16))


def every_kind_of_node() -> Model:
    builder = obliqua.TreeBuilder(n_features=3, n_stats=3)
    builder.add_split("r", {0: 1.0, 1: -0.1}, 0.3, ("l", "m"), fill={0: 0.5, 1: -0.0})
    builder.add_levels("l", 2, [0, 1, 2, 1], ("la", "lb", "lc"), unseen=1, missing=2)
    normals = [{0: 1.0}, {1: 1e-300, 0: 3.0}, {0: -1.0, 2: 0.5}]
    tables = {2: [0.0, 0.1, -2.5, 4.0]}
    fill = {0: 1.0, 1: 2.0, 2: 3.0}
    builder.add_machine(
        "m", normals, [0.0, 0.1, 0.2], ("ma", "mb", "mc"), fill=fill, tables=tables
    )
    for number, name in enumerate(("la", "lb", "lc", "ma", "mb", "mc")):
        builder.set_leaf(
            name, [2.5 if k == number % 3 else 0.1 * number for k in range(3)], number
        )
    builder.annotate("r", gain=0.25, axis_gain=0.125, origin="by hand")
    columns = (Column("a"), Column("b"), Column("c", "qualitative", ("x", "", 3, None)))
    return Model((builder.build(),), "single", Encoding(columns), np.array([0.5, 1.0, 2.0]))


def bare_tree() -> Tree:
    return cart().tree_


def student() -> Model:
    X, y = iris()
    teacher = RandomForestClassifier(5, random_state=0)
    model = obliqua.DistilledClassifier(teacher, n_trees=3, max_leaves=9, random_state=0)
    return model.fit(X, SPECIES[y]).model_


def numbers() -> Model:
    builder = obliqua.TreeBuilder(n_features=4, n_outputs=2)
    builder.add_split("r", {2: 1.0, 3: -0.5}, 2.0, ("l", "m"), fill={2: 1.0, 3: 0.5})
    builder.add_split("m", {0: 1.0}, 6.0, ("ml", "mr"))
    builder.set_leaf("l", [20.5, -1.25, 0.1, 3.5], 20)
    builder.set_leaf("ml", value=[0.3, 1e9], n_samples=7)
    builder.set_leaf("mr", value=[-2.0, 0.0], n_samples=3)
    tree = builder.build()
    return Model((tree, tree.subtree(2)), "mean", Encoding.identity(4), np.zeros(0))


def log_odds() -> Model:
    """Two trees as boosting has them: logarithms of odds, which are added up."""
    builder = obliqua.TreeBuilder(n_features=4, n_outputs=3)
    builder.add_split("r", {2: 1.0}, 2.5, ("l", "m"))
    builder.set_leaf("l", value=[2.0, -1.5, -0.5], n_samples=50)
    builder.set_leaf("m", value=[-1.75, 0.25, 1.0], n_samples=100)
    first = builder.build()
    builder = obliqua.TreeBuilder(n_features=4, n_outputs=3)
    builder.add_split("r", {3: 1.0}, 1.75, ("l", "m"))
    builder.set_leaf("l", value=[0.0, 0.75, -1.0], n_samples=104)
    builder.set_leaf("m", value=[0.125, -2.0, 1.5], n_samples=46)
    return Model((first, builder.build()), "log_odds", Encoding.identity(4), SPECIES)


def sides() -> Tree:
    """Splits that say where missing values go; the first asks for nothing else."""
    builder = obliqua.TreeBuilder(n_features=3, n_stats=2)
    builder.add_split("r", {1: 0.0}, 0.0, ("l", "m"), fill={1: 2.5}, missing="right")
    builder.add_split("l", {0: 1.0}, 0.25, ("ll", "lr"), fill={0: 0.25}, missing="left")
    builder.add_split("m", {0: 1.0, 2: -0.5}, 0.1, ("ml", "mr"), missing="right")
    builder.add_split("ml", {2: 1.0}, 1.0, ("mll", "mlr"), fill={2: 3.0})
    for number, leaf in enumerate(("ll", "lr", "mll", "mlr", "mr")):
        builder.set_leaf(leaf, [number + 1.0, 5.0 - number], 6)
    return builder.build()


def other_levels() -> Model:
    """A column whose last level stands for all that have no name."""
    builder = obliqua.TreeBuilder(n_features=3, n_stats=2)
    builder.add_levels("r", 2, [1, 0, 2], ("a", "b", "c"), unseen=2, missing=0)
    builder.add_split("b", {0: 1.0, 1: 2.0}, 0.5, ("bl", "br"), fill={0: 0.0, 1: 0.25})
    for number, leaf in enumerate(("a", "c", "bl", "br")):
        builder.set_leaf(leaf, [number + 1.0, 4.0 - number], 5)
    town = Column("town", "qualitative", ("Bonn", 7, "other levels"), others=True)
    columns = (Column("a"), Column("b"), town)
    return Model((builder.build(),), "single", Encoding(columns), np.array(["no", "yes"]))


def lines() -> Model:
    """Leaves that say linear functions: of numbers, of levels, and a constant."""
    builder = obliqua.TreeBuilder(n_features=3, n_outputs=1)
    builder.add_split("r", {0: 1.0, 1: -0.5}, 0.25, ("l", "m"), fill={0: 0.5, 1: 2.0})
    builder.add_split("m", {1: 1.0}, 1.0, ("ml", "mr"), fill={1: 0.5})
    builder.set_leaf("l", [20.0, 3.5, 4.25], 20)
    builder.set_leaf("ml", [6.0, -1.5, 0.5], 6)
    builder.set_leaf("mr", [3.0, 8.0, 0.0], 3)
    functions = {
        "leaf_ptr": [0, 1, 3, 3, 5, 5],
        "leaf_idx": [0, 0, 2, 1, 2],
        "leaf_coef": [0.75, -1.5, 2.0, 1e-3, 0.1],
        "leaf_fill": [0.5, math.nan, -0.5, 2.0, 0.0],
        "leaf_table_ptr": [0, 0, 0, 4, 4, 7],
        "leaf_table": [0.0, 1.25, -0.5, 2.0, 0.25, -0.0, 1.0],
        "leaf_intercept": [3.0, 4.0, 0.1, -1.5, 8.0],
        "leaf_low": [-3.0, 0.5, -3.0, -2.0, 8.0],
        "leaf_high": [9.0, 6.5, 9.0, -1.0, 8.0],
        "leaf_spread": [0.4, 0.3, 0.9, 1.5, math.nan],
        "leaf_gain": [0.5, 0.25, 0.0, 0.125, 0.0],
    }
    tree = Tree.from_arrays({**builder.build().to_arrays(), **functions})
    columns = (Column("a"), Column("b"), Column("c", "qualitative", ("x", "", 3, None)))
    return Model((tree,), "single", Encoding(columns), np.zeros(0))


def costs() -> Any:
    """A tree whose leaves say what costs least, not what is most frequent."""
    X, y = iris()
    matrix = [[0, 0.1, 2], [1, 0, 30], [0.7, 1e-3, 0]]
    return obliqua.CartClassifier(costs=matrix, max_depth=2, random_state=0).fit(X, SPECIES[y])


def forest() -> Any:
    """Packed trees, with missing values on a side of their own."""
    X, y = iris()
    X[::7, 2] = math.nan
    model = obliqua.ObliqueForestClassifier(4, max_depth=3, oob_score=False, random_state=0)
    return model.fit(X, SPECIES[y])


def edited() -> Any:
    """A tree that was changed by hand: rows that are not known, a leaf that was relabelled."""
    X, y = iris()
    model = obliqua.CartClassifier(random_state=0, pruning=None, max_depth=3).fit(X, SPECIES[y])
    terms = [{"column": 2, "coefficient": 1.0}, {"column": 3, "coefficient": 0.5}]
    plane = {"terms": terms, "threshold": 5.75, "missing": None}
    edits: list[dict[str, Any]] = [
        {"node": 2, "edit": "split", "kind": "hyperplane", "plane": plane},
        {"node": 4, "edit": "collapse", "words": "one leaf is enough"},
        {"node": 1, "edit": "label", "class": "versicolor"},
    ]
    return obliqua.apply_edits(model, edits)


MODELS: dict[str, Callable[[], Any]] = {
    "cart": cart,
    "hhcart_with_names": hhcart_with_names,
    "hhcart_fixed_width_labels": hhcart_fixed_width_labels,
    "own_proposer": own_proposer,
    "several_trees": several_trees,
    "every_kind_of_node": every_kind_of_node,
    "bare_tree": bare_tree,
    "sum_of_counts": student,  # written before there were trees of numbers
    "sum_of_numbers": student,
    "numbers": numbers,
    "sides": sides,
    "other_levels": other_levels,
    "lines": lines,
    "forest": forest,
    "costs": costs,
    "log_odds": log_odds,
    "edited": edited,
}


def rows_for(name: str) -> np.ndarray:
    """Rows that reach many leaves; with missing values where the tree knows what to do."""
    if name not in ("every_kind_of_node", "sides", "other_levels", "lines"):
        return iris()[0][::9]
    values = [-2.0, -0.1, 0.3, 0.75, math.nan]
    second = (-1.0, math.nan) if name == "sides" else (-1.0, 3.0)
    return np.array([[a, b, c] for a in values for b in second for c in (0, 2, 7, math.nan)])


def plain(array: np.ndarray) -> list[Any]:
    """An array as lists; a missing number is None."""
    if array.ndim == 2:
        return [plain(row) for row in array]
    return [None if value != value else value for value in array.tolist()]


def kept(parameter: Any) -> str:
    """How a parameter shows itself once it is loaded."""
    if callable(parameter):
        parameter = obliqua.NotSaved(f"function {parameter.__qualname__}")
    return repr(parameter)


def contents(model: Any, rows: np.ndarray) -> dict[str, Any]:
    """What a file of the model must give back."""
    if isinstance(model, Tree):
        trees, said = (model,), {"leaves": model.apply(rows).tolist()}
    else:
        container = model if isinstance(model, Model) else model.model_
        trees = container.trees
        said = {
            "combine": container.combine,
            "classes": container.classes.tolist(),
            "classes_type": str(container.classes.dtype),
            "names": list(container.encoding.names),
            "levels": [list(column.levels) for column in container.encoding.columns],
            "predicted": container.predict(rows).tolist(),
        }
        if len(container.classes):
            said["shares"] = plain(container.predict_proba(rows))
    if not isinstance(model, Tree | Model):
        said["parameters"] = {key: kept(value) for key, value in model.get_params().items()}
        said["feature_names_in"] = list(getattr(model, "feature_names_in_", []))
    return {
        "class": type(model).__name__,
        **said,
        "origin_labels": [list(tree.origin_labels) for tree in trees],
        "trees": [{key: plain(getattr(tree, key)) for key in ARRAYS} for tree in trees],
    }


def main() -> None:
    for name, make in MODELS.items():
        path = HERE / f"{name}.obliqua"
        if path.exists():
            print(f"{path.name} is there and stays as it is")
            continue
        model = make()
        rows = rows_for(name)
        text = json.dumps({"rows": plain(rows), **contents(model, rows)}, allow_nan=False)
        with path.with_suffix(".json").open("x", encoding="utf-8") as beside:
            beside.write(text + "\n")
        obliqua.save(model, path)
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
