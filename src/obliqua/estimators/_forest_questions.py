"""What a forest can be asked beside predictions."""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from obliqua._typing import AnyArray, FloatArray, Int64Array, Rows
from obliqua.data.problem import Problem
from obliqua.data.target import Classes, Numbers
from obliqua.data.threads import thread_count
from obliqua.estimators._fitted import AttributeNotKnown, TreesEstimator, TreesRegressor
from obliqua.estimators._leaves import checked_quantiles
from obliqua.estimators._training import SeedLike
from obliqua.tree.layout import pointers
from obliqua.tree.packed import PackedTrees

if TYPE_CHECKING:
    from obliqua.forest import LeafRows, Sampling

#: The most pairs of rows whose proximities are told at once: 200 MB of them.
MOST_PAIRS = 25_000_000
#: Rows whose leaves in all trees are looked at together: bounds the memory.
BLOCK = 4096


class ForestQuestions(TreesEstimator):
    """What both forests are asked: which features matter, and which rows are near each other."""

    _seed: int
    _fingerprint: str
    _encoded: Callable[..., tuple[Any, Problem, AnyArray]]
    _sampling: Callable[..., "Sampling"]

    @property
    def _trees(self) -> PackedTrees:
        """The trees, packed."""
        check_is_fitted(self)
        trees = self.model_.trees
        if not isinstance(trees, PackedTrees):
            raise AttributeNotKnown(
                "The trees of this forest were edited by hand and are no longer those of a fit, "
                "so this is not known. predict, apply and the readers of trees work; ask the "
                "forest as it was fitted."
            )
        return trees

    def decision_path(self, X: Any) -> tuple[csr_array, Int64Array]:
        """Say which nodes of each tree each row passes, as scikit-learn's forests do.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        indicator : sparse array of shape (n_samples, n_nodes)
            CSR with a 1 where a row passes a node, root and leaf included; the nodes of one tree
            stand after those of another.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            Where the nodes of each tree begin: the columns from `n_nodes_ptr[k]` up to
            `n_nodes_ptr[k + 1]` are those of tree k.
        """
        passed = super().decision_path(X)
        trees = self.model_.trees
        if isinstance(trees, PackedTrees):
            return passed, trees.node_ptr.copy()
        return passed, pointers([tree.n_nodes for tree in trees])

    def oob_importances(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        n_repeats: int = 1,
        random_state: SeedLike = None,
    ) -> Bunch:
        """Say how much worse trees do without a feature, on rows that they were grown without.

        Each tree is asked about its own rows out of bag, once as they are and once with the
        values of a feature permuted among them. Unlike `feature_importances_`, this does not
        favour features with many values. Features that say the same stand in for each other,
        so that each of them seems to matter little.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the forest was fitted to: they are not kept in it.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            What was learnt.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit, if there were any. They say which rows are out of bag;
            there, all rows count alike.
        n_repeats : int, default=1
            How often a feature is permuted for each tree. More trees do the same.
        random_state : int, RandomState instance or None, default=None
            The seed of the permutations.

        Returns
        -------
        Bunch
            A dictionary with the attributes `importances_mean`: for each feature the loss of
            accuracy, or for numbers the rise of the mean squared error, on average over trees;
            0 if no tree uses it. `importances_std`: the standard error of that mean.
            `importances`, of shape (n_features, n_trees): those of each tree; NaN for a tree
            without rows out of bag, which counts for nothing.

        Raises
        ------
        ValueError
            If these are not the rows of the fit, or no tree has rows out of bag.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from obliqua import ObliqueForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ObliqueForestClassifier(random_state=0).fit(X, y)
        >>> found = forest.oob_importances(X, y, random_state=0)
        >>> sorted(found.importances_mean.argsort()[2:].tolist())
        [2, 3]
        """
        from obliqua.forest import permutation_losses

        trees = self._trees
        if isinstance(n_repeats, bool) or not isinstance(n_repeats, Integral) or n_repeats < 1:
            raise ValueError(f"n_repeats must be a whole number from 1 on; got {n_repeats!r}.")
        problem, sampling = self._same_rows(X, y, sample_weight)
        if problem.is_sparse:
            raise ValueError(
                "Columns of a dense X are permuted; got a sparse one. feature_importances_ says "
                "how much the splits of each feature gain, or give X.toarray() if there is memory "
                "for that."
            )
        target = problem.target

        def errors(said: FloatArray, rows: Int64Array) -> AnyArray:
            if isinstance(target, Classes):
                return np.asarray(said.argmax(axis=1) != target.codes[rows])
            assert isinstance(target, Numbers)
            return np.asarray(((said - target.values[rows]) ** 2).mean(axis=1))

        seeds = check_random_state(random_state).randint(2**31 - 1, size=len(trees))
        n_threads = thread_count(self.n_jobs)
        rises = permutation_losses(trees, sampling, errors, int(n_repeats), seeds, n_threads)
        known = rises[:, ~np.isnan(rises[0])]
        n = known.shape[1]
        if not n:
            raise ValueError(
                "Each tree was grown from all rows, so none is out of bag. Fit with "
                "bootstrap=True, or with max_samples below 1."
            )
        spread = known.std(axis=1, ddof=1) if n > 1 else np.full(len(known), np.nan)
        return Bunch(
            importances_mean=known.mean(axis=1),
            importances_std=spread / n**0.5,
            importances=rises,
        )

    def _same_rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> "tuple[Problem, Sampling]":
        """Return the rows of the fit, given again, and how trees drew from them."""
        _, problem, _ = self._encoded(X, y, sample_weight)
        sampling = self._sampling(problem, self._seed)
        if self._fingerprint != sampling.fingerprint:
            raise ValueError(
                "Which rows a tree was grown without is known of the rows of the fit only: X, y "
                "and sample_weight must be those, and bootstrap, max_samples and class_weight "
                "what they were. Got others. sklearn.inspection.permutation_importance takes "
                "any rows."
            )
        return problem, sampling

    def proximities(self, X: Any, Y: Any = None) -> FloatArray:
        """Say how near rows are to each other, as the forest sees them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        Y : array-like of shape (n_others, n_features), default=None
            Other rows. `None` compares the rows of X with each other.

        Returns
        -------
        ndarray of shape (n_samples, n_others)
            The share of trees in which both rows end in the same leaf: 1 for equal rows.

        Raises
        ------
        ValueError
            If there are more than 25 million pairs.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from obliqua import ObliqueForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> near = ObliqueForestClassifier(random_state=0).fit(X, y).proximities(X)
        >>> bool(near[:50, :50].mean() > 10 * near[:50, 50:].mean())
        True
        """
        trees, Z = self._trees, self._check_rows(X)
        others = Z if Y is None else self._check_rows(Y)
        if len(Z) * len(others) > MOST_PAIRS:
            raise ValueError(
                f"{len(Z)} x {len(others)} rows have {len(Z) * len(others)} proximities, more "
                f"than {MOST_PAIRS}. Give fewer rows, for instance a sample of them, or some at "
                "a time as X."
            )
        first = self._indicators(Z)
        same = (first @ (first if Y is None else self._indicators(others)).T).toarray()
        return np.asarray(same / len(trees))

    def _indicators(self, Z: Rows) -> csr_array:
        """Return a 1 for each leaf of each tree that a row reaches."""
        leaves = self._trees.leaves(Z, self._n_threads(Z))
        ends = np.arange(len(Z) + 1) * leaves.shape[1]
        ones = np.ones(leaves.size, dtype=np.int32)
        shape = (len(Z), len(self._trees.leaf_rows))
        return csr_array((ones, leaves.ravel(), ends), shape=shape)


