"""The report's page: how large it is, and how long a browser takes until the tree is seen.

python -m benchmarks.reports [--quick] [--pictures FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import train_test_split

from obliqua import HHCartClassifier, ObliqueForestClassifier, ObliqueTreeRegressor, report

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def cases(n_rows: int) -> Iterator[tuple[str, Any, np.ndarray, np.ndarray]]:
    """Fitted models of several sizes with their rows."""
    X, y = make_classification(
        n_rows, 20, n_informative=12, n_classes=6, n_clusters_per_class=2, random_state=0
    )
    for n_leaves in (3, 16, 64, 200):
        model = HHCartClassifier(pruning=None, max_leaf_nodes=n_leaves).fit(X, y)
        yield f"{model.get_n_leaves()} leaves", model, X, y
    forest = ObliqueForestClassifier(10, max_depth=5, random_state=0).fit(X, y)
    yield "forest of 10, depth 5", forest, X, y
    X, y = make_regression(n_rows, 12, n_informative=8, noise=20.0, random_state=0)
    tree = ObliqueTreeRegressor(leaf_model="linear", max_leaf_nodes=16, pruning=None).fit(X, y)
    yield f"numbers, {tree.get_n_leaves()} linear leaves", tree, X, y


def seen_after(browser: Any, path: Path, picture: Path | None) -> float:
    """Open a page, and return the seconds until cards of the tree are drawn."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    start = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector(".card")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
    taken = time.perf_counter() - start
    if picture is not None:
        page.screenshot(path=picture)
    page.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows, one round")
    parser.add_argument("--pictures", type=Path, help="keep screenshots in this folder")
    words = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no chromium here; install it to see how fast pages are.")
        return
    from playwright.sync_api import sync_playwright

    n_rows, rounds = (2_000, 1) if words.quick else (100_000, 5)
    print(f"{n_rows:,} rows; seconds until the tree is seen: least of {rounds}")
    print(f"{'model':<28}{'made, s':>9}{'kB':>7}{'seen, s':>9}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        for number, (name, model, X, y) in enumerate(cases(n_rows)):
            rows, others, labels, other_labels = train_test_split(X, y, random_state=0)
            start = time.perf_counter()
            page = report(model, rows, labels, X_test=others, y_test=other_labels)
            made = time.perf_counter() - start
            path = Path(folder) / f"{number}.html"
            page.save(path)
            kept = words.pictures / f"{number}.png" if words.pictures else None
            seen = min(seen_after(browser, path, kept) for _ in range(rounds))
            print(f"{name:<28}{made:>9.2f}{len(page.text) / 1000:>7.0f}{seen:>9.2f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
