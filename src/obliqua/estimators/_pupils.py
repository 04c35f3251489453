"""Pupils: what is asked of a teacher, the trees that are grown from it, and what they lack."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.table import Table
from obliqua.estimators._fidelity import compared
from obliqua.estimators._students import grow_student
from obliqua.estimators._teachers import RawRows, Source, Teacher
from obliqua.estimators.base import BaseTreeClassifier
from obliqua.tree.model import Model

if TYPE_CHECKING:
    from obliqua.tree.tree import Tree

FEWEST_GENERATED = 5000
CHECKED = 2000  # generated rows on which the fidelity is measured
MOST_DRAWN = 2**24  # entries that are drawn and asked about at once
#: How scikit-learn begins to say that a table has names and its rows had none, or the reverse.
NAMES = "X (does not have valid|has) feature names"


class Pupil:
    """What a fit works with, once all is read.

    Parameters
    ----------
    told : estimator
        What says how many rows are generated, and how many leaves and trees there are.
    method : BaseTreeClassifier
        How splits are found.
    table : Table
        The rows.
    raw : RawRows
        The rows as the teacher takes them.
    teacher : Teacher
        What is asked.
    """

    def __init__(
        self,
        told: Any,
        method: BaseTreeClassifier,
        table: Table,
        raw: RawRows,
        teacher: Teacher,
    ) -> None:
        self.told, self.method = told, method
        self.table, self.raw, self.teacher = table, raw, teacher
        self._asked = False

    def _shares(self, rows: Any) -> FloatArray:
        """Ask the teacher; what it warns of about names of columns is said once."""
        with warnings.catch_warnings():
            if self._asked:
                warnings.filterwarnings("ignore", message=NAMES, category=UserWarning)
            found = self.teacher.shares(rows)
        self._asked = True
        return found

    def grown(self, rows: Int64Array, seed: int) -> tuple[list["Tree"], Int64Array]:
        """Grow the trees."""
        told, Z = self.told, self.table.Z
        random = np.random.default_rng(seed)
        wanted = told.n_generated
        n = max(FEWEST_GENERATED, 2 * len(Z)) if wanted is None else int(wanted)
        source = Source(rows, Z.shape[1], float(told.swap))
        shares = [self._shares(self.raw.take(rows))]
        parts: list[Any] = [Z[rows]]
        block = max(1, MOST_DRAWN // Z.shape[1])
        for start in range(0, n, block):
            generated = source.draw(min(block, n - start), random)
            shares.append(self._shares(self.raw.mixed(generated)))
            parts.append(self._matrix(generated))
        checks = source.draw(CHECKED, random)
        whole = Table(np.concatenate(parts), self.table.encoding, self.table.has_missing)
        trees = grow_student(self.method, whole, np.concatenate(shares), told, seed)
        return trees, checks

    def _matrix(self, rows: Int64Array) -> Any:
        """Return mixed rows as the student reads them."""
        return self.table.Z[rows, np.arange(rows.shape[1])]

    def measured(
        self,
        model: Model,
        held: Int64Array,
        checks: Int64Array,
        labels: AnyArray | None,
        weights: FloatArray | None,
    ) -> dict[str, dict[str, float]]:
        """Measure what was lost, on held-out and on generated rows."""
        found = {}
        if len(held):
            found["data"] = compared(
                self._shares(self.raw.take(held)),
                model.predict_proba(self.table.Z[held]),
                model.classes,
                None if labels is None else labels[held],
                None if weights is None else weights[held],
            )
        found["generated"] = compared(
            self._shares(self.raw.mixed(checks)),
            model.predict_proba(self._matrix(checks)),
            model.classes,
        )
        return found
