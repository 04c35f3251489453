"""C4.5: gain ratio, branches for levels, pessimistic pruning."""

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, StrOptions
from obliqua.estimators._docs import PARAMETERS, document
from obliqua.estimators._input import (
    TABLE_CONSTRAINTS,
    CategoricalFeatures,
    with_least_weight,
)
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators.base import BaseTreeClassifier, Priors, SeedLike

if TYPE_CHECKING:
    from obliqua.data.problem import Problem
    from obliqua.engine.rules import Rules
    from obliqua.methods.c45 import C45
    from obliqua.tree.tree import Tree


@document(
    criterion=(
        "{'gain_ratio', 'entropy'}",
        """\
Which column divides a node: among those of at least average information gain the one with the
largest gain ratio, or simply the one with the largest gain (C4.5's option `-g`).""",
    ),
    mdl_correction=(
        "bool",
        """\
Whether the gain of a threshold is lowered by `log2(number of thresholds tried) / weight of the
node`, as in release 8. It keeps columns of many different numbers from winning by chance.""",
    ),
    binary=(
        "bool",
        """\
Whether a split on a qualitative column puts one level against all others, as J48 does with its
option `-B`: the level with the largest gain ratio, or with `criterion='entropy'` the largest gain.
By default each level at the node has a branch of its own.""",
    ),
    min_weight_leaf=(
        "float",
        """\
The smallest weight that each side of a threshold must hold, and that at least two branches of a
split on levels must hold. A row without a weight counts 1, so this is C4.5's option `-m`.
Weights that are not all whole numbers count as if their mean were 1.""",
    ),
    min_weight_fraction_leaf=(
        "float",
        """\
The same as a fraction of the total weight, at most 0.5; the larger one counts. A branch of a
split on levels may hold less.""",
    ),
    max_leaf_nodes=(
        "int or None",
        """\
The most leaves. Nodes are split in order of their gain; `None` grows all of them. A split with
more branches than there is room for is left out, so there may be fewer leaves.""",
    ),
    pruning=(
        PARAMETERS["pruning"][0],
        PARAMETERS["pruning"][1]
        + """
Whatever it is, subtrees that save no error on the training rows become leaves before; only
`collapse=False` leaves the tree as it has grown.""",
    ),
    ccp_alpha=(
        "float or None",
        PARAMETERS["ccp_alpha"][1]
        + """
The tree is collapsed before, also for 0, unless `collapse=False`.""",
    ),
    min_class_share=(
        "float",
        """\
Each side of a threshold must hold at least this share of the node's average weight per class, or
25, if that is less: a rule of the program. 0 leaves it out.""",
    ),
    collapse=(
        "bool",
        """\
Whether a subtree that makes no fewer errors on the training rows than a leaf in its place becomes
that leaf, before the tree is pruned.""",
    ),
    fill=(
        "{'side', 'heaviest'}",
        """\
What becomes of a missing value. `'side'` tries rows that miss a number on both sides of a
threshold, takes whether the value is there as a split of its own, and a missing level as one more
level. With `'heaviest'` gains are counted on the rows whose value is known, times their share, as
in C4.5, and rows that miss it take the branch with the largest weight.""",
    ),
    min_samples_leaf=(
        "int or float",
        """\
The smallest number of rows that each side of a threshold must hold, and that at least two branches
of a split on levels must hold. A float is a fraction of the rows that grow the tree, rounded up.
C4.5 counts weights instead: `min_weight_leaf`.""",
    ),
    zero_gain_splits=(
        "bool",
        """\
Whether a node in which no column gains anything is divided nevertheless, by the first column that
can divide it. C4.5 makes it a leaf.""",
    ),
)
class C45Classifier(BaseTreeClassifier):
    """Classification tree by gain ratio (C4.5).

    Each split asks about one column: a number is compared with a threshold, and a qualitative
    column has a branch for each of its levels. The column is the one with the largest gain
    ratio, among those that gain at least as much information as the average. The tree is pruned
    by pessimistic estimates of errors, for which no rows are held out. Nothing is random.

    It takes qualitative features and missing values. That a value is missing may tell something;
    `fill='heaviest'` counts gains on the rows whose value is known, as C4.5 does.

    [parameters]

    [attributes]

    See Also
    --------
    CartClassifier : Binary splits, and scores for levels.
    obliqua.prune.prune_pessimistic : How the tree is pruned.

    Notes
    -----
    What differs from C4.5: it sends a row with a missing value down all branches, with fractions
    of its weight, and here it takes one (see `fill`). A level without rows at a node takes the
    branch with the largest weight; C4.5 predicts the node's own class there. A threshold is the
    middle between two numbers; C4.5 takes the largest number of the data that is not above the
    middle. Numbers differ if they are not equal; C4.5 asks for a difference of 1e-5. Grouping of
    levels, rules and windows are left out.

    Weights count as numbers of rows in `min_weight_leaf`, in the MDL correction and in the
    pruning, if all of them are whole numbers: then multiplying them by a number changes the tree.
    Otherwise, as in boosting, they count as if their mean were 1.

    `random_state`, `prune_fraction`, `n_folds` and `n_se` matter for other kinds of pruning only.

    References
    ----------
    .. [1] J. R. Quinlan (1993). *C4.5: Programs for Machine Learning*. Morgan Kaufmann.
    .. [2] J. R. Quinlan (1996). Improved use of continuous attributes in C4.5. *Journal of
       Artificial Intelligence Research* 4, 77-90.

    Examples
    --------
    >>> from obliqua import C45Classifier, export_text
    >>> sky = ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5
    >>> humidity = [70, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96]
    >>> wind = list("yynnnynynyynnn")
    >>> play = ["yes", "no", "no", "no", "yes", "yes", "yes", "yes", "yes",
    ...         "no", "no", "yes", "yes", "yes"]
    >>> tree = C45Classifier().fit(list(zip(sky, humidity, wind)), play)
    >>> tree.get_n_leaves()
    5
    >>> tree.predict([["sunny", 72, None], ["rain", None, "y"]])
    array(['yes', 'no'], dtype='<U3')
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        "criterion": [StrOptions({"gain_ratio", "entropy"})],
        "mdl_correction": ["boolean"],
        "binary": ["boolean"],
        "min_weight_leaf": [Interval(Real, 0.0, None, closed="left")],
        "min_class_share": [Interval(Real, 0.0, None, closed="left")],
        "collapse": ["boolean"],
        "categorical_features": TABLE_CONSTRAINTS["categorical_features"],
        "fill": [StrOptions({"side", "heaviest"})],
    }

    def __init__(
        self,
        *,
        criterion: str = "gain_ratio",
        mdl_correction: bool = True,
        binary: bool = False,
        min_weight_leaf: float = 2.0,
        min_class_share: float = 0.1,
        collapse: bool = True,
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
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.mdl_correction = mdl_correction
        self.binary = binary
        self.min_weight_leaf = min_weight_leaf
        self.min_class_share = min_class_share
        self.collapse = collapse
        self.categorical_features = categorical_features
        self.fill = fill

    def _fill(self) -> str:
        """Nothing stands in for what takes the heaviest branch."""
        return "side" if self.fill == "side" else "node"

    def _proposer(self) -> "C45":
        """Return what kind of tree to grow; this method proposes nothing to the engine."""
        from obliqua.methods.c45 import C45

        return C45(
            criterion=str(self.criterion),
            mdl_correction=bool(self.mdl_correction),
            binary=bool(self.binary),
            min_class_share=float(self.min_class_share),
            collapse=bool(self.collapse),
        )

    def _grower(self, key: int) -> "Callable[[Problem], Tree]":
        """Return what grows a tree; this method has an engine of its own and no chance."""
        from obliqua.methods.c45 import grow_c45

        method = self._proposer()
        return lambda problem: grow_c45(problem, method, self._rules(problem))

    def _rules(self, problem: "Problem") -> "Rules":
        return with_least_weight(super()._rules(problem), problem, self.min_weight_leaf)
