"""More trees than memory: an estimate after the first tree, and a clear error."""

from __future__ import annotations

import pytest

from forest_cases import FRAME, LABELS
from obliqua import ObliqueForestClassifier
from obliqua.forest import growing


def test_more_trees_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ObliqueForestClassifier(10**6, random_state=0)
    monkeypatch.setattr(growing, "_physical_memory", lambda: 2**30)
    with pytest.raises(
        MemoryError, match=r"to grow all takes about .* this machine has 1 GiB.*min_sam"
    ):
        model.fit(FRAME, LABELS)
    assert not hasattr(model, "model_")
    trees = model.set_params(n_estimators=1).fit(FRAME, LABELS).model_.trees
    monkeypatch.setattr(growing, "_physical_memory", lambda: int(1.5 * trees.nbytes))
    with pytest.raises(MemoryError, match=r"The first of 1 trees"):  # it stands there twice
        model.fit(FRAME, LABELS)
    monkeypatch.setattr(growing, "_physical_memory", lambda: None)
    assert len(model.set_params(n_estimators=2).fit(FRAME, LABELS)) == 2


def test_physical_memory_where_the_system_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(growing.os, "sysconf", numbers.__getitem__, raising=False)
    assert growing._physical_memory() == 4_096_000
    numbers["SC_PHYS_PAGES"] = -1
    assert growing._physical_memory() is None
    monkeypatch.delattr(growing.os, "sysconf")
    assert growing._physical_memory() is None
