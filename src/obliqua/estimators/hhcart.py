"""HHCART: oblique splits from Householder reflections."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, StrOptions
from obliqua._typing import AnyArray
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import no_sparse
from obliqua.estimators._docs import document
from obliqua.estimators._input import (
    MAX_FEATURES,
    SAMPLE_CONSTRAINTS,
    TABLE_CONSTRAINTS,
    CategoricalFeatures,
    MaxFeatures,
)
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators.base import BaseTreeClassifier, CriterionLike, Priors, SeedLike


@document(
    variant=(
        "{'all', 'dominant', 'geometric'}",
        """\
Whether all eigenvectors of each class are looked at, HHCART(A) in the paper, or the one with
the largest eigenvalue, HHCART(D). 'dominant' tries fewer directions by a factor of the
number of features; with hundreds of features it is the one to use. 'geometric' is HHCART(G) [2]_:
one reflection at each node, to an angle bisector between the most frequent class and the rest;
the original axes are looked along only where there is none.""",
    ),
    tau=(
        "float",
        """\
An eigenvector at most this far from an axis, or from its opposite, is not reflected, for
splits along the axes are tried anyway (the paper's tau). 0 reflects all.""",
    ),
    target=(
        "{'first', 'nearest'}",
        """\
The axis that is reflected to an eigenvector: the first, as published, or the nearest. With
'first' the tree depends on which column comes first.""",
    ),
    reflect=(
        "{'node', 'root'}",
        """\
Where reflections are found: at each node anew, or at the root only, as in CARTopt [4]_, from which
HHCART has its idea. With 'root' all nodes look along the directions of the root's reflections.""",
    ),
    zero_eigenvalues=(
        "{'correlation', 'covariance'}",
        """\
What tells eigenvalues that are 0, whose eigenvectors are passed over. 'correlation': a class has
as many others as its correlation matrix has eigenvalues above 1e-10 of the largest, so that units
do not decide. 'covariance': those above 1e-10 of the largest themselves; beside a feature in the
hundred thousands, features around 1 are then not looked at. Matters for `variant='all'` only.""",
    ),
    oblique_min_samples=(
        "int, '2p' or None",
        """\
The smallest number of rows at which a node is given oblique splits; smaller nodes get
axis-parallel ones. '2p' asks for more rows than twice the number of features, the rule of
OC1. `None` sets no limit.""",
    ),
    extra_directions=(
        "{'fisher', 'discriminants'} or None",
        """\
'fisher' looks along Fisher's discriminants too: for each class at the node, the direction
that separates it best from all others. 'discriminants' looks along those of all classes
together as well, and along directions that part one group of classes from another; see
:class:`obliqua.methods.discriminants.Discriminants`. Not in the paper.""",
    ),
    covariance=(
        "{'sample', 'trimmed'}",
        """\
'trimmed' leaves out of each class's covariance matrix the rows that are farthest from its
mean (by Mahalanobis distance), so that outliers do not turn the eigenvectors. Not in the
paper.""",
    ),
    max_features=(
        "int, float, 'sqrt', 'log2' or None",
        """\
How many features each node looks at, drawn anew by the seed: a number, a share of all, their root
or logarithm. Splits along single features, covariance matrices and reflections know of these
alone, so that they are the most features of a split, and a node takes the time of a table with so
many. As many more are drawn while no split of them gains. `None` looks at all. Not with
qualitative columns or missing values, `variant='geometric'` or `reflect='root'`.""",
    ),
    level_scale=(
        "{'variance', 'squares'}",
        """\
How large the numbers of levels are at a node. 'variance': their variance over its rows is 1.
'squares': their squares about the mean add up to 1, as published by Loh and Shih; in a node of ten
thousand rows they then move a hundredth as much as a standardised feature.""",
    ),
    trim_fraction=(
        "float",
        """\
The share of each class that `covariance='trimmed'` leaves out.""",
    ),
)
class HHCartClassifier(BaseTreeClassifier):
    """Oblique classification tree by Householder reflections (HHCART).

    At each node, and for each class there, the eigenvectors of the class's covariance matrix
    show the directions in which the class extends. A Householder reflection turns the axes
    so that one of them lies along such an eigenvector, and the best split is looked for along
    all turned axes, as CART does along the original ones. The best split of all wins; at ties
    an axis-parallel one. All of it is deterministic, unless `max_features` lets nodes draw
    features; the seed only chooses the rows on which the tree is pruned.

    [parameters]

    [attributes]

    See Also
    --------
    CartClassifier : Splits along single features only.
    ObliqueTreeClassifier : Splits along directions that any function may propose.

    Notes
    -----
    The defaults are the paper's, but for `min_samples_split`, which is 3 there (its MinParent
    is 2), and `pruning`, which is 'holdout'. What the paper leaves open is settled as follows.
    The sign of an eigenvector is the one with which its entry for the target axis is positive.
    Eigenvectors whose eigenvalue is 0 are passed over; `zero_eigenvalues` tells these. A class
    whose rows are all equal has no eigenvectors. Features are not scaled.

    Takes qualitative features and missing values. At each node the levels of a qualitative
    feature become numbers, their first discriminant coordinate (CRIMCOORD, section 3.2 of the
    paper), and join the other features. Rows that miss a number are tried on both sides.

    Candidate directions at a node: p for CART, and for each class p ('dominant') or p times p
    ('all') more.

    References
    ----------
    .. [1] D. C. Wickramarachchi, B. L. Robertson, M. Reale, C. J. Price, J. Brown (2016).
       HHCART: an oblique decision tree. *Computational Statistics & Data Analysis* 96, 12-23.
    .. [2] D. C. Wickramarachchi, B. L. Robertson, M. Reale, C. J. Price, J. A. Brown (2019). A
       reflected feature space for CART. *Australian & New Zealand Journal of Statistics* 61,
       380-391.
    .. [3] N. Manwani, P. S. Sastry (2012). Geometric decision tree. *IEEE Transactions on Systems,
       Man, and Cybernetics, Part B* 42, 181-192.
    .. [4] B. L. Robertson, C. J. Price, M. Reale (2013). CARTopt: a random search method for
       nonsmooth unconstrained optimization. *Computational Optimization and Applications* 56,
       291-315.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obliqua import CartClassifier, HHCartClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> CartClassifier(pruning=None).fit(X, y).get_n_leaves()
    9
    >>> HHCartClassifier(pruning=None).fit(X, y).get_n_leaves()
    6
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **SAMPLE_CONSTRAINTS,
        "variant": [StrOptions({"all", "dominant", "geometric"})],
        "tau": [Interval(Real, 0.0, None, closed="left")],
        "target": [StrOptions({"first", "nearest"})],
        "reflect": [StrOptions({"node", "root"})],
        "zero_eigenvalues": [StrOptions({"correlation", "covariance"})],
        "oblique_min_samples": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"2p"}),
            None,
        ],
        "extra_directions": [StrOptions({"fisher", "discriminants"}), None],
        "covariance": [StrOptions({"sample", "trimmed"})],
        "level_scale": [StrOptions({"variance", "squares"})],
        "trim_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "max_features": MAX_FEATURES,
        "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
        "refine": ["boolean"],
        "scale": [StrOptions({"standard", "robust", "minmax"}), None],
    }

    def __init__(
        self,
        *,
        variant: str = "all",
        tau: float = 0.05,
        target: str = "first",
        reflect: str = "node",
        zero_eigenvalues: str = "correlation",
        oblique_min_samples: int | str | None = None,
        extra_directions: str | None = None,
        covariance: str = "sample",
        trim_fraction: float = 0.1,
        max_features: MaxFeatures = None,
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
        zero_gain_splits: bool = False,
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
        level_scale: str = "variance",
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
        self.level_scale = level_scale
        self.fill = fill
        self.variant = variant
        self.tau = tau
        self.target = target
        self.reflect = reflect
        self.zero_eigenvalues = zero_eigenvalues
        self.oblique_min_samples = oblique_min_samples
        self.extra_directions = extra_directions
        self.covariance = covariance
        self.trim_fraction = trim_fraction
        self.max_features = max_features
        self.max_features_per_split = max_features_per_split
        self.refine = refine
        self.scale = scale

    def _shaped(self, problem: Problem, classes: AnyArray) -> Problem:
        problem = super()._shaped(problem, classes)
        return replace(problem, level_squares=self.level_scale == "squares")

    def _why_dense(self) -> str | None:
        name = "HHCartClassifier"
        if self.max_features is None:
            more = "With max_features it does: then nodes know of a few features only. "
            return no_sparse(f"{name} with max_features=None", more)
        for other, usual in (("reflect", "node"), ("refine", False), ("scale", None)):
            got = getattr(self, other)
            if got != usual:
                return no_sparse(f"{name} with {other}={got!r}", f"With {usual!r} it does. ")
        return no_sparse(f"{name} of this variant") if self.variant == "geometric" else None

    def _validate_params(self) -> None:
        """Check the parameters, and that HHCART(G) has a use for them."""
        super()._validate_params()
        for name, usual in (("extra_directions", None), ("covariance", "sample")):
            if self.variant == "geometric" and getattr(self, name) != usual:
                raise ValueError(
                    "variant='geometric' looks along one direction and has no use for "
                    f"{name}={getattr(self, name)!r}. Leave it out, or take another variant."
                )

    def _proposer(self) -> object:
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.geometric import AngleBisector
        from obliqua.methods.hhcart import Householder

        if self.variant == "geometric":
            return Proposals(
                AngleBisector(float(self.tau), self.target, self.oblique_min_samples),
                axis_parallel=False,
                max_features=self.max_features_per_split,
                scale=self.scale,
                at_root=self.reflect == "root",
            )
        return Proposals(
            Householder(
                variant=self.variant,
                tau=float(self.tau),
                target=self.target,
                zero_eigenvalues=self.zero_eigenvalues,
                min_rows=self.oblique_min_samples,
                fisher=self.extra_directions == "fisher",
                discriminants=self.extra_directions == "discriminants",
                trim=float(self.trim_fraction) if self.covariance == "trimmed" else 0.0,
            ),
            max_features=self.max_features_per_split,
            scale=self.scale,
            at_root=self.reflect == "root",
        )
