"""What we use of scikit-learn that it keeps private: the one place to look when it changes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
    "made_tree",
    "safe_indexing",
    "validate_parameter_constraints",
]


def made_tree(
    n_features: int, nodes: Mapping[str, Any], value: Any, depth: int, classes: bool
) -> Any:
    """Make the `tree_` of a fitted tree of scikit-learn of its arrays."""
    # Loading scikit-learn's trees takes time, and hardly any program needs them.
    from sklearn.tree._tree import NODE_DTYPE, Tree

    rows = np.zeros(len(value), dtype=NODE_DTYPE)
    for name, values in nodes.items():
        rows[name] = values
    n_outputs = value.shape[1]
    n_classes = np.full(n_outputs, value.shape[2] if classes else 1, dtype=np.intp)
    tree = Tree(n_features, n_classes, n_outputs)
    values = np.ascontiguousarray(value, dtype=np.float64)
    state = {"max_depth": depth, "node_count": len(rows), "nodes": rows, "values": values}
    tree.__setstate__(state)
    return tree
