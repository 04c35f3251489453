"""The artificial data of the OC1 paper: its points again, or fresh ones, and the true trees.

S. K. Murthy, S. Kasif, S. Salzberg (1994). *A system for induction of oblique decision trees*.
Journal of Artificial Intelligence Research 2, 1-32. The points of POL and RCB were recovered
from the paper's figure 9, which shows the first thousand: they are the numbers of C's drand48 in
the state in which a program finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.datasets._chance import generator, whole_number
from obliqua.datasets._facts import DataPart, Facts
from obliqua.datasets._loaders import Loader, as_bunch
from obliqua.datasets._sources import SourceTable
from obliqua.errors import DatasetMissing
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree

# --- drand48 ----------------------------------------------------------------------------------

_FACTOR, _STEP, _BITS = 25214903917, 11, 48
_START = 0x1234ABCD330E  # where it begins if nobody has seeded it


def drand48(count: int) -> FloatArray:
    """Make the first numbers of an unseeded drand48.

    The state is 48 bits long; a step multiplies it by a factor and adds 11. What lies m steps
    ahead is one multiplication away too, so the known states give as many new ones at once.
    """
    low = (1 << _BITS) - 1
    states = np.empty(count, dtype=np.uint64)
    known = min(1, count)
    states[:known] = (_FACTOR * _START + _STEP) & low
    factor, step = _FACTOR, _STEP  # of `known` steps together
    while known < count:
        more = min(known, count - known)
        # Products overflow; their lowest 64 bits are right, and 48 of them are kept.
        ahead = states[:more] * np.uint64(factor) + np.uint64(step)
        states[known : known + more] = ahead & np.uint64(low)
        known += more
        factor, step = factor * factor & low, (factor * step + step) & low
    return states / 2.0**_BITS


def _as_written(numbers: FloatArray) -> FloatArray:
    """Turn numbers into what OC1's generator writes for them: floats with six decimals.

    A float times a million is exact in doubles, so ties are seen, and the quotient is the
    double that is read for the decimals.
    """
    millionths = np.rint(numbers.astype(np.float32).astype(np.float64) * 1e6)
    return np.asarray(millionths / 1e6)


# --- what is to be learned --------------------------------------------------------------------


def _ls10_tree() -> Tree:
    builder = TreeBuilder(n_features=10, n_stats=2)
    # Turned round, so that the class of "less than" does not get the rows on the border.
    builder.add_split("root", [-1.0] * 5 + [1.0] * 5, 0.0, ("not less", "less"))
    builder.set_leaf("not less", [0.0, 0.5])
    builder.set_leaf("less", [0.5, 0.0])
    return builder.build()


def _pol_tree() -> Tree:
    builder = TreeBuilder(n_features=2, n_stats=2)
    for name, border, children in (
        ("root", 0.625, ("low", "high")),
        ("low", 0.3125, ("a", "b")),
        ("high", 1.625, ("middle", "e")),
        ("middle", 1.0625, ("c", "d")),
    ):
        builder.add_split(name, [1.0, 1.0], border, children)
    for name, stats in (
        ("a", [0.048828125, 0.0]),
        ("b", [0.0, 0.146484375]),
        ("c", [0.365234375, 0.0]),
        ("d", [0.0, 0.369140625]),
        ("e", [0.0703125, 0.0]),
    ):
        builder.set_leaf(name, stats)
    return builder.build()


# The areas of the eight fields, which have at most five corners on fractions.
_RCB_AREAS = (
    *(567 / 6784, 28077 / 196736, 1 / 15, 2447 / 13920),
    *(2701 / 15872, 45 / 512, 4921 / 31744, 121 / 1024),
)


def _rcb_tree() -> Tree:
    builder = TreeBuilder(n_features=2, n_stats=8)
    for name, normal, threshold, children in (
        ("root", (-16.0, 15.0), 0.0, ("below", "above")),
        ("above", (8.0, 7.0), 7.0, ("above left", "above right")),
        ("above left", (-0.75, 1.0), 0.4375, (2, 1)),
        ("above right", (-1.0, 1.0), 0.5, (4, 3)),
        ("below", (1.0, 1.0), 1.0, ("below left", "below right")),
        ("below left", (-1.25, 1.0), -0.546875, (6, 5)),
        ("below right", (-1.0, 1.0), -0.3125, (8, 7)),
    ):
        builder.add_split(name, np.array(normal), threshold, children)
    for number, stats in enumerate(np.diag(_RCB_AREAS), start=1):
        builder.set_leaf(number, stats)
    return builder.build()


@dataclass(frozen=True)
class Concept:
    """Artificial data: what is known of the paper's points, and the tree that gives the labels."""

    facts: Facts
    tree: Callable[[], Tree]

    def label(self, data: FloatArray) -> AnyArray:
        """The labels of points."""
        tree = self.tree()
        return np.array(self.facts.classes)[tree.leaf_label[tree.apply(data)]]


