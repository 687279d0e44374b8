"""Object tables (documentation: "Object Table"): the files below a folder, as rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from frazil._arguments import table_files
from frazil._frames import Frames
from frazil.errors import UnsupportedError
from frazil.paimon._folder import files_below
from frazil.paimon._plain_scan import PlainScan
from frazil.paimon._schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    import pyarrow as pa

    from frazil._arguments import RowFilter
    from frazil.paimon._folder import FoundFile

BATCH_ROWS = 65_536

_TIME_TRAVEL = ("scan.snapshot-id", "scan.tag-name", "scan.timestamp", "scan.version", "scan.watermark", "incremental")
"""The prefixes of the read options that select snapshots."""

SCHEMA = Schema.of(
    [
        ("path", "STRING NOT NULL"),
        ("name", "STRING NOT NULL"),
        ("length", "BIGINT NOT NULL"),
        ("mtime", "BIGINT NOT NULL"),
        ("atime", "BIGINT NOT NULL"),
        ("owner", "STRING"),
    ]
)
"""Path below the folder, name, length in bytes, modification and access times in milliseconds, owner.

In Java, only Hadoop file systems return the access time and the owner; with other file systems they are 0 and NULL."""


class ObjectTable(Frames):
    """The files below a folder, as rows. Each scan lists the files again."""

    def __init__(self, location: str, arguments: Mapping[str, Any], definition: Schema = SCHEMA) -> None:
        """Not for direct use; use `frazil.paimon.object_table`."""
        self._location, self._arguments, self._definition = location, dict(arguments), definition
        self._files = table_files(**self._arguments)

    @property
    def location(self) -> str:
        """The location of the folder."""
        return self._location

    @property
    def table_type(self) -> str:
        """The table type: always `object-table`."""
        return "object-table"

    @property
    def options(self) -> dict[str, str]:
        """The options of the table in its catalog; empty without a catalog."""
        return dict(self._definition.options)

    @property
    def partition_keys(self) -> list[str]:
        """The partition columns: always empty."""
        return []

    @property
    def primary_keys(self) -> list[str]:
        """The primary key columns: always empty."""
        return []

    @property
    def comment(self) -> str | None:
        """The comment on the table in its catalog."""
        return self._definition.comment

    def schema(self) -> Schema:
        """Return the schema, which is the same for all object tables."""
        return SCHEMA

    def scan(
        self,
        row_filter: RowFilter = True,  # noqa: FBT002 - as PyIceberg has it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        limit: int | None = None,
        snapshot_id: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> ObjectScan:
        """Define a read.

        Args:
            row_filter: As in `FormatTable.scan`.
            selected_fields: As in `FormatTable.scan`.
            case_sensitive: As in `FormatTable.scan`.
            limit: As in `FormatTable.scan`.
            snapshot_id: Only None is supported.
            options: Read options; those that select a snapshot are not supported.

        Raises:
            InvalidArgumentError: A column or literal is invalid.
            UnsupportedError: A snapshot is selected; object tables have no snapshots.
        """
        chosen = [name for name in options or () if name.startswith(_TIME_TRAVEL)]
        if snapshot_id is not None or chosen:
            message = f"object tables have no snapshots, so `{next(iter(chosen), 'snapshot_id')}` is not supported"
            hint = "omit it: each scan lists the current files"
            raise UnsupportedError(message, context={"table": self._location}, hint=hint)
        return ObjectScan(self, row_filter, selected_fields, case_sensitive=case_sensitive, limit=limit)

    def refresh(self) -> int:
        """List the files and return their number.

        The listing is not stored. In early releases of Paimon, the procedure `sys.refresh_object_table` stored it as a
        snapshot. Release 1.4 has neither this procedure nor snapshots of object tables (`ObjectTable` in `paimon-core`
        lists the folder in each scan).

        Raises:
            NoSuchTableError: The folder does not exist.

        >>> import frazil, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> written = (folder / "a.txt").write_text("x")
        >>> frazil.paimon.object_table(folder).refresh()
        1
        """
        return self.scan().count()

    def __repr__(self) -> str:
        """Return a representation with the location."""
        return f"<frazil.paimon.ObjectTable {self._location!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the location and the definition."""
        return _reopen, (self._location, self._arguments, self._definition.to_json())


class ObjectScan(PlainScan[list["FoundFile"]]):
    """A read of an object table."""

    def __init__(
        self,
        table: ObjectTable,
        row_filter: RowFilter,
        selected_fields: Sequence[str],
        *,
        case_sensitive: bool,
        limit: int | None,
    ) -> None:
        """Not for direct use; use `ObjectTable.scan`."""
        super().__init__(SCHEMA, row_filter, selected_fields, case_sensitive=case_sensitive, limit=limit)
        self._table = table

    def _with(self, **arguments: Any) -> Self:
        return type(self)(self._table, **self._arguments | arguments)

    def _parts(self) -> Iterator[list[FoundFile]]:
        found = files_below(self._table._files, self._table.location)  # noqa: SLF001 - one module
        return (found[start : start + BATCH_ROWS] for start in range(0, len(found), BATCH_ROWS))

    def _read(self, part: list[FoundFile], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        columns: dict[str, list[Any]] = {
            "path": [file.relative for file in part],
            "name": [file.name for file in part],
            "length": [file.size_bytes for file in part],
            "mtime": [file.modified_ms for file in part],
            "atime": [0] * len(part),
            "owner": [None] * len(part),
        }
        yield pa.RecordBatch.from_pydict({name: columns[name] for name in names}, SCHEMA.arrow(names))


def object_table(
    path: str | os.PathLike[str],
    *,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> ObjectTable:
    """Open the files below a folder as a table, with the columns of `SCHEMA`.

    Args:
        path: The folder.
        relocate: As in `frazil.load_table`.
        storage: Storage options.
    """
    location = os.fspath(path).rstrip("/") or "/"
    return ObjectTable(location, {"root": location, "relocate": dict(relocate or {}), "storage": dict(storage or {})})


def _reopen(location: str, arguments: dict[str, Any], definition: dict[str, Any]) -> ObjectTable:
    return ObjectTable(location, arguments, Schema.from_json(definition))
