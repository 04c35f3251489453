"""The library's own eigenvectors and Cholesky solutions against LAPACK's."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from obliqua._core.base.linalg import py_dominant, py_eigen, py_eigen_scatter
from reference.hhcart import plain_eigen_scatter

Matrix = NDArray[np.float64]


def scatter(seed: int, n: int, rows: int, grades: float = 0.0) -> Matrix:
    """A scatter matrix of some rows; features of sizes that span `grades` powers of ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, n)) @ rng.normal(size=(n, n))
    X *= 10.0 ** np.linspace(0.0, -grades, n)
    return np.asarray(X.T @ X)


def check(matrix: Matrix) -> None:
    """Values, order, orthonormal rows and A v = lambda v, all relative to the largest entry."""
    n = len(matrix)
    values, vectors = py_eigen(matrix)
    size = np.abs(matrix).max() or 1.0
    unit, noise = matrix / size, 1e-14 * n
    expected = np.linalg.eigvalsh(unit)[::-1]
    assert (values[:-1] >= values[1:]).all()
    np.testing.assert_allclose(values / size, expected, rtol=0, atol=noise * n)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), rtol=0, atol=noise)
    np.testing.assert_allclose(
        unit @ vectors.T, vectors.T * (values / size), rtol=0, atol=noise * n
    )


@pytest.mark.parametrize("n", [*range(1, 13), 17, 31, 32, 33, 50, 64, 70])
def test_scatter_matrices_of_any_size(n: int) -> None:
    check(scatter(n, n, 3 * n + 2))


@pytest.mark.parametrize("n", [2, 3, 7, 20, 45])
def test_fewer_rows_than_features(n: int) -> None:
    check(scatter(n, n, n // 2))
    check(scatter(n, n, 1))


@pytest.mark.parametrize("n", [2, 3, 5, 12])
@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e-310, 1e150, 1e-160])
def test_huge_and_tiny_entries(n: int, factor: float) -> None:
    matrix = scatter(0, n, 2 * n)
    matrix /= np.abs(matrix).max()
    values, vectors = py_eigen(matrix * factor)
    plain, plain_vectors = py_eigen(matrix)
    # denormal entries have few bits
    coarse = 1e-12 if factor > 1e-300 else 1e-8
    np.testing.assert_allclose(values / factor, plain, rtol=0, atol=coarse)
    np.testing.assert_allclose(np.abs(vectors[0]), np.abs(plain_vectors[0]), rtol=0, atol=coarse)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), rtol=0, atol=1e-13)


def test_a_power_of_two_changes_no_bit_of_the_eigenvectors() -> None:
    matrix = scatter(1, 6, 20)
    values, vectors = py_eigen(matrix)
    for exponent in (-900, -3, 1, 900):
        scaled_values, scaled_vectors = py_eigen(np.ldexp(matrix, exponent))
        np.testing.assert_array_equal(scaled_vectors, vectors)
        np.testing.assert_array_equal(scaled_values, np.ldexp(values, exponent))


SPECIAL: dict[str, Any] = {
    "zero": np.zeros((4, 4)),
    "unit": np.eye(5),
    "diagonal": np.diag([1.0, 5.0, 3.0, 3.0, 0.0]),
    "negative": np.diag([-1.0, -5.0, 2.0]),
    "all equal": np.ones((6, 6)),
    "twice the same column": np.array([[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 3.0]]),
    "repeated": np.kron(np.eye(3), [[2.0, 1.0], [1.0, 2.0]]),
    "zero diagonal": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "zero diagonal of three": np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    "a constant feature": np.array([[4.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]),
    "Wilkinson": np.diag(np.abs(np.arange(-10.0, 11.0)))
    + np.diag(np.ones(20), 1)
    + np.diag(np.ones(20), -1),
    "Hilbert": 1.0 / (np.arange(9)[:, None] + np.arange(9) + 1.0),
    "arrow": np.diag([1.0, 1e-8, 1e-8, 1e-8]) + 1e-9,
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_matrices(name: str) -> None:
    check(SPECIAL[name])


@pytest.mark.parametrize("grades", [5.0, 20.0, 80.0, 160.0])
@pytest.mark.parametrize("n", [3, 8])
def test_features_of_very_different_sizes(n: int, grades: float) -> None:
    matrix = scatter(2, n, 4 * n, grades)
    check(matrix)
    check(np.ascontiguousarray(matrix[::-1, ::-1]))


@pytest.mark.parametrize("tiny", [1e-150, 1e-170, 1e-200, 1e-300])
def test_a_tiny_block_beside_a_large_entry_converges(tiny: float) -> None:
    check(np.array([[1.0, 0.0, 0.0], [0.0, tiny, 0.9 * tiny], [0.0, 0.9 * tiny, tiny]]))
    check(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, tiny], [0.0, tiny, 0.0]]))


