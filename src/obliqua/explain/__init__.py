"""Facts about trees: what splits are worth, how sure they are, and where rows lie."""

from obliqua.explain.contributions import Contributions, contributions
from obliqua.explain.importance import importances
from obliqua.explain.margins import Margins, margins
from obliqua.explain.regions import Region, region, regions
from obliqua.explain.stability import SplitStability, split_stability
from obliqua.explain.subclasses import Subclasses, subclasses

__all__ = [
    "Contributions",
    "Margins",
    "Region",
    "SplitStability",
    "Subclasses",
    "contributions",
    "importances",
    "margins",
    "region",
    "regions",
    "split_stability",
    "subclasses",
]
