"""Tests of tables that are elsewhere, some of them by other processes.

These are forked from one that has done all imports, so that they begin at once.
"""

import multiprocessing

multiprocessing.get_context("forkserver").set_forkserver_preload(
    [
        "distributed",
        "dask.array",
        "dask.dataframe",
        "pyarrow.parquet",
        "obliqua.estimators.cart",
        "obliqua.sources.dask",
    ]
)
