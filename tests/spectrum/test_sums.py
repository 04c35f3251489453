"""Students of several trees are added up, and are read so."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.registry import blobs
from obliqua import distil
from obliqua.spectrum import diagnose, gram, tree_sum_of

X, Y = blobs(150, n_features=3, n_classes=3)


def test_trees_that_are_added_up_are_no_mean() -> None:
    from sklearn.naive_bayes import GaussianNB

    told = {"method": "cart", "max_leaves": 12, "n_generated": 400, "random_state": 0}
    student = distil(GaussianNB().fit(X, Y), X, n_trees=3, **told)
    for subject in (student, student.model_):
        trees = tree_sum_of(subject)
        value = trees.value(X)
        np.testing.assert_allclose(value.sum(axis=1), 1.0)
        shares = np.maximum(value, 0.0)
        expected = student.predict_proba(X)
        np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), expected)
        # The first tree says much, those after it little.
        sizes = np.diag(gram(subject))
        assert sizes[0] > 4 * sizes[1:].max()
        assert len(diagnose(subject).eigenvalues) == 3
    with pytest.raises(ValueError, match=r"added up.*values must be 'auto'; got 'votes'"):
        tree_sum_of(student.model_, values="votes")
