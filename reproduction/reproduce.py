"""Several tables at once: what of them is asked for, where it is kept, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from obliqua.select.methods import Method
from reproduction.protocol import DataSet
from reproduction.running import Absent, FinishedCell, TablePart, Work, prepare, work_off
from reproduction.store import Store
from reproduction.tables import Comparison, PaperTable

__all__ = ["Chosen", "Wanted", "choose", "prepared", "reproduce"]


@dataclass(frozen=True)
class Wanted:
    """What of the tables is asked for.

    Parameters
    ----------
    sets, methods : sequence of str, default=None
        Names of data sets and of methods; None for those of the papers. A table takes those that
        it has.
    without : sequence of str, default=()
        Names of data sets to leave out.
    repeats : int, default=None
        Repeats everywhere; None for as many as in the papers.
    repeats_of : mapping of str to int
        Repeats on single data sets.
    """

    sets: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    without: Sequence[str] = ()
    repeats: int | None = None
    repeats_of: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Chosen:
    """A table, and what of it is to be made.

    Parameters
    ----------
    table : PaperTable
        The table.
    data_sets : sequence of DataSet
        Its data sets.
    methods : sequence of Method
        Its methods.
    repeats : mapping of str to int
        Repeats of each data set.
    """

    table: PaperTable
    data_sets: Sequence[DataSet]
    methods: Sequence[Method]
    repeats: Mapping[str, int]

    def part(self, store: Store) -> TablePart:
        """Return the cells that this asks for."""
        return TablePart(store, self.data_sets, self.methods, self.repeats, self.table.n_folds)

    def filled(self, store: Store) -> Comparison:
        """Return the table with what the store holds."""
        return self.table.filled(store, self.data_sets, self.methods, self.repeats)


def choose(tables: Sequence[PaperTable], wanted: Wanted) -> list[Chosen]:
    """Find what is asked for in each table; messages about wrong names begin with the option."""
    sets = dict.fromkeys(s.name for table in tables for s in table.data_sets)
    methods = dict.fromkeys(m.name for table in tables for m in table.methods)
    _check("--sets", "data set", wanted.sets or (), sets)
    _check("--methods", "method", wanted.methods or (), methods)
    _check("--without", "data set", wanted.without, sets)
    _check("--repeats", "data set", wanted.repeats_of, sets)
    found = []
    for table in tables:
        names = [
            s.name
            for s in table.data_sets
            if (wanted.sets is None or s.name in wanted.sets) and s.name not in wanted.without
        ]
        chosen = table.standard if wanted.methods is None else wanted.methods
        known = {method.name for method in table.methods}
        some = [name for name in chosen if name in known]
        if names and some:
            everywhere = table.repeats if wanted.repeats is None else wanted.repeats
            repeats = {name: wanted.repeats_of.get(name, everywhere) for name in names}
            for name, count in (repeats | dict(wanted.repeats_of)).items():
                if count < 1:
                    raise ValueError(
                        f"--repeats: there must be at least one repeat, got {count} for {name}"
                    )
            found.append(
                Chosen(table, table.choose_sets(names), table.choose_methods(some), repeats)
            )
    if not found:
        raise ValueError(
            "nothing is left to do: no table has one of these data sets together with one of "
            "these methods; --list shows what there is"
        )
    return found


def _check(option: str, what: str, names: Iterable[str], known: Mapping[str, None]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(
                f"{option}: no {what} is called {name!r}; there are {', '.join(known)}"
            )


def prepared(
    chosen: Sequence[Chosen], folder: Path, seed: int, *, resume: bool = False
) -> tuple[dict[str, Store], Work]:
    """Open the files of results, by table, and find out what is to be computed."""
    shared: dict[str, Store] = {}
    stores = {}
    for one in chosen:
        name = one.table.cells_of or one.table.name
        if name not in shared:
            shared[name] = Store(folder / f"{name}.jsonl", name, seed, resume=resume)
        stores[one.table.name] = shared[name]
    return stores, prepare(one.part(stores[one.table.name]) for one in chosen)


def reproduce(
    chosen: Sequence[Chosen],
    stores: Mapping[str, Store],
    work: Work,
    n_jobs: int = 1,
    progress: Callable[[FinishedCell], None] | None = None,
) -> tuple[list[Comparison], list[Absent]]:
    """Compute what is missing; return the tables of which there are cells, and absent data."""
    work_off(work, n_jobs, progress)
    made = [one.filled(stores[one.table.name]) for one in chosen]
    return [compared for compared in made if compared.rows], work.absent
