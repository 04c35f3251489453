"""`export_sql`: SQLite, DuckDB and PostgreSQL compute what the model does."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import obliqua
from export_cases import MAKERS, case, raw_rows
from obliqua import TreeBuilder
from obliqua.data.encoding import Column, Encoding
from obliqua.errors import CostWarning, TreeError
from obliqua.export.computation import Computation
from obliqua.export.sql_dialects import DIALECTS
from obliqua.tree.model import Model

Run = Callable[[str], list[tuple[Any, ...]]]
#: What databases give: rows of a query after a table was made of rows.
Databases = dict[str, Callable[[Sequence[str], Sequence[str], list[list[Any]]], Run]]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# --- databases --------------------------------------------------------------------------------


def in_sqlite(names: Sequence[str], types: Sequence[str], rows: list[list[Any]]) -> Run:
    database = sqlite3.connect(":memory:")
    if names:
        database.execute(f"CREATE TABLE t ({', '.join(map(quoted, names))})")
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)

    def run(query: str) -> list[tuple[Any, ...]]:
        found = database.execute(query).fetchall()
        database.close()
        return found

    return run


def in_duckdb(names: Sequence[str], types: Sequence[str], rows: list[list[Any]]) -> Run:
    duckdb = pytest.importorskip("duckdb")
    database = duckdb.connect()
    database.execute("SET threads = 1")
    if names:
        declared = ", ".join(f"{quoted(n)} {t}" for n, t in zip(names, types, strict=True))
        database.execute(f"CREATE TABLE t ({declared})")
        if rows:
            database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)

    def run(query: str) -> list[tuple[Any, ...]]:
        found = database.execute(query).fetchall()
        database.close()
        return found

    return run


class Server:
    """A PostgreSQL server in a folder of its own, which nobody else can reach."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = tempfile.mkdtemp(dir="/tmp")  # short: the path of a socket has a limit
        self.user: int | None = None
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            import pwd

            self.user = pwd.getpwnam("nobody").pw_uid
            os.chown(self.folder, self.user, -1)
        data = f"{self.folder}/data"
        self._do("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "-U", "me")
        options = f"-c listen_addresses= -k '{self.folder}' -c fsync=off -c jit=off"
        self._do("pg_ctl", "-D", data, "-o", options, "-l", f"{self.folder}/log", "-w", "start")

    def _do(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [self.programs / program, *words],
            user=self.user,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()

    def query(self, text: str) -> str:
        where = ("-h", self.folder, "-U", "me", "-d", "postgres")
        done = subprocess.run(
            [self.programs / "psql", *where, "-XqAt", "-v", "ON_ERROR_STOP=1"],
            input=text.encode(),
            capture_output=True,
            env={"PATH": os.defpath, "PGCLIENTENCODING": "UTF8"},
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()[:2000]
        return done.stdout.decode()

    def __call__(self, names: Sequence[str], types: Sequence[str], rows: list[list[Any]]) -> Run:
        made = "DROP TABLE IF EXISTS t;\n"
        if names:
            declared = ", ".join(f"{quoted(n)} {t}" for n, t in zip(names, types, strict=True))
            lines = "".join("\t".join(map(_copied, row)) + "\n" for row in rows)
            made += f"CREATE TABLE t ({declared});\nCOPY t FROM STDIN;\n{lines}\\.\n"

        def run(query: str) -> list[tuple[Any, ...]]:
            text = self.query(f"{made}SELECT row_to_json(u) FROM (\n{query}) AS u;\n")
            # Pairs: names may be equal to Python, and an object would keep the last.
            rows = [json.loads(line, object_pairs_hook=list) for line in text.splitlines()]
            return [tuple(value for _, value in row) for row in rows]

        return run

    def stop(self) -> None:
        self._do("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder)


def _copied(value: Any) -> str:
    if value is None:
        return r"\N"
    text = repr(value) if isinstance(value, float) else str(value)
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def _postgresql() -> Path | None:
    """The folder of PostgreSQL's programs; Debian keeps the server's out of the path."""
    found = [Path(name) for name in map(shutil.which, ("initdb",)) if name]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return next((path.parent for path in found if (path.parent / "psql").exists()), None)


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    """All databases that are here."""
    known: Databases = {"sqlite": in_sqlite, "duckdb": in_duckdb}
    programs = _postgresql()
    if programs is None:
        if os.environ.get("OBLIQUA_ALL_TOOLS"):
            pytest.fail("PostgreSQL is not installed")
        yield known
        return
    server = Server(programs)
    known["postgresql"] = server
    try:
        yield known
    finally:
        server.stop()


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def dialect(request: pytest.FixtureRequest, databases: Databases) -> str:
    if request.param not in databases:
        pytest.skip("PostgreSQL is not installed")
    return str(request.param)


# --- models -----------------------------------------------------------------------------------


def by_hand_without_machine() -> Model:
    """Levels of two types, a missing side, coefficients that overflow and vanish."""
    builder = TreeBuilder(4, 3)
    builder.add_levels("root", 2, [0, 1, 2, 1], ["huge", "tiny", "side"], unseen=2, missing=1)
    fill = dict.fromkeys((0, 1, 3), 0.25)
    builder.add_split("huge", {0: 1e308, 1: -1e308, 3: 3.0}, 5e-324, ["a", "b"], fill=fill)
    builder.add_split("tiny", {0: 1e-310, 1: 1e-5, 3: 5e-324}, 1e-312, ["c", "d"], fill=fill)
    normal = {0: 0.1, 1: 0.2, 3: 0.3}
    builder.add_split("side", normal, 0.6, ["e", "f"], missing="right", fill=fill)
    for place, name in enumerate("abcdef"):
        builder.set_leaf(name, np.roll([5.0, 1.0, place], place))
    columns = (
        Column("x"),
        Column("y"),
        Column("l", "qualitative", (1, 2.5, "t", "u")),
        Column("z"),
    )
    labels = np.array(["a*/b", "--'c\"", "</script>\n"])
    return Model((builder.build(),), "single", Encoding(columns), labels)


def deep() -> Model:
    """A tree of 60 levels, and a plane over 130 columns: more than one expression takes."""
    builder = TreeBuilder(130, 2)
    name = "root"
    for depth in range(60):
        normal = {0: 1.0 + 0.01 * depth, 1: -0.3, 2: 0.1}
        fill = dict.fromkeys(normal, 0.5)
        builder.add_split(name, normal, float(depth), [f"leaf {depth}", f"{depth}"], fill=fill)
        builder.set_leaf(f"leaf {depth}", [depth + 1.0, 1.0])
        name = f"{depth}"
    normal = {k: 1.0 / (k + 3) for k in range(130)}
    builder.add_split(name, normal, 30.0, ["a", "b"], fill=dict.fromkeys(normal, 0.5))
    builder.set_leaf("a", [1.0, 99.0])
    builder.set_leaf("b", [98.0, 1.0])
    return Model.of_tree(builder.build())


MACHINES = ("linear machines", "by hand")
NAMES = [name for name in MAKERS if name not in MACHINES] + ["by hand, no machine", "deep"]


def model_and_rows(name: str) -> tuple[Any, np.ndarray]:
    """A model and hard rows, numbers of any bits among them."""
    rng = np.random.default_rng(17)
    if name == "deep":
        rows = rng.normal(20, 20, (150, 130))
        return deep(), np.concatenate([rows, rows[:3] * 1e305])
    if name == "by hand, no machine":
        model: Any = by_hand_without_machine()
        rows = rng.normal(size=(80, 4))
        rows[:, 2] = rng.integers(-1, 4, 80)
        rows[rng.random(rows.shape) < 0.1] = np.nan
    else:
        model, rows = case(name)
    odd = rows[rng.integers(0, len(rows), 40)]
    for place, column in enumerate(Computation.of(model).columns):
        if column.kind == "numeric":
            bits = np.frombuffer(rng.bytes(8 * 40), dtype=np.float64)
            named = rng.choice([1e308, -1e308, 1.7e308, 5e-324, -1e-320, 1e-200, -0.0], 40)
            bits = np.where(np.isfinite(bits), bits, named)
            chance = rng.random(40)
            odd[:, place] = np.where(
                chance < 0.3, bits, np.where(chance < 0.6, named, odd[:, place])
            )
    return model, np.concatenate([rows, odd])


def table_of(model: Any, rows: np.ndarray, dialect: str) -> tuple[Any, Any, Any]:
    """Names, types and rows of a table, as a database with types has them."""
    columns = Computation.of(model).columns
    double, text = DIALECTS[dialect].double, DIALECTS[dialect].text
    is_text = [column.kind != "numeric" and column.text is not False for column in columns]
    values = raw_rows(model, rows)
    if dialect != "sqlite":
        values = [
            [str(v) if t and v is not None else v for t, v in zip(is_text, row, strict=True)]
            for row in values
        ]
    return [c.name for c in columns], [text if t else double for t in is_text], values


# --- what it computes -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_query_computes_what_the_model_does(
    name: str, dialect: str, databases: Databases
) -> None:
    model, rows = model_and_rows(name)
    computation = Computation.of(model)
    inner = computation.model
    with np.errstate(all="ignore"):
        leaves, has_answer = [], []
        for row in rows:
            try:
                leaves.append(inner.apply(row[None]).reshape(-1).tolist())
                has_answer.append(True)
            except TreeError:  # NaN in every way that it is computed
                has_answer.append(False)
        good = rows[has_answer]
        answers = inner.predict_proba(good) if inner.n_classes else inner.predict(good)
        labels = inner.predict(good).tolist() if inner.n_classes else []
    names, types, values = table_of(model, rows, dialect)
    names, types = [*names, "nr"], [*types, "INTEGER"]
    values = [[*row, number] for number, row in enumerate(values)]
    # PostgreSQL does not promise that rows lie on the disk as they were written.
    order = "nr" if dialect == "postgresql" else None
    query = obliqua.export_sql(model, dialect, leaves=True, order=order)
    found = databases[dialect](names, types, values)(query)
    assert len(found) == len(rows)
    for row in np.flatnonzero(~np.array(has_answer)):
        assert found[row][0] is None
    found = [row for row, has in zip(found, has_answer, strict=True) if has]
    begin = 1 if inner.n_classes else 0
    end = begin + computation.n_answers
    assert [list(row[end:]) for row in found] == leaves
    assert [row[0] for row in found][: len(labels)] == labels
    given = np.array([row[begin:end] for row in found], dtype=float)
    # exp has last digits of its own.
    off = 1e-15 if computation.finish == "log_odds" else 0.0
    np.testing.assert_allclose(given, answers.reshape(given.shape), rtol=0, atol=off)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "forest of numbers"])
def test_the_self_test_holds_without_a_table(
    name: str, dialect: str, databases: Databases
) -> None:
    model, _ = model_and_rows(name)
    query = obliqua.export_sql(model, dialect, self_test=True)
    assert databases[dialect]([], [], [])(query) == [(0,)]


@pytest.mark.parametrize("name", ["levels and gaps", "votes", "pairs", "by hand, no machine"])
def test_plain_sql_says_the_same_in_a_database_that_reads_it(name: str) -> None:
    model, _ = model_and_rows(name)
    query = obliqua.export_sql(model, "plain", self_test=True)
    assert in_duckdb([], [], [])(query) == [(0,)]


def test_the_self_test_notices_a_difference(dialect: str, databases: Databases) -> None:
    model, rows = case("one oblique tree")
    query = obliqua.export_sql(model, dialect, self_test=True, test_rows=rows[:30])
    threshold = DIALECTS[dialect].number(float(Computation.of(model).part(0).tree.threshold[0]))
    wrong = query.replace(f" <= {threshold}", f" >= {threshold}", 1)
    assert wrong != query
    assert databases[dialect]([], [], [])(wrong)[0][0] > 0


def test_rows_come_as_they_stand_and_keys_go_along(dialect: str, databases: Databases) -> None:
    model, rows = case("one oblique tree")
    names, types, values = table_of(model, rows, dialect)
    n = len(rows)
    keys = np.random.default_rng(0).permutation(n).tolist()
    values = [[*row, key] for row, key in zip(values, keys, strict=True)]
    table = [*names, "k0"], [*types, "INTEGER"], values
    found = databases[dialect](*table)(obliqua.export_sql(model, dialect, keep=["k0"]))
    assert [row[-1] for row in found] == keys
    labels = Computation.of(model).model.predict(rows).tolist()
    assert [row[0] for row in found] == labels
    query = obliqua.export_sql(model, dialect, keep=["k0"], order="k0")
    found = databases[dialect](*table)(query)
    assert [row[-1] for row in found] == list(range(n))
    assert [row[0] for row in found] == np.array(labels)[np.argsort(keys)].tolist()


@pytest.mark.parametrize("kind", ["NaN", "integers"])
def test_what_a_column_holds_becomes_a_double(
    kind: str, dialect: str, databases: Databases
) -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 2.5, ["a", "b"], fill={0: 9.0})
    builder.set_leaf("a", [1.0, 0.0])
    builder.set_leaf("b", [0.0, 1.0])
    query = obliqua.export_sql(builder.build(), dialect)
    if kind == "NaN":
        rows: list[list[Any]] = [[float("nan")], [2.0], [None]]
        types = [DIALECTS[dialect].double]
        expected = [1, 0, 1]
    else:
        rows, types, expected = [[2], [3], [2**53 + 1]], ["BIGINT"], [0, 1, 1]
    assert [row[0] for row in databases[dialect](["x0"], types, rows)(query)] == expected


