"""`rank_methods`: ranks and tests are those of the twin, of SciPy and of Demšar's example."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from obliqua import rank_methods
from obliqua.stats.ranks import MOST_EXACT, Ranks
from problems import examples
from reference import ranks as twin

# Table 6 of Demšar (2006): ranks of C4.5 and of three ways to set its parameters on 14 data sets.
DEMSAR = {
    "C4.5": [4, 1, 4, 4, 4, 1, 3, 2.5, 4, 2.5, 4, 3, 4, 3],
    "C4.5+m": [3, 2, 1, 1, 2, 2.5, 2, 2.5, 3, 2.5, 2.5, 2, 1, 1],
    "C4.5+cf": [2, 3, 2, 3, 3, 4, 4, 4, 2, 2.5, 1, 4, 2, 4],
    "C4.5+m+cf": [1, 4, 3, 2, 1, 2.5, 1, 1, 1, 2.5, 2.5, 1, 3, 2],
}
TABLES = st.integers(2, 6).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=2, max_size=8)
)


def columns(table: Any) -> dict[str, list[float]]:
    return {f"m{place}": list(column) for place, column in enumerate(zip(*table, strict=True))}


def fractions(table: list[list[int]]) -> list[list[Fraction]]:
    return [[Fraction(value) for value in line] for line in table]


def random_scores(n: int = 20, k: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, k)) + np.linspace(0.0, 1.5, k)


def test_the_published_example() -> None:
    found = rank_methods(DEMSAR, larger_is_better=False)
    means = [round(mean, 3) for mean in found.mean_ranks.values()]
    assert means == [3.143, 2.000, 2.893, 1.964]
    # The paper does not correct for ties: its chi-square is 9.28, its F 3.69.
    n, k = 14, 4
    squares = sum(mean**2 for mean in found.mean_ranks.values())
    plain = 12 * n / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)
    assert round(plain, 2) == 9.28
    assert found.friedman[0] > plain
    assert round((n - 1) * plain / (n * (k - 1) - plain), 2) == 3.69
    assert round(found.critical_difference, 2) == 1.25
    assert round(rank_methods(DEMSAR, level=0.1).critical_difference, 2) == 1.12
    # "Nemenyi: the post-hoc test is not powerful enough" at 5 %; at 10 % the ends differ.
    assert found.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)
    tenth = rank_methods(DEMSAR, larger_is_better=False, level=0.1)
    assert all(not {"C4.5", "C4.5+m+cf"} <= set(group) for group in tenth.groups)


@examples(60)
@given(TABLES)
def test_ranks_and_tests_are_the_twins(table: list[list[int]]) -> None:
    exact = fractions(table)
    found = rank_methods(columns(table))
    expected = [float(mean) for mean in twin.mean_ranks(exact)]
    np.testing.assert_allclose(list(found.mean_ranks.values()), expected)
    assert found.friedman[0] == pytest.approx(float(twin.friedman(exact)))
    by_name = dict(zip(found.methods, zip(*exact, strict=True), strict=True))
    plain = []
    for pair in found.pairs:
        one, other = list(by_name[pair.better]), list(by_name[pair.worse])
        plain.append(float(twin.signed_rank(one, other)[1]))
        assert pair.p_value == pytest.approx(plain[-1])
        assert pair.wins == sum(a > b for a, b in zip(one, other, strict=True))
        assert pair.ties == sum(a == b for a, b in zip(one, other, strict=True))
        assert pair.wins + pair.losses + pair.ties == len(table)
    np.testing.assert_allclose([pair.adjusted for pair in found.pairs], twin.holm(plain))
    means = list(found.mean_ranks.values())
    groups = twin.groups(means, found.critical_difference)
    named = {frozenset(found.methods[place] for place in group) for group in groups}
    assert {frozenset(group) for group in found.groups} == named


def test_friedman_is_scipys() -> None:
    for scores in (random_scores(), random_scores().round(0)):
        found = rank_methods(columns(scores))
        expected = stats.friedmanchisquare(*scores.T)
        assert found.friedman == pytest.approx((expected.statistic, expected.pvalue))


def test_wilcoxon_is_scipys_where_nothing_is_tied() -> None:
    scores = random_scores(25, 4)
    found = rank_methods(columns(scores))
    for pair in found.pairs:
        one, other = (scores[:, found.methods.index(name)] for name in (pair.better, pair.worse))
        assert pair.p_value == pytest.approx(stats.wilcoxon(one, other, method="exact").pvalue)


@pytest.mark.parametrize("n", [300, 1000, 3000])
@pytest.mark.parametrize("digits", [12, 1])  # without ties and zeros, and with many of both
def test_many_data_sets_have_wilcoxons_normal_p_value(n: int, digits: int) -> None:
    rng = np.random.default_rng(n)
    one = rng.normal(size=n).round(digits)
    other = (one + rng.normal(0.08, 1.0, size=n)).round(digits)
    one[::50] = other[::50] + 1.0  # equal sizes, even where nothing else is tied
    if digits == 1:
        one[::7] = other[::7]
    found = rank_methods({"a": one, "b": other}).pair("a", "b")
    differences = (one - other).round(10)  # SciPy takes 0.3 - 0.2 and 0.2 - 0.1 for unequal
    expected = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic")
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.ties == (differences == 0).sum()


def test_the_normal_p_value_is_near_the_exact_one_where_it_takes_over() -> None:
    for seed, shift in ((0, 0.0), (1, 0.15), (2, 0.2)):
        rng = np.random.default_rng(seed)
        gains = rng.normal(shift, 1.0, size=MOST_EXACT).round(1)
        zeros = np.zeros(MOST_EXACT)
        exact = rank_methods({"a": gains, "b": zeros}).pair("a", "b").p_value
        normal = stats.wilcoxon(gains, zero_method="pratt", method="asymptotic").pvalue
        assert exact > 0.001  # further out the normal distribution is rougher, and nobody minds
        assert exact == pytest.approx(normal, rel=0.05)


def test_iman_and_davenport() -> None:
    found = rank_methods(columns(random_scores()))
    chi_square = found.friedman[0]
    f = 19 * chi_square / (20 * 4 - chi_square)
    assert found.iman_davenport == pytest.approx((f, stats.f.sf(f, 4, 76)))


def test_errors_are_better_if_smaller() -> None:
    scores = random_scores()
    one, other = (
        rank_methods(columns(scores)),
        rank_methods(columns(-scores), larger_is_better=False),
    )
    assert one.mean_ranks == other.mean_ranks
    assert one.pairs == other.pairs
    assert one.best == "m4"
    assert rank_methods(columns(scores), larger_is_better=False).best == "m0"


def test_rounding_makes_no_rank() -> None:
    """0.9 - 0.8 and 0.8 - 0.7 differ in their last digit, and so do sums in another order."""
    found = rank_methods({"a": [0.1 + 0.2, 0.5, 0.6], "b": [0.3, 0.5, 0.6]})
    assert found.mean_ranks == {"a": 1.5, "b": 1.5}
    assert found.pair("a", "b").ties == 3
    assert found.pair("b", "a").p_value == 1.0
    steps = rank_methods({"a": [0.9, 0.8, 0.7, 0.3], "b": [0.8, 0.7, 0.6, 0.4]})
    # Four equal sizes, one of them down: p is that of 1 of 4, both tails.
    assert steps.pair("a", "b").p_value == pytest.approx(2 * 5 / 16)


def test_rounding_is_that_of_a_data_set() -> None:
    """Seconds of a large data set must not make those of a small one equal."""
    scores = {"a": [1e6, 1e-7, 2e-7], "b": [2e6, 3e-7, 4e-7], "c": [3e6, 2e-7, 5e-7]}
    found = rank_methods(scores, larger_is_better=False)
    np.testing.assert_array_equal(found.ranks, [[1, 2, 3], [1, 3, 2], [1, 2, 3]])
    assert (found.pair("a", "b").wins, found.pair("a", "b").ties) == (3, 0)
    # Without the large one it is the same; its own rounding still counts as such.
    small = rank_methods({"a": [1e-7, 2e-7], "b": [3e-7, 4e-7]}, larger_is_better=False)
    assert small.pair("a", "b").ties == 0
    near = {"a": [1e6, 1.0, 2.0], "b": [1e6 + 1e-9, 2.0, 3.0]}
    assert rank_methods(near).pair("a", "b").ties == 1
    for factor in (1.0, 3.0, 1e-9, 7e11):
        steps = {"a": [0.9, 0.8, 0.7, 0.3], "b": [0.8, 0.7, 0.6, 0.4]}
        scaled = {name: [factor * value for value in column] for name, column in steps.items()}
        assert rank_methods(scaled).pair("a", "b").p_value == pytest.approx(2 * 5 / 16)


def test_methods_that_share_the_best_mean_rank() -> None:
    found = rank_methods({"a": [1.0, 2.0, 3.0], "b": [2.0, 1.0, 3.0], "c": [0.0, 0.0, 0.0]})
    assert found.firsts == ("a", "b")
    said = "a and b share the best mean rank, but beat no other beyond noise"
    assert said in found.describe() and said in found.markdown()
    many = rank_methods({"a": [1, 2] * 10, "b": [2, 1] * 10, "c": [0, 0] * 10})
    assert "a and b share the best mean rank; a beats c; b beats c beyond" in many.describe()
    same = rank_methods({name: [1.0, 2.0, 3.0] for name in "abc"})
    assert "a, b and c share the best mean rank, but beat no other" in same.describe()


def test_mean_ranks_do_not_decide_who_beats() -> None:
    """Won as often as lost, but by far less: the mean ranks are the same, the sizes are not."""
    gains = [0.01 + 0.001 * k for k in range(20)] + [-1.0 - k for k in range(20)]
    found = rank_methods({"a": gains, "b": [0.0] * 40})
    assert found.pair("a", "b").adjusted < 0.05
    assert found.firsts == ("a", "b")
    assert "b beats a beyond noise" in found.describe()
    assert "a beats" not in found.describe()
    # One more small win makes the mean rank of the loser the best one.
    more = rank_methods({"a": [*gains, 0.02], "b": [0.0] * 41})
    assert more.best == "a"
    assert "a has the best mean rank, but beats no other" in more.describe()


def test_methods_that_are_the_same_or_always_in_one_order() -> None:
    same = rank_methods({name: [1.0, 2.0, 3.0] for name in "abc"})
    assert same.friedman == (0.0, 1.0)
    assert same.iman_davenport == (0.0, 1.0)
    assert same.groups == (("a", "b", "c"),)
    assert "no difference can be seen beyond noise" in same.describe()
    assert "None of them can be told apart" in same.describe()
    ordered = rank_methods({"a": [3.0] * 30, "b": [2.0] * 30, "c": [1.0] * 30})
    assert ordered.iman_davenport == (float("inf"), ordered.friedman[1])
    assert ordered.friedman[0] == pytest.approx(60.0)
    assert ordered.groups == ()
    assert "All of them can be told apart" in ordered.describe()
    assert "a beats every other method" in ordered.describe()
    assert json.loads(json.dumps(ordered.to_dict()))["iman_davenport"]["f"] is None


def test_the_words() -> None:
    found = rank_methods(columns(random_scores(20, 5)))
    words = found.describe()
    assert words.startswith("5 methods on 20 data sets. Mean ranks (1 is best): m4 ")
    assert f"{found.critical_difference:.2f} apart" in words
    assert "the methods differ" in words
    beaten = [pair.worse for pair in found.against("m4") if pair.adjusted < 0.05]
    assert 0 < len(beaten) < 4
    assert f"m4 beats {', '.join(beaten)} beyond noise" in words
    few = rank_methods({"a": [3.0, 2.0, 4.0], "b": [1.0, 1.0, 1.0]}).describe()
    assert "cannot find any difference, however large" in few
    assert "cannot find" not in words


def test_the_table() -> None:
    found = rank_methods(columns(random_scores(40, 5)) | {"odd|name": [0.0] * 40})
    lines = found.markdown().splitlines()
    assert len({line.count("|") - line.count("\\|") for line in lines[:8]}) == 1
    assert [line.split(" | ")[0][2:] for line in lines[2:8]] == [
        name.replace("|", "\\|") for name in found.order
    ]
    pair = found.pair(found.order[0], found.order[-1])
    assert f"| {pair.wins}-{pair.losses}-{pair.ties} |" in lines[7]
    shared = {line.split(" | ")[0][2:]: line.split(" | ")[2] for line in lines[2:8]}
    for place, group in enumerate(found.groups):
        letter = "abcdef"[place]
        assert {name for name in found.methods if letter in shared.get(name, "")} == set(group) - {
            "odd|name"
        }


def test_frames_of_both_kinds() -> None:
    table = random_scores(6, 3)
    plain = rank_methods(columns(table))
    names = [f"data {place}" for place in range(6)]
    panda = rank_methods(pd.DataFrame(table, columns=["m0", "m1", "m2"], index=names))
    assert panda.data_sets == tuple(names)
    polar = rank_methods(pl.DataFrame(table, schema=["m0", "m1", "m2"]))
    assert plain.data_sets == polar.data_sets == tuple(f"set {place}" for place in range(1, 7))
    assert plain.mean_ranks == panda.mean_ranks == polar.mean_ranks


def test_scores_are_found_by_name() -> None:
    found = rank_methods({"a": {"iris": 1.0, "wine": 2.0}, "b": {"wine": 3.0, "iris": 0.0}})
    assert found.data_sets == ("iris", "wine")
    np.testing.assert_array_equal(found.scores, [[1.0, 0.0], [2.0, 3.0]])


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_missing_scores(nothing: Any) -> None:
    scores = {
        "a": {"iris": 1.0, "wine": 2.0, "glass": 3.0},
        "b": {"iris": 2.0, "wine": 1.0},
        "c": {"iris": 3.0, "wine": 1.5, "glass": nothing},
    }
    with pytest.raises(
        ValueError, match=r"there is none of b on glass, c on glass\. missing='drop'"
    ):
        rank_methods(scores)
    found = rank_methods(scores, missing="drop")
    assert found.data_sets == ("iris", "wine")
    assert found.notes == ("Left out, because not all methods have a score: glass.",)
    assert "glass" in found.describe() and "glass" in found.markdown()
    with pytest.raises(ValueError, match=r"At least two data sets .* got 1"):
        rank_methods({"a": {"x": 1.0, "y": 1.0}, "b": {"x": 1.0}}, missing="drop")


@pytest.mark.parametrize(
    ("scores", "more", "message"),
    [
        ({"a": [1.0, 2.0]}, {}, "At least two methods are needed to rank them; got 1"),
        ({}, {}, "got 0"),
        ({"a": [1.0], "b": [2.0]}, {}, "At least two data sets"),
        ({"a": [], "b": []}, {}, "At least two data sets"),
        ({"a": [1.0, 2.0], "b": [1.0]}, {}, "as many scores; got a 2, b 1"),
        ({"a": ["x", "y"], "b": [1.0, 2.0]}, {}, "must be numbers; a has 'x' on set 1"),
        ({"a": ["1", "2"], "b": [1.0, 2.0]}, {}, "numbers; a has '1' on set 1.*written as text"),
        ({"a": [b"1", 2.0], "b": [1.0, 2.0]}, {}, "must be numbers; a has b'1' on set 1"),
        ({"a": [np.inf, 1.0], "b": [1.0, 2.0]}, {}, "must be finite; a has inf on set 1"),
        ([[1.0, 2.0]], {}, "must be a mapping of method to scores"),
        ({"a": [1.0, 2.0], "b": [1.0, 2.0]}, {"level": 5}, "level must be a number between 0"),
        ({"a": [1.0, 2.0], "b": [1.0, 2.0]}, {"missing": "skip"}, "'raise' or 'drop'; got 'skip'"),
        ({1: [1.0, 2.0], "1": [1.0, 2.0]}, {}, "the same name"),
        ({"a": {1: 1.0, "1": 2.0}, "b": {1: 1.0}}, {}, "the same name"),
    ],
)
def test_what_is_refused(scores: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank_methods(scores, **more)


def test_one_method_against_the_others() -> None:
    found = rank_methods(columns(random_scores()))
    for name in found.methods:
        against = found.against(name)
        assert [{pair.better, pair.worse} for pair in against] == [
            {name, other} for other in found.order if other != name
        ]
        plain = [pair.p_value for pair in against]
        assert plain == [found.pair(pair.better, pair.worse).p_value for pair in against]
        np.testing.assert_allclose([pair.adjusted for pair in against], twin.holm(plain))
    with pytest.raises(ValueError, match=r"no method 'oak'\. The methods are m0, m1"):
        found.against("oak")


def test_a_pair_that_is_not_there() -> None:
    found = rank_methods(columns(random_scores(5, 2)))
    with pytest.raises(ValueError, match=r"no pair 'm0' and 'm7'\. The methods are m0, m1"):
        found.pair("m0", "m7")
    assert isinstance(found, Ranks)
