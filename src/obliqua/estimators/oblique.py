"""A tree whose directions come from any proposer, a Python function for instance."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import HasMethods, Interval, StrOptions
from obliqua.estimators._docs import NUMBER_ATTRIBUTES, NUMBER_PARAMETERS, document
from obliqua.estimators._input import (
    SAMPLE_CONSTRAINTS,
    TABLE_CONSTRAINTS,
    CategoricalFeatures,
)
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators.base import (
    BaseTreeClassifier,
    BaseTreeRegressor,
    CriterionLike,
    Priors,
    SeedLike,
)

_AXIS_PARALLEL = (
    "bool",
    """\
Whether splits along single features compete with the proposed directions. At equal
goodness they win, because they are easier to read.""",
)
_PROPOSER_CONSTRAINTS: dict[str, list[Any]] = {
    **TABLE_CONSTRAINTS,
    **SAMPLE_CONSTRAINTS,
    "proposer": [callable, HasMethods("propose"), HasMethods("finder"), None],
    "axis_parallel": ["boolean"],
    "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
    "scale": [StrOptions({"standard", "robust", "minmax"}), None],
}


@document(
    proposer=(
        "callable, object with a method `propose`, or None",
        """\
What directions to try at a node: a function of a node, or an object whose method
`propose` is one. It may look at `node.X`, `node.y`, `node.sample_weight`, `node.counts`
and draw random numbers from `node.rng`, and returns the normals as an array of shape
(n_directions, n_features), or :class:`Directions` with thresholds or labels, or `None`.
The engine finds the best threshold of each direction. `None` takes the differences of
the class means (:func:`obliqua.methods.means.class_means`). A method of the library, such as
:class:`obliqua.methods.hhcart.Householder`, may stand here too.""",
    ),
    axis_parallel=_AXIS_PARALLEL,
)
class ObliqueTreeClassifier(BaseTreeClassifier):
    """Classification tree whose directions come from a proposer of your own.

    At each node the proposer says where to look for a hyperplane, the engine scores the
    directions exactly and splits the node by the best one. Ten lines make a new kind of
    tree; :func:`obliqua.testing.check_proposer` tells what is wrong with a proposer.

    [parameters]

    [attributes]

    See Also
    --------
    CartClassifier : Splits along single features only.
    obliqua.testing.check_proposer : Try a proposer on toy data.

    Notes
    -----
    Takes qualitative features and missing values. A proposer need not know of them: in `node.X`
    the levels of a column are numbers found from the node's rows (CRIMCOORD, as for HHCART), and
    what is missing is filled in, so all of it is finite. The split remembers these numbers.

    The proposer is called for one node at a time, in the order in which the tree grows. With
    `pruning='cv'` it grows a tree for each fold too.
    The node that it gets is dead after the call. An error that it raises ends the fit, and
    what an earlier fit has set stays as it was.

    Examples
    --------
    Directions between the means of the first class and of the others:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import ObliqueTreeClassifier
    >>> def first_against_rest(node):
    ...     first = node.y == node.y.min()
    ...     return node.X[first].mean(axis=0) - node.X[~first].mean(axis=0)
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(first_against_rest, pruning=None).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **_PROPOSER_CONSTRAINTS,
        "refine": ["boolean"],
    }

    def __init__(
        self,
        proposer: Callable[[Any], Any] | Any | None = None,
        *,
        axis_parallel: bool = True,
        max_features_per_split: int | None = None,
        refine: bool = False,
        scale: str | None = None,
        criterion: CriterionLike = "twoing",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_error: float = 0.0,
        zero_gain_splits: bool = True,
        pruning: PruningLike = "auto",
        prune_fraction: float = 0.1,
        n_folds: int = 10,
        n_se: float = 0.0,
        prune_root: bool = False,
        ccp_alpha: float | None = None,
        confidence_factor: float = 0.25,
        subtree_raising: bool = False,
        class_weight: dict[object, float] | str | None = None,
        priors: Priors = None,
        costs: ArrayLike | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        fill: str = "side",
        random_state: SeedLike = 0,
        memory_limit: int | str | None = None,
        sample_rows: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.memory_limit = memory_limit
        self.sample_rows = sample_rows
        self.categorical_features = categorical_features
        self.fill = fill
        self.proposer = proposer
        self.axis_parallel = axis_parallel
        self.max_features_per_split = max_features_per_split
        self.refine = refine
        self.scale = scale

    def _proposer(self) -> object:
        from obliqua.engine.proposals import Proposals, check_instance
        from obliqua.methods.means import class_means

        check_instance("proposer", self.proposer)
        proposer = class_means if self.proposer is None else self.proposer
        return Proposals(
            proposer,
            axis_parallel=self.axis_parallel,
            max_features=self.max_features_per_split,
            scale=self.scale,
        )


@document(
    NUMBER_ATTRIBUTES,
    without=("classes_", "n_classes_"),
    **{
        **NUMBER_PARAMETERS,
        "proposer": (
            "callable, object with a method `propose`, or None",
            """\
What directions to try at a node: a function of a node, or an object whose method
`propose` is one. It may look at `node.X`, `node.y`, `node.sample_weight` and draw random numbers
from `node.rng`, and returns the normals as an array of shape
(n_directions, n_features), or :class:`Directions` with thresholds or labels, or `None`.
The engine finds the best threshold of each direction. `None` takes the slopes of y
(:class:`obliqua.methods.slopes.Slopes`).""",
        ),
        "axis_parallel": _AXIS_PARALLEL,
    },
)
class ObliqueTreeRegressor(BaseTreeRegressor):
    """Regression tree whose splits are hyperplanes.

    At each node it looks along single features, along the direction of least squares, along
    those that part high from low values of y, and along those in which y bends; or where a
    proposer of your own says. The cut wins that reduces the squared error most, and one of several
    features must earn its coefficients. A leaf predicts the mean of its training rows, or with
    ``leaf_model="linear"`` a linear function; then cuts are compared by what the linear functions
    of their two sides leave over.

    [parameters]

    [attributes]

    See Also
    --------
    RefinedTreeRegressor : Moves all splits of such a tree together; more accurate.
    CartRegressor : Splits along single features only.
    obliqua.testing.check_proposer : Try a proposer on toy data.

    Notes
    -----
    The directions are those of least squares, of slices of y, as in sliced inverse regression
    [1]_, and principal Hessian directions [2]_. A cut with z coefficients at a node of n rows with
    mean squared error V and gain g is compared by ``g - ln(n) (z - 1) (V - g) / n``.

    Takes qualitative features and missing values. In linear functions a level has one number, the
    mean of y over its rows drawn to that of all, and the mean of a feature stands in for what is
    missing. Several outputs: leaves say constants.

    With a proposer of your own and linear functions in the leaves, cuts are compared by the
    squared error about the means of their sides.

    References
    ----------
    .. [1] K.-C. Li (1991). Sliced inverse regression for dimension reduction. *Journal of the
       American Statistical Association* 86, 316-327.
    .. [2] K.-C. Li (1992). On principal Hessian directions for data visualization and dimension
       reduction. *Journal of the American Statistical Association* 87, 1025-1039.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliqua import ObliqueTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = ObliqueTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    4
    >>> bool(tree.score(X, y) > 0.45)
    True
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeRegressor._parameter_constraints,
        **_PROPOSER_CONSTRAINTS,
    }

    def __init__(
        self,
        proposer: Callable[[Any], Any] | Any | None = None,
        *,
        axis_parallel: bool = True,
        max_features_per_split: int | None = None,
        scale: str | None = "standard",
        leaf_model: str = "constant",
        leaf_penalty: float | None = None,
        leaf_smoothing: float | None = None,
        max_features_per_leaf: int | None = None,
        quantiles: Sequence[float] | None = None,
        criterion: CriterionLike = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        zero_gain_splits: bool = True,
        pruning: PruningLike = "auto",
        prune_fraction: float = 0.1,
        n_folds: int = 10,
        n_se: float = 0.0,
        prune_root: bool = False,
        ccp_alpha: float | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        fill: str = "side",
        random_state: SeedLike = 0,
        memory_limit: int | str | None = None,
        sample_rows: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.memory_limit = memory_limit
        self.sample_rows = sample_rows

    def _proposer(self) -> object:
        from obliqua.methods.slopes import Slopes

        return self._along(Slopes() if self.proposer is None else self.proposer)

    def _line_proposer(self, penalty: float) -> object:
        from obliqua.methods.slopes import ModelSlopes

        own = self.proposer
        return self._along(ModelSlopes(penalty=penalty) if own is None else own)

    def _along(self, proposer: object) -> object:
        from obliqua.engine.proposals import Proposals, check_instance

        check_instance("proposer", proposer)
        return Proposals(
            proposer,
            axis_parallel=self.axis_parallel,
            max_features=self.max_features_per_split,
            scale=self.scale,
        )
