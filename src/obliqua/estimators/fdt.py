"""FDT: one split along Fisher's direction at each node."""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval
from obliqua.estimators._docs import document
from obliqua.estimators._input import (
    SAMPLE_CONSTRAINTS,
    TABLE_CONSTRAINTS,
    CategoricalFeatures,
    with_least_weight,
)
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators.base import BaseTreeClassifier, CriterionLike, Priors, SeedLike

if TYPE_CHECKING:
    from obliqua.data.problem import Problem
    from obliqua.engine.rules import Rules


@document(
    min_weight_leaf=(
        "float",
        """\
The smallest weight that each side of a split must hold; a row without a weight counts 1. This is
what C4.5 means by two examples. Weights that are not all whole numbers count as if their mean
were 1.""",
    ),
)
class FisherTreeClassifier(BaseTreeClassifier):
    """Oblique classification tree by Fisher's linear discriminant (FDT).

    At each node all features are made one: the projection to Fisher's direction, along which the
    two classes lie apart the furthest, compared with their own width. The node is divided by the
    threshold with the largest information gain. More than two classes are made two groups first.
    The tree grows until its leaves are pure, and is pruned as C4.5 does it, with subtree raising.
    Nothing is random.

    [parameters]

    [attributes]

    See Also
    --------
    HHCartClassifier : With `extra_directions='fisher'` Fisher's directions compete with others.
    obliqua.prune.prune_pessimistic : How the tree is pruned.

    Notes
    -----
    The paper is about two classes. The groups of classes for more than two are ours: the means of
    the classes are put in order along the first discriminant, and the order is cut where the sum
    of squares between both sides is largest.

    A singular scatter matrix is inverted by its pseudo-inverse, with one exception, which is ours:
    where the means differ in a direction in which no class varies although there are rows enough,
    this direction is taken, for the classes are certainly apart there. Rows are enough if there
    are at least two more different ones than features that vary at the node. Where all classes
    have the same mean, splits along single features are tried. With 20 features or more, a node
    whose rows are not enough adds the mean variance within the classes to that of each feature,
    a ridge, which is ours too.

    Takes qualitative features and missing values. The paper has numbers only, so this is ours: at
    each node the levels of a column become numbers found from the node's rows (CRIMCOORD, as for
    HHCART), which enter Fisher's direction as any other feature, and so does what stands in for a
    missing number. A missing level is a level of its own. The split remembers these numbers.

    References
    ----------
    .. [1] A. López-Chau, J. Cervantes, L. López-García, F. García Lamont (2013). Fisher's
       decision tree. *Expert Systems with Applications* 40 (16), 6283-6291,
       https://doi.org/10.1016/j.eswa.2013.05.044.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obliqua import FisherTreeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> tree = FisherTreeClassifier().fit(X, y)
    >>> tree.get_n_leaves()
    3
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **SAMPLE_CONSTRAINTS,
        "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
        "refine": ["boolean"],
        "min_weight_leaf": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        max_features_per_split: int | None = None,
        refine: bool = False,
        min_weight_leaf: float = 2.0,
        criterion: CriterionLike = "entropy",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_error: float = 0.0,
        zero_gain_splits: bool = False,
        pruning: PruningLike = "pessimistic",
        prune_fraction: float = 0.1,
        n_folds: int = 10,
        n_se: float = 0.0,
        prune_root: bool = True,
        ccp_alpha: float | None = None,
        confidence_factor: float = 0.25,
        subtree_raising: bool = True,
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
        self.max_features_per_split = max_features_per_split
        self.refine = refine
        self.min_weight_leaf = min_weight_leaf

    def _proposer(self) -> object:
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.fdt import fisher_direction

        return Proposals(
            fisher_direction, axis_parallel=False, max_features=self.max_features_per_split
        )

    def _rules(self, problem: "Problem") -> "Rules":
        return with_least_weight(super()._rules(problem), problem, self.min_weight_leaf)
