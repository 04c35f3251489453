from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test alone, which does not exist yet."""
    folder = tmp_path_factory.mktemp("home") / "cache"
    monkeypatch.setenv("OBLIQUA_CACHE", str(folder))
    return folder


@pytest.fixture
def way_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """All that this machine has for a network; whoever tries it is refused until it listens."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        for name in ("https_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, "http://{}:{}".format(*door.getsockname()))
        monkeypatch.setattr(urllib.request, "_opener", None)  # it remembers the way of before
        monkeypatch.delenv("OBLIQUA_DATA", raising=False)
        yield door
