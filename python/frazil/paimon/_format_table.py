"""Format tables (documentation: "Format Table"): files of one format, in partition folders.

    table/p=a/q=1/data-0.csv          partition (a, 1): values are unescaped and typed, the default name is NULL
    table/a/1/data-0.csv              partition (a, 1) with the option `format-table.partition-path-only-value`

Files and folders whose names begin with a dot or an underscore are ignored.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import time
from typing import TYPE_CHECKING, Any

from frazil._arguments import table_files
from frazil._frames import Frames
from frazil._write_result import WriteResult
from frazil.errors import CorruptMetadataError, FrazilError, InvalidArgumentError, NoSuchTableError, StorageError
from frazil.paimon._data_types import LOCAL_ZONED
from frazil.paimon._folder import FoundFile, files_below
from frazil.paimon._format_file import DEFAULT_PARTITION, FormatFile, file_format
from frazil.paimon._plain_scan import PlainScan, filtered
from frazil.paimon._schema import Schema
from frazil.paimon._writing import replaced_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    import pyarrow as pa

    from frazil._arguments import RowFilter
    from frazil.paimon._format_write import NewFile

_SCHEMA_FILE = re.compile(r"schema/schema-\d+")

_WITH_OFFSET = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?P<fraction>\.\d+)?(?P<offset>[+-]\d\d:\d\d)", re.ASCII
)

_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


class FormatTable(Frames):
    """Files of one format as a table. Each scan lists the files again."""

    def __init__(
        self, location: str, schema: Schema, arguments: Mapping[str, Any], *, in_catalog: bool = False
    ) -> None:
        """Not for direct use; use `frazil.paimon.format_table`."""
        self._location, self._schema, self._arguments = location, schema, dict(arguments)
        self._files = table_files(**self._arguments)
        self._in_catalog = in_catalog

    @property
    def location(self) -> str:
        """The folder of the table."""
        return self._location

    @property
    def options(self) -> dict[str, str]:
        """The options of the table."""
        return dict(self._schema.options)

    @property
    def partition_keys(self) -> list[str]:
        """The partition columns, whose values are in the folder names, outermost first."""
        return list(self._schema.partition_keys)

    @property
    def primary_keys(self) -> list[str]:
        """The primary key columns: always empty, because format tables do not have keys."""
        return []

    @property
    def comment(self) -> str | None:
        """The comment on the table."""
        return self._schema.comment

    @property
    def table_type(self) -> str:
        """The table type: always `format-table`."""
        return "format-table"

    def schema(self) -> Schema:
        """Return the schema."""
        return self._schema

    def scan(
        self,
        row_filter: RowFilter = True,  # noqa: FBT002 - as PyIceberg has it
        selected_fields: Sequence[str] = ("*",),
        *,
        case_sensitive: bool = True,
        limit: int | None = None,
    ) -> FormatScan:
        """Define a read; no data is read until rows are requested.

        Args:
            row_filter: An SQL expression such as `id > 10 and name like 'a%'`; True for all rows.
            selected_fields: Column names, or `*` for all.
            case_sensitive: Whether column names are case-sensitive.
            limit: The maximum number of rows.

        Raises:
            InvalidArgumentError: A column or literal is invalid.
        """
        return FormatScan(self, row_filter, selected_fields, case_sensitive=case_sensitive, limit=limit)

    def files(self) -> Iterator[FormatFile]:
        """Return the files sorted by path, with their partition values as strings.

        Raises:
            CorruptMetadataError: A file is not in a partition folder.
            NoSuchTableError: The folder does not exist.
        """
        for found in self._found():
            *folders, name = found.relative.split("/")
            if not any(part.startswith((".", "_")) for part in (*folders[len(self.partition_keys) :], name)):
                partition = self._partition(folders, found)
                if partition is not None:
                    yield FormatFile(
                        found.path, file_format(name, self.options, self._location), found.size_bytes, partition
                    )

    def _found(self) -> Iterator[FoundFile]:
        """Return all files except schema files; the folder of a table in a catalog may be missing."""
        try:
            found = files_below(self._files, self._location)
        except NoSuchTableError:
            if not self._in_catalog:
                raise
            return iter(())
        return (file for file in found if not self._in_catalog or not _SCHEMA_FILE.fullmatch(file.relative))

    def _partition(self, folders: list[str], found: FoundFile) -> dict[str, str | None] | None:
        """Return the partition values as strings; None for a file outside all partitions, which is ignored."""
        keys = self.partition_keys
        only_values = self.options.get("format-table.partition-path-only-value", "false").lower() == "true"
        default = self.options.get("partition.default-name", DEFAULT_PARTITION)
        if len(folders) < len(keys):
            return None
        partition: dict[str, str | None] = {}
        for key, folder in zip(keys, folders, strict=False):
            name, separator, text = ("", "=", folder) if only_values else folder.partition("=")
            if folder.startswith(".") or (folder.startswith("_") and folder != default):
                return None
            if not separator or (not only_values and _unescaped(name) != key):
                message = f"a file is in folder {folder!r}, which does not have a value for {key!r}"
                raise CorruptMetadataError(message, context={"table": self._location, "file": found.path})
            partition[key] = None if _unescaped(text) == default else _unescaped(text)
        return partition

    def append(self, data: Any) -> WriteResult:
        """Append rows as new files in the folders of their partitions.

        Readers see each file only when it is complete; a reader during the call may see some of the new files. An empty
        or blank string as a partition value is read as NULL, as in Java and Hive. In CSV files, a string that equals
        `csv.null-literal`, by default the empty string, is read as NULL.

        Args:
            data: As in `Table.append`.

        Raises:
            InvalidArgumentError: The table does not have a column, or a value does not fit its column or the format.
                Nothing is written.
            UnsupportedError: The format cannot store the type of a column.
            StorageError: The files cannot be written; the table is unchanged.

        >>> import frazil, tempfile
        >>> columns, options = [("id", "INT"), ("day", "STRING")], {"file.format": "csv"}
        >>> folder = tempfile.mkdtemp()
        >>> table = frazil.paimon.format_table(folder, schema=columns, partition_keys=["day"], options=options)
        >>> table.append([{"id": 1, "day": "2024-05-14"}, {"id": 2, "day": None}]).added_files
        2
        """
        return self._commit(data, [], lambda _, old: old)

    def overwrite(self, data: Any, *, partitions: Sequence[Mapping[str, Any]] | None = None) -> WriteResult:
        """Replace all rows, or those of some partitions.

        The replaced files are deleted after the new files are visible, so a reader during the call may see both.

        Args:
            data: As in `append`. All rows must belong to replaced partitions.
            partitions: The partitions to replace, as values of partition columns, such as `[{"day": "2024-02-29"}]`.
                Omitted columns match any value. None replaces all rows.

        Raises:
            InvalidArgumentError: As in `append`; also if a row or a column does not belong to `partitions`.
            UnsupportedError: As in `append`.
            StorageError: As in `append`; or the new files are in place, but some replaced files could not be deleted.

        >>> import frazil, tempfile
        >>> options = {"file.format": "json"}
        >>> table = frazil.paimon.format_table(tempfile.mkdtemp(), schema=[("id", "INT")], options=options)
        >>> added = table.append([{"id": 1}])
        >>> table.overwrite([{"id": 2}]).removed_files, table.scan().to_arrow().to_pylist()
        (1, [{'id': 2}])
        """
        matches = self._matching(replaced_partitions(partitions))

        def replaced(_: Sequence[NewFile], old: Sequence[FormatFile]) -> list[FormatFile]:
            return [file for file in old if matches(file.partition)]

        return self._commit(data, self._current(), replaced, matches)

    def dynamic_partition_overwrite(self, data: Any) -> WriteResult:
        """Replace all rows of the partitions that occur in `data`; an unpartitioned table is replaced completely.

        Arguments and errors are those of `overwrite`.
        """

        def replaced(new: Sequence[NewFile], old: Sequence[FormatFile]) -> list[FormatFile]:
            written = {self._values(self._partition_of(file)) for file in new}
            everything = not self.partition_keys
            return [file for file in old if everything or self._values(file.partition) in written]

        return self._commit(data, self._current(), replaced)

    def truncate(self) -> WriteResult:
        """Delete all rows.

        Raises:
            StorageError: Some files could not be deleted.
        """
        return self.overwrite([])

    def drop_partitions(self, partitions: Sequence[Mapping[str, Any]]) -> WriteResult:
        """Delete all rows of partitions.

        Args:
            partitions: As in `overwrite`.

        Raises:
            InvalidArgumentError: The list is empty, or a column is not a partition key.
            StorageError: Some files could not be deleted.
        """
        if not partitions:
            message = "drop_partitions needs at least one partition"
            raise InvalidArgumentError(message, hint="call truncate() to delete all rows")
        return self.overwrite([], partitions=partitions)

    def _commit(
        self,
        data: Any,
        current: list[FormatFile],
        replaced: Callable[[Sequence[NewFile], list[FormatFile]], list[FormatFile]],
        matches: Callable[[Mapping[str, str | None]], bool] = lambda _: True,
    ) -> WriteResult:
        """Write rows, publish their files and delete the replaced files."""
        from frazil.paimon._format_write import discard, publish, write_files

        began = time.perf_counter()
        file_format(f"x.{self.options.get('file.format', 'parquet')}", self.options, self._location)
        new, rows = write_files(self._location, self._schema, self._files, data)
        try:
            self._check_replaced(new, matches)
            removed = replaced(new, current)
        except BaseException:
            discard(self._files, new)
            raise
        publish(self._files, new)
        for number, old in enumerate(removed):
            try:
                self._files.delete(old.file_path)
            except FrazilError as error:
                message = (
                    f"the new rows are in place, but {len(removed) - number} replaced files remain: {error.message}"
                )
                raise StorageError(message, context={"table": self._location, "file": old.file_path}) from error
        return WriteResult(
            None,
            added_files=len(new),
            added_records=rows,
            added_bytes=sum(file.size_bytes for file in new),
            removed_files=len(removed),
            inserted_rows=rows,
            attempts=1,
            seconds=time.perf_counter() - began,
        )

    def _current(self) -> list[FormatFile]:
        """Return the files before a write, because in an object store new files are visible at once."""
        try:
            return list(self.files())
        except NoSuchTableError:
            return []

    def _check_replaced(self, new: Sequence[NewFile], matches: Callable[[Mapping[str, str | None]], bool]) -> None:
        for file in new:
            if not matches(partition := self._partition_of(file)):
                message = f"a row belongs to partition {partition}, which is not replaced"
                raise InvalidArgumentError(message, context={"table": self._location})

    def _partition_of(self, file: NewFile) -> dict[str, str | None]:
        found = FoundFile(file.target, "", 0, 0)
        return self._partition(file.folders, found) or {}

    def _values(self, partition: Mapping[str, str | None]) -> tuple[Any, ...]:
        """Return the typed values of partition columns, because folder names can contain a value in several forms."""
        from frazil.paimon._text_values import value_of

        found = []
        for key in self.partition_keys:
            try:
                value = value_of(partition[key], self._schema.find_field(key).data_type).as_py()
                # NaN is not equal to itself, but it is one partition.
                found.append("NaN" if isinstance(value, float) and math.isnan(value) else value)
            except ValueError as error:
                message = f"the value of partition column {key!r} is invalid: {error}"
                raise InvalidArgumentError(message, context={"table": self._location, "column": key}) from error
        return tuple(found)

    def _matching(
        self, partitions: Sequence[Mapping[str, str | None]] | None
    ) -> Callable[[Mapping[str, str | None]], bool]:
        """Return a function that checks whether a partition matches one of `partitions`."""
        if partitions is None:
            return lambda _: True
        wrong = next((key for one in partitions for key in one if key not in self.partition_keys), None)
        if wrong is not None:
            message = f"{wrong!r} is not a partition key of the table"
            hint = f"the partition keys are {', '.join(self.partition_keys)}" if self.partition_keys else None
            raise InvalidArgumentError(message, context={"table": self._location, "column": wrong}, hint=hint)
        missing = dict.fromkeys(self.partition_keys)
        types = {key: self._schema.find_field(key).data_type for key in missing}
        given = [
            {key: _in_utc(text) if types[key].name == LOCAL_ZONED else text for key, text in one.items()}
            for one in partitions
        ]
        wanted = [(one.keys(), self._values(missing | one)) for one in given]

        def matches(partition: Mapping[str, str | None]) -> bool:
            values = self._values(partition)
            return any(
                all(key not in keys or ours == theirs for key, ours, theirs in zip(missing, values, those, strict=True))
                for keys, those in wanted
            )

        return matches

    def __repr__(self) -> str:
        """Return a representation with the location and the columns."""
        return f"<frazil.paimon.FormatTable {self._location!r}: columns {', '.join(self._schema.column_names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the location and the schema."""
        return _reopen, (self._location, self._schema.to_json(), self._arguments, self._in_catalog)


