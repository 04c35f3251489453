"""Facts about trees: what splits are worth, how sure they are, and where rows lie."""

from obliqua.explain.importance import importances
from obliqua.explain.margins import Margins, margins

__all__ = ["Margins", "importances", "margins"]
