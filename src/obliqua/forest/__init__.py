"""Many trees, each from a sample of the rows: drawn, grown side by side, judged out of bag."""

from obliqua.forest.growing import ForestRules, grow_forest
from obliqua.forest.leaf_rows import LeafRows, leaf_rows
from obliqua.forest.out_of_bag import out_of_bag_sums
from obliqua.forest.permuting import permutation_losses
from obliqua.forest.rows import ForestRows, forest_rows
from obliqua.forest.samples import Sampling

__all__ = [
    "ForestRows",
    "ForestRules",
    "LeafRows",
    "Sampling",
    "forest_rows",
    "grow_forest",
    "leaf_rows",
    "out_of_bag_sums",
    "permutation_losses",
]
