"""Domains: codebooks of columns."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from obliqua import C45Classifier, CartClassifier, TreeBuilder
from obliqua.data.table import read_table
from obliqua.spectrum import Domain, Feature, spectrum_of


def test_levels_of_each_kind() -> None:
    symbols = Feature("s", "levels", ("a", "b", "c"))
    values = Feature("v", "values", (0, 2, 5))
    intervals = Feature("i", "intervals", (0.5, 1.5))
    column = np.array([0.0, 2.0, 5.0, -1.0, 1.0, np.nan])
    assert symbols.codes(column).tolist() == [0, 2, -1, -1, 1, -1]
    assert values.codes(column).tolist() == [0, 1, 2, -1, -1, -1]
    assert intervals.codes(column).tolist() == [0, 2, 2, 0, 1, -1]
    assert intervals.codes(np.array([0.5, 1.5])).tolist() == [0, 1], "a threshold is on the left"
    assert [f.cardinality for f in (symbols, values, intervals)] == [3, 3, 3]
    assert [f.says(1) for f in (symbols, values, intervals)] == ["b", "2.0", "(0.5, 1.5]"]
    assert (intervals.says(0), intervals.says(2)) == ("(-inf, 0.5]", "(1.5, inf)")


def test_a_domain_knows_its_size_and_goes_through_a_dict() -> None:
    domain = Domain(
        (
            Feature("s", "levels", ("a", "b", None)),
            Feature("v", "values", (0, 2)),
            Feature("i", "intervals", ()),
        )
    )
    assert domain.cardinalities == (3, 2, 1)
    assert domain.size == 6
    assert Domain.from_dict(domain.to_dict()) == domain
    assert pickle.loads(pickle.dumps(domain)) == domain
    assert "cardinalities (3, 2, 1)" in repr(domain)
    with pytest.raises(ValueError, match="3 columns"):
        domain.codes(np.zeros((2, 2)))


def test_symbols_through_a_codebook() -> None:
    frame = pd.DataFrame({"sky": ["sun", "rain", "fog"] * 20, "wind": [0, 1] * 30})
    y = (frame["sky"] == "fog") | (frame["wind"] == 1)
    domain = Domain.of_table(frame)
    assert domain.features[0].entries == ("fog", "rain", "sun")
    assert domain.features[1] == Feature("wind", "values", (0.0, 1.0))
    model = C45Classifier().fit(frame, y)
    spectrum = spectrum_of(model.tree_, domain, "votes")
    codes = domain.codes(read_table(frame).Z)
    np.testing.assert_allclose(spectrum.value(codes)[:, 1], model.predict(frame), atol=1e-14)


def test_thresholds_of_all_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    trees = [CartClassifier(random_state=s).fit(X, X[:, 0] + X[:, s] > 0).tree_ for s in (1, 2)]
    domain = Domain.of_trees(trees)
    used = {float(t) for tree in trees for t in tree.threshold}
    assert {t for f in domain.features for t in f.entries} == used
    for tree in trees:
        spectrum = spectrum_of(tree, domain, "votes")
        expected = np.eye(2)[tree.leaf_label][tree.apply(X)]
        np.testing.assert_allclose(spectrum.value(domain.codes(X)), expected, atol=1e-12)


@pytest.mark.parametrize("factor", [3.0, -3.0, 0.1, -1e-3, 1e10])
def test_cuts_are_where_the_walk_has_them(factor: float) -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("r", {0: factor}, 0.7, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    domain = Domain.of_trees([tree])
    (cut,) = domain.features[0].entries
    rows = np.array([[cut], [np.nextafter(cut, np.inf)]])
    assert tree.apply(rows).tolist() == ([1, 2] if factor > 0 else [2, 1])
    spectrum = spectrum_of(tree, domain, "votes")
    expected = np.eye(2)[tree.leaf_label][tree.apply(rows)]
    np.testing.assert_allclose(spectrum.value(domain.codes(rows)), expected, atol=1e-15)


def test_continuous_columns_are_refused_by_name() -> None:
    frame = pd.DataFrame({"smokes": [0, 1, 1], "age": [31.5, 40.0, 28.0]})
    with pytest.raises(ValueError, match=r"'age' is continuous: it holds 31.5.*'thresholds'"):
        Domain.of_table(frame)
    with pytest.raises(ValueError, match="100 different numbers"):
        Domain.of_table(np.arange(100)[:, None])
    assert Domain.of_table(frame, ["age"]).features[1].entries == (28.0, 31.5, 40.0)


def test_bad_features_are_refused() -> None:
    with pytest.raises(ValueError, match="must be one of levels, values, intervals"):
        Feature("x", "numbers", (1,))
    with pytest.raises(ValueError, match="ascending"):
        Feature("x", "values", (2, 1))
    with pytest.raises(ValueError, match="at least one level"):
        Feature("x", "levels", ())
    with pytest.raises(TypeError, match=r"Domain\.of_levels"):
        Domain((2, 3))
    with pytest.raises(ValueError, match="at least one tree"):
        Domain.of_trees([])