def _made(counts: tuple[int, ...], fingerprint: str) -> dict[str, DataPart]:
    """The table of the paper's points: there is no file of it."""
    return {"all": DataPart("", {str(i): n for i, n in enumerate(counts, start=1)}, fingerprint)}


CONCEPTS = (
    Concept(
        Facts(
            "ls10",
            "LS10",
            tuple(f"x{number}" for number in range(1, 11)),
            _made(
                (971, 1029),
                "61095bb3b784a7ae6ae163519f6d78d27149f9e12259fa7da86cd14657fc449f",
            ),
            "Ten features and one oblique hyperplane: class 1 where "
            "x1 + x2 + x3 + x4 + x5 < x6 + x7 + x8 + x9 + x10, class 2 elsewhere. The paper shows "
            "no points of it and does not number its classes: the points are drawn as those of "
            "POL and RCB are, and the numbers are ours.",
        ),
        _ls10_tree,
    ),
    Concept(
        Facts(
            "pol",
            "POL, parallel oblique lines",
            ("x", "y"),
            _made(
                (958, 1042),
                "eea0bcfccef7a6e517e4f222e08709a7c550b5cd0f97fa2359b6e70b8e60543a",
            ),
            "Four parallel lines, x + y = 0.3125, 0.625, 1.0625 and 1.625, divide the unit square "
            "into fields of the classes 1, 2, 1, 2 and 1.",
        ),
        _pol_tree,
    ),
    Concept(
        Facts(
            "rcb",
            "RCB, the rotated checker board",
            ("x", "y"),
            _made(
                (164, 308, 130, 352, 331, 197, 289, 229),
                "9dd758e509e1a4eb2656cc470adaf149bbce979bebffcd692dd10e8aa0b30d38",
            ),
            "An irregular board of two by four fields in the unit square, a class in each. "
            "y = 16/15 x divides the classes 1 to 4, above it, from 5 to 8. Above it, "
            "y = 1 - 8/7 x divides 1 and 2 from 3 and 4, which lie to the right; "
            "y = 0.75 x + 0.4375 divides 1 from 2, and y = x + 0.5 divides 3 from 4. Below it, "
            "y = 1 - x divides 5 and 6 from 7 and 8, which lie to the right; "
            "y = 1.25 x - 0.546875 divides 5 from 6, and y = x - 0.3125 divides 7 from 8. Of two "
            "classes the odd one is above.",
        ),
        _rcb_tree,
    ),
)

_DOC = """{title}: {columns} features, {classes} classes, rows at will.

{about}

Features are uniform between 0 and 1, and there is no noise. The first thousand of the paper's
points of POL and RCB are known; the experiments of the paper had two thousand.

Parameters
----------
n_rows : int, default=2000
    How many rows to make.
random_state : int, Generator or RandomState, default=None
    Chance for fresh rows. None gives the rows of the paper: the numbers of an unseeded drand48,
    row by row, as floats written with six decimals. Fewer than 2000 are the first of them, and
    more go on with the same numbers.
return_X_y : bool, default=False
    Return ``(data, target)`` instead of a Bunch.
as_frame : bool, default=False
    Give the data as a pandas DataFrame and the target as a Series.

Returns
-------
Bunch or tuple
    A Bunch as that of every loader, with ``data`` (float64) and ``target`` (labels as text), and
    with ``tree`` too: the true `Tree`, of {leaves} leaves. Its labels are positions in
    ``target_names``, and its stats are shares of the rows to expect.

Raises
------
ValueError
    If `n_rows` is not an integer of at least 1, or `random_state` none of the above.

Examples
--------
>>> from obliqua.datasets import make_{name}
>>> rows = make_{name}()
>>> rows.data.shape
(2000, {columns})
>>> rows.tree
{tree}
>>> X, y = make_{name}(500, random_state=0, return_X_y=True)
>>> bool((y == np.array(rows.target_names)[rows.tree.leaf_label[rows.tree.apply(X)]]).all())
True
"""


