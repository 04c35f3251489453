"""Slips of a new user: each is answered with a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from obliqua import C45Classifier, OrthogonalTreesClassifier, TreeBuilder
from obliqua.data.encoding import Encoding
from obliqua.spectrum import (
    Domain,
    Feature,
    LeafSum,
    SpectralEnsemble,
    Spectrum,
    gram_of_leaves,
    gram_of_spectra,
    leaf_sum_of,
    principal_components,
    spectrum_of,
    tree_of,
)

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
Y = np.array([0, 0, 1, 1] * 5)
DOMAIN = Domain.of_levels([2, 2], ["a", "b"])
Boxes: Any = LeafSum  # users have no type checker
LETTERS = Domain((Feature("c", "levels", ("x", "y", "z")), Feature("v", "values", (5.0, 10.0))))
FITTED: Any = C45Classifier().fit(X, Y)
TREE: Any = FITTED.tree_
SPECTRUM: Any = spectrum_of(TREE, DOMAIN)
LEAVES: Any = leaf_sum_of(TREE, DOMAIN)
ON_LETTERS = Spectrum.from_dict(LETTERS, {(): 1.0})

Slip = tuple[Callable[[], Any], type[Exception], str]


def assert_refused(slip: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        slip()
    # It is our own sentence, not one from further down.
    assert str(caught.value).rstrip("'\"").endswith(".")


# --- trees -----------------------------------------------------------------------------------

TAKES_TREES: dict[str, Callable[[Any], Any]] = {
    "add_tree": lambda tree: SpectralEnsemble(DOMAIN).add_tree(tree),
    "add_tree of a callable": lambda tree: SpectralEnsemble(
        DOMAIN, lambda t: t.leaf_label
    ).add_tree(tree),
    "spectrum_of": lambda tree: spectrum_of(tree, DOMAIN),
    "leaf_sum_of": lambda tree: leaf_sum_of(tree, DOMAIN),
    "of_trees": lambda tree: Domain.of_trees([tree]),
}
NO_TREES: dict[str, tuple[Any, str]] = {
    "string": ("a", r"class str.*estimator\.tree_"),
    "estimator": (FITTED, r"class C45Classifier.*estimator\.tree_\."),
    "unfitted": (C45Classifier(), r"Fit the estimator, and give its tree: estimator\.tree_"),
    "several": (
        OrthogonalTreesClassifier(n_estimators=2, random_state=0).fit(X, Y),
        r"several trees.*estimator\.model_\.trees",
    ),
    "model": (FITTED.model_, r"class Model.*model\.trees"),
    "sklearn": (DecisionTreeClassifier().fit(X, Y), r"obliqua\.tree_from_sklearn\(estimator\)"),
    "forest": (RandomForestClassifier(n_estimators=2).fit(X, Y), "each tree of its estimators_"),
    "spectrum": (SPECTRUM, "class Spectrum"),
}


@pytest.mark.parametrize("takes", TAKES_TREES.values(), ids=TAKES_TREES.keys())
@pytest.mark.parametrize(("given", "message"), NO_TREES.values(), ids=NO_TREES.keys())
def test_what_is_no_tree(takes: Callable[[Any], Any], given: Any, message: str) -> None:
    assert_refused(lambda: takes(given), TypeError, message)


def test_a_domain_of_a_single_tree() -> None:
    assert Domain.of_trees(TREE) == Domain.of_trees([TREE])
    assert_refused(lambda: Domain.of_trees(FITTED), TypeError, r"estimator\.tree_")
    forest: Any = RandomForestClassifier(n_estimators=2).fit(X, Y)
    assert_refused(lambda: Domain.of_trees(forest), TypeError, "tree_from_sklearn")


def test_trees_over_other_columns() -> None:
    builder = TreeBuilder(3, 2)
    builder.set_leaf("r", [1, 1])
    wide = builder.build()
    assert_refused(lambda: Domain.of_trees([TREE, wide]), ValueError, "number 1 has 3")
    other = Encoding.identity(3)
    assert_refused(lambda: Domain.of_trees([TREE], other), ValueError, "3 columns.*model_.encod")
    names: Any = ["a", "b"]
    assert_refused(lambda: Domain.of_trees([TREE], names), TypeError, "an Encoding.*class list")
    assert_refused(lambda: Domain.of_rows(X, other), ValueError, "3 columns, and the array")
    assert_refused(lambda: Domain.of_rows(X[0], other), ValueError, r"shape \(2,\)")


# --- domains ---------------------------------------------------------------------------------

NO_DOMAIN: dict[str, Callable[[Any], Any]] = {
    "SpectralEnsemble": SpectralEnsemble,
    "spectrum_of": lambda domain: spectrum_of(TREE, domain),
    "leaf_sum_of": lambda domain: leaf_sum_of(TREE, domain),
    "from_dict": lambda domain: Spectrum.from_dict(domain, {(): 1.0}),
    "LeafSum": lambda domain: LeafSum(domain, np.ones((1, 1)), {}),
}


@pytest.mark.parametrize("takes", NO_DOMAIN.values(), ids=NO_DOMAIN.keys())
def test_what_is_no_domain(takes: Callable[[Any], Any]) -> None:
    assert_refused(lambda: takes([2, 2]), TypeError, r"class list\. Domain\.of_levels takes")


@pytest.mark.parametrize(
    ("cardinalities", "names", "error", "message"),
    [
        ([10**9, 10**9], None, ValueError, "between 1 and 1048576 levels; got 1000000000"),
        ([10**30], None, ValueError, "between 1 and 1048576"),
        ([2, 2.5], None, ValueError, "whole number; got 2.5 for column 1"),
        ([np.inf], None, ValueError, "whole number; got inf"),
        ([np.nan], None, ValueError, "whole number; got nan"),
        (["2"], None, ValueError, "whole number; got '2'"),
        ([0], None, ValueError, "between 1 and 1048576 levels; got 0 for column 0"),
        ([-1], None, ValueError, "got -1"),
        (5, None, TypeError, r"such as \[2, 3\]; got 5"),
        ("23", None, TypeError, "got '23'"),
        ([2, 2], ["a", "a"], ValueError, "'a' is there twice"),
        ([2, 2], ["a"], ValueError, "1 names for 2 columns"),
        ([2, 2], "ab", TypeError, "names of columns must be a list or a tuple; got 'ab'"),
        ([2, 2], 5, TypeError, "names of columns must be a list or a tuple; got 5"),
    ],
    ids=str,
)
def test_numbers_of_levels(
    cardinalities: Any, names: Any, error: type[Exception], message: str
) -> None:
    assert_refused(lambda: Domain.of_levels(cardinalities, names), error, message)


def test_numbers_of_levels_as_arrays_have_them() -> None:
    assert Domain.of_levels(X.max(axis=0) + 1.0).cardinalities == (2, 2)
    many = Domain.of_levels([2**20] * 200)
    assert many.cardinalities[-1] == 2**20
    assert many.features[0].entries is many.features[199].entries, "memory for one"


@pytest.mark.parametrize(
    "state",
    [
        {"a": 1},
        [],
        {"features": 3},
        {"features": [{"name": "a"}]},
        {"features": ["ab"]},
        {"features": [{"name": "a", "kind": "levels", "entries": 3}]},
    ],
    ids=str,
)
def test_what_is_no_domain_in_a_file(state: Any) -> None:
    assert_refused(lambda: Domain.from_dict(state), ValueError, r"as to_dict\(\) writes it")


def test_entries_that_are_no_numbers() -> None:

    def slip(entries: Any) -> Feature:
        return Feature("f", "values", entries)

    assert_refused(lambda: slip(5), TypeError, "entries of feature 'f' must be a list")
    number: Any = 5
    assert_refused(lambda: Domain(number), TypeError, "features of a domain must be a list")
    assert_refused(lambda: slip(("a", "b")), ValueError, "values of feature 'f' must be numbers")
    assert_refused(lambda: slip((None, {})), ValueError, "values of feature 'f' must be numbers")


def test_both_remedies_for_a_continuous_column() -> None:
    message = r"'x0' is continuous.*Domain\.of_trees,.*domain='thresholds'"
    assert_refused(lambda: Domain.of_table([[0.5], [1.0]]), ValueError, message)
    model = OrthogonalTreesClassifier(n_estimators=2, domain="discrete")
    assert_refused(lambda: model.fit(X + 0.5, Y), ValueError, message)


# --- features and levels ---------------------------------------------------------------------


@pytest.mark.parametrize("level", [99, -1, 3, 1.5, 1.0, True, None, [1], np.nan, "w"], ids=str)
def test_levels_that_are_none(level: Any) -> None:
    message = "'c' has 3 levels, which are given by number, from 0 to 2; got "
    assert_refused(lambda: LETTERS.features[0].says(level), ValueError, message)
    assert_refused(lambda: ON_LETTERS.restrict("c", level), ValueError, message)


@pytest.mark.parametrize(
    ("feature", "level", "message"),
    [
        ("c", "y", "got 'y'. 'y' is its level number 1"),
        ("v", 10, "got 10. 10 is its level number 1"),
        ("v", 7, "from 0 to 1; got 7"),
        ("d", 0, "0 features called 'd'"),
        (2, 0, "2 features, numbered from 0; got 2.*or its name"),
        (1.0, 0, "got 1.0.*or its name"),
        (None, 0, "got None.*or its name"),
        (True, 0, "got True.*or its name"),
    ],
    ids=str,
)
def test_restrictions_that_are_none(feature: Any, level: Any, message: str) -> None:
    assert_refused(lambda: ON_LETTERS.restrict(feature, level), ValueError, message)
    int_32: Any = np.int32(1)
    assert ON_LETTERS.restrict("c", int_32).mean.tolist() == [1.0]


# --- functions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coefficients", "error", "message"),
    [
        ({(): "a"}, ValueError, "A coefficient is a number.*got 'a'"),
        ({(): None}, ValueError, "A coefficient is a number.*got None"),
        ({(): [[1.0]]}, ValueError, "a number for each output"),
        ({(): [1.0, [2.0]]}, ValueError, "a number for each output"),
        ({3: 1.0}, ValueError, "pairs of a feature and its entry.*got 3"),
        ({(0, 1): 1.0}, ValueError, r"with one pair \(\(0, 1\),\).*got \(0, 1\)"),
        ({"ab": 1.0}, ValueError, "pairs.*got 'ab'"),
        ({((0, 1, 1),): 1.0}, ValueError, "pairs"),
        ({((0, 1.5),): 1.0}, ValueError, "whole number between 1 and 1"),
        ({((0, "a"),): 1.0}, ValueError, "whole number between 1 and 1"),
        ({((0, 1), (1, 1)): 1.0, ((1, 1), (0, 1)): 1.0}, ValueError, "same one. Give each once"),
        ({((0, 1),): 1.0, (("a", 1),): 1.0}, ValueError, "same one. Give each once"),
        ([1.0], TypeError, r"such as \{\(\): 0.5\}; got an object of the class list"),
    ],
    ids=str,
)
def test_coefficients(coefficients: Any, error: type[Exception], message: str) -> None:
    assert_refused(lambda: Spectrum.from_dict(DOMAIN, coefficients), error, message)


NO_VALUE: Any = "a"
NO_VALUES: Any = {}
NOT_ALIKE: dict[str, Slip] = {
    "inner": (lambda: SPECTRUM.inner(LEAVES), TypeError, "of a kind.*class LeafSum"),
    "other way": (lambda: LEAVES.inner(SPECTRUM), TypeError, "of a kind.*class Spectrum"),
    "of number": (lambda: SPECTRUM.inner(2), TypeError, "of a kind.*class int"),
    "gram": (lambda: gram_of_spectra([LEAVES]), TypeError, "of a kind.*class LeafSum"),
    "grams": (lambda: gram_of_leaves([LEAVES, SPECTRUM]), TypeError, "of a kind"),
    "one": (lambda: gram_of_spectra(SPECTRUM), TypeError, "A list of objects of"),
    "one sum": (lambda: gram_of_leaves(LEAVES), TypeError, "A list of objects of"),
    "boxes": (lambda: Boxes(DOMAIN, [[1.0]], {}), TypeError, "array.*got list"),
    "sets": (
        lambda: Boxes(DOMAIN, np.ones((1, 1)), {0: [[True, False]]}),
        TypeError,
        "got list for 0",
    ),
    "feature": (
        lambda: LeafSum(DOMAIN, np.ones((1, 1)), {2: np.ones((1, 2), dtype=bool)}),
        ValueError,
        "2 features, numbered from 0; got 2",
    ),
    "values": (lambda: spectrum_of(TREE, DOMAIN, [NO_VALUE]), ValueError, "values must be numb"),
    "no values": (lambda: leaf_sum_of(TREE, DOMAIN, NO_VALUES), ValueError, "values must be"),
}


@pytest.mark.parametrize(("slip", "error", "message"), NOT_ALIKE.values(), ids=NOT_ALIKE.keys())
def test_functions(slip: Callable[[], Any], error: type[Exception], message: str) -> None:
    assert_refused(slip, error, message)


def test_sums_of_what_is_not_alike() -> None:
    for slip in (lambda: LEAVES + SPECTRUM, lambda: LEAVES * NO_VALUE):
        with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
            slip()


# --- limits ----------------------------------------------------------------------------------

WHOLE = "must be a whole number of at least"
LIMITS: dict[str, tuple[Callable[[Any], Any], list[Any], str]] = {
    "truncate": (
        lambda n: SPECTRUM.truncate(1.0, max_order=n),
        [-1, 1.5, "a", True],
        f"max_order {WHOLE} 0, or None; got",
    ),
    "max_order": (
        lambda n: spectrum_of(TREE, DOMAIN, max_order=n),
        [-1, 1.5, "a"],
        f"max_order {WHOLE} 0, or None; got",
    ),
    "max_coefficients": (
        lambda n: spectrum_of(TREE, DOMAIN, max_coefficients=n),
        [-1, 1e6, "a", None],
        f"max_coefficients {WHOLE} 0; got",
    ),
    "of an ensemble": (
        lambda n: SpectralEnsemble(DOMAIN, max_coefficients=n),
        [0, -1, 2.5, "a", None],
        f"max_coefficients {WHOLE} 1; got",
    ),
    "max_leaf_nodes": (
        lambda n: tree_of(SPECTRUM, max_leaf_nodes=n),
        [0, 2.5, "a", True],
        f"max_leaf_nodes {WHOLE} 1, or None; got",
    ),
    **{
        name: (takes, [0, 2, -0.5, np.nan, "a", None, True], "energy is a share above 0.*got")
        for name, takes in {
            "energy": lambda share: tree_of(SPECTRUM, energy=share),
            "energy of truncate": lambda share: SPECTRUM.truncate(share),
            "energy of an ensemble": lambda share: SpectralEnsemble(DOMAIN, energy=share),
        }.items()
    },
    "values": (
        lambda values: SpectralEnsemble(DOMAIN, values),
        ["foo", None, [1.0, 2.0]],
        "values must be 'votes', 'shares', or a function.*got",
    ),
    "weight": (
        lambda weight: SpectralEnsemble(DOMAIN).add_tree(TREE, weight),
        ["a", None, [1.0], np.nan],
        "weight of a tree must be a finite number; got",
    ),
}


@pytest.mark.parametrize(
    ("takes", "given", "message"),
    [
        pytest.param(takes, value, message, id=f"{name}-{value}")
        for name, (takes, values, message) in LIMITS.items()
        for value in values
    ],
)
def test_limits(takes: Callable[[Any], Any], given: Any, message: str) -> None:
    assert_refused(lambda: takes(given), ValueError, message)


# --- components ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gram", "weights", "n", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0], None, "semi-definite.*eigenvalue -1 beside 3"),
        ([[1.0, 0.5], [0.4, 1.0]], [1.0, 1.0], None, "symmetric"),
        ([[-1.0]], [1.0], None, "semi-definite"),
        ([["a"]], [1.0], None, "inner products must be numbers"),
        ([[1.0], [1.0, 2.0]], [1.0], None, "inner products must be numbers"),
        ([[1j]], [1.0], None, "inner products must be numbers"),
        ([[1.0]], ["a"], None, "weights must be numbers"),
        ([[1.0]], [1.0], True, "got True"),
    ],
)
def test_components(gram: Any, weights: Any, n: Any, message: str) -> None:
    assert_refused(lambda: principal_components(gram, weights, n), ValueError, message)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_trees_with_large_means_have_components(offset: float) -> None:
    rng = np.random.default_rng(0)
    steps = rng.normal(size=20)
    values = iter(offset * rng.uniform(1, 2, 20))
    ensemble = SpectralEnsemble(
        DOMAIN, lambda tree: next(values) + steps[len(ensemble)] * np.arange(tree.n_nodes)
    )
    for _ in range(20):
        ensemble.add_tree(TREE)
    found = ensemble.components(centred=True)
    assert len(found) == 20
    # The leaves are nodes 1 and 2: half a step above and below the mean.
    assert found.eigenvalues[0] == pytest.approx(0.25 * (steps**2).sum(), rel=1e-2)


def test_weights_and_keys_of_an_ensemble() -> None:
    ensemble = SpectralEnsemble(DOMAIN)
    ensemble.add_tree(TREE)
    for weights, message in (
        (["a"], "weights must be numbers"),
        ([[1.0]], r"weight for each of the 1 trees; got an array of shape \(1, 1\)"),
        (2.0, r"shape \(\)"),
        ([np.nan], "finite weight"),
    ):
        assert_refused(lambda w=weights: ensemble.combined(w), ValueError, message)
    for key in ("a", [0], None):
        assert_refused(lambda k=key: ensemble.remove_tree(k), KeyError, "no tree with the key")
