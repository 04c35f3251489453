"""The places where a data set may be: a folder, a cache, a definition, scikit-learn, OpenML."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.datasets._cache import cache_folder, keep, read_kept, say_damaged
from obliqua.datasets._facts import Facts, Part, fingerprint
from obliqua.errors import DatasetDamaged, DatasetMissing, MissingDependency

FOLDER_VARIABLE = "OBLIQUA_DATA"


class Table(NamedTuple):
    """Rows, their labels and where they come from.

    The rows are float64; with qualitative columns they are objects, floats and text.
    """

    data: AnyArray
    target: AnyArray
    source: str


def find(facts: Facts, role: str) -> Table:
    """A part of a data set, from the first place that has it; checked."""
    part = facts.parts[role]
    for place in (_from_folder, _from_cache, _from_definition, _from_scikit_learn, _from_openml):
        table = place(facts, role)
        if table is not None:
            check(facts, part, table)
            if place is _from_openml:
                keep(_kept_name(part), _as_text(facts, table))
            return table
    raise DatasetMissing(_advice(facts, part, "no other source is known for it"))


def check(facts: Facts, part: Part, table: Table) -> None:
    """Refuse a table that is not the data set of that name."""
    what = f"the data set {facts.name!r} from {table.source} is not the one of the papers: "
    expected = (part.n_rows, len(facts.features))
    if table.data.shape != expected:
        raise DatasetDamaged(f"{what}its shape is {table.data.shape}, not {expected}")
    labels, counts = np.unique(table.target, return_counts=True)
    found = {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
    if found != dict(part.class_counts):
        raise DatasetDamaged(f"{what}its classes are {found}, not {dict(part.class_counts)}")
    numeric = np.delete(table.data, facts.categorical_features, axis=1).astype(np.float64)
    if not np.isfinite(numeric).all():
        raise DatasetDamaged(f"{what}some values are missing or not finite")
    if fingerprint(table.data, table.target) != part.fingerprint:
        raise DatasetDamaged(f"{what}shape and class counts are right, but some values differ")


def _advice(facts: Facts, part: Part, reason: str, instead: str = "") -> str:
    return (
        f"the data set {facts.name!r} ({facts.title}) cannot be had: {_tried(facts, part)}"
        f"{reason}; {instead}put the file {part.file} (header, one line per row, the class in the "
        f"last column) into a folder and set the environment variable {FOLDER_VARIABLE} to that "
        "folder"
    )


def _tried(facts: Facts, part: Part) -> str:
    """Where it was looked for before the last place."""
    named = os.environ.get(FOLDER_VARIABLE)
    folder = f"{named!r} has no {part.file}" if named else "is not set"
    tried = f"{FOLDER_VARIABLE} {folder}, "
    if facts.openml is not None:
        tried += f"the cache {str(cache_folder())!r} has no {_kept_name(part)}, "
    return tried + "and "


# --- a folder ---------------------------------------------------------------------------------


def _from_folder(facts: Facts, role: str) -> Table | None:
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise DatasetMissing(
            f"{FOLDER_VARIABLE} names {named!r}, which is not a folder; set it to the folder "
            "with the data sets, or unset it"
        )
    path = folder / facts.parts[role].file
    if not path.is_file():
        path = path.with_suffix("") if path.suffix == ".gz" else path
    if not path.is_file():
        return None
    content = path.read_bytes()
    promised = _promised_checksum(folder, path.name)
    if promised is not None and hashlib.sha256(content).hexdigest() != promised:
        raise DatasetDamaged(
            f"{path.name} in the folder that {FOLDER_VARIABLE} names does not have the SHA-256 "
            "sum that manifest.json gives for it; get a fresh copy of the file"
        )
    data, target = _parse(facts, path.name, content)
    return Table(data, target, path.name)


def _promised_checksum(folder: Path, file: str) -> str | None:
    """What the folder's manifest says about a file, if there is a manifest and it says it."""
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        return None
    try:
        listed = [
            entry
            for dataset in json.loads(manifest.read_text("utf-8"))["datasets"]
            for entry in dataset["files"]
        ]
        return next((str(entry["sha256"]) for entry in listed if entry["file"] == file), None)
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetDamaged(
            f"manifest.json in the folder that {FOLDER_VARIABLE} names cannot be read; get a "
            "fresh copy of it, or remove it"
        ) from error


