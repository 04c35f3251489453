"""A model as the bytes of a file, and back.

Everything is checked on the way back. Whatever the bytes are, the result is exactly the model that
was written, or `ModelFileError`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.data.encoding import Encoding
from obliqua.data.target import Classes
from obliqua.errors import ModelFileError, TreeError
from obliqua.io.container import MAGIC, Refused, first_entry, frame, inflate, pack
from obliqua.io.packed import PARTS, names_of, packed_parts, parts_packed
from obliqua.io.values import from_json, labels_from_json, labels_to_json, to_json
from obliqua.tree.layout import ARRAYS, NO_LINES
from obliqua.tree.model import COMBINATIONS, Model
from obliqua.tree.tree import Tree

__all__ = ["FORMAT", "VERSION", "from_bytes", "to_bytes"]

#: What the first field of every header says.
FORMAT = "obliqua model"
#: The newest version of the format. A model is written in the oldest one that can hold it.
VERSION = 8
_OF_CLASSES = 1  # trees of classes: every obliqua reads their files
_OF_NUMBERS = 2  # trees of numbers too
_WITH_SIDES = 3  # and sides for missing values
_WITH_LINES = 4  # and leaves that are linear functions or medians
_WITH_OTHERS = 5  # and columns with a level for all others
_PACKED = 6  # trees that are packed into few arrays
_WITH_COSTS = 7  # and trees whose mistakes have costs
_EDITED = 8  # and trees changed by hand: leaves relabelled, or rows and gains not known

_HEADER = "header.json"
_CHECKSUMS = "checksums.json"


def _without_lines(name: str, _: Mapping[str, AnyArray]) -> AnyArray:
    """Return an array of linear functions of a tree that has none."""
    return NO_LINES[name]


# Arrays that trees did not have when version 1 began, and what they are in files without them:
# a function of the arrays that are there. An entry here is for ever, as are the files.
_LATER: dict[str, Callable[[Mapping[str, AnyArray]], AnyArray]] = {
    "missing_side": lambda arrays: np.zeros(len(arrays["threshold"]), dtype=np.uint8),
    **{name: partial(_without_lines, name) for name in NO_LINES},
    "relabelled": lambda _: np.zeros(0, dtype=np.int32),
}
# The version of the format in which files have them.
_SINCE = {
    "missing_side": _WITH_SIDES,
    **dict.fromkeys(NO_LINES, _WITH_LINES),
    "relabelled": _EDITED,
}

# In a file, an array has the first of these types that holds all of its numbers exactly.
_TYPES = {
    "f": ("<f4", "<f8"),
    "i": ("|u1", "|i1", "<u2", "<i2", "<i4", "<i8"),
    "u": ("|u1", "<u2", "<i4"),
}

# Every tree takes time to check, however well it packs. A file has at most this many, or one for
# each so many bytes of it. Stored as it is, even a single leaf takes more bytes than that.
FREE_TREES, BYTES_PER_TREE = 1000, 64

Fields = dict[str, Any]


# --- writing ---------------------------------------------------------------------------------


def to_bytes(model: Model, about: Mapping[str, Any] | None = None) -> bytes:
    """Return a model as the bytes of a file."""
    if not isinstance(model, Model):
        raise TypeError(
            f"write_model takes a Model; got {type(model).__name__}. obliqua.save takes "
            "estimators and trees too."
        )
    _check_weights(model)
    number = _version_of(model)
    arrays, said, lengths = _packed(model) if number == _PACKED else _one_by_one(model, number)
    header = {
        "format": FORMAT,
        "version": number,
        "written_by": f"obliqua {version('obliqua')}",
        "about": _checked_about(about),
        "combine": model.combine,
        "classes": _named("classes", labels_to_json, model.classes),
        "encoding": _named("encoding", _encoding_to_json, model.encoding),
        "n_features": model.encoding.n_columns,
        **said,
        "arrays": {
            name: {"type": array.dtype.str, "shape": list(array.shape), **lengths.get(name, {})}
            for name, array in arrays.items()
        },
    }
    members = [(_HEADER, _json_bytes(header))]
    members += [(_member(name), _npy_bytes(array)) for name, array in arrays.items()]
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members}
    members.append((_CHECKSUMS, _json_bytes(sums)))
    data = pack(members)
    few = number == _PACKED or len(model.trees) <= _most_trees(len(data))
    return data if few else pack(members, level=0)


def _one_by_one(model: Model, number: int) -> tuple[dict[str, AnyArray], Fields, Fields]:
    """Return the arrays of all trees, what is said of the trees, and the length of each part."""
    for tree in model.trees:
        tree.validate()
    names = [name for name in ARRAYS if number >= _SINCE.get(name, 0)]
    parts = {name: [_stored(tree, name, number) for tree in model.trees] for name in names}
    arrays = {name: _narrowed(np.concatenate(parts[name]), ARRAYS[name]) for name in names}
    lengths = {name: {"lengths": [len(part) for part in parts[name]]} for name in names}
    return arrays, {"trees": [_tree_facts(tree, number) for tree in model.trees]}, lengths


def _packed(model: Model) -> tuple[dict[str, AnyArray], Fields, Fields]:
    """Return the arrays of packed trees, and what is said of them."""
    trees = model._packed
    assert trees is not None
    trees.validate()
    arrays = {name: _narrowed(part, PARTS[name]) for name, part in packed_parts(trees).items()}
    return arrays, {"trees": len(trees), "criterion": trees.criterion}, {}


def _check_weights(model: Model) -> None:
    """Raise if trees of classes have what are no weights of classes."""
    trees = [] if model._packed is not None else model.trees  # packed ones are checked anyway
    for number, tree in enumerate(trees):
        if tree.task == Classes.task and ((tree.stats < 0).any() or not tree.stats.any()):
            raise TreeError(
                f"The stats of a tree are the weights of classes, none below 0 and not all 0; in "
                f"tree {number} they are not. A tree of numbers has task='regression'."
            )


def _version_of(model: Model) -> int:
    """Return the oldest version of the format that can hold a model."""
    if model._packed is not None:
        return _PACKED
    if any(map(_is_edited, model.trees)):
        return _EDITED
    if any(tree.costs for tree in model.trees):
        return _WITH_COSTS
    if any(column.others for column in model.encoding.columns):
        return _WITH_OTHERS
    if any(tree.has_lines or tree.loss != "squared_error" for tree in model.trees):
        return _WITH_LINES
    if any(tree.missing_side.any() for tree in model.trees):
        return _WITH_SIDES
    classes = all(tree.task == Classes.task for tree in model.trees)
    return _OF_CLASSES if classes else _OF_NUMBERS


def _is_edited(tree: Tree) -> bool:
    """Say whether a tree has what only one has that was changed by hand."""
    unknown = (tree.n_samples < 0).any() or np.isnan(tree.gain).any()
    return len(tree.relabelled) > 0 or bool(unknown)


def _tree_facts(tree: Tree, number: int) -> Fields:
    facts: Fields = {"origin_labels": list(tree.origin_labels)}
    if number == _OF_CLASSES:
        return facts
    facts["task"] = tree.task
    # A file says so only if a tree says medians, or has costs.
    if tree.loss != "squared_error":
        facts["loss"] = tree.loss
    if tree.costs:
        facts["costs"] = [list(row) for row in tree.costs]
    return facts


def _stored(tree: Tree, name: str, number: int) -> AnyArray:
    """Return an array as a file has it: stats of trees of numbers stand one after another."""
    array: AnyArray = getattr(tree, name)
    return array.ravel() if name == "stats" and number > _OF_CLASSES else array


def _most_trees(file_size: int) -> int:
    return max(FREE_TREES, file_size // BYTES_PER_TREE)


def _checked_about(about: Mapping[str, Any] | None) -> Fields:
    if about is None:
        return {}
    if not isinstance(about, Mapping):
        raise TypeError(f"about must be a mapping with strings as keys; got {about!r:.60}.")
    fields = dict(about)
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"about cannot be saved: {error}. It may hold null, bools, finite numbers, strings, "
            "and lists and mappings of them."
        ) from error
    return fields


def _member(name: str) -> str:
    return f"arrays/{name}.npy"


def _named(what: str, write: Callable[[Any], Fields], value: Any) -> Fields:
    try:
        return write(value)
    except TypeError as error:
        raise TypeError(f"The model's {what} cannot be saved: {error}.") from error


def _encoding_to_json(encoding: Encoding) -> Fields:
    state = encoding.to_dict()
    for entry in state["columns"]:
        if not isinstance(entry["name"], str):
            raise TypeError(f"the name of a column must be a string; got {entry['name']!r}")
        entry["name"] = str(entry["name"])
        if "levels" in entry:
            entry["levels"] = [to_json(level) for level in entry["levels"]]
    if len(set(encoding.names)) < encoding.n_columns:
        raise TypeError("two columns have the same name")
    return state


def _json_bytes(state: Fields) -> bytes:
    text = json.dumps(state, allow_nan=False, separators=(",", ":"))
    if json.loads(text) != state:
        # Half characters (surrogates) that stand side by side would become a whole one.
        raise TypeError(
            "A name, a label or a value cannot be saved, because JSON does not give it back as it "
            "is. Strings must be valid Unicode, and keys must be strings."
        )
    return text.encode("ascii")


def _narrowed(array: AnyArray, wide: np.dtype[Any]) -> AnyArray:
    """Return an array in the narrowest type that is exact."""
    kind = wide.kind
    for candidate in _TYPES[kind]:
        dtype = np.dtype(candidate)
        if kind != "f":
            bounds = np.iinfo(dtype)
            exact = array.size == 0 or (array.min() >= bounds.min and array.max() <= bounds.max)
        elif dtype.itemsize == array.dtype.itemsize:
            exact = True
        else:
            with np.errstate(over="ignore", under="ignore"):
                narrow = array.astype(dtype)
            exact = bool(((narrow == array) | np.isnan(array)).all())
        if exact:
            break
    return array.astype(dtype)


def _npy_head(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the beginning of an .npy file, version 1.0, which says type and shape.

    NumPy's own differs between its versions in how many blanks it ends with.
    """
    facts = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    text = repr(facts).encode("ascii")
    size = -(-(10 + len(text) + 1) // 64) * 64
    return b"\x93NUMPY\x01\x00" + (size - 10).to_bytes(2, "little") + text.ljust(size - 11) + b"\n"


def _npy_bytes(array: AnyArray) -> bytes:
    return _npy_head(array.dtype, array.shape) + array.tobytes()


# --- reading ---------------------------------------------------------------------------------


def from_bytes(data: bytes, name: str = "The data") -> tuple[Model, dict[str, Any]]:
    """Return the model that the bytes of a file hold."""
    try:
        _check_kind(data)
        return _model_in(data)
    except Refused as error:
        raise ModelFileError(f"{name} {error}.") from error
    except MemoryError as error:
        raise ModelFileError(f"{name} holds more than fits into memory.") from error
    except Exception as error:
        # The frame is right and the sums agree, but the contents are none of ours. Whatever
        # stumbled over them, a reader shall see one type of error.
        raise ModelFileError(
            f"{name} is damaged, or was not written by obliqua: {type(error).__name__}: "
            f"{str(error)[:300]}"
        ) from error


def _check_kind(data: bytes) -> None:
    if not data:
        raise Refused("is empty")
    if not data.startswith(MAGIC):
        hint = ""
        if data[:1] == b"\x80" or data[:2] in (b"\x78\x9c", b"\x1f\x8b"):
            hint = ". It may be a pickle: then read it with pickle.load or joblib.load"
        raise Refused(f"is not a model file of obliqua: it starts with {bytes(data[:16])!r}{hint}")


def _model_in(data: bytes) -> tuple[Model, dict[str, Any]]:
    first = first_entry(data)
    if first.name != _HEADER:
        raise Refused(
            "is not a model file of obliqua, but another zip archive: its first part is "
            f"{first.name[:60]!r}, and that of a model file {_HEADER!r}"
        )
    header = _read_json(inflate(first))
    _check_version(header)
    packed = header["version"] == _PACKED  # these are checked all at once, however many
    most = _most_trees(len(data))
    n_trees = 0 if packed else len(header["trees"])
    if n_trees > most:
        raise Refused(
            f"claims to hold {n_trees} trees, and a file of {len(data)} bytes holds at most {most}"
        )
    entries = frame(data)
    expected = _expected_parts(header) if packed else _expected_arrays(header)
    names = [_HEADER, *map(_member, expected), _CHECKSUMS]
    if [entry.name for entry in entries] != names:
        raise Refused("is damaged: it does not have the parts that its header announces")
    for entry, (dtype, shape) in zip(entries[1:-1], expected.values(), strict=True):
        head = _npy_head(dtype, shape)
        if entry.size != len(head) + dtype.itemsize * int(np.prod(shape, dtype=object)):
            raise Refused(f"is damaged: {entry.name} has not the size that the header announces")
    contents = {entry.name: inflate(entry) for entry in entries}
    _check_sums(contents)
    known = PARTS if packed else ARRAYS
    joined = {
        name: _array_in(contents[_member(name)], _member(name), *found, known[name])
        for name, found in expected.items()
    }
    return _model_of(header, joined), header["about"]


def _read_json(data: bytes) -> Fields:
    state = json.loads(data, object_pairs_hook=_object, parse_constant=_no_constant)
    if not isinstance(state, dict):
        raise Refused("is damaged: a part that must be a JSON object is none")
    return state


def _object(pairs: list[tuple[str, Any]]) -> Fields:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Refused("is damaged: a JSON object has the same key twice")
    return made


def _no_constant(text: str) -> Any:
    raise Refused(f"is damaged: {text} is not JSON")


def _check_version(header: Fields) -> None:
    if header.get("format") != FORMAT:
        raise Refused("is not a model file of obliqua, but another zip archive")
    number = header.get("version")
    if type(number) is not int or number < 1:
        raise Refused("is damaged: it does not say in which version of the format it is written")
    if number > VERSION:
        writer = str(header.get("written_by", "a newer obliqua"))[:60]
        raise Refused(
            f"was written by {writer} in version {number} of the format; this is obliqua "
            f"{version('obliqua')}, which reads versions up to {VERSION}. Upgrade obliqua"
        )


def _expected_arrays(header: Fields) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """Return the type and the shape that the header gives to each array."""
    listed = header["arrays"]
    unknown = sorted(set(listed) - set(ARRAYS))
    missing = sorted(set(ARRAYS) - set(listed) - set(_LATER))
    if unknown:
        raise Refused(
            f"holds arrays {unknown[0][:60]!r}, which this version does not know. Upgrade obliqua"
        )
    if missing:
        raise Refused(f"is damaged: the arrays {missing[0]!r} are missing")
    n_trees = len(header["trees"])
    expected = {}
    for name, fields in listed.items():
        text, shape, lengths = fields["type"], fields["shape"], fields["lengths"]
        sizes = [*shape, *lengths]
        if (
            fields.keys() != {"type", "shape", "lengths"}
            or text not in _TYPES[ARRAYS[name].kind]
            or not all(type(size) is int and size >= 0 for size in sizes)
            or len(shape) not in (1, 2)
            or len(lengths) != n_trees
            or sum(lengths) != shape[0]
        ):
            raise Refused(f"is damaged: what its header says of {name} makes no sense")
        expected[name] = (np.dtype(text), tuple(shape))
    return expected


def _expected_parts(header: Fields) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """Return the type and the shape that the header gives to each array of packed trees."""
    listed = header["arrays"]
    if sorted(listed) != sorted(names_of(len(header["classes"]["values"]) > 0)):
        raise Refused("is damaged: it has not the arrays of packed trees")
    expected = {}
    for name, fields in listed.items():
        text, shape = fields["type"], fields["shape"]
        if (
            fields.keys() != {"type", "shape"}
            or text not in _TYPES[PARTS[name].kind]
            or len(shape) != (2 if name in ("leaf_mean", "level") else 1)
            or not all(type(size) is int and size >= 0 for size in shape)
        ):
            raise Refused(f"is damaged: what its header says of {name} makes no sense")
        expected[name] = (np.dtype(text), tuple(shape))
    return expected


def _check_sums(contents: Mapping[str, bytes]) -> None:
    sums = _read_json(contents[_CHECKSUMS])
    others = {name: data for name, data in contents.items() if name != _CHECKSUMS}
    if sums.keys() != others.keys():
        raise Refused(f"is damaged: {_CHECKSUMS} does not name the parts that are there")
    for name, data in others.items():
        if hashlib.sha256(data).hexdigest() != sums[name]:
            raise Refused(f"is damaged: {name} is not what was written")


def _array_in(
    data: bytes, member: str, dtype: np.dtype[Any], shape: tuple[int, ...], wide: np.dtype[Any]
) -> AnyArray:
    head = _npy_head(dtype, shape)
    if not data.startswith(head):
        raise Refused(
            f"is damaged: {member} does not begin as it must: with the type and the shape that "
            "the header says, in the one form that the format has"
        )
    array = np.frombuffer(data, dtype, offset=len(head)).reshape(shape)
    if array.size and wide.kind != "f":
        bounds = np.iinfo(wide)
        if array.min() < bounds.min or array.max() > bounds.max:
            raise Refused(f"is damaged: {member} holds numbers that are too large for it")
    with np.errstate(invalid="ignore"):  # there are NaNs that some processors complain about
        return array.astype(wide)


def _model_of(header: Fields, joined: Mapping[str, AnyArray]) -> Model:
    if not isinstance(header["about"], dict) or type(header["n_features"]) is not int:
        raise Refused("is damaged: its header makes no sense")
    if header["combine"] not in COMBINATIONS:
        raise Refused(
            f"combines its trees as {str(header['combine'])[:60]!r}, which this version does not "
            "know. Upgrade obliqua"
        )
    classes = labels_from_json(header["classes"])
    trees: Sequence[Tree]
    if header["version"] == _PACKED:
        trees = parts_packed(joined, header["n_features"], len(classes), header["criterion"])
        if type(header["trees"]) is not int or header["trees"] != len(trees):
            raise Refused("is damaged: it has not as many trees as its header says")
        if header["combine"] != "mean":
            raise Refused("is damaged: packed trees are combined by their mean")
    else:
        trees = _trees_of(header, joined)
    model = Model(trees, header["combine"], _encoding_from_json(header["encoding"]), classes)
    _check_weights(model)
    return model


def _trees_of(header: Fields, joined: Mapping[str, AnyArray]) -> tuple[Tree, ...]:
    """Return the trees of a file that has each by itself."""
    trees = []
    ends = {name: np.cumsum([0, *header["arrays"][name]["lengths"]]) for name in joined}
    for number, facts in enumerate(header["trees"]):
        arrays = {
            name: array[ends[name][number] : ends[name][number + 1]]
            for name, array in joined.items()
        }
        arrays |= {name: made(arrays) for name, made in _LATER.items() if name not in arrays}
        labels = facts["origin_labels"]
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise Refused("is damaged: the names of proposals are no strings")
        others = {"n_features": header["n_features"], "origin_labels": labels}
        if header["version"] > _OF_CLASSES:
            arrays["stats"] = arrays["stats"].reshape(len(arrays["kind"]), -1)
            others["task"] = facts["task"]
            others["loss"] = facts.get("loss", "squared_error")
            others["costs"] = _costs_of(facts, header["version"])
        trees.append(Tree.from_arrays({**arrays, **others}))
    return tuple(trees)


def _costs_of(facts: Fields, number: int) -> list[list[float]]:
    """Return the costs of a tree's mistakes; only files of their version have some."""
    costs = facts.get("costs", []) if number >= _WITH_COSTS else []
    rows = costs if isinstance(costs, list) else [costs]
    if not all(isinstance(row, list) for row in rows):
        raise Refused("is damaged: the costs of a tree are no rows of numbers")
    if not all(type(cost) in (int, float) for row in rows for cost in row):
        raise Refused("is damaged: the costs of a tree are no numbers")
    if len(rows) > 1 and not any(map(any, rows)):
        raise Refused("is damaged: the costs of a tree are all 0")
    return rows


def _encoding_from_json(state: Fields) -> Encoding:
    columns = []
    for entry in state["columns"]:
        if not isinstance(entry["name"], str) or not isinstance(entry["kind"], str):
            raise Refused("is damaged: a column has no name or no kind")
        levels = [from_json(level) for level in entry.get("levels", [])]
        columns.append({**entry, "levels": levels})
    if len({entry["name"] for entry in columns}) < len(columns):
        raise Refused("is damaged: two columns have the same name")
    return Encoding.from_dict({"columns": columns})