def test_text_is_no_number_in_sqlite() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0}, 0.5, ["a", "b"], fill={0: 9.0})
    builder.add_levels("a", 1, [0, 1], ["c", "d"], unseen=1, missing=1)
    for name, stats in (("b", [0.0, 1.0]), ("c", [1.0, 0.0]), ("d", [0.0, 1.0])):
        builder.set_leaf(name, stats)
    columns = (Column("n"), Column("l", "qualitative", (1, 2)))
    model = Model((builder.build(),), "single", Encoding(columns), np.array([0, 1]))
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (n TEXT, l TEXT)")
    values = [("0.25", 1), ("", 1), ("0", "1"), ("x", 1)]
    database.executemany("INSERT INTO t VALUES (?, ?)", values)
    # A column of the type TEXT turns the number 1 to text, and text is not a level of numbers.
    assert [r[0] for r in database.execute(obliqua.export_sql(model))] == [1, 1, 1, 1]
    database.execute("DROP TABLE t")
    database.execute("CREATE TABLE t (n, l)")
    database.executemany("INSERT INTO t VALUES (?, ?)", values)
    assert [r[0] for r in database.execute(obliqua.export_sql(model))] == [0, 1, 1, 1]
    database.execute("DROP TABLE t")
    database.execute("CREATE TABLE t (n)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute(obliqua.export_sql(model))
    database.close()


@pytest.mark.parametrize(
    ("dialect", "type"), [("sqlite", None), ("duckdb", "VARCHAR COLLATE NOCASE")]
)
def test_levels_differ_in_capitals(dialect: str, type: str, databases: Databases) -> None:
    builder = TreeBuilder(1, 2)
    builder.add_levels("root", 0, [0, 1], ["a", "b"], unseen=0, missing=0)
    builder.set_leaf("a", [1.0, 0.0])
    builder.set_leaf("b", [0.0, 1.0])
    encoding = Encoding((Column("town", "qualitative", ("aa", "AA")),))
    model = Model((builder.build(),), "single", encoding, np.array([0, 1]))
    query = obliqua.export_sql(model, dialect)
    rows: list[list[Any]] = [["aa"], ["AA"]]
    if dialect == "sqlite":
        query = query.replace('"t"', "(SELECT town COLLATE NOCASE AS town, _rowid_ FROM t)")
    found = databases[dialect](["town"], [type], rows)(query)
    assert [row[0] for row in found] == [0, 1]


def test_doubles_are_read_as_they_were(dialect: str, databases: Databases) -> None:
    rng = np.random.default_rng(2)
    numbers = np.frombuffer(rng.bytes(8 * 300), dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)].tolist()
    numbers += [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e308, -0.0, 0.1, 1e22]
    numbers += rng.normal(size=100).tolist()
    write = DIALECTS[dialect].number
    query = " UNION ALL ".join(f"SELECT {k} AS k, {write(v)} AS v" for k, v in enumerate(numbers))
    found = databases[dialect]([], [], [])(f"SELECT v FROM ({query}) AS q ORDER BY k")
    assert [row[0] for row in found] == numbers
    if DIALECTS[dialect].array:
        array = DIALECTS[dialect].array_of(numbers, DIALECTS[dialect].double)
        found = databases[dialect]([], [], [])(f"SELECT unnest({array}) AS v")
        assert [row[0] for row in found] == numbers


