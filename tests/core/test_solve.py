"""Solutions of small positive definite systems."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua._core.base.linalg import product, py_solve


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 33, 60])
def test_solutions(n: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(2 * n + 3, n))
    matrix, right = X.T @ X, rng.normal(size=n)
    solved = py_solve(matrix, right)
    np.testing.assert_allclose(solved, np.linalg.solve(matrix, right), rtol=1e-9)
    np.testing.assert_array_equal(solved, py_solve(matrix.copy(), right.copy()))


def test_sizes_far_from_one() -> None:
    matrix = np.diag([1e300, 1.0, 1e-300])
    np.testing.assert_allclose(py_solve(matrix, np.array([1e300, 2.0, 3e-300])), [1, 2, 3])


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((2, 2)),
        np.ones((2, 2)),
        np.diag([1.0, 0.0]),
        np.diag([-1.0, 1.0]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[np.nan, 0.0], [0.0, 1.0]]),
        np.array([[1.0, np.nan], [np.nan, 1.0]]),
        np.array([[0.0]]),
    ],
)
def test_none_unless_positive_definite(matrix: np.ndarray) -> None:
    assert py_solve(matrix, np.ones(len(matrix))) is None


def test_what_is_given_stays_as_it_is() -> None:
    matrix, right = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    held = matrix.copy(), right.copy()
    py_solve(matrix, right)
    np.testing.assert_array_equal(matrix, held[0])
    np.testing.assert_array_equal(right, held[1])


@pytest.mark.parametrize(
    "shapes", [((5,), (5,)), ((6,), (6, 3)), ((4, 7), (7,)), ((4, 9), (9, 3))]
)
def test_a_product_adds_in_the_order_of_its_terms(shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=shape) for shape in shapes)
    for a in (left, np.asfortranarray(left)):
        found = product(a, right)
        total = np.zeros(left.shape[:-1] + right.shape[1:])
        for k in range(len(right)):
            total += np.multiply.outer(left[..., k], right[k])
        np.testing.assert_array_equal(found, total)
        assert found.shape == (left @ right).shape


def test_products_of_nothing_and_of_what_does_not_fit() -> None:
    assert product(np.ones((0, 3)), np.ones((3, 2))).shape == (0, 2)
    np.testing.assert_array_equal(product(np.ones((2, 0)), np.ones((0, 3))), np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(2, 3\)"):
        product(np.ones((2, 3)), np.ones((2, 3)))
