"""What `obliqua demo` shows, from Python and without any extra: methods compared, a tree read."""

from __future__ import annotations

from sklearn.datasets import load_wine

from obliqua import HHCartClassifier, compare, export_text


def main() -> None:
    wine = load_wine()
    print("Wine: methods side by side\n")
    print(compare(wine.data, wine.target).markdown())
    tree = HHCartClassifier(extra_directions="fisher", max_features_per_split=3, random_state=0)
    tree.fit(wine.data, wine.target)
    print("HHCART with Fisher directions, at most three features in a split:\n")
    print(
        export_text(tree, feature_names=wine.feature_names, class_names=wine.target_names.tolist())
    )


if __name__ == "__main__":
    main()
