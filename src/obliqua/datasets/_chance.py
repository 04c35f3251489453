"""What makers of data take as chance."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from obliqua._core.base.linalg import product
from obliqua._typing import FloatArray


def generator(random_state: Any, for_none: str) -> np.random.Generator:
    """Make a generator of anything but None; `for_none` says what None is for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**63 - 1, dtype=np.int64))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        f"random_state must be None ({for_none}), an integer of at least 0, or a "
        f"Generator or RandomState of NumPy; got {random_state!r}."
    )


def whole_number(name: str, value: Any, least: int) -> int:
    """Check a count; anything but a whole number of at least `least` is refused."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
    return int(value)


def orthonormal(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Make the columns of a square matrix perpendicular, each to those before it.

    Householder reflections, as in LAPACK, but with sums in a fixed order.
    """
    n = len(columns)
    rest, directions = columns.copy(), np.eye(n)
    for k in range(n - 1):
        mirror = rest[k:, k].copy()
        mirror[0] += np.copysign(np.sqrt((mirror * mirror).sum()), mirror[0])
        twice = 2.0 / (mirror * mirror).sum() * mirror
        rest[k:] -= twice[:, None] * product(mirror, rest[k:])
        directions[:, k:] -= product(directions[:, k:], mirror)[:, None] * twice
    return directions, rest.diagonal().copy()
