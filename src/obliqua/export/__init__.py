"""Trees as text: to be read in a terminal, as rules, and in the language of Graphviz."""

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

__all__ = [
    "Between",
    "Condition",
    "Largest",
    "LinearFunction",
    "OneOf",
    "Rule",
    "export_graphviz",
    "export_rules",
    "export_text",
]
