"""QUEST: variables by tests of significance, split points by discriminant analysis."""

from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, StrOptions
from obliqua.estimators._docs import document
from obliqua.estimators._input import TABLE_CONSTRAINTS, CategoricalFeatures
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators.base import BaseTreeClassifier, CriterionLike, Priors, SeedLike


@document(
    split=(
        "{'univariate', 'linear'}",
        """\
Splits on one feature, which tests of significance choose, or on a linear combination of all
features, their linear discriminant.""",
    ),
    split_point=(
        "{'quadratic', 'linear'}",
        """\
Where a split is made: where normal densities of the two superclasses, times their shares in the
node, are equal. 'quadratic' gives each of them a variance of its own, 'linear' both the same.""",
    ),
    alpha=(
        "float",
        """\
The level of significance of the tests that choose a feature, before Bonferroni's correction. It
decides whether classes are compared by their means or by their spread; a node without any
significant feature is split all the same. Only for `split='univariate'`.""",
    ),
    criterion=(
        (
            "{'twoing', 'gini', 'entropy', 'gain_ratio', 'max_minority', 'sum_minority', "
            "'sum_variances', 'node_variances'} or callable"
        ),
        """\
What the gain of a split is measured by. It does not choose the splits; importances,
`max_leaf_nodes` and `min_impurity_decrease` need it. A function is called with two vectors, the
weighted class counts left and right of the split, and returns a number; where it is negative
there is no split. A criterion given by name that is negative counts as 0.""",
    ),
    zero_gain_splits=(
        "bool",
        """\
Whether a split is made also if `criterion` says that nothing is gained, for instance because the
shares of the classes stay exactly as they were. QUEST does not look at them; without such splits a
pattern such as exclusive or may end the tree.""",
    ),
    max_features_per_split=(
        "int or None",
        """\
The most features that a linear combination may use: those of largest `|coefficient| * standard
deviation in the node`. The best threshold along what is left is then searched with `criterion`.
`None` sets no limit. Not in QUEST.""",
    ),
    prune_root=(
        "bool",
        """\
Whether the root's split may be cut too. The QUEST program may cut it; the default is that of
the other methods here.""",
    ),
)
class QuestClassifier(BaseTreeClassifier):
    """Classification tree by significance tests and discriminant analysis (QUEST).

    The feature to split on is chosen first, by one test per feature: analysis of variance for
    numbers, chi-square for levels. So a feature with many possible splits has no better chances
    than one with few, as it has where all splits are searched. Then the split point is computed,
    not searched: with more than two classes, 2-means of the class means makes two superclasses,
    and the point is where their normal densities cross. `split='linear'` splits on Fisher's
    linear discriminant of all features instead.

    [parameters]

    [attributes]

    See Also
    --------
    CartClassifier : Splits on one feature, chosen by trying all of them.
    HHCartClassifier : Oblique splits, chosen by trying many directions.

    Notes
    -----
    Takes qualitative features and missing values. A qualitative feature is tested by chi-square on
    its levels, of which "missing" is one; it is split by the numbers that the node's rows give
    its levels (CRIMCOORD). A missing number does not count in the tests. With `fill='side'` rows
    that miss it are tried on both sides of the split, and whether it is there, in the place of the
    split, if that gains more; otherwise a mean stands in for it.

    Priors and misclassification costs are `priors` and `class_weight`; they weigh the rows, but
    not in the tests. Sample weights that are whole numbers count as numbers of rows there; others
    are brought to a mean of 1.

    Everything is deterministic; the seed only chooses the folds on which the tree is pruned.

    References
    ----------
    .. [1] W.-Y. Loh, Y.-S. Shih (1997). Split selection methods for classification trees.
       *Statistica Sinica* 7, 815-840.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import QuestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = QuestClassifier(split="linear", random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    3
    >>> tree.tree_.origin_labels
    ('axis-parallel', 'linear discriminant')
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        "split": [StrOptions({"univariate", "linear"})],
        "split_point": [StrOptions({"quadratic", "linear"})],
        "alpha": [Interval(Real, 0.0, 1.0, closed="neither")],
        "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        split: str = "univariate",
        split_point: str = "quadratic",
        alpha: float = 0.05,
        max_features_per_split: int | None = None,
        criterion: CriterionLike = "twoing",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_error: float = 0.0,
        zero_gain_splits: bool = True,
        pruning: PruningLike = "cv",
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
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.categorical_features = categorical_features
        self.fill = fill
        self.split = split
        self.split_point = split_point
        self.alpha = alpha
        self.max_features_per_split = max_features_per_split

    def _proposer(self) -> object:
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.quest import Quest

        return Proposals(
            Quest(self.split, self.split_point, float(self.alpha)),
            axis_parallel=False,
            max_features=self.max_features_per_split,
        )
