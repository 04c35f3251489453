"""Facts about trees: what splits are worth, how sure they are, and where rows lie."""

from obliqua.explain.importance import importances

__all__ = ["importances"]
