"""``obliqua distil``: a small model that does what another one does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.cli import _command as shared
from obliqua.cli._columns import learnt_columns
from obliqua.cli._data import read_table
from obliqua.cli._errors import Trouble, counted, listed
from obliqua.cli._labels import check_known, class_numbers
from obliqua.cli._models import features_used, has_own_names, load_model, size_of
from obliqua.cli._output import chosen_target, note, print_facts
from obliqua.cli._table import NamedTable, choose_features, choose_known
from obliqua.cli._target import choose_task, learnt_rows, read_target
from obliqua.cli._types import ColumnChoice, infer, read_as
from obliqua.data.encoding import Column
from obliqua.io.values import text_of

if TYPE_CHECKING:
    from obliqua.estimators.distilled import DistilledClassifier
    from obliqua.estimators.distilled_regressor import DistilledRegressor

DEFAULT_OUTPUT = "student.obliqua"
METHODS = {
    "classification": ("cart", "hhcart", "oc1"),
    "regression": ("cart", "oblique", "refined"),
}
DEFAULT_METHODS = {"classification": "hhcart", "regression": "refined"}
FOREST = "oblique-forest"
FEW_ROWS = 3  # fewer are not worth a tree
OF_THE_TEACHER = ("features", "drop", "categorical", "numeric")


@shared.command(
    "obliqua distil patients.csv --target diagnosis",
    "obliqua distil patients.csv --teacher votes.obliqua --trees 4 -m cart",
    "obliqua distil new.csv --teacher forest.joblib --trust-pickle --leaves 32",
    "obliqua distil houses.csv --target price --leaves 16",
)
@shared.data_argument
@click.option(
    "--teacher",
    default=FOREST,
    show_default=True,
    metavar="MODEL",
    help="A model file of obliqua, or a pickle or joblib file with --trust-pickle. "
    f"{FOREST} fits an oblique forest to DATA first.",
)
@click.option(
    "--target",
    "-t",
    metavar="COLUMN",
    help=f"The column with the classes or numbers. For {FOREST}; otherwise only accuracies need "
    "it.",
)
@shared.task_option
@click.option(
    "--trust-pickle",
    is_flag=True,
    help="Load the teacher from a pickle. That runs code that is in the file: say it only if you "
    "trust who made it.",
)
@click.option(
    "--method",
    "-m",
    type=click.Choice(list(dict.fromkeys(name for names in METHODS.values() for name in names))),
    show_default="hhcart; refined for numbers",
    help="How the student's splits are found: for classes cart, hhcart or oc1; for numbers cart, "
    "oblique or refined.",
)
@click.option(
    "--leaves",
    type=shared.at_least(2),
    default=64,
    show_default=True,
    help="The most leaves of all trees together.",
)
@click.option(
    "--trees",
    type=shared.at_least(1),
    default=1,
    show_default=True,
    help="The most trees; of numbers there is one.",
)
@click.option(
    "--generated",
    type=shared.at_least(0),
    help="How many rows are generated to ask the teacher about; twice as many as DATA has, at "
    "least 5000, if not given.",
)
@click.option(
    "--swap",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="The share of a generated row's entries that is drawn from its column, each by itself.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    metavar="SHARE",
    help="Keep this share of the rows out, and measure what was lost on them.",
)
@click.option(
    "--test", metavar="FILE", help="Measure what was lost on the rows of this table too."
)
@shared.features_options
@shared.drop_missing_option
@shared.seed_option
@shared.jobs_option("threads")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help=f"The model file. Without this option it is {DEFAULT_OUTPUT}, which must not exist yet.",
)
@shared.delimiter_option
def distil(data: str, output: Path | None, **given: Any) -> None:
    """Make a small model that does what another one does.

    The student is grown from what the teacher says of the rows of DATA and of rows generated from
    them. DATA is a CSV or Parquet file, or - for standard input.
    """
    from obliqua.estimators.files import save

    path = chosen_target(output, DEFAULT_OUTPUT, data, given["test"], given["teacher"])
    if given["leaves"] < 2 * given["trees"]:
        raise click.UsageError(
            f"--trees {given['trees']} with two leaves each are more than --leaves "
            f"{given['leaves']}."
        )
    if given["teacher"] == FOREST and given["target"] is None:
        raise click.UsageError(
            f"--target: an {FOREST} is fitted to classes or numbers; name their column."
        )
    known = None if given["teacher"] == FOREST else _load(given)
    table = _read(data, given, known)
    student = _student(given, known)
    rows = _rows(table, given, known)
    tests = _other_rows(given, rows, known)
    with _numbers_in_reach(rows.source, rows.X, rows.columns):
        student.fit(rows.X, rows.y)
    _say_what_is_small(student, rows)
    facts = [("teacher", _called(given, known)), *_summary(student, rows)]
    facts += _lost(student, known is not None, tests, rows.columns)
    # The file is the same for any number of threads.
    save(student.set_params(n_jobs=None), path)
    print_facts([*facts, ("saved", f"{path}, {size_of(path)}")])


@dataclass(frozen=True, eq=False)
class TeacherRows:
    """Rows as the teacher takes them.

    Parameters
    ----------
    X : polars.DataFrame or ndarray
        The columns.
    y : ndarray or None
        The classes, if they are known.
    columns : list of Column
        What other tables are read as.
    named : bool
        Whether the teacher knows columns by name.
    source : str
        What messages call the table.
    """

    X: Any
    y: AnyArray | None
    columns: list[Column]
    named: bool
    source: str


def _student(given: dict[str, Any], known: Any) -> DistilledClassifier | DistilledRegressor:
    """Make the student that is asked for, not fitted."""
    from obliqua.estimators.distilled import DistilledClassifier
    from obliqua.estimators.distilled_regressor import DistilledRegressor

    task = given["task"]
    what = "classes" if task == "classification" else "numbers"
    if given["method"] not in (None, *METHODS[task]):
        raise click.UsageError(
            f"--method: {given['method']} is not for {what}; take one of "
            f"{', '.join(METHODS[task])}."
        )
    options = {
        "prefit": known is not None,
        "method": given["method"] or DEFAULT_METHODS[task],
        "max_leaves": given["leaves"],
        "n_generated": given["generated"],
        "swap": given["swap"],
        "holdout": given["holdout"],
        "random_state": given["seed"],
        "n_jobs": given["jobs"],
    }
    teacher = _forest(given) if known is None else known
    if task == "classification":
        return DistilledClassifier(teacher, n_trees=given["trees"], **options)
    if given["trees"] > 1:
        raise click.UsageError(
            f"--trees: a student of numbers is one tree; got {given['trees']}. Allow more leaves "
            "with --leaves."
        )
    return DistilledRegressor(teacher, **options)


def _forest(given: dict[str, Any]) -> Any:
    from obliqua.estimators._teaching import default_teacher

    return default_teacher(given["task"]).set_params(
        random_state=given["seed"], n_jobs=given["jobs"]
    )


def _load(given: dict[str, Any]) -> Any:
    """Load the teacher from a file."""
    from obliqua.estimators._teachers import number_teacher_of, teacher_of, tells_numbers

    name = given["teacher"]
    if given["trust_pickle"] and _begins(Path(name)) != b"P":  # model files are zip archives
        import joblib

        try:
            fitted = joblib.load(name)
        except OSError as error:
            raise Trouble(f"--teacher: {name}: {error.strerror or error}.") from error
        except Exception as error:  # whatever the code in the file does
            raise Trouble(
                f"--teacher: {name} cannot be loaded: {type(error).__name__}: {error}."
            ) from error
    else:
        if _looks_pickled(Path(name)):
            raise Trouble(
                f"--teacher: {name} is a pickle or joblib file. Loading one runs code that is in "
                "it: say --trust-pickle if you trust who made it."
            )
        fitted = load_model(name)[0]
    try:
        (number_teacher_of if tells_numbers(fitted) else teacher_of)(fitted)
    except (TypeError, ValueError) as error:
        raise Trouble(f"--teacher: {error}") from error
    return fitted


def _looks_pickled(path: Path) -> bool:
    if path.suffix.lower() in (".pickle", ".pkl", ".joblib"):
        return path.is_file()
    return _begins(path) == b"\x80"


def _begins(path: Path) -> bytes:
    """Return the first byte of a file, nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(1)
    except OSError:
        return b""


