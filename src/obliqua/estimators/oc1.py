"""OC1: oblique splits by climbing, with random restarts and jumps."""

from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, RealNotInt, StrOptions
from obliqua.errors import CostWarning
from obliqua.estimators._docs import document
from obliqua.estimators._input import SAMPLE_CONSTRAINTS, TABLE_CONSTRAINTS, CategoricalFeatures
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators._searching import (
    ATTRIBUTES,
    SEARCH_CONSTRAINTS,
    TIME_LIMIT,
    SearchingTreeClassifier,
)
from obliqua.estimators._warnings import warn
from obliqua.estimators.base import BaseTreeClassifier, CriterionLike, Priors, SeedLike

#: Climbs with more changes that gain nothing are warned of: a fit takes 27 times as long with it.
LONG_STAGNATION = 10_000


@document(
    ATTRIBUTES,
    n_restarts=(
        "int",
        """\
The number of starts at each node. The first is the best axis-parallel split, the others are
random hyperplanes, whose coefficients (of the features as they are, or scaled, and counted from
where none is negative) are uniform between -1 and 1. 1 is what the paper calls no restarts.""",
    ),
    n_jumps=(
        "int",
        """\
How many random directions are tried where no change of a single coefficient helps, before a
climb is given up. After a jump that helps, the climb goes on, and may jump as often again.""",
    ),
    order=(
        "{'sequential', 'best', 'random'}",
        """\
Which coefficient changes next. 'sequential': one after the other, again and again. 'best': the
one whose change gains most, for which all are tried. 'random': `n_picks` times any of them, the
constant too (Seq, Best and R-50 in the paper).""",
    ),
    n_picks=(
        "int or None",
        """\
For `order='random'`: the number of picks. `None`: ten for each coefficient and the constant.""",
    ),
    stagnation=(
        "{'program', 'paper'}",
        """\
What happens to changes that make the split neither better nor worse. 'program': some of them are
made between two improvements, then none. 'paper': each is made with a chance that is 1 at first
and falls each time, until there is an improvement.""",
    ),
    max_stagnation=(
        "int or None",
        """\
How many such changes there may be between two improvements: the number itself with
`stagnation='program'`, and with 'paper' the chance falls by 1 / `max_stagnation` each time. 0:
none. `None`: 11 as in the original program, and 10 as in the paper.""",
    ),
    guided_start=(
        "{'fisher', 'householder'} or None",
        """\
Whether the second start is not random but the best split along Fisher's directions, of each class
against the rest, or along those of HHCART(D). It counts as one of `n_restarts`. Not in the
paper.""",
    ),
    jump_search=(
        "{'exact', 'program'}",
        """\
How the best place along a random direction is found. 'exact': rows may cross the hyperplane
either way. 'program': all are taken to cross it the same way, as in the original program, which
often misses the best place.""",
    ),
    perturb_constant=(
        "bool",
        """\
Whether the constant of the hyperplane changes as the coefficients do. In the original it does
not, except with `order='random'`.""",
    ),
    oblique_only=(
        "bool",
        """\
Whether oblique splits do without the axis-parallel ones: no climb starts there, and where there
are enough rows the split is oblique even if an axis-parallel one would be better.""",
    ),
    axis_bias=(
        "float",
        """\
An oblique split must be better than the best axis-parallel one by more than this factor. 1 or
more; larger values give more axis-parallel splits.""",
    ),
    oblique_min_samples=(
        "int, float or None",
        """\
Where nodes get oblique splits: a float asks for more rows than this number times the number of
features (the paper has 2), an int for at least so many rows. `None` sets no limit. Smaller nodes
get axis-parallel splits.""",
    ),
    feature_selection=(
        "{'backward', 'forward'} or None",
        """\
Whether a split does without features that matter little. 'backward': after a climb the feature
whose loss costs least is left out as long as that is less than `beta` times what the loss of the
most important one would cost, as in CART; then the climb goes on with the others. 'forward': a
climb starts with one feature, and the one that gains most joins as long as it brings more than
`beta` times what was gained so far. The paper wishes for it; the original program has none.""",
    ),
    beta=(
        "float",
        """\
How little a feature may matter for `feature_selection`.""",
    ),
    max_features_per_split=(
        "int or None",
        """\
The most features that a split may use. After a climb those that matter least are left out one by
one, and the climb goes on with the others; with `feature_selection='forward'` no more than these
join. `None` sets no limit; 1 leaves only axis-parallel splits.""",
    ),
    time_limit=TIME_LIMIT,
    scale=(
        "{'standard', 'robust', 'minmax'} or None",
        """\
What climbs see: features divided by their standard deviation, their interquartile range or their
range, and counted from their smallest value at the node. Starts and jumps treat the coefficients
of all features alike, so that the result depends on the features' scales. `None` takes the
features as they are, and shifts only those with negative values, as version 3 of the original
program does; version 2 could divide by the ranges, which gives better trees on the paper's data
and, on its cancer data, what the paper reports.""",
    ),
)
class OC1Classifier(SearchingTreeClassifier):
    """Oblique classification tree by climbing, with random restarts and jumps (OC1).

    At each node a hyperplane starts at the best axis-parallel split. One coefficient after the
    other is set to the best of all its values while the others stay, until no change of a single
    one makes the split better. Then it jumps: along a random direction in the space of
    coefficients to the best place there, if that is better, and climbs on. Later starts are
    random hyperplanes. The best of all is the split, unless the axis-parallel one is as good.

    [parameters]

    [attributes]

    See Also
    --------
    CartClassifier : The axis-parallel splits alone; with twoing it is the paper's OC1-AP.
    HHCartClassifier : Oblique splits without randomness, faster.

    Notes
    -----
    Where it differs from the original program (version 3 of OC1), all of them decisions that
    make a search exact, or its result independent of accidents:

    - Each change of a coefficient, and each jump, goes to the best of all places on its line.
      The program ignores the signs of what it divides by in jumps, so that what it takes for the
      best place need not be; ``jump_search='program'`` does the same.
    - Gains count however small they are; the program has an absolute tolerance of 0.0001 in
      units of 1/twoing, and leaves changes of a coefficient below 0.0001 alone.
    - Of equally good places the first is taken, and of equally good starts too; the program
      tosses a coin.
    - When a climb is over, the constant is searched once more, with the direction that was found.
    - The axis-parallel start is the axis-parallel split, also where features are negative and are
      shifted; there the program starts somewhere else.
    - `axis_bias` multiplies the goodness of a split; the program multiplies the impurity, which is
      the same for twoing and information gain, whose impurities are 1 / goodness there.
    - There is no limit of 50 to the depth.
    - A search ends as soon as no better split exists: each side has whole classes, and no other
      division of the classes is worth more.
    - A missing number is replaced by the mean of those that are known. The program counts missing
      ones as 0 in that mean.
    - Each start of each node has its own random numbers, so that threads change nothing.

    Takes qualitative features and missing values, as all methods here do: at each node the levels
    of a qualitative feature become numbers, and climbs work with those.

    References
    ----------
    .. [1] S. K. Murthy, S. Kasif, S. Salzberg (1994). A system for induction of oblique decision
       trees. *Journal of Artificial Intelligence Research* 2, 1-32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import OC1Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = OC1Classifier(random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    3
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **SAMPLE_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        "n_restarts": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "n_jumps": [Interval(Integral, 0, 2**31 - 1, closed="both")],
        "order": [StrOptions({"sequential", "best", "random"})],
        "n_picks": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
        "stagnation": [StrOptions({"program", "paper"})],
        "max_stagnation": [Interval(Integral, 0, 2**31 - 1, closed="both"), None],
        "guided_start": [StrOptions({"fisher", "householder"}), None],
        "jump_search": [StrOptions({"exact", "program"})],
        "perturb_constant": ["boolean"],
        "oblique_only": ["boolean"],
        "axis_bias": [Interval(Real, 1.0, None, closed="left")],
        "oblique_min_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, None, closed="left"),
            None,
        ],
        "feature_selection": [StrOptions({"backward", "forward"}), None],
        "beta": [Interval(Real, 0.0, 1.0, closed="both")],
        "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
        "refine": ["boolean"],
        "scale": [StrOptions({"standard", "robust", "minmax"}), None],
    }

    def __init__(
        self,
        *,
        n_restarts: int = 20,
        n_jumps: int = 5,
        order: str = "sequential",
        n_picks: int | None = None,
        stagnation: str = "program",
        max_stagnation: int | None = None,
        guided_start: str | None = None,
        jump_search: str = "exact",
        perturb_constant: bool = False,
        oblique_only: bool = False,
        axis_bias: float = 1.0,
        oblique_min_samples: float | None = 2.0,
        feature_selection: str | None = None,
        beta: float = 0.2,
        max_features_per_split: int | None = None,
        refine: bool = False,
        scale: str | None = "minmax",
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
        self.n_restarts = n_restarts
        self.n_jumps = n_jumps
        self.order = order
        self.n_picks = n_picks
        self.stagnation = stagnation
        self.max_stagnation = max_stagnation
        self.guided_start = guided_start
        self.jump_search = jump_search
        self.perturb_constant = perturb_constant
        self.oblique_only = oblique_only
        self.axis_bias = axis_bias
        self.oblique_min_samples = oblique_min_samples
        self.feature_selection = feature_selection
        self.beta = beta
        self.max_features_per_split = max_features_per_split
        self.refine = refine
        self.scale = scale
        self.time_limit = time_limit
        self.categorical_features = categorical_features
        self.fill = fill

    def _validate_params(self) -> None:
        """Check the parameters, and those that make no sense together."""
        super()._validate_params()
        for name, other, why in (
            ("guided_start", "n_restarts", "it is the second start, and there is only one"),
            ("guided_start", "feature_selection", "a forward choice starts with single features"),
            ("oblique_only", "max_features_per_split", "one feature is no oblique split"),
            ("oblique_only", "axis_bias", "there are no axis-parallel splits to favour"),
        ):
            clash = {
                "n_restarts": self.n_restarts == 1,
                "feature_selection": self.feature_selection == "forward",
                "max_features_per_split": self.max_features_per_split == 1,
                "axis_bias": self.axis_bias != 1.0,
            }[other]
            if getattr(self, name) and clash:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} and {other}={getattr(self, other)!r} make no "
                    f"sense together: {why}. Leave one of them out."
                )
        if (self.max_stagnation or 0) > LONG_STAGNATION and self.time_limit is None:
            warn(
                f"max_stagnation={self.max_stagnation:,} lets each climb make as many changes "
                "that gain nothing, each of which looks at all rows of a node: a fit may take "
                "hours. The paper's is 10. Set a smaller one, or time_limit.",
                CostWarning,
            )

    def _proposer(self) -> object:
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.oc1 import Climb

        fewest = self.oblique_min_samples
        return Proposals(
            Climb(
                n_restarts=int(self.n_restarts),
                n_jumps=int(self.n_jumps),
                order=self.order,
                n_picks=None if self.n_picks is None else int(self.n_picks),
                stagnation=self.stagnation,
                most_equal=None if self.max_stagnation is None else int(self.max_stagnation),
                guided=self.guided_start,
                jump_search=self.jump_search,
                perturb_constant=bool(self.perturb_constant),
                axis_start=not self.oblique_only,
                min_rows=0 if fewest is None else fewest,
                from_zero=self.scale is not None,
                selection=self.feature_selection,
                beta=float(self.beta),
                journal=self._open_journal(self.time_limit),
            ),
            max_features=self.max_features_per_split,
            scale=self.scale,
            axis_bias=0.0 if self.oblique_only else float(self.axis_bias),
        )

    def _heeds_seed(self) -> bool:
        not_random = (not self.oblique_only) + (self.guided_start is not None)
        drawn = self.n_restarts > not_random or self.n_jumps > 0 or self.order == "random"
        certain = self.stagnation != "paper" or self.max_stagnation in (0, 1)
        return drawn or not certain or super()._heeds_seed()
