"""The format-independent parts of `table.inspect`: virtual tables by name, at a snapshot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, cast

from frazil import _native
from frazil._arguments import snapshot_choice, text
from frazil._boundary import operation
from frazil._virtual_table import VirtualTable

if TYPE_CHECKING:
    import datetime

    import pyarrow as pa

    from frazil._virtual_table import ReadOptions

    class SnapshotOptions(ReadOptions, total=False):
        """The options for reading a table of one snapshot, which is the latest one by default."""

        ref: str | None
        as_of: int | str | datetime.datetime | None


__all__ = ["InspectTables", "SnapshotOptions"]


class InspectTables(ABC):
    """The metadata tables or system tables of a table."""

    _FORMAT: ClassVar[str]

    def __init__(self, table: _native.Table | _native.PaimonTable, place: str) -> None:
        """Not for direct use; use `Table.inspect`."""
        self._table = table
        self._place = place

    def __getitem__(self, name: str) -> VirtualTable:
        """Return the virtual table of this name, at the latest snapshot if it shows a single one."""
        return self.open(name)

    def open(
        self,
        name: str,
        *,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: int | str | datetime.datetime | None = None,
    ) -> VirtualTable:
        """Return the virtual table of this name.

        Args:
            name: `snapshots`, `files` or another name in `names()`.
            snapshot_id: The snapshot that the table shows.
            ref: The branch or tag whose snapshot the table shows.
            as_of: The time whose current snapshot the table shows, as in `Table.scan`.

        Raises:
            InvalidArgumentError: The name is unknown, or a snapshot is given for a table that does not show a single
                one.
            NoSuchSnapshotError: The snapshot, branch or tag does not exist.
        """
        choice = snapshot_choice(snapshot_id, ref, as_of)
        with operation("inspect", lambda: self._place):
            return VirtualTable(_native.VirtualTable.open(self._table, text("name", name), choice), name, self._place)

    @staticmethod
    @abstractmethod
    def names() -> list[str]:
        """Return the names of all tables."""

    def _of_snapshot(self, name: str, snapshot_id: int | None, options: SnapshotOptions) -> pa.Table:
        table = self.open(name, snapshot_id=snapshot_id, ref=options.pop("ref", None), as_of=options.pop("as_of", None))
        return table.scan(**cast("ReadOptions", options)).to_arrow()

    def __repr__(self) -> str:
        """Return a representation with the names of the tables."""
        return f"<frazil.{self._FORMAT}.Inspect of {self._place!r}: {', '.join(self.names())}>"
