"""scikit-learn's own tests of its trees, run against CartClassifier and CartRegressor.

``python tests/sklearn_tree_tests.py`` puts ours in the place of scikit-learn's two classes, lets
pytest collect the test file of the installed scikit-learn, and prints which tests pass, how each
of the others ends, and why that is right. It fails if a test fails without a reason here.
It is no part of the suite, because another scikit-learn has other tests.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree

from obliqua import CartClassifier, CartRegressor


class _LikeScikitLearn:
    """Takes what scikit-learn's trees take; skips a test that wants what ours do not have."""

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        for name, plain in (("splitter", "best"), ("monotonic_cst", None)):
            if getattr(self, name) != plain:
                pytest.skip(f"ours have no {name}")
        if self.criterion == "log_loss":
            pytest.skip(f"ours have no criterion {self.criterion}")
        if isinstance(self, CartClassifier) and np.ndim(y) == 2 and np.shape(y)[1] > 1:
            pytest.skip("ours learn one column of classes")
        return super().fit(X, y, sample_weight)  # type: ignore[misc]


class DecisionTreeClassifier(_LikeScikitLearn, CartClassifier):
    """CartClassifier with the parameters and defaults of scikit-learn."""

    def __init__(
        self, *, criterion="gini", splitter="best", max_depth=None, min_samples_split=2,
        min_samples_leaf=1, min_weight_fraction_leaf=0.0, max_features=None, random_state=None,
        max_leaf_nodes=None, min_impurity_decrease=0.0, class_weight=None, ccp_alpha=0.0,
        monotonic_cst=None,
    ):  # type: ignore[no-untyped-def]  # fmt: skip
        given = {name: value for name, value in locals().items() if name not in _OURS}
        super().__init__(**{n: v for n, v in given.items() if n not in _THEIRS})
        self._take_shared({name: given[name] for name in _THEIRS})


class DecisionTreeRegressor(_LikeScikitLearn, CartRegressor):
    """CartRegressor with the parameters and defaults of scikit-learn."""

    def __init__(
        self, *, criterion="squared_error", splitter="best", max_depth=None, min_samples_split=2,
        min_samples_leaf=1, min_weight_fraction_leaf=0.0, max_features=None, random_state=None,
        max_leaf_nodes=None, min_impurity_decrease=0.0, ccp_alpha=0.0, monotonic_cst=None,
    ):  # type: ignore[no-untyped-def]  # fmt: skip
        given = {name: value for name, value in locals().items() if name not in _OURS}
        super().__init__(**{n: v for n, v in given.items() if n not in _THEIRS})
        self._take_shared({name: given[name] for name in _THEIRS})


_OURS = ("self", "__class__")
_THEIRS = ("splitter", "monotonic_cst")


BY_NODE = "reads `threshold` by node; ours is by plane, and `node_threshold` by node"
INSIDE = "reads what only their Tree has"
# Why a test is right to fail, by its name.
REASONS = {
    "test_almost_constant_feature": "theirs pass over differences below 1e-7; ours use them",
    "test_arrays_persist": "`n_classes` is a number here, theirs one for each output",
    "test_big_input": "theirs work in float32 and refuse 1e40; ours take it",
    "test_build_pruned_tree_infinite_loop": INSIDE,
    "test_build_pruned_tree_py": INSIDE,
    "test_error": "its rows and numbers differ in length, which ours see before numbers below 0",
    "test_explicit_sparse_zeros": BY_NODE,
    "test_friedman_mse_deprecation": "their warning",
    "test_huge_allocations": "theirs ask for memory for all leaves that are allowed; ours do not",
    "test_max_features": "reads `max_features_`, which ours do not keep",
    "test_missing_value_errors": "theirs refuse a sparse X with missing values; ours take it",
    "test_pickle": INSIDE,
    "test_prune_single_node_tree": BY_NODE,
    "test_prune_tree_classifier_are_subtrees": BY_NODE,
    "test_prune_tree_regression_are_subtrees": BY_NODE,
    "test_sample_weight": BY_NODE,
    "test_sparse_criteria": BY_NODE,
    "test_sparse_input": BY_NODE,
    "test_sparse_input_reg_trees": BY_NODE,
    "test_sparse_parameters": BY_NODE,
    "test_tree_deserialization_from_read_only_buffer": BY_NODE,
}


class Outcomes:
    """As a plugin of pytest: how each test has ended."""

    def __init__(self) -> None:
        self.ended: dict[str, tuple[str, str]] = {}

    @pytest.fixture(params=range(3))
    def global_random_seed(self, request: Any) -> Any:
        """Stand in for the fixture of scikit-learn's own conftest."""
        return request.param

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            said = "" if report.passed else str(report.longrepr).strip().splitlines()[-1]
            if report.skipped and isinstance(report.longrepr, tuple):
                said = report.longrepr[2]
            self.ended[report.nodeid.rpartition("::")[2]] = (report.outcome, said)


def main() -> int:
    vars(sklearn.tree)["DecisionTreeClassifier"] = DecisionTreeClassifier
    vars(sklearn.tree)["DecisionTreeRegressor"] = DecisionTreeRegressor
    file = Path(sklearn.tree.__file__).parent / "tests" / "test_tree.py"
    outcomes = Outcomes()
    words = [str(file), "-q", "-p", "no:cacheprovider", "--no-header", "-rN", "--tb=line"]
    # Neither our settings of pytest, if it lies below them, nor what its conftest adds.
    words += ["-c", os.devnull, "--noconftest", "-k"]
    # Tests of ExtraTree and of the compiled parts alone do not touch our classes.
    pytest.main([*words, "not ExtraTree and not extra", *sys.argv[1:]], plugins=[outcomes])
    unexplained = 0
    for name, (outcome, said) in sorted(outcomes.ended.items(), key=lambda pair: pair[1]):
        if outcome == "skipped":
            print(f"skipped  {name}: {said.removeprefix('Skipped: ')}")
        elif outcome == "failed":
            reason = REASONS.get(name.partition("[")[0], "")
            unexplained += not reason
            print(f"failed   {name}: {reason or 'WITHOUT A REASON, ' + said[:150]}")
    print(Counter(outcome for outcome, _ in outcomes.ended.values()))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