ODD_NAMES = [
    'it\'s "quoted"',
    "-- DROP TABLE t;",
    "two\nlines */",
    "select",
    "n" * 200,
    "ゲーム </script>",
    "\\' OR 1=1",
]


def test_names_and_labels_are_quoted(dialect: str, databases: Databases) -> None:
    n = len(ODD_NAMES)
    builder = TreeBuilder(n + 1, n)
    fill = dict.fromkeys(range(n), 0.0)
    builder.add_split("root", dict.fromkeys(range(n), 1.0), 5.0, ["a", "b"], fill=fill)
    builder.add_levels("b", n, list(range(n)), [f"b{k}" for k in range(n)], unseen=0, missing=0)
    builder.set_leaf("a", [1.0] * n)
    for k in range(n):
        builder.set_leaf(f"b{k}", np.eye(n)[k])
    columns = (*map(Column, ODD_NAMES), Column("level", "qualitative", tuple(ODD_NAMES)))
    model = Model((builder.build(),), "single", Encoding(columns), np.array(ODD_NAMES))
    rows = np.column_stack([np.ones((n, n)), np.arange(n)])
    names, types, values = table_of(model, rows, dialect)
    names = [DIALECTS[dialect].cut(name) for name in names]
    found = databases[dialect](names, types, values)(obliqua.export_sql(model, dialect))
    assert [row[0] for row in found] == ODD_NAMES
    assert databases[dialect]([], [], [])(obliqua.export_sql(model, dialect, self_test=True)) == [
        (0,)
    ]


