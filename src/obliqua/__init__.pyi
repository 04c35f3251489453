"""The public names and where they live: one table, for type checkers and for `__init__.py`.

Each line is ``from module import name as name``, sorted by module.
"""

from obliqua.engine.proposals import Directions as Directions
from obliqua.errors import CastWarning as CastWarning
from obliqua.errors import CostWarning as CostWarning
from obliqua.errors import DatasetDamaged as DatasetDamaged
from obliqua.errors import DatasetMissing as DatasetMissing
from obliqua.errors import LeakWarning as LeakWarning
from obliqua.errors import MissingDependency as MissingDependency
from obliqua.errors import ModelFileError as ModelFileError
from obliqua.errors import ModelFileIOError as ModelFileIOError
from obliqua.errors import ModelFileMissing as ModelFileMissing
from obliqua.errors import NodeViewClosed as NodeViewClosed
from obliqua.errors import NothingLearntWarning as NothingLearntWarning
from obliqua.errors import ObliquaError as ObliquaError
from obliqua.errors import PartlyCompared as PartlyCompared
from obliqua.errors import ProposerError as ProposerError
from obliqua.errors import SpectrumTooLarge as SpectrumTooLarge
from obliqua.errors import TreeError as TreeError
from obliqua.estimators._editing import apply_edits as apply_edits
from obliqua.estimators._fidelity import fidelity as fidelity
from obliqua.estimators._refining import refined as refined
from obliqua.estimators.aggregated import AggregatedTreeClassifier as AggregatedTreeClassifier
from obliqua.estimators.c45 import C45Classifier as C45Classifier
from obliqua.estimators.cart import CartClassifier as CartClassifier
from obliqua.estimators.cart import CartRegressor as CartRegressor
from obliqua.estimators.cart_lc import CartLCClassifier as CartLCClassifier
from obliqua.estimators.distilled import DistilledClassifier as DistilledClassifier
from obliqua.estimators.distilled import distil as distil
from obliqua.estimators.distilled_regressor import DistilledRegressor as DistilledRegressor
from obliqua.estimators.eigen_tree import EigenTreeClassifier as EigenTreeClassifier
from obliqua.estimators.fdt import FisherTreeClassifier as FisherTreeClassifier
from obliqua.estimators.files import export_json as export_json
from obliqua.estimators.files import from_json as from_json
from obliqua.estimators.files import load as load
from obliqua.estimators.files import save as save
from obliqua.estimators.forest import ObliqueForestClassifier as ObliqueForestClassifier
from obliqua.estimators.forest import ObliqueForestRegressor as ObliqueForestRegressor
from obliqua.estimators.hhcart import HHCartClassifier as HHCartClassifier
from obliqua.estimators.lmdt import LMDTClassifier as LMDTClassifier
from obliqua.estimators.oblique import ObliqueTreeClassifier as ObliqueTreeClassifier
from obliqua.estimators.oblique import ObliqueTreeRegressor as ObliqueTreeRegressor
from obliqua.estimators.oc1 import OC1Classifier as OC1Classifier
from obliqua.estimators.orthogonal import OrthogonalTreesClassifier as OrthogonalTreesClassifier
from obliqua.estimators.quest import QuestClassifier as QuestClassifier
from obliqua.estimators.refined import RefinedTreeClassifier as RefinedTreeClassifier
from obliqua.estimators.refined_regressor import RefinedTreeRegressor as RefinedTreeRegressor
from obliqua.estimators.repeated import RepeatedTreesClassifier as RepeatedTreesClassifier
from obliqua.estimators.sadt import SADTClassifier as SADTClassifier
from obliqua.export.c import export_c as export_c
from obliqua.export.certificate import certify as certify
from obliqua.export.dot import export_graphviz as export_graphviz
from obliqua.export.javascript import export_javascript as export_javascript
from obliqua.export.onnx import export_onnx as export_onnx
from obliqua.export.onnx import run_onnx_tests as run_onnx_tests
from obliqua.export.rules import export_rules as export_rules
from obliqua.export.sql import export_sql as export_sql
from obliqua.export.text import export_text as export_text
from obliqua.export.to_sklearn import to_sklearn as to_sklearn
from obliqua.io.values import NotSaved as NotSaved
from obliqua.pages.reports import report as report
from obliqua.plot.boundary import plot_boundary as plot_boundary
from obliqua.plot.forest import plot_eigenvalues as plot_eigenvalues
from obliqua.plot.forest import plot_energy as plot_energy
from obliqua.plot.forest import plot_overlaps as plot_overlaps
from obliqua.plot.loss import plot_loss as plot_loss
from obliqua.plot.path import plot_path as plot_path
from obliqua.plot.projection import plot_projection as plot_projection
from obliqua.plot.ranks import plot_critical_difference as plot_critical_difference
from obliqua.plot.subclasses import plot_subclasses as plot_subclasses
from obliqua.plot.tree import plot_tree as plot_tree
from obliqua.select.advise import advise as advise
from obliqua.select.compare import compare as compare
from obliqua.stats.ranks import rank_methods as rank_methods
from obliqua.tree.builder import TreeBuilder as TreeBuilder
from obliqua.tree.fold import fold as fold
from obliqua.tree.from_sklearn import tree_from_sklearn as tree_from_sklearn
from obliqua.tree.spread import measure_spread as measure_spread
from obliqua.tree.surgery import collapse as collapse
from obliqua.tree.tree import Tree as Tree

__all__: list[str]
__version__: str
