"""What methods with a compiled side have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from obliqua._typing import FloatArray
    from obliqua.data.problem import Problem

__all__ = ["CompiledSide", "Task"]


class Task(NamedTuple):
    """What a finder is for: the arguments of `CompiledSide.finder`."""

    problem: Problem
    room: int
    weight_shift: int
    scale: FloatArray
    max_features: int | None
    helper: bool


class CompiledSide(ABC):
    """Base of methods whose work at a node is compiled.

    A method names the compiled class, whose objects read the method's attributes as settings.
    """

    _finder: ClassVar[Any]

    def finder(
        self,
        problem: Problem,
        room: int,
        weight_shift: int,
        scale: FloatArray,
        max_features: int | None,
        helper: bool = False,
    ) -> Any:
        """Return the compiled side.

        Parameters
        ----------
        problem : Problem
            The data.
        room : int
            The number of rows of the largest node.
        weight_shift : int
            By how many bits weights are shortened, see `FixedPoint`.
        scale : ndarray of shape (n_features,)
            Factors of the features.
        max_features : int or None
            The most features of a split.
        helper : bool, default=False
            Whether it only works at nodes that another one has read.

        Returns
        -------
        Finder
            What proposes and searches at a node, in compiled code.
        """
        task = Task(problem, room, weight_shift, scale, max_features, helper)
        return self._finder(
            problem.n_features,
            problem.n_classes,
            room,
            problem.weights is not None,
            weight_shift,
            scale,
            self._settings(task),
            None if max_features is None else min(max_features, problem.n_features),
            helper,
        )

    def label(self, number: int, n_features: int, n_classes: int) -> str:
        """Say what a direction is; classes and the like are counted from 0.

        Parameters
        ----------
        number : int
            The number of the direction; those of the axes come first.
        n_features, n_classes : int
            Sizes of the problem.

        Returns
        -------
        str
            The label.
        """
        return self._label(number - n_features, n_features, n_classes)

    def _settings(self, task: Task) -> Any:
        """Return what the compiled side reads: the method, with what depends on the data."""
        return self

    @abstractmethod
    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        """Say what a direction is; axes are not counted."""

    def _check_choices(self, **choices: tuple[str | None, ...]) -> None:
        """Refuse a setting that is none of its choices."""
        for name, known in choices.items():
            got = getattr(self, name)
            if got not in known:
                listed = ", ".join(map(repr, known))
                raise ValueError(f"{name} must be one of {listed}; got {got!r}.")
