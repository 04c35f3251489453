"""Model files: what they hold, and how they are written and read.

The format is described in docs/reference/file_format.md. `write_model` and `read_model` know
trees, classes and columns; estimators are the business of `obliqua.save` and `obliqua.load`.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, Protocol, runtime_checkable

from obliqua.errors import ModelFileError, ModelFileIOError, ModelFileMissing
from obliqua.io.container import MAGIC, MAX_FILE
from obliqua.io.format import from_bytes, to_bytes
from obliqua.tree.model import Model

__all__ = ["read_model", "write_model"]


def write_model(model: Model, path: Any, about: Mapping[str, Any] | None = None) -> None:
    """Write a model to a file.

    The file gets its name only when all of it is on the disk. A program that is stopped at
    any moment leaves the old file or the new one.

    Parameters
    ----------
    model : Model
        The model.
    path : str, path-like or binary file object
        The file, by convention with the ending ``.obliqua``.
    about : mapping, default=None
        More to keep, as JSON knows it: strings as keys; null, bools, numbers, strings, lists
        and such mappings as values.

    Raises
    ------
    ModelFileIOError
        If the file cannot be written.
    TypeError
        If labels or levels are of a type that files do not hold, or if `about` holds something
        that JSON does not know, such as NaN.
    TreeError
        If a tree is malformed.
    ModelFileError
        If the model is too large for a file.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from obliqua import TreeBuilder
    >>> from obliqua.data import Encoding
    >>> from obliqua.io import read_model, write_model
    >>> from obliqua.tree import Model
    >>> builder = TreeBuilder(n_features=1, n_stats=2)
    >>> builder.set_leaf("root", [3, 1])
    >>> model = Model((builder.build(),), "single", Encoding.identity(1), np.array(["no", "yes"]))
    >>> file = io.BytesIO()
    >>> write_model(model, file, {"made": "by hand"})
    >>> _ = file.seek(0)
    >>> read_model(file)
    (Model(1 tree, combine='single', 1 columns, 2 classes), {'made': 'by hand'})
    """
    name = name_of(path)
    try:
        data = to_bytes(model, about)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ModelFileError(f"{model!r} does not fit into the file {name}: {error}.") from error
    write_bytes(path, data)


def read_model(path: Any) -> tuple[Model, dict[str, Any]]:
    """Read a model from a file.

    Nothing in the file is run, and no pickle is read, so that a file from a stranger can do no
    more than give a wrong model.

    Parameters
    ----------
    path : str, path-like or binary file object
        The file.

    Returns
    -------
    model : Model
        Exactly the model that was written.
    about : dict
        What else was kept.

    Raises
    ------
    ModelFileMissing
        If there is no such file.
    ModelFileIOError
        If it cannot be read.
    ModelFileError
        If it is not a model file, is damaged, or was written by a newer version.
    """
    return from_bytes(read_bytes(path, MAGIC, MAX_FILE), name_of(path))


_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
# Windows would translate line ends; elsewhere there is nothing to say.
_CREATE |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_CHUNK = 2**20
_HEAD = 64  # bytes that tell one kind of file from another
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", None))


@runtime_checkable
class Readable(Protocol):
    """A file that is open for reading."""

    def read(self, size: int = -1, /) -> Any:
        """Read so many bytes or characters; all if there is no number."""


@runtime_checkable
class Writable(Protocol):
    """A file that is open for writing."""

    def write(self, data: Any, /) -> Any:
        """Write bytes or characters."""


def name_of(path: Any) -> str:
    """Return how messages call a file."""
    if is_open(path):
        name = getattr(path, "name", None)
        return f"the open file {name!r}" if isinstance(name, str) else "the open file"
    return repr(_as_text(path))


def files_called(paths: Sequence[str]) -> str:
    """Return how messages call several files together: the first one, and how many more."""
    more = len(paths) - 1
    return paths[0] + (f" and {more:,} more file{'s' if more > 1 else ''}" if more else "")


def is_open(path: Any) -> bool:
    """Say whether something is a file object rather than a path."""
    return isinstance(path, Readable | Writable)


def _as_text(path: Any) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise TypeError(
            "A model file is given as a path (str or pathlib.Path) or as a file that is open in "
            f"binary mode; got {type(path).__name__}."
        ) from None


# --- reading ---------------------------------------------------------------------------------


def read_bytes(path: Any, magic: bytes, most: int) -> bytes:
    """Read a whole file, unless its first bytes say that it is another kind of file."""
    try:
        if is_open(path):
            return _read_open(path, magic, most)
        place = _as_text(path)
        if os.path.isdir(place):  # not every system says so when it is opened
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        with open(place, "rb", opener=_opened) as file:
            data = _read_open(file, magic, most)
            if not data and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise ModelFileError(
                    f"{name_of(path)} is a pipe, and nobody has written into it. Start what "
                    "writes first, or give open(path, 'rb'), which waits for it."
                )
            return data
    except FileNotFoundError as error:
        raise _error_like(
            ModelFileMissing, f"There is no model file {name_of(path)}", error
        ) from error
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        what = f"Cannot read the model file {name_of(path)}: {_reason(error)}"
        raise _error_like(ModelFileIOError, what, error) from error


def _opened(place: str, flags: int) -> int:
    """Open a file without waiting for somebody to write into it, if it is a pipe."""
    descriptor = os.open(place, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)
    return descriptor


def _read_open(file: Any, magic: bytes, most: int) -> bytes:
    if not isinstance(file, Readable):
        raise TypeError(f"A model is read from a file that is open for reading; got {file!r}.")
    # A device may go on for ever, and a foreign file may be huge: look before reading on.
    head = b""
    while len(head) < _HEAD and (part := _part(file, _HEAD - len(head))):
        head += part
    if not head.startswith(magic):
        return head
    parts, size = [head], len(head)
    while part := _part(file, _CHUNK):
        size += len(part)
        if size > most:
            raise ModelFileError(
                f"{name_of(file)} is longer than {most} bytes, the most that a model file has."
            )
        parts.append(part)
    return b"".join(parts)


def _part(file: Any, size: int) -> bytes:
    """Read some bytes: a pipe without a buffer may give fewer than there are to come."""
    try:
        part = file.read(size)
    except UnicodeDecodeError:  # a text file, which cannot make characters of the bytes
        part = ""
    if part is None:
        raise BlockingIOError(errno.EAGAIN, "it does not block, and has no bytes at the moment")
    if not isinstance(part, bytes):
        raise TypeError(
            "A model file must be open in binary mode: use open(path, 'rb'). Reading gave "
            f"{type(part).__name__}."
        )
    return part


# --- writing ---------------------------------------------------------------------------------


def write_bytes(path: Any, data: bytes) -> None:
    """Write a whole file: afterwards the name stands for the old file or for the new one.

    The bytes go to a temporary file in the same folder, which then takes the name. If that
    fails, or is interrupted, the temporary file is removed and the old file is as it was.
    """
    if is_open(path):
        _write_open(path, data)
        return
    try:
        _put(_as_text(path), data)
    except (OSError, ValueError) as error:
        what = f"Cannot write the file {name_of(path)}: {_reason(error, path)}"
        raise _error_like(ModelFileIOError, what, error) from error


def write_text(path: str, text: str) -> None:
    """Write a whole file of text, in the same way."""
    try:
        _put(path, text.encode())
    except (OSError, ValueError) as error:
        raise cannot_write(path, error) from error


def cannot_write(path: str, error: Exception) -> OSError:
    """Return an error that says of a file why it cannot be written."""
    what = f"Cannot write the file {path!r}: {_reason(error, path)}."
    number = getattr(error, "errno", None)
    return OSError(what) if number is None else OSError(number, what)


def _put(path: str, data: bytes) -> None:
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file to write that gets its name when all is written; nothing is left otherwise."""
    mode = _mode_of(path)
    target = path
    if mode is None or stat.S_ISREG(mode):
        # Writing to a symbolic link changes the file that it leads to, as with open().
        target = os.path.realpath(path)
        # What /dev/fd leads to may have lost its name: then the link is the only way to it.
        if mode is not None and os.path.islink(path) and not os.path.exists(target):
            target = path
    if mode is None:
        with _replacing(target, mode) as file:
            yield file
    elif stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    elif not os.access(target, os.W_OK):
        # A new file could take its name all the same, but somebody has protected it.
        raise PermissionError(errno.EACCES, "the file there is read-only")
    elif stat.S_ISREG(mode) and not os.path.islink(target):
        with _replacing(target, mode) as file:
            yield file
    else:  # a device or a pipe has no old content to keep, and must stay what it is
        with open(target, "wb") as file:
            yield file


