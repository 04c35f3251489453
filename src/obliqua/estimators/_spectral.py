"""What the classifiers share that are made of the spectra of an ensemble."""

from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from obliqua._sklearn_compat import Interval, RealNotInt, StrOptions
from obliqua._typing import AnyArray, FloatArray, Rows
from obliqua.data.encoding import QUALITATIVE, Encoding
from obliqua.data.table import encoded_rows
from obliqua.errors import SpectrumTooLarge
from obliqua.estimators._coding import CODINGS, Coding
from obliqua.estimators._ensembles import (
    SUMS,
    VOTES,
    Ensemble,
    grown_members,
    is_ensemble,
    read_ensemble,
    refusal,
)
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators._input import read_training
from obliqua.estimators._labels import check_labels
from obliqua.estimators.base import BaseTreeClassifier
from obliqua.spectrum.boxes import LeafSum, added, gram_of_leaves, leaf_sum_of
from obliqua.spectrum.domain import LEVELS, Domain
from obliqua.spectrum.function import Spectrum, spectrum_of
from obliqua.spectrum.principal import gram_of_spectra
from obliqua.spectrum.stream import combined

MOST_SEED = 2**31 - 1

SPECTRAL_CONSTRAINTS: dict[str, Any] = {
    "estimator": "no_validation",  # _checked_estimator says more
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "max_samples": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "prefit": ["boolean"],
    "coding": [StrOptions({"auto", *CODINGS})],
    "domain": [StrOptions({"thresholds", "discrete"}), Domain],
    "spectrum_energy": [Interval(Real, 0.0, 1.0, closed="right"), None],
    "max_coefficients": [Interval(Integral, 1, None, closed="left")],
    "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
    "energy": [Interval(Real, 0.0, 1.0, closed="right")],
    "random_state": ["random_state"],
    "n_jobs": BaseTreeClassifier._parameter_constraints["n_jobs"],
}

