"""The kept mutations (see mutate.py) still apply to the sources as they are."""

from __future__ import annotations

import pytest

from mutate import COMPILED, TESTS, mutated, place_of, read_mutations, read_sources

MUTATIONS = read_mutations()


@pytest.fixture(scope="module")
def sources():
    return read_sources()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.id)
def test_it_applies(mutation, sources):
    assert mutated(mutation, sources) != sources[place_of(mutation, sources)]
    assert mutation.breaks.endswith(".") and mutation.likely


def test_the_likely_tests_are_there():
    gone = []
    for likely in {test for mutation in MUTATIONS for test in mutation.likely}:
        file, _, name = likely.partition("::")
        path = TESTS / file
        if not path.exists() or f"def {name.partition('[')[0]}" not in path.read_text("utf-8"):
            gone.append(likely)
    assert not gone


def test_there_are_enough_of_them(sources):
    assert len({mutation.id for mutation in MUTATIONS}) == len(MUTATIONS) >= 48
    places = [place_of(mutation, sources) for mutation in MUTATIONS]
    assert sum(place.suffix in COMPILED for place in places) >= 10