def _write_open(file: Any, data: bytes) -> None:
    if not isinstance(file, Writable):
        raise TypeError(f"A model is written to a file that is open for writing; got {file!r}.")
    try:
        _write_all(file, data)
    except TypeError as error:
        raise TypeError(
            f"A model file must be open in binary mode: use open(path, 'wb'). ({error})"
        ) from error
    except (OSError, ValueError) as error:
        what = f"Cannot write to {name_of(file)}: {_reason(error)}"
        raise _error_like(ModelFileIOError, what, error) from error


def _write_all(file: Any, data: bytes) -> None:
    """Write on until all is written: a file without a buffer may take less at a time."""
    n_written = file.write(data)
    rest = memoryview(data)
    while n_written != len(rest):
        if not isinstance(n_written, int) or not 0 < n_written < len(rest):
            raise OSError(
                f"after {len(data) - len(rest)} of {len(data)} bytes it took no more (write "
                f"returned {n_written!r}, not a number of bytes). Write to an io.BytesIO first"
            )
        rest = rest[n_written:]
        n_written = file.write(rest)


def _mode_of(target: str) -> int | None:
    try:
        return os.stat(target).st_mode
    except FileNotFoundError:
        return None


@contextmanager
def _replacing(target: str, mode: int | None) -> Iterator[IO[bytes]]:
    folder = os.path.dirname(target)
    # The name does not grow with the target's, which may be as long as a name can be.
    temporary = os.path.join(folder, f".obliqua-{secrets.token_hex(8)}.tmp")
    descriptor = None
    try:
        # 0o666 without the user's umask, as for any new file. What only some may read stays
        # so while it is written.
        rights = 0o666 if mode is None else stat.S_IMODE(mode) & 0o666
        descriptor = os.open(temporary, _CREATE, rights)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        if mode is not None:
            with suppress(OSError):  # some file systems have no permissions to keep
                os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException as error:  # Ctrl-C too must leave nothing behind
        if not (descriptor is None and isinstance(error, OSError)):
            with suppress(OSError):
                os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Make the new name last through a loss of power, where the system can promise that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# --- messages --------------------------------------------------------------------------------


def _error_like(kind: type[ModelFileIOError], what: str, cause: Exception) -> ModelFileIOError:
    error = kind(what if what.endswith(".") else f"{what}.")
    error.errno = getattr(cause, "errno", None)
    return error


def _reason(error: Exception, path: Any = None) -> str:
    """Say in words what the system said in a number."""
    number = getattr(error, "errno", None)
    reason = getattr(error, "strerror", None) or str(error)
    if number == errno.ENOENT and path is not None:
        folder = os.path.dirname(os.path.realpath(_as_text(path)))
        if os.path.isdir(folder):
            return f"no file can be made in the folder {folder!r} ({reason}). Name another one"
        return f"the folder {folder!r} does not exist. Create it first"
    if number == errno.EISDIR:
        return "it is a folder. Give the name of a file in it"
    if number in _NO_ROOM:
        return f"there is no room for it ({reason}). A file that was there before is unchanged"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"permission is missing ({reason})"
    return reason
