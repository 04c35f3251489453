"""Rows that do not fit in memory: tables in files, read again in each pass."""

from obliqua.sources.predicting import predict_in_parts, write_predictions
from obliqua.sources.running import PassRunner, Threads
from obliqua.sources.survey import TableRecipe, survey
from obliqua.sources.tables import LargeTable, is_table_elsewhere, open_table

__all__ = [
    "LargeTable",
    "PassRunner",
    "TableRecipe",
    "Threads",
    "is_table_elsewhere",
    "open_table",
    "predict_in_parts",
    "survey",
    "write_predictions",
]
