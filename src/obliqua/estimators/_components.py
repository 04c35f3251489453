"""The components of an ensemble as a fitted estimator knows them."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obliqua._core.base.linalg import product
from obliqua._sklearn_compat import validate_parameter_constraints
from obliqua._typing import AnyArray, FloatArray
from obliqua.estimators._coding import CODINGS, Coding
from obliqua.estimators._ensembles import SUMS, Ensemble
from obliqua.estimators._spectral import Functions, SpectralClassifier
from obliqua.spectrum.building import Rebuilt, rebuild
from obliqua.spectrum.domain import Domain
from obliqua.spectrum.function import Spectrum, spectrum_of
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

# What a fit was told, kept beside the model: later changes of parameters change no prediction.
TOLD = (
    *("centred", "combine", "predict_with", "spectrum_energy", "max_coefficients"),
    *("max_leaf_nodes", "energy"),
)


class FoundComponents(SpectralClassifier):
    """What can be asked of the components after a fit, or when a file was loaded."""

    ensemble_weights_: FloatArray
    eigenvalues_: FloatArray
    explained_energy_: FloatArray
    component_weights_: FloatArray
    _vectors: list[FloatArray]
    _means: list[FloatArray]
    _told: dict[str, Any]
    _made: dict[str, Any]

    def _hold(self, model: Model, names: AnyArray | None) -> None:
        super()._hold(model, names)
        self._made = {}  # what is found when first asked for

    def _check_notes(self) -> None:
        """Check what a file has said of a fit."""
        n_trees, coding = len(self.model_.trees), Coding(self._told["coding"])
        coding.check(self.model_.classes)
        if coding.name == SUMS and self.model_.combine == "sum":  # as files had it before
            self.model_ = replace(self.model_, combine="log_odds")
        if coding.name not in (*CODINGS, SUMS) or self.domain_.n_features != self.n_features_in_:
            raise ValueError("the coding or the domain of the functions makes no sense")
        n_outputs = coding.values(self.model_.trees[0]).shape[1]
        per_component = [self.eigenvalues_, self.explained_energy_, self.component_weights_]
        for length, arrays in (
            (n_trees, [self.ensemble_weights_, *self._vectors]),
            (len(self._vectors), per_component),
            (n_outputs, self._means),
        ):
            if any(a.shape != (length,) or not np.isfinite(a).all() for a in arrays):
                raise ValueError("the components do not fit the trees")
        if len(self._means) != n_trees or not set(TOLD) <= self._told.keys():
            raise ValueError("what the fit was told is not all there")
        validate_parameter_constraints(
            self._parameter_constraints,
            {name: self._told[name] for name in TOLD},
            type(self).__name__,
        )

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "_made" in state:  # all of it can be found again
            state = {**state, "_made": {}}
        return state

    # --- what was found ------------------------------------------------------------------

    @property
    def _coding(self) -> Coding:
        return Coding(self._told["coding"])

    @property
    def domain_(self) -> Domain:
        """The domain."""
        check_is_fitted(self)
        if "domain" not in self._made:
            self._made["domain"] = Domain.from_dict(self._told["domain"])
        domain: Domain = self._made["domain"]
        return domain

    @property
    def components_(self) -> FloatArray:
        """What each tree adds to each component."""
        check_is_fitted(self)
        return np.array(self._vectors).reshape(len(self._vectors), len(self.model_.trees))

    def _functions(self) -> Functions:
        if "functions" not in self._made:
            model = self.model_
            ensemble = Ensemble(
                tuple(model.trees), self.ensemble_weights_, "", model.encoding, model.classes
            )
            told = self._told
            self._made["functions"] = Functions.of(
                ensemble,
                self.domain_,
                self._coding,
                told["spectrum_energy"],
                told["max_coefficients"],
            )
        functions: Functions = self._made["functions"]
        return functions

    @property
    def spectra_(self) -> tuple[Spectrum, ...]:
        """The spectrum of each tree of the ensemble."""
        check_is_fitted(self)
        known = self._functions().spectra
        if known is not None:
            return known
        most, coding = self._told["max_coefficients"], self._coding
        return tuple(
            spectrum_of(tree, self.domain_, coding.values(tree), max_coefficients=most)
            for tree in self.model_.trees
        )

    def component_spectrum(self, component: int) -> Spectrum:
        """Return the spectrum of a component.

        Parameters
        ----------
        component : int
            Its number, from 0 on.

        Returns
        -------
        Spectrum
            The spectrum.

        Raises
        ------
        SpectrumTooLarge
            If a tree has more than `max_coefficients`; the components are known all the same.
        """
        check_is_fitted(self)
        self._check_number(component)
        spectrum: Spectrum = self._component(component, Functions(self.spectra_, None))
        return spectrum

    def component_model(self, component: int) -> Model:
        """Return the tree of a component, with the names that go with it.

        Parameters
        ----------
        component : int
            Its number, from 0 on.

        Returns
        -------
        Model
            A model for `export_text`, `plot_tree` and the like, which then name levels. Its nodes
            hold numbers for the classes, the means of the component, and no rows.
        """
        check_is_fitted(self)
        self._check_number(component)
        model = self.model_
        combine = model.combine if model.adds_up else "sum"
        return Model((self.trees_[component],), combine, model.encoding, model.classes)

    def _check_number(self, component: int) -> None:
        if not isinstance(component, Integral) or not 0 <= component < len(self._vectors):
            raise ValueError(
                f"There are {len(self._vectors)} components, numbered from 0; got {component!r}."
            )

    def _component(self, number: int, functions: Functions) -> Any:
        vector = self.components_[number]
        shift = -product(vector, np.array(self._means)) if self._told["centred"] else None
        return functions.sum(vector, shift)

    def _rebuilt(self) -> list[Rebuilt]:
        check_is_fitted(self)
        if "rebuilt" not in self._made:
            self._made["rebuilt"] = [
                rebuild(
                    self._component(number, self._functions()),
                    max_leaf_nodes=self._told["max_leaf_nodes"],
                    energy=self._told["energy"],
                    scores=self._coding.scores,
                )
                for number in range(len(self._vectors))
            ]
        built: list[Rebuilt] = self._made["rebuilt"]
        return built

    @property
    def trees_(self) -> tuple[Tree, ...]:
        """The orthogonal trees."""
        return tuple(built.tree for built in self._rebuilt())

    @property
    def fidelity_(self) -> FloatArray:
        """The share of the energy of each component that its tree has."""
        return np.array([built.energy for built in self._rebuilt()])
