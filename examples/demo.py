"""What `make demo` shows: trees of several kinds on data sets that come with scikit-learn."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold

from obliqua import CartClassifier, HHCartClassifier, Tree

DATA = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
MODELS = {
    "CART, not pruned": CartClassifier(pruning=None),
    "CART": CartClassifier(pruning="cv", random_state=0),
    "HHCART": HHCartClassifier(pruning="cv", random_state=0),
    "HHCART + Fisher": HHCartClassifier(extra_directions="fisher", pruning="cv", random_state=0),
    "3 features": HHCartClassifier(
        extra_directions="fisher", max_features_per_split=3, pruning="cv", random_state=0
    ),
}
SHOWN = ("CART", "HHCART + Fisher", "3 features")


def measure(model: CartClassifier | HHCartClassifier, X: np.ndarray, y: np.ndarray) -> str:
    """Ten-fold cross-validation, as a line of the table."""
    figures = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        started = time.perf_counter()
        model.fit(X[train], y[train])
        seconds = time.perf_counter() - started
        accuracy = model.score(X[test], y[test])
        figures.append((accuracy, model.get_n_leaves(), model.get_depth(), seconds))
    accuracy, leaves, depth, seconds = np.mean(figures, axis=0)
    return f"{100 * accuracy:7.1f} %{leaves:9.1f}{depth:8.1f}{1000 * seconds:10.2f}"


def question(tree: Tree, node: int, names: list[str], spread: np.ndarray) -> str:
    """What a node asks. Of many columns only the three that move rows most are named."""
    normal, threshold = tree.coefficients(node), tree.node_threshold[node]
    order = np.argsort(-np.abs(normal * spread), kind="stable")
    used = [k for k in order if normal[k] != 0]
    if len(used) == 1 and normal[used[0]] == 1:
        return f"{names[used[0]]} <= {threshold:.4g}"
    terms = [f"{normal[k]:+.3g} {names[k]}" for k in used[:3]]
    more = f" ... {len(used) - 3} more" if len(used) > 3 else ""
    return f"{' '.join(terms)}{more} <= {threshold:.4g}"


def show(tree: Tree, names: list[str], classes: list[str], spread: np.ndarray) -> None:
    """Print the top of a tree."""
    deepest = 2

    def line(node: int, prefix: str, answer: str, level: int) -> None:
        rows = int(tree.n_samples[node])
        if tree.is_leaf[node]:
            label = classes[int(tree.leaf_label[node])]
            print(f"{prefix}{answer}{label} ({rows} rows)")
            return
        print(f"{prefix}{answer}{question(tree, node, names, spread)} ({rows} rows)")
        if level == deepest:
            print(f"{prefix}    ...")
            return
        line(int(tree.children_left[node]), prefix + "    ", "yes: ", level + 1)
        line(int(tree.children_right[node]), prefix + "    ", "no:  ", level + 1)

    line(0, "  ", "", 0)


def main() -> None:
    print("Means over ten folds: accuracy on held-out rows, size, and time of a fit.\n")
    print(f"{'data':15}{'tree':18}{'accuracy':>9}{'leaves':>9}{'depth':>8}{'ms':>10}")
    for data, load in DATA.items():
        X, y = load(return_X_y=True)
        for name, model in MODELS.items():
            print(f"{data:15}{name:18}{measure(model, X, y)}")
    print("\nAn oblique question names first the columns that move rows most:")
    print("those with the largest |coefficient| x standard deviation.")
    wine = load_wine()
    for name in SHOWN:
        print(f"\nThe top of the tree for wine ({name}), grown on all rows:")
        tree = MODELS[name].fit(wine.data, wine.target).tree_
        show(tree, wine.feature_names, list(wine.target_names), wine.data.std(axis=0))
    print(
        "\n'3 features' is HHCART + Fisher with at most three features in a split. Pruning is by"
    )
    print("cross-validation, which grows eleven trees for one. On sets this small a difference of")
    print("a point means little.")


if __name__ == "__main__":
    main()
