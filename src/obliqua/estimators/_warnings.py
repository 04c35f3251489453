"""Warnings that point to the line that calls fit."""

import sys
import warnings

_INSIDE = ("obliqua", "sklearn", "joblib", "contextlib")


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn of something, at the line outside the library that it comes from."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)
