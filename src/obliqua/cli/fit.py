"""``obliqua fit``: grow a tree from a table and keep it in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import click
import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.cli import _command as shared
from obliqua.cli._blocks import (
    TableBlocks,
    TablePlan,
    files_of,
    memory_option,
    planned,
    read_whole,
)
from obliqua.cli._columns import learnt_columns, print_other_types, print_types
from obliqua.cli._data import read_table
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._memory import bytes_in_memory, in_words
from obliqua.cli._models import (
    could_sample,
    make_estimator,
    reads_in_passes,
    set_categories,
    size_of,
    takes_tables,
)
from obliqua.cli._output import chosen_target, each_note_once, note, print_facts, share_bar
from obliqua.cli._summary import LabelledRows, Tally, TreeMeasure, summary, training_rows
from obliqua.cli._table import NamedTable, choose_known
from obliqua.cli._target import check_differ, choose_task, learnt_rows, read_target, said_of_target
from obliqua.cli._types import (
    ColumnChoice,
    Features,
    UnreadableColumns,
    infer,
    plain_numbers,
    read_as,
)
from obliqua.io.values import text_of
from obliqua.select.methods import methods_for
from obliqua.select.task import task_of_names

DEFAULT_OUTPUT = "model.obliqua"
IN_PASSES = {"classification": "hhcart-d-fisher", "regression": "cart"}  # if none is named


@shared.command(
    "obliqua fit patients.csv --target diagnosis",
    "obliqua fit patients.csv -t diagnosis -m cart --set max_depth=3 --holdout 0.2",
    "obliqua fit houses.csv --target price --holdout 0.2",
    "zcat big.csv.gz | obliqua fit - -t y --drop id,name --output big.obliqua",
    methods="obliqua.",
)
@shared.files_argument
@shared.target_option
@click.option(
    "--method",
    "-m",
    type=shared.MethodName("obliqua."),
    show_default="refined; for numbers oblique-linear",
    help="How splits are found; the methods are listed below.",
)
@shared.task_option
@shared.set_option
@shared.features_options
@shared.types_option
@click.option("--weight", metavar="COLUMN", help="The column with the rows' weights.")
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Keep this share of the rows out of the fit, and measure the tree on them.",
)
@click.option("--test", metavar="FILE", help="Measure the tree on the rows of this table.")
@shared.drop_missing_option
@shared.seed_option
@shared.jobs_option("threads")
@memory_option
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help=f"The model file. Without this option it is {DEFAULT_OUTPUT}, which must not exist yet.",
)
@shared.delimiter_option
def fit(data: tuple[str, ...], output: Path | None, **given: Any) -> None:
    """Grow a tree from the rows of DATA and save it.

    DATA is a CSV or Parquet file, several, a pattern such as 'data/*.parquet', or - for standard
    input.
    All columns but the target are features: numbers are numeric, text is categories, and cells
    may be empty. A table that is larger than memory is read in passes.
    """
    from obliqua.select.methods import default_method

    target = given["target"]
    path = Path(DEFAULT_OUTPUT)
    if not given["types"]:
        path = chosen_target(output, DEFAULT_OUTPUT, *files_of(data), given["test"])
    if given["method"] == "sklearn":
        raise click.UsageError(
            "--method: scikit-learn's tree is for `obliqua compare`; a model file holds trees of "
            "obliqua. The same kind of tree is cart."
        )
    plan = planned(data, given["memory"])
    if plan.limit is not None:
        _fit_in_passes(plan, path, given)
        return
    table = read_whole(plan, given["delimiter"], given["missing"], given["dates"])
    weight = given["weight"]
    table.require([target], "--target")
    method = given["method"]
    task = choose_task(table, target, given["task"], [] if method is None else [method])
    given["task"] = task
    table.require([] if weight is None else [weight], "--weight")
    if weight == target:
        raise Trouble(f"--weight: {weight!r} is the target.")
    table = learnt_rows(table, target, task, given["drop_missing_target"])
    taken = [target, *([weight] if weight else [])]
    table, names = learnt_columns(table, taken, given)
    given["method"] = method or default_method(task, len(names))
    estimator = make_estimator(given["method"], given["settings"], given["seed"], task)
    estimator.set_params(n_jobs=given["jobs"])
    y = read_target(table, target, task)
    said = {**said_of_target(target, task, y), str(weight): "weights"}
    try:
        X = _features(table, names, given, estimator)
    except UnreadableColumns as error:
        if given["types"]:
            print_other_types(table, error, said)
        raise
    if given["types"]:
        print_types(table, X, said)
        return
    check_differ(target, task, y)
    rows = LabelledRows(X, y, None if weight is None else _weights(table, weight))
    tests = _other_rows(given, target, X, takes_tables(estimator))
    held = _held_out(y, given["holdout"], given["seed"], task)
    grown = rows.part(~held)
    if X.given:
        set_categories(estimator, list(X.qualitative))
    estimator.fit(grown.X.frame, grown.y, sample_weight=grown.weights)
    if held.any():
        tests.append((f"{counted(int(held.sum()), 'row')} held out", [rows.part(held)]))
    _finish(estimator, _facts(estimator, [grown], tests, given), path)


def _facts(
    estimator: Any,
    grown: Iterable[LabelledRows],
    tests: Iterable[tuple[str, Iterable[LabelledRows]]],
    given: dict[str, Any],
) -> list[tuple[str, str]]:
    """Measure a fitted estimator, and return what is said of it."""
    tally, measured = Tally(), TreeMeasure(estimator, training_rows(estimator, given))
    for rows in grown:
        tally.add(rows, given["task"] == "regression")
        measured.add(rows)
    facts = summary(estimator, tally, measured, given)
    for what, others in tests:
        on_others = TreeMeasure(estimator, what)
        for rows in others:
            on_others.add(rows)
        facts.append(on_others.fact())
    return facts


def _finish(estimator: Any, facts: list[tuple[str, str]], path: Path) -> None:
    """Save a fitted estimator, and say what it is."""
    from obliqua.estimators.files import save

    # The file is the same for any number of threads, and however rows were read.
    estimator.set_params(n_jobs=None)
    if "memory_limit" in estimator.get_params():
        estimator.set_params(memory_limit=None)
    save(estimator, path)
    print_facts([*facts, ("saved", f"{path}, {size_of(path)}")])


def _fit_in_passes(plan: TablePlan, path: Path, given: dict[str, Any]) -> None:
    """Fit to a table that is larger than memory."""
    from obliqua.cli._passes import fit_written, scratch_folder, written

    if given["types"]:
        raise Trouble(
            f"--types looks at all rows at once, and {plan.called} would take about "
            f"{in_words(plan.needed)} of memory. Give it the first rows of the table."
        )
    known = task_of_names([given["method"]] if given["method"] else [])
    task = known if given["task"] == "auto" else given["task"]
    if given["method"] is not None and task is not None:
        _check_reads_in_passes(_estimator_in_passes(plan, given, task), plan, given, task)
    size = f" would take about {in_words(plan.needed)} of memory" if plan.needed else ""
    note(
        f"{plan.called}{size}{', ' if size else ' '}and is read in passes, with "
        f"{in_words(plan.limit or 0)}."
    )
    blocks = TableBlocks(plan, given["delimiter"], given["missing"], given["dates"])
    on_disk = bytes_in_memory(plan.paths, {"csv": 1, "parquet": 1})
    with scratch_folder(path, on_disk) as folder, share_bar() as bar, each_note_once():

        def told(done: int, total: int, n_rows: int) -> None:
            bar(f"reading {n_rows:,} rows", done / total if total else None)

        bar("reading", 0.0)
        table, task = written(blocks, given, folder, told)
        given["task"] = task
        if given["method"] is None:
            given["method"] = IN_PASSES[task]
            note(f"The method is {given['method']}; others are chosen with --method.")
        estimator = _estimator_in_passes(plan, given, task)
        _check_reads_in_passes(estimator, plan, given, task)
        if table.given:
            set_categories(estimator, list(table.qualitative))
        fit_written(estimator, table, bar)
        tests: list[tuple[str, Iterable[LabelledRows]]] = []
        if table.held.n_rows:
            held = counted(table.held.n_rows, "row")
            tests.append((f"{held} held out", table.blocks(held=True)))
        if given["test"] is not None:
            tests += _tests_in_parts(estimator, plan, given)
        bar("measuring", None)
        facts = _facts(estimator, table.blocks(), tests, given)
    _finish(estimator, facts, path)


def _estimator_in_passes(plan: TablePlan, given: dict[str, Any], task: str) -> Any:
    """Return an unfitted estimator that reads rows in passes."""
    estimator = make_estimator(given["method"], given["settings"], given["seed"], task)
    estimator.set_params(n_jobs=given["jobs"])
    if "memory_limit" in estimator.get_params():
        estimator.set_params(memory_limit=plan.limit)
    return estimator


def _check_reads_in_passes(
    estimator: Any, plan: TablePlan, given: dict[str, Any], task: str
) -> None:
    """Refuse a method that must see all rows, before these are read."""
    if reads_in_passes(estimator):
        return
    others = [
        name
        for name in methods_for(task)
        if name != "sklearn" and reads_in_passes(make_estimator(name, (), 0, task))
    ]
    sample = ""
    if could_sample(estimator):
        sample = "let it look for directions in samples with --set sample_rows=50000, "
    raise Trouble(
        f"{given['method']} needs all rows in memory, and {plan.called} would take about "
        f"{in_words(plan.needed)}; {in_words(plan.limit or 0)} may be taken. Allow more with "
        f"--memory, {sample}take fewer rows, or a method that reads in passes: "
        f"{', '.join(others)}."
    )


def _tests_in_parts(
    estimator: Any, plan: TablePlan, given: dict[str, Any]
) -> list[tuple[str, Iterable[LabelledRows]]]:
    """Return the rows to test on, part by part."""
    model, target = estimator.model_, given["target"]
    other = replace(planned([given["test"]], given["memory"]), limit=plan.limit)

    def parts() -> Iterator[LabelledRows]:
        for table in TableBlocks(other, given["delimiter"], given["missing"], given["dates"]):
            table.require([target], "--test")
            table = learnt_rows(table, target, given["task"], given["drop_missing_target"])
            table, _ = choose_known(table, model.encoding.names, named=True)
            frame = read_as(table, model.encoding.columns, model.takes_missing)
            weight = given["weight"]
            known = weight is not None and weight in table.frame.columns
            weights = _weights(table, weight) if known else None
            y = read_target(table, target, given["task"])
            yield LabelledRows(Features(frame, (), given=False), y, weights)

    return [(f"the rows of {other.called}", parts())]


def _features(
    table: NamedTable, names: list[str], given: dict[str, Any], estimator: Any
) -> Features:
    """Read the columns to learn from as the method can take them."""
    if takes_tables(estimator):
        return infer(table, names, ColumnChoice.of(given))
    from obliqua.select.methods import METHODS

    others = [
        name for name in METHODS if name != "sklearn" and takes_tables(make_estimator(name, (), 0))
    ]
    if given["categorical"]:
        raise click.UsageError(
            f"--categorical: {given['method']} takes numbers only. Methods that take categories "
            f"are {', '.join(others)}."
        )
    more = f"Methods that take categories and gaps are {', '.join(others)}."
    what = f"features of {given['method']}"
    return Features(plain_numbers(table, names, what, more), (), given=False)


def _weights(table: NamedTable, weight: str) -> FloatArray:
    column = plain_numbers(table, [weight], "weights")[weight]
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _held_out(y: AnyArray, share: float | None, seed: int, task: str) -> BoolArray:
    """Choose rows to hold out; of classes, of each its share."""
    held = np.zeros(len(y), dtype=bool)
    if share is None:
        return held
    from sklearn.model_selection import train_test_split

    if task == "regression":
        if len(y) - ceil(share * len(y)) < 1:
            raise Trouble(f"--holdout {share:g} would leave no row to grow a tree.")
        held[train_test_split(np.arange(len(y)), test_size=share, random_state=seed)[1]] = True
        return held
    labels, counts = np.unique(y, return_counts=True)
    n_held, n_classes = ceil(share * len(y)), len(labels)
    if counts.min() < 2:
        raise Trouble(
            f"--holdout takes rows of each class, but the class "
            f"{text_of(labels[counts.argmin()])!r} has only one."
        )
    if min(n_held, len(y) - n_held) < n_classes:
        raise Trouble(
            f"--holdout {share:g} would hold out {n_held:,} of {counted(len(y), 'row')} and leave "
            f"{len(y) - n_held:,} to grow a tree. Either part needs a row of each of the "
            f"{n_classes} classes; say another share."
        )
    _, rows = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)
    held[rows] = True
    return held


def _other_rows(
    given: dict[str, Any], target: str, X: Features, gaps: bool
) -> list[tuple[str, Iterable[LabelledRows]]]:
    """Read the rows to test on, before the time of a fit is spent."""
    if given["test"] is None:
        return []
    table: NamedTable = read_table(
        given["test"], given["delimiter"], given["missing"], given["dates"]
    )
    table.require([target], "--test")
    table = learnt_rows(table, target, given["task"], given["drop_missing_target"])
    table, _ = choose_known(table, X.frame.columns, named=True)
    what = f"{counted(table.frame.height, 'row')} of {table.source}"
    frame = read_as(table, X.columns(), gaps)
    weight = given["weight"]
    known = weight is not None and weight in table.frame.columns
    weights = _weights(table, weight) if known else None
    y = read_target(table, target, given["task"])
    return [(what, [LabelledRows(replace(X, frame=frame), y, weights)])]
