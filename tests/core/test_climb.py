"""OC1's compiled climb against its slow twin: where it starts, each step, and where it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.climbs import draw_problem, load, slow_climb
from obliqua.criteria import CRITERIA
from obliqua.methods.oc1 import Climb
from problems import examples
from reference.oc1 import Stream

# Entropy is left out: NumPy's logarithm may differ from the compiled one in the last bit.
CODES = [name for name in CRITERIA if name not in ("gain_ratio", "entropy")]

VARIANTS: list[dict[str, Any]] = [
    {"axis_start": False},
    {"axis_start": False, "n_jumps": 0},
    {"axis_start": False, "perturb_constant": True},
    {},
    {"from_zero": True},
    {"order": "best"},
    {"order": "random"},
    {"order": "random", "n_picks": 7, "stagnation": "paper"},
    {"stagnation": "paper"},
    {"stagnation": "paper", "most_equal": 3, "order": "best"},
    {"stagnation": "paper", "most_equal": 0},
    {"most_equal": 0},
    {"most_equal": 30, "order": "best"},
    {"jump_search": "program"},
    {"jump_search": "program", "order": "best", "n_jumps": 20},
    {"jump_search": "program", "order": "random", "axis_start": False},
    {"guided": "fisher"},
    {"guided": "fisher", "axis_start": False, "from_zero": True},
    {"guided": "householder"},
    {"guided": "householder", "axis_start": False, "from_zero": True},
    {"selection": "forward", "beta": 0.0},
    {"selection": "forward", "beta": 0.5, "from_zero": True},
    {"selection": "forward", "beta": 1.0},
    {"selection": "forward", "beta": 0.05, "axis_start": False, "order": "random"},
    {"selection": "forward", "beta": 0.05, "order": "best", "perturb_constant": True},
    {"selection": "forward", "beta": 0.0, "jump_search": "program", "n_jumps": 10},
    {"selection": "backward", "beta": 0.2},
    {"selection": "backward", "beta": 0.5, "jump_search": "program", "guided": "fisher"},
]


def assert_same_way(trail: Any, slow: Any) -> None:
    """Each step has the same score, to the last bit, and the same hyperplane, to rounding."""
    assert len(trail) == len(slow.trail)
    for (normal, threshold, score), (a, expected) in zip(trail, slow.trail, strict=True):
        assert score == expected
        here = a[:-1] * slow.scale
        np.testing.assert_allclose(normal, here, rtol=1e-9, atol=1e-12 * np.abs(here).max())
        size = np.abs(here * slow.shift).sum() + abs(a[-1])
        assert threshold == pytest.approx(here @ slow.shift - a[-1], abs=1e-9 * size)


def assert_same_ends(finder: Any, slow: list[Any]) -> None:
    """The directions that are offered to the tree; those of one feature are no oblique ones."""
    p = len(slow[0].scale)
    ends = {p + task: twin.a[:-1] * twin.scale for task, twin in enumerate(slow)}
    ends = {number: end for number, end in ends.items() if np.count_nonzero(end) > 1}
    numbers, planes = finder.directions()
    assert numbers == list(ends)
    for (idx, coef), end in zip(planes, ends.values(), strict=True):
        assert idx.tolist() == np.flatnonzero(end).tolist()
        np.testing.assert_allclose(coef, end[idx], rtol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@examples(25)
@given(
    seed=st.integers(0, 10**6),
    criterion=st.sampled_from(CODES),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
    ties=st.booleans(),
    min_rows=st.sampled_from([1, 1, 3, 30]),
    separable=st.booleans(),
    scaled=st.booleans(),
    most=st.sampled_from([None, None, 2]),
)
def test_each_step_is_that_of_the_twin(
    variant: Any,
    seed: int,
    criterion: str,
    n_classes: int,
    weighted: bool,
    ties: bool,
    min_rows: int,
    separable: bool,
    scaled: bool,
    most: int | None,
) -> None:
    problem = draw_problem(seed, n_classes, weighted, ties, separable)
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.1, 10.0, size=problem.n_features) ** scaled
    climb = Climb(n_restarts=3, min_rows=0, **variant)
    finder = load(problem, climb, CRITERIA[criterion].code, min_rows, seed, scale, most)
    twins = []
    for task in range(3):
        slow = slow_climb(problem, climb, criterion, min_rows, scale, most)
        slow.run(task, Stream(seed, task))
        assert_same_way(finder.follow(task), slow)
        twins.append(slow)
    assert_same_ends(finder, twins)
    finder.finished()
    assert climb.journal.tried == sum(slow.tried for slow in twins)
