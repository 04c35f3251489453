"""What came after HHCART, and what its paper names: on the data sets of its table 2.

**HHCART(G)** (Wickramarachchi et al. 2019) reflects once at each node, to an angle bisector. The
abstract of its paper has no figures; it says that trees are compact, with similar or better
results than HHCART's. *G* looks along the reflected axes only, as published, *G+axes* along the
original ones too, as HHCART does.

**Root** reflects at the root only, as CARTopt does.

**Clusters.** HHCART's paper ends with the thought that clusters within a class may hide how the
class extends. *D+clusters* divides each class of a node by 2-means, of standardised features, and
reflects to the dominant eigenvector of each half too. *CROSS* is made for it: each class is two
long clusters that lie across each other.

**Protocol.** As table 2 of HHCART; *CROSS* is drawn once, 800 rows. *A* has the library's
default for eigenvalues that are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua import ObliqueTreeClassifier
from obliqua._core.base.linalg import product, py_eigen
from obliqua._core.base.rng import row_hashes
from obliqua._typing import BoolArray, FloatArray
from obliqua.engine.proposals import NodeView
from obliqua.methods.geometric import AngleBisector, reflection
from obliqua.select.methods import Method
from reproduction.papers.hhcart import DATA_SETS, PAPER, PUBLISHED_2
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.tables import PaperTable

__all__ = ["METHODS", "TABLE", "class_clusters", "geometric_with_axes", "with_clusters"]

TAU = 0.05
MOVES = 20


def class_clusters(node: NodeView) -> FloatArray:
    """Propose reflections to the dominant eigenvectors of each class and of its two halves."""
    order = np.lexsort((row_hashes(node.X, node.y.astype(np.int64), 0), node.y))
    X, y = node.X[order], node.y[order]
    columns = [np.empty((0, node.n_features))]
    for c in np.unique(y):
        rows = X[y == c]
        near = two_means(rows)
        for part in (rows, rows[near], rows[~near]):
            d = dominant(part)
            if d is not None and 2.0 - 2.0 * np.abs(d).max() > TAU**2:
                columns.append(reflection(d, 0))
    return np.concatenate(columns)


def dominant(rows: FloatArray) -> FloatArray | None:
    """Return the direction in which rows extend most; None if they are all equal."""
    if len(rows) < 2 or (rows == rows[0]).all():
        return None
    away = rows - rows.mean(axis=0)
    return np.asarray(py_eigen(product(np.ascontiguousarray(away.T), away))[1][0])


def two_means(rows: FloatArray) -> BoolArray:
    """Divide rows in two, of standardised features, from a cut across their longest direction."""
    spread = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    d = dominant(scaled)
    if d is None:
        return np.ones(len(rows), dtype=bool)
    near = scaled @ d <= 0.0
    for _ in range(MOVES):
        if near.all() or not near.any():
            break
        here, there = scaled[near].mean(axis=0), scaled[~near].mean(axis=0)
        moved = ((scaled - here) ** 2).sum(axis=1) <= ((scaled - there) ** 2).sum(axis=1)
        if (moved == near).all():
            break
        near = moved
    return np.asarray(near)


def with_clusters(random_state: int | None = None, **params: Any) -> ObliqueTreeClassifier:
    """Make HHCART(D) that looks into the classes."""
    return ObliqueTreeClassifier(class_clusters, random_state=random_state, **params)


def geometric_with_axes(random_state: int | None = None, **params: Any) -> ObliqueTreeClassifier:
    """Make HHCART(G) that looks along the original axes too."""
    return ObliqueTreeClassifier(AngleBisector(), random_state=random_state, **params)


def _crossing() -> ExperimentRows:
    """Draw two classes, each of two long clusters that lie across each other."""
    rng = np.random.default_rng(0)
    part = np.arange(800) % 4
    along, across = 4.0 * rng.normal(size=800), 0.3 * rng.normal(size=800)
    angle = np.deg2rad(np.array([25.0, 25.0, 115.0, 115.0]))[part]
    across += np.array([-0.6, 0.6, -0.6, 0.6])[part]
    X = np.column_stack(
        [
            along * np.cos(angle) - across * np.sin(angle),
            along * np.sin(angle) + across * np.cos(angle),
        ]
    )
    X[part > 1] += 20.0
    return ExperimentRows(X, part % 2)


def _hhcart(name: str, title: str, variant: str, **more: Any) -> Method:
    return Method(name, title, "obliqua.HHCartClassifier", {"variant": variant, **PAPER, **more})


_HOME = "reproduction.own.hhcart_more."

METHODS = (
    _hhcart("A", "HHCART(A): all eigenvectors", "all"),
    _hhcart("D", "HHCART(D): the dominant eigenvector", "dominant"),
    _hhcart("G", "HHCART(G): an angle bisector", "geometric"),
    Method("G+axes", "G, and the original axes", _HOME + "geometric_with_axes", PAPER),
    _hhcart("A root", "A, reflections of the root only", "all", reflect="root"),
    _hhcart("D root", "D, reflections of the root only", "dominant", reflect="root"),
    Method("D+clusters", "D, and two halves of each class", _HOME + "with_clusters", PAPER),
)

#: HHCART(G), reflections at the root only, and clusters within classes.
TABLE = PaperTable(
    name="hhcart-more",
    title="HHCART(G), reflections at the root, clusters within classes",
    data_sets=(*DATA_SETS, DataSet("CROSS", "crossing clusters", _crossing)),
    methods=METHODS,
    standard=tuple(method.name for method in METHODS),
    published={
        name: {method: row[method] for method in ("A", "D")} for name, row in PUBLISHED_2.items()
    },
    prototype={},
    effort=False,
)
