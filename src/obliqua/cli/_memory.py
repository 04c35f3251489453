"""How much memory a table takes, and how much there is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from obliqua.cli._errors import Trouble

GZIP, PARQUET = b"\x1f\x8b", b"PAR1"

# Measured, above what imports take, by table of 20 columns of numbers: of a CSV file its bytes, of
# a Parquet file 8 bytes for each cell, or its bytes without compression.
TO_READ = {"csv": 7, "parquet": 3}
TO_FIT = {"csv": 8, "parquet": 5}
PACKED, MOST_PACKED = 4, 1032  # how much larger is what gzip has packed: as a rule, and at most


def kind_of(path: str) -> str:
    """Say whether a file is CSV, Parquet or gzip: by its first bytes."""
    with open(path, "rb") as file:
        head = file.read(4)
    return "parquet" if head == PARQUET else "gzip" if head.startswith(GZIP) else "csv"


def bytes_in_memory(paths: Sequence[str], factors: Mapping[str, int]) -> int:
    """Estimate what tables take when they are read, or fitted to; 0 for what is no file."""
    total = 0
    for path in paths:
        with suppress(OSError):  # whoever reads it says what is wrong with it
            if not os.path.isfile(path):
                continue
            kind = kind_of(path)
            total += factors["parquet" if kind == "parquet" else "csv"] * _unpacked(path, kind)
    return total


def _unpacked(path: str, kind: str) -> int:
    """Return the bytes of a table: of text, or of cells."""
    size = os.path.getsize(path)
    if kind == "gzip":
        with open(path, "rb") as file:
            file.seek(-4, os.SEEK_END)
            told = int.from_bytes(file.read(4), "little")
        return max(told if told <= MOST_PACKED * size else 0, PACKED * size)
    if kind == "parquet":
        with suppress(Exception):  # whoever reads it says what is wrong with it
            parquet: Any = import_module("pyarrow.parquet")
            about = parquet.read_metadata(path)
            groups = [about.row_group(k).total_byte_size for k in range(about.num_row_groups)]
            return max(8 * about.num_rows * about.num_columns, sum(groups))
    return size


def memory_at_hand() -> int | None:
    """Return the bytes that this process can still get, None if nobody knows.

    That is what the machine has free, or less if a container, or a limit of the shell, has less.
    """
    found = [*_free_of_machine(), *_free_of_groups(), *_free_of_shell()]
    return max(min(found), 0) if found else None


def _free_of_machine() -> Iterator[int]:
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024
                return
    with suppress(OSError, ValueError, AttributeError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_of_groups() -> Iterator[int]:
    """Return what is left in the control groups of this process, and those above."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, place = line.split(":", 2)
            if kinds == "":
                root, names = Path("/sys/fs/cgroup"), ("memory.max", "memory.current")
            elif "memory" in kinds.split(","):
                root = Path("/sys/fs/cgroup/memory")
                names = "memory.limit_in_bytes", "memory.usage_in_bytes"
            else:
                continue
            group = root / place.lstrip("/")
            # In a container the path of the machine is not there; its own group is the root.
            for folder in (group, *group.parents):
                yield from _left_in(folder, *names)
                if folder == root:
                    break


def _left_in(folder: Path, most: str, now: str) -> Iterator[int]:
    """Return what a group has left: what files have left in memory can be taken again."""
    with suppress(OSError, ValueError):
        limit, used = int((folder / most).read_text()), int((folder / now).read_text())
        about = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        yield limit - used + int(about.get("inactive_file", 0))


def _free_of_shell() -> Iterator[int]:
    """Return what ulimit -v leaves."""
    if sys.platform == "win32":
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        used = 0
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            used = pages * os.sysconf("SC_PAGE_SIZE")
        yield limit - used


def in_words(n_bytes: int) -> str:
    """Write a number of bytes for a person."""
    for size, unit in ((10**12, "TB"), (10**9, "GB")):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{max(n_bytes, 0) / 10**6:.0f} MB"


def check_can_be_read(path: str, source: str) -> None:
    """Refuse a table that would not fit in memory, before it is read."""
    there = memory_at_hand()
    if there is None or path == "-":
        return
    needed = bytes_in_memory([path], TO_READ)
    if needed > there:
        raise Trouble(
            f"{source} would take about {in_words(needed)} of memory, and {in_words(there)} are "
            "free. Only `obliqua fit` and `obliqua predict` read such tables part by part; give "
            "this command a table with fewer rows or columns."
        )