class NumberQuestions(ForestQuestions, TreesRegressor):
    """What a forest of numbers is asked: how far off it may be."""

    _kept_rows: "LeafRows"
    _oob_residuals: FloatArray  # ascending, by output

    def predict_std(self, X: Any) -> FloatArray:
        """Say how far training rows in the same leaves lie from what the forest says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The root of the mean, over trees, of the leaf's mean squared error and the squared
            distance of its mean from what the forest says; of several outputs, of the mean over
            them. Leaves of one row have no error of their own: then it says how far trees
            disagree, and rows that are new lie further off. `predict_interval` tells of these.
        """
        return self._spread_of(self._check_rows(X))

    def _spread_of(self, Z: Rows) -> FloatArray:
        """Return how far training rows in the same leaves lie from what the forest says."""
        trees = self._trees
        assert trees.leaf_mean is not None and trees.leaf_rest is not None
        own = trees.leaf_rest / trees.leaf_weight
        found = np.empty(len(Z))
        for begin in range(0, len(Z), BLOCK):
            leaves = trees.leaves(Z[begin : begin + BLOCK], self._n_threads(Z))
            means = trees.leaf_mean[leaves]
            apart = means - means.mean(axis=1, keepdims=True)
            squares = own[leaves] + (apart**2).sum(axis=2)
            found[begin : begin + BLOCK] = squares.mean(axis=1)
        return np.sqrt(found / trees.n_outputs)

    def predict_quantiles(
        self, X: Any, quantiles: Sequence[float] = (0.1, 0.5, 0.9)
    ) -> FloatArray:
        """Predict quantiles of what is learnt, from the training rows in the same leaves.

        Each training row counts by its share of the weight of the leaf that a tree puts both
        rows into, on average over trees [1]_. Larger leaves tell more: `min_samples_leaf=5` is
        a sensible setting.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        quantiles : sequence of float, default=(0.1, 0.5, 0.9)
            The shares of the weight that lie at or below the numbers asked for.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_quantiles, n_outputs)
            The least numbers of training rows that have so much weight at or below them.

        Raises
        ------
        ValueError
            If it was fitted without `keep_rows`, or loaded from a model file, which does not
            hold the rows.

        References
        ----------
        .. [1] N. Meinshausen (2006). Quantile regression forests. *Journal of Machine Learning
           Research* 7, 983-999.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from obliqua import ObliqueForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = ObliqueForestRegressor(min_samples_leaf=5, keep_rows=True, random_state=0)
        >>> low, high = forest.fit(X, y).predict_quantiles(X[:1], [0.1, 0.9])[0].tolist()
        >>> bool(low < forest.predict(X[:1])[0] < high)
        True
        """
        trees, Z, shares = self._trees, self._check_rows(X), checked_quantiles(quantiles)
        if "_kept_rows" not in vars(self):
            raise ValueError(
                "Quantiles are read from the training rows in the leaves, which this forest has "
                "not kept: it was fitted without keep_rows=True, or loaded from a model file, "
                "which does not hold them. Fit it with keep_rows=True; a pickle keeps them."
            )
        found = self._kept_rows.quantiles(trees, Z, shares, self._n_threads(Z))
        return found[:, :, 0] if found.shape[2] == 1 else found

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Predict an interval that holds what is learnt with a given probability.

        What the forest says, and on both sides of it how far training rows were off that trees
        were grown without [1]_. It needs `oob_score`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        coverage : float, default=0.9
            The share of new rows that the intervals shall hold, between 0 and 1: half of the
            others lie below, half above.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, 2, n_outputs)
            The lower and the upper end. Of several outputs, each has intervals of its own.

        Raises
        ------
        ValueError
            If it was fitted without `oob_score`.

        Notes
        -----
        Intervals are equally wide everywhere, and hold the given share over all rows, not in each
        part of them. Where noise is not the same everywhere, `predict_quantiles` tells more. Rows
        out of bag are predicted by about a third of the trees, so with few trees the intervals
        are too wide.

        References
        ----------
        .. [1] H. Zhang, J. Zimmerman, D. Nettleton, D. J. Nordman (2020). Random forest
           prediction intervals. *The American Statistician* 74(4), 392-406.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from obliqua import ObliqueForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> forest = ObliqueForestRegressor(oob_score=True, random_state=0).fit(X[:300], y[:300])
        >>> low, high = forest.predict_interval(X[300:], coverage=0.8).T
        >>> bool(0.7 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.9)
        True
        """
        Z = self._check_rows(X)
        real = isinstance(coverage, Real) and not isinstance(coverage, bool)
        if not real or not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be a number between 0 and 1; got {coverage!r}.")
        if "_oob_residuals" not in vars(self):
            raise ValueError(
                "Intervals are made of how far off rows were that trees were grown without. Fit "
                "the forest with oob_score=True."
            )
        tail = (1.0 - float(coverage)) / 2
        # The k-th of n numbers is passed by the next one with a chance of k / (n + 1).
        ends = np.quantile(self._oob_residuals, [tail, 1.0 - tail], axis=0, method="weibull")
        said = self.model_.predict(Z, self._n_threads(Z)).reshape(len(Z), 1, -1)
        found = said + ends[None, :, :]
        return found[:, :, 0] if found.shape[2] == 1 else found
