"""What happens to damaged model files: each must be refused, or give exactly the model saved.

``python -m benchmarks.damage --files 20000`` damages files of several models in many ways, reads
each and prints how often it was refused, gave the same model, or anything else, which is a
failure. Forged files have sums that agree with their altered contents; they may give another
model, but never another error than ours.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import sys
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_iris, make_classification

from obliqua import (
    CartClassifier,
    HHCartClassifier,
    ObliqueForestClassifier,
    Tree,
    TreeBuilder,
)
from obliqua.data.encoding import Column, Encoding
from obliqua.errors import ModelFileError
from obliqua.io.container import pack
from obliqua.io.format import from_bytes, to_bytes
from obliqua.tree.model import Model

REFUSED, SAME, OTHER = "refused", "the same model", "ANOTHER MODEL"
ABOUT = {"kind": "model", "note": "for damage"}


def outcome(data: bytes, model: Model) -> str:
    """What reading damaged bytes of a model's file leads to."""
    try:
        read, about = from_bytes(data)
    except ModelFileError:
        return REFUSED
    except Exception as error:
        return f"ERROR {type(error).__name__}"
    return SAME if read == model and about == ABOUT else OTHER


# --- models ----------------------------------------------------------------------------------


def mixed_tree_model() -> Model:
    """A small tree by hand with every kind of node, names and string classes."""
    builder = TreeBuilder(n_features=3, n_stats=3)
    builder.add_split("r", {0: 1.0, 1: -0.1}, 0.3, ("l", "m"), fill={0: 0.5, 1: -0.0})
    builder.add_levels("l", 2, [0, 1, 2, 1], ("la", "lb", "lc"), unseen=1, missing=2)
    normals = [{0: 1.0}, {1: 1e-300, 0: 3.0}, {0: -1.0}]
    builder.add_machine("m", normals, [0.0, 0.1, 0.2], ("ma", "mb", "mc"))
    for number, name in enumerate(("la", "lb", "lc", "ma", "mb", "mc")):
        builder.set_leaf(name, [number, 1.5, 2], number)
    builder.annotate("r", gain=0.25, axis_gain=0.125, origin="by hand")
    columns = (Column("größe"), Column("a\nb"), Column("c", "qualitative", ("x", "y", 3, None)))
    return Model((builder.build(),), "single", Encoding(columns), np.array(["ä", "b", "c"]))


def lines_model() -> Model:
    """A tree whose leaves say linear functions, one of them of levels."""
    builder = TreeBuilder(n_features=2, n_outputs=1)
    builder.add_split("r", {0: 1.0}, 0.5, ("a", "b"), fill={0: 0.25})
    builder.set_leaf("a", [6.0, 1.5, 0.5], 6)
    builder.set_leaf("b", [3.0, 4.0, 0.0], 3)
    functions = {
        "leaf_ptr": [0, 1, 3, 3],
        "leaf_idx": [0, 0, 1],
        "leaf_coef": [0.5, 2.0, -1.0],
        "leaf_fill": [0.25, 0.25, 0.5],
        "leaf_table_ptr": [0, 0, 0, 3],
        "leaf_table": [1.0, -0.25, 0.5],
        "leaf_intercept": [2.0, 1.0, 4.0],
        "leaf_low": [0.0, 0.5, 4.0],
        "leaf_high": [5.0, 3.5, 4.0],
        "leaf_spread": [0.5, 0.25, 1.0],
        "leaf_gain": [0.5, 0.25, 0.0],
    }
    tree = Tree.from_arrays({**builder.build().to_arrays(), **functions})
    columns = (Column("a"), Column("b", "qualitative", ("x", "y", "z")))
    return Model((tree,), "single", Encoding(columns), np.zeros(0))


def models() -> dict[str, Model]:
    """Models of several kinds and sizes."""
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    trees = [
        HHCartClassifier(pruning=None, max_depth=3).fit(X[rows], y[rows]).tree_
        for rows in (slice(None), slice(0, 150, 2), slice(1, 150, 3))
    ]
    several = Model(tuple(trees), "vote", Encoding.identity(4), np.arange(3))
    X2, y2 = make_classification(2000, 10, n_informative=8, flip_y=0.2, random_state=0)
    return {
        "by hand": mixed_tree_model(),
        "linear leaves": lines_model(),
        "cart": CartClassifier(random_state=0).fit(X, labels).model_,
        "three trees": several,
        "forest": ObliqueForestClassifier(5, random_state=0).fit(X, labels).model_,
        "large": HHCartClassifier(pruning=None, variant="dominant").fit(X2, y2).model_,
    }


# --- damage ----------------------------------------------------------------------------------


def each_bit(data: bytes, step: int = 1) -> Iterator[bytes]:
    """The file with one bit changed, for every step-th bit."""
    for bit in range(0, 8 * len(data), step):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def each_length(data: bytes, step: int = 1) -> Iterator[bytes]:
    """The file cut short, at every step-th length."""
    for length in range(0, len(data), step):
        yield data[:length]


