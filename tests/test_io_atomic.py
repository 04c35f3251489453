"""A model file is the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua import _atomic
from obliqua.errors import ModelFileError, ModelFileIOError, ModelFileMissing, ObliquaError
from obliqua.io import read_model, write_model
from obliqua.model import Model
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
        _atomic.read_bytes(path, b"PK", 100)


def test_a_closed_file() -> None:
    file = io.BytesIO()
    file.close()
    with pytest.raises(ModelFileIOError, match="closed file"):
        read_model(file)
    with pytest.raises(ModelFileIOError, match="closed file"):
        write_model(OLD, file)


def test_the_models_differ() -> None:
    assert isinstance(OLD, Model)
    assert OLD != NEW
