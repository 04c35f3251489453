"""Trees over discrete features as functions: their Fourier spectra, and trees from these."""

from obliqua.spectrum.boxes import LeafSum, gram_of_leaves, leaf_sum_of
from obliqua.spectrum.building import Rebuilt, rebuild, tree_of
from obliqua.spectrum.diagnosis import Diagnosis, diagnose
from obliqua.spectrum.domain import Domain, Feature
from obliqua.spectrum.energies import Energy, energy
from obliqua.spectrum.ensembles import TreeSum, tree_sum_of
from obliqua.spectrum.function import Spectrum, spectrum_of
from obliqua.spectrum.measures import Measure, measure_of
from obliqua.spectrum.overlaps import gram
from obliqua.spectrum.principal import Components, gram_of_spectra, principal_components
from obliqua.spectrum.stream import SpectralEnsemble

__all__ = [
    "Components",
    "Diagnosis",
    "Domain",
    "Energy",
    "Feature",
    "LeafSum",
    "Measure",
    "Rebuilt",
    "SpectralEnsemble",
    "Spectrum",
    "TreeSum",
    "diagnose",
    "energy",
    "gram",
    "gram_of_leaves",
    "gram_of_spectra",
    "leaf_sum_of",
    "measure_of",
    "principal_components",
    "rebuild",
    "spectrum_of",
    "tree_of",
    "tree_sum_of",
]
