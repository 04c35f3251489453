"""The promise that threads, row order and order of growth do not change a bit of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems import SEED, Problem


def same_trees(problem: Problem) -> dict[str, bool]:
    """Grow the CART tree of a problem in several ways; say for each whether it is the same."""
    import obliqua
    from obliqua.criteria import get_criterion
    from obliqua.data.problem import encode
    from obliqua.engine.grow import grow
    from obliqua.engine.proposals import AXIS
    from obliqua.engine.rules import Rules

    def fitted(X: Any, y: Any, n_jobs: int) -> Any:
        from benchmarks.adapters.bench_obliqua import ADAPTERS

        # A large axis-parallel tree is not measured by a fit.
        return obliqua.measure_spread(ADAPTERS[0].fit(X, y, n_jobs).tree_, X)

    def grown(best_first: bool) -> Any:
        encoded = encode(problem.X, problem.y, problem.n_classes)
        zero_gain = obliqua.CartClassifier().zero_gain_splits
        rules = Rules(zero_gain=zero_gain, best_first=best_first)
        tree = grow(encoded, AXIS, get_criterion("gini"), rules)
        return obliqua.measure_spread(tree, encoded.Z, encoded.weights)

    expected = fitted(problem.X, problem.y, 1)
    order = np.random.default_rng(SEED).permutation(problem.n_rows)
    return {
        "two threads": equal_bits(expected, fitted(problem.X, problem.y, 2)),
        "shuffled rows": equal_bits(expected, fitted(problem.X[order], problem.y[order], 1)),
        "depth-first": equal_bits(expected, grown(best_first=False)),
        "best-first": equal_bits(expected, grown(best_first=True)),
    }


def equal_bits(one: Any, other: Any) -> bool:
    """Whether two trees consist of the same bytes. A tree's own == is not asked."""
    ones, others = one.to_arrays(), other.to_arrays()
    return ones.keys() == others.keys() and all(
        _bits(ones[name]) == _bits(others[name]) for name in ones
    )


def _bits(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    array = np.asarray(value)
    return array.dtype.str, array.shape, array.tobytes()