class FormatScan(PlainScan[FormatFile]):
    """A read of a format table."""

    def __init__(
        self,
        table: FormatTable,
        row_filter: RowFilter,
        selected_fields: Sequence[str],
        *,
        case_sensitive: bool,
        limit: int | None,
    ) -> None:
        """Not for direct use; use `FormatTable.scan`."""
        super().__init__(table.schema(), row_filter, selected_fields, case_sensitive=case_sensitive, limit=limit)
        self._table = table

    def _with(self, **arguments: Any) -> Self:
        return type(self)(self._table, **self._arguments | arguments)

    def plan_files(self) -> Iterator[FormatFile]:
        """Yield the files to read, from partitions that the filter does not exclude."""
        keys = self._table.partition_keys
        kept: dict[tuple[str | None, ...], bool] = {}
        for file in self._table.files():
            values = tuple(file.partition[key] for key in keys)
            if values not in kept:
                kept[values] = not self._filter or not keys or self._may_match(file)
            if kept[values]:
                yield file

    def read_file(self, file: FormatFile) -> Iterator[pa.RecordBatch]:
        """Stream the rows of one file of `plan_files`."""
        return self._rows_of(file)

    def explain(self) -> str:
        """Return a summary of the planned and pruned files."""
        files = list(self._table.files())
        return f"{len(list(self.plan_files()))} of {len(files)} files; the rest pruned by partition"

    def _parts(self) -> Iterator[FormatFile]:
        return self.plan_files()

    def _read(self, part: FormatFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        from frazil.paimon._format_reader import read_format_file

        return read_format_file(self._table._files, part, self._table_schema, names)  # noqa: SLF001 - one module

    def _may_match(self, file: FormatFile) -> bool:
        """Return whether a partition may have matching rows; True if the filter uses other columns."""
        from frazil.paimon._format_reader import partition_columns

        schema = self._table_schema
        keys = [schema.find_field(key) for key in schema.partition_keys]
        try:
            partition = partition_columns(file, schema, schema.partition_keys, 1)
            kept = filtered(partition, Schema(0, tuple(keys)), self._filter, case_sensitive=self._case_sensitive)
        except InvalidArgumentError:
            return True
        return bool(kept.num_rows)


def format_table(
    path: str | os.PathLike[str],
    *,
    schema: Schema | pa.Schema | Mapping[str, Any] | Sequence[tuple[str, str]],
    partition_keys: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
) -> FormatTable:
    """Open the files in a folder as a table.

    Args:
        path: The folder.
        schema: Names with Paimon types, as in `[("id", "INT NOT NULL"), ("day", "DATE")]`, a `pyarrow.Schema`, or the
            JSON form of a Paimon schema. Files contain the columns that are not partition keys; text files in this
            order.
        partition_keys: The partition columns, whose values are in the folder names, outermost first.
        options: Table options, such as `file.format` and `csv.field-delimiter`. Without `file.format`, the name of each
            file determines the format.
        relocate: As in `frazil.load_table`.
        storage: Storage options.

    Raises:
        InvalidArgumentError: The schema or an option is invalid.

    >>> import frazil.paimon
    >>> table = frazil.paimon.format_table("docs/csv", schema=[("id", "INT"), ("day", "DATE")], partition_keys=["day"])
    >>> table.scan(selected_fields=["id"]).schema().names
    ['id']
    """
    location = os.fspath(path).rstrip("/") or "/"
    made = Schema.of(schema, partition_keys, {str(name): str(value) for name, value in (options or {}).items()})
    if set(made.partition_keys) >= set(made.column_names):
        message = "a format table needs at least one column that is not a partition key"
        raise InvalidArgumentError(message, context={"table": location})
    return FormatTable(
        location, made, {"root": location, "relocate": dict(relocate or {}), "storage": dict(storage or {})}
    )


def _in_utc(text: str | None) -> str | None:
    """Return a timestamp without its UTC offset, because folder names contain timestamps in UTC.

    >>> _in_utc("2024-01-01 13:00:00.123456789+01:00"), _in_utc("2024-01-01 12:00:00")
    ('2024-01-01 12:00:00.123456789', '2024-01-01 12:00:00')
    """
    found = _WITH_OFFSET.fullmatch(text or "")
    if found is None:
        return text
    try:
        moment = dt.datetime.fromisoformat(f"{found['moment']}{found['offset']}").astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return text
    return f"{moment.replace(tzinfo=None).isoformat(' ')}{found['fraction'] or ''}"


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _reopen(location: str, schema: dict[str, Any], arguments: dict[str, Any], in_catalog: bool) -> FormatTable:  # noqa: FBT001
    return FormatTable(location, Schema.from_json(schema), arguments, in_catalog=in_catalog)
