"""The exceptions and warnings of obliqua, where a built-in one alone would say too little.

Each exception is also the built-in one that a caller would expect, so code that knows nothing
of obliqua (``except ValueError``) still works.
"""

from math import nan
from typing import Any

__all__ = [
    "CastWarning",
    "CostWarning",
    "DatasetDamaged",
    "DatasetMissing",
    "LeakWarning",
    "MissingDependency",
    "ModelFileError",
    "ModelFileIOError",
    "ModelFileMissing",
    "NodeViewClosed",
    "NothingLearntWarning",
    "ObliquaError",
    "PartlyCompared",
    "ProposerError",
    "SpectrumTooLarge",
    "TreeError",
]


class ObliquaError(Exception):
    """Base of every exception that is obliqua's own."""


class TreeError(ObliquaError, ValueError):
    """A tree is malformed, or is asked for something that its kind of node cannot do."""


class ProposerError(ObliquaError, ValueError):
    """A proposer gave something that cannot be read as directions."""


class NodeViewClosed(ObliquaError, RuntimeError):
    """A view of a node was used after the call that it was made for had ended."""


class PartlyCompared(KeyboardInterrupt):
    """A comparison was stopped by Ctrl-C.

    Parameters
    ----------
    result : CompareResult
        What the folds tell that were finished, at least two.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("The comparison was stopped.")
        self.result = result


class MissingDependency(ObliquaError, ImportError):
    """A feature needs a package that is not installed."""


class DatasetMissing(ObliquaError, OSError):
    """A data set is in no place where obliqua looks for it."""


class DatasetDamaged(ObliquaError, ValueError):
    """A data set was found, but it is not the one that its name promises."""


class ModelFileError(ObliquaError, ValueError):
    """A file is no model file, or a damaged one, or one that this version cannot read."""


class ModelFileIOError(ObliquaError, OSError):
    """A model file cannot be opened, read or written: the system refused."""

    def __reduce__(self) -> tuple[object, ...]:
        # OSError itself keeps the number only if it is among the arguments, which would change
        # the message.
        return type(self), self.args, {**self.__dict__, "errno": self.errno}


class ModelFileMissing(ModelFileIOError, FileNotFoundError):
    """There is no file where a model file was looked for."""


class SpectrumTooLarge(ObliquaError, ValueError):
    """A spectrum would have more coefficients than are allowed."""


class CastWarning(UserWarning):
    """Rows reach another leaf where numbers are rounded to 32 bits, as scikit-learn does it."""


class CostWarning(UserWarning):
    """Something will take long, or much memory. It is said before the work begins.

    Parameters
    ----------
    message : str
        What takes long, and what would do instead.
    seconds : float, default=nan
        About how long, if that is known.
    """

    def __init__(self, message: str, seconds: float = nan) -> None:
        super().__init__(message)
        self.seconds = seconds


class LeakWarning(UserWarning):
    """An estimate of accuracy is too high, because test rows had a say in what is tested."""


class NothingLearntWarning(UserWarning):
    """A tree has one leaf and gives the same answer for all rows, though they have several."""