def _parse(facts: Facts, name: str, content: bytes) -> tuple[AnyArray, AnyArray]:
    """Read CSV with a header, numbers and levels, and the class in the last column."""
    try:
        plain = gzip.decompress(content) if name.endswith(".gz") else content
        rows = list(csv.reader(plain.decode("utf-8").splitlines()))[1:]
        cells = np.array([row[:-1] for row in rows], dtype=np.str_, ndmin=2)
        data = _typed(facts, cells)
        return data, np.array([row[-1] for row in rows], dtype=np.str_)
    except (ValueError, IndexError, OSError, EOFError, zlib.error, csv.Error) as error:
        kinds = "numbers and levels" if facts.qualitative else "numbers"
        raise DatasetDamaged(
            f"{name} cannot be read as lines of {kinds} with a class at the end ({error}); get "
            "a fresh copy of the file"
        ) from error


def _typed(facts: Facts, cells: AnyArray) -> AnyArray:
    """Text as numbers, or as numbers and text where there are qualitative columns."""
    if not facts.qualitative:
        return cells.astype(np.float64)
    data = np.empty(cells.shape, dtype=object)
    for place, column in enumerate(cells.T):
        levels = place in facts.categorical_features
        data[:, place] = column.tolist() if levels else column.astype(np.float64).tolist()
    return data


# --- a cache ----------------------------------------------------------------------------------


def _kept_name(part: Part) -> str:
    return part.file.removesuffix(".gz")


def _from_cache(facts: Facts, role: str) -> Table | None:
    """What OpenML has delivered before. If it is damaged that is said, and the search goes on."""
    if facts.openml is None:
        return None
    name = _kept_name(facts.parts[role])
    content = read_kept(name)
    if content is None:
        return None
    source = f"the cache, OpenML {facts.openml.number}"
    try:
        table = Table(*_parse(facts, name, content), source)
        check(facts, facts.parts[role], table)
    except DatasetDamaged as error:
        say_damaged(name, str(error))
        return None
    return table