def test_the_same_bits_for_the_same_input_and_only_the_lower_triangle_is_read() -> None:
    matrix = scatter(3, 9, 30)
    values, vectors = py_eigen(matrix)
    half = np.tril(matrix) + np.triu(np.full_like(matrix, np.nan), 1)
    for same in (matrix.copy(), np.asfortranarray(matrix), half):
        again_values, again_vectors = py_eigen(same)
        np.testing.assert_array_equal(again_values, values)
        np.testing.assert_array_equal(again_vectors, vectors)


@pytest.mark.parametrize("p", [22, 30, 40, 67, 100])
@pytest.mark.parametrize("kind", ["rank 1", "rank 2", "doubled"])
def test_matrices_of_low_rank(p: int, kind: str) -> None:
    """Covariances of few rows, or of repeated columns, are mostly zero eigenvalues."""
    rng = np.random.default_rng(p)
    for _ in range(20):
        if kind == "rank 1":
            rows = rng.integers(-9, 10, size=(1, p)).astype(float)
        elif kind == "rank 2":
            rows = rng.integers(-9, 10, size=(2, p)) / 3.0
        else:
            rows = np.repeat(rng.normal(size=(50, 2)), p // 2, axis=1)
        matrix = rows.T @ rows
        values, vectors = py_eigen(matrix)
        size = len(matrix)
        assert np.allclose(vectors @ vectors.T, np.eye(size), atol=1e-12)
        assert np.allclose(vectors.T * values @ vectors, matrix, atol=1e-12 * np.abs(matrix).max())


@pytest.mark.parametrize("p", [1, 2, 5, 40, 67, 150])
@pytest.mark.parametrize("rows", [2, 9, 60, 500])
def test_the_dominant_vector_alone(p: int, rows: int) -> None:
    rng = np.random.default_rng(p + rows)
    sample = rng.normal(size=(rows, p)) @ np.diag(rng.random(p) + 0.1)
    matrix = np.cov(sample.T).reshape(p, p)
    vector = py_dominant(matrix)
    assert vector is not None
    values = np.linalg.eigvalsh(matrix)
    assert np.isclose(np.linalg.norm(vector), 1.0, rtol=1e-13)
    assert np.abs(matrix @ vector - values[-1] * vector).max() <= 1e-13 * values[-1]
    assert py_dominant(matrix * 2.0**-700).tolist() == vector.tolist()


def test_the_dominant_vector_of_odd_matrices() -> None:
    assert py_dominant(np.zeros((45, 45))) is None
    assert np.allclose(py_dominant(np.ones((50, 50))), np.sqrt(1 / 50))
    assert np.allclose(np.abs(py_dominant(np.diag(np.arange(60.0)))), np.eye(60)[59], atol=1e-8)
    same = py_dominant(np.eye(60))  # any vector is one
    assert same is not None and np.isclose(np.linalg.norm(same), 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 14])
@pytest.mark.parametrize("grades", [0.0, 6.0, 12.0])
def test_features_of_any_size_have_exact_directions(n: int, grades: float) -> None:
    """v_i' S v_j is 0 beside the eigenvalues of both, in exact arithmetic, not the largest's."""
    matrix = scatter(n, n, 3 * n + 2, grades)
    values, vectors = py_eigen_scatter(matrix, 1e-10)
    assert len(values) == n
    exact = np.array([[Fraction(x) for x in row] for row in matrix.tolist()], dtype=object)
    rows = np.array([[Fraction(x) for x in row] for row in vectors.tolist()], dtype=object)
    found = (rows @ exact @ rows.T).astype(float)
    np.testing.assert_allclose(np.diag(found), values, rtol=1e-8)
    shared = found / np.sqrt(np.outer(values, values))
    np.testing.assert_allclose(shared, np.eye(n), rtol=0, atol=1e-8)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), rtol=0, atol=1e-13 * n)


@pytest.mark.parametrize("grades", [0.0, 8.0])
def test_the_rank_is_that_of_the_correlations(grades: float) -> None:
    matrix = scatter(1, 6, 4, grades)  # four rows through the origin
    matrix[2], matrix[:, 2] = 0.0, 0.0  # a feature that does not vary
    values, vectors = py_eigen_scatter(matrix, 1e-10)
    expected, expected_vectors = plain_eigen_scatter(matrix, 1e-10)
    assert len(values) == len(expected) == 4
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    aligned = np.abs((vectors * expected_vectors).sum(axis=1))
    np.testing.assert_allclose(aligned, 1.0, atol=1e-9)
    assert not vectors[:, 2].any()