def _read(source: str, given: dict[str, Any], known: Any) -> NamedTable:
    """Read the table, and note what is learnt: what the teacher knows, or the target is."""
    from obliqua.estimators._teachers import tells_numbers

    table: NamedTable = read_table(source, given["delimiter"], given["missing"], given["dates"])
    target, asked = given["target"], given["task"]
    if target is not None:
        table.require([target], "--target")
    if known is not None:
        given["task"] = "regression" if tells_numbers(known) else "classification"
        if asked not in ("auto", given["task"]):
            raise click.UsageError(
                f"--task {asked}: the teacher is of another kind, {given['task']}. Leave --task "
                "out."
            )
    else:
        given["task"] = choose_task(table, target, asked)
    if target is None:
        return table
    return learnt_rows(table, target, given["task"], given["drop_missing_target"])


def _rows(table: NamedTable, given: dict[str, Any], known: Any) -> TeacherRows:
    """Read the columns as the teacher takes them."""
    from obliqua.estimators._fitted import TreesEstimator
    from obliqua.tree.model import Model
    from obliqua.tree.tree import Tree

    target = given["target"]
    y = None if target is None else _target(table, given, known)
    if isinstance(known, TreesEstimator | Model | Tree):
        _refuse(given, OF_THE_TEACHER)
        return _known_rows(table, known, y)
    taken = [] if target is None else [target]
    if known is None:
        table, names = learnt_columns(table, taken, given)
        found = infer(table, names, ColumnChoice.of(given))
        return TeacherRows(found.frame, y, found.columns(), named=True, source=table.source)
    names = choose_features(table, taken, features=given["features"], drop=given["drop"])
    own = getattr(known, "feature_names_in_", None)
    if own is not None:
        _refuse(given, ("features", "drop"))
        names = [str(name) for name in own]
        table, _ = choose_known(table, names, named=True)
    else:
        _check_number(table, names, known, target)
        taken_as = ", ".join(map(repr, names[:20])) + (" ..." if names[20:] else "")
        note(
            f"{type(known).__name__} does not know what its columns are called; it gets them in "
            f"the order of {table.source}: {taken_as}."
        )
    needed = replace(ColumnChoice.of(given), features=tuple(names))  # the teacher takes all
    found = infer(table, names, needed)
    X = found.frame if own is not None or found.qualitative else found.frame.to_numpy()
    named = own is not None or bool(found.qualitative)
    return TeacherRows(X, y, found.columns(), named, table.source)


