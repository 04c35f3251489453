"""scikit-learn's own checks, for every estimator and for settings that change its ways."""

import os
import subprocess
import sys
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from estimators.registry import PUBLIC
from obliqua import (
    AggregatedTreeClassifier,
    C45Classifier,
    CartClassifier,
    DistilledClassifier,
    DistilledRegressor,
    HHCartClassifier,
    LMDTClassifier,
    OC1Classifier,
    OrthogonalTreesClassifier,
    RefinedTreeClassifier,
    RefinedTreeRegressor,
    RepeatedTreesClassifier,
    SADTClassifier,
)

# Ensembles by default, but of few trees: more of them are more of the same.
SMALL: dict[Any, dict[str, Any]] = {
    AggregatedTreeClassifier: {"n_estimators": 3, "max_leaf_nodes": 8},
    DistilledClassifier: {
        "estimator": RandomForestClassifier(10),
        "n_generated": 300,
        "max_leaves": 16,
    },
    OrthogonalTreesClassifier: {"n_estimators": 3},
    RefinedTreeClassifier: {"max_leaf_nodes": 4},
    RefinedTreeRegressor: {"max_leaf_nodes": 8, "leaf_penalty": 1.0, "leaf_smoothing": 5.0},
    DistilledRegressor: {
        "estimator": RandomForestRegressor(10),
        "method": "oblique",
        "n_generated": 300,
        "max_leaves": 16,
    },
    RepeatedTreesClassifier: {"n_estimators": 3},
}
DEFAULTS = [cls(**SMALL.get(cls, {})) for cls in PUBLIC]

VARIANTS: tuple[dict[str, Any], ...] = (
    {"max_leaf_nodes": 8},
    {"class_weight": "balanced", "criterion": "entropy"},
    {"n_jobs": 2, "min_weight_fraction_leaf": 0.01},
    {"pruning": None},
    {"pruning": "cv", "n_folds": 3, "n_se": 0.5},
    {"pruning": "reduced_error", "prune_fraction": 0.25, "prune_root": True},
    {"pruning": "pessimistic", "subtree_raising": True},
    {"ccp_alpha": 0.02, "priors": "equal"},
)
# scikit-learn's forest itself does not pass the check of weights if it draws rows and features.
EXACT_FOREST = RandomForestClassifier(3, max_depth=3, max_features=None, bootstrap=False)
COMPOSED = (
    RepeatedTreesClassifier(OC1Classifier(n_restarts=3), n_estimators=4, combine="mean", n_jobs=2),
    RepeatedTreesClassifier(LMDTClassifier(), n_estimators=3, combine="best"),
    RepeatedTreesClassifier(
        SADTClassifier(patience=100), n_estimators=3, combine="best", selection="training"
    ),
    AggregatedTreeClassifier(EXACT_FOREST, max_leaf_nodes=8),
    OrthogonalTreesClassifier(
        CartClassifier(max_depth=3), n_estimators=4, n_components=0.9, centred=True, n_jobs=2
    ),
    RefinedTreeClassifier(max_leaf_nodes=4, compare_greedy=False, cycles=1, n_jobs=2),
    DistilledClassifier(
        CartClassifier(), method="cart", n_trees=3, n_generated=100, holdout=0.0, n_jobs=2
    ),
)
OTHERS = [
    *(cls(**variant) for cls in (HHCartClassifier, C45Classifier) for variant in VARIANTS),
    *COMPOSED,
]

# Needs SciPy imported with SCIPY_ARRAY_API set, so it has an interpreter of its own below.
OTHER_ARRAYS = "check_array_api_input"


def name_of(check: Any) -> str:
    name: str = getattr(check, "func", check).__name__
    return name


def expected_failures(estimator: Any) -> dict[str, str]:
    """The checks that an estimator cannot pass, and why, in the manner of scikit-learn's forests.

    That rows of weight 0 are absent for a student too is in test_student_weights.py.
    """
    teacher = getattr(estimator, "estimator", None)
    forests = (RandomForestClassifier, RandomForestRegressor)
    if not isinstance(teacher, forests) or not teacher.bootstrap:
        return {}
    reason = "the teacher draws rows, so a weight of 2 is not a row that is there twice"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


def checks_of_defaults() -> pytest.MarkDecorator:
    """What parametrize_with_checks gives, without the check that cannot be run here."""
    every = parametrize_with_checks(DEFAULTS, expected_failed_checks=expected_failures)
    names, pairs = every.args
    kept = [pair for pair in pairs if name_of(getattr(pair, "values", pair)[1]) != OTHER_ARRAYS]
    return pytest.mark.parametrize(names, kept, **every.kwargs)


@pytest.mark.filterwarnings("ignore::obliqua.LeakWarning")  # 2C-ETCT, with ten rows
@pytest.mark.filterwarnings("ignore::obliqua.NothingLearntWarning")  # noise, with few rows
@checks_of_defaults()
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::obliqua.NothingLearntWarning")
@pytest.mark.parametrize(
    "estimator",
    [*OTHERS, *(pytest.param(cls(), marks=pytest.mark.long) for cls in SMALL)],
    ids=lambda model: " ".join(str(model).split()),
)
def test_other_settings_pass_the_same_checks(estimator):
    for model, check in estimator_checks_generator(estimator):
        if name_of(check) != OTHER_ARRAYS:
            check(clone(model))


def run_check(name: str) -> int:
    """Run one check for all estimators by default; return how many times it ran."""
    pairs = [pair for estimator in DEFAULTS for pair in estimator_checks_generator(estimator)]
    chosen = [(estimator, check) for estimator, check in pairs if name_of(check) == name]
    for estimator, check in chosen:
        check(estimator)
    return len(chosen)


def test_arrays_of_other_libraries():
    if OTHER_ARRAYS not in {
        name_of(check) for _, check in estimator_checks_generator(DEFAULTS[0])
    }:
        return  # this scikit-learn has no such check
    program = f"from estimators.test_common import *; print(run_check({OTHER_ARRAYS!r}))"
    path = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(DEFAULTS)
