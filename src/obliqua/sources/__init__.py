"""Tables that do not fit in memory: opened, looked at, and read again in each pass."""

from obliqua.sources.predicting import predict_in_parts, write_predictions
from obliqua.sources.running import PassRunner, Threads
from obliqua.sources.tables import LargeTable, open_table

__all__ = [
    "LargeTable",
    "PassRunner",
    "Threads",
    "open_table",
    "predict_in_parts",
    "write_predictions",
]
