"""Trees as plain arrays: how they are made by hand, walked, folded, cut, joined and kept."""

from obliqua.tree.builder import TreeBuilder
from obliqua.tree.from_sklearn import tree_from_sklearn
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.model import Model
from obliqua.tree.spread import measure_spread
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree

__all__ = [
    "MissingSide",
    "Model",
    "NodeKind",
    "Tree",
    "TreeBuilder",
    "collapse",
    "measure_spread",
    "tree_from_sklearn",
]
