"""One file per library. A library is imported only when it is measured."""

from __future__ import annotations

from benchmarks.adapters import (
    bench_obliqua,
    bench_obliquetree,
    bench_sklearn,
    bench_stree,
    bench_ydf,
    bench_zeros,
)
from benchmarks.adapters.base import Adapter

REFERENCE = "scikit-learn"
"""The adapter that ratios are taken against."""

ALL: tuple[Adapter, ...] = (
    *bench_obliqua.ADAPTERS,
    *bench_sklearn.ADAPTERS,
    *bench_ydf.ADAPTERS,
    *bench_obliquetree.ADAPTERS,
    *bench_stree.ADAPTERS,
    *bench_zeros.ADAPTERS,
)


def choose(words: list[str] | None) -> tuple[Adapter, ...]:
    """The adapters whose name begins with one of the words; all of them without words."""
    if not words:
        return ALL
    for word in words:
        if not any(adapter.name.startswith(word) for adapter in ALL):
            names = ", ".join(adapter.name for adapter in ALL)
            raise KeyError(f"no adapter's name begins with {word!r}; there are {names}")
    return tuple(a for a in ALL if any(a.name.startswith(word) for word in words))
