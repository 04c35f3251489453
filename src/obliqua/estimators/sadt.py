"""SADT: oblique splits by simulated annealing."""

from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, StrOptions
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

MOST_MOVES = 2**62  # what compiled code counts to; no search is that patient


@document(
    {
        **ATTRIBUTES,
        "n_hyperplanes_": (
            "int",
            """\
How many hyperplanes were tried in the fit, those of trees grown for `pruning='cv'` included: the
start at each node and every move.""",
        ),
    },
    moves=(
        "{'one', 'all'}",
        """\
What a move changes: one coefficient, picked at random, or all of them and the constant at once.
Each change is uniform between -0.5 and 0.5. The two descriptions of SADT that we know of differ
in this. A move of 'all' takes longer by about the number of features.""",
    ),
    temperature=(
        "float",
        """\
The temperature at the start, in units of `criterion`. A move that makes the split worse by `loss`
is kept with probability `exp(-loss / temperature)`. 0 keeps no such move. The default suits
entropy; twoing and Gini, whose numbers are smaller, want less.""",
    ),
    cooling=(
        "float",
        """\
The factor by which the temperature falls after each move. Smaller values cool faster. With less
`patience` cool faster too, or the search ends while it is hot: one minus one over `patience` is
a good choice.""",
    ),
    patience=(
        "int",
        """\
The search at a node ends after so many moves without a hyperplane that is better than all before.
It also ends when no better split can exist.""",
    ),
    time_limit=TIME_LIMIT,
)
class SADTClassifier(SearchingTreeClassifier):
    """Oblique classification tree by simulated annealing (SADT).

    At each node the features are scaled to lie between 0 and 1, and a hyperplane starts where
    their sum is 1. Then it moves at random. A move that makes the split better is kept. One that
    makes it worse is kept with a probability that is smaller the greater the loss, and that falls
    as the temperature does: at first the hyperplane wanders, at the end it only climbs. The best
    hyperplane on its way is the split.

    [parameters]

    [attributes]

    See Also
    --------
    HHCartClassifier : Oblique splits without randomness.
    ObliqueTreeClassifier : Splits along directions that any function may propose.

    Notes
    -----
    The text of the paper was not at hand. Its method is known to us from what the authors of OC1
    say of it [2]_, and the rest at second hand: the scaling, where the start is, the size of a
    move, and that one coefficient moves at a time, are unconfirmed. No source that we found
    states the schedule of cooling: `temperature` and `cooling` are ours, and chosen by
    experiment. Entropy is the criterion of the published figures [2]_; the measures of the paper
    itself are `criterion='sum_minority'`, 'max_minority' and 'sum_variances'.

    Where it differs from what is known:

    - When the annealing is over, the threshold is searched once more, with the direction that was
      found. The split is at least as good, and lies in the middle between two rows.
    - A search ends as soon as no better split can exist, without waiting for `patience`.
    - A hyperplane with too few rows on one side is worth nothing, as if there were no split.
    - Features that do not vary at a node take no part. Where only one varies, and where no
      hyperplane with a gain was found, the best axis-parallel split is taken. Nowhere else are
      axis-parallel splits looked at.
    - The tree is pruned as those of the other methods here. `pruning=None` grows it until its
      leaves are pure.

    Takes qualitative features and missing values, as all methods here do: at each node the levels
    of a qualitative feature become numbers, and these are scaled as any others.

    References
    ----------
    .. [1] D. Heath, S. Kasif, S. Salzberg (1993). Induction of oblique decision trees.
       *Proceedings of the 13th International Joint Conference on Artificial Intelligence*,
       1002-1007.
    .. [2] S. K. Murthy, S. Kasif, S. Salzberg (1994). A system for induction of oblique decision
       trees. *Journal of Artificial Intelligence Research* 2, 1-32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import SADTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = SADTClassifier(random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    3
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **SAMPLE_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        "moves": [StrOptions({"one", "all"})],
        "temperature": [Interval(Real, 0.0, None, closed="left")],
        "cooling": [Interval(Real, 0.0, 1.0, closed="right")],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
        "refine": ["boolean"],
    }

    def __init__(
        self,
        *,
        moves: str = "one",
        temperature: float = 0.03,
        cooling: float = 0.9999,
        patience: int = 10000,
        max_features_per_split: int | None = None,
        refine: bool = False,
        time_limit: float | None = None,
        criterion: CriterionLike = "entropy",
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
        self.moves = moves
        self.temperature = temperature
        self.cooling = cooling
        self.patience = patience
        self.max_features_per_split = max_features_per_split
        self.refine = refine
        self.time_limit = time_limit
        self.categorical_features = categorical_features
        self.fill = fill

    def _proposer(self) -> object:
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.sadt import Anneal

        return Proposals(
            Anneal(
                moves=self.moves,
                temperature=float(self.temperature),
                cooling=float(self.cooling),
                patience=min(int(self.patience), MOST_MOVES),
                journal=self._open_journal(self.time_limit),
            ),
            max_features=self.max_features_per_split,
            axis_bias=0.0,
        )

    def _heeds_seed(self) -> bool:
        return True
