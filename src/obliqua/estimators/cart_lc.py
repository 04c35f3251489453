"""CART-LC: linear combinations as in CART, and as the OC1 program has them."""

from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, RealNotInt, StrOptions
from obliqua.estimators._docs import document
from obliqua.estimators._input import SAMPLE_CONSTRAINTS, TABLE_CONSTRAINTS, CategoricalFeatures
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators._searching import (
    ATTRIBUTES,
    SEARCH_CONSTRAINTS,
    TIME_LIMIT,
    SearchingTreeClassifier,
)
from obliqua.estimators.base import BaseTreeClassifier, CriterionLike, Priors, SeedLike


@document(
    ATTRIBUTES,
    variant=(
        "{'breiman', 'oc1'}",
        """\
'breiman': the method of the CART book. 'oc1': what the OC1 program calls CART-LC, with which
the OC1 paper compares. The notes say how they differ.""",
    ),
    sign=(
        "{'exact', 'ignored'} or None",
        """\
Whether the search along a line heeds that rows with a negative factor cross the hyperplane in
the other direction. 'exact': it finds the best of all places. 'ignored': it takes all factors
for positive, and the place that looks best is taken even if the split gets worse. `None`:
'exact' for 'breiman' and 'ignored' for 'oc1', as the original program has it. A criterion in
Python is always searched exactly.""",
    ),
    beta=(
        "float or None",
        """\
For 'breiman': the feature that matters least leaves the split if this costs less goodness than
`beta` times what leaving out the most important one would cost; then the next. The book has
0.2 or 0.1. `None`: all features stay.""",
    ),
    epsilon=(
        "float",
        """\
The search at a node ends when a cycle over all features changes the goodness ('breiman') or
1 / goodness ('oc1') by at most this.""",
    ),
    max_cycles=(
        "int",
        """\
The most cycles at a node, before features are left out and again after that.""",
    ),
    oblique_min_samples=(
        "int, float, 'auto' or None",
        """\
Where nodes get oblique splits: a float asks for more rows than this number times the number of
features, an int for at least so many rows. `None` sets no limit. Smaller nodes get
axis-parallel splits. With 'oc1' the root is never too small. 'auto': `None` for 'breiman', 2.0
for 'oc1'.""",
    ),
    max_features_per_split=(
        "int or None",
        """\
The most features that a split may use. Where it has more, the one that costs the least
goodness is left out, then the next; the coefficients of the others are searched again. `None`
sets no limit; 1 leaves only axis-parallel splits.""",
    ),
    scale=(
        "{'standard', 'robust', 'minmax'} or None",
        """\
For 'oc1': what the search sees, features divided by their standard deviation, their
interquartile range or their range. `None` takes the features as they are, as the program does.
With 'breiman' all features are standardised at each node anyway.""",
    ),
    time_limit=TIME_LIMIT,
)
class CartLCClassifier(SearchingTreeClassifier):
    """Oblique classification tree by linear combinations of features, as in CART (CART-LC).

    At each node a hyperplane starts at the best axis-parallel split. One feature after the
    other, it goes to the best place along three lines: on each, the coefficient of the feature
    changes, and the constant by -1/4, 0 or 1/4 times as much. At the end of a cycle the best
    constant is found. Cycles are repeated until they change the goodness no more. Features that
    matter little are left out, and the others are searched again. The result is the split,
    unless the axis-parallel one is as good.

    [parameters]

    [attributes]

    See Also
    --------
    OC1Classifier : Climbs in a similar way, with random restarts and jumps.
    HHCartClassifier : Oblique splits along directions in which the classes extend.
    CartClassifier : The axis-parallel splits alone.

    Notes
    -----
    'breiman' follows section 5.2 of the book. At each node a feature counts from its median, in
    units of its interquartile range there (of its range, where that is 0); quantiles are values in
    the data. The book searches complete rows and ordered features only; here levels become numbers
    at each node (CRIMCOORD), and the mean there stands in for missing numbers. The start is then
    the best cut of such columns. The book leaves open what `epsilon` is, and ties: the first place
    wins. Nothing is random.

    'oc1' is as the OC1 program does it. Features are taken as they are, so that the lines depend
    on their units. No feature is left out. The last hyperplane is the split, however good the
    axis-parallel one is, unless that divides the classes perfectly. The end is not tested before
    the second cycle. The search ignores signs and leaves out rows whose factor is 0, and of
    equally good places a coin chooses, the last one most often; the coin is the only thing that
    is random. Differences that remain: double precision, where the program has single; and a
    node where no legal place is found gets the axis-parallel split, not a leaf. With
    `sign='exact'` ties go to the first place, and nothing is random.

    References
    ----------
    .. [1] L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone (1984). *Classification and
       regression trees*, section 5.2. Wadsworth.
    .. [2] S. K. Murthy, S. Kasif, S. Salzberg (1994). A system for induction of oblique decision
       trees. *Journal of Artificial Intelligence Research* 2, 1-32.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obliqua import CartClassifier, CartLCClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> CartClassifier(pruning=None).fit(X, y).get_n_leaves()
    9
    >>> CartLCClassifier(pruning=None).fit(X, y).get_n_leaves()
    5
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **SAMPLE_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        "variant": [StrOptions({"breiman", "oc1"})],
        "sign": [StrOptions({"exact", "ignored"}), None],
        "beta": [Interval(Real, 0.0, 1.0, closed="both"), None],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "max_cycles": [Interval(Integral, 1, None, closed="left")],
        "oblique_min_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
        "refine": ["boolean"],
        "scale": [StrOptions({"standard", "robust", "minmax"}), None],
    }

    def __init__(
        self,
        *,
        variant: str = "breiman",
        sign: str | None = None,
        beta: float | None = 0.2,
        epsilon: float = 1e-4,
        max_cycles: int = 101,
        oblique_min_samples: float | str | None = "auto",
        max_features_per_split: int | None = None,
        refine: bool = False,
        scale: str | None = None,
        time_limit: float | None = None,
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
        fill: str = "side",
        random_state: SeedLike = 0,
        memory_limit: int | str | None = None,
        sample_rows: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.memory_limit = memory_limit
        self.sample_rows = sample_rows
        self.variant = variant
        self.sign = sign
        self.beta = beta
        self.epsilon = epsilon
        self.max_cycles = max_cycles
        self.oblique_min_samples = oblique_min_samples
        self.max_features_per_split = max_features_per_split
        self.refine = refine
        self.scale = scale
        self.time_limit = time_limit
        self.categorical_features = categorical_features
        self.fill = fill

    def _proposer(self) -> object:
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.cart_lc import LinearCombination

        program = self.variant == "oc1"
        fewest: Any = self.oblique_min_samples
        if fewest == "auto":
            fewest = 2.0 if program else None
        return Proposals(
            LinearCombination(
                variant=self.variant,
                sign=self.sign or ("ignored" if program else "exact"),
                beta=None if program or self.beta is None else float(self.beta),
                epsilon=float(self.epsilon),
                max_cycles=int(min(self.max_cycles, 2**62)),
                min_rows=0 if fewest is None else fewest,
                journal=self._open_journal(self.time_limit),
            ),
            max_features=self.max_features_per_split,
            scale=self.scale if program else None,
            axis_bias=0.0 if program else 1.0,
        )
