"""Changes that write no data."""

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
    """The state that the user of a handle decided on; None for a transaction, which nobody else changes."""

    def __init__(self, native: _native.Table | None) -> None:
        self.native = native

    def fit(self, state: TableState) -> _Known:  # noqa: ARG002 - as of `Ready`
        return self

    def abort(self) -> None:
        """Delete nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolve:
    """Change the schema, the partition spec, the sort order, properties or references."""

    replans: ClassVar[bool] = False
    """What conflicts with the state that the user knows does so in each attempt."""
    change: str
    """The change in JSON."""

    def prepare(self, table: States[TableState], rows: Any = None) -> _Known:  # noqa: ARG002 - as of `Operation`
        """Note the state that the user knows, and load the newest one."""
        known = table.state()
        table.newest()
        return _Known(None if known.is_staged else known.native)

    def plan(self, state: TableState, ready: _Known, tasks: bytes | None = None) -> Done[Evolution]:  # noqa: ARG002
        """Return the change."""
        return Done(Evolution(json=self.change, known=ready.native))
