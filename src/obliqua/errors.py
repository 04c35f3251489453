"""The exceptions that obliqua raises where a built-in one alone would say too little.

Each one is also the built-in exception that a caller would expect, so code that knows nothing
of obliqua (``except ValueError``) still works.
"""

__all__ = [
    "MissingDependency",
    "NodeViewClosed",
    "ObliquaError",
    "ProposerError",
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


class MissingDependency(ObliquaError, ImportError):
    """A feature needs a package that is not installed."""
