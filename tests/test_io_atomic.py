"""A model file is the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import errno
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua.errors import ModelFileError, ModelFileIOError, ModelFileMissing, ObliquaError
from obliqua.io.files import read_bytes, read_model, write_model
from obliqua.tree.model import Model
from test_io import leaf, model_of

OLD, NEW = model_of(leaf(), classes=np.array([1, 2])), model_of(leaf(n_stats=3))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.obliqua"
    write_model(OLD, path)
    return path


def assert_untouched(path: Path) -> None:
    assert read_model(path)[0] == OLD
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("step", ["write", "fsync", "replace", "open", "chmod"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failure_at_any_step(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, failure: BaseException
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise failure

    if step == "write":

        class Full(io.BytesIO):
            write = fail

        monkeypatch.setattr(os, "fdopen", lambda descriptor, _: os.close(descriptor) or Full())
    else:
        monkeypatch.setattr(os, step, fail)
    expected = ModelFileIOError if isinstance(failure, OSError) else KeyboardInterrupt
    if step == "chmod" and expected is ModelFileIOError:  # permissions are kept if possible
        write_model(NEW, path)
        assert read_model(path)[0] == NEW
        return
    with pytest.raises(expected) as caught:
        write_model(NEW, path)
    monkeypatch.undo()
    assert_untouched(path)
    if expected is ModelFileIOError:
        assert repr(str(path)) in str(caught.value)
        assert "no room" in str(caught.value)
        assert caught.value.errno == errno.ENOSPC


def check(error: BaseException, path: Path, code: int) -> None:
    assert isinstance(error, ObliquaError)
    assert isinstance(error, OSError)
    assert not isinstance(error, ModelFileError)
    assert str(path) in str(error)
    assert error.errno == code


def test_places_where_nothing_can_be_written(tmp_path: Path) -> None:
    nowhere = tmp_path / "no" / "where"
    with pytest.raises(ModelFileIOError, match=r"folder .* does not exist") as caught:
        write_model(OLD, nowhere)
    check(caught.value, nowhere, errno.ENOENT)
    with pytest.raises(ModelFileIOError, match="it is a folder") as caught:
        write_model(OLD, tmp_path)
    check(caught.value, tmp_path, errno.EISDIR)
    with pytest.raises(ModelFileIOError, match="null"):
        write_model(OLD, "a\0b")


def test_places_where_nothing_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing, match="There is no model file") as caught:
        read_model(tmp_path / "m")
    check(caught.value, tmp_path / "m", errno.ENOENT)
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(ModelFileIOError, match="it is a folder") as caught:
        read_model(tmp_path)
    check(caught.value, tmp_path, errno.EISDIR)
    with pytest.raises(ModelFileIOError, match="null"):
        read_model("a\0b")


def test_missing_permission(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in, for tests may run as a user who may do everything."""

    def refuse(*_: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ModelFileIOError, match="permission is missing") as caught:
        write_model(NEW, path)
    monkeypatch.undo()
    check(caught.value, path, errno.EACCES)
    assert_untouched(path)


def test_a_file_that_is_read_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file could take its name, but it was protected on purpose."""
    asked = []

    def access(place: str, how: int) -> bool:
        asked.append((place, how))
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(ModelFileIOError, match=r"permission is missing .*read-only") as caught:
        write_model(NEW, path)
    monkeypatch.undo()
    assert asked == [(os.path.realpath(path), os.W_OK)]
    check(caught.value, path, errno.EACCES)
    assert_untouched(path)


def test_a_file_that_is_too_long(path: Path) -> None:
    with pytest.raises(ModelFileError, match="longer than"):
        read_bytes(path, b"PK", 100)


def test_a_closed_file() -> None:
    file = io.BytesIO()
    file.close()
    with pytest.raises(ModelFileIOError, match="closed file"):
        read_model(file)
    with pytest.raises(ModelFileIOError, match="closed file"):
        write_model(OLD, file)


# --- files that read and write a little at a time ---------------------------------------------


class Slow(io.RawIOBase):
    """Takes and gives at most so many bytes at a time, as a pipe without a buffer may."""

    def __init__(self, most: int | None, data: bytes = b"") -> None:
        self.most, self.inside = most, io.BytesIO(data)

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        return None if self.most is None else self.inside.write(bytes(data)[: self.most])

    def read(self, size: int = -1) -> bytes | None:
        return None if self.most is None else self.inside.read(min(size, self.most))


def test_files_that_take_a_little_at_a_time() -> None:
    file, whole = Slow(7), io.BytesIO()
    write_model(NEW, file)
    write_model(NEW, whole)
    assert file.inside.getvalue() == whole.getvalue()


@pytest.mark.parametrize("most", [0, None])
def test_files_that_take_no_more(most: int | None) -> None:
    with pytest.raises(ModelFileIOError, match=r"Cannot write .* after 0 of \d+ bytes"):
        write_model(NEW, Slow(most))


def test_files_that_claim_more_than_they_got() -> None:
    class Boasting(io.BytesIO):
        def write(self, data: Any) -> int:
            return len(data) + 1

    with pytest.raises(ModelFileIOError, match="it took no more"):
        write_model(NEW, Boasting())


@pytest.mark.parametrize("most", [1, 3, 50])
def test_files_that_give_a_little_at_a_time(path: Path, most: int) -> None:
    assert read_model(Slow(most, path.read_bytes()))[0] == OLD
    with pytest.raises(ModelFileError, match="starts with b'some text'"):
        read_model(Slow(most, b"some text"))


def test_files_that_have_nothing_yet() -> None:
    with pytest.raises(ModelFileIOError, match="no bytes at the moment"):
        read_model(Slow(None))


def test_text_files(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04\xff\xff" + bytes(100))  # no UTF-8
    with (
        pytest.raises(TypeError, match=r"binary mode: use open\(path, 'rb'\)"),
        path.open(encoding="utf-8") as file,
    ):
        read_model(file)


def test_errors_survive_a_journey(path: Path) -> None:
    """Between processes, as joblib sends them."""
    with pytest.raises(ModelFileMissing) as caught:
        read_model(path.parent / "none")
    sent = pickle.loads(pickle.dumps(caught.value))
    assert type(sent) is ModelFileMissing
    assert str(sent) == str(caught.value)
    assert sent.errno == errno.ENOENT


def test_the_models_differ() -> None:
    assert isinstance(OLD, Model)
    assert OLD != NEW
