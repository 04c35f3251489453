"""The hundred trees on Income, and what is said of them."""

from __future__ import annotations

import pytest

from reproduction.own.income import LOG, METHODS, PAGE, sizes, table
from reproduction.papers.hhcart import METHODS_7
from reproduction.store import Kept, Store
from reproduction.tests.kept import log_of


def test_the_page_says_what_the_log_says() -> None:
    advice = "write it again: python -m reproduction.page"
    assert PAGE.read_text("utf-8") == table(), advice


@pytest.mark.parametrize("method", METHODS)
def test_there_are_a_hundred_trees_of_each(method: str) -> None:
    log = Kept(LOG)
    assert len(sizes(log, method)) == 100
    (chosen,) = (one for one in METHODS_7 if one.name == method)
    store = Store(LOG, "hhcart-table-7", log.head["seed"], resume=True)
    store.expect_method(chosen.name, chosen.estimator, chosen.params, False)


@pytest.mark.parametrize("method", ["A", "A+squares", "A+units"])
def test_the_first_ten_are_those_of_the_table(method: str) -> None:
    ten = log_of("hhcart-table-7").cells("Income", method)
    hundred = Kept(LOG).cells("Income", method)
    for repeat, cell in ten.items():
        assert hundred[repeat]["leaves"] == cell["leaves"]
        assert hundred[repeat]["confusion"] == cell["confusion"]
