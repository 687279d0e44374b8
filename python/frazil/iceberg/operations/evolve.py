"""Changes that do not write data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from frazil._run import Done
from frazil.iceberg.operations.values import Evolution

if TYPE_CHECKING:
    from frazil import _native
    from frazil._run import States
    from frazil.iceberg._state import TableState

__all__ = ["Evolve"]


class _Known:
    """The state on which a handle's user based the change; None for a transaction, which only its user changes."""

    def __init__(self, native: _native.Table | None) -> None:
        self.native = native

    def fit(self, state: TableState) -> _Known:  # noqa: ARG002 - as of `Ready`
        return self

    def abort(self) -> None:
        """Do nothing, because no files were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolve:
    """A change to the schema, the partition spec, the sort order, properties or references."""

    replans: ClassVar[bool] = False
    """Replanning would not resolve a conflict, because the change is based on the state that the user knows."""
    change: str
    """The change as JSON."""

    def prepare(self, table: States[TableState], rows: Any = None) -> _Known:  # noqa: ARG002 - as of `Operation`
        """Record the state that the user knows, and load the latest one."""
        known = table.state()
        table.newest()
        return _Known(None if known.is_staged else known.native)

    def plan(self, state: TableState, ready: _Known, tasks: bytes | None = None) -> Done[Evolution]:  # noqa: ARG002
        """Return the change as work without execution."""
        return Done(Evolution(json=self.change, known=ready.native))
