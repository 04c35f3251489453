"""What small trees keep of a forest: students, aggregated trees, orthogonal trees.

**Protocol.** Five times, with another seed, a third of the rows is held out, of each class its
share. scikit-learn's forest of 100 trees is fitted to the others and handed to each way of making
it small, with 16, 64 and 256 leaves in all. On the rows that were held out each result is compared
with the classes and with the forest. Times are of the small model alone, without the forest's.

**Ways.**

- *labels*: CART from the classes, without the forest;
- *cart*, *hhcart*, *oc1*: one tree from what the forest says, `obliqua.distil` with this method;
- *residual*: four CART trees with a quarter of the leaves each, from what is left over;
- *aggregated*: the tree of the forest's function over all cells of its thresholds;
- *odt1* to *odt5*: the trees of so many principal components of that function's trees, which share
  the leaves, added up with the weights that make all components the forest;
- *forest*: itself.

Further ways run only if they are asked for: *cart-data* and *residual-data* learn from the
training rows alone, *cart-marginals*, *residual-marginals* and *hhcart-marginals* from generated
rows whose columns are independent, and *hhcart-residual* is four HHCART trees.

**Fresh data.** ``distil-fresh`` has sets on which no decision was made, with the students only.
All tables are read as numbers, levels as their codes.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from obliqua import datasets
from obliqua._typing import AnyArray
from obliqua.select.methods import Method
from reproduction.own.distil_shown import Lost
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.tables import PaperTable

__all__ = ["DISTIL", "DISTIL_FRESH", "DISTIL_LETTER", "LEAVES", "Small", "numbers"]

#: How many leaves a small model has in all.
LEAVES = (16, 64, 256)
N_TREES = 100
N_COMPONENTS = 5
TITLES = {
    "labels": "CART from the classes",
    "cart": "one CART tree from what the forest says",
    "residual": "four CART trees, each from what is left over",
    "hhcart": "one HHCART tree from what the forest says",
    "oc1": "one OC1 tree from what the forest says",
    "aggregated": "the tree of the forest's function",
    **{
        f"odt{n}": f"the trees of {n} principal component{'s' if n > 1 else ''}"
        for n in range(1, N_COMPONENTS + 1)
    },
}
FURTHER = {
    "cart-data": "one CART tree, training rows only",
    "residual-data": "four CART trees, training rows only",
    "cart-marginals": "one CART tree, independent columns",
    "residual-marginals": "four CART trees, independent columns",
    "hhcart-marginals": "one HHCART tree, independent columns",
    "hhcart-residual": "four HHCART trees, each from what is left over",
}
OPTIONS: dict[str, dict[str, Any]] = {"data": {"n_generated": 0}, "marginals": {"swap": 1.0}}
STUDENTS = ("labels", "cart", "residual", "hhcart", "oc1")

_MOST_KEPT = 4
_kept: OrderedDict[str, Any] = OrderedDict()


def _once(what: str, X: AnyArray, y: AnyArray, seed: int | None, make: Callable[[], Any]) -> Any:
    """Make something that many methods of a repeat need; return it with its CPU seconds."""
    digest = hashlib.sha256(f"{what} {seed}".encode() + np.ascontiguousarray(X).tobytes())
    digest.update(np.asarray(y, dtype="U").tobytes())
    key = digest.hexdigest()
    if key not in _kept:
        begun = time.process_time()
        made = make()
        _kept[key] = made, time.process_time() - begun
    _kept.move_to_end(key)
    while len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return _kept[key]


class Small(ClassifierMixin, BaseEstimator):
    """A forest, and a small model in its place.

    Parameters
    ----------
    way : str, default="cart"
        How it is made; ``"forest"`` is the forest itself.
    leaves : int, default=64
        The most leaves in all.
    n_trees : int, default=100
        The number of trees of the forest.
    random_state : int, default=None
        The seed of both.
    """

    def __init__(
        self,
        way: str = "cart",
        leaves: int = 64,
        n_trees: int = N_TREES,
        random_state: int | None = None,
    ) -> None:
        self.way = way
        self.leaves = leaves
        self.n_trees = n_trees
        self.random_state = random_state

    def fit(self, X: AnyArray, y: AnyArray) -> Self:
        """Fit the forest and make the small model."""
        from sklearn.ensemble import RandomForestClassifier

        self.forest_, _ = _once(
            f"forest {self.n_trees}",
            X,
            y,
            self.random_state,
            lambda: RandomForestClassifier(self.n_trees, random_state=self.random_state).fit(X, y),
        )
        # What all numbers of components share is found once, and counts for each of them.
        before = self._components(X, y)[1] if self.way.startswith("odt") else 0.0
        begun = time.process_time()
        self.small_ = self._made(X, y)
        self.cpu_ms_ = 1000.0 * (before + time.process_time() - begun)
        self.classes_ = self.forest_.classes_
        return self

    def _made(self, X: AnyArray, y: AnyArray) -> Any:
        """Make the small model."""
        from obliqua.estimators.aggregated import AggregatedTreeClassifier
        from obliqua.estimators.cart import CartClassifier
        from obliqua.estimators.distilled import distil

        way, _, more = self.way.partition("-")
        if way == "forest":
            return self.forest_
        if way == "labels":
            tree = CartClassifier(criterion="gini", max_leaf_nodes=self.leaves, pruning=None)
            return tree.fit(X, y)
        if way == "aggregated":
            tree = AggregatedTreeClassifier(self.forest_, prefit=True, max_leaf_nodes=self.leaves)
            return tree.fit(X, y)
        if way.startswith("odt"):
            return self._first(self._components(X, y)[0], int(way[3:]))
        several = "residual" in (way, more)
        return distil(
            self.forest_,
            X,
            max_leaves=self.leaves,
            n_trees=4 if several else 1,
            method="cart" if way == "residual" else way,
            holdout=0.0,
            random_state=self.random_state,
            **OPTIONS.get(more, {}),
        )

    def _components(self, X: AnyArray, y: AnyArray) -> Any:
        """Find the components of the forest, once; return them with the CPU seconds."""
        from obliqua.estimators.orthogonal import OrthogonalTreesClassifier

        def found() -> Any:
            model = OrthogonalTreesClassifier(
                self.forest_, prefit=True, n_components=N_COMPONENTS, max_leaf_nodes=2
            )
            return model.fit(X, y)

        return _once(f"components {self.n_trees}", X, y, self.random_state, found)

    def _first(self, whole: Any, n: int) -> Any:
        """Return the trees of the first components, as a fit with so many would have them."""
        first = copy(whole)
        for name in ("eigenvalues_", "explained_energy_", "component_weights_", "_vectors"):
            setattr(first, name, getattr(whole, name)[:n])
        leaves = max(1, self.leaves // n)
        first._told = {**whole._told, "predict_with": "trees", "max_leaf_nodes": leaves}
        first._made = {name: whole._made[name] for name in ("functions", "domain")}
        first._rebuilt()
        return first

    def predict(self, X: AnyArray) -> AnyArray:
        """Predict with the small model."""
        return np.asarray(self.small_.predict(X))

    def get_n_leaves(self) -> int:
        """Return the number of leaves of all trees together."""
        if self.way == "forest":
            return sum(int(tree.get_n_leaves()) for tree in self.forest_.estimators_)
        return int(self.small_.get_n_leaves())

    def lost(self, X: AnyArray) -> dict[str, float]:
        """Compare the small model with the forest."""
        from obliqua.estimators._fidelity import fidelity

        found = fidelity(self.forest_, self.small_, X)
        return {
            "agreement": found["agreement"],
            "difference": found["difference"],
            "cpu_ms": round(self.cpu_ms_, 3),
        }


# --- data and methods -------------------------------------------------------------------------


def numbers(X: Any) -> AnyArray:
    """Return a table as numbers: levels become codes, and what is missing becomes -1."""
    if X.dtype != object:
        return np.asarray(X, dtype=np.float64)
    columns = []
    for column in X.T:
        if any(isinstance(entry, str) for entry in column):
            columns.append(np.unique(column.astype(str), return_inverse=True)[1].astype(float))
        else:
            values = column.astype(np.float64)
            columns.append(np.where(np.isnan(values), -1.0, values))
    return np.column_stack(columns)


def _rows(
    load: Callable[[], tuple[Any, Any]], most: int | None = None
) -> Callable[[], ExperimentRows]:
    def loaded() -> ExperimentRows:
        X, y = load()
        X = numbers(np.asarray(X))
        if most is not None and len(X) > most:
            chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:most])
            X, y = X[chosen], y[chosen]
        return ExperimentRows(X, np.asarray(y), stratified=True, n_tested=1)

    return loaded


def _ours(name: str) -> Callable[[], tuple[Any, Any]]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


def _theirs(name: str) -> Callable[[], tuple[Any, Any]]:
    import sklearn.datasets

    return lambda: getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)


def _spect() -> tuple[Any, Any]:
    (X, y), (X_test, y_test) = (
        datasets.load_spect(subset=part, return_X_y=True) for part in ("train", "test")
    )
    return np.concatenate([X, X_test]), np.concatenate([y, y_test])


def _clouds() -> tuple[Any, Any]:
    from sklearn.datasets import make_classification

    made: tuple[Any, Any] = make_classification(
        4000, 20, n_informative=10, n_redundant=4, n_classes=7, random_state=7
    )
    return made


def _methods(titles: dict[str, str]) -> tuple[Method, ...]:
    where = "reproduction.own.distil.Small"
    return tuple(
        Method(
            f"{way}@{leaves}", f"{title}, {leaves} leaves", where, {"way": way, "leaves": leaves}
        )
        for way, title in titles.items()
        for leaves in LEAVES
    )


_FOREST = Method("forest", "the forest itself", "reproduction.own.distil.Small", {"way": "forest"})
METHODS = (_FOREST, *_methods(TITLES))
EXTRA_METHODS = _methods(FURTHER)


def _named(*ways: str) -> tuple[str, ...]:
    return ("forest", *(f"{way}@{leaves}" for way in ways for leaves in LEAVES))


# --- the table --------------------------------------------------------------------------------


def _table(name: str, title: str, data_sets: tuple[DataSet, ...], *ways: str) -> PaperTable:
    return PaperTable(
        shown_as=Lost,
        name=name,
        title=title,
        data_sets=data_sets,
        methods=METHODS + EXTRA_METHODS,
        standard=_named(*ways),
        published={},
        prototype={},
        repeats=5,
        n_folds=3,
    )


#: All ways, on small data sets.
DISTIL = _table(
    "distil",
    "A forest of 100 trees made small",
    (
        DataSet("wine", "Wine", _rows(_ours("wine"))),
        DataSet("wdbc", "Breast cancer, diagnostic", _rows(_theirs("breast_cancer"))),
        DataSet("pima", "Pima Indians diabetes", _rows(_ours("pima"))),
        DataSet("spect", "SPECT, all rows", _rows(_spect)),
    ),
    *TITLES,
)
#: Students on 26 classes, where functions over all cells are too large: rows whose columns are
#: independent stand for the cells.
DISTIL_LETTER = _table(
    "distil-letter",
    "A forest of 100 trees made small: letters",
    (DataSet("letter", "Letter recognition, 4,000 rows", _rows(_ours("letter"), 4000)),),
    *STUDENTS,
    "cart-marginals",
)
#: Students on data on which no decision was made.
DISTIL_FRESH = _table(
    "distil-fresh",
    "A forest of 100 trees made small: fresh data",
    (
        DataSet("bupa", "BUPA liver disorders", _rows(_ours("bupa"))),
        DataSet("shuttle", "Shuttle, 4,000 rows", _rows(_ours("shuttle"), 4000)),
        DataSet("Income", "Income (Adult), 4,000 rows", _rows(_ours("adult"), 4000)),
        DataSet("haberman", "Haberman's survival", _rows(_ours("haberman"))),
        DataSet("clouds", "Artificial: 7 classes, 20 features", _rows(_clouds)),
    ),
    *STUDENTS,
    "residual-marginals",
)
