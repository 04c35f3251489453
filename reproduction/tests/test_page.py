"""The page "Reproduction" says what the kept logs say, and what does not hold has a reason."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from reproduction import page
from reproduction.catalogue import CLAIM_TABLES, OWN_TABLES, TABLES
from reproduction.choices import CHOICES
from reproduction.facts import Facts
from reproduction.reasons import why_not
from reproduction.store import CellKey, Kept, ResultsError, Store
from reproduction.verdict import far

ADVICE = "write it again: python -m reproduction.page"
LOGS = page.logs()


def test_the_page_is_what_the_logs_say() -> None:
    assert page.PAGE.read_text("utf-8") == page.page(), ADVICE
    assert page.main(["--check"]) == 0


@pytest.mark.parametrize("table", page.paper_tables(), ids=lambda table: table.name)
def test_what_is_better_or_worse_has_a_reason(table: object) -> None:
    (found,) = (one for one in TABLES.values() if one is table)
    compared = page.filled(found, LOGS)
    if compared is None:
        assert f"| `{found.name}` | not run yet |" in page.PAGE.read_text("utf-8")
        return
    without = [
        f"{one.data_set} {one.method}, {one.what}: z = {one.z:+.2f}"
        for one in far(compared.figures())
        if why_not(found.name, one) is None
    ]
    assert without == [], "find out why, and say so in reproduction.reasons"


def test_kept_logs_are_small_and_of_tables_of_the_papers_or_of_claims() -> None:
    names = {table.cells_of or table.name for table in page.paper_tables()}
    assert not names & OWN_TABLES
    assert set(LOGS) <= names | {table.name for table in CLAIM_TABLES}
    longer = list((page.LOGS / "experiments").iterdir())
    assert {path.name.partition(".")[0] for path in longer} <= set(TABLES)
    for path in [*page.LOGS.glob("*.*"), *longer]:
        assert path.suffixes in ([".jsonl"], [".jsonl", ".gz"]), path.name
        assert path.stat().st_size < 1.5 * page.LARGE
        assert Kept(path).lines.torn == b""


# --- with logs that are made up ---------------------------------------------------------------


def cell(right: int, leaves: int) -> dict[str, object]:
    confusion = [[right, 100 - right], [100 - right, right]]
    return {"classes": ["a", "b"], "confusion": confusion, "leaves": [leaves], "seconds": 36.0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log in which diabetes holds, and housing does not."""
    store = Store(tmp_path / "oc1-table-1.jsonl", "oc1-table-1", 3)
    with store.open():
        for repeat in range(2):
            store.put(CellKey("diabetes", "OC1", repeat), cell(74, 5))
            store.put(CellKey("housing", "OC1", repeat), cell(60, 8))
    return tmp_path


def test_the_page_has_everything(folder: Path) -> None:
    text = page.page(folder)
    assert "| `oc1-table-1` | 4 | 3 | 0 | 0 | 1 | 0 | 1 of 4 | 4 of 4 | 0 |" in text
    assert "- **OC1**: of 4 published numbers 3 are reproduced; by more than two standard" in text
    assert "| `hhcart-table-2` | not run yet |" in text
    assert "| **all** | " in text
    # One seed, four cells of 36 seconds, and what they were made with.
    assert " | 3 | 4 | 0.04 | " in text
    assert "scikit-learn " in text
    assert (
        "`oc1-table-1` housing OC1, accuracy (82.4 in the paper, 60 here, worse). This is our OC1"
        in text
    )
    assert "### table 1 of OC1" in text
    assert "| housing | OC1 | 2 | 82.4 ± 0.8 |" in text
    assert "> 2 sd, worse" in text
    places = [text.index(f"## {title}") for title, _, _ in page.REMARKS]
    assert places == sorted(places)
    for title, module in page.PAPERS.values():
        for (_, _, name), start, end in zip(
            page.REMARKS, places, [*places[1:], len(text)], strict=True
        ):
            for one in getattr(module, name):
                assert f"| {title} | {one.where} |" in text[start:end]
    for one in CHOICES:
        assert f"| {one.what} | {one.before} | " in text
    for table in page.paper_tables():
        for name in table.unavailable:
            assert f"- {name}: " in text


def test_logs_are_kept_and_large_ones_are_packed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "kept"
    (plain,) = page.keep(folder, target)
    assert plain.name == "oc1-table-1.jsonl"
    text = page.page(target)
    monkeypatch.setattr(page, "LARGE", 10)
    (packed,) = page.keep(folder, target)
    assert [path.name for path in target.iterdir()] == ["oc1-table-1.jsonl.gz"]
    assert gzip.decompress(packed.read_bytes()) == (folder / plain.name).read_bytes()
    assert page.page(target) == text
    packed.write_bytes(packed.read_bytes()[:-10])
    with pytest.raises(ResultsError, match="cannot be read"):
        Kept(packed)


def test_longer_runs_are_kept_beside_them(folder: Path, tmp_path: Path) -> None:
    longer = folder / "experiments"
    longer.mkdir()
    (folder / "oc1-table-1.jsonl").rename(longer / "oc1-table-1.jsonl")
    (kept,) = page.keep(folder, tmp_path / "kept")
    assert kept == tmp_path / "kept" / "experiments" / "oc1-table-1.jsonl"
    where = "experiment oc1-table-1; diabetes; OC1; accuracy"
    assert Facts(tmp_path / "kept").look_up(f"{where}; ours") == "74.0"
    assert Facts(tmp_path / "kept").look_up(f"{where}; repeats") == "2"
    assert page.logs(tmp_path / "kept") == {}


def test_damaged_logs_are_not_kept(folder: Path, tmp_path: Path) -> None:
    path = folder / "oc1-table-1.jsonl"
    path.write_bytes(path.read_bytes().replace(b"diabetes", b"diabetez", 1))
    with pytest.raises(ResultsError, match="damaged"):
        page.keep(folder, tmp_path / "kept")
    assert not list((tmp_path / "kept").iterdir())
