"""What `split_stability` says where the truth is known.

``python -m benchmarks.stability`` plants a plane across two of three features, flips a share of
the labels (half of them: the labels say nothing), and lets the root of an `HHCartClassifier` be
chosen anew. It prints the angle that nine resamples in ten stay within: the median over the data
sets, the least and the largest one. The figures in the notes of `split_stability` are those of a
run with the default options.

``--sizes`` prints in its place how many leaves a `RefinedTreeClassifier` chooses of planted trees,
when only the last bits of the rows differ, and when rows are drawn anew: how accurate it is on
other rows, and the least, the middle and the largest size, with `n_se` 0 and 1. Jitter moves the
order of rows, and so who is held out with whom, and nothing else.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.refined import planted
from obliqua import HHCartClassifier, RefinedTreeClassifier
from obliqua.explain import split_stability

SIZES = (50, 200, 1000, 5000)
WRONG = {"one label in ten is wrong": 0.1, "three in ten are wrong": 0.3, "noise": 0.5}

#: Rows and depth of planted trees, the share of wrong labels, and how much rows are jittered.
SIZE_PROBLEMS = ((500, 3), (1_500, 3), (1_500, 4))
NOISE, JITTER = 0.1, 1e-12


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


def chosen(
    n: int, depth: int, seed: int, tries: int, n_se: float, anew: bool
) -> list[list[float]]:
    """Leaves and accuracy on other rows, for rows that are drawn anew, or of other last bits."""
    rows = planted(depth, seed, 2 * n)
    rng = np.random.default_rng([seed, n, depth])
    flipped = rows.y ^ (rng.random(2 * n) < NOISE)
    out = []
    for _ in range(tries):
        some = rng.permutation(2 * n)[:n] if anew else np.arange(n)
        X = rows.X[some] * (1.0 + JITTER * rng.standard_normal((n, 1)))
        model = RefinedTreeClassifier(n_se=n_se).fit(X, flipped[some])
        out.append([model.get_n_leaves(), model.score(rows.X_new, rows.y_new)])
    return out


def print_sizes(seeds: range, tries: int) -> None:
    """Print a line for each problem: of the seeds' spreads the mean."""
    print(
        f"{'rows':>5} {'depth':>5} {'rows differ in':14} {'n_se':>4} {'least':>6} {'middle':>6}"
        f" {'most':>6} {'most/least':>10} {'right %':>7}"
    )
    for n, depth in SIZE_PROBLEMS:
        for anew in (False, True):
            for n_se in (0.0, 1.0):
                found = np.array([chosen(n, depth, seed, tries, n_se, anew) for seed in seeds])
                leaves = found[:, :, 0]
                least, middle, most = leaves.min(1), np.median(leaves, 1), leaves.max(1)
                print(
                    f"{n:5} {depth:5} {'draw' if anew else 'last bits':14} {n_se:4.0f}"
                    f" {least.mean():6.1f} {middle.mean():6.1f} {most.mean():6.1f}"
                    f" {(most / least).mean():10.2f} {100 * found[:, :, 1].mean():7.2f}",
                    flush=True,
                )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=30)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--sizes", action="store_true")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.data_sets)
    if given.sizes:
        print_sizes(seeds, given.resamples)
        return
    print(f"{'labels':28}{'rows':>6}{'median':>8}{'least':>7}{'most':>6}")
    for title, wrong in WRONG.items():
        for n in SIZES:
            angles = [angle(n, wrong, seed, given.resamples) for seed in seeds]
            middle, least, most = np.median(angles), min(angles), max(angles)
            print(f"{title:28}{n:6}{middle:8.0f}{least:7.0f}{most:6.0f}", flush=True)


if __name__ == "__main__":
    main()
