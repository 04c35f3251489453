"""Measurements of obliqua beside other tree libraries, on the same data in the same run.

``python -m benchmarks.run`` measures and writes ``benchmarks/results/*.json``;
``python -m benchmarks.report`` turns these files into the tables of the README and of
``docs/benchmarks.md``. Both are run from the root of the repository.
"""
