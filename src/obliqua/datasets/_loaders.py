"""One function per data set, with the interface of scikit-learn's loaders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils import Bunch

from obliqua.datasets._facts import FACTS, Facts
from obliqua.datasets._sources import SourceTable, find
from obliqua.errors import MissingDependency

Loader = Callable[..., Any]

_DOC = """{title}: {rows} rows, {columns} features, {classes} classes.

{about}{qualitative}

Parameters
----------{subset}
return_X_y : bool, default=False
    Return ``(data, target)`` instead of a Bunch.
as_frame : bool, default=False
    Give the data as a pandas DataFrame and the target as a Series.{categories}

Returns
-------
Bunch or tuple
    A Bunch with ``data`` ({data}), ``target`` (labels as text), ``feature_names``,
    ``categorical_features`` ({places}), ``target_names``, ``frame`` (``None`` unless
    `as_frame`), ``DESCR`` and ``source``, which says where the data were found.

Raises
------
DatasetMissing
    The data are in none of the places where they are looked for.
DatasetDamaged
    What was found is not this data set.
"""
_SUBSET = """
subset : {"train", "test"}, default="train"
    Which of the two tables to load."""

_CATEGORIES = """
    The qualitative columns have pandas' type category."""
_NUMBERS = "float64"
_MIXED = """an array of objects: text in the
    qualitative columns, floats in the others"""
_NO_PLACES = "empty: all are numbers"
_PLACES = "positions of the qualitative columns"
_QUALITATIVE = " Qualitative columns: {names}."


def _load(facts: Facts, role: str, return_X_y: bool, as_frame: bool) -> Any:
    return as_bunch(facts, find(facts, role), return_X_y, as_frame)


def as_bunch(
    facts: Facts, table: SourceTable, return_X_y: bool, as_frame: bool, **more: Any
) -> Any:
    """Give a table the form of scikit-learn's loaders; a Bunch has more, if there is more."""
    data, target, frame = (*table[:2], None) if not as_frame else _frames(facts, table)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(facts.features),
        categorical_features=facts.categorical_features,
        target_names=list(facts.classes),
        DESCR=f"{facts.title}. {facts.about}",
        source=table.source,
        **more,
    )


def _frames(facts: Facts, table: SourceTable) -> tuple[Any, Any, Any]:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependency(
            "as_frame=True needs pandas; install it (pip install pandas)"
        ) from error
    data = pd.DataFrame(table.data, columns=list(facts.features))
    if facts.qualitative:
        kinds = dict.fromkeys(facts.features, "float64")
        data = data.astype(kinds | dict.fromkeys(facts.qualitative, "category"))
    target = pd.Series(table.target, name="class")
    return data, target, data.assign(**{"class": target})


def _describe(loader: Loader, facts: Facts, subset: str = "") -> None:
    names = ", ".join(facts.qualitative)
    loader.__doc__ = _DOC.format(
        title=facts.title,
        rows=" and ".join(str(part.n_rows) for part in facts.parts.values()),
        columns=len(facts.features),
        classes=len(facts.classes),
        about=facts.about,
        subset=subset,
        categories=_CATEGORIES if facts.qualitative else "",
        data=_MIXED if facts.qualitative else _NUMBERS,
        places=_PLACES if facts.qualitative else _NO_PLACES,
        qualitative=_QUALITATIVE.format(names=names) if names else "",
    )


def _loader(name: str) -> Loader:
    facts = FACTS[name]

    def load(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
        return _load(facts, "all", return_X_y, as_frame)

    load.__name__ = load.__qualname__ = f"load_{name}"
    _describe(load, facts)
    return load


def _loader_of_parts(name: str) -> Loader:
    facts = FACTS[name]

    def load(*, subset: str = "train", return_X_y: bool = False, as_frame: bool = False) -> Any:
        if subset not in facts.parts:
            raise ValueError(f"subset must be 'train' or 'test', got {subset!r}")
        return _load(facts, subset, return_X_y, as_frame)

    load.__name__ = load.__qualname__ = f"load_{name}"
    _describe(load, facts, _SUBSET)
    return load


load_adult = _loader_of_parts("adult")
load_australian = _loader("australian")
load_balance_scale = _loader("balance_scale")
load_bank_full = _loader("bank_full")
load_boston_housing = _loader("boston_housing")
load_breast_cancer_wisconsin = _loader("breast_cancer_wisconsin")
load_bupa = _loader("bupa")
load_glass = _loader("glass")
load_glass_windows = _loader("glass_windows")
load_haberman = _loader("haberman")
load_heart = _loader("heart")
load_iris = _loader("iris")
load_letter = _loader("letter")
load_pima = _loader("pima")
load_shuttle = _loader_of_parts("shuttle")
load_spect = _loader_of_parts("spect")
load_wine = _loader("wine")
