"""`SpectralEnsemble`: an ensemble that trees join and leave."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import FloatArray
from obliqua.spectrum import _checks
from obliqua.spectrum.domain import Domain, check_domain
from obliqua.spectrum.function import MAX_COEFFICIENTS, Spectrum, gathered, spectrum_of
from obliqua.spectrum.principal import Components, components_of
from obliqua.tree.tree import Tree

__all__ = ["SpectralEnsemble"]

# Trees that leave leave rounding errors as large as their weights. When they have weighed so many
# times what is there, the sum is made anew; for equal weights that costs little for each of them.
_MOST_LEFT = 4.0

_ROUNDING = 1e-12

_VALUES = ("votes", "shares")


class SpectralEnsemble:
    """A weighted ensemble of trees by their spectra, for streams of data.

    When a tree joins or leaves, its own spectrum and its inner products with the other trees are
    all that is found; the aggregated spectrum and the matrix of inner products are updated.

    Parameters
    ----------
    domain : Domain
        The domain, fixed for all trees.
    values : {"votes", "shares"} or callable, default="votes"
        The function of a tree, as in `spectrum_of`; or what makes the values of the nodes of a
        tree.
    energy : float, default=1.0
        The share of its energy that is kept of the spectrum of each tree.
    max_coefficients : int, default=2**20
        The most coefficients of a tree.

    Examples
    --------
    >>> from obliqua import C45Classifier
    >>> from obliqua.spectrum import Domain, SpectralEnsemble
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 5
    >>> ensemble = SpectralEnsemble(Domain.of_levels([2, 2]))
    >>> first = ensemble.add_tree(C45Classifier().fit(X, [0, 0, 1, 1] * 5).tree_)
    >>> second = ensemble.add_tree(C45Classifier().fit(X, [0, 1, 0, 1] * 5).tree_)
    >>> ensemble.gram
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> ensemble.remove_tree(first)
    >>> len(ensemble)
    1
    """

    def __init__(
        self,
        domain: Domain,
        values: str | Callable[[Tree], ArrayLike] = "votes",
        *,
        energy: float = 1.0,
        max_coefficients: int = MAX_COEFFICIENTS,
    ) -> None:
        check_domain(domain)
        if not callable(values) and not (isinstance(values, str) and values in _VALUES):
            raise ValueError(
                "values must be 'votes', 'shares', or a function that makes numbers for the nodes "
                f"of a tree; got {values!r}."
            )
        _checks.check_share("energy", energy)
        _checks.check_count("max_coefficients", max_coefficients, 1)
        self.domain = domain
        self.values = values
        self.energy = energy
        self.max_coefficients = max_coefficients
        self._spectra: dict[int, Spectrum] = {}
        self._weights: dict[int, float] = {}
        self._gram = np.zeros((0, 0))
        self._aggregated: Spectrum | None = None
        self._left = 0.0  # the weight of trees that have left since the sum was last made anew
        self._next = 0

    def __len__(self) -> int:
        return len(self._spectra)

    @property
    def keys(self) -> tuple[int, ...]:
        """The keys of the trees, in the order of `weights`, `spectra` and `gram`."""
        return tuple(self._spectra)

    @property
    def weights(self) -> FloatArray:
        """What each tree counts."""
        return np.array(list(self._weights.values()))

    @property
    def spectra(self) -> tuple[Spectrum, ...]:
        """The spectrum of each tree."""
        return tuple(self._spectra.values())

    @property
    def gram(self) -> FloatArray:
        """The inner products of the trees, a copy."""
        return self._gram.copy()

    @property
    def aggregated(self) -> Spectrum:
        """The spectrum of the ensemble: the sum of weights times spectra."""
        self._check_there()
        assert self._aggregated is not None
        return self._aggregated

    def add_tree(self, tree: Tree, weight: float = 1.0) -> int:
        """Let a tree join.

        Parameters
        ----------
        tree : Tree
            The tree.
        weight : float, default=1.0
            What it counts.

        Returns
        -------
        int
            Its key, for `remove_tree`.

        Raises
        ------
        TreeError
            If it is no tree on this domain; the ensemble stays as it was.
        SpectrumTooLarge
            If its spectrum has more than `max_coefficients`.
        """
        _checks.check_tree(tree)
        if not (isinstance(weight, Real) and np.isfinite(float(weight))):
            raise ValueError(f"The weight of a tree must be a finite number; got {weight!r}.")
        values = self.values(tree) if callable(self.values) else self.values
        spectrum = spectrum_of(
            tree, self.domain, values, max_coefficients=self.max_coefficients
        ).truncate(self.energy)
        if self._aggregated is not None:
            self._aggregated._check_kin(spectrum)
        row = [known.inner(spectrum) for known in self._spectra.values()]
        n = len(self._spectra)
        gram = np.empty((n + 1, n + 1))
        gram[:n, :n] = self._gram
        gram[n, :n] = gram[:n, n] = row
        gram[n, n] = spectrum.energy
        added = spectrum * float(weight)
        self._aggregated = added if self._aggregated is None else self._aggregated + added
        self._gram, key = gram, self._next
        self._spectra[key], self._weights[key] = spectrum, float(weight)
        self._next += 1
        return key

    def remove_tree(self, key: int) -> None:
        """Let a tree leave.

        Parameters
        ----------
        key : int
            What `add_tree` has returned.

        Raises
        ------
        KeyError
            If there is no such tree, or no more.
        """
        if key not in self.keys:
            raise KeyError(
                f"There is no tree with the key {key!r} in this ensemble; there are "
                f"{list(self._spectra)}."
            )
        place = list(self._spectra).index(key)
        spectrum = self._spectra.pop(key)
        weight = self._weights.pop(key)
        self._gram = np.delete(np.delete(self._gram, place, axis=0), place, axis=1)
        self._left += abs(weight)
        if not self._spectra:  # nothing is left of rounding either
            self._aggregated, self._left = None, 0.0
        elif self._left > _MOST_LEFT * np.abs(self.weights).sum():
            self._aggregated, self._left = combined(self.spectra, self.weights), 0.0
        elif self._aggregated is not None:
            self._aggregated = self._aggregated - spectrum * weight

    def components(
        self, n_components: int | float | None = None, *, centred: bool = False
    ) -> Components:
        """Find the principal components of the trees.

        Parameters
        ----------
        n_components : int or float, default=None
            How many, as in `principal_components`.
        centred : bool, default=False
            Whether the mean of each tree is taken off first.
        """
        self._check_there()
        gram = self._gram
        if centred:
            means = np.array([spectrum.mean for spectrum in self.spectra])
            gram = gram - means @ means.T
        # What is left without large means has the rounding errors of these.
        rounding = _ROUNDING * float(np.abs(self._gram).max())
        return components_of(gram, self.weights, n_components, rounding)

    def combined(self, weights: ArrayLike) -> Spectrum:
        """Return a weighted sum of the trees' spectra, such as a component.

        Parameters
        ----------
        weights : array-like of shape (n_trees,)
            What each tree counts, for instance a row of `Components.vectors`.
        """
        self._check_there()
        return combined(self.spectra, _checks.floats_of("The weights", weights))

    def _check_there(self) -> None:
        if not self._spectra:
            raise ValueError("There is no tree in this ensemble. Add one with add_tree.")

    def __repr__(self) -> str:
        return f"SpectralEnsemble({len(self)} trees, {self.domain.n_features} features)"


def combined(spectra: tuple[Spectrum, ...], weights: FloatArray) -> Spectrum:
    """Return a weighted sum of spectra."""
    if weights.shape != (len(spectra),) or not np.isfinite(weights).all():
        raise ValueError(
            f"There must be a finite weight for each of the {len(spectra)} trees; got an array of "
            f"shape {weights.shape}."
        )
    keys = np.concatenate([spectrum.keys for spectrum in spectra])
    values = [
        spectrum.coefficients * weight for spectrum, weight in zip(spectra, weights, strict=True)
    ]
    return gathered(spectra[0].domain, keys, np.concatenate(values))
