"""Growing: proposals of a method are scored, the best split is taken, and nodes become a Tree."""

from obliqua.engine.grow_from import AtOnce, grow_from
from obliqua.engine.moments import ClassSums, FixedPoint, class_sums
from obliqua.engine.parts import OnePass, RowsInMemory, RowsInParts
from obliqua.engine.passes import Zoom
from obliqua.engine.proposals import Directions, NodeView, Proposals
from obliqua.engine.rules import Rules
from obliqua.engine.soft_labels import additive_trees, soft_problem

__all__ = [
    "AtOnce",
    "ClassSums",
    "Directions",
    "FixedPoint",
    "NodeView",
    "OnePass",
    "Proposals",
    "RowsInMemory",
    "RowsInParts",
    "Rules",
    "Zoom",
    "additive_trees",
    "class_sums",
    "grow_from",
    "soft_problem",
]
