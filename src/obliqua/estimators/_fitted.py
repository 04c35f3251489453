"""What all fitted estimators share, whether they hold one tree or several: predicting."""

from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from obliqua._core.base.walk import all_finite
from obliqua._typing import AnyArray, FloatArray, Int64Array, Rows
from obliqua.data.sparse_rows import no_sparse
from obliqua.data.threads import thread_count
from obliqua.errors import TreeError
from obliqua.estimators._elsewhere import said_elsewhere, score_elsewhere, tells_where
from obliqua.estimators._input import FLOATS, read_rows
from obliqua.estimators._labels import check_labels, check_numbers
from obliqua.io.values import NotSaved
from obliqua.tree.model import Model


def is_elsewhere(X: Any) -> bool:
    """Say whether X tells where rows are: in files, or in partitions of Dask."""
    return type(X) is not np.ndarray and tells_where(X)


# Fewer rows than this are walked before a second thread would have started.
ROWS_WORTH_THREADS = 10_000


class AttributeNotKnown(TreeError, AttributeError):
    """What an attribute tells is not known: scikit-learn's display leaves it out then."""


class TreesEstimator(BaseEstimator):
    """Base of the estimators that keep what they have learnt as a `Model`."""

    #: Whether the method takes qualitative columns and missing values.
    _takes_odd: bool = False
    #: Fitted attributes beside the model: what a fit has noted, kept in files too.
    _notes: ClassVar[dict[str, type]] = {}

    #: Whether its predictions are those of its model, as exports are.
    _predicts_model: ClassVar[bool] = True

    #: Whether its model may have several trees.
    _several: ClassVar[bool] = False

    n_jobs: int | None
    model_: Model

    def _validate_params(self) -> None:
        """Check the parameters; scikit-learn calls it before a fit, unless told to skip it."""
        self._check_saved()
        super()._validate_params()

    def _check_saved(self) -> None:
        """Refuse to fit without a parameter that a model file could not keep."""
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, NotSaved):
                raise ValueError(
                    f"The parameter {name!r} ({value.what}) could not be kept in the model file "
                    f"that this {type(self).__name__} was loaded from. Set it again before "
                    f"fitting: set_params({name}=...)."
                )

    def __sklearn_tags__(self) -> Any:
        """Say what the method takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = self._takes_odd
        tags.input_tags.sparse = self._why_dense() is None
        return tags

    def _why_dense(self) -> str | None:
        """Say why it is not fitted to a sparse X as it is; None if it is. Fitted trees take it."""
        return no_sparse(type(self).__name__)

    def _hold(self, model: Model, names: AnyArray | None) -> None:
        """Set all fitted attributes, at once: after a fit, and when a file was loaded."""
        fitted = {
            "model_": model,
            "n_features_in_": model.encoding.n_columns,
            "_n_plain": model.encoding.n_columns if model.encoding.numeric else -1,
        }
        if model.task == "regression":
            fitted["n_outputs_"] = model.n_outputs
        else:
            fitted |= {"classes_": model.classes, "n_classes_": model.n_classes}
        if model.combine == "single":
            fitted["tree_"] = model.trees[0]
        if names is not None:
            fitted["feature_names_in_"] = names
        for name in {"tree_", "feature_names_in_"} - fitted.keys():
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted)

    def _check_notes(self) -> None:
        """Check what a file has said of a fit beside the model; raise if it makes no sense."""

    # --- in notebooks --------------------------------------------------------------------

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, and below it the tree if there is one."""
        return self._with_picture(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the same for those who ask for all forms at once, as notebooks do."""
        forms: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in forms:
            forms["text/html"] = self._with_picture(forms["text/html"])
        return forms

    def _with_picture(self, html: str) -> str:
        if "model_" not in vars(self):
            return html
        from obliqua.pages.picture import with_picture

        return with_picture(html, self)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return scikit-learn's table of fitted attributes, which it has since 1.9.

        It reads all of them. Some are computed when they are asked for, and a model may be too
        large for one, or lack what it needs; the table is made without those.
        """
        known = BaseEstimator()
        for name in object.__dir__(self):  # that of scikit-learn reads attributes too
            if name.endswith("_") and not name.startswith("_"):
                with suppress(Exception):
                    vars(known)[name] = getattr(self, name)
        table = known._get_fitted_attr_html(doc_link)
        table.estimator_class = type(self)
        return table

    def apply(self, X: Any) -> Int64Array:
        """Say which leaf each row reaches.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_trees)
            The leaf's node number in `tree_`. With several trees, that in each of them.
        """
        if is_elsewhere(X):
            return said_elsewhere(self, "apply", X)
        Z = self._check_rows(X)
        return self.model_.apply(Z, self._n_threads(Z))

    def decision_path(self, X: Any) -> csr_array:
        """Say which nodes each row passes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        sparse array of shape (n_samples, n_nodes)
            CSR with a 1 where a row passes a node, root and leaf included. With several trees,
            the nodes of one stand after those of the other.
        """
        Z = self._check_rows(X)
        paths = [tree.decision_path(Z) for tree in self.model_.trees]
        return paths[0] if len(paths) == 1 else csr_array(hstack(paths, format="csr"))

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in the gain of all splits; see `obliqua.explain`."""
        check_is_fitted(self)
        from obliqua.explain.importance import importances

        try:
            return importances(self.model_)
        except TreeError as error:
            raise AttributeNotKnown(str(error)) from error

    def to_sklearn(self, X: Any = None) -> Any:
        """Make a fitted estimator of scikit-learn that says the same; see `obliqua.to_sklearn`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows to compare both on; a `CastWarning` counts and names those that reach another
            leaf.

        Returns
        -------
        DecisionTreeClassifier, DecisionTreeRegressor, forest or Pipeline
            The fitted estimator: a tree if each split compares one number, a forest if there are
            several such trees, else a pipeline of what the splits ask and a tree.
        """
        check_is_fitted(self)
        from obliqua.export.to_sklearn import to_sklearn

        return to_sklearn(self, X)

    def get_depth(self) -> int:
        """Return the depth of the tree, the deepest if there are several: 0 for a single leaf.

        Returns
        -------
        int
            The largest number of splits between the root and a leaf.
        """
        check_is_fitted(self)
        return self.model_._depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            The number of leaves, of all trees together.
        """
        check_is_fitted(self)
        return self.model_._n_leaves

    def _check_rows(self, X: Any) -> Rows:
        """Check rows to predict and return them as the engine takes them.

        scikit-learn's checks cost more than predicting one row. A plain array in which
        there is nothing to convert, to warn about or to refuse needs none of them; all
        else takes the usual way, so that results and messages are the usual ones.
        """
        fitted = vars(self)
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.shape[1] == fitted.get("_n_plain")
            and X.shape[0] > 0
            and X.flags.aligned
            and "feature_names_in_" not in fitted
            and all_finite(X)
        ):
            return X
        check_is_fitted(self)
        return read_rows(self, X)

    def _n_threads(self, Z: Rows) -> int:
        """Return how many threads walk the rows."""
        return thread_count(self.n_jobs) if len(Z) >= ROWS_WORTH_THREADS else 1


