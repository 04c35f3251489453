"""`export_c`: compiled in every way, the source computes what the model does.

With doubles bit for bit; with other numbers wherever the certificate says so.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obliqua
from export_cases import MAKERS, case, equal_to
from obliqua.data.encoding import Column, Encoding
from obliqua.errors import CostWarning
from obliqua.export.certificate import bound_of, certified
from obliqua.export.computation import Computation
from obliqua.tree.model import Model

pytestmark = pytest.mark.needs("gcc")
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
#: A compiler may fuse multiplications, and will if it is not kept from it.
FUSING = ["-O3", "-march=native", "-ffp-contract=fast"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
WAYS = {
    "gcc": ["gcc", "-std=c99", "-O2"],
    "gcc, GNU C": ["gcc", "-std=gnu11", *FUSING],
    "gcc, sanitized": ["gcc", "-std=c99", *SANITIZED],
    "g++": ["g++", "-x", "c++", "-std=c++11", *FUSING],
    "clang": ["clang", "-std=c99", *FUSING],
    "clang++, sanitized": ["clang++", "-x", "c++", "-std=c++11", *SANITIZED],
}
#: The code of other numbers is the same for the most part.
ROUNDED_WAYS = ("gcc", "gcc, sanitized", "clang++, sanitized")
NAMES = {name: f"m{number}" for number, name in enumerate(MAKERS)}


def models(numbers: str) -> dict[str, str]:
    """The models that can be written with such numbers, with what they are called in C."""
    return {k: v for k, v in NAMES.items() if numbers != "float" or k != "by hand"}


def compiled(command: list[str], text: str, folder: Path, *more: str) -> Path:
    """Compile a source without a warning."""
    source, made = folder / "model.c", folder / "made"
    source.write_text(text, "ascii")
    run = subprocess.run(
        [*command, *STRICT, *more, str(source), "-o", str(made)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[:3000]
    return made


def all_models(numbers: str = "double") -> str:
    """All models in one file: their names do not meet, nor do those of the header and the source.

    The programs that test each of them become functions.
    """
    texts = []
    for name, short in models(numbers).items():
        header = obliqua.export_c(case(name)[0], short, header=True, numbers=numbers)
        source = obliqua.export_c(case(name)[0], short, numbers=numbers)
        texts += [f"#define {short.upper()}_SELFTEST", f"#define main {short}_main"]
        texts += [header, source, "#undef main"]
    calls = " || ".join(f"{short}_main()" for short in models(numbers).values())
    return "\n".join([*texts, f"int main(void) {{ return {calls}; }}", ""])


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    return {numbers: all_models(numbers) for numbers in ("double", "float", "int16")}


@pytest.fixture(scope="module")
def libraries(
    sources: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, ctypes.CDLL]:
    command, found = ["gcc", "-std=gnu11", "-shared", "-fPIC"], {}
    for numbers, source in sources.items():
        way = FUSING if numbers == "double" else ["-O1"]
        made = compiled([*command, *way], source, tmp_path_factory.mktemp("c"))
        found[numbers] = ctypes.CDLL(str(made))
    return found


class Compiled:
    """The functions of a compiled model."""

    def __init__(self, library: ctypes.CDLL, name: str, model: Any) -> None:
        self.library, self.name = library, name
        self.computation = Computation.of(model)

    def call(self, function: str, row: np.ndarray, out: np.ndarray | None = None) -> int:
        given = [np.ascontiguousarray(row).ctypes.data_as(ctypes.c_void_p)]
        if out is not None:
            given.append(out.ctypes.data_as(ctypes.c_void_p))
        return int(getattr(self.library, f"{self.name}_{function}")(*given))

    def leaves(self, row: np.ndarray) -> list[int]:
        leaves = np.empty(self.computation.n_trees, dtype=np.int32)
        assert self.call("apply", row, leaves) == 0
        return leaves.tolist()

    def answer(self, row: np.ndarray) -> tuple[int, list[float]]:
        out = np.empty(self.computation.n_answers)
        says_numbers = self.computation.says_numbers
        got = self.call("predict_values" if says_numbers else "predict_proba", row, out)
        if not says_numbers:
            assert got == self.call("predict", row)
        return got, out.tolist()

    def texts(self, name: str, n: int) -> list[str]:
        array = (ctypes.c_char_p * n).in_dll(self.library, f"{self.name}_{name}")
        return [text.decode("utf-8", "surrogatepass") for text in array]


@pytest.mark.parametrize("name", MAKERS)
def test_leaves_and_answers_are_those_of_the_model(
    name: str, libraries: dict[str, ctypes.CDLL]
) -> None:
    model, rows = case(name)
    there, inner = Compiled(libraries["double"], NAMES[name], model), Computation.of(model).model
    leaves = inner.apply(rows).reshape(len(rows), -1)
    answers = inner.predict_proba(rows) if inner.n_classes else inner.predict(rows)
    labels = inner.predict_index(rows) if inner.n_classes else np.zeros(len(rows), dtype=int)
    for row, leaf, answer, label in zip(rows, leaves, answers, labels.tolist(), strict=True):
        assert there.leaves(row) == leaf.tolist()
        assert there.answer(row) == (label, equal_to(inner, np.atleast_1d(answer)))
    if inner.n_classes:
        known = [str(label) for label in inner.classes.tolist()]
        assert there.texts("class_labels", len(known)) == known


@pytest.mark.parametrize(
    ("way", "numbers"),
    [(way, "double") for way in WAYS]
    + [(way, numbers) for way in ROUNDED_WAYS for numbers in ("float", "int16")],
)
def test_every_compiler_passes_the_self_tests(
    way: str, numbers: str, sources: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which(WAYS[way][0]) is None:
        pytest.skip(f"{WAYS[way][0]} is not installed")
    made = compiled(WAYS[way], sources[numbers], tmp_path)
    run = subprocess.run([made], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("all leaves and answers are the same") == len(models(numbers))


@pytest.mark.parametrize("numbers", ["float", "int16"])
@pytest.mark.parametrize("name", MAKERS)
def test_only_rows_near_thresholds_may_go_elsewhere(
    name: str, numbers: str, libraries: dict[str, ctypes.CDLL]
) -> None:
    if name not in models(numbers):
        with pytest.raises(ValueError, match=r"1e\+308, and single precision ends"):
            obliqua.export_c(case(name)[0], numbers=numbers)
        return
    model, rows = case(name)
    computation = Computation.of(model)
    there, inner = Compiled(libraries[numbers], NAMES[name], model), computation.model
    bounds = bound_of("c", numbers, computation)
    certificate = certified(computation, rows, "c", numbers, bounds)
    assert len(rows) - len(certificate.near) > 20
    sure = np.delete(rows, certificate.near, axis=0)
    leaves = inner.apply(sure).reshape(len(sure), -1)
    assert [there.leaves(row) for row in sure] == leaves.tolist()
    got = [there.answer(row) for row in sure]
    if inner.n_classes:
        assert [label for label, _ in got] == inner.predict_index(sure).tolist()
    expected = inner.predict_proba(sure) if inner.n_classes else inner.predict(sure)
    answers = np.array([answer for _, answer in got]).reshape(expected.shape)
    np.testing.assert_allclose(answers, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("combine", ["vote", "mean", "pairs", "sum"])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_every_last_step_with_many_classes(combine: str, n_trees: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 9, 400)
    trees = [
        obliqua.CartClassifier(max_leaf_nodes=12, pruning=None).fit(X[k::3], y[k::3]).tree_
        for k in range(n_trees)
    ]
    model = Model(tuple(trees), combine, Encoding.identity(3), np.arange(9))
    there = Compiled(_library(obliqua.export_c(model), tmp_path), "tree", model)
    for row, share, label in zip(X, model.predict_proba(X), model.predict_index(X), strict=True):
        assert there.answer(row) == (label, share.tolist())


def test_the_source_says_how_far_rounding_goes() -> None:
    model, rows = case("one oblique tree")
    tree = Computation.of(model).model.trees[0]
    for numbers in ("float", "int16"):
        text = obliqua.export_c(model, numbers=numbers, rows=rows)
        lines = [line.removeprefix(" *").strip() for line in text.splitlines()]
        first = lines.index("The largest differences:") + 1
        last = lines.index("", first) if "" in lines[first:] else len(lines)
        numbered = re.findall(r"\d\S*\d|\d", " ".join(lines[first:last]))
        said = [float(one.rstrip(",")) for one in numbered[: len(tree.threshold)]]
        assert len(said) == len(tree.threshold)
        whole = rows[~np.isnan(rows).any(axis=1)]
        found = obliqua.certify(model, whole, "c", numbers, rows=rows).bound
        for (_, node), bound in found.items():
            # Two digits are written.
            assert bound <= 1.06 * said[tree.plane_ptr[node]]
            assert said[tree.plane_ptr[node]] < 1e-3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tree_next", "row 0 reaches leaf"),
        ("tree_says", "off by"),
        ("tree_chooses", "is of class"),
    ],
)
def test_the_self_test_notices_another_number(line: str, message: str, tmp_path: Path) -> None:
    text = obliqua.export_c(case("one oblique tree")[0])
    lines = text.splitlines()
    place = next(k for k, one in enumerate(lines) if one.endswith("{") and f" {line}[" in one) + 1
    lines[place] = ", ".join(reversed(lines[place].rstrip(",").split(", "))) + (
        "," if lines[place].endswith(",") else ""
    )
    made = compiled(["gcc"], "\n".join(lines), tmp_path, "-DTREE_SELFTEST")
    run = subprocess.run([made], capture_output=True, text=True)
    assert run.returncode == 1
    assert message in run.stdout


def test_there_is_no_heap_and_no_libm(tmp_path: Path) -> None:
    for name in ("by hand", "linear leaves", "forest"):
        made = compiled(["gcc", "-c"], obliqua.export_c(case(name)[0]), tmp_path, "-O2")
        listed = subprocess.run(["nm", "-u", made], capture_output=True, text=True, check=True)
        # What compilers may call for a loop.
        assert set(listed.stdout.split()) <= {"U", "memset", "memcpy", "_GLOBAL_OFFSET_TABLE_"}


def test_modes_that_compute_otherwise_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.c").write_text(obliqua.export_c(case("by hand")[0]))
    for mode in ("-ffast-math", "-ffinite-math-only"):
        command = ["gcc", mode, "-c", "model.c"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode != 0
        assert "compile without -ffast-math" in run.stderr


ODD = [
    "*/ int",
    "/* \\",
    'say "??/" %s %n',
    "new\nline\ttab\r\0null",
    "größe 高さ \N{RIGHT-TO-LEFT OVERRIDE}",
    "\ud800 alone",
    "x" * 200 + "1",
    "x" * 200 + "2",
    "int",
    "y" * 5000,
    "",
]


def _odd_model(levels: tuple[Any, ...], others: bool = False) -> Model:
    builder = obliqua.TreeBuilder(len(ODD) + 1, len(ODD))
    branches = [code % 2 for code in range(len(levels))]
    builder.add_levels("root", len(ODD), branches, ["a", "b"], unseen=0, missing=1)
    for place, name in enumerate("ab"):
        builder.set_leaf(name, np.roll([3.0, *[1.0] * (len(ODD) - 1)], place))
    columns = (*(Column(name) for name in ODD), Column("l", "qualitative", levels, others))
    return Model((builder.build(),), "single", Encoding(columns), np.array(ODD, dtype=object))


def _library(text: str, folder: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(compiled(["gcc", "-shared", "-fPIC", "-std=c99"], text, folder)))


def test_odd_names_come_through(tmp_path: Path) -> None:
    model = _odd_model((*ODD, 1, 2.5, "1", -0.0))
    there = Compiled(_library(obliqua.export_c(model), tmp_path), "tree", model)
    library = there.library
    library.tree_code.argtypes = [ctypes.c_size_t, ctypes.c_char_p]
    library.tree_code_of_number.argtypes = [ctypes.c_size_t, ctypes.c_double]
    library.tree_level.argtypes = [ctypes.c_size_t, ctypes.c_int]
    library.tree_level.restype = ctypes.c_char_p

    def in_c(text: str) -> bytes:
        return text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")

    for name in ("feature_names", "class_labels"):
        array = (ctypes.c_char_p * len(ODD)).in_dll(library, f"tree_{name}")
        assert list(array) == [in_c(name) for name in ODD]
    for code, level in enumerate(ODD):
        assert library.tree_code(len(ODD), in_c(level)) == code
        assert library.tree_level(len(ODD), code) == in_c(level)
    assert library.tree_code(len(ODD), b"1") == len(ODD) + 2
    assert library.tree_code(len(ODD), b"2.5") == -1
    numbers = [library.tree_code_of_number(len(ODD), number) for number in (1.0, 2.5, 0.0, 7.0)]
    assert numbers == [len(ODD), len(ODD) + 1, len(ODD) + 3, -1]
    assert library.tree_code(0, b"int") == library.tree_code(10**6, b"int") == -1
    assert library.tree_level(len(ODD), -1) is library.tree_level(len(ODD), 10**6) is None


def test_ten_thousand_levels_and_others(tmp_path: Path) -> None:
    levels = (*(f"level {code}" for code in range(10_000)), "others")
    model = _odd_model(levels, others=True)
    library = _library(obliqua.export_c(model, "big_one"), tmp_path)
    library.big_one_code.argtypes = [ctypes.c_size_t, ctypes.c_char_p]
    column = len(ODD)
    assert library.big_one_code(column, b"level 9999") == 9999
    assert library.big_one_code(column, b"others") == 10_000  # as any level without a name
    there = Compiled(library, "big_one", model)
    rows = np.zeros((4, column + 1))
    rows[:, column] = [9999, 10_000, 20_000, np.nan]
    assert [there.leaves(row) for row in rows] == [[2], [1], [1], [2]]


@pytest.mark.parametrize("stand_in", [None, {1: 3.0}])
def test_a_missing_value_without_a_stand_in_has_no_answer(
    stand_in: dict[int, float] | None, tmp_path: Path
) -> None:
    builder = obliqua.TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 0.5}, 0.5, ["a", "b"], fill=stand_in)
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    there = Compiled(_library(obliqua.export_c(tree, n_tests=0), tmp_path), "tree", tree)
    leaves = np.empty(1, dtype=np.int32)
    assert there.call("apply", np.array([np.nan, 1.0]), leaves) == -1
    assert leaves.tolist() == [-1]
    assert there.call("predict", np.array([np.nan, 1.0])) == -1
    assert there.call("predict_proba", np.array([np.nan, 1.0]), np.empty(2)) == -1
    assert there.call("predict", np.array([0.0, np.nan])) == (-1 if stand_in is None else 1)


def test_a_tree_without_splits_and_a_word_of_c_as_its_name(tmp_path: Path) -> None:
    builder = obliqua.TreeBuilder(2, 2)
    builder.set_leaf("root", [1, 3])
    text = obliqua.export_c(builder.build(), "int")  # no name is this word alone
    made = compiled(["gcc", "-std=c99"], text, tmp_path, "-DINT_SELFTEST")
    assert subprocess.run([made], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "begin with a letter"),
        ("2x", "begin with a letter"),
        ("_x", "begin with a letter"),
        ("größe", "ASCII"),
        ("a b", "letters, digits"),
        ("x*/", "letters, digits"),
        ("a__b", "two underscores"),
        ("a_", "none at its end"),
        ("x" * 41, "at most 40"),
    ],
)
def test_names_that_are_no_identifiers_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        obliqua.export_c(case("by hand")[0], name)


def test_other_arguments_are_refused() -> None:
    model, _ = case("by hand")
    with pytest.raises(TypeError, match="name must be a string; got int"):
        obliqua.export_c(model, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="numbers must be one of"):
        obliqua.export_c(model, numbers="half")


def test_a_long_text_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = case("forest")
    monkeypatch.setattr("obliqua.export.cost.LARGE", 1000)
    with pytest.warns(CostWarning, match="7 trees with .* nodes takes about 0.0 MB"):
        obliqua.export_c(model)


def test_without_rows_there_is_no_self_test(tmp_path: Path) -> None:
    text = obliqua.export_c(case("by hand")[0], n_tests=0)
    (tmp_path / "model.c").write_text(text)
    command = ["gcc", "-DTREE_SELFTEST", "-c", "model.c"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "written without rows for a self-test" in run.stderr


def test_numbers_that_are_too_coarse_are_warned_of() -> None:
    X = 1.7e9 + np.arange(40.0)[:, None] % 20
    tree = obliqua.CartClassifier().fit(X, X[:, 0] > 1.7e9 + 10)
    with pytest.warns(obliqua.errors.CastWarning, match="rounding to"):
        obliqua.export_c(tree, numbers="float")
