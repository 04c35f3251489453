"""Data for the tests of the classifiers that are made of spectra."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimators.registry import blobs

_RNG = np.random.default_rng(0)
BINARY = _RNG.integers(0, 2, (90, 6)).astype(float)
ANSWER = (BINARY[:, 0] + BINARY[:, 1] * 2 + _RNG.normal(size=90) > 1.5).astype(int)
X3, Y3 = blobs(120, 4, 3)
PROBES = np.random.default_rng(1).normal(scale=2.5, size=(500, 4))


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """A frame with categories and gaps, and labels."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "sky": rng.choice(["sun", "rain", "fog"], 150),
            "wind": pd.Categorical(rng.choice(["weak", "strong"], 150)),
            "degrees": rng.normal(20, 5, 150).round(1),
        }
    )
    y = np.where((frame["sky"] == "sun") & (frame["degrees"] > 18), "out", "in")
    frame.loc[::11, "degrees"] = np.nan
    frame.loc[::13, "sky"] = None
    return frame, y
