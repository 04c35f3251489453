"""Model files: what they hold, and how they are written and read.

The format is described in docs/reference/file_format.md. `write_model` and `read_model` know
trees, classes and columns; estimators are the business of `obliqua.save` and `obliqua.load`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from obliqua._archive import MAGIC, MAX_FILE
from obliqua._atomic import name_of, read_bytes, write_bytes
from obliqua._model_bytes import FORMAT, VERSION, from_bytes, to_bytes
from obliqua.errors import ModelFileError
from obliqua.model import Model

__all__ = ["FORMAT", "VERSION", "read_model", "write_model"]


def write_model(model: Model, path: Any, about: Mapping[str, Any] | None = None) -> None:
    """Write a model to a file.

    The file gets its name only when all of it is on the disk. A program that is stopped at
    any moment leaves the old file or the new one.

    Parameters
    ----------
    model : Model
        The model.
    path : str, path-like or binary file object
        The file, by convention with the ending ``.obliqua``.
    about : mapping, default=None
        More to keep, as JSON knows it: strings as keys; null, bools, numbers, strings, lists
        and such mappings as values.

    Raises
    ------
    ModelFileIOError
        If the file cannot be written.
    TypeError
        If labels or levels are of a type that files do not hold, or if `about` holds something
        that JSON does not know, such as NaN.
    TreeError
        If a tree is malformed.
    ModelFileError
        If the model is too large for a file.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from obliqua import TreeBuilder
    >>> from obliqua.data import Encoding
    >>> from obliqua.io import read_model, write_model
    >>> from obliqua.model import Model
    >>> builder = TreeBuilder(n_features=1, n_stats=2)
    >>> builder.set_leaf("root", [3, 1])
    >>> model = Model((builder.build(),), "single", Encoding.identity(1), np.array(["no", "yes"]))
    >>> file = io.BytesIO()
    >>> write_model(model, file, {"made": "by hand"})
    >>> _ = file.seek(0)
    >>> read_model(file)
    (Model(1 tree, combine='single', 1 columns, 2 classes), {'made': 'by hand'})
    """
    name = name_of(path)
    try:
        data = to_bytes(model, about)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ModelFileError(f"{model!r} does not fit into the file {name}: {error}.") from error
    write_bytes(path, data)


def read_model(path: Any) -> tuple[Model, dict[str, Any]]:
    """Read a model from a file.

    Nothing in the file is run, and no pickle is read, so that a file from a stranger can do no
    more than give a wrong model.

    Parameters
    ----------
    path : str, path-like or binary file object
        The file.

    Returns
    -------
    model : Model
        Exactly the model that was written.
    about : dict
        What else was kept.

    Raises
    ------
    ModelFileMissing
        If there is no such file.
    ModelFileIOError
        If it cannot be read.
    ModelFileError
        If it is not a model file, is damaged, or was written by a newer version.
    """
    return from_bytes(read_bytes(path, MAGIC, MAX_FILE), name_of(path))
