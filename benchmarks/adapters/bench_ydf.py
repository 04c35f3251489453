"""ydf (Yggdrasil Decision Forests): its CART learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Adapter, Contender, Setting
from benchmarks.problems import Features, Labels


class _Model:
    """What is asked of a model of ydf."""

    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        # predict_class would give strings; the probabilities are what the model computes.
        probability = model.predict({"x": X}, num_threads=n_threads)
        if probability.ndim == 1:
            best = (probability > 0.5).astype(np.int64)
        else:
            best = probability.argmax(axis=1)
        labels: npt.NDArray[np.int64] = np.asarray(model.label_classes(), dtype=np.int64)[best]
        return labels

    def leaves(self, model: Any) -> int:
        return (int(model.num_nodes()) + 1) // 2


class Ydf(_Model, Adapter):
    """CartLearner without its pruning set, its limit of depth and its smallest leaf.

    Its criterion is the information gain (it offers no gini), and its values are float32.
    `num_threads` is passed on; one tree did not become faster by it when this was written.
    """

    name = "ydf CART"
    library = "ydf"
    module = "ydf"
    threads = (1, 2)

    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        import ydf

        learner = ydf.CartLearner(
            label="y",
            validation_ratio=0.0,
            min_examples=1,
            max_depth=-1,
            num_threads=n_threads,
        )
        return learner.train({"x": X, "y": y}, verbose=0)

    def depth(self, model: Any) -> int:
        deepest = 0
        waiting = [(model.get_tree(0).root, 0)]
        while waiting:
            node, depth = waiting.pop()
            deepest = max(deepest, depth)
            if not node.is_leaf:
                waiting += [(node.neg_child, depth + 1), (node.pos_child, depth + 1)]
        return deepest


ADAPTERS = (Ydf(),)


class BestFirst(_Model, Contender):
    """CartLearner grown best-first, which is what limits its leaves; it calls them nodes."""

    library = "ydf"
    module = "ydf"

    def __init__(self, name: str, settings: tuple[Setting, ...], **parameters: Any) -> None:
        self.name = name
        self.settings = settings
        self.parameters = parameters

    def grow(self, X: Features, y: Labels, n_leaves: int, seed: int, **setting: Any) -> Any:
        import ydf

        learner = ydf.CartLearner(
            label="y",
            growing_strategy="BEST_FIRST_GLOBAL",
            max_num_nodes=n_leaves,
            num_threads=1,
            random_seed=seed,
            **{**self.parameters, **setting},
        )
        return learner.train({"x": X, "y": y}, verbose=0)


# By default a tenth of the rows is held out for pruning, and trees of few leaves become one leaf.
_SIZE = {"validation_ratio": 0.0}
_PRUNED = {"validation_ratio": 0.1}
CONTENDERS = (
    BestFirst("ydf best-first", ({}, {"min_examples": 1}, _PRUNED), **_SIZE),
    BestFirst(
        "ydf sparse oblique",
        ({}, {"sparse_oblique_num_projections_exponent": 1.0}, _PRUNED),
        split_axis="SPARSE_OBLIQUE",
        **_SIZE,
    ),
    BestFirst(
        "ydf MHLD oblique",
        ({}, {"min_examples": 1}, _PRUNED),
        split_axis="MHLD_OBLIQUE",
        **_SIZE,
    ),
)
