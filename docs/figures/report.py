"""Take the picture of the page in the guide on reports; needs chromium and playwright.

``python docs/figures/report.py`` writes docs/figures/report.png.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from obliqua import HHCartClassifier, report

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Write the picture."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("report.png stays as it is: there is no chromium here to take it with")
        return
    from playwright.sync_api import sync_playwright

    wine = load_wine(as_frame=True)
    y = np.array(wine.target_names)[wine.target]
    X_train, X_test, y_train, y_test = train_test_split(wine.data, y, random_state=0)
    tree = HHCartClassifier(max_features_per_split=3).fit(X_train, y_train)
    page = report(tree, X_train, y_train, X_test=X_test, y_test=y_test, title="Wines")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "wine.html"
        page.save(path)
        quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet)
        shown = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="light")
        shown.goto(path.as_uri())
        shown.get_by_role("tab", name="Try a row").click()
        shown.get_by_label("Number of an embedded row").fill("4")
        shown.get_by_role("button", name="Take").click()
        shown.locator("summary", has_text="Features that").click()
        shown.screenshot(path=HERE / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
