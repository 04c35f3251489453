"""Twin of the training of linear machines, from its description, in plain Python.

A machine is a list of weight vectors, a row a list that begins with 1. Sums are taken from the
first term to the last, so results may be compared bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

Vector = list[float]
Weights = list[Vector]

MASK = 2**64 - 1
TIE = 1e-9
MOST_TIMES = 16


@dataclass
class Heat:
    """The temperature and how it falls; how long the weight vectors are, and were."""

    beta: float = 2.0
    limit: float = 0.001
    rate: float = 0.995
    step: float = 0.0005
    epsilon: float = 0.1
    magnitude: float = 0.0
    rose: bool = False


def dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def magnitude(W: Weights) -> float:
    total = 0.0
    for vector in W:
        total += sqrt(dot(vector, vector))
    return total


def winner(W: Weights, row: Vector) -> int:
    """The class with the largest score, the first one at ties."""
    scores = [dot(vector, row) for vector in W]
    return scores.index(max(scores))


def distance(W: Weights, row: Vector, own: int, epsilon: float) -> float:
    """By how many times itself a row must be moved to be on the border; a bit more."""
    apart = dot(W[winner(W, row)], row) - dot(W[own], row)
    return apart / (2.0 * dot(row, row)) + epsilon


def needs_correction(W: Weights, row: Vector, own: int, heat: Heat) -> bool:
    return winner(W, row) != own and distance(W, row, own, heat.epsilon) < heat.beta


def correct(W: Weights, row: Vector, own: int, heat: Heat) -> None:
    """One step of thermal training, in place."""
    wrong = winner(W, row)
    k = distance(W, row, own, heat.epsilon)
    c = heat.beta * heat.beta / (heat.beta + k)
    W[own] = [w + c * x for w, x in zip(W[own], row, strict=True)]
    W[wrong] = [w - c * x for w, x in zip(W[wrong], row, strict=True)]
    now = magnitude(W)
    if now < heat.magnitude and heat.rose:
        heat.beta = heat.rate * heat.beta - heat.step
    heat.rose = now > heat.magnitude
    heat.magnitude = now


def random_numbers(key: int) -> Iterator[int]:
    """The numbers of splitmix64."""
    while True:
        key = (key + 0x9E3779B97F4A7C15) & MASK
        x = key
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        yield x ^ (x >> 31)


def pass_order(times: Vector, numbers: Iterator[int]) -> list[int]:
    """The rows of one pass: the whole part of `times` for sure, one more by chance; shuffled."""
    order = []
    for row, often in enumerate(times):
        whole = int(often)
        more = (next(numbers) >> 11) / 2**53 < often - whole
        order += [row] * (whole + more)
    for k in range(len(order) - 1, 0, -1):
        other = (next(numbers) >> 32) * (k + 1) >> 32
        order[k], order[other] = order[other], order[k]
    return order


def train(
    Y: list[Vector],
    y: list[int],
    times: Vector,
    W: Weights,
    key: int,
    heat: Heat,
    max_passes: int,
) -> tuple[int, int]:
    """Train in place; returns the numbers of corrections and of passes."""
    numbers = random_numbers(key)
    heat.magnitude, heat.rose = magnitude(W), False
    corrections = passes = 0
    while passes < max_passes and heat.beta >= heat.limit:
        passes += 1
        before = corrections
        for i in pass_order(times, numbers):
            if heat.beta >= heat.limit and needs_correction(W, Y[i], y[i], heat):
                correct(W, Y[i], y[i], heat)
                corrections += 1
        nothing_left = not any(
            needs_correction(W, row, own, heat) for row, own in zip(Y, y, strict=True)
        )
        if corrections == before and nothing_left:
            break
    return corrections, passes


def times_shown(weights: list[int]) -> Vector:
    """How often rows are shown in a pass: in proportion to their weights, the lightest once."""
    most = sum(weights) / (MOST_TIMES * len(weights))
    unit = max(float(min(weights)), most)
    return [w / unit for w in weights]


def least_telling(W: Weights) -> int:
    """The variable with the smallest sum of squared differences over all pairs of classes."""
    spread = [sum((a[f] - b[f]) ** 2 for a in W for b in W) for f in range(1, len(W[0]))]
    return spread.index(min(spread))
