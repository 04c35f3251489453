"""One file per library. A library is imported only when it is measured."""

from __future__ import annotations

from typing import TypeVar

from benchmarks.adapters import (
    bench_endgame,
    bench_neural_trees,
    bench_obliqua,
    bench_obliquetree,
    bench_oc1,
    bench_sgtlearn,
    bench_sklearn,
    bench_stree,
    bench_treeple,
    bench_ydf,
    bench_zeros,
)
from benchmarks.adapters.base import Adapter, Contender, Library

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


#: Trees of a limited size, for `benchmarks.duel`.
CONTENDERS: tuple[Contender, ...] = (
    *bench_obliqua.CONTENDERS,
    *bench_sklearn.CONTENDERS,
    *bench_ydf.CONTENDERS,
    *bench_obliquetree.CONTENDERS,
    *bench_stree.CONTENDERS,
    *bench_sgtlearn.CONTENDERS,
    *bench_neural_trees.CONTENDERS,
    *bench_oc1.CONTENDERS,
    *bench_endgame.CONTENDERS,
    *bench_treeple.CONTENDERS,
)

Kind = TypeVar("Kind", bound=Library)


def choose(words: list[str] | None) -> tuple[Adapter, ...]:
    """The adapters whose name begins with one of the words; all of them without words."""
    return named(ALL, words)


def named(all_of_them: tuple[Kind, ...], words: list[str] | None) -> tuple[Kind, ...]:
    """Those whose name begins with one of the words; all of them without words."""
    if not words:
        return all_of_them
    for word in words:
        if not any(each.name.startswith(word) for each in all_of_them):
            names = ", ".join(each.name for each in all_of_them)
            raise KeyError(f"no adapter's name begins with {word!r}; there are {names}")
    return tuple(a for a in all_of_them if any(a.name.startswith(word) for word in words))
