"""The picture of a loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

from obliqua import CartClassifier, plot_loss


class _Fitted:
    def __init__(self, curve: Any) -> None:
        self.loss_curve_ = curve


@pytest.mark.parametrize("wrap", [np.asarray, list, _Fitted])
def test_the_line_is_the_curve(wrap: Any) -> None:
    curve = [0.5, 0.25, 0.125, 0.3]
    ax = plot_loss(wrap(curve))
    (line,) = (line for line in ax.lines if line.get_gid() == "loss")
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 4])
    np.testing.assert_array_equal(line.get_ydata(), curve)
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("curve", "error", "message"),
    [
        ([], ValueError, "nothing was refined"),
        ([1.0, np.nan], ValueError, "finite numbers"),
        ([[1.0], [2.0]], ValueError, "one per pass"),
        ("steep", TypeError, "loss_curve_"),
        (CartClassifier(), TypeError, "RefinedTreeClassifier"),
    ],
)
def test_what_is_no_curve_is_refused(curve: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        plot_loss(curve)
    with pytest.raises(TypeError, match="ax must be"):
        plot_loss([1.0], ax="here")
