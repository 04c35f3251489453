"""A file of JSON lines that only grows.

Each line ends with a checksum of its own text. A program that is killed while it writes leaves
the beginning of a line at the end of the file, without the line's end; the next one finds that
out and cuts it off. A line that has its end but is not as it was written was damaged otherwise,
and the file is refused. What stood in the file before is never written again, so it cannot be
lost.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obliqua.errors import ObliquaError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Lines", "ResultsError", "Writer", "check_free", "encoded", "read_lines"]

_SUM = b',"crc":'
# Windows would translate line ends, elsewhere there is nothing to say; no other program inherits.
_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_FAR = 2**30  # a byte that no file of results reaches; Windows locks bytes, not files


class ResultsError(ObliquaError, ValueError):
    """A file of results cannot be used for this run."""


def encoded(record: Mapping[str, Any]) -> bytes:
    """Return a line of the file, with its checksum and its end."""
    text = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return text + _SUM + b"%d}\n" % zlib.crc32(text)


def _decoded(line: bytes) -> dict[str, Any] | None:
    """Return what a line says, or None if it is not as it was written."""
    text, mark, number = line.rpartition(_SUM)
    if not mark or number != b"%d}" % zlib.crc32(text):
        return None
    try:
        found = json.loads(text + b"}")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Lines:
    """What was read.

    Parameters
    ----------
    records : tuple of dict
        The lines, in their order.
    torn : bytes
        What stands behind them: the beginning of a line that was never finished.
    size : int
        How many bytes the file had.
    """

    records: tuple[dict[str, Any], ...]
    torn: bytes
    size: int

    @property
    def whole(self) -> int:
        """How many bytes the finished lines have."""
        return self.size - len(self.torn)


def read_lines(path: Path) -> Lines:
    """Read a file of lines, packed or not; a damaged line is an error, one without end is not."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResultsError(f"{path} cannot be read: {reason}") from error
    *lines, torn = content.split(b"\n")  # what is behind the last end was never finished
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        record = _decoded(line)
        if record is None:
            raise ResultsError(_damaged(path, number, len(lines)))
        records.append(record)
    return Lines(tuple(records), torn, len(content))


def _damaged(path: Path, number: int, n_lines: int) -> str:
    if number == 1:
        return f"{path} is not a file of results; choose another folder or remove the file"
    last = "remove this last line, or " if number == n_lines else ""
    return (
        f"{path} is damaged: line {number} is not as it was written. Take the file from a copy, "
        f"or {last}remove the file; results that may be wrong are not gone on with"
    )


class Writer:
    """Adds lines to a file that no other program may write to meanwhile.

    Parameters
    ----------
    path : Path
        The file.
    found : Lines or None
        What was read from it: the file must be as it was then, and a line that was never
        finished is cut off. None: the file must not be there, and is made.

    Attributes
    ----------
    size : int
        How many bytes of finished lines the file has.

    Raises
    ------
    ResultsError
        If another program writes to the file, or has done so since it was read.
    """

    def __init__(self, path: Path, found: Lines | None) -> None:
        self._path = path
        self._file = _opened(path, new=found is None)
        try:
            _lock(self._file, path)
            if found is not None:
                if os.fstat(self._file).st_size != found.size:
                    raise ResultsError(
                        f"{path} has changed since it was read: another program has written to "
                        "it. Begin again with --resume"
                    )
                if found.torn:
                    os.ftruncate(self._file, found.whole)
            self.size = 0 if found is None else found.whole
        except BaseException:
            self.close()
            raise

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write lines; when this returns they are on the disk."""
        data = b"".join(map(encoded, records))
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):  # a full disk: take back what was written of it
                os.ftruncate(self._file, self.size)
            error.filename = os.fspath(self._path)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Let other programs write."""
        if self._file >= 0:
            os.close(self._file)  # which unlocks it, too
            self._file = -1


def _opened(path: Path, new: bool) -> int:
    try:
        return os.open(path, _FLAGS | (os.O_CREAT | os.O_EXCL if new else 0), 0o666)
    except FileExistsError:
        raise ResultsError(
            f"{path} was made by another program in the meantime; go on with it (--resume) when "
            "that has ended, or choose another folder"
        ) from None


def _lock(file: int, path: Path) -> None:
    try:
        if sys.platform == "win32":
            os.lseek(file, _FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise ResultsError(
            f"{path} is in use: another program adds results to it. Wait until that has ended, "
            "or choose another folder"
        ) from None
    except OSError:  # some network file systems have no locks; what is read is checked anyway
        pass


def check_free(path: Path) -> None:
    """Refuse a file that another program writes to now."""
    file = _opened(path, new=False)
    try:
        _lock(file, path)
    finally:
        os.close(file)
