"""One measure for several ensembles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)

from estimators.registry import blobs
from obliqua import C45Classifier, CartClassifier
from obliqua.spectrum import gram, measure_of, tree_sum_of

X, Y = blobs(80, n_features=3, n_classes=2)
ONE = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, Y)
TWO: list[Any] = [
    ExtraTreesClassifier(3, max_depth=3, random_state=0).fit(X, Y),
    GradientBoostingRegressor(n_estimators=4, random_state=0).fit(X, Y),
    CartClassifier(pruning=None).fit(X, Y),
]


@pytest.mark.parametrize("other", TWO, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("measure", ["uniform", "marginals"])
def test_one_measure_for_both(other: Any, measure: str) -> None:
    both = measure_of([ONE, other], measure, X)
    trees = [*tree_sum_of(ONE).trees, *tree_sum_of(other).trees]
    for feature in range(3):
        cuts = {
            float(cut)
            for tree in trees
            for cut in tree.threshold[tree.coef_idx[: tree.n_planes] == feature]
        }
        assert both.domain.features[feature].entries == tuple(sorted(cuts))
    if measure == "marginals":  # the grid is finer, and the rows are the same
        for fitted in (ONE, other):
            expected = gram(fitted, "marginals", X)
            np.testing.assert_allclose(gram(fitted, both), expected, rtol=1e-9, atol=1e-15)


def test_one_ensemble_in_a_list() -> None:
    for several in ([ONE], [ONE, ONE], (ONE, tree_sum_of(ONE))):
        np.testing.assert_array_equal(gram(ONE, measure_of(several)), gram(ONE))
    with pytest.raises(TypeError, match="sequence must hold trees"):
        measure_of([])
    with pytest.raises(TypeError, match="An ensemble is a fitted"):
        measure_of([ONE, 3])


def test_columns_must_be_the_same() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    named = RandomForestClassifier(2, random_state=0).fit(frame, Y)
    found = measure_of([ONE, named], "marginals", frame[["c", "a", "b"]])
    assert found.domain.names == ("a", "b", "c")
    expected = measure_of([ONE, named], "marginals", frame)
    for one, other in zip(found.weights, expected.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    moved = RandomForestClassifier(2, random_state=0).fit(frame[["c", "a", "b"]], Y)
    with pytest.raises(ValueError, match=r"number 1, .* column 'c' where another has 'a'"):
        measure_of([named, moved])
    fewer = RandomForestClassifier(2, random_state=0).fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="there are 3, and 2 for number 1"):
        measure_of([ONE, fewer])
    levels = [frame.assign(a=np.resize(list(words), len(Y))) for words in ("uv", "uvw")]
    odd = [C45Classifier().fit(rows, Y) for rows in levels]
    with pytest.raises(ValueError, match="'a', with other levels"):
        measure_of(odd)