def _as_text(facts: Facts, table: Table) -> str:
    """A table as a file in the folder would be: CSV, a header, the class in the last column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*facts.features, "class"])
    for row, label in zip(table.data.tolist(), table.target.tolist(), strict=True):
        writer.writerow([*row, label])
    return text.getvalue()


# --- a definition -----------------------------------------------------------------------------


def _from_definition(facts: Facts, role: str) -> Table | None:
    if facts.name != "balance_scale":
        return None
    data = np.array(list(product(range(1, 6), repeat=4)), dtype=np.float64)
    turn = data[:, 0] * data[:, 1] - data[:, 2] * data[:, 3]
    return Table(data, np.array(["R", "B", "L"])[np.sign(turn).astype(int) + 1], "its definition")


# --- scikit-learn -----------------------------------------------------------------------------


def _wine() -> tuple[FloatArray, Sequence[str]]:
    from sklearn.datasets import load_wine

    loaded = load_wine()
    return loaded.data, [str(code + 1) for code in loaded.target]


def _iris() -> tuple[FloatArray, Sequence[str]]:
    from sklearn.datasets import load_iris

    loaded = load_iris()
    data = loaded.data.copy()
    # scikit-learn follows Fisher's article here, the papers the archive, which does not.
    data[34] = (4.9, 3.1, 1.5, 0.1)
    data[37] = (4.9, 3.1, 1.5, 0.1)
    return data, [f"Iris-{loaded.target_names[code]}" for code in loaded.target]


_SCIKIT_LEARN: dict[str, Callable[[], tuple[FloatArray, Sequence[str]]]] = {
    "iris": _iris,
    "wine": _wine,
}


def _from_scikit_learn(facts: Facts, role: str) -> Table | None:
    if facts.name not in _SCIKIT_LEARN:
        return None
    data, target = _SCIKIT_LEARN[facts.name]()
    return Table(np.ascontiguousarray(data), np.array(target, dtype=np.str_), "scikit-learn")


# --- OpenML -----------------------------------------------------------------------------------


def _from_openml(facts: Facts, role: str) -> Table | None:
    if facts.openml is None:
        return None
    frame = _fetch(facts, role)
    if facts.name in _WITHOUT_INCOMPLETE:
        frame = frame[~(frame.isna() | frame.isin(["?"])).any(axis=1)]
    source = f"OpenML {facts.openml.number}"
    try:
        # Some copies call a column of numbers nominal; as text both kinds look the same.
        cells = frame.iloc[:, :-1].astype(str).to_numpy().astype(np.str_)
        for place in facts.categorical_features:
            cells[:, place] = _plain(cells[:, place])
        data, target = _typed(facts, cells), _labels(facts, frame.iloc[:, -1])
    except (ValueError, IndexError) as error:
        raise DatasetDamaged(
            f"the data set {facts.name!r} from {source} is not the one of the papers: {error}"
        ) from error
    return Table(*_rows_of(facts, role, data, target), source)


# Of these OpenML has the rows with missing values too.
_WITHOUT_INCOMPLETE = ("adult", "breast_cancer_wisconsin")


def _plain(labels: Iterable[Any]) -> list[str]:
    """Labels without what some copies add: blanks, quotes, a decimal point."""
    return [str(label).strip("'\" ").removesuffix(".0") for label in labels]


def _fetch(facts: Facts, role: str) -> Any:
    """All columns of a data set of OpenML as a frame, the class last."""
    from http.client import HTTPException

    from sklearn import datasets

    assert facts.openml is not None
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            f"fetching the data set {facts.name!r} from OpenML needs pandas; install it "
            f"(pip install pandas), or set {FOLDER_VARIABLE} to a folder with "
            f"{facts.parts[role].file}"
        ) from error
    _reach_openml(facts, role)
    try:
        # It would keep the files in the home folder; what is read from them is in our cache.
        return datasets.fetch_openml(
            data_id=facts.openml.number,
            target_column=None,
            as_frame=True,
            parser="auto",
            cache=False,
            n_retries=1,
        ).data
    except (OSError, ValueError, EOFError, HTTPException) as error:
        reason = f"OpenML did not give its number {facts.openml.number} ({error})"
        raise DatasetMissing(_advice(facts, facts.parts[role], reason)) from error


OPENML = "https://www.openml.org/api/v1/json/data/{}"
PATIENCE = 10.0  # seconds


def _reach_openml(facts: Facts, role: str) -> None:
    """Say at once that there is no network.

    scikit-learn would wait for an answer without end, warn, and try again.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    assert facts.openml is not None
    try:
        urlopen(OPENML.format(facts.openml.number), timeout=PATIENCE).close()
    except HTTPError as error:  # it is there; what is wrong will be said by scikit-learn
        error.close()
    except (OSError, HTTPException) as error:
        reason = f"OpenML cannot be reached ({getattr(error, 'reason', error)})"
        advice = _advice(facts, facts.parts[role], reason, "connect to the network, or ")
        raise DatasetMissing(advice) from error


def _labels(facts: Facts, column: Any) -> AnyArray:
    """The labels of OpenML as the papers' labels."""
    assert facts.openml is not None
    if facts.name == "boston_housing":
        # OpenML gives the value of a home itself.
        return np.where(column.astype(float).to_numpy() < 21.0, "1", "2")
    names = facts.openml.labels
    return np.array([names.get(label, label) for label in _plain(column)], dtype=np.str_)


def _rows_of(
    facts: Facts, role: str, data: AnyArray, target: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """The rows of one part; in a table of all parts they stand one after the other.

    Which part comes first is seen from the class counts.
    """
    if len(facts.parts) == 1:
        return data, target
    for order in permutations(facts.parts):
        ends = np.cumsum([facts.parts[name].n_rows for name in order])
        labels = dict(zip(order, np.split(target, ends[:-1]), strict=True))
        rows = dict(zip(order, np.split(data, ends[:-1]), strict=True))
        if all(Counter(labels[name].tolist()) == facts.parts[name].class_counts for name in order):
            break
    return rows[role], labels[role]
