"""What `make demo` shows: two kinds of trees on three data sets that come with scikit-learn."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold

from obliqua import CartClassifier, ObliqueTreeClassifier, Tree

DATA = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
MODELS = {
    "CART": CartClassifier(min_samples_leaf=2),
    "oblique": ObliqueTreeClassifier(min_samples_leaf=2),
}


def measure(model: CartClassifier | ObliqueTreeClassifier, X: np.ndarray, y: np.ndarray) -> str:
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


def question(tree: Tree, node: int, names: list[str]) -> str:
    """What a node asks, said with at most three of its columns."""
    normal = tree.coefficients(node)
    used = [k for k in np.argsort(-np.abs(normal), kind="stable") if normal[k] != 0]
    if len(used) == 1 and normal[used[0]] == 1:
        return f"{names[used[0]]} <= {tree.node_threshold[node]:.4g}"
    terms = [f"{normal[k]:+.3g} {names[k]}" for k in used[:3]]
    if len(used) > 3:
        terms.append(f"... ({len(used) - 3} more)")
    return f"{' '.join(terms)} <= {tree.node_threshold[node]:.4g}"


def show(tree: Tree, names: list[str], classes: list[str], depth: int = 2) -> None:
    """Print the top of a tree."""

    def line(node: int, prefix: str, answer: str, level: int) -> None:
        rows = int(tree.n_samples[node])
        if tree.is_leaf[node]:
            label = classes[int(tree.leaf_label[node])]
            print(f"{prefix}{answer}{label} ({rows} rows)")
            return
        print(f"{prefix}{answer}{question(tree, node, names)}  ({rows} rows)")
        if level == depth:
            print(f"{prefix}    ...")
            return
        line(int(tree.children_left[node]), prefix + "    ", "yes: ", level + 1)
        line(int(tree.children_right[node]), prefix + "    ", "no:  ", level + 1)

    line(0, "  ", "", 0)


def main() -> None:
    print("Means over ten folds: accuracy on held-out rows, size, and time of a fit.\n")
    print(f"{'data':15}{'tree':9}{'accuracy':>9}{'leaves':>9}{'depth':>8}{'ms':>10}")
    for data, load in DATA.items():
        X, y = load(return_X_y=True)
        for name, model in MODELS.items():
            print(f"{data:15}{name:9}{measure(model, X, y)}")
    iris = load_iris()
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    for name, model in MODELS.items():
        print(f"\nThe top of the {name} tree for iris, grown on all rows:")
        show(model.fit(iris.data, iris.target).tree_, names, list(iris.target_names))
    print("\nThese trees are not pruned. Small sets, so differences of a point mean little.")


if __name__ == "__main__":
    main()
