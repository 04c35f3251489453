"""Trees over discrete features as functions: their Fourier spectra, and trees from these."""

from obliqua.spectrum.boxes import LeafSum, gram_of_leaves, leaf_sum_of
from obliqua.spectrum.building import Rebuilt, rebuild, tree_of
from obliqua.spectrum.domain import Domain, Feature
from obliqua.spectrum.function import Spectrum
from obliqua.spectrum.paths import spectrum_of
from obliqua.spectrum.principal import Components, gram_of_spectra, principal_components
from obliqua.spectrum.stream import SpectralEnsemble

__all__ = [
    "Components",
    "Domain",
    "Feature",
    "LeafSum",
    "Rebuilt",
    "SpectralEnsemble",
    "Spectrum",
    "gram_of_leaves",
    "gram_of_spectra",
    "leaf_sum_of",
    "principal_components",
    "rebuild",
    "spectrum_of",
    "tree_of",
]