# --- what is refused --------------------------------------------------------------------------


def stump(names: Sequence[str] = ("x", "y"), labels: Sequence[Any] = ("a", "b")) -> Model:
    builder = TreeBuilder(len(names), 2)
    builder.add_split("root", dict.fromkeys(range(len(names)), 0.3), 0.5, ["a", "b"])
    builder.set_leaf("a", [1.0, 0.0])
    builder.set_leaf("b", [0.0, 1.0])
    encoding = Encoding(tuple(map(Column, names)))
    return Model((builder.build(),), "single", encoding, np.array(labels))


@pytest.mark.parametrize("name", MACHINES)
def test_linear_machines_are_refused(name: str) -> None:
    with pytest.raises(TreeError, match="is a linear machine, which SQL cannot"):
        obliqua.export_sql(case(name)[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"dialect": "oracle"}, "dialect must be one of sqlite, "),
        ({"table": ""}, "table must be a name"),
        ({"columns": {"w": "x"}}, "names 'w', which is no column"),
        ({"columns": {"x": "y"}}, "takes the names"),
        ({"columns": {"x": "Y"}}, "takes the names 'Y' and 'y' of columns for one"),
        ({"columns": {"x": ""}}, "has no name"),
        ({"columns": {"x": "a\0"}}, "cannot hold the character NUL"),
        ({"columns": {"x": "a\ud800"}}, "lone surrogate"),
        ({"keep": "key"}, "keep must be a sequence"),
        ({"keep": ["P_a"]}, "keep= cannot name it"),
    ],
)
def test_bad_words_are_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        obliqua.export_sql(stump(), **words)


