"""`save` and `load`, `export_json` and `from_json`: estimators, models and trees in files."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

import obliqua
from obliqua.errors import ModelFileError
from obliqua.estimators._fitted import TreesEstimator
from obliqua.estimators.base import GrownTree
from obliqua.export.computation import Computation
from obliqua.export.json import json_of_model, model_of_json
from obliqua.export.self_test import self_test
from obliqua.export.text import check_limits
from obliqua.io.files import name_of, read_model, write_model
from obliqua.io.values import NotSaved, to_json
from obliqua.io.values import from_json as value_of_json
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

__all__ = ["NotSaved", "export_json", "from_json", "load", "save"]

_NOT_SAVED = "not_saved"

_ESTIMATOR = "estimator"


def save(model: Any, path: Any) -> None:
    """Save a fitted estimator, a model or a tree in a file.

    The file is small, holds no pickle, and is documented (see the page on the file format).
    It gets its name only when all of it is on the disk: a program that is stopped at any moment
    leaves the old file or the new one. The same model gives the same bytes.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a `Model` or a `Tree`.
    path : str, path-like or binary file object
        The file, by convention with the ending ``.obliqua``.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, or has labels of a type that files do not hold: they can be
        integers, floats, bools and strings.
    ModelFileIOError
        If the file cannot be written; a file that was there before is unchanged.

    See Also
    --------
    load : Load it again.
    obliqua.io.write_model : The same for a `Model`, with more to keep beside it.

    Notes
    -----
    Of the estimator's parameters, files hold None, bools, numbers, strings, and lists, tuples,
    dicts and arrays of them. In the place of others, such as functions, `load` puts a
    `NotSaved`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import obliqua
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = obliqua.HHCartClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     obliqua.save(tree, Path(folder) / "iris.obliqua")
    ...     again = obliqua.load(Path(folder) / "iris.obliqua")
    >>> again
    HHCartClassifier()
    >>> bool((again.predict_proba(X) == tree.predict_proba(X)).all())
    True
    """
    container, about = _with_facts(model)
    write_model(container, path, about)


def _with_facts(model: Any) -> tuple[Model, dict[str, Any]]:
    """Return the model of anything that can be saved, and what else is kept of it."""
    if isinstance(model, Model):
        return model, {"kind": "model"}
    if isinstance(model, Tree):
        return Model.of_tree(model), {"kind": "tree"}
    name = _checked_class(model)
    about = {
        "kind": "estimator",
        "class": name,
        "parameters": _parameters_to_json(model),
        "named": hasattr(model, "feature_names_in_"),
    }
    notes = [name for name in model._notes if hasattr(model, name)]
    if notes:  # files of other estimators stay as they were
        about["notes"] = {name: to_json(getattr(model, name)) for name in notes}
    return model.model_, about


def load(path: Any) -> Any:
    """Load what `save` has saved.

    Nothing in the file is run: a file from a stranger can do no more than give a wrong model.

    Parameters
    ----------
    path : str, path-like or binary file object
        The file.

    Returns
    -------
    estimator, Model or Tree
        An estimator of the same class, with its parameters, that predicts exactly the same;
        or the `Model` or `Tree` that was saved.

    Raises
    ------
    ModelFileMissing
        If there is no such file.
    ModelFileIOError
        If it cannot be read.
    ModelFileError
        If it is not a model file, is damaged, or is of a newer version.

    See Also
    --------
    save : Save an estimator, a model or a tree.
    obliqua.io.read_model : The `Model` in a file, whatever the estimator was.
    """
    if hasattr(path, "write") and not hasattr(path, "read"):
        raise TypeError(f"load needs a file that is open for reading; got {path!r}.")
    model, about = read_model(path)
    return _saved(model, about, name_of(path))


def export_json(
    model: Any, *, test_rows: Any = None, n_tests: int | None = None, indent: int | None = None
) -> str:
    """Write a model as JSON that other programs can read, node by node.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a `Model` or a `Tree`.
    test_rows : array-like of shape (n_rows, n_features), default=None
        Rows to keep with their answers, so that a program that reads the text can test itself.
        By default rows are made of the trees, and no row of the data is in the text.
    n_tests : int, default=None
        The most rows of the self-test; by default as many as reach each leaf, if these are not
        too many. 0 leaves them out.
    indent : int, default=None
        By how much to indent the text; None writes it on one line.

    Returns
    -------
    str
        The text, in ASCII. The page on the JSON format describes it.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, or has labels or levels of a type that JSON cannot hold.

    Warns
    -----
    CostWarning
        If the text will be very long.

    See Also
    --------
    from_json : Read it again.
    save : A smaller file, for obliqua only.

    Examples
    --------
    >>> from obliqua import TreeBuilder, export_json, from_json
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    >>> builder.set_leaf("low", [8, 1])
    >>> builder.set_leaf("high", [0, 5])
    >>> tree = builder.build()
    >>> from_json(export_json(tree)) == tree
    True
    """
    check_limits(n_tests=n_tests, indent=indent)
    _, about = _with_facts(model)
    computation = Computation.of(model)
    return json_of_model(computation, about, self_test(computation, test_rows, n_tests), indent)


def from_json(text: str | bytes) -> Any:
    """Read what `export_json` has written.

    Parameters
    ----------
    text : str or bytes
        The text.

    Returns
    -------
    estimator, Model or Tree
        What `load` returns for a file of the same model: exactly the same trees.

    Raises
    ------
    ModelFileError
        If the text is not what `export_json` writes for some model: if anything in it is missing,
        unknown or at odds with the rest, or if its own tests do not get their answers.
    """
    model, about = model_of_json(text)
    return _saved(model, about, "The text")


def _saved(model: Model, about: dict[str, Any], name: str) -> Any:
    """Make again what was saved of a model and what was kept of it."""
    kind = about.get("kind", "model")
    if kind == "model":
        return model
    if kind == "tree" and model == Model.of_tree(model.trees[0]):
        return model.trees[0]
    help_ = "obliqua.io.read_model still gives its Model"
    if kind != "estimator":
        raise ModelFileError(
            f"{name} holds something of the kind {str(kind)[:60]!r}, which this version "
            f"does not know. Upgrade obliqua; {help_}."
        )
    try:
        return _estimator(model, about)
    except _Unknown as error:
        raise ModelFileError(f"{name} {error}; {help_}.") from error
    except Exception as error:
        raise ModelFileError(
            f"{name} holds an estimator that cannot be made again: "
            f"{type(error).__name__}: {str(error)[:300]}; {help_}."
        ) from error


class _Unknown(Exception):
    """Something in a file that this version does not know."""


def _checked_class(model: Any) -> str:
    """Return the name under which an estimator is saved."""
    name = type(model).__name__
    if isinstance(model, type):
        raise TypeError(f"save takes a fitted estimator; got the class {model.__name__} itself.")
    if not isinstance(model, TreesEstimator):
        raise TypeError(
            f"save takes a fitted estimator of obliqua, a Model or a Tree; got {name}. Save the "
            "estimator inside a pipeline or a search, for instance search.best_estimator_, or "
            "use joblib.dump for the whole."
        )
    if not _is_our_own(model):
        raise TypeError(
            f"{name} is not a class of obliqua itself, so load could not find it. Save its trees "
            "with save(estimator.model_, path), or use joblib.dump."
        )
    if "model_" not in vars(model):
        raise NotFittedError(f"This {name} is not fitted, so there is nothing to save. Call fit.")
    return name


def _is_our_own(model: Any) -> bool:
    return type(model) is _class_called(type(model).__name__)


def _class_called(name: Any) -> Any:
    """Return the public estimator of a name, or None: nothing else that a file names is loaded."""
    known = getattr(obliqua, name) if name in obliqua.__all__ else None
    return known if isinstance(known, type) and issubclass(known, TreesEstimator) else None


def _parameters_to_json(model: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for name, value in sorted(model.get_params(deep=False).items()):
        if isinstance(value, GrownTree) and _is_our_own(value):
            state = {"class": type(value).__name__, "parameters": _parameters_to_json(value)}
            parameters[name] = {_ESTIMATOR: state}
            continue
        try:
            parameters[name] = to_json(value)
        except TypeError:
            parameters[name] = {_NOT_SAVED: _description(value)}
    return parameters


def _description(value: Any) -> str:
    """Say what an object is, without its address or its contents."""
    if isinstance(value, NotSaved):
        return value.what
    own = getattr(value, "__qualname__", None)
    if isinstance(own, str) and callable(value):
        return f"{'class' if isinstance(value, type) else 'function'} {own}"
    return f"an object of class {type(value).__qualname__}"


def _estimator(model: Model, about: dict[str, Any]) -> Any:
    estimator = _unfitted(about)
    if model.combine != "single" and not estimator._several:
        raise _Unknown(
            f"holds a {about['class']} of several trees, which this version does not know"
        )
    if is_classifier(estimator) != (model.task == "classification"):
        raise TypeError(f"a {about['class']} has no trees of {model.task}")
    names = np.array(model.encoding.names, dtype=object) if about["named"] is True else None
    estimator._hold(model, names)
    notes = about.get("notes", {})
    for note, kind in estimator._notes.items():
        if note in notes:
            value = value_of_json(notes[note])
            # exactly: a bool is no number here
            if kind not in (object, type(value)) or (type(value) is int and value < 0):
                raise TypeError(f"{note} is {value!r:.60}")
            setattr(estimator, note, value)
    estimator._check_notes()
    return estimator


def _unfitted(about: dict[str, Any], inside: bool = False) -> Any:
    """Make an estimator again; one that is the parameter of another has no such parameter."""
    name = about["class"]
    Estimator = _class_called(name)
    if Estimator is None or (inside and not issubclass(Estimator, GrownTree)):
        raise _Unknown(
            f"holds an estimator of the class {str(name)[:60]!r}, which this version does not "
            "know. Upgrade obliqua"
        )
    known = set(Estimator().get_params(deep=False))
    unknown = sorted(set(about["parameters"]) - known)
    if unknown:
        raise _Unknown(
            f"holds a {name} with the parameter {unknown[0][:60]!r}, which this version does not "
            "know. Upgrade obliqua"
        )
    parameters = {key: _parameter(state, inside) for key, state in about["parameters"].items()}
    return Estimator(**parameters)


def _parameter(state: Any, inside: bool) -> Any:
    if isinstance(state, dict) and state.keys() == {_NOT_SAVED}:
        return NotSaved(str(state[_NOT_SAVED]))
    if isinstance(state, dict) and state.keys() == {_ESTIMATOR} and not inside:
        return _unfitted(state[_ESTIMATOR], inside=True)
    return value_of_json(state)
