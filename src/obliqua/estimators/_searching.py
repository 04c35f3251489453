"""What estimators share whose splits are searched for at random: a count and a limit of time."""

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from obliqua._sklearn_compat import Interval
from obliqua.estimators.base import BaseTreeClassifier

if TYPE_CHECKING:
    from obliqua.data.problem import Problem
    from obliqua.engine.compiled import Journal
    from obliqua.tree.tree import Tree

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "time_limit": [Interval(Real, 0.0, None, closed="left"), None],
}

TIME_LIMIT = (
    "float or None",
    """\
Seconds after which no more hyperplanes are tried: the search at the node ends with what it has,
and the nodes that are left get axis-parallel splits. How far the tree is then depends on the
machine; `timed_out_` says whether it happened. `None` sets no limit.""",
)

ATTRIBUTES = {
    "n_hyperplanes_": (
        "int",
        """\
How many hyperplanes were tried in the fit, those of trees grown for `pruning='cv'` included: each
exact search for the best value of a coefficient, or for the best place along a direction, counts
once, and so does each random start. Axis-parallel splits are not counted.""",
    ),
    "timed_out_": ("bool", "Whether `time_limit` cut the search short."),
}


class SearchingTreeClassifier(BaseTreeClassifier):
    """Base of the classifiers that count what they try, and may be cut short by the clock."""

    _notes: ClassVar[dict[str, type]] = {"n_hyperplanes_": int, "timed_out_": bool}
    _journal: "Journal"

    def _open_journal(self, time_limit: float | None) -> "Journal":
        """Begin to count, and to look at the clock."""
        from obliqua.engine.compiled import Journal

        self._journal = Journal.of(None if time_limit is None else float(time_limit))
        return self._journal

    def _keep(self, seen: Any, tree: "Tree", problem: "Problem", classes: Any) -> None:
        """Make the model of a fit and keep it, with what its search has noted."""
        super()._keep(seen, tree, problem, classes)
        self.n_hyperplanes_ = seen._journal.tried
        self.timed_out_ = seen._journal.timed_out