class TreesClassifier(ClassifierMixin, TreesEstimator):
    """Base of the classifiers."""

    classes_: AnyArray

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the largest weight in the leaf that the row reaches, or with `costs`
            the one that costs least; the first of them at ties. With several trees, the class
            with the largest share of all.
        """
        if is_elsewhere(X):
            return said_elsewhere(self, "predict", X)
        Z = self._check_rows(X)
        return self.classes_.take(self.model_.predict_index(Z, self._n_threads(Z)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the share of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The weighted share of each class in the leaf that the row reaches, in the order
            of `classes_`. With several trees, the share of the votes, the mean of the shares, or
            their sum.
        """
        if is_elsewhere(X):
            return said_elsewhere(self, "predict_proba", X)
        Z = self._check_rows(X)
        return self.model_.predict_proba(Z, self._n_threads(Z))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the share of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithm of `predict_proba`, minus infinity for a share of 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, or where they are, as for `fit`: they are read in parts.
        y : array-like of shape (n_samples,)
            Their true classes; of rows in files, the name of a column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; of rows in files, the name of a column.

        Returns
        -------
        float
            The accuracy.
        """
        if is_elsewhere(X):
            return score_elsewhere(self, X, y, sample_weight, check_labels, "accuracy_score")
        return float(super().score(X, y, sample_weight))


class TreesRegressor(RegressorMixin, TreesEstimator):
    """Base of the regressors."""

    _notes: ClassVar[dict[str, type]] = {"_quantiles": np.ndarray}

    n_outputs_: int
    _quantiles: FloatArray  # by leaf, quantile and output, in one row

    def __sklearn_tags__(self) -> Any:
        """Say that several outputs are learnt together."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any) -> FloatArray:
        """Predict the number of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            What the leaf says that the row reaches: the mean of its training rows, or the value
            of its linear function, which is never below the least or above the largest number of
            these rows. With several trees, the mean of what they say.
        """
        if is_elsewhere(X):
            return said_elsewhere(self, "predict", X)
        Z = self._check_rows(X)
        return self.model_.predict(Z, self._n_threads(Z))

    def predict_std(self, X: Any) -> FloatArray:
        """Say how far the training rows of the leaf lie from what it says.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The root of the leaf's mean squared error on its training rows; of several outputs,
            of the mean over them. Where leaves say medians, the mean distance from them. It tells
            of rows that the tree was fitted to, so rows that are new lie further off. NaN where
            the tree was edited and the rows of the leaf are not known.
        """
        return self._spread_of(self._check_rows(X))

    def predict_quantiles(self, X: Any) -> FloatArray:
        """Predict quantiles: those of the training rows in the leaf.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_quantiles, n_outputs)
            The quantiles that the parameter `quantiles` asks for, in its order. Where a leaf says
            a linear function, those of the distances of its rows from the function are added to
            what it says, within the limits of the leaf.

        Raises
        ------
        ValueError
            If it was fitted without `quantiles`.
        """
        Z = self._check_rows(X)
        found = self._quantiles_of(Z)
        if found is None:
            raise ValueError(
                "No quantiles were kept when this tree was fitted. Fit it with the parameter "
                "quantiles, such as quantiles=[0.1, 0.5, 0.9]."
            )
        return found[:, :, 0] if found.shape[2] == 1 else found

    def _quantiles_of(self, Z: Rows) -> FloatArray | None:
        """Return quantiles by row, share and output; None if none were kept."""
        if "_quantiles" not in vars(self):
            return None
        tree = self.model_.trees[0]
        leaf = tree.apply(Z, self._n_threads(Z))
        off = self._quantiles.reshape(tree.n_leaves, -1, self.n_outputs_)
        found = tree.said(Z, leaf)[:, None, :] + off[(np.cumsum(tree.is_leaf) - 1)[leaf]]
        if tree.has_lines:
            low, high = tree.leaf_low[leaf], tree.leaf_high[leaf]
            found = np.clip(found, low[:, None, None], high[:, None, None])
        return found

    def _spread_of(self, Z: Rows) -> FloatArray:
        """Return how far the training rows of the leaf lie from what it says."""
        tree = self.model_.trees[0]
        spread = np.sqrt(tree.impurity) if tree.loss == "squared_error" else tree.impurity
        spread = np.where(tree.n_samples < 0, np.nan, spread)
        return spread.take(tree.apply(Z, self._n_threads(Z)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R squared: the share of the variance of y that the predictions explain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, or where they are, as for `fit`: they are read in parts.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their true numbers; of rows in files, the names of columns.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; of rows in files, the name of a column.

        Returns
        -------
        float
            At most 1, and 0 for a tree that always says the mean of y; of several outputs the
            mean.
        """
        if is_elsewhere(X):
            return score_elsewhere(self, X, y, sample_weight, check_numbers, "r2_score")
        return float(super().score(X, y, sample_weight))
