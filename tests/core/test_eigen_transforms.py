"""The transformations of 2C-ETCT, beside their definitions by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua.data.problem import encode
from obliqua.methods.eigen_tree import (
    DEFAULT,
    TRANSFORMATIONS,
    Complement,
    EigenTree,
    PairMoments,
    directions_of,
    moments_of,
    space_of,
    unit,
)
from problems import examples


def two_classes(
    seed: int, n: tuple[int, int] = (30, 20), d: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d))
    A = rng.normal(size=(n[0], d)) @ mix + rng.normal(size=d)
    B = rng.normal(size=(n[1], d)) @ mix * 2 + rng.normal(size=d)
    return A, B


def moments(A: np.ndarray, B: np.ndarray) -> PairMoments:
    return PairMoments(
        np.array([len(A), len(B)], dtype=float),
        A.mean(axis=0) - B.mean(axis=0),
        np.array([np.cov(C.T, bias=True).reshape(C.shape[1], -1) for C in (A, B)]),
    )


def same_line(a: np.ndarray, b: np.ndarray, atol: float = 1e-9) -> None:
    a, b = unit(a), unit(b)
    np.testing.assert_allclose(a * np.sign(a @ b), b, atol=atol)


@examples(50)
@given(seed=st.integers(0, 10**9), d=st.integers(1, 6))
def test_matrices_are_their_definitions(seed: int, d: int) -> None:
    A, B = two_classes(seed, d=d)
    found = moments(A, B)
    T = np.vstack([A, B])
    np.testing.assert_allclose(found.total, np.cov(T.T, bias=True).reshape(d, d), atol=1e-9)
    pairs = (A[:, None] - B[None]).reshape(-1, d)
    np.testing.assert_allclose(found.differences, pairs.T @ pairs / len(pairs), atol=1e-9)


def test_principal_and_separation_components_are_eigenvectors() -> None:
    A, B = two_classes(0)
    found = moments(A, B)
    for name, matrix in (("pca", found.total), ("psc", found.differences)):
        rows = directions_of(name, found)
        values, vectors = np.linalg.eigh(matrix)
        assert len(rows) == 5
        for k, row in enumerate(rows):
            same_line(row, vectors[:, 4 - k], 1e-7)
        np.testing.assert_allclose(rows @ matrix @ rows.T, np.diag(values[::-1]), atol=1e-9)


def test_fisher_is_the_one_eigenvector_then_components_within() -> None:
    A, B = two_classes(1)
    found = moments(A, B)
    rows = directions_of("fisher", found)
    between = found.total - found.within
    values, vectors = np.linalg.eig(np.linalg.solve(found.within, between))
    same_line(rows[0], vectors[:, np.argmax(values.real)].real, 1e-7)
    assert np.count_nonzero(values.real > 1e-9 * values.real.max()) == 1  # all others are 0
    np.testing.assert_allclose(rows[1:] @ found.apart, 0.0, atol=1e-9)
    inside = rows[1:] @ found.within @ rows[1:].T
    np.testing.assert_allclose(inside, np.diag(inside.diagonal()), atol=1e-9)
    assert (np.diff(inside.diagonal()) < 0).all()


@pytest.mark.parametrize("name", ["first+pca", "first+psc"])
def test_projection_perpendicular_to_the_means(name: str) -> None:
    A, B = two_classes(2)
    found = moments(A, B)
    p = unit(found.apart)
    rows = directions_of(name, found)
    same_line(rows[0], p)
    # As the paper says it: instances projected on the hyperplane, then the technique.
    away = np.eye(5) - np.outer(p, p)
    projected = moments(A @ away, B @ away)
    matrix = projected.total if name == "first+pca" else projected.differences
    _, vectors = np.linalg.eigh(matrix)
    assert rows.shape == (5, 5)
    for k, row in enumerate(rows[1:]):
        same_line(row, vectors[:, 4 - k], 1e-7)


def test_what_the_difference_of_means_leaves_undefined() -> None:
    A, B = two_classes(3)
    found = moments(A, B)
    alone = directions_of("first+fisher", found)
    assert alone.shape == (1, 5)
    same_line(alone[0], found.apart)
    # After another first direction, Fisher's is defined again.
    after = directions_of("first+fisher", found, np.array([1.0, 0, 0, 0, 0]))
    assert len(after) == 5
    rest = moments(A[:, 1:], B[:, 1:])
    same_line(after[1, 1:], np.linalg.solve(rest.within, rest.apart), 1e-7)


def test_equal_sizes_make_two_of_them_one() -> None:
    A, B = two_classes(4, n=(25, 25))
    found = moments(A, B)
    np.testing.assert_allclose(
        directions_of("first+pca", found), directions_of("first+psc", found), atol=1e-9
    )


@examples(50)
@given(seed=st.integers(0, 10**9), d=st.integers(1, 6))
def test_a_complement_is_a_basis(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    p = unit(rng.normal(size=d) if seed % 3 else np.eye(d)[seed % d])
    rest = Complement.of(p)
    basis = rest.back(np.eye(d - 1))
    np.testing.assert_allclose(basis @ basis.T, np.eye(d - 1), atol=1e-12)
    np.testing.assert_allclose(basis @ p, 0.0, atol=1e-12)
    M = np.cov(rng.normal(size=(d, 20))).reshape(d, d)
    np.testing.assert_allclose(rest.matrix(M), basis @ M @ basis.T, atol=1e-12)
    np.testing.assert_allclose(rest.vector(M[0]), basis @ M[0], atol=1e-12)


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_directions_without_spread_are_left_out(name: str) -> None:
    A, B = two_classes(5, d=3)
    A, B = (np.column_stack([C, C[:, 0], np.ones(len(C)), C @ [1, 2, 3]]) for C in (A, B))
    rows = directions_of(name, moments(A, B))
    assert len(rows) == (1 if name == "first+fisher" else 3)
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_fewer_rows_than_features(name: str) -> None:
    A, B = two_classes(6, n=(4, 3), d=12)
    rows = directions_of(name, moments(A, B))
    assert np.isfinite(rows).all()
    assert len(rows) == (1 if name == "first+fisher" else 6)
    if name == "fisher":  # it tells all rows apart, with a ridge
        assert (A @ rows[0]).min() > (B @ rows[0]).max() or (A @ rows[0]).max() < (
            B @ rows[0]
        ).min()


def test_equal_means() -> None:
    A, _ = two_classes(7)
    found = moments(A, A * 2 - A.mean(axis=0))
    assert not found.differ
    assert directions_of("fisher", found).shape == (0, 5)
    np.testing.assert_array_equal(directions_of("first+pca", found), directions_of("pca", found))


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_signs_are_settled(name: str) -> None:
    A, B = two_classes(8)
    found = moments(A, B)
    rows = directions_of(name, found)
    part = rows * np.sqrt(found.total.diagonal())
    leading = np.abs(part).argmax(axis=1)
    assert (part[np.arange(len(rows)), leading] > 0).all()
    swapped = directions_of(name, moments(B, A))
    np.testing.assert_allclose(rows, swapped, atol=1e-9)


# --- from rows --------------------------------------------------------------------------------


def test_moments_of_rows() -> None:
    A, B = two_classes(9)
    problem = encode(np.vstack([A, B]), [0] * len(A) + [1] * len(B), 2)
    found = moments_of(problem, np.ones(5))
    assert found is not None
    truth = moments(A, B)
    size = np.sqrt(truth.total[0, 0] / found.total[0, 0])  # they have a unit of their own
    np.testing.assert_allclose(found.apart * size, truth.apart, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.total * size**2, truth.total, rtol=1e-5, atol=1e-5)


def test_huge_and_tiny_features() -> None:
    A, B = two_classes(10, d=3)
    X = np.vstack([A, B])
    y = [0] * len(A) + [1] * len(B)
    for unit_of in (1e150, 1e-150):
        plain = space_of(encode(X, y, 2), EigenTree())
        moved = space_of(encode(X * unit_of, y, 2), EigenTree())
        for name in DEFAULT:
            for one, other in zip(plain.directions[name], moved.directions[name], strict=True):
                np.testing.assert_allclose(one.coef, other.coef, rtol=1e-5, atol=1e-6)
    mixed = space_of(encode(X * [1e200, 1.0, 1e-200], y, 2), EigenTree())
    assert all(np.isfinite(d.coef).all() for rows in mixed.directions.values() for d in rows)


def test_scale_measures_features_by_their_spread() -> None:
    A, B = two_classes(11)
    X, y = np.vstack([A, B]), [0] * len(A) + [1] * len(B)
    units = np.array([1.0, 64.0, 0.25, 1024.0, 2.0])
    method = EigenTree(scale="standard")
    one, other = space_of(encode(X, y, 2), method), space_of(encode(X * units, y, 2), method)
    for name in DEFAULT:
        for a, b in zip(one.directions[name], other.directions[name], strict=True):
            np.testing.assert_array_equal(a.columns, b.columns)
            np.testing.assert_allclose(a.coef, b.coef * units[b.columns], rtol=1e-6)
