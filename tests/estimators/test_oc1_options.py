"""What each option of OC1Classifier promises, seen on the way of a hyperplane or on a tree."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from tests.estimators.registry import assert_sound

from obliqua import CartClassifier, CostWarning, HHCartClassifier, OC1Classifier
from obliqua.criteria import CRITERIA
from obliqua.data.problem import encode
from obliqua.methods.oc1 import Climb, Step, follow_climb

RNG = np.random.default_rng(3)
X = RNG.uniform(size=(300, 4))  # nowhere negative: without a scale nothing is shifted
Y = (X @ [1.0, 2.0, -1.0, 0.5] + 0.2 * RNG.normal(size=300) > 1.2).astype(np.int32)
Y += X[:, 0] > 0.8
COARSE = np.round(X * 4)
TWO = (Y > 0).astype(np.int32)


def grown(**params: Any) -> OC1Classifier:
    return OC1Classifier(**{"pruning": None, "random_state": 0, **params})


def way(points: Any = X, labels: Any = TWO, start: int = 0, key: int = 0, **params: Any) -> Any:
    """The way of one start at the root, by the names of `Climb`."""
    problem = encode(points, labels, int(labels.max()) + 1)
    return follow_climb(problem, Climb(**params), start, key=key)


def changed(before: Step, after: Step) -> list[int]:
    """Which coefficients differ; the constant is the last one."""
    one, two = ([*step.normal, step.threshold] for step in (before, after))
    return [k for k, (a, b) in enumerate(zip(one, two, strict=True)) if a != b]


def unpaid(steps: list[Step]) -> list[int]:
    """The numbers of changes without gain, between improvements."""
    runs = [0]
    for before, after in pairwise(steps):
        if after.goodness > before.goodness * (1 + 1e-9):
            runs.append(0)
        else:
            runs[-1] += 1
    return runs


REACHES = {
    "order": "best",
    "n_picks": 3,
    "stagnation": "paper",
    "perturb_constant": True,
    "jump_search": "program",
    "n_restarts": 7,
    "n_jumps": 2,
    "beta": 0.5,
}
RENAMED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"guided_start": "fisher"}, {"guided": "fisher"}),
    ({"guided_start": "householder"}, {"guided": "householder"}),
    ({"feature_selection": "forward"}, {"selection": "forward"}),
    ({"feature_selection": "backward"}, {"selection": "backward"}),
    ({"oblique_only": True}, {"axis_start": False}),
    ({"max_stagnation": 3}, {"most_equal": 3}),
    ({"oblique_min_samples": 9}, {"min_rows": 9}),
    ({"oblique_min_samples": None}, {"min_rows": 0}),
    ({"scale": None}, {"from_zero": False}),
    ({"scale": "robust"}, {"from_zero": True}),
]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, (None, "minmax", 1.0)),
        ({"scale": None}, (None, None, 1.0)),
        ({"scale": "robust"}, (None, "robust", 1.0)),
        ({"max_features_per_split": 3, "axis_bias": 2.5}, (3, "minmax", 2.5)),
        ({"oblique_only": True}, (None, "minmax", 0.0)),
    ],
    ids=str,
)
def test_an_option_is_what_the_engine_goes_by(params: Any, expected: Any) -> None:
    proposals = grown(**params)._proposer()
    assert (proposals.max_features, proposals.scale, proposals.axis_bias) == expected


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_jumps": 0},
        {"n_restarts": 1},
        {"n_restarts": 1, "n_jumps": 0},
        {"n_restarts": 1, "n_jumps": 0, "oblique_only": True},
        {"n_restarts": 1, "n_jumps": 0, "order": "random"},
        {"n_restarts": 1, "n_jumps": 0, "stagnation": "paper"},
        {"n_restarts": 1, "n_jumps": 0, "stagnation": "paper", "max_stagnation": 1},
        {"n_restarts": 2, "n_jumps": 0, "guided_start": "fisher"},
        {"n_restarts": 2, "n_jumps": 0, "guided_start": "fisher", "oblique_only": True},
    ],
    ids=str,
)
def test_it_knows_whether_it_draws_random_numbers(params: Any) -> None:
    trees = [grown(random_state=seed, **params).fit(COARSE, Y).tree_ for seed in range(6)]
    assert grown(**params)._heeds_seed() == any(tree != trees[0] for tree in trees)


@pytest.mark.parametrize(
    ("params", "settings"),
    [({}, {}), *(({name: value},) * 2 for name, value in REACHES.items()), *RENAMED],
    ids=str,
)
def test_an_option_is_what_climbs_go_by(params: Any, settings: Any) -> None:
    """And nothing else is: the way of a climb is compared with its twin elsewhere."""
    found = vars(grown(**params)._proposer().proposer)
    expected = vars(Climb(**{"from_zero": True, **settings}))
    assert found.keys() == expected.keys()
    assert {k: v for k, v in found.items() if k != "journal"} == {
        k: v for k, v in expected.items() if k != "journal"
    }
    model = grown(**params).fit(X, Y)
    again = grown(**params).fit(X, Y)
    assert_sound(model, X, Y)
    assert again.tree_ == model.tree_
    assert again.n_hyperplanes_ == model.n_hyperplanes_ > 0


def test_one_after_the_other() -> None:
    steps = way(n_jumps=0)
    first = steps[0].normal
    assert np.count_nonzero(first) == 1
    order = [k for before, after in pairwise(steps) for k in changed(before, after)]
    assert len(order) == len(steps) - 1  # one at a time, and never the constant
    assert set(order) == {0, 1, 2, 3}
    wraps = sum(b <= a for a, b in pairwise(order))
    assert len(order) > wraps + 1  # several of a pass, from the first to the last


def best_change(step: Step, k: int) -> float:
    """The most that one coefficient can do: it is set between all values where a row crosses."""
    rest = step.threshold - X @ step.normal + step.normal[k] * X[:, k]
    crossings = np.sort(rest / X[:, k])
    normals = np.tile(step.normal, (len(X) - 1, 1))
    normals[:, k] = (crossings[1:] + crossings[:-1]) / 2
    values = X @ normals.T
    right = values > step.threshold
    counts = np.bincount(TWO)
    sums = np.column_stack([right[c == TWO].sum(axis=0) for c in (0, 1)])
    inside = (sums.sum(axis=1) > 0) & (sums.sum(axis=1) < len(X))
    return float(CRITERIA["twoing"].goodness(sums[inside], counts - sums[inside]).max())


@pytest.mark.parametrize("start", [0, 1, 2])
def test_the_change_that_gains_most(start: int) -> None:
    steps = way(order="best", n_jumps=0, start=start)
    later = 0
    for before, after in pairwise(steps):
        (k,) = changed(before, after)
        changes = [best_change(before, j) for j in range(4)]
        assert after.goodness == pytest.approx(max(changes), rel=1e-9)
        assert changes[k] == pytest.approx(max(changes), rel=1e-9)
        later += changes[0] < max(changes) * (1 - 1e-9)
    assert later > 0  # the first coefficient is not always the one


@pytest.mark.parametrize("n_picks", [1, 3, 40])
def test_so_many_picks(n_picks: int) -> None:
    model = grown(order="random", n_picks=n_picks, n_restarts=1, n_jumps=0).fit(X, Y)
    nodes = np.count_nonzero(model.tree_.n_samples[~model.tree_.is_leaf] > 8)
    assert 0 < model.n_hyperplanes_ <= n_picks * nodes
    steps = [way(order="random", n_picks=n_picks, n_jumps=0, key=key) for key in range(20)]
    assert max(map(len, steps)) <= n_picks + 1


def test_any_coefficient_and_the_constant() -> None:
    picks = {
        k
        for key in range(5)
        for before, after in pairwise(way(order="random", n_jumps=0, key=key))
        for k in changed(before, after)
    }
    assert picks == {0, 1, 2, 3, 4}
    plain = OC1Classifier(order="random", n_restarts=1, n_jumps=0, pruning=None)
    most = 10 * (X.shape[1] + 1)  # picks, if nothing else is said
    model = plain.set_params(random_state=0, max_depth=1).fit(X, Y)
    assert most / 2 < model.n_hyperplanes_ <= most


def test_eleven_changes_without_gain() -> None:
    """On a coarse grid many places are equally good."""
    runs = [n for start in range(1, 20) for n in unpaid(way(COARSE, start=start, n_jumps=0))]
    assert max(runs) == 11


@pytest.mark.parametrize("most", [0, 1, 4])
@pytest.mark.parametrize("stagnation", ["program", "paper"])
def test_so_many_changes_without_gain(stagnation: str, most: int) -> None:
    steps = {"n_jumps": 0, "stagnation": stagnation, "most_equal": most}
    ways = [
        way(COARSE, start=start, key=key, **steps) for key in range(5) for start in range(1, 20)
    ]
    assert max(n for one in ways for n in unpaid(one)) == most


def test_changes_without_gain_become_less_likely() -> None:
    """The tenth has a chance of a tenth, and the eleventh none."""
    runs = [
        n
        for key in range(10)
        for start in range(1, 20)
        for n in unpaid(way(COARSE, start=start, n_jumps=0, stagnation="paper", key=key))
    ]
    assert 5 <= max(runs) <= 10
    ends = np.array(runs)
    assert np.mean(ends >= 8) < np.mean(ends >= 4) / 2


@pytest.mark.parametrize("order", ["sequential", "best"])
def test_the_constant_changes_only_if_asked_for(order: str) -> None:
    for perturb in (False, True):
        ways = [
            way(start=start, order=order, n_jumps=0, perturb_constant=perturb)
            for start in range(6)
        ]
        moved = {k for steps in ways for a, b in pairwise(steps) for k in changed(a, b)}
        assert (4 in moved) == perturb


def test_an_exact_jump_goes_to_the_best_place() -> None:
    """Both ways are the same until one of them jumps, along the same line."""
    judged = missed = 0
    for start in range(1, 100):
        ways = [
            way(start=start, n_restarts=100, n_jumps=1, jump_search=search)
            for search in ("exact", "program")
        ]
        exact = ways[0]
        stuck = next(
            (k for k, (a, b) in enumerate(pairwise(exact)) if len(changed(a, b)) > 1), None
        )
        if stuck is None:
            assert len(ways[1]) == len(exact)  # what is best of all did not help
            continue
        before, after = (
            [steps[min(k, len(steps) - 1)].goodness for steps in ways] for k in (stuck, stuck + 1)
        )
        assert before[0] == before[1]
        assert after[0] >= after[1]
        judged += 1
        missed += after[0] > after[1]
    assert judged >= 15
    assert 0.2 * judged < missed < judged


def test_the_second_start_is_fishers_direction() -> None:
    start = way(start=1, guided="fisher")[0]
    fisher = LinearDiscriminantAnalysis().fit(X, TWO).coef_[0]
    cosine = start.normal @ fisher / np.linalg.norm(start.normal) / np.linalg.norm(fisher)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-4)
    # The cut is the best of all along that direction.
    depth_1 = CartClassifier(criterion="twoing", max_depth=1, pruning=None)
    cut = depth_1.fit(X @ start.normal[:, None], TWO).tree_
    assert start.threshold == pytest.approx(cut.threshold[0])
    assert start.goodness == pytest.approx(cut.gain[0])
    # Only that one is guided.
    for other in (0, 2):
        guided, plain = (way(start=other, guided=guide) for guide in ("fisher", None))
        np.testing.assert_array_equal(guided[0].normal, plain[0].normal)


def test_the_second_start_is_hhcarts_direction() -> None:
    alone = HHCartClassifier(variant="dominant", criterion="twoing", max_depth=1, pruning=None)
    tree = alone.fit(X, TWO).tree_
    assert len(tree.coef) > 1  # an oblique split is the best
    start = way(start=1, guided="householder")[0]
    np.testing.assert_allclose(start.normal, tree.coefficients(0), rtol=1e-6)
    assert start.threshold == pytest.approx(tree.threshold[0])
    assert start.goodness == pytest.approx(tree.gain[0])


@pytest.mark.parametrize("guide", ["fisher", "householder"])
def test_a_guided_start_is_one_of_the_starts(guide: str) -> None:
    model = grown(guided_start=guide, n_restarts=2, n_jumps=0)
    trees = [model.set_params(random_state=seed).fit(X, Y).tree_ for seed in range(3)]
    assert trees[0] == trees[1] == trees[2]  # none of the two is random
    assert any("direction" in label for label in trees[0].origin_labels)
    more = model.set_params(n_restarts=3)
    assert (
        more.set_params(random_state=0).fit(X, Y).tree_
        != more.set_params(random_state=1).fit(X, Y).tree_
    )


def test_without_restarts_and_jumps_nothing_is_random() -> None:
    alone = [grown(n_restarts=1, n_jumps=0, random_state=seed).fit(X, Y) for seed in range(3)]
    assert alone[0].tree_ == alone[1].tree_ == alone[2].tree_
    more = grown().fit(X, Y)
    assert more.n_hyperplanes_ > 10 * alone[0].n_hyperplanes_
    assert more.get_n_leaves() < alone[0].get_n_leaves()


def test_jumps_are_tried_where_a_climb_is_stuck() -> None:
    """Each counts as a hyperplane; with none of use there are just so many more."""
    alone, jumping = (grown(n_restarts=1, n_jumps=n, max_depth=1).fit(X, Y) for n in (0, 30))
    steps = [len(changed(a, b)) for key in range(5) for a, b in pairwise(way(key=key, n_jumps=30))]
    assert max(steps) > 1
    assert jumping.n_hyperplanes_ >= alone.n_hyperplanes_ + 30
    assert jumping.tree_.gain[0] >= alone.tree_.gain[0]


@pytest.mark.parametrize("scale", ["standard", "robust", "minmax"])
def test_units_and_origins_do_not_matter_to_scaled_features(scale: str) -> None:
    """Powers of two change no digit; other units do, so only what is seen is compared."""
    tree = grown(scale=scale).fit(X, Y).tree_
    other = grown(scale=scale).fit(X * [4.0, 0.25, 1024.0, 1.0], Y).tree_
    np.testing.assert_array_equal(tree.stats, other.stats)
    np.testing.assert_array_equal(tree.n_samples, other.n_samples)
    moved = grown(scale=scale, max_depth=1).fit(X - [-1.0, 0.0, -8.0, -2.0], Y).tree_
    np.testing.assert_array_equal(moved.stats, tree.stats[:3])


def test_without_a_scale_features_are_taken_as_they_are() -> None:
    tree = grown(scale=None).fit(X, Y).tree_
    assert grown(scale=None).fit(X * [4.0, 0.25, 1024.0, 1.0], Y).tree_ != tree
    # What is negative counts from its smallest value; what is not keeps its origin.
    below, above = X - [0.5, 0, 0, 0], X - [-0.5, 0, 0, 0]
    low = way(below, start=1)[0]
    from_zero = way(X, start=1, from_zero=True)[0]
    np.testing.assert_array_equal(low.normal, from_zero.normal)
    raw, shifted = (way(points, start=1)[0] for points in (X, above))
    np.testing.assert_array_equal(raw.normal, shifted.normal)
    assert raw.threshold == shifted.threshold


def test_long_climbs_are_warned_of() -> None:
    with pytest.warns(CostWarning, match=r"max_stagnation=1,000,000 lets .* or time_limit"):
        OC1Classifier(max_stagnation=10**6, max_depth=1, n_restarts=1).fit(X[:9], Y[:9])
    # Warnings are errors here.
    OC1Classifier(max_stagnation=10**6, time_limit=0.1).fit(X, Y)
    OC1Classifier(max_stagnation=10_000, max_depth=1, n_restarts=1).fit(X[:9], Y[:9])
