"""Teaching: rows of weight 0 are left out, and a teacher is fitted to the others."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_regressor
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import has_fit_parameter

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.table import read_by_columns
from obliqua.data.weights import checked_weights
from obliqua.estimators._labels import check_labels
from obliqua.estimators._teachers import RawRows, number_teacher_of, seeded, teacher_of

#: Teachers that take text.
_TAKES_TEXT = {
    "classification": "ObliqueForestClassifier()",
    "regression": "ObliqueForestRegressor()",
}
NO_NUMBERS = "could not convert string to float"  # how scikit-learn's message begins


def present_rows(
    X: Any, y: Any, sample_weight: ArrayLike | None, categorical_features: Any
) -> tuple[Any, Any, FloatArray | None]:
    """Leave out rows of weight 0."""
    if sample_weight is None:
        return X, y, None
    raw = RawRows(X, read_by_columns(X, categorical_features))
    weights = checked_weights(sample_weight, raw.n_rows, "sample_weight", "row")
    present = np.flatnonzero(weights > 0)
    if len(present) == 0:
        raise ValueError(
            f"All weights are zero (of {raw.n_rows} rows), so there is nothing to learn from. "
            "Give at least one row a positive weight."
        )
    if len(present) < raw.n_rows:
        X = raw.take(present)
        if y is not None:
            check_labels(y)
            check_consistent_length(raw.X, y)
            y = np.asarray(y)[present]
    return X, y, weights[present]


def default_teacher(task: str = "classification") -> Any:
    """Return what stands for a teacher that is not given."""
    from obliqua.estimators.forest import ObliqueForestClassifier, ObliqueForestRegressor

    return ObliqueForestClassifier() if task == "classification" else ObliqueForestRegressor()


def fit_teacher(
    estimator: Any,
    raw: RawRows,
    labels: AnyArray,
    weights: FloatArray | None,
    rows: Int64Array,
    seed: int | None,
    task: str = "classification",
) -> Any:
    """Fit a copy of a teacher."""
    given = default_teacher(task) if estimator is None else estimator
    unfit = isinstance(given, type) or not hasattr(given, "fit")
    if task == "regression" and (unfit or not is_regressor(given)):
        number_teacher_of(given, given=False)  # says what is wrong
    elif task == "classification" and (unfit or is_regressor(given)):
        teacher_of(given, given=False)
    more = {} if weights is None else {_parameter_of(given): weights[rows]}
    fitted = clone(given) if seed is None else seeded(clone(given), seed)
    try:
        return fitted.fit(raw.take(rows), labels[rows], **more)
    except ValueError as error:
        if NO_NUMBERS not in str(error):
            raise
        raise ValueError(
            f"The teacher, {type(given).__name__}, takes numbers only, and X holds text ({error})."
            " Give a teacher that makes numbers of text, a pipeline of scikit-learn's such as "
            "make_pipeline(make_column_transformer((OneHotEncoder(handle_unknown='ignore'), [...])"
            f", remainder='passthrough'), {type(given).__name__}()) with the columns of text in "
            f"[...], or one that takes text, such as {_TAKES_TEXT[task]}."
        ) from error


def _parameter_of(given: Any) -> str:
    """Return the name by which a teacher's fit takes weights."""
    if has_fit_parameter(given, "sample_weight"):
        return "sample_weight"
    steps = getattr(given, "steps", None)
    if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
        return f"{steps[-1][0]}__sample_weight"
    name = type(steps[-1][1] if steps else given).__name__
    raise ValueError(
        f"sample_weight is for the teacher, and the fit of {name} takes none. Leave the weights "
        "out, or take a teacher that does, such as a random forest."
    )
