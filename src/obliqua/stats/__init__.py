"""Measures of predictions, and whether methods differ over many data sets."""

from obliqua.stats.metrics import f_measures, macro_f, true_negative_rates, true_positive_rates
from obliqua.stats.ranks import Pair, Ranks, rank_methods

__all__ = [
    "Pair",
    "Ranks",
    "f_measures",
    "macro_f",
    "rank_methods",
    "true_negative_rates",
    "true_positive_rates",
]
