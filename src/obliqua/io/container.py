"""The container of a model file: a zip archive in one exact form.

Any program that knows zip can open it. Reading is stricter than that: what stands between the
members' data is made anew from their names, sizes and check sums, and must be equal to what the
file holds. So a changed bit in the frame is noticed, and no two programs can see two different
archives in one file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["MAGIC", "MAX_FILE", "Entry", "Refused", "first_entry", "frame", "inflate", "pack"]

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
MAGIC = b"PK\x03\x04"
_CENTRAL_MAGIC = b"PK\x01\x02"
_END_MAGIC = b"PK\x05\x06"
_STORED, _DEFLATED = 0, 8
_NEEDED = 20  # version 2.0 of zip knows deflate
_MADE_BY = (3 << 8) | _NEEDED  # Unix: the attributes below are its permissions
_ATTRIBUTES = 0o100644 << 16
_TIME, _DATE = 0, (1 << 5) | 1  # 1980-01-01: a file does not say when it was written

#: The most bytes that a file has. Sizes and places in it are 32 bits wide.
MAX_FILE = 2**31 - 1
_MAX_MEMBER = 2**32 - 2
_MAX_MEMBERS = 1000

# A small file may not ask for much memory. All members together take at most this many times
# the size of the file, or FREE bytes; text alone, which takes more room once it is read, less.
RATIO, FREE = 100, 2**26
TEXT_RATIO, TEXT_FREE = 32, 2**22


class Refused(Exception):
    """Why some bytes are not taken for a model: a sentence without its subject, the file."""


@dataclass(frozen=True)
class Entry:
    """One member of an archive as it stands in the file."""

    name: str
    method: int
    crc: int
    size: int
    packed: bytes

    @property
    def _facts(self) -> tuple[int, ...]:
        """What both headers of a member say: how it was packed, sums, sizes, no extras."""
        return (0, self.method, _TIME, _DATE, self.crc, len(self.packed), self.size)

    def local(self) -> bytes:
        """Return the header that stands before the data."""
        name = self.name.encode("ascii")
        return _LOCAL.pack(MAGIC, _NEEDED, *self._facts, len(name), 0) + name

    def central(self, offset: int) -> bytes:
        """Return the entry of the directory at the end of the archive."""
        name = self.name.encode("ascii")
        rest = (len(name), 0, 0, 0, 0, _ATTRIBUTES, offset)
        return _CENTRAL.pack(_CENTRAL_MAGIC, _MADE_BY, _NEEDED, *self._facts, *rest) + name


def _is_text(name: str) -> bool:
    return name.endswith(".json")


def _directory(entries: Sequence[Entry]) -> bytes:
    """Return what follows the data of the last member."""
    parts, offset = [], 0
    for entry in entries:
        parts.append(entry.central(offset))
        offset += len(entry.local()) + len(entry.packed)
    directory = b"".join(parts)
    n = len(entries)
    return directory + _END.pack(_END_MAGIC, 0, 0, n, n, len(directory), offset, 0)


# --- writing ---------------------------------------------------------------------------------


def pack(members: Sequence[tuple[str, bytes]], level: int = 4) -> bytes:
    """Make an archive."""
    entries = [_entry(name, data, level) for name, data in members]
    archive = _joined(entries)
    if not _modest(entries, len(archive)):
        # What packs so well looks like a bomb. Unpacked it is what it is.
        archive = _joined([_entry(name, data, 0) for name, data in members])
    return archive


def _entry(name: str, data: bytes, level: int) -> Entry:
    if len(data) > _MAX_MEMBER:
        raise ValueError(f"{name} has {len(data)} bytes; the most is {_MAX_MEMBER}")
    method, packed = _STORED, data
    if level:
        machine = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
        deflated = machine.compress(data) + machine.flush()
        bomb = _is_text(name) and len(data) > max(TEXT_FREE, TEXT_RATIO * len(deflated))
        if len(deflated) < len(data) and not bomb:
            method, packed = _DEFLATED, deflated
    return Entry(name, method, zlib.crc32(data), len(data), packed)


def _joined(entries: Sequence[Entry]) -> bytes:
    size = sum(len(entry.local()) + len(entry.packed) for entry in entries)
    directory = _directory(entries) if size <= MAX_FILE else b""
    if size + len(directory) > MAX_FILE or not directory:
        raise ValueError(f"it would have more than {MAX_FILE} bytes")
    parts = [part for entry in entries for part in (entry.local(), entry.packed)]
    return b"".join([*parts, directory])


def _modest(entries: Sequence[Entry], file_size: int) -> bool:
    return sum(entry.size for entry in entries) <= max(FREE, RATIO * file_size)


# --- reading ---------------------------------------------------------------------------------


def first_entry(data: bytes) -> Entry:
    """Return the first member of an archive, without a look at what follows it."""
    return _entry_at(data, 0)


def _entry_at(data: bytes, place: int) -> Entry:
    head = data[place : place + _LOCAL.size]
    if len(head) < _LOCAL.size:
        raise Refused(f"is cut short: it ends after {len(data)} bytes, inside a header")
    _, _, _, method, _, _, crc, packed_size, size, name_size, _ = _LOCAL.unpack(head)
    start = place + _LOCAL.size + name_size
    name = data[place + _LOCAL.size : start]
    if len(name) < name_size or len(data) < start + packed_size:
        raise Refused(
            f"is cut short, or damaged: it ends after {len(data)} bytes, and the part at byte "
            f"{place} goes on to byte {start + packed_size}"
        )
    if not name.isascii():
        raise Refused(f"is damaged: the part at byte {place} has an impossible name")
    return Entry(name.decode("ascii"), method, crc, size, data[start : start + packed_size])


def frame(data: bytes) -> list[Entry]:
    """Return all members of an archive, after a look at everything but their contents."""
    entries: list[Entry] = []
    place = 0
    while data.startswith(MAGIC, place):
        entry = _entry_at(data, place)
        header = entry.local()
        if not data.startswith(header, place) or entry.method not in (_STORED, _DEFLATED):
            raise Refused(f"is damaged: the header at byte {place} is not as it was written")
        entries.append(entry)
        place += len(header) + len(entry.packed)
        if len(entries) > _MAX_MEMBERS:
            raise Refused(f"has more than {_MAX_MEMBERS} parts, which no model file has")
    rest, expected = data[place:], _directory(entries)
    if rest != expected:
        if expected.startswith(rest):
            missing = len(expected) - len(rest)
            raise Refused(f"is cut short: the last {missing} bytes are missing")
        if rest.startswith(expected):
            extra = len(rest) - len(expected)
            raise Refused(f"goes on for {extra} bytes after its end")
        raise Refused(f"is damaged: the directory at byte {place} is not as it was written")
    if not _modest(entries, len(data)):
        raise Refused(
            f"would take {sum(entry.size for entry in entries)} bytes of memory, more than "
            f"{RATIO} times its size of {len(data)} bytes"
        )
    return entries


def inflate(entry: Entry) -> bytes:
    """Unpack a member; never more bytes than its header announces."""
    packed_size = len(entry.packed)
    if _is_text(entry.name) and entry.size > max(TEXT_FREE, TEXT_RATIO * packed_size):
        raise Refused(
            f"would unpack {packed_size} bytes of {entry.name} into {entry.size}, more than "
            f"{TEXT_RATIO} times as many"
        )
    if entry.method == _STORED:
        data, whole = entry.packed, True
    else:
        machine = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            # One byte more than announced, so that a longer one is noticed.
            data = machine.decompress(entry.packed, entry.size + 1)
        except zlib.error as error:
            raise Refused(f"is damaged: {entry.name} cannot be unpacked ({error})") from error
        whole = machine.eof and not machine.unused_data
    if not whole or len(data) != entry.size or zlib.crc32(data) != entry.crc:
        raise Refused(f"is damaged: {entry.name} is not what was written")
    return data
