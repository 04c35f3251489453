"""Linear machines in pictures: terms are left out whole, and numbers are never cut."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from obliqua import LMDTClassifier
from obliqua.plot import plot_path
from obliqua.plot._canvas import Font
from obliqua.plot._nodes import node_lines
from obliqua.tree.layout import NodeKind
from obliqua.words.subject import subject_of
from plot.pictures import assert_tidy, words

WIDE = load_wine(as_frame=True)


def wine(names: list[str] | None = None) -> LMDTClassifier:
    rows = WIDE.data if names is None else WIDE.data.set_axis(names, axis=1)
    model = LMDTClassifier(random_state=0, pruning=None, eliminate=False).fit(rows, WIDE.target)
    assert model.tree_.kind[0] == NodeKind.MACHINE
    return model


def numbers(text: str) -> list[float]:
    """The numbers of a score: coefficients with their signs, and what is added at the end."""
    found = re.findall(r"([+−]? ?)(\d[\d.]*(?:e[+-]?\d+)?)(?=·|$)", text)
    return [float(number) * (-1 if "−" in sign else 1) for sign, number in found]


@pytest.mark.parametrize("width", [1.8, 2.6, 6.0])
@pytest.mark.parametrize("long", [False, True])
def test_numbers_are_whole_and_terms_are_counted(width: float, long: bool) -> None:
    names = [f"{name} measured by somebody" for name in WIDE.data] if long else None
    model, font = wine(names), Font()
    tree = model.tree_
    lines = node_lines(subject_of(model), 0, font, width, 8.0, max_terms=4)
    assert lines[0] == "which score is largest?"
    assert all(font.width(line, 8.0) <= width for line in lines)
    scores = re.split(r" ?\d: ", " ".join(line.strip() for line in lines[1:]))[1:]
    assert len(scores) == 3
    for plane, score in enumerate(scores):
        coef = tree.coef[tree.coef_ptr[plane] : tree.coef_ptr[plane + 1]]
        *some, away = numbers(score)
        assert 1 <= len(some) <= 4
        assert f"+ ({len(coef) - len(some)} more)" in score
        assert away == pytest.approx(-tree.threshold[plane], rel=1e-2)
        for number in some:
            assert np.abs(coef - number).min() <= 1e-2 * abs(number)
    if width == 6.0 and not long:
        assert len(numbers(scores[0])) == 5


def test_the_branch_that_a_row_takes_is_named() -> None:
    digits = load_digits()
    model = LMDTClassifier(random_state=0, eliminate=False).fit(digits.data, digits.target)
    seven = digits.data[digits.target == 7][0]
    ax = plot_path(model, seven)
    lines = [text for text in words(ax).split("\n") if re.match(r"\d+: ", text)]
    assert [line.split(":")[0] for line in lines] == ["1", "2", "8"]
    assert "(7 more branches)" in words(ax)
    bold = [
        text.get_text()
        for text in ax.texts
        if text.get_weight() == "bold" and (text.get_gid() or "").endswith("question")
    ]
    assert bold[0].startswith("8: ")
    assert all(line.startswith("   ") for line in bold[1:])
    assert_tidy(ax)
