"""LMDT: linear machines, with a branch per class."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, StrOptions
from obliqua.criteria import get_criterion
from obliqua.data.threads import thread_count
from obliqua.estimators._docs import PARAMETERS, document
from obliqua.estimators._input import TABLE_CONSTRAINTS, CategoricalFeatures
from obliqua.estimators._pruning import PruningLike
from obliqua.estimators._searching import (
    ATTRIBUTES,
    SEARCH_CONSTRAINTS,
    TIME_LIMIT,
    SearchingTreeClassifier,
)
from obliqua.estimators.base import BaseTreeClassifier, CriterionLike, Priors, SeedLike

if TYPE_CHECKING:
    from obliqua.data.problem import Problem
    from obliqua.methods.lmdt import LMDT
    from obliqua.tree.tree import Tree


HOTTEST = 1e50  # of all that temperatures are made of; weights and their squares stay finite


@document(
    {
        **ATTRIBUTES,
        "n_hyperplanes_": (
            "int",
            """\
How many positions of linear machines were tried: one per correction of weights, in all trainings
of all trees that `fit` has grown. Splits of single features are not counted.""",
        ),
    },
    fill=(
        "{'node', 'training'}",
        """\
What stands in for a missing number: the mean of the column over the training rows at the node, or
over all training rows. Means are weighted, and missing numbers do not count. Machines compare
sums, so that rows with missing values have no side to be tried on.""",
    ),
    temperature=(
        "float",
        """\
The temperature at which the training of a machine starts, beta in the literature. A row that is
misclassified by more than this, measured in multiples of itself, is passed over.""",
    ),
    lowest_temperature=(
        "float",
        """\
The temperature below which training ends.""",
    ),
    cooling_rate=(
        "float",
        """\
Cooling turns the temperature into `cooling_rate` times itself minus `cooling_step`. It happens at
each correction that makes the machine's weight vectors shorter after one that has made them
longer. Slower cooling needs more passes: raise `max_passes` with it.""",
    ),
    cooling_step=(
        "float",
        """\
See `cooling_rate`.""",
    ),
    extra_distance=(
        "float",
        """\
What is added to the distance by which a row is misclassified. Below this temperature nothing is
corrected any more, so with the default training ends at 0.1, whatever `lowest_temperature` says.
The literature calls it epsilon.""",
    ),
    max_passes=(
        "int",
        """\
Training ends after so many passes over the rows in any case. Most trainings need far fewer.""",
    ),
    eliminate=(
        "bool",
        """\
Whether variables are eliminated: the one whose weights differ least between the classes is left
out, the machine is trained again from the weights that it has, and so on. So there may be as many
trainings at a node as there are features.""",
    ),
    elimination_stop=(
        "float",
        """\
Elimination ends when the accuracy on the node's rows is lower than the best one by more than this
share of the rows, or with one variable.""",
    ),
    elimination_loss=(
        "float",
        """\
