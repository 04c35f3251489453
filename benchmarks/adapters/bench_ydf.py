"""ydf (Yggdrasil Decision Forests): its CART learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Adapter
from benchmarks.problems import Features, Labels


class Ydf(Adapter):
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