def test_names_that_are_cut_to_the_same_are_refused() -> None:
    model = stump(["n" * 63 + "a", "n" * 63 + "b"])
    obliqua.export_sql(model, "sqlite")
    with pytest.raises(ValueError, match="takes the names"):
        obliqua.export_sql(model, "postgresql")
    obliqua.export_sql(model, "postgresql", columns={"n" * 63 + "a": "a"})


def test_labels_that_become_one_name_are_numbered() -> None:
    query = obliqua.export_sql(stump(labels=("a", "A")))
    assert 'AS "p_0"' in query and 'AS "p_1"' in query
    assert 'AS "p_A"' in obliqua.export_sql(stump(labels=("a", "A")), "postgresql")


def test_a_missing_value_without_a_stand_in_has_no_answer(
    dialect: str, databases: Databases
) -> None:
    query = obliqua.export_sql(stump(), dialect, leaves=True)
    types = [DIALECTS[dialect].double] * 2
    rows: list[list[Any]] = [[1.0, None], [1.0, 1.0], [-1e308, 1.0]]
    found = databases[dialect](["x", "y"], types, rows)(query)
    assert found == [(None, None, None, None), ("b", 0.0, 1.0, 2), ("a", 1.0, 0.0, 1)]


def test_a_query_with_too_many_columns_is_refused_and_a_large_one_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(TreeError, match=r"columns .*postgresql takes 1600"):
        obliqua.export_sql(stump([f"x{k}" for k in range(1700)]), "postgresql")
    monkeypatch.setattr("obliqua.export.sql._LARGE", 1000)
    with pytest.warns(CostWarning, match=r"about \d+ MB: 7 trees"):
        obliqua.export_sql(case("forest")[0])


def test_a_table_may_have_the_name_of_a_query(databases: Databases) -> None:
    query = obliqua.export_sql(stump(), "sqlite", "obliqua_entries")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE obliqua_entries (x, y)")
    database.execute("INSERT INTO obliqua_entries VALUES (1, 2)")
    assert database.execute(query).fetchall() == [("b", 0.0, 1.0)]
    database.close()


def test_a_column_that_is_called_as_the_order_needs_another_one() -> None:
    X = pd.DataFrame({"rowid": np.arange(40.0) % 7, "b": np.arange(40.0) * 3 % 40})
    tree = obliqua.CartClassifier().fit(X, X["b"] > 20)
    with pytest.raises(ValueError, match="order must be said"):
        obliqua.export_sql(tree, "duckdb")
    assert "ORDER BY" not in obliqua.export_sql(tree, "duckdb", order=())