def _target(
    table: NamedTable, given: dict[str, Any], known: Any, classes: AnyArray | None = None
) -> AnyArray:
    """Return the classes, or numbers, of rows."""
    if given["task"] == "regression":
        return read_target(table, given["target"], "regression")
    return _labels(table, given["target"], known, classes)


def _labels(
    table: NamedTable, target: str, known: Any, classes: AnyArray | None = None
) -> AnyArray:
    """Return the classes of rows, as the teacher has them, however the file writes them."""
    from obliqua.estimators._teachers import teacher_of

    if known is None and classes is None:
        return table.labels(target)
    there = teacher_of(known).classes if classes is None else classes
    words = np.array(table.frame[target].cast(require("polars", "cli", "Tables").String), str)
    numbers = class_numbers(there, words)
    strange = check_known(numbers, words, there, "--target")
    if not strange:
        return np.asarray(there[numbers])
    note(f"{table.source} has {counted(len(words), 'row')}{strange}.")
    if there.dtype.kind in "biuf":  # any number that is no class will do
        values = there.astype(np.float64)
        return np.where(numbers >= 0, values[numbers], values.max() + 1.0)
    return np.where(numbers >= 0, there[numbers].astype(str), words)


def _refuse(given: dict[str, Any], options: tuple[str, ...]) -> None:
    """Refuse options about columns that the teacher knows."""
    asked = [f"--{name}" for name in options if given[name]]
    if asked:
        raise click.UsageError(f"{asked[0]}: the teacher knows what its columns are.")


def _check_number(table: NamedTable, names: list[str], known: Any, target: str | None) -> None:
    """Say which columns there are if a teacher that knows no names takes another number."""
    wanted = getattr(known, "n_features_in_", len(names))
    if wanted != len(names):
        left_out = "" if target is not None else " --target leaves the column of the classes out,"
        raise Trouble(
            f"--teacher: {type(known).__name__} takes {counted(int(wanted), 'column')}, and "
            f"{table.source} has {len(names)} for it: {', '.join(map(repr, names[:20]))}."
            f"{left_out} --features and --drop say which to take."
        )


def _known_rows(table: NamedTable, known: Any, y: AnyArray | None) -> TeacherRows:
    """Read the columns as a model of obliqua knows them."""
    from obliqua.estimators._teachers import model_of

    held = model_of(known)
    table, _ = choose_known(table, held.encoding.names, has_own_names(held))
    columns = list(held.encoding.columns)
    frame = read_as(table, columns, held.takes_missing)
    named = hasattr(known, "feature_names_in_") or not hasattr(known, "fit")
    plain = held.encoding.numeric and not named
    X = frame.to_numpy() if plain else frame
    return TeacherRows(X, y, columns, named=not plain, source=table.source)


def _other_rows(
    given: dict[str, Any], rows: TeacherRows, known: Any
) -> list[tuple[str, Any, AnyArray | None]]:
    """Read the rows to test on, before the time of a fit is spent."""
    if given["test"] is None:
        return []
    table: NamedTable = read_table(
        given["test"], given["delimiter"], given["missing"], given["dates"]
    )
    target = given["target"]
    there = target is not None and target in table.frame.columns
    if there:
        table = learnt_rows(table, target, given["task"], given["drop_missing_target"])
    table, _ = choose_known(table, [column.name for column in rows.columns], named=True)
    frame = read_as(table, rows.columns)
    what = f"{counted(table.frame.height, 'row')} of {table.source}"
    classes = None if rows.y is None or known is not None else np.unique(rows.y)
    labels = _target(table, given, known, classes) if there else None
    return [(what, frame if rows.named else frame.to_numpy(), labels)]