def _maker(concept: Concept) -> Loader:
    facts = concept.facts

    def make(
        n_rows: int = 2000,
        *,
        random_state: Any = None,
        return_X_y: bool = False,
        as_frame: bool = False,
    ) -> Any:
        shape = (whole_number("n_rows", n_rows, 1), len(facts.features))
        if random_state is None:
            data = _as_written(drand48(shape[0] * shape[1])).reshape(shape)
            source = "its definition, with the numbers of drand48"
        else:
            data = generator(random_state, "for the rows of the paper").random(shape)
            source = "its definition, with fresh numbers"
        table = SourceTable(data, concept.label(data), source)
        return as_bunch(facts, table, return_X_y, as_frame, tree=concept.tree())

    make.__name__ = make.__qualname__ = f"make_{facts.name}"
    tree = concept.tree()
    make.__doc__ = _DOC.format(
        name=facts.name,
        title=facts.title,
        about=facts.about,
        columns=len(facts.features),
        classes=len(facts.classes),
        leaves=tree.n_leaves,
        tree=tree,
    )
    return make


make_ls10, make_pol, make_rcb = (_maker(concept) for concept in CONCEPTS)

# --- figure 5 ---------------------------------------------------------------------------------

_FIGURE_5 = Facts(
    "oc1_figure5",
    "The eight points of figure 5 of the OC1 paper",
    ("x", "y"),
    _made((4, 4), "b066a5ec45c524fcdb24322a9b0644b0f43e553ef819ba13e55469e3f8f46176"),
    "A line separates the two classes, y = 0.863 x + 0.1226 for instance. It is the paper's "
    "example of a local minimum: from the best axis-parallel split, x = 0.65, neither CART-LC nor "
    "OC1 without random jumps has found such a line in 20 runs of the original program.",
)
_POINTS = (
    *((0.0, 1.0), (0.1, 0.3), (0.2, 0.3), (0.5, 0.8)),  # class 1
    *((0.0, 0.0), (1.0, 0.0), (0.8, 0.8), (0.9, 0.6)),  # class 2
)


def load_oc1_figure5(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the eight points of figure 5 of the OC1 paper: 2 features, 2 classes.

    A line separates the two classes. The paper's example of a local minimum: from the best
    axis-parallel split, x = 0.65, neither CART-LC nor OC1 without random jumps has found such a
    line in 20 runs of the original program.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Give the data as a pandas DataFrame and the target as a Series.

    Returns
    -------
    Bunch or tuple
        A Bunch as that of every loader, with ``data`` (float64) and ``target`` (labels as text),
        and with ``tree`` too: a `Tree` of two leaves that makes no error, with the line
        y = 0.863 x + 0.1226.

    Examples
    --------
    >>> from obliqua.datasets import load_oc1_figure5
    >>> points = load_oc1_figure5()
    >>> points.tree.leaf_label[points.tree.apply(points.data)]
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("line", [-0.863, 1.0], 0.1226, ("below", "above"))
    builder.set_leaf("below", [0.0, 4.0], n_samples=4)
    builder.set_leaf("above", [4.0, 0.0], n_samples=4)
    table = SourceTable(np.array(_POINTS), np.repeat(["1", "2"], 4), "its definition")
    return as_bunch(_FIGURE_5, table, return_X_y, as_frame, tree=builder.build())


# --- what cannot be had -----------------------------------------------------------------------

_OBJECTS = {"bright": 2462, "dim": 4192}


def load_star_galaxy(
    *, subset: str = "bright", return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Say why the star and galaxy data of the OC1 paper cannot be loaded.

    The paper's table 1 has 2462 bright and 4192 dim objects on astronomical plates, with 14
    features, to be told apart as stars and galaxies. No public copy of them was found. So there
    is nothing to load and nothing to compare a file with, and this function always raises. It
    stands here so that nobody looks for them in vain.

    Parameters
    ----------
    subset : {"bright", "dim"}, default="bright"
        Which of the two tables.
    return_X_y, as_frame : bool, default=False
        As for every loader.

    Returns
    -------
    None
        Never: it always raises.

    Raises
    ------
    DatasetMissing
        Always, for one of the two tables.
    ValueError
        If `subset` is another one.
    """
    if subset not in _OBJECTS:
        raise ValueError(f"subset must be 'bright' or 'dim', got {subset!r}")
    raise DatasetMissing(
        f"the star and galaxy data of the OC1 paper ({subset}: {_OBJECTS[subset]} objects, 14 "
        "features) cannot be had: no public copy was ever found, so no loader can fetch them or "
        "check a file; whoever has them can give the rows to fit as any other table"
    )
