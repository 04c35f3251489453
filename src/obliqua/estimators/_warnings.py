"""Warnings that point to the line that calls fit."""

import sys
import warnings
from types import FrameType

_INSIDE = ("obliqua", "sklearn", "joblib", "contextlib")


def _package(frame: FrameType) -> str:
    """Return the name of the package whose code runs in a frame."""
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def warn(message: str | Warning, kind: type[Warning] = UserWarning) -> None:
    """Warn of something, at the line outside the library that it comes from."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame) in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)
