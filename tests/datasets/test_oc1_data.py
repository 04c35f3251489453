"""The artificial data of the OC1 paper are the paper's points, and their trees are the truth.

The labels are made by the trees; here they are compared with the definitions in exact whole
numbers, in millionths, and the counts with those of the recovered points.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from obliqua import CartClassifier, DatasetMissing, datasets
from obliqua.datasets._facts import fingerprint
from obliqua.datasets._oc1 import _FIGURE_5, CONCEPTS, _as_written, drand48

FACTS = {concept.facts.name: concept.facts for concept in CONCEPTS}
NAMES = sorted(FACTS)
ONE = 1_000_000  # in millionths

COUNTS = {
    "ls10": [971, 1029],
    "pol": [958, 1042],
    "rcb": [164, 308, 130, 352, 331, 197, 289, 229],
}
LEAVES = {"ls10": 2, "pol": 5, "rcb": 8}


def make(name: str, *args: Any, **params: Any) -> Any:
    return getattr(datasets, f"make_{name}")(*args, **params)


def labels_of(made: Any, X: NDArray[Any]) -> NDArray[Any]:
    return np.array(made.target_names)[made.tree.leaf_label[made.tree.apply(X)]]


# --- definitions, in any unit: `one` is the length of the square's side ------------------------


def ls10(X: NDArray[Any], one: float) -> tuple[NDArray[Any], NDArray[Any]]:
    left, right = X[:, :5].sum(axis=1), X[:, 5:].sum(axis=1)
    return np.where(left < right, 1, 2), left == right


def pol(X: NDArray[Any], one: float) -> tuple[NDArray[Any], NDArray[Any]]:
    total = X.sum(axis=1)
    borders = np.array([0.3125, 0.625, 1.0625, 1.625]) * one
    fields = (total[:, None] > borders).sum(axis=1)
    return 1 + fields % 2, (total[:, None] == borders).any(axis=1)


def rcb(X: NDArray[Any], one: float) -> tuple[NDArray[Any], NDArray[Any]]:
    x, y = X.T
    root = 15 * y - 16 * x
    left, right = 7 * y + 8 * x - 7 * one, y + x - one
    one_two, three_four = 4 * y - 3 * x - 1.75 * one, y - x - 0.5 * one
    five_six, seven_eight = 4 * y - 5 * x + 2.1875 * one, y - x + 0.3125 * one
    above = np.where(left < 0, np.where(one_two > 0, 1, 2), np.where(three_four > 0, 3, 4))
    below = np.where(right < 0, np.where(five_six > 0, 5, 6), np.where(seven_eight > 0, 7, 8))
    lines = (root, left, right, one_two, three_four, five_six, seven_eight)
    return np.where(root > 0, above, below), np.any([line == 0 for line in lines], axis=0)


DEFINITIONS: dict[str, Callable[..., tuple[NDArray[Any], NDArray[Any]]]] = {
    "ls10": ls10,
    "pol": pol,
    "rcb": rcb,
}

# --- the points -------------------------------------------------------------------------------


def test_drand48_is_the_recurrence() -> None:
    state, numbers = 0x1234ABCD330E, []
    for _ in range(1000):
        state = (25214903917 * state + 11) % 2**48
        numbers.append(state / 2**48)
    for count in (*range(9), 31, 32, 33, 1000):
        assert drand48(count).tolist() == numbers[:count]
    assert [f"{number:.6f}" for number in numbers[:4]] == [
        *("0.396465", "0.840485", "0.353336", "0.446583")
    ]


def test_numbers_are_those_that_are_read_for_what_is_written() -> None:
    numbers = np.concatenate([drand48(5000), np.arange(129) / 128])  # ties in the second part
    read = [float(f"{np.float32(number):.6f}") for number in numbers]
    assert _as_written(numbers).tolist() == read


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_points_have_the_known_counts_and_content(name: str) -> None:
    made = make(name)
    assert made.target_names == [str(number + 1) for number in range(len(COUNTS[name]))]
    counts = [int((made.target == label).sum()) for label in made.target_names]
    assert counts == COUNTS[name]
    part = FACTS[name].parts["all"]
    assert list(part.class_counts.values()) == counts
    assert fingerprint(made.data, made.target) == part.fingerprint
    assert "drand48" in made.source


@pytest.mark.parametrize("name", NAMES)
def test_fewer_and_more_rows_are_the_same_stream(name: str) -> None:
    X, y = make(name, return_X_y=True)
    for n_rows in (1, 77, np.int64(2100)):
        again_X, again_y = make(name, n_rows, return_X_y=True)
        shared = min(int(n_rows), 2000)
        assert len(again_X) == len(again_y) == n_rows
        np.testing.assert_array_equal(again_X[:shared], X[:shared])
        np.testing.assert_array_equal(again_y[:shared], y[:shared])


# --- the labels and the trees -----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_exactly_those_of_the_definition(name: str) -> None:
    made = make(name, 20000)
    whole = np.rint(made.data * ONE).astype(np.int64)
    expected, on_border = DEFINITIONS[name](whole, ONE)
    assert not on_border[:2000].any()  # so nothing depends on whom a border belongs to
    np.testing.assert_array_equal(made.target[~on_border], expected[~on_border].astype(str))
    assert on_border.mean() < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_the_true_tree_makes_no_error(name: str) -> None:
    made = make(name)
    made.tree.validate()
    assert made.tree.n_leaves == LEAVES[name]
    np.testing.assert_array_equal(labels_of(made, made.data), made.target)
    fresh = make(name, 5000, random_state=3)
    assert fresh.tree == made.tree
    np.testing.assert_array_equal(labels_of(made, fresh.data), fresh.target)
    expected, on_border = DEFINITIONS[name](fresh.data, 1.0)
    assert not on_border.any()
    np.testing.assert_array_equal(fresh.target, expected.astype(str))


@pytest.mark.parametrize("name", NAMES)
def test_the_trees_stats_are_the_shares_to_expect(name: str) -> None:
    n_rows = 400_000
    made = make(name, n_rows, random_state=0)
    found = np.bincount(made.tree.apply(made.data), minlength=made.tree.n_nodes)
    shares = np.where(made.tree.is_leaf, made.tree.stats.sum(axis=1), 0.0)
    assert shares.sum() == pytest.approx(1.0)
    assert made.tree.n_samples.tolist() == [0] * made.tree.n_nodes
    deviation = np.sqrt(n_rows * shares * (1 - shares))
    assert (np.abs(found - n_rows * shares) <= 4 * deviation).all()


# --- fresh rows -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_fresh_rows(name: str) -> None:
    one = make(name, 300, random_state=1)
    assert one.data.shape == (300, len(FACTS[name].features))
    assert one.data.dtype == np.float64
    assert ((one.data >= 0) & (one.data < 1)).all()
    assert "fresh" in one.source
    np.testing.assert_array_equal(make(name, 300, random_state=1).data, one.data)
    np.testing.assert_array_equal(
        make(name, 300, random_state=np.random.default_rng(1)).data, one.data
    )
    assert not np.array_equal(make(name, 300, random_state=2).data, one.data)
    assert not np.array_equal(make(name, 300).data, one.data)
    for chance in (np.random.RandomState(1), np.random.default_rng(1)):
        drawn = [make(name, 5, random_state=chance).data for _ in range(2)]
        assert not np.array_equal(*drawn)


@pytest.mark.parametrize("n_rows", [0, -1, 2.5, 3.0, True, "5", None])
def test_a_wrong_number_of_rows_is_refused(n_rows: Any) -> None:
    message = re.escape(f"n_rows must be an integer of at least 1; got {n_rows!r}.")
    with pytest.raises(ValueError, match=message):
        datasets.make_pol(n_rows)


@pytest.mark.parametrize("seed", [-1, 1.5, "x"])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"random_state must be None.*got"):
        datasets.make_pol(random_state=seed)


# --- the interface ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*(f"make_{name}" for name in NAMES), "load_oc1_figure5"])
def test_what_is_returned_is_what_loaders_return(name: str) -> None:
    load = getattr(datasets, name)
    plain = load()
    assert set(plain) == {*datasets.load_balance_scale(), "tree"}
    assert plain.data.flags.c_contiguous
    assert plain.target.dtype.kind == "U"
    assert plain.categorical_features == []
    assert plain.frame is None
    assert plain.feature_names[0] in plain.DESCR
    X, y = load(return_X_y=True)
    np.testing.assert_array_equal(X, plain.data)
    np.testing.assert_array_equal(y, plain.target)
    framed = load(as_frame=True)
    assert list(framed.frame.columns) == [*plain.feature_names, "class"]
    frame, series = load(as_frame=True, return_X_y=True)
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(series, pd.Series)
    np.testing.assert_array_equal(frame.to_numpy(), X)


# --- figure 5 ---------------------------------------------------------------------------------


def test_figure_5_can_be_separated_but_not_along_an_axis() -> None:
    points = datasets.load_oc1_figure5()
    assert points.data.shape == (8, 2)
    part = _FIGURE_5.parts["all"]
    assert fingerprint(points.data, points.target) == part.fingerprint
    np.testing.assert_array_equal(labels_of(points, points.data), points.target)
    x, y = points.data.T
    np.testing.assert_array_equal(y > 0.863 * x + 0.1226, points.target == "1")
    cart = CartClassifier(pruning=None).fit(points.data, points.target)
    assert cart.get_n_leaves() == 3


# --- stars and galaxies -----------------------------------------------------------------------


@pytest.mark.parametrize(("subset", "objects"), [("bright", 2462), ("dim", 4192)])
def test_stars_and_galaxies_are_not_to_be_had(subset: str, objects: int) -> None:
    with pytest.raises(DatasetMissing, match=rf"{subset}: {objects} objects.*no public copy"):
        datasets.load_star_galaxy(subset=subset)
    with pytest.raises(ValueError, match="'bright' or 'dim', got 'all'"):
        datasets.load_star_galaxy(subset="all")
