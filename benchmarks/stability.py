"""What `split_stability` says where the truth is known.

``python -m benchmarks.stability`` plants a plane across two of three features, flips a share of
the labels (half of them: the labels say nothing), and lets the root of an `HHCartClassifier` be
chosen anew. It prints the angle that nine resamples in ten stay within: the median over the data
sets, the least and the largest one. The figures in the notes of `split_stability` are those of a
run with the default options.
"""

from __future__ import annotations

import argparse

import numpy as np

from obliqua import HHCartClassifier
from obliqua.explain import split_stability

SIZES = (50, 200, 1000, 5000)
WRONG = {"one label in ten is wrong": 0.1, "three in ten are wrong": 0.3, "noise": 0.5}


def angle(n: int, wrong: float, seed: int, n_resamples: int) -> float:
    """The angle in degrees that nine resamples in ten of one data set stay within."""
    rng = np.random.default_rng([seed, n, round(100 * wrong)])
    X = rng.normal(size=(n, 3))
    y = ((X[:, 0] + X[:, 1] > 0) ^ (rng.random(n) < wrong)).astype(int)
    model = HHCartClassifier(scale="standard", max_depth=1, pruning=None).fit(X, y)
    if model.tree_.n_nodes == 1:
        raise RuntimeError(f"No split was found for seed {seed}, {n} rows.")
    found = split_stability(model, X, y, nodes=0, n_resamples=n_resamples)
    return float(found.angle_high[0])


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=30)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.data_sets)
    print(f"{'labels':28}{'rows':>6}{'median':>8}{'least':>7}{'most':>6}")
    for title, wrong in WRONG.items():
        for n in SIZES:
            angles = [angle(n, wrong, seed, given.resamples) for seed in seeds]
            middle, least, most = np.median(angles), min(angles), max(angles)
            print(f"{title:28}{n:6}{middle:8.0f}{least:7.0f}{most:6.0f}", flush=True)


if __name__ == "__main__":
    main()
