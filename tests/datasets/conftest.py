"""No test of a loader reads or fills the cache of whoever runs it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test alone, which does not exist yet."""
    folder = tmp_path_factory.mktemp("home") / "cache"
    monkeypatch.setenv("OBLIQUA_CACHE", str(folder))
    return folder