Of all machines that were trained, the one with the fewest variables is taken whose accuracy on
the node's rows is lower than the best one by at most this share of the rows.""",
    ),
    rows_per_weight=(
        "float",
        """\
The guard against under-fitting: a machine with v variables is not taken at a node with fewer than
`rows_per_weight * (v + 1)` different rows, v + 1 being the length of its weight vectors, if one
with fewer variables can be had. 0 leaves it out. It does nothing without `eliminate`.""",
    ),
    max_features_per_split=(
        "int or None",
        """\
The most features that a machine may use. Variables are eliminated down to this number, also
without `eliminate`. `None` sets no limit.""",
    ),
    time_limit=TIME_LIMIT,
    criterion=(
        PARAMETERS["criterion"][0],
        """\
What measures the gain of a split. Machines are trained without it. It says how much a split has
gained, orders best-first growth, and chooses the split where a machine does not divide a node.""",
    ),
    max_leaf_nodes=(
        PARAMETERS["max_leaf_nodes"][0],
        PARAMETERS["max_leaf_nodes"][1]
        + """ A machine with more branches than there is room for keeps the heaviest ones; the
other rows take the branch with the next largest score.""",
    ),
    min_samples_leaf=(
        "int or float",
        """\
The smallest number of rows that each branch must hold. The class of a branch that holds fewer gets
no branch, and its rows take the one with the next largest score. A float is a fraction of the rows
that grow the tree, rounded up.""",
    ),
    zero_gain_splits=(
        "bool",
        """\
Whether a node is also divided by a machine that gains nothing, or, where there is none, at the
first split of a single feature.""",
    ),
)
class LMDTClassifier(SearchingTreeClassifier):
    """Classification tree of linear machines (LMDT).

    At each node a linear machine is trained. It has a weight vector per class, and a row takes the
    branch of the class with the largest product: several branches per node, and all features in
    each. Training goes through the rows in random order and corrects two weight vectors at each
    error. The further a row is on the wrong side, the less it counts, and the machine cools down,
    so that training also ends where no machine separates the classes. Features that tell the
    classes least are eliminated.

    [parameters]

    [attributes]

    See Also
    --------
    FisherTreeClassifier : One direction per node that takes no search.

    Notes
    -----
    Training and elimination follow the literature as far as it could be read; the page on LMDT
    tells what is known from memory only. What is ours:

    - A class whose branch would hold no row has no branch. With two branches left the split is
      written as the hyperplane between them, which is the same.
    - A node whose machine does not divide its rows, or gains nothing, is divided by the best split
      of a single feature, as CART finds it; without one it is a leaf.
    - Each pass shows the rows in a new random order, which depends on the seed, on the node and on
      the content of the rows.
    - A weight says how often a row is shown: a row of weight 2 is shown twice in each pass.
      Fractions are probabilities.
    - Qualitative features and missing values: at each node the levels of a feature become numbers
      found from the node's rows (CRIMCOORD, as for HHCART), and `fill` stands in for a missing
      number. A missing level is a level of its own.

    References
    ----------
    .. [1] P. E. Utgoff, C. E. Brodley (1991). *Linear machine decision trees*. COINS Technical
       Report 91-10, University of Massachusetts.
    .. [2] C. E. Brodley, P. E. Utgoff (1995). Multivariate decision trees. *Machine Learning* 19,
       45-77, https://doi.org/10.1023/A:1022607123649.
    .. [3] M. Frean (1990). *Small nets and short paths: optimising neural computation*. Thesis,
       University of Edinburgh.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obliqua import LMDTClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> tree = LMDTClassifier(random_state=0).fit(X, y)
    >>> tree.get_n_leaves(), tree.get_depth()
    (3, 1)
    """

    _takes_odd = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseTreeClassifier._parameter_constraints,
        **TABLE_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        "fill": [StrOptions({"node", "training"})],
        "temperature": [Interval(Real, 0.0, HOTTEST, closed="right")],
        "lowest_temperature": [Interval(Real, 0.0, HOTTEST, closed="right")],
        "cooling_rate": [Interval(Real, 0.0, 1.0, closed="both")],
        "cooling_step": [Interval(Real, 0.0, HOTTEST, closed="both")],
        "extra_distance": [Interval(Real, 0.0, HOTTEST, closed="both")],
        "max_passes": [Interval(Integral, 1, None, closed="left")],
        "eliminate": ["boolean"],
        "elimination_stop": [Interval(Real, 0.0, 1.0, closed="both")],
        "elimination_loss": [Interval(Real, 0.0, 1.0, closed="both")],
        "rows_per_weight": [Interval(Real, 0.0, None, closed="left")],
        "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        temperature: float = 2.0,
        lowest_temperature: float = 0.001,
        cooling_rate: float = 0.995,
        cooling_step: float = 0.0005,
        extra_distance: float = 0.1,
        max_passes: int = 300,
        eliminate: bool = True,
        elimination_stop: float = 0.1,
        elimination_loss: float = 0.0,
        rows_per_weight: float = 2.0,
        max_features_per_split: int | None = None,
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
        fill: str = "node",
        random_state: SeedLike = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._take_shared(locals())
        self.categorical_features = categorical_features
        self.fill = fill
        self.temperature = temperature
        self.lowest_temperature = lowest_temperature
        self.cooling_rate = cooling_rate
        self.cooling_step = cooling_step
        self.extra_distance = extra_distance
        self.max_passes = max_passes
        self.eliminate = eliminate
        self.elimination_stop = elimination_stop
        self.elimination_loss = elimination_loss
        self.rows_per_weight = rows_per_weight
        self.max_features_per_split = max_features_per_split
        self.time_limit = time_limit

    def _proposer(self) -> "LMDT":
        from obliqua.methods.lmdt import LMDT

        most = self.max_features_per_split
        return LMDT(
            temperature=float(self.temperature),
            lowest_temperature=float(self.lowest_temperature),
            cooling_rate=float(self.cooling_rate),
            cooling_step=float(self.cooling_step),
            extra_distance=float(self.extra_distance),
            max_passes=min(int(self.max_passes), 2**62),
            eliminate=bool(self.eliminate),
            elimination_stop=float(self.elimination_stop),
            elimination_loss=float(self.elimination_loss),
            rows_per_weight=float(self.rows_per_weight),
            max_features=None if most is None else int(most),
            journal=self._open_journal(self.time_limit),
        )

    def _grower(self, key: int) -> "Callable[[Problem], Tree]":
        """Return what grows a tree and tells the journal what was tried."""
        from obliqua.methods.lmdt import grow_lmdt

        method, criterion = self._proposer(), get_criterion(self.criterion)
        n_threads = thread_count(self.n_jobs)

        def grown(problem: "Problem") -> "Tree":
            # Limits that are fractions refer to the rows that grow this very tree.
            return grow_lmdt(problem, method, criterion, self._rules(problem), n_threads, key)

        return grown

    def _heeds_seed(self) -> bool:
        return True
