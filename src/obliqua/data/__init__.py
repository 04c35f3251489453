"""Rows, labels and weights as the engine takes them: tables read, checked and encoded."""

from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode
from obliqua.data.rare_levels import pool_rare_levels
from obliqua.data.row_source import RowQuestion, RowSource
from obliqua.data.table import Table, encoded_rows, read_table

__all__ = [
    "Column",
    "Encoding",
    "Problem",
    "RowQuestion",
    "RowSource",
    "Table",
    "encode",
    "encoded_rows",
    "pool_rare_levels",
    "read_table",
]
