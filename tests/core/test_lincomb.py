"""CART-LC's compiled search against its NumPy twin, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapter import (
    assert_equals_twin,
    assert_rows_reach_their_leaves,
    grow_tree,
    problem_of,
    twin_data,
)
from obliqua.data.problem import Problem
from obliqua.engine.moments import feature_scale
from obliqua.engine.proposals import Proposals
from obliqua.methods.cart_lc import LinearCombination
from problems import (
    ORDINARY,
    _signed_zeros,
    _wide,
    cases,
    examples,
    gaussians,
    integers,
    weighted,
)
from reference import cart_lc as twin
from reference import grow as reference_grow
from reference.criteria import CODES

CRITERIA = ["twoing", "gini", "entropy", "sum_variances", "max_minority"]


def assert_twins(
    problem: Problem, criterion: str, rules: dict[str, Any], proposals: Proposals, key: int = 0
) -> Any:
    """Grow both trees and compare them, and the numbers of hyperplanes tried; returns the tree."""
    method = proposals.proposer
    options = twin.Options(
        method.variant,
        method.sign,
        method.beta,
        method.epsilon,
        method.max_cycles,
        method.min_rows,
        proposals.max_features,
        proposals.axis_bias,
        feature_scale(problem, proposals.scale),
        key,
        problem.row_counts,
    )
    tree = grow_tree(problem, criterion, rules, proposals, key=key)
    data, rules_ = twin_data(problem), reference_grow.Rules(**rules)
    expected, tried = twin.grow(data, CODES[criterion], rules_, options)
    assert_equals_twin(tree, expected)
    assert method.journal.tried == tried
    assert_rows_reach_their_leaves(tree, problem)
    return tree


# Without weights that are a million millions apart: the entropies of their splits differ by no
# more than rounding, which then decides.
small_cases = cases(
    columns=(*ORDINARY, _signed_zeros, _wide),
    weights=("integers", "eighths", "tenths", "with zeros"),
)
exact_methods = st.builds(
    LinearCombination,
    variant=st.sampled_from(["breiman", "oc1"]),
    beta=st.sampled_from([None, 0.0, 0.2, 1.0]),
    epsilon=st.sampled_from([0.0, 1e-4, 0.05]),
    max_cycles=st.sampled_from([1, 2, 101]),
    min_rows=st.sampled_from([0, 7]),
)
proposals = st.builds(
    Proposals,
    exact_methods,
    max_features=st.sampled_from([None, 2, 3]),
    scale=st.sampled_from([None, "standard", "minmax"]),
    axis_bias=st.sampled_from([0.0, 1.0, 1.1]),
)


@examples(150)
@given(
    case=small_cases,
    proposals=proposals,
    criterion=st.sampled_from(CRITERIA),
    min_leaf=st.sampled_from([1, 2]),
)
def test_trees_equal_the_twins(
    case: Any, proposals: Proposals, criterion: str, min_leaf: int
) -> None:
    rules = {"max_depth": 3, "min_samples_leaf": min_leaf}
    assert_twins(problem_of(case), criterion, rules, proposals)


@examples(100)
@given(
    case=small_cases,
    criterion=st.sampled_from(CRITERIA),
    key=st.integers(0, 2**64 - 1),
    max_cycles=st.sampled_from([1, 2, 101]),
    min_leaf=st.sampled_from([1, 3]),
)
def test_splits_without_signs_equal_the_twins(
    case: Any, criterion: str, key: int, max_cycles: int, min_leaf: int
) -> None:
    method = LinearCombination("oc1", "ignored", None, max_cycles=max_cycles)
    rules = {"max_depth": 1, "min_samples_leaf": min_leaf}
    assert_twins(problem_of(case), criterion, rules, Proposals(method, axis_bias=0.0), key)


@pytest.mark.parametrize("variant", ["breiman", "oc1"])
@pytest.mark.parametrize("seed", range(4))
def test_larger_nodes_equal_the_twins(seed: int, variant: str) -> None:
    """Large enough for bins; both signs, ties, and weights."""
    case = (gaussians if seed % 2 else integers)(70, 3, 2 + seed % 2, seed)
    problem = problem_of(weighted(case, "integers") if seed == 2 else case)
    bias = 0.0 if variant == "oc1" else 1.0
    proposals = Proposals(LinearCombination(variant), axis_bias=bias)
    tree = assert_twins(problem, "twoing", {"max_depth": 2}, proposals)
    assert np.diff(tree.coef_ptr).max() > 1
