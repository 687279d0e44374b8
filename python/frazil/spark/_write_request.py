"""The arguments of a DataFrame write, for all table formats."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from frazil._opened import Opened
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil._arguments import RowFilter
    from frazil._run import ReadSnapshot
    from frazil.iceberg import Table as IcebergTable
    from frazil.paimon import Table as PaimonTable

__all__ = ["MODES", "Mode", "WriteRequest", "opened_table"]

MODES = ("append", "overwrite", "dynamic")

Mode: TypeAlias = Literal["append", "overwrite", "dynamic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """The arguments of a write. Arguments that apply to only one format are None by default."""

    mode: Mode
    branch: str = "main"
    creates_branch: bool = False
    """Whether the branch is created from `main` if it does not exist."""
    overwrite_filter: RowFilter | None = None
    partitions: Sequence[Mapping[str, Any]] | None = None
    snapshot_properties: Mapping[str, str] | None = None
    distribution_mode: str | None = None
    write_format: str | None = None
    target_file_size_bytes: int | None = None
    read: ReadSnapshot | None = None
    """The snapshot that the rows were read from; later row changes are conflicts. None if no conflicts are detected."""

    def refuse(self, names: Sequence[str], table_format: str) -> None:
        """Raise an error if an argument in `names` is set, because it applies only to tables of another format.

        Raises:
            InvalidArgumentError: One of these arguments is set.
        """
        wrong = next((name for name in names if getattr(self, name) is not None), None)
        if wrong is not None:
            message = f"{wrong} applies only to {table_format} tables"
            raise InvalidArgumentError(message)


def opened_table(
    table: str | os.PathLike[str] | IcebergTable | PaimonTable,
    relocate: Mapping[str, str] | None,
    storage: Mapping[str, str] | None,
    allowed_locations: Sequence[str] = (),
) -> IcebergTable | PaimonTable:
    """Return the table as an object, and open the table if it is given as a location.

    Raises:
        InvalidArgumentError: `table` is not a table, or `relocate` or `storage` is combined with a loaded table.
    """
    from frazil._table import load_table

    if isinstance(table, str | os.PathLike):
        table = load_table(table, relocate=relocate, storage=storage, allowed_locations=allowed_locations)
    elif relocate or storage:
        message = "relocate and storage apply only to the location of a table; a loaded table has its own"
        raise InvalidArgumentError(message)
    if not isinstance(table, Opened):
        message = f"a table must be a location or a loaded table, not {type(table).__name__}"
        raise InvalidArgumentError(message)
    return table