SPECTRAL_PARAMETERS: dict[str, tuple[str, str]] = {
    "estimator": (
        "estimator or None",
        """\
The ensemble. A tree classifier of obliqua whose splits ask about one feature each is bagged:
`n_estimators` of its trees are grown, each from a bootstrap sample; `None` stands for
`C45Classifier()`. `RepeatedTreesClassifier`, and scikit-learn's forests, `BaggingClassifier`,
`AdaBoostClassifier`, `VotingClassifier` and `StackingClassifier` of trees of either library are
cloned and fitted; so are its `GradientBoostingClassifier`, `HistGradientBoostingClassifier` of
numeric columns, and `DecisionTreeClassifier`, which is one tree and not bagged. Stacked trees must
be weighed by a `LogisticRegression` of their shares.""",
    ),
    "n_estimators": ("int", "The number of trees that are bagged."),
    "max_samples": (
        "int or float",
        """\
How many rows are drawn for each bagged tree, with replacement; a float is a share of their
number. A row of weight 2 counts as two rows of weight 1, if weights are whole numbers; a factor
that all weights have in common is a unit.""",
    ),
    "prefit": (
        "bool",
        """\
Whether `estimator` is fitted already and taken as it is. `fit` then looks at the columns of X
only.""",
    ),
    "coding": (
        "{'auto', 'votes', 'shares', '0/1', '-1/+1', '1/2'}",
        """\
What the function of a tree is. 'votes': a 1 for its class and a 0 for the others, so as many
numbers as there are classes (ours). 'shares': the shares of the classes in its leaf. 'auto': what
the ensemble adds up itself, which is votes for bagged trees and for boosting, and shares for
forests and for scikit-learn's bagging. The others are for two classes, as published: one number,
that of the tree's class. Gradient boosting and stacked trees have their own numbers: 'auto'.""",
    ),
    "domain": (
        "{'thresholds', 'discrete'} or Domain",
        """\
What points the functions are about. 'thresholds': numeric columns are cut where the trees of the
ensemble cut them, so nothing is lost. 'discrete': each number that occurs in a column is a level;
a column that holds other than whole numbers, or more than 64 of them, is an error. Levels of
qualitative columns are levels in both cases. All points count the same.""",
    ),
    "spectrum_energy": (
        "float or None",
        """\
The share of its energy that is kept of the spectrum of each tree: the largest coefficients. The
paper has kept about 0.99. `None` keeps all; then the functions are exactly those of the trees.""",
    ),
    "max_coefficients": (
        "int",
        """\
The most coefficients that the spectra of all trees have together. Where there would be more, all
is found from the leaves, with the same result but for rounding; with `spectrum_energy` that is an
error.""",
    ),
    "max_leaf_nodes": ("int or None", "The most leaves of each tree that is built."),
    "energy": (
        "float",
        "A tree that is built is finished when it has this share of the energy of its function.",
    ),
    "random_state": (
        "int, RandomState instance or None",
        """\
The seed of the bagged trees, or of an ensemble that has none of its own. The same seed gives the
same trees, whatever the number of threads.""",
    ),
    "n_jobs": (
        "int or None",
        """\
The number of trees that are grown at the same time, in threads, and of threads for predicting.
`None` means 1 unless a `joblib.parallel_config` context says otherwise; -1 means all cores. It
never changes a result.""",
    ),
}


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions of the trees of an ensemble: their spectra, or else their leaves."""

    spectra: tuple[Spectrum, ...] | None
    leaves: tuple[LeafSum, ...] | None

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        domain: Domain,
        coding: Coding,
        energy: float | None,
        most: int,
    ) -> "Functions":
        """Find the functions of the trees."""
        values = [coding.values(tree) for tree in ensemble.trees]
        pairs = list(zip(ensemble.trees, values, strict=True))
        spectra: list[Spectrum] = []
        left = most
        try:
            for tree, table in pairs:
                limit = left if energy is None else most
                spectrum = spectrum_of(tree, domain, table, max_coefficients=limit)
                spectra.append(spectrum if energy is None else spectrum.truncate(energy))
                left -= len(spectra[-1])
                if left < 0:
                    raise SpectrumTooLarge(
                        f"{len(spectra)} of {len(pairs)} trees have {most - left} coefficients, "
                        f"and max_coefficients allows {most} for all together. Allow more, take "
                        "smaller trees, or leave spectrum_energy out, which needs no spectra."
                    )
        except SpectrumTooLarge:
            if energy is not None:
                raise
            return cls(None, tuple(leaf_sum_of(tree, domain, table) for tree, table in pairs))
        return cls(tuple(spectra), None)

    @property
    def _known(self) -> tuple[Any, ...]:
        return self.spectra if self.spectra is not None else self.leaves or ()

    def gram(self) -> FloatArray:
        """Return the inner products."""
        if self.spectra is not None:
            return gram_of_spectra(self.spectra)
        return gram_of_leaves(self.leaves or ())

    def means(self) -> FloatArray:
        """Return the means over the domain, of shape (n_trees, n_outputs)."""
        return np.array([function.mean for function in self._known])

    def sum(self, weights: FloatArray, shift: FloatArray | None = None) -> Any:
        """Return the function that is a weighted sum of those of the trees, and of a constant."""
        if self.spectra is not None:
            total = combined(self.spectra, weights)
            if shift is not None:
                total = total + Spectrum.from_dict(total.domain, {(): shift})
            return total
        pairs = zip(self.leaves or (), weights.tolist(), strict=True)
        parts = [leaves * weight for leaves, weight in pairs]
        if shift is not None:
            parts.append(LeafSum(parts[0].domain, shift[None, :], {}))
        return added(parts)


class SpectralClassifier(TreesClassifier):
    """Base of the classifiers that are made of the spectra of an ensemble."""

    _parameter_constraints: ClassVar[dict[str, Any]] = SPECTRAL_CONSTRAINTS
    _plain_vote = False  # an ensemble of these would not be a sum over its trees

    estimator: Any
    n_estimators: int
    max_samples: float
    prefit: bool
    coding: str
    domain: Any
    spectrum_energy: float | None
    max_coefficients: int
    max_leaf_nodes: int | None
    energy: float
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        """Say what the ensemble takes."""
        tags = super().__sklearn_tags__()
        taken = self._takes_odd_of(self._given())
        tags.input_tags.allow_nan = tags.input_tags.categorical = taken
        return tags

    def _given(self) -> Any:
        """Return the ensemble as it was given, or what stands for it."""
        if self.estimator is not None:
            return self.estimator
        from obliqua.estimators.c45 import C45Classifier

        return C45Classifier()

    @staticmethod
    def _takes_odd_of(given: Any) -> bool:
        if not isinstance(given, TreesClassifier) or isinstance(given, SpectralClassifier):
            return False
        return bool(given.__sklearn_tags__().input_tags.allow_nan)

    def _validate_params(self) -> None:
        super()._validate_params()
        given = self._given()
        if isinstance(given, SpectralClassifier) or not (self.prefit or is_ensemble(given)):
            raise TypeError(refusal(given))

    # --- the ensemble --------------------------------------------------------------------

    def _ensemble(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Ensemble, Rows, AnyArray | None]:
        """Fit or read the ensemble; also return the rows that it walks and names of columns."""
        self._check_saved()
        if sparse.issparse(X):
            raise TypeError(self._why_dense())
        given = self._given()
        if self.prefit:
            return self._prefit(given, X, y)
        if isinstance(given, BaseTreeClassifier):
            return self._bagged(given, X, y, sample_weight)
        fitted = clone(given)
        if self.random_state is not None:
            fitted.set_params(**self._missing_seeds(fitted))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if isinstance(given, TreesClassifier):
            try:
                fitted.fit(X, y, **weights)
            except NotFittedError as error:  # a student, whose teacher is cloned with it
                raise NotFittedError(
                    f"{type(given).__name__} is cloned and fitted here, and what it holds must be "
                    "fitted before. If it is fitted itself, say prefit=True: then it is taken as "
                    f"it is. (Its fit said: {error})"
                ) from error
            rows = fitted._check_rows(X)
            return read_ensemble(fitted), rows, getattr(fitted, "feature_names_in_", None)
        seen = copy(self)
        seen._takes_odd = False
        check_labels(y)
        table, y = read_training(seen, X, y)
        ensemble = read_ensemble(fitted.fit(table.Z, y, **weights))
        names = getattr(seen, "feature_names_in_", None)
        encoding = table.encoding if ensemble.encoding.numeric else ensemble.encoding
        return (
            Ensemble(
                ensemble.trees, ensemble.weights, ensemble.values, encoding, ensemble.classes
            ),
            table.Z,
            names,
        )

    def _missing_seeds(self, ensemble: Any) -> dict[str, int]:
        """Return a seed for each part of an ensemble that has none, by the parameter's name."""
        seedless = sorted(
            name
            for name, value in ensemble.get_params().items()
            if value is None and name.rpartition("__")[2] == "random_state"
        )
        return dict(zip(seedless, self._seeds(len(seedless)).tolist(), strict=True))

    def _seeds(self, n: int) -> Any:
        random = check_random_state(self.random_state)
        return random.randint(MOST_SEED, size=n, dtype=np.int64)

    def _bagged(
        self, given: BaseTreeClassifier, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Ensemble, Rows, AnyArray | None]:
        method = clone(given)
        method._validate_params()
        seen, problem, classes = method._encoded(X, y, sample_weight)
        n = int(self.n_estimators)
        max_samples = self.max_samples
        grown = grown_members(method, problem, self._seeds(n), self.n_jobs, max_samples)
        trees = tuple(tree for tree, _ in grown)
        ensemble = Ensemble(trees, np.full(n, 1.0 / n), VOTES, problem.encoding, classes)
        return ensemble, problem.Z, getattr(seen, "feature_names_in_", None)

    def _prefit(self, given: Any, X: Any, y: Any) -> tuple[Ensemble, Rows, AnyArray | None]:
        ensemble = read_ensemble(given)
        seen = copy(self)
        validate_data(seen, X, skip_check_array=True)
        check_consistent_length(X, y)
        names = getattr(seen, "feature_names_in_", None)
        known = getattr(given, "feature_names_in_", None)
        n_columns = ensemble.encoding.n_columns
        if seen.n_features_in_ != n_columns or (
            names is not None and known is not None and list(names) != list(known)
        ):
            raise ValueError(
                f"The ensemble was fitted with {n_columns} columns, "
                f"{', '.join(ensemble.encoding.names[:10])}; X has {seen.n_features_in_}"
                f"{'' if names is None else ', ' + ', '.join(map(str, names[:10]))}. Give the "
                "columns that it was fitted with, in their order."
            )
        odd = self._takes_odd_of(given)
        return ensemble, encoded_rows(X, ensemble.encoding, missing=odd), known

    def _domain_of(self, ensemble: Ensemble, Z: Rows) -> Domain:
        """Return the domain that the parameter asks for."""
        if isinstance(self.domain, Domain):
            if self.domain.n_features != ensemble.encoding.n_columns:
                raise ValueError(
                    f"The domain must have a feature for each of the "
                    f"{ensemble.encoding.n_columns} columns; got {self.domain.n_features}."
                )
            self._check_levels(self.domain, ensemble.encoding)
            self._check_values(self.domain, ensemble.encoding, Z)
            return self.domain
        if self.domain == "discrete":
            return Domain.of_rows(Z, ensemble.encoding)
        return Domain.of_trees(ensemble.trees, ensemble.encoding)

    @staticmethod
    def _check_levels(domain: Domain, encoding: Encoding) -> None:
        """Refuse a domain that has other levels than the trees have read."""
        for column, feature in zip(encoding.columns, domain.features, strict=True):
            if column.kind == QUALITATIVE and not (
                feature.kind == LEVELS and feature.entries[: len(column.levels)] == column.levels
            ):
                raise ValueError(
                    f"The domain has the {feature.kind} {list(feature.entries[:10])} for column "
                    f"{column.name!r}, whose levels are {list(column.levels[:10])} in this order. "
                    "Make it of the same table, with Domain.of_table, or take domain='thresholds'."
                )

    @staticmethod
    def _check_values(domain: Domain, encoding: Encoding, Z: Rows) -> None:
        """Refuse a domain that has no place for numbers of the training rows."""
        outside = (domain.codes(Z) < 0) & ~np.isnan(np.asarray(Z, dtype=np.float64))
        for place, column in enumerate(encoding.columns):
            if column.kind != QUALITATIVE and outside[:, place].any():
                number = float(Z[np.argmax(outside[:, place]), place])
                feature = domain.features[place]
                raise ValueError(
                    f"The domain has the {feature.kind} {list(feature.entries[:10])} for column "
                    f"{column.name!r}, which holds {number:g}. Make it of the same table, with "
                    "Domain.of_table, or take domain='thresholds'."
                )

    def _coding_of(self, ensemble: Ensemble) -> Coding:
        if ensemble.values == SUMS and self.coding != "auto":
            raise ValueError(
                "The trees of gradient boosting and of stacking have numbers to add up, no votes "
                f"or shares: coding must be 'auto'; got {self.coding!r}."
            )
        coding = Coding(ensemble.values if self.coding == "auto" else self.coding)
        coding.check(ensemble.classes)
        return coding
