"""Trees for other readers: text, rules, Graphviz, other languages, trees of scikit-learn."""

from obliqua.export.dot import export_graphviz
from obliqua.export.rules import (
    Between,
    Condition,
    Largest,
    LinearFunction,
    OneOf,
    Rule,
    export_rules,
)
from obliqua.export.text import export_text
from obliqua.export.to_sklearn import differing_rows, to_sklearn

__all__ = [
    "Between",
    "Condition",
    "Largest",
    "LinearFunction",
    "OneOf",
    "Rule",
    "differing_rows",
    "export_graphviz",
    "export_rules",
    "export_text",
    "to_sklearn",
]
