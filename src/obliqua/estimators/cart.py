"""CART: the trees whose splits ask about one feature."""

from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from obliqua.data.sparse_rows import no_sparse
from obliqua.estimators._docs import NUMBER_ATTRIBUTES, NUMBER_PARAMETERS, document
from obliqua.estimators._input import (
    MAX_FEATURES,
    MEMORY_CONSTRAINTS,
    TABLE_CONSTRAINTS,
    CategoricalFeatures,
    MaxFeatures,
)
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators.base import (
    BaseTreeClassifier,
    BaseTreeRegressor,
    CriterionLike,
    Priors,
    SeedLike,
)


@document()
class CartClassifier(BaseTreeClassifier):
    """Axis-parallel classification tree (CART).

    Every split compares one feature with a threshold; rows with a value less than or
    equal to it go left. All features and all thresholds are tried, and the best split
    wins; among equals the earlier feature, then the smaller threshold. The tree is pruned on
    a tenth of the rows, which the seed chooses; nothing else is random, unless `max_features`
    lets nodes draw features. The same data and seed give the same tree, bit for bit, in any order
    of the rows. Sparse matrices are taken as they are.

    [parameters]

    [attributes]

    See Also
    --------
    ObliqueTreeClassifier : Splits along directions that any function may propose.

    Notes
    -----
    The default criterion is twoing, as in the papers on oblique trees; for two classes it
    chooses the same splits as gini.

    Takes qualitative features and missing values. A split on a qualitative feature divides its
    levels: for two classes by the best of all subsets (unless `min_samples_leaf` rules it out),
    for more by the best one along the first discriminant coordinate of the levels. Rows that miss
    a number are tried on both sides of each split, and whether it is there is a split too.

    With twoing and ``min_samples_split=2``, which are the defaults, and ``pruning="holdout"`` this
    is OC1-AP: the axis-parallel trees of the OC1 system [2]_. On the data of its paper, sizes and
    accuracies are those of the original program, pruned and not. Three things differ. Where cuts
    of a feature are equally good, the program flips coins. It never splits a node that no cut
    improves, which is ``zero_gain_splits=False``, nor one at depth 50. And it fills in all
    missing values before it begins, by a mean of the whole column in which they count as 0.

    References
    ----------
    .. [1] L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone (1984). *Classification and
       Regression Trees*. Wadsworth.
    .. [2] S. K. Murthy, S. Kasif, S. Salzberg (1994). A system for induction of oblique decision
       trees. *Journal of Artificial Intelligence Research* 2, 1-32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CartClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    3
    >>> tree.predict(X[:2])
    array([0, 0])
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **MEMORY_CONSTRAINTS,
        "max_features": MAX_FEATURES,
    }

    def __init__(
        self,
        *,
        criterion: CriterionLike = "twoing",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: MaxFeatures = None,
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
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.memory_limit = memory_limit
        self.categorical_features = categorical_features
        self.fill = fill
        self.max_features = max_features

    def _why_dense(self) -> str | None:
        return None

    def _proposer(self) -> object:
        from obliqua.engine.proposals import AXIS

        return AXIS


@document(NUMBER_ATTRIBUTES, without=("classes_", "n_classes_"), **NUMBER_PARAMETERS)
class CartRegressor(BaseTreeRegressor):
    """Axis-parallel regression tree (CART).

    Every split compares one feature with a threshold; rows with a value less than or
    equal to it go left. All features and all thresholds are tried, and the split wins that
    reduces the squared error most, or what else `criterion` says; among equals the earlier
    feature, then the smaller threshold. A leaf predicts the mean of its training rows, with
    ``criterion="absolute_error"`` their median, or with ``leaf_model="linear"`` a linear function.
    The tree is pruned on a tenth of the rows, which the seed chooses; nothing else is random,
    unless `max_features` lets nodes draw features. The same data and seed give the same tree, bit
    for bit, in any order of the rows. Sparse matrices are taken as they are.

    [parameters]

    [attributes]

    See Also
    --------
    ObliqueTreeRegressor : Splits along several features.
    RefinedTreeRegressor : The most accurate tree of a given size.
    CartClassifier : The same for classes.

    Notes
    -----
    To choose splits, y is rounded to a grid of 2^26 steps between its least (with "poisson", 0)
    and its largest value; nothing is rounded where these are multiples of a power of two that is
    large enough, as whole numbers are. What leaves predict is the mean, or median, of y itself.

    Takes qualitative features and missing values, and several outputs: then splits reduce the
    sum of their errors.

    With ``pruning=None`` this is scikit-learn's ``DecisionTreeRegressor``, but for ties.

    References
    ----------
    .. [1] L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone (1984). *Classification and
       Regression Trees*. Wadsworth.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliqua import CartRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = CartRegressor(max_leaf_nodes=4, random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    4
    >>> tree.predict(X[:2]).round(1)
    array([225.9,  96.3])
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeRegressor._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **MEMORY_CONSTRAINTS,
        "max_features": MAX_FEATURES,
    }

    def __init__(
        self,
        *,
        leaf_model: str = "constant",
        leaf_penalty: float | None = None,
        leaf_smoothing: float | None = None,
        max_features_per_leaf: int | None = None,
        quantiles: Sequence[float] | None = None,
        criterion: CriterionLike = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        max_features: MaxFeatures = None,
        min_samples_split: float = 2,
        min_samples_leaf: float | None = 1,
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
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.memory_limit = memory_limit
        self.categorical_features = categorical_features
        self.fill = fill
        self.max_features = max_features

    def _why_dense(self) -> str | None:
        if self.leaf_model == "constant":
            return None
        return no_sparse(f"leaf_model={self.leaf_model!r}", "leaf_model='constant' does. ")

    def _proposer(self) -> object:
        from obliqua.engine.proposals import AXIS

        return AXIS

    def _line_proposer(self, penalty: float) -> object:
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.slopes import ModelSlopes

        return Proposals(ModelSlopes(penalty=penalty, oblique=False))
