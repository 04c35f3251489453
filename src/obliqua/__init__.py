"""Oblique decision trees: exact, fast, reproducible, with scikit-learn's interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from obliqua._foreign import tree_from_sklearn
    from obliqua._values import NotSaved
    from obliqua.errors import (
        DatasetDamaged,
        DatasetMissing,
        LeakWarning,
        MissingDependency,
        ModelFileError,
        ModelFileIOError,
        ModelFileMissing,
        NodeViewClosed,
        ObliquaError,
        ProposerError,
        SpectrumTooLarge,
        TreeError,
    )
    from obliqua.estimators._fidelity import fidelity
    from obliqua.estimators._refining import refined
    from obliqua.estimators.aggregated import AggregatedTreeClassifier
    from obliqua.estimators.c45 import C45Classifier
    from obliqua.estimators.cart import CartClassifier
    from obliqua.estimators.cart_lc import CartLCClassifier
    from obliqua.estimators.distilled import DistilledClassifier, distil
    from obliqua.estimators.eigen_tree import EigenTreeClassifier
    from obliqua.estimators.fdt import FisherTreeClassifier
    from obliqua.estimators.files import load, save
    from obliqua.estimators.hhcart import HHCartClassifier
    from obliqua.estimators.lmdt import LMDTClassifier
    from obliqua.estimators.oblique import ObliqueTreeClassifier
    from obliqua.estimators.oc1 import OC1Classifier
    from obliqua.estimators.orthogonal import OrthogonalTreesClassifier
    from obliqua.estimators.quest import QuestClassifier
    from obliqua.estimators.refined import RefinedTreeClassifier
    from obliqua.estimators.repeated import RepeatedTreesClassifier
    from obliqua.estimators.sadt import SADTClassifier
    from obliqua.export.dot import export_graphviz
    from obliqua.export.rules import export_rules
    from obliqua.export.text import export_text
    from obliqua.plot.boundary import plot_boundary
    from obliqua.plot.forest import plot_eigenvalues, plot_energy, plot_overlaps
    from obliqua.plot.loss import plot_loss
    from obliqua.plot.path import plot_path
    from obliqua.plot.projection import plot_projection
    from obliqua.plot.ranks import plot_critical_difference
    from obliqua.plot.subclasses import plot_subclasses
    from obliqua.plot.tree import plot_tree
    from obliqua.proposals import Directions
    from obliqua.ranks import rank_methods
    from obliqua.select.advise import advise
    from obliqua.select.compare import compare
    from obliqua.spread import measure_spread
    from obliqua.tree import Tree, TreeBuilder, collapse, fold

    __version__: str

__all__ = [
    "AggregatedTreeClassifier",
    "C45Classifier",
    "CartClassifier",
    "CartLCClassifier",
    "DatasetDamaged",
    "DatasetMissing",
    "Directions",
    "DistilledClassifier",
    "EigenTreeClassifier",
    "FisherTreeClassifier",
    "HHCartClassifier",
    "LMDTClassifier",
    "LeakWarning",
    "MissingDependency",
    "ModelFileError",
    "ModelFileIOError",
    "ModelFileMissing",
    "NodeViewClosed",
    "NotSaved",
    "OC1Classifier",
    "ObliquaError",
    "ObliqueTreeClassifier",
    "OrthogonalTreesClassifier",
    "ProposerError",
    "QuestClassifier",
    "RefinedTreeClassifier",
    "RepeatedTreesClassifier",
    "SADTClassifier",
    "SpectrumTooLarge",
    "Tree",
    "TreeBuilder",
    "TreeError",
    "__version__",
    "advise",
    "collapse",
    "compare",
    "distil",
    "export_graphviz",
    "export_rules",
    "export_text",
    "fidelity",
    "fold",
    "load",
    "measure_spread",
    "plot_boundary",
    "plot_critical_difference",
    "plot_eigenvalues",
    "plot_energy",
    "plot_loss",
    "plot_overlaps",
    "plot_path",
    "plot_projection",
    "plot_subclasses",
    "plot_tree",
    "rank_methods",
    "refined",
    "save",
    "tree_from_sklearn",
]

# Each name is fetched from its module when it is first asked for: a program that only
# predicts never loads what grows trees.
_HOMES = {
    "AggregatedTreeClassifier": "obliqua.estimators.aggregated",
    "C45Classifier": "obliqua.estimators.c45",
    "CartClassifier": "obliqua.estimators.cart",
    "CartLCClassifier": "obliqua.estimators.cart_lc",
    "DatasetDamaged": "obliqua.errors",
    "DatasetMissing": "obliqua.errors",
    "Directions": "obliqua.proposals",
    "DistilledClassifier": "obliqua.estimators.distilled",
    "EigenTreeClassifier": "obliqua.estimators.eigen_tree",
    "FisherTreeClassifier": "obliqua.estimators.fdt",
    "HHCartClassifier": "obliqua.estimators.hhcart",
    "LMDTClassifier": "obliqua.estimators.lmdt",
    "LeakWarning": "obliqua.errors",
    "MissingDependency": "obliqua.errors",
    "ModelFileError": "obliqua.errors",
    "ModelFileIOError": "obliqua.errors",
    "ModelFileMissing": "obliqua.errors",
    "NodeViewClosed": "obliqua.errors",
    "NotSaved": "obliqua._values",
    "ObliquaError": "obliqua.errors",
    "OC1Classifier": "obliqua.estimators.oc1",
    "ObliqueTreeClassifier": "obliqua.estimators.oblique",
    "OrthogonalTreesClassifier": "obliqua.estimators.orthogonal",
    "ProposerError": "obliqua.errors",
    "QuestClassifier": "obliqua.estimators.quest",
    "RefinedTreeClassifier": "obliqua.estimators.refined",
    "RepeatedTreesClassifier": "obliqua.estimators.repeated",
    "SADTClassifier": "obliqua.estimators.sadt",
    "SpectrumTooLarge": "obliqua.errors",
    "Tree": "obliqua.tree",
    "TreeBuilder": "obliqua.tree",
    "TreeError": "obliqua.errors",
    "advise": "obliqua.select.advise",
    "collapse": "obliqua.tree",
    "compare": "obliqua.select.compare",
    "distil": "obliqua.estimators.distilled",
    "export_graphviz": "obliqua.export.dot",
    "export_rules": "obliqua.export.rules",
    "export_text": "obliqua.export.text",
    "fidelity": "obliqua.estimators._fidelity",
    "fold": "obliqua.tree",
    "load": "obliqua.estimators.files",
    "measure_spread": "obliqua.spread",
    "plot_boundary": "obliqua.plot.boundary",
    "plot_critical_difference": "obliqua.plot.ranks",
    "plot_eigenvalues": "obliqua.plot.forest",
    "plot_energy": "obliqua.plot.forest",
    "plot_loss": "obliqua.plot.loss",
    "plot_overlaps": "obliqua.plot.forest",
    "plot_path": "obliqua.plot.path",
    "plot_projection": "obliqua.plot.projection",
    "plot_subclasses": "obliqua.plot.subclasses",
    "plot_tree": "obliqua.plot.tree",
    "rank_methods": "obliqua.ranks",
    "refined": "obliqua.estimators._refining",
    "save": "obliqua.estimators.files",
    "tree_from_sklearn": "obliqua._foreign",
}


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("obliqua")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'obliqua' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
