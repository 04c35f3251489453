from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _no_window_and_no_figure_left() -> Iterator[None]:
    plt.switch_backend("agg")
    with mpl.rc_context(mpl.rcParamsDefault):
        yield
    plt.close("all")
