"""2C-ETCT: the first direction from a classifier of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from estimators.registry import two_clouds
from obliqua import EigenTreeClassifier


@pytest.mark.parametrize("first", ["logistic", "svm", LinearSVC(dual=False), Perceptron()])
def test_a_first_direction_from_a_classifier(first: Any) -> None:
    X, y = two_clouds(300)
    model = EigenTreeClassifier(
        transformations=("first+pca", "first+fisher"), first_direction=first, random_state=0
    ).fit(X, y)
    assert len(model.directions_) == 4
    if not isinstance(first, str):
        coef = first.fit(X, y).coef_[0]
        one = model.directions_[0]
        cosine = one @ coef / np.linalg.norm(one) / np.linalg.norm(coef)
        assert abs(cosine) > 1 - 1e-6
    np.testing.assert_allclose(model.directions_[1:] @ model.directions_[0], 0.0, atol=1e-6)


def test_a_named_classifier_sees_standardised_features() -> None:
    X, y = two_clouds(300)
    units = np.array([1.0, 1000.0, 0.001, 1.0])
    names = ("first+pca",)
    one, other = (
        EigenTreeClassifier(transformations=names, first_direction="logistic").fit(X * u, y)
        for u in (1.0, units)
    )
    a, b = one.directions_[0], other.directions_[0] * units
    assert abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) > 1 - 1e-6


@pytest.mark.parametrize("first", ["logistic", "svm", LinearSVC(random_state=0)])
def test_a_constant_feature_does_not_turn_the_first_direction(first: Any) -> None:
    X, y = two_clouds(300)
    # The mean of 300 times 0.1 is another number.
    wide = np.column_stack([X, np.full(300, 0.1), np.full(300, 50.0), np.zeros(300)])
    model = EigenTreeClassifier(
        transformations=("first+pca",), first_direction=first, random_state=0
    ).fit(wide, y)
    assert model.directions_.shape == (4, 7)
    np.testing.assert_array_equal(model.directions_[:, 4:], 0.0)
    np.testing.assert_allclose(model.directions_[1:] @ model.directions_[0], 0.0, atol=1e-6)
    if isinstance(first, str):
        alone = EigenTreeClassifier(transformations=("first+pca",), first_direction=first).fit(
            X, y
        )
        np.testing.assert_allclose(model.directions_[0, :4], alone.directions_[0], atol=1e-5)


@pytest.mark.parametrize("first", ["logistic", "svm"])
@pytest.mark.parametrize("size", [1e300, 1e-290])
def test_a_named_classifier_takes_huge_and_tiny_values(first: str, size: float) -> None:
    X, y = two_clouds(300)
    one, other = (
        EigenTreeClassifier(transformations=("first+pca",), first_direction=first).fit(X * u, y)
        for u in (1.0, size)
    )
    np.testing.assert_allclose(one.directions_[0], other.directions_[0], atol=1e-5)


class Crooked(LogisticRegression):
    """Its coefficients are not one per feature, or no numbers."""

    def __init__(self, factor: Any = 1.0, C: float = 1.0) -> None:
        super().__init__(C=C)
        self.factor = factor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Crooked:
        super().fit(X, y, sample_weight)
        self.coef_ = np.multiply(self.factor, self.coef_)
        return self


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        ([[1.0], [1.0]], r"per column of numbers, 4, in coef_; got shape \(2, 4\)\.$"),
        (np.nan, r"got shape \(1, 4\), and not all are finite"),
    ],
)
def test_coefficients_that_are_no_direction(factor: Any, message: str) -> None:
    X, y = two_clouds()
    with pytest.raises(ValueError, match=message):
        EigenTreeClassifier(first_direction=Crooked(factor)).fit(X, y)


def test_a_direction_of_zeros_leaves_that_of_the_means() -> None:
    X, y = two_clouds()
    names = ("first+pca",)
    nowhere = EigenTreeClassifier(transformations=names, first_direction=Crooked(0.0)).fit(X, y)
    means = EigenTreeClassifier(transformations=names).fit(X, y)
    np.testing.assert_array_equal(nowhere.directions_, means.directions_)


def test_the_classifier_itself_is_not_fitted() -> None:
    X, y = two_clouds()
    first = LogisticRegression()
    model = EigenTreeClassifier(first_direction=first, random_state=0).fit(X, y)
    assert not hasattr(first, "coef_")
    assert model.get_params()["first_direction__C"] == 1.0


def test_weights_need_a_classifier_that_takes_them() -> None:
    X, y = two_clouds(n=60)
    model = EigenTreeClassifier(first_direction=KNeighborsClassifier())
    with pytest.raises(ValueError, match="takes no sample_weight"):
        model.fit(X, y, sample_weight=np.linspace(1, 2, 60))
