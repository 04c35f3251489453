"""Trees from Dask collections are the trees of the same rows in memory."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from obliqua import CartClassifier, CartRegressor, HHCartClassifier
from obliqua.sources import rows as source_rows

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

LENGTHS = (700, 1, 0, 1500, 299)
ESTIMATORS: dict[str, Any] = {
    "CART": CartClassifier(max_depth=4, pruning=None),
    "HHCART(D)": HHCartClassifier(variant="dominant", max_depth=3, pruning="holdout"),
    "numbers": CartRegressor(max_depth=4, pruning="reduced_error"),
}


@pytest.fixture(autouse=True)
def no_table_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_rows.MemoryPlan, "fits", lambda self, n_rows: False)
    monkeypatch.setattr(source_rows.MemoryPlan, "batch_rows", 400)


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(sum(LENGTHS), 4))
    y = (X @ [1, 2, -1, 0.5] + rng.normal(size=len(X)) > 0).astype(int)
    y[:700] = 0  # a partition of one class
    return X, y, rng.integers(1, 4, len(X)).astype(float)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_arrays(name: str, rows: Any) -> None:
    X, y, w = rows
    whole = clone(ESTIMATORS[name]).fit(X, y, w)
    chunked = da.from_array(X, chunks=(LENGTHS, (3, 1)))
    found = clone(ESTIMATORS[name]).fit(
        chunked, da.from_array(y, chunks=(LENGTHS,)), da.from_array(w, chunks=(LENGTHS,))
    )
    assert found.tree_ == whole.tree_
    # y and weights may be in memory, where lengths are known.
    assert clone(ESTIMATORS[name]).fit(chunked, y, w).tree_ == whole.tree_


def framed(rows: Any) -> Any:
    X, y, w = rows
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, w=w)
    ends = np.cumsum((0, *LENGTHS))
    parts = [frame.iloc[a:b] for a, b in pairwise(ends)]
    made = [dask.delayed(part) for part in parts]
    return frame, dd.from_delayed(made, meta=frame.iloc[:0], verify_meta=False)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_frames(name: str, rows: Any) -> None:
    frame, lazy = framed(rows)
    whole = clone(ESTIMATORS[name]).fit(frame[list("abcd")], frame["y"], frame["w"])
    for y, w, X in (("y", "w", lazy), (lazy["y"], lazy["w"], lazy[list("abcd")])):
        found = clone(ESTIMATORS[name]).fit(X, y, w)
        assert found.tree_ == whole.tree_
        assert list(found.feature_names_in_) == list("abcd")


def test_long_doubles(rows: Any) -> None:
    X, y, _ = rows
    chunked = da.from_array(X.astype(np.longdouble), chunks=(LENGTHS, 4))
    model = CartClassifier(max_depth=2, pruning=None)
    assert clone(model).fit(chunked, y).tree_ == clone(model).fit(X.astype(float), y).tree_


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask asks pandas for it
def test_frames_of_files_with_y_as_a_series(rows: Any, tmp_path: Path) -> None:
    frame, _ = framed(rows)
    for part in range(4):
        frame[part::4].to_parquet(tmp_path / f"{part}.parquet", index=False)
    lazy = dd.read_parquet(str(tmp_path / "*.parquet"))
    model = CartClassifier(max_depth=2, pruning=None)
    found = clone(model).fit(lazy[list("abcd")], lazy["y"])
    assert found.tree_ == clone(model).fit(frame[list("abcd")], frame["y"]).tree_


def test_processes_do_as_well_as_threads(rows: Any) -> None:
    """Then all that travels is pickled, and no task finds what another has left."""
    X, y, w = rows
    chunked = da.from_array(X, chunks=(LENGTHS, 4))
    with (
        ProcessPoolExecutor(2, multiprocessing.get_context("forkserver")) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        found = CartClassifier(max_depth=1, pruning=None).fit(chunked, y, w)
    assert found.tree_ == CartClassifier(max_depth=1, pruning=None).fit(X, y, w).tree_


def test_predictions_are_lazy(rows: Any) -> None:
    X, y, _ = rows
    chunked = da.from_array(X, chunks=(LENGTHS, (2, 2)))
    tree = CartClassifier(max_depth=4).fit(X, y)
    for method in ("predict", "predict_proba", "apply"):
        found = getattr(tree, method)(chunked)
        assert isinstance(found, da.Array)
        expected = getattr(tree, method)(X)
        assert found.dtype == expected.dtype
        assert np.array_equal(found.compute(), expected)
    frame, lazy = framed(rows)
    named = CartClassifier(max_depth=4).fit(frame[list("abcd")], frame["y"])
    found = named.predict(lazy)
    assert type(found).__module__.startswith("dask")
    assert np.array_equal(found.compute(), named.predict(frame[list("abcd")]))
    numbers = CartRegressor(max_depth=3).fit(X, y)
    assert np.array_equal(numbers.predict(chunked).compute(), numbers.predict(X))


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ((1000, 1500), (1500, 1000), r"partition \d: X has 1.00 rows here, and y 1.00"),
        ((1000, 1500), (2500,), "X has 2 partitions, and y 1"),
    ],
)
def test_partitions_that_do_not_go_together(X: Any, y: Any, said: str) -> None:
    chunked = da.zeros((2500, 3), chunks=(X, 3))
    labels = da.zeros(2500, chunks=(y,))
    with pytest.raises(ValueError, match=said):
        CartClassifier(pruning=None).fit(chunked, labels)


def test_what_dask_is_given_wrongly(rows: Any) -> None:
    X, y, _ = rows
    chunked = da.from_array(X, chunks=(LENGTHS, 4))
    with pytest.raises(TypeError, match="has no names of columns"):
        CartClassifier().fit(chunked, "y")
    with pytest.raises(TypeError, match=r"y says what is learnt from X: .* got None"):
        CartClassifier().fit(chunked, None)
    with pytest.raises(ValueError, match=r"partition \d: Column 0 contains infinity"):
        CartClassifier().fit(chunked + np.inf, y)
    with pytest.raises(ValueError, match="two dimensions"):
        CartClassifier().fit(chunked[:, 0], y)
    with pytest.raises(ValueError, match="and y 5"):
        CartClassifier().fit(chunked, y[:5])
    unknown = chunked[chunked[:, 0] > 0]
    with pytest.raises(TypeError, match="of unknown length, y must be one too"):
        CartClassifier().fit(unknown, y)
    found = CartClassifier(max_depth=2, pruning=None).fit(
        unknown, da.from_array(y, chunks=(LENGTHS,))[chunked[:, 0] > 0]
    )
    here = X[:, 0] > 0
    assert found.tree_ == CartClassifier(max_depth=2, pruning=None).fit(X[here], y[here]).tree_
    _, lazy = framed(rows)
    with pytest.raises(ValueError, match="has no column 'label'"):
        CartClassifier().fit(lazy, "label")
    nan = lazy.assign(y=lazy["y"].where(lazy["a"] < 2))
    with pytest.raises(ValueError, match=r"partition \d: y has no value in row \d+ of the"):
        CartClassifier().fit(nan, "y")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            MemoryError("no room on this worker"),
            "partition 3 is too large .*no room on this worker",
        ),
        (KeyError("x"), "partition 3 cannot be loaded: KeyError: 'x'"),
    ],
)
def test_a_task_that_fails_is_told(error: Exception, said: str, rows: Any) -> None:
    def broken(block: Any) -> Any:
        if block.shape[0] == 1500:
            raise error
        return block

    chunked = da.from_array(rows[0], chunks=(LENGTHS, 4)).map_blocks(broken, dtype=float)
    estimator = CartClassifier()
    with pytest.raises(MemoryError if "large" in said else ValueError, match=said):
        estimator.fit(chunked, rows[1])
    assert not hasattr(estimator, "tree_")


def test_partitions_that_are_not_what_the_frame_says(rows: Any) -> None:
    frame, _ = framed(rows)
    for second, said in (
        (
            frame.drop(columns="b"),
            "partition 1: it has no column 'b', .* it has 'a', 'c', 'd', 'y'",
        ),
        (frame.drop(columns="y"), "partition 1: it has no column 'y'"),
        (frame.drop(columns="w"), "partition 1: it has no column 'w'"),
        (frame.assign(a="x"), "partition 1: Column 'a' holds text, 'x' for instance"),
        (frame.assign(y=[pd.NA, *[1] * 2499]), "partition 1: y has no value in row 0 of the part"),
    ):
        lazy = dd.from_map(lambda part: part, [frame, second], meta=frame.iloc[:0])
        with pytest.raises(ValueError, match=said):
            CartClassifier().fit(lazy, "y", "w")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda part: None, "it holds NoneType, which the collection says is rows of 3 features"),
        (lambda part: part.to_numpy(), r"it holds ndarray of shape \(2500, 4\), which"),
    ],
)
def test_partitions_that_hold_no_rows(made: Any, said: str, rows: Any) -> None:
    frame = framed(rows)[0][["a", "b", "c", "y"]]
    lazy = dd.from_map(lambda part: part, [frame, made(frame)], meta=frame.iloc[:0])
    with pytest.raises(ValueError, match=f"partition 1: {said}"):
        CartClassifier().fit(lazy, "y")


def test_chunks_that_are_narrower(rows: Any) -> None:
    def narrower(block: Any) -> Any:
        return block[:, :3] if len(block) == 1500 else block

    chunked = da.from_array(rows[0], chunks=(LENGTHS, 4))
    chunked = chunked.map_blocks(narrower, dtype=float, meta=chunked._meta)
    with pytest.raises(ValueError, match=r"partition 3: it holds ndarray of shape \(1500, 3\)"):
        CartClassifier().fit(chunked, rows[1])


def test_scores(rows: Any) -> None:
    X, y, w = rows
    model = CartClassifier(max_depth=2, pruning=None)
    frame, lazy = framed(rows)
    model.fit(frame.drop(columns=["y", "w"]), frame["y"])
    known = model.score(frame.drop(columns=["y", "w"]), frame["y"], frame["w"])
    assert model.score(lazy, "y", "w") == model.score(lazy, lazy["y"], lazy["w"]) == known
    chunked = da.from_array(X, chunks=(LENGTHS, 4))
    model.fit(X, y)
    assert model.score(chunked, da.from_array(y, chunks=(LENGTHS,)), w) == known
    nan = lazy.assign(y=lazy["y"].where(lazy["a"] < 2))
    with pytest.raises(ValueError, match="y has no label in"):
        model.fit(frame.drop(columns=["y", "w"]), frame["y"]).score(nan, "y")


def test_scores_of_what_has_no_names(rows: Any) -> None:
    """Neither a column that is learnt nor weights are features, and a list may be labels."""
    X, y, w = rows
    _, lazy = framed(rows)
    model = CartClassifier(max_depth=2, pruning=None).fit(X, y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert model.score(lazy, "y", "w") == model.score(X, y, w)
    labels = np.where(y == 1, "yes", "no")
    chunked = da.from_array(X, chunks=(LENGTHS, 4))
    model.fit(chunked, labels.tolist())
    assert model.score(chunked, labels.tolist(), w) == model.score(X, labels, w)


def test_what_score_is_given_wrongly(rows: Any) -> None:
    """It is told as fit tells it."""
    X, y, _ = rows
    frame, lazy = framed(rows)
    chunked = da.from_array(X, chunks=(LENGTHS, 4))
    plain = CartClassifier(max_depth=1, pruning=None).fit(X, y)
    named = CartClassifier(max_depth=1, pruning=None).fit(frame[list("abcd")], y)
    for given, said in (
        (("zz",), "The frame has no column 'zz'; it has a, b, c, d, y, w"),
        ((["y", "zz"],), "The frame has no column 'zz'"),
        (("y", "zz"), "The frame has no column 'zz'"),
    ):
        with pytest.raises(ValueError, match=said):
            named.score(lazy, *given)
    with pytest.raises(ValueError, match="The frame has no column 'd'; it has a, b, c, y"):
        named.score(lazy[["a", "b", "c", "y"]], "y")
    for given in (("y",), (y, "w")):
        with pytest.raises(TypeError, match="has no names of columns"):
            plain.score(chunked, *given)
    with pytest.raises(TypeError, match=r"y says what is learnt from X: .* got None"):
        plain.score(chunked, None)


def test_fitting_does_not_import_dask() -> None:
    code = (
        "import sys, numpy as np; from obliqua import CartClassifier; "
        "CartClassifier(pruning=None).fit(np.arange(9.0)[:, None], [0, 1, 1] * 3); "
        "assert not {'dask', 'obliqua.sources'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