def at_random(data: bytes, rng: np.random.Generator) -> bytes:
    """The file after one of many kinds of accidents; never the file as it is."""
    damaged = data
    while damaged == data:
        damaged = _accident(data, rng)
    return damaged


def _accident(data: bytes, rng: np.random.Generator) -> bytes:
    a, b, c = np.sort(rng.integers(0, len(data) + 1, size=3)).tolist()
    noise = rng.bytes(int(rng.integers(1, 64)))
    start, middle, end, rest = data[:a], data[a:b], data[b:c], data[c:]
    kind = int(rng.integers(11))
    if kind == 0:  # noise over a part
        return data[:a] + noise + data[a + len(noise) :]
    if kind == 1:  # noise put in
        return data[:a] + noise + data[a:]
    if kind == 2:  # a part lost
        return start + end + rest
    if kind == 3:  # a part twice
        return start + middle + middle + end + rest
    if kind == 4:  # two parts in each other's place
        return start + end + middle + rest
    if kind == 5:  # a part of zeros, as after a crash of some file systems
        return start + bytes(len(middle)) + end + rest
    if kind == 6:
        return noise + data
    if kind == 7:
        return data + noise
    if kind == 8:  # line ends translated, as by a transfer in text mode
        return data.replace(b"\n", b"\r\n") if b"\n" in data else data[:a]
    if kind == 9:  # two files in one
        return data + data
    damaged = bytearray(data)  # a few bytes here and there
    for place in rng.integers(0, len(data), size=int(rng.integers(1, 6))).tolist():
        damaged[place] = int(rng.integers(256))
    return bytes(damaged)


def forged(data: bytes, rng: np.random.Generator) -> bytes:
    """The file with altered contents and sums that agree with them."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: bytearray(archive.read(name)) for name in archive.namelist()}
    members.pop("checksums.json")
    chosen = list(members)[int(rng.integers(len(members)))]
    content = members[chosen]
    first = 128 if chosen.endswith(".npy") and rng.random() < 0.8 else 0
    if len(content) > first:
        for place in rng.integers(first, len(content), size=int(rng.integers(1, 4))).tolist():
            content[place] = int(rng.choice([0, 1, 48, 57, 127, 128, 255, rng.integers(256)]))
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    parts = [(name, bytes(content)) for name, content in members.items()]
    return pack([*parts, ("checksums.json", json.dumps(sums).encode())])


def forged_outcome(data: bytes) -> str:
    """Read a forged file and use what it gives."""
    try:
        model, _ = from_bytes(data)
    except ModelFileError:
        return REFUSED
    except Exception as error:
        return f"ERROR {type(error).__name__}"
    rows = np.linspace(-9, 9, 7 * model.encoding.n_columns).reshape(7, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # huge numbers overflow; that is the forger's problem
        if not model.n_classes:
            said = model.predict(rows)
            return "some model" if np.isfinite(said).all() else "NO NUMBERS"
        shares = model.predict_proba(rows)
    return "some model" if shares.shape == (7, model.n_classes) else "WRONG SHAPE"


# --- the run ---------------------------------------------------------------------------------


def run(n_files: int, seed: int = 0) -> dict[str, Counter[str]]:
    """Try about as many damaged files, and count what they lead to, by kind of damage."""
    rng = np.random.default_rng(seed)
    counts: dict[str, Counter[str]] = {}
    known = models()
    share = n_files // (4 * len(known)) + 1
    for model in known.values():
        data = to_bytes(model, ABOUT)
        # Odd steps, so that all bits of a byte have their turn.
        kinds = {
            "one bit": each_bit(data, max(8 * len(data) // share, 1) | 1),
            "cut short": each_length(data, max(len(data) // share, 1)),
            "accident": (at_random(data, rng) for _ in range(share)),
        }
        for kind, files in kinds.items():
            found = (outcome(damaged, model) for damaged in files)
            counts.setdefault(kind, Counter()).update(found)
        found = (forged_outcome(forged(data, rng)) for _ in range(share))
        counts.setdefault("forged", Counter()).update(found)
    return counts


def failures(counts: dict[str, Counter[str]]) -> int:
    """How many files led to something that must not be."""
    allowed = {REFUSED, SAME, "some model"}
    return sum(
        n for counter in counts.values() for what, n in counter.items() if what not in allowed
    )


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.damage", description=__doc__)
    words.add_argument("--files", type=int, default=20_000, help="about how many files to damage")
    words.add_argument("--seed", type=int, default=0)
    options = words.parse_args(arguments)
    started = time.perf_counter()
    counts = run(options.files, options.seed)
    for kind, counter in counts.items():
        print(f"{kind:12s}", ", ".join(f"{n:,} {what}" for what, n in counter.most_common()))
    total = sum(sum(counter.values()) for counter in counts.values())
    failed = failures(counts)
    print(f"{total:,} files in {time.perf_counter() - started:.0f} s, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