@contextmanager
def _numbers_in_reach(source: str, X: Any, columns: list[Column]) -> Iterator[None]:
    """Say which columns hold numbers that are too large for teachers that count in float32."""
    try:
        yield
    except ValueError as error:
        if "too large for dtype" not in str(error):
            raise
        most = float(np.finfo(np.float32).max)
        large = [
            column.name
            for place, column in enumerate(columns)
            if not column.levels
            and (np.abs(np.nan_to_num(np.asarray(X[:, place], dtype=np.float64))) > most).any()
        ]
        if not large:
            raise
        raise Trouble(
            f"{source}: {listed(large)} {'has' if len(large) == 1 else 'have'} numbers beyond "
            f"{most:.2g}, the largest that the teacher takes. Write the column in other units, "
            "or leave it out."
        ) from error


def _say_what_is_small(
    student: DistilledClassifier | DistilledRegressor, rows: TeacherRows
) -> None:
    """Say so if there was nothing to learn."""
    n_rows, classes = len(rows.X), student.model_.classes
    if len(classes) == 1:
        label = text_of(classes[0])
        note(f"Nothing could be learnt: the teacher knows one class only, {label!r}.")
    elif n_rows < FEW_ROWS:
        have = counted(n_rows, "row")
        note(f"Nothing can be learnt from {have} of {rows.source}; take more of them.")
    elif student.get_n_leaves() == 1:
        note("Nothing could be learnt: the teacher says the same of all rows.")


def _called(given: dict[str, Any], known: Any) -> str:
    if known is None:
        return f"{FOREST}, fitted to the rows that are not held out"
    return f"{given['teacher']}, {type(known).__name__}"


def _summary(
    student: DistilledClassifier | DistilledRegressor, rows: TeacherRows
) -> list[tuple[str, str]]:
    n_rows, held = len(rows.X), student.fidelity_.get("data", {}).get("rows", 0)
    trees = student.model_.trees
    generated = int(trees[0].n_samples[0]) - (n_rows - int(held))
    sizes = "" if len(trees) == 1 else f" in {len(trees)} trees that are added up"
    return [
        ("rows", f"{n_rows:,}, {held:,} of them held out, and {generated:,} generated"),
        ("method", str(student.method)),
        ("leaves", f"{student.get_n_leaves():,}{sizes}"),
        ("depth", f"{student.get_depth():,}"),
        *(features_used(student.model_) if student.model_.task == "regression" else []),
    ]


def _lost(
    student: DistilledClassifier | DistilledRegressor,
    seen: bool,
    tests: list[tuple[str, Any, AnyArray | None]],
    columns: list[Column],
) -> list[tuple[str, str]]:
    """Say what was lost, on rows of each kind."""
    from obliqua.estimators._fidelity import fidelity

    found = []
    for kind, what in (("data", "held out"), ("generated", "generated")):
        if kind in student.fidelity_:
            lost = student.fidelity_[kind]
            known = ", which the teacher may know" if seen and kind == "data" else ""
            found.append((f"{counted(int(lost['rows']), 'row')} {what}{known}", lost))
    for what, X, y in tests:
        with _numbers_in_reach(what, X, columns):
            found.append((what, fidelity(student.estimator_, student, X, y)))
    facts = []
    for what, lost in found:
        if "r2" in lost:
            facts += _lost_of_numbers(what, lost)
            continue
        facts.append(("agreement", f"{100 * lost['agreement']:.1f} % on {what}"))
        facts.append(("difference", f"{lost['difference']:.3f} of 1, in the shares of classes"))
        if "student_accuracy" in lost:
            own, other = lost["student_accuracy"], lost["teacher_accuracy"]
            text = f"{100 * own:.1f} %, that of the teacher {100 * other:.1f} %"
            facts.append(("accuracy", text))
    return facts


def _lost_of_numbers(what: str, lost: dict[str, float]) -> list[tuple[str, str]]:
    """Say how near the numbers of teacher and student are."""
    same = "the teacher's numbers are all equal, so R squared is not defined"
    text = same if lost["r2"] != lost["r2"] else f"R squared {lost['r2']:.3f}"
    facts = [
        ("like the teacher", f"{text} on {what}"),
        ("difference", f"{lost['rmse']:.4g}, the root mean square of what is said differently"),
    ]
    own, other = lost.get("student_r2"), lost.get("teacher_r2")
    if own is not None and own == own:
        facts.append(("like the truth", f"R squared {own:.3f}, that of the teacher {other:.3f}"))
    return facts
