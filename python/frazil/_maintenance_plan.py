"""Maintenance plans, which are computed on first access and applied once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from frazil._boundary import operation
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MaintenancePlan"]

Planned = TypeVar("Planned")


class MaintenancePlan(ABC, Generic[Planned]):
    """A plan that is applied once. It can still be inspected afterwards."""

    _method: ClassVar[str]
    """The method that returns the plan, for errors."""

    def __init__(self, place: Callable[[], str]) -> None:
        """Keep the function that returns the location of the table, for errors."""
        self._place = place
        self._planned: Planned | None = None
        self._is_applied = False

    @abstractmethod
    def _make(self) -> Planned:
        """Plan on the latest state of the table."""

    @abstractmethod
    def _summary(self, plan: Planned) -> str:
        """Return a short summary of a plan."""

    def _plan(self) -> Planned:
        """Return the plan, computed on first access."""
        if self._planned is None:
            with operation(self._method, self._place):
                self._planned = self._make()
        return self._planned

    def _take(self) -> Planned:
        """Return the plan for applying it, which can be done once.

        Raises:
            InvalidArgumentError: The plan was already applied.
        """
        self._check_not_applied()
        plan = self._plan()
        self._is_applied = True
        return plan

    def _check_not_applied(self) -> None:
        if self._is_applied:
            message = f"this plan of {self._method} was already applied"
            hint = f"call {self._method}() again for a new plan"
            raise InvalidArgumentError(message, context={"table": self._place()}, hint=hint)

    def __str__(self) -> str:
        """Return a summary of the plan, which is computed if it has not been, so that `print` shows the work to do."""
        self._plan()
        return repr(self)

    def __repr__(self) -> str:
        """Return a summary of the plan if it has been computed, without reading anything."""
        unknown = "not planned yet, print it to plan, or call apply()"
        what = unknown if self._planned is None else self._summary(self._planned)
        applied = ", applied" if self._is_applied else ""
        package = type(self).__module__.rpartition(".")[0]
        return f"<{package}.{type(self).__name__} {self._place()!r}: {what}{applied}>"
