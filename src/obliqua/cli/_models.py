"""Estimators from names and settings, and models from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obliqua.cli._errors import Trouble, counted, did_you_mean

if TYPE_CHECKING:
    from obliqua.tree.model import Model

OWN_OPTIONS = {
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "categorical_features": "--categorical",
}


def make_estimator(
    name: str, settings: Iterable[tuple[str, Any]], seed: int, task: str = "classification"
) -> Any:
    """Return an unfitted estimator."""
    from obliqua.select.methods import find_method, methods_for

    if name not in methods_for(task):
        others = ", ".join(methods_for(task))
        if task == "regression":
            what, instead = "learns classes. For numbers there are", "make classes of them with"
        else:
            what, instead = "learns numbers. For classes there are", "learn the target as numbers:"
        other = "classification" if task == "regression" else "regression"
        raise click.UsageError(f"--method: {name} {what} {others}; or {instead} --task {other}.")
    method = find_method(name, task)
    estimator = method.make(seed)
    known = estimator.get_params()
    wanted = list(settings)
    for parameter, _ in wanted:
        last = parameter.split("__")[-1]  # a parameter of the method inside is estimator__...
        if last in OWN_OPTIONS:
            raise click.UsageError(f"{parameter} is set with {OWN_OPTIONS[last]}.")
        if parameter not in known:
            free = [name for name in known if name.split("__")[-1] not in OWN_OPTIONS]
            others = ", ".join(sorted(free))
            inside = f"estimator__{parameter}"
            hint = did_you_mean(inside if inside in known else parameter, known)
            having = [
                other.name
                for other in methods_for(task).values()
                if parameter in other.make(seed).get_params()
            ]
            elsewhere = f" Methods that have it: {', '.join(having)}." if having else ""
            raise click.UsageError(
                f"--set: {name} has no parameter {parameter!r}.{hint} It has {others}.{elsewhere}"
            )
    try:
        for parameter, value in wanted:
            estimator.set_params(**{parameter: value})
        estimator._validate_params()  # as a fit would: what makes no sense is wrong usage
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"--set: {' '.join(str(error).split())}") from error
    return estimator


def set_categories(estimator: Any, names: list[str]) -> None:
    """Say which columns are qualitative, if the method takes such."""
    asked = [
        name for name in estimator.get_params() if name.split("__")[-1] == "categorical_features"
    ]
    estimator.set_params(**dict.fromkeys(asked, names))


def takes_tables(estimator: Any) -> bool:
    """Say whether a method takes categories and missing values."""
    from sklearn.utils import get_tags

    return bool(get_tags(estimator).input_tags.categorical)


def reads_in_passes(estimator: Any) -> bool:
    """Say whether a method can grow its tree from rows that are not in memory."""
    from obliqua.estimators._in_passes import needs_rows, needs_sample

    return needs_rows(estimator) is None and not needs_sample(estimator)


def could_sample(estimator: Any) -> bool:
    """Say whether a method would read in passes, if it were given sample_rows."""
    from obliqua.estimators._in_passes import needs_rows, needs_sample

    return needs_rows(estimator) is None and needs_sample(estimator)


def load_model(path: str) -> tuple[Any, Model]:
    """Load a model, and return it with the container that holds its trees."""
    from obliqua.estimators.files import load
    from obliqua.tree.model import Model
    from obliqua.tree.tree import Tree

    file = Path(path)
    if file.is_dir():
        raise Trouble(f"{path} is a folder; name a model file.")
    if not file.exists():
        try:
            beside = [other.name for other in file.parent.iterdir()]
        except OSError:
            beside = []
        raise Trouble(f"{path} is not there.{did_you_mean(file.name, beside)}")
    model = load(file)
    if isinstance(model, Tree):
        return model, Model.of_tree(model)
    return model, getattr(model, "model_", model)


def has_own_names(model: Model) -> bool:
    """Say whether a model's columns were given names; otherwise they are called x0, x1, ..."""
    from obliqua.data.encoding import Encoding

    return model.encoding.names != Encoding.identity(model.encoding.n_columns).names


def holds_out(model: Any) -> bool:
    """Say whether an estimator may hold rows out to prune its tree."""
    from obliqua.prune.pruners import PRUNERS, BySize, OnHeldOutRows, get_pruner

    name = getattr(model, "pruning", None)
    if not isinstance(name, str) or name not in PRUNERS:
        return False
    return isinstance(get_pruner(name, ccp_alpha=model.ccp_alpha), OnHeldOutRows | BySize)


def rows_that_grew(model: Any) -> int:
    """Return how many rows a fitted estimator has grown its tree from, the first of several."""
    return int(model.model_.trees[0].n_samples[0])


def features_used(model: Model) -> list[tuple[str, str]]:
    """Say how many features splits have, and leaves with functions, and what a row costs."""
    from obliqua.tree.shape import features_per_leaf, features_per_split, way_of_a_row

    split, leaf = features_per_split(model), features_per_leaf(model)
    facts = [("features per split", "-" if split != split else f"{split:.1f}")]
    if leaf == leaf:
        facts.append(("features per leaf", f"{leaf:.1f}, in a linear function"))
    splits, terms = way_of_a_row(model)
    if splits > 0.0:
        facts.append(("an average row", f"{splits:.1f} splits, {terms:,.1f} multiplications"))
    return facts


def costs_used(model: Model) -> list[tuple[str, str]]:
    """Say what mistakes cost, if leaves go by that."""
    if model._packed is not None or not model.trees[0].costs:
        return []
    costs = [c for i, row in enumerate(model.trees[0].costs) for j, c in enumerate(row) if i != j]
    low, high = min(costs), max(costs)
    what = f"{low:,.6g}" if low == high else f"from {low:,.6g} to {high:,.6g}"
    return [("costs", f"{what}; leaves say the class that costs least")]


def size_of(path: Path) -> str:
    """Return the size of a file for a person."""
    n = path.stat().st_size
    return counted(n, "byte") if n < 1000 else f"{n / 1000:.1f} kB"
