"""Small trees that readers are tested on, and names that break careless writers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from obliqua import Tree, TreeBuilder
from obliqua._typing import AnyArray
from obliqua.data.encoding import Column, Encoding
from obliqua.tree.model import Model

NASTY = [
    "two\nlines",
    'say "x"',
    "<b>bold</b> & more",
    "年齢",
    "back\\slash\\n",
    "",
    "{a|b}",
    "half \ud800",
    "a -> b; }",
    "`tick`",
    "same",
    "same",
    " and then ",
    "\u202egnirts",
    "tab\there\r\v\x00\u2028",
]


def oblique() -> Tree:
    """An oblique split, below it one feature twice; with gains, origins and spreads."""
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("young", "old"))
    builder.add_split("young", {0: 1.0}, 40.0, ("yy", "yo"))
    builder.add_split("yo", {0: 1.0}, 42.5, ("yoy", "yoo"))
    builder.set_leaf("yy", [50, 1], 51)
    builder.set_leaf("yoy", [0, 4], 4)
    builder.set_leaf("yoo", [3, 1], 4)
    builder.set_leaf("old", [2, 39], 41)
    builder.annotate("root", gain=0.3, axis_gain=0.25, origin="mean of\nclasses")
    builder.annotate("young", gain=0.02, axis_gain=0.02, origin="axis-parallel")
    tree = builder.build()
    spread = np.full(len(tree.coef), np.nan)
    spread[:2] = [10.0, 5.0]
    return dataclasses.replace(tree, spread=spread)


def mixed() -> Model:
    """All kinds of nodes, level tables, fills, and a leaf that nothing reached."""
    colour = Column("colour", "qualitative", ("red", "green", "blue", "a,b"))
    builder = TreeBuilder(2, 3)
    builder.add_levels("root", 0, [0, 1, 0, 2], ("warm", "cold", "odd"), unseen=1, missing=2)
    builder.add_machine("cold", [{1: 2.0}, {1: -1.0}, {}], [1.0, -3.0, 0.5], ("c", "d", "e"))
    tables, fill = {0: [1.0, 0.0, -1.5]}, {0: 1.0, 1: 2.0}
    builder.add_split("odd", {0: 1.0, 1: -2.0}, 0.5, ("f", "g"), tables=tables, fill=fill)
    builder.set_leaf("warm", [6, 3, 1], 10)
    builder.set_leaf("c", [0, 2.5, 0], 1)
    builder.set_leaf("d", [9, 0, 0], 9)
    builder.set_leaf("e", [1, 0, 0])
    builder.set_leaf("f", [0, 0, 7], 7)
    builder.set_leaf("g", [0, 0, 0])
    classes = np.array(["x", "y", "z"])
    return Model((builder.build(),), "single", Encoding((colour, Column("size"))), classes)


def single(stats: list[float], rows: int = 0) -> Tree:
    """A tree that asks nothing."""
    builder = TreeBuilder(1, len(stats))
    builder.set_leaf("root", stats, rows)
    return builder.build()


def chain(depth: int) -> Tree:
    """A tree with one question below the other."""
    builder = TreeBuilder(1, 2)
    for level in range(depth):
        builder.add_split(level, {0: 1.0}, float(depth - level), (level + 1, ("end", level)))
        builder.set_leaf(("end", level), [1, 0], 1)
    builder.set_leaf(depth, [0, 2], 2)
    return builder.build()


def nasty() -> Tree:
    """A tree over as many columns and classes as there are nasty names, which uses all."""
    n = len(NASTY)
    builder = TreeBuilder(n, n)
    builder.add_split("root", (list(range(n)), [1.0] * n), 0.5, ("low", "high"))
    for number in range(n - 1):
        name = "high" if number == 0 else f"right {number}"
        leaf = f"leaf {number}" if number else "low"
        if number:
            builder.set_leaf(leaf, np.eye(n)[number], 1)
        else:
            builder.set_leaf("low", np.eye(n)[0], 1)
        if number == n - 2:
            builder.set_leaf(name, np.eye(n)[n - 1], 1)
        else:
            below = (f"leaf {number + 1}", f"right {number + 1}")
            builder.add_split(name, {number: 1.0}, 1.5, below)
    builder.annotate("root", gain=0.1, origin="by\n\ud800 hand")
    return builder.build()


TOWNS = ("Bonn", "Oslo", "Paris", "Rome", "a, b", "{Oslo}")
JOBS = ("cook", "", "missing", "3", "学生")


def people(
    n_rows: int = 300, seed: int = 0, missing: float = 0.1
) -> tuple[pd.DataFrame, AnyArray]:
    """Rows with two qualitative columns and two numeric ones, with holes, and their classes."""
    rng = np.random.default_rng(seed)
    town, job = rng.integers(0, len(TOWNS), n_rows), rng.integers(0, len(JOBS), n_rows)
    age, pay = rng.normal(40, 10, n_rows).round(1), rng.normal(0, 1, n_rows)
    # The order of the names says nothing: even and odd towns differ.
    value = 2.0 * (town % 2) + 0.05 * age + pay + 0.7 * (job == 2)
    classes = np.array(["no", "yes"])[(value > np.median(value)).astype(int)]
    columns: dict[str, AnyArray] = {
        "town": np.array(TOWNS, dtype=object)[town],
        "age": age.astype(object),
        "job": np.array(JOBS, dtype=object)[job],
        "pay": pay.astype(object),
    }
    for values in columns.values():
        values[rng.random(n_rows) < missing] = None
    frame = pd.DataFrame(columns).astype({"age": float, "pay": float})
    return frame, classes


def strangers(seed: int = 1) -> pd.DataFrame:
    """Rows as `people` gives them, with levels that were not there and more that is missing."""
    frame, _ = people(120, seed, missing=0.25)
    frame.loc[::7, "town"] = "Lima"
    frame.loc[::5, "job"] = "any other level"
    return frame
