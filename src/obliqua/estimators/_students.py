"""Students: which methods grow them, and how they are told to."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from obliqua._typing import FloatArray
from obliqua.data.table import FROM_DTYPE, Table
from obliqua.data.threads import thread_count
from obliqua.estimators._training import TrainedTreesRegressor
from obliqua.estimators.base import BaseTreeClassifier
from obliqua.estimators.cart import CartClassifier, CartRegressor
from obliqua.estimators.hhcart import HHCartClassifier
from obliqua.estimators.oblique import ObliqueTreeRegressor
from obliqua.estimators.oc1 import OC1Classifier
from obliqua.estimators.refined_regressor import RefinedTreeRegressor

if TYPE_CHECKING:
    from obliqua.tree.tree import Tree

#: The methods that have names.
METHODS: dict[str, BaseTreeClassifier] = {
    "cart": CartClassifier(criterion="gini"),
    "hhcart": HHCartClassifier(criterion="gini", variant="dominant", extra_directions="fisher"),
    "oc1": OC1Classifier(criterion="gini", n_restarts=5),
}
#: The same for numbers.
NUMBER_METHODS: dict[str, TrainedTreesRegressor] = {
    "cart": CartRegressor(),
    "oblique": ObliqueTreeRegressor(),
    "refined": RefinedTreeRegressor(),
}
# Into so many parts, each of one class, a row is cut for oblique splits. Their search costs much
# per row; on the digits, four parts chose splits as good as all ten classes in half the time.
PARTS = 4
#: So many entries of rows that are written once per class take a gigabyte; beyond that, rows are
#: cut into parts too.
MOST_ENTRIES = 2**27
# What the method's own parameters would say is said by the student's.
_SET_HERE = ("max_leaf_nodes", "pruning", "random_state", "n_jobs")
# What has no meaning for shares, or is said elsewhere: what to do instead.
_NOT_HERE = {
    "class_weight": "a student has the weights that its teacher has; give them to the teacher",
    "priors": "a student has the priors that its teacher has; give them to the teacher",
    "costs": "a student says what its teacher says; give them to the teacher",
    "categorical_features": "say it to the student: categorical_features=...",
}


def method_of(given: Any) -> BaseTreeClassifier:
    """Return a checked copy of the method that grows the trees of a student."""
    wanted = (
        f"method must be one of {', '.join(map(repr, METHODS))}, or a tree classifier of obliqua "
        "with a limit of leaves, such as HHCartClassifier()"
    )
    if isinstance(given, str):
        if given not in METHODS:
            raise ValueError(f"{wanted}; got {given!r}.")
        given = METHODS[given]
    if isinstance(given, type):
        raise TypeError(f"{wanted}; got the class {given.__name__} itself.")
    if not isinstance(given, BaseTreeClassifier) or not set(_SET_HERE) <= set(given.get_params()):
        raise TypeError(f"{wanted}; got {type(given).__name__}.")
    for name, instead in _NOT_HERE.items():
        value = getattr(given, name, None)
        if value is not None and not (isinstance(value, str) and value == FROM_DTYPE):
            raise ValueError(
                f"method has {name}={value!r}, which is not used here: {instead}. Leave it out of "
                f"{type(given).__name__}."
            )
    method: BaseTreeClassifier = clone(given)
    method.set_params(pruning=None)
    method._validate_params()
    return method


def number_method_of(given: Any) -> TrainedTreesRegressor:
    """Return a checked copy of the method that grows the tree of a student of numbers."""
    wanted = (
        f"method must be one of {', '.join(map(repr, NUMBER_METHODS))}, or a tree regressor of "
        "obliqua, such as ObliqueTreeRegressor(leaf_model='linear')"
    )
    if isinstance(given, str):
        if given not in NUMBER_METHODS:
            raise ValueError(f"{wanted}; got {given!r}.")
        given = NUMBER_METHODS[given]
    if not isinstance(given, TrainedTreesRegressor):
        name = given.__name__ if isinstance(given, type) else type(given).__name__
        raise TypeError(f"{wanted}; got {name}.")
    method: TrainedTreesRegressor = clone(given)
    if "pruning" in method.get_params():
        method.set_params(pruning=None)
    method._validate_params()
    return method


def _affordable(shares: FloatArray, n_columns: int) -> int:
    """Say into how many parts rows must be cut to take bounded memory; 0 if they need not."""
    n_rows, n_classes = shares.shape
    if int(np.count_nonzero(shares)) * n_columns <= MOST_ENTRIES:
        return 0
    return min(n_classes, max(PARTS, MOST_ENTRIES // (n_rows * n_columns)))


def grow_student(
    method: BaseTreeClassifier, table: Table, shares: FloatArray, told: Any, seed: int
) -> list["Tree"]:
    """Grow the trees of a student."""
    from obliqua.engine.soft_labels import additive_trees, soft_problem

    odd = table.has_missing.any() or not table.encoding.numeric
    if odd and not method._takes_odd:
        raise ValueError(
            f"{type(method).__name__} takes numbers only, and X has qualitative columns or "
            "missing values. Choose another method, such as 'cart'."
        )
    threads = thread_count(told.n_jobs)
    costly = shares.shape[1] > PARTS and not isinstance(method, CartClassifier)

    def grown(labels: FloatArray, most: int, number: int) -> "Tree":
        # A rest is small beside what it is shifted by, and would be lost in four parts.
        parts = PARTS if costly and number == 0 else 0
        problem = soft_problem(
            table,
            labels,
            fill=method._fill(),
            parts=parts or _affordable(labels, table.Z.shape[1]),
            seed=seed + number,
        )
        member = clone(method).set_params(
            max_leaf_nodes=most, random_state=(seed + number) % 2**31, n_jobs=threads
        )
        return member._grown(problem)

    return additive_trees(table, shares, int(told.max_leaves), int(told.n_trees), grown)
