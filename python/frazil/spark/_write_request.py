"""What a write of a DataFrame asks for, whatever the format of the table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from frazil._opened import Opened
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil._run import ReadSnapshot
    from frazil.iceberg import Table as IcebergTable
    from frazil.paimon import Table as PaimonTable

__all__ = ["MODES", "Mode", "WriteRequest", "opened_table"]

MODES = ("append", "overwrite", "dynamic")

Mode: TypeAlias = Literal["append", "overwrite", "dynamic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """What a user asked for; arguments that only one format has are None unless they are given."""

    mode: Mode
    branch: str = "main"
    overwrite_filter: str | bool | None = None
    partitions: Sequence[Mapping[str, Any]] | None = None
    snapshot_properties: Mapping[str, str] | None = None
    distribution_mode: str | None = None
    write_format: str | None = None
    target_file_size_bytes: int | None = None
    read: ReadSnapshot | None = None
    """The snapshot that the rows were made of, if changes since then are conflicts."""

    def refuse(self, names: Sequence[str], table_format: str) -> None:
        """Refuse arguments that are only for tables of another format.

        Raises:
            InvalidArgumentError: One of them is given.
        """
        wrong = next((name for name in names if getattr(self, name) is not None), None)
        if wrong is not None:
            message = f"{wrong} is only for tables of the format {table_format}"
            raise InvalidArgumentError(message)


def opened_table(
    table: str | os.PathLike[str] | IcebergTable | PaimonTable,
    relocate: Mapping[str, str] | None,
    storage: Mapping[str, str] | None,
    allowed_locations: Sequence[str] = (),
) -> IcebergTable | PaimonTable:
    """Return the table, opened if its location is given.

    Raises:
        InvalidArgumentError: `table` is not a table, or `relocate` or `storage` is given with a table that was loaded.
    """
    from frazil._table import load_table

    if isinstance(table, str | os.PathLike):
        table = load_table(table, relocate=relocate, storage=storage, allowed_locations=allowed_locations)
    elif relocate or storage:
        message = "relocate and storage go with the location of a table; a table that was loaded has its own"
        raise InvalidArgumentError(message)
    if not isinstance(table, Opened):
        message = f"a table is its location or a table that was loaded, not {type(table).__name__}"
        raise InvalidArgumentError(message)
    return table
