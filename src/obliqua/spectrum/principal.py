"""Inner products of spectra, and the eigen-analysis of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from obliqua._core.base.linalg import product, py_eigen
from obliqua._typing import FloatArray
from obliqua.spectrum import _checks, _keys
from obliqua.spectrum.function import Spectrum

__all__ = ["Components", "gram_of_spectra", "principal_components"]


# An eigenvalue below 0 is what rounding leaves of 0 if it is this small beside the largest one; or
# at all, for trees that hardly vary have nothing else when their means are taken off.
_NEGATIVE, _NOTHING = 1e-6, 1e-9


@dataclass(frozen=True, eq=False)
class Components:
    """The principal components of an ensemble.

    Component ``q`` is the function ``sum of vectors[q, i] * tree i`` over the trees (of the trees
    without their means, if the analysis was centred). The components are orthogonal to each
    other, and the mean square of component ``q`` is ``eigenvalues[q]``.

    Parameters
    ----------
    vectors : ndarray of shape (n_components, n_trees)
        What each tree adds to each component: eigenvectors of length 1.
    eigenvalues : ndarray of shape (n_components,)
        The energy of each component, descending.
    explained : ndarray of shape (n_components,)
        Its share in the energy of all components.
    weights : ndarray of shape (n_components,)
        What each component counts in the ensemble: with all of them, the sum of weights times
        components is the ensemble.
    """

    vectors: FloatArray
    eigenvalues: FloatArray
    explained: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def tree_weights(self) -> FloatArray:
        """What each tree counts in the sum of weights times components."""
        return product(self.weights, self.vectors)


def gram_of_spectra(spectra: Sequence[Spectrum]) -> FloatArray:
    """Return the inner products of spectra with each other.

    Parameters
    ----------
    spectra : sequence of Spectrum
        Spectra over the same domain, with as many outputs.

    Returns
    -------
    ndarray of shape (n_spectra, n_spectra)
        The inner products.
    """
    _checks.check_kind(spectra, Spectrum, "spectrum")
    for spectrum in spectra[1:]:
        spectra[0]._check_kin(spectrum)
    n_outputs = spectra[0].n_outputs
    _, place = _keys.group(np.concatenate([spectrum.keys for spectrum in spectra]))
    lengths = [len(spectrum) * n_outputs for spectrum in spectra]
    columns = (place[:, None] * n_outputs + np.arange(n_outputs)).ravel()
    values = np.concatenate([spectrum.coefficients.ravel() for spectrum in spectra])
    start = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(spectra), int(columns.max(initial=0)) + 1)
    matrix = sparse.csr_array((values, columns, start), shape=shape)
    gram = (matrix @ matrix.conj().T).toarray().real
    return np.asarray((gram + gram.T) / 2)


def principal_components(
    gram: ArrayLike, weights: ArrayLike, n_components: int | float | None = None
) -> Components:
    """Find the principal components of an ensemble from the inner products of its trees.

    Parameters
    ----------
    gram : array-like of shape (n_trees, n_trees)
        The inner products; of the trees without their means for a centred analysis.
    weights : array-like of shape (n_trees,)
        What each tree counts in the ensemble.
    n_components : int or float, default=None
        How many; a share of the energy, above 0 and below 1, that the first ones must have; None
        for as many as there are trees. There are never more than trees.

    Returns
    -------
    Components
        The components, that with the largest energy first. Each has the sign with which it counts
        positively in the ensemble.

    Raises
    ------
    ValueError
        If the matrix is not square, symmetric, finite and positive semi-definite, or something
        else does not fit it.
    """
    return components_of(gram, weights, n_components, _NOTHING)


def components_of(
    gram: ArrayLike, weights: ArrayLike, n_components: int | float | None, rounding: float
) -> Components:
    """Do the same; an eigenvalue may be below 0 by what rounding makes."""
    matrix = _checks.floats_of("The inner products", gram)
    alpha = _checks.floats_of("The weights", weights)
    _check(matrix, alpha, n_components)
    values, vectors = py_eigen(matrix)
    if values[-1] < -(_NEGATIVE * np.abs(values).max() + rounding):
        raise ValueError(
            "The matrix of inner products must be positive semi-definite, as those of functions "
            f"are; this one has the eigenvalue {values[-1]:g} beside {values[0]:g}. Make it with "
            "gram_of_spectra or gram_of_leaves."
        )
    values = np.maximum(values, 0.0)
    total = float(values.sum())
    explained = values / total if total > 0 else np.zeros_like(values)
    counts = product(vectors, alpha)
    largest = vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)]
    # Where the ensemble does not decide, the largest entry does.
    sign = np.where(np.abs(counts) > 1e-12 * np.abs(alpha).sum(), counts, largest)
    vectors = vectors * np.where(sign < 0, -1.0, 1.0)[:, None]
    if n_components is None:
        kept = len(values)
    elif isinstance(n_components, Integral):
        kept = int(n_components)
    else:
        enough = float(n_components) * (1.0 - 1e-12)
        kept = int(np.searchsorted(np.cumsum(explained), enough)) + 1
    kept = min(kept, len(values))
    return Components(
        vectors[:kept], values[:kept], explained[:kept], product(vectors[:kept], alpha)
    )


def _check(matrix: FloatArray, weights: FloatArray, n_components: int | float | None) -> None:
    n = len(weights) if weights.ndim == 1 else 0
    if n == 0 or matrix.shape != (n, n) or not np.isfinite([*matrix.ravel(), *weights]).all():
        raise ValueError(
            "There must be a finite inner product for each pair of trees, and a finite weight for "
            f"each tree; got arrays of shapes {matrix.shape} and {weights.shape}."
        )
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-9 * np.abs(matrix).max()):
        raise ValueError(
            "The matrix of inner products must be symmetric; this one is not. Make it with "
            "gram_of_spectra or gram_of_leaves."
        )
    if n_components is None or (_checks.is_whole(n_components) and n_components >= 1):
        return
    if isinstance(n_components, Integral) or not (
        isinstance(n_components, Real) and 0.0 < float(n_components) < 1.0
    ):
        raise ValueError(
            "n_components is a number of at least 1, a share of the energy above 0 and below 1, "
            f"or None; got {n_components!r}."
        )
