"""Growing: proposals of a method are scored, the best split is taken, and nodes become a Tree."""

from obliqua.engine.moments import ClassSums, FixedPoint, class_sums
from obliqua.engine.parts import Part, search_parts
from obliqua.engine.proposals import Directions, NodeView, Proposals
from obliqua.engine.rules import Rules
from obliqua.engine.soft_labels import additive_trees, soft_problem

__all__ = [
    "ClassSums",
    "Directions",
    "FixedPoint",
    "NodeView",
    "Part",
    "Proposals",
    "Rules",
    "additive_trees",
    "class_sums",
    "search_parts",
    "soft_problem",
]
