from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal, Protocol, TypeAlias, final

import pyarrow as pa

from frazil._credentials import Credentials
from frazil.errors import FrazilError
from frazil.iceberg._pointer import CatalogRow, ServerRow

__all__ = [
    "DEBUG",
    "Attempts",
    "AvroWriter",
    "BatchReader",
    "ChangePairs",
    "ChangePlan",
    "ChangeScan",
    "ChangeStage",
    "ChangeTask",
    "ChangedRows",
    "CommitMessages",
    "DeleteFile",
    "DeleteReader",
    "FileGroup",
    "FileScanTask",
    "Files",
    "Listing",
    "Merger",
    "PaimonAnalysis",
    "PaimonChangePlan",
    "PaimonChangeScan",
    "PaimonChangeStage",
    "PaimonCommit",
    "PaimonCommitResult",
    "PaimonCompaction",
    "PaimonDataFile",
    "PaimonDeletionFile",
    "PaimonExpiry",
    "PaimonFileSpec",
    "PaimonListing",
    "PaimonPlan",
    "PaimonRewrites",
    "PaimonRollback",
    "PaimonRows",
    "PaimonScan",
    "PaimonSplit",
    "PaimonTable",
    "Plan",
    "PositionDeletes",
    "RowDelta",
    "RowWriter",
    "Scan",
    "SnapshotOutcome",
    "SpecFeature",
    "SplitReader",
    "Table",
    "TableProperty",
    "TaskReader",
    "Tasks",
    "Transaction",
    "Updater",
    "Upload",
    "VirtualBatches",
    "VirtualFile",
    "VirtualPlan",
    "VirtualScan",
    "VirtualTable",
    "__version__",
    "apply_transform",
    "cache_clear",
    "cache_limit",
    "cache_stats",
    "create_table",
    "deleted_positions",
    "encode_positions",
    "encode_variant",
    "evaluate_expression",
    "file_groups",
    "filter_batch",
    "iceberg_features",
    "iceberg_metadata_tables",
    "int96_timestamps",
    "is_storage_option",
    "kept_rows",
    "normalize_predicate",
    "owned_files",
    "paimon_create",
    "paimon_duration_ms",
    "paimon_features",
    "paimon_option_names",
    "paimon_system_tables",
    "schema_arrow",
    "schema_json",
    "selected_schema_json",
    "source_batches",
    "table_properties",
    "table_property",
    "typed_schema_json",
    "unchanged_groups",
    "unreachable_files",
    "variant_to_json",
]

__version__: Final[str]
DEBUG: Final[bool]

# The leaf columns in depth-first order, and the top-level columns that contain them.
_Wanted: TypeAlias = tuple[list[int], list[int]]
# The statistics of a leaf column in a row group: leaf, physical type, minimum, maximum, number of NULLs.
_LeafStatistics: TypeAlias = tuple[int, str, bytes | None, bytes | None, int | None]
# A row group: the number of rows, the offset of its first page, the statistics of leaves.
_RowGroup: TypeAlias = tuple[int, int, list[_LeafStatistics]]

@final
class Files:
    """The files that one table handle may read."""
    def __new__(
        cls,
        root: str,
        relocate: Sequence[tuple[str, str]],
        allowed: Sequence[str],
        properties: dict[str, str],
        # Storage properties that expire.
        credentials: Credentials | None = None,
    ) -> Files:
        """Create the access rules of a table: its folder, moved prefixes, allowed locations and storage properties."""
    def openable(self, recorded: str) -> str:
        """Return the actual location of a recorded one, ready to be opened."""
    def writable(self, recorded: str) -> str:
        """Return the actual location of a recorded one, for a file that is to be written."""
    def put(self, recorded: str, content: bytes) -> None:
        """Write a file if it does not exist."""
    def upload(self, recorded: str) -> Upload | None:
        """Begin a file that is written in parts; None if files can only be written as a whole."""
    def delete(self, recorded: str) -> None:
        """Delete a file; a missing file is not an error."""
    def delete_all(self, recorded: pa.Array, workers: int) -> list[tuple[int, FrazilError]]:
        """Delete files on at most `workers` threads; deletions begin in the given order. Returns the indices of the
        files that could not be deleted, with their errors.
        """
    def size(self, recorded: str) -> int:
        """Return the length of a file in bytes."""
    def read_range(self, recorded: str, start: int, end: int) -> bytes:
        """Return the bytes `start..end` of a file."""
    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
    def list(self, folder: str) -> list[tuple[str, int, int]]:
        """Return the files of a folder: location, size in bytes, modification time in milliseconds."""

@final
class Upload:
    """An upload of a file to an object store."""

    PART_BYTES: ClassVar[int]
    def part(self, content: bytes) -> None:
        """Send the next part; returns before the store has received it."""
    def finish(self) -> None:
        """Complete the file from its parts."""
    def abort(self) -> None:
        """Discard the parts."""

@final
class Table:
    """A table in one state of its metadata."""
    @staticmethod
    def open(files: Files, location: str, recorded: str | None = None) -> Table:
        """Open the table in a folder, or by one of its metadata files; `recorded` is the location of that file in a
        catalog.
        """
    @staticmethod
    def restore(files: Files, metadata_location: str, json: bytes) -> Table:
        """Return the table in a state without a metadata file: that of `to_json`."""
    def to_json(self) -> bytes:
        """Return the metadata of this state."""
    def refresh(self, files: Files, location: str) -> Table:
        """Return the table with its latest metadata."""
    def newest(self, row: CatalogRow | ServerRow | None = None) -> Table:
        """Return the table with its latest metadata, as the base of a change. It is located by the `row` of its
        catalog, if the table has one.
        """
    def check_writable(self, row: CatalogRow | ServerRow | None = None) -> None:
        """Reject a table of a catalog if its `row` is not given."""
    @property
    def files(self) -> Files:
        """Return the locations of the table's files and the rules for which may be read."""
    @property
    def metadata_location(self) -> str:
        """Return the location of the metadata file."""
    @property
    def recorded_location(self) -> str:
        """Return the location of the metadata file that the catalog or the table itself records."""
    @property
    def format_version(self) -> int:
        """Return the format version."""
    def lineage_names(self) -> list[str]:
        """Return the names in data files of `_row_id` and `_last_updated_sequence_number`, which rows keep when they
        are moved; empty before format version 3.
        """
    def metadata_json(self, name: str) -> str:
        """Return one field of the table's metadata as JSON text, by its name in the spec; `null` if the table does
        not have it.
        """
    def snapshot_json(self, snapshot_id: int) -> str:
        """Return one snapshot as JSON text; `null` if the table does not have it."""

@final
class RowWriter:
    """A writer that accepts the rows of users and returns rows for the files of each partition."""
    def __new__(
        cls,
        table: Table,
        *,
        memory_bytes: int,
        lineage_of: Table | None = None,
        operation: tuple[int, str] | None = None,
    ) -> RowWriter:
        """Begin a write to a table."""
    def check_format(self, file_format: str) -> None:
        """Reject columns that cannot be read from data files of a format: `parquet`, `orc` or `avro`."""
    def schema(self) -> pa.Schema:
        """Return the schema of the rows that `split` returns, with field ids, as a `pyarrow.Schema`."""
    def order(self) -> list[tuple[list[int], str, bool, bool]]:
        """Return the sort order of the files."""
    def split(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Return the rows of a batch as `(partition, pyarrow.RecordBatch)`."""
    def next_sorted(self, most_rows: int) -> list[tuple[int, pa.RecordBatch]] | None:
        """Return the next of the rows that waited until all rows were added, by partition; None after the last row."""
    def new_location(self, partition: int, count: int, extension: str) -> str:
        """Return a location for the next file of a partition."""
    def close(
        self,
        partition: int,
        path: str,
        file_format: str,
        size_bytes: int,
        column_sizes: dict[int, int],
        split_offsets: Sequence[int] | None,
    ) -> None:
        """Complete the file of a partition."""
    def written(self) -> tuple[int, int, int]:
        """Return the numbers of written files, rows and bytes."""
    def check(self, table: Table) -> None:
        """Reject rows that the latest state of a table cannot read."""
    def message(self, delta: RowDelta | None = None, matched: bytes = ...) -> bytes:
        """Return a commit message of the written files, the deletions of `delta`, and the matched source rows of a
        merge.
        """
    def sweep(self, files: Files, kept: CommitMessages | None = None) -> int:
        """Delete the files of all tasks of the operation, except those of `kept`, and returns their number."""

def source_batches(table: Table, batches: Sequence[pa.RecordBatch], *, exact: bool) -> list[pa.RecordBatch]:
    """Return the rows of a merge in the types of the table's columns; with `exact`, a column that `append` rejects
    is an error.
    """

@final
class CommitMessages:
    """The commit messages of the workers, to be committed."""
    def __new__(cls, table: Table, messages: Sequence[bytes]) -> CommitMessages:
        """Read the messages of workers, which belong to one commit to the table."""
    def matched(self, index: int) -> bytes:
        """Return which source rows of a merge matched in the message at `index`, one bit per row."""
    def check(self, table: Table) -> None:
        """Reject rows that the latest state of a table cannot read."""
    def written(self) -> tuple[int, int, int]:
        """Return the numbers of written files, rows and bytes."""

@final
class PositionDeletes:
    """Position deletes to be written to one file."""
    @property
    def path(self) -> str:
        """Return the location of the file."""
    def rows(self) -> pa.RecordBatch:
        """Return `file_path` and `pos`, sorted, as a `pyarrow.RecordBatch`."""

@final
class RowDelta:
    """The deleted rows of the data files of a plan."""
    def __new__(cls, planned: Plan | Tasks) -> RowDelta:
        """Begin to delete rows of the planned files."""
    def take(self, messages: CommitMessages, index: int, places: Sequence[int]) -> None:
        """Add the deletions of the message at `index`, whose tasks are at these positions of the plan."""
    def delete_rows(self, index: int, positions: pa.Array, reader: TaskReader) -> None:
        """Delete rows at `positions` (int64) of the data file at `index` of the plan; `reader` has the rows that
        were deleted before.
        """
    def remove_file(self, index: int) -> None:
        """Remove the data file at `index` of the plan."""
    def read_file(self, index: int) -> None:
        """Record that rows of the data file at `index` of the plan were read: concurrent deletes of them conflict."""
    def remove_emptied(self) -> None:
        """Remove the data files that have no rows left."""
    def remove_dangling(self, removed_before: set[int]) -> None:
        """Remove the delete files that apply only to removed data files; the plan must include all data files.
        Earlier commits removed the data files at `removed_before`.
        """
    def staying(self) -> list[int]:
        """Return the data files that have deleted rows and stay, by their positions in the plan."""
    def deleted_rows(self) -> int:
        """Return the number of deleted rows."""
    def is_empty(self) -> bool:
        """Return whether no file has deleted rows."""
    def is_deleted(self, index: int, positions: pa.Array) -> pa.BooleanArray:
        """Return which rows at `positions` (int64) of a data file are deleted, as a `pyarrow.BooleanArray`."""
    def write_vectors(self, table: Table, files: Files) -> str | None:
        """Write a deletion vector for each data file that stays; returns the file that contains them, or None if
        there are none.
        """
    def position_deletes(self, table: Table, by_file: bool) -> list[PositionDeletes]:
        """Return the position delete files to be written, one for each data file or, if `by_file` is false, for each
        partition.
        """
    def add_position_deletes(
        self,
        table: Table,
        deletes: PositionDeletes,
        size_bytes: int,
        column_sizes: Sequence[int],
    ) -> None:
        """Add a position delete file that was written."""

@final
class Attempts:
    """The attempts to make a change, over all commits that are tried for it."""
    def __new__(cls) -> Attempts:
        """Begin a change that has not been tried yet."""
    def again(self, table: Table, row: CatalogRow | ServerRow | None) -> bool:
        """Move on to the next attempt after a conflict. Waits for the backoff time in the properties of `table`, and
        then for a turn among the writers of this machine, which lasts until the commit or `end_turn`. Returns False
        if the properties allow no further attempt.
        """
    def end_turn(self) -> None:
        """End the turn of an attempt that will not be committed."""

class _SnapshotOptions(Protocol):
    """The branch and the summary properties of a snapshot: `SnapshotOptions` of `frazil.iceberg.operations`."""

    @property
    def branch(self) -> str:
        """The branch to commit to."""
    @property
    def properties(self) -> Mapping[str, str]:
        """Additional properties of the snapshot summary."""

class _Filter(Protocol):
    """A row filter: `Filter` of `frazil.iceberg.operations`."""

    @property
    def text(self) -> str:
        """The filter as SQL; empty for all rows."""
    @property
    def case_sensitive(self) -> bool:
        """Whether column names in the filter are case-sensitive."""

class _Validation(Protocol):
    """The conditions that concurrent commits must not violate: `Validation` of `frazil.iceberg.operations`."""

    @property
    def planned_on(self) -> int | None:
        """The snapshot that the change was planned on; None for a branch without snapshots."""
    @property
    def isolation(self) -> str:
        """The isolation level: `serializable` or `snapshot`."""
    @property
    def filter(self) -> _Filter:
        """The filter that rows added by concurrent commits must not match."""
    @property
    def refuses_new_deletes(self) -> bool:
        """Whether concurrent deletes of rows in the replaced files are a conflict."""
    @property
    def passes_over_equality_deletes(self) -> bool:
        """Whether concurrent equality deletes do not conflict, because they also apply to the new files."""
    @property
    def refuses_removals(self) -> bool:
        """Whether every concurrent removal of rows conflicts, because the rows that were read are rewritten."""

class _SnapshotRequest(Protocol):
    """A request for a new snapshot."""

    @property
    def options(self) -> _SnapshotOptions:
        """The branch and the summary properties."""
    @property
    def files(self) -> Sequence[RowWriter | CommitMessages]:
        """The writers and messages with new files."""
    @property
    def delta(self) -> RowDelta | None:
        """The deletes and replaced files; None if there are none."""
    @property
    def replace(self) -> str:
        """The existing files that the new files replace: none, all, or those of the same partitions."""
    @property
    def validation(self) -> _Validation | None:
        """The conditions to validate; None for appends."""
    @property
    def fast(self) -> bool:
        """Whether small manifests are left unmerged."""
    @property
    def operation(self) -> str | None:
        """The operation in the summary, if it is not derived from the files."""
    @property
    def data_sequence_number(self) -> int | None:
        """The data sequence number of new files, if it is not that of the snapshot."""

@final
class SnapshotOutcome:
    """The snapshot that a change created, and the files that it added and removed."""
    @property
    def snapshot_id(self) -> int | None:
        """Return the id of the snapshot; None if there was nothing to do."""
    @property
    def added_files(self) -> int:
        """Return the number of added data files."""
    @property
    def added_records(self) -> int:
        """Return the number of rows in added data files."""
    @property
    def added_bytes(self) -> int:
        """Return the size of added files in bytes."""
    @property
    def added_delete_files(self) -> int:
        """Return the number of added delete files and deletion vectors."""
    @property
    def removed_files(self) -> int:
        """Return the number of removed data files."""
    @property
    def removed_records(self) -> int:
        """Return the number of rows in removed data files."""
    @property
    def removed_delete_files(self) -> int:
        """Return the number of removed delete files and deletion vectors."""

@final
class Transaction:
    """A set of changes to a table that are committed together. Ended by `commit` or `abort`."""
    def __new__(cls, table: Table, row: CatalogRow | ServerRow | None = None) -> Transaction:
        """Begin a transaction on a state of a table; `row` is the pointer in its catalog."""
    @staticmethod
    def creating(
        files: Files,
        location: str,
        schema: str,
        partition_by: Sequence[tuple[str, str | None]],
        sort_order: str,
        format_version: int,
        properties: dict[str, str],
        row: CatalogRow | ServerRow | None = None,
    ) -> Transaction:
        """Begin a transaction whose commit creates a table; see `new_table`."""
    def replace(
        self,
        location: str | None,
        schema: str,
        partition_by: Sequence[tuple[str, str | None]],
        sort_order: str,
        format_version: int | None,
        properties: dict[str, str],
    ) -> None:
        """Replace the definition of the table; None keeps a setting; see `new_table`."""
    def base(self) -> Table:
        """Return the table as it was when the transaction began."""
    def staged(self) -> Table:
        """Return the table with all changes so far, which are visible only to this transaction."""
    def snapshot(self, request: _SnapshotRequest) -> None:
        """Add a snapshot to a branch."""
    def outcomes(self) -> list[SnapshotOutcome]:
        """Return the outcome of each snapshot change. A commit on a newer state changes it."""
    def evolve(self, change: str, known: Table | None = None) -> None:
        """Apply a change of schema, partition spec, sort order, properties or references, given in its wire form.
        `known` is the state that its user knows, if it differs from the one where the transaction began.
        """
    def validate_read(self, snapshot_id: int | None) -> None:
        """Make the commit fail with a conflict if another writer adds or deletes rows on the main branch after this
        snapshot.
        """
    def commit(self, attempts: Attempts) -> tuple[Table, Table | None, int]:
        """Commit all changes as one. Returns the new state; the state that the commit replaced, which is None if
        there was nothing to commit or the table was created; and the number of attempts, including earlier ones.
        """
    @property
    def may_be_committed(self) -> bool:
        """Return whether the changes took effect, or may have: their files must not be deleted."""
    def abort(self) -> None:
        """Abort the transaction and deletes the files that the changes wrote; does nothing after `commit`."""

@final
class AvroWriter:
    """A writer that converts the rows of one Avro data file to bytes."""
    def __new__(cls, rows: RowWriter, codec: str, level: int | None) -> AvroWriter:
        """Begin an Avro file."""
    def write(self, batch: pa.RecordBatch) -> bytes:
        """Write rows and returns the completed bytes."""
    def finish(self) -> bytes:
        """Return the remaining bytes."""

@final
class Scan:
    """A scan that is bound to a snapshot and a schema."""
    def __new__(
        cls,
        table: Table,
        *,
        row_filter: str,
        selected_fields: Sequence[str],
        snapshot: tuple[Literal["id", "as_of"], int] | tuple[Literal["ref"], str] | None,
        append: tuple[int | None, int | None] | None,
        limit: int | None,
        case_sensitive: bool,
        # Appended at the end in this order, whatever the names of the table's columns.
        metadata_columns: Sequence[str] = ...,
    ) -> Scan:
        """Bind a scan to a snapshot and a schema."""
    def schema(self) -> pa.Schema:
        """Return the schema of the rows as a `pyarrow.Schema`."""
    @property
    def snapshot_id(self) -> int | None:
        """Return the snapshot that is read."""
    @property
    def filter(self) -> str:
        """Return the bound filter as SQL."""
    def plan(self, workers: int) -> Plan:
        """Plan the scan on at most `workers` threads."""
    def plan_whole_files(self, workers: int) -> Plan:
        """Plan the scan for an operation that rewrites files, which also reads the rows that do not match the
        filter.
        """

@final
class Plan:
    """The data files of a scan with their deletes."""
    def __len__(self) -> int:
        """Return the number of data files."""
    def task(self, index: int) -> FileScanTask:
        """Return the task of one data file."""
    def task_for(self, index: int, scan: Scan) -> FileScanTask:
        """Return the task of one data file for another scan of the same table, with its columns and its filter."""
    def is_whole(self, index: int) -> bool:
        """Return whether every row of a data file matches by its partition."""
    @property
    def batch_count(self) -> int:
        """Return the number of record batches of `Plan::batch`."""
    def schema(self) -> pa.Schema:
        """Return the schema of the plan as a `pyarrow.Schema`."""
    def batch(self, index: int) -> pa.RecordBatch:
        """Return the files of one manifest as a `pyarrow.RecordBatch`."""
    def metrics(self) -> dict[str, int]:
        """Return the numbers of files that were kept and skipped, by name."""
    def count(self) -> tuple[int, list[int]]:
        """Return the number of rows that can be counted from metadata only, and the tasks whose files must be read
        to count the rest.
        """
    def groups(self, target_bytes: int, open_cost_bytes: int, without: set[int] = ...) -> list[bytes]:
        """Return groups of tasks of about `target_bytes`, each in its wire form as bytes; larger files are split.
        The tasks at the positions in `without` are omitted.
        """
    def whole_groups(
        self, indices: Sequence[int], target_bytes: int, open_cost_bytes: int
    ) -> list[tuple[list[int], bytes]]:
        """Return groups of the tasks at `indices` without splitting files: the positions of the tasks, and the wire
        form as bytes.
        """

@final
class VirtualTable:
    """A table with computed rows."""
    @staticmethod
    def open(
        table: Table | PaimonTable,
        name: str,
        snapshot: tuple[str, int | str] | None = ...,
    ) -> VirtualTable:
        """Open a metadata table or system table; `snapshot` is specified as in `Scan` and `PaimonScan`."""
    @staticmethod
    def of_rows(rows: pa.RecordBatch) -> VirtualTable:
        """Create a table of the rows of a `pyarrow.RecordBatch`."""
    def schema(self) -> pa.Schema:
        """Return all columns as a `pyarrow.Schema`."""
    def scan(self, row_filter: str, selected_fields: Sequence[str], case_sensitive: bool) -> VirtualScan:
        """Bind a filter and a selection of columns."""

@final
class VirtualScan:
    """A read of a virtual table."""
    def schema(self) -> pa.Schema:
        """Return the selected columns as a `pyarrow.Schema`."""
    @property
    def filter(self) -> str:
        """Return the bound filter as SQL."""
    @property
    def snapshot_id(self) -> int | None:
        """Return None: a virtual table shows the state in which it was opened."""
    def plan(self, workers: int) -> VirtualPlan:
        """Plan the parts to read."""
    def file(self, part: bytes) -> tuple[Files, str, str] | None:
        """Return the storage, path and format of the data file with the rows of a part; None if `read` reads it."""
    def open(self, part: bytes, schema: pa.Schema) -> VirtualFile:
        """Begin to read the data file of a part, which has this schema."""
    def read(self, part: bytes) -> VirtualBatches:
        """Begin to read a part."""

@final
class VirtualFile:
    """A reader of the data file of a part."""
    @property
    def wanted(self) -> _Wanted:
        """Return the leaf columns of the file to read, and the top-level columns that contain them."""
    def rows(self, batch: pa.RecordBatch | None, row_count: int) -> pa.RecordBatch | None:
        """Return the matching rows of a batch of the file; None if there are none. `batch` is None if no column is
        read.
        """

@final
class VirtualPlan:
    """The parts of a virtual table."""
    def __len__(self) -> int:
        """Return the number of parts."""
    def part(self, index: int) -> bytes:
        """Return a part, for `VirtualScan.read` in any process."""
    def metrics(self) -> dict[str, int]:
        """Return planning metrics by name."""
    def count(self) -> tuple[int, list[int]]:
        """Return 0 and all parts, because rows are counted by reading them."""
    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Return each part separately, as bytes."""

@final
class VirtualBatches:
    """An iterator over the remaining batches of a part."""
    def next_batch(self) -> pa.RecordBatch | None:
        """Return the next batch as a `pyarrow.RecordBatch`; None at the end."""

@final
class Tasks:
    """A group of tasks, used like a plan from another process."""
    def __new__(cls, content: bytes, files: Files) -> Tasks:
        """Read serialised tasks; `files` determines how their files are accessed."""
    def __len__(self) -> int:
        """Return the number of tasks."""
    def task(self, index: int) -> FileScanTask:
        """Return the task of one data file."""
    def task_for(self, index: int, scan: Scan) -> FileScanTask:
        """Return the task of one data file for another scan of the same table, with its columns and its filter."""
    def is_whole(self, index: int) -> bool:
        """Return whether every row matches by its partition, which was checked when the tasks were planned."""

@final
class FileScanTask:
    """One data file with its deletes."""
    @staticmethod
    def from_bytes(content: bytes, files: Files) -> list[FileScanTask]:
        """Deserialise tasks; files are read through the storage of `files`."""
    def to_bytes(self) -> bytes:
        """Return the wire form of this task."""
    @property
    def file_path(self) -> str:
        """The location of the file."""
    @property
    def file_format(self) -> Literal["PARQUET", "ORC", "AVRO", "PUFFIN"]:
        """The file format: `PARQUET`, `ORC`, `AVRO` or `PUFFIN`."""
    @property
    def record_count(self) -> int:
        """The number of records."""
    @property
    def file_size_in_bytes(self) -> int:
        """The size of the file in bytes."""
    @property
    def spec_id(self) -> int:
        """The id of the partition spec."""
    @property
    def sequence_number(self) -> int:
        """The data sequence number."""
    @property
    def first_row_id(self) -> int | None:
        """The row id of the first row; None if the file has no row ids."""
    @property
    def partition(self) -> list[tuple[str, str | None]]:
        """Return the partition tuple: names, and values as SQL text, with None for NULL."""
    @property
    def delete_files(self) -> list[DeleteFile]:
        """The delete files that apply to the data file."""
    @property
    def residual(self) -> str:
        """Return the residual filter for this file as SQL."""
    def schema(self) -> pa.Schema:
        """Return the schema of the rows as a `pyarrow.Schema`."""
    def reader(self, beside: FileScanTask | None = None) -> TaskReader:
        """Begin to read the task. With `beside`, another task of the same file, both accept the same batches."""
    @property
    def files(self) -> Files:
        """Return the files through which the task is read."""

@final
class ChangeScan:
    """A read of changes that is bound to snapshots and a schema."""
    def __new__(
        cls,
        table: Table,
        *,
        row_filter: str,
        selected_fields: list[str],
        case_sensitive: bool,
        snapshots: tuple[int | None, int | None],
        mode: str,
        identifier_columns: list[str],
    ) -> ChangeScan:
        """Bind a read of changes to snapshots and a schema."""
    def schema(self) -> pa.Schema:
        """Return the schema of the changes as a `pyarrow.Schema`."""
    @property
    def snapshot_id(self) -> int | None:
        """Return the last snapshot of the range."""
    @property
    def filter(self) -> str:
        """Return the bound filter as SQL."""
    def plan(self, workers: int) -> ChangePlan:
        """Plan the scan on at most `workers` threads."""

@final
class ChangePlan:
    """The files to read, in stages."""
    def __len__(self) -> int:
        """Return the number of stages."""
    def stage(self, index: int) -> ChangeStage:
        """Return a stage."""
    def metrics(self) -> dict[str, int]:
        """Return planning metrics by name."""
    def count(self) -> tuple[int, list[int]]:
        """Return 0 and all stages, because changes are counted by reading them."""
    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Return the wire forms of the units that can be read separately: stages whose rows are paired, and the
        files of other stages.
        """

@final
class ChangeStage:
    """A set of files that are read together, or that can each be read separately."""
    @staticmethod
    def from_bytes(content: bytes, files: Files) -> ChangeStage:
        """Deserialise a stage; files are read through the storage of `files`."""
    def __len__(self) -> int:
        """Return the number of tasks."""
    def schema(self) -> pa.Schema:
        """Return the schema of the changes as a `pyarrow.Schema`."""
    def task(self, index: int) -> ChangeTask:
        """Return a file of the stage."""
    def pairs(self, memory_bytes: int) -> ChangePairs | None:
        """Return the pairing of the stage's rows, with about `memory_bytes` of them in memory; None if each file can
        be read separately.
        """

@final
class ChangeTask:
    """A data file in which a snapshot changed rows."""
    @property
    def ordinal(self) -> int:
        """Return the number of the snapshot in the range."""
    @property
    def snapshot_id(self) -> int:
        """Return the snapshot."""
    @property
    def before(self) -> FileScanTask | None:
        """Return the file with its deletes before the snapshot; None if the snapshot added it."""
    @property
    def after(self) -> FileScanTask | None:
        """Return the file with its deletes after the snapshot; None if the snapshot removed it."""
    def rows(self, before: pa.RecordBatch | None, after: pa.RecordBatch | None) -> pa.RecordBatch | None:
        """Return the changes among the rows that both readers returned; None if there are none."""

@final
class ChangePairs:
    """A pairing of the rows of a stage of changes."""
    def push(self, rows: pa.RecordBatch) -> None:
        """Add rows that `ChangeTask.rows` returned."""
    def next_batch(self) -> pa.RecordBatch | None:
        """Return the next changes; None after the last ones."""

@final
class DeleteFile:
    """A delete file, or a deletion vector in a Puffin file."""
    @property
    def file_path(self) -> str:
        """The location of the file."""
    @property
    def file_format(self) -> Literal["PARQUET", "ORC", "AVRO", "PUFFIN"]:
        """The file format: `PARQUET`, `ORC`, `AVRO` or `PUFFIN`."""
    @property
    def content(self) -> int:
        """Return 1 for position deletes, 2 for equality deletes."""
    @property
    def record_count(self) -> int:
        """The number of records."""
    @property
    def file_size_in_bytes(self) -> int:
        """The size of the file in bytes."""
    @property
    def sequence_number(self) -> int:
        """The data sequence number."""
    @property
    def spec_id(self) -> int:
        """The id of the partition spec."""
    @property
    def equality_ids(self) -> list[int]:
        """The field ids of the key of equality deletes; empty for other deletes."""
    @property
    def referenced_data_file(self) -> str | None:
        """The data file that all deletes reference; None if they reference several."""
    @property
    def content_offset(self) -> int | None:
        """The offset of the deletion vector in its file; None for a whole file."""
    @property
    def content_size_in_bytes(self) -> int | None:
        """The size in bytes of the deletion vector in its file; None for a whole file."""

@final
class TaskReader:
    """A reader of one task."""
    def schema(self) -> pa.Schema:
        """Return the schema of the rows as a `pyarrow.Schema`."""
    @property
    def is_empty(self) -> bool:
        """Return whether no row can match."""
    def pending_deletes(self) -> list[DeleteFile]:
        """Return the delete files that must be pushed first."""
    def open_deletes(self, file: DeleteFile, schema: pa.Schema) -> DeleteReader:
        """Open a delete file with this schema."""
    def push_deletes(self, deletes: DeleteReader, batch: pa.RecordBatch) -> None:
        """Add rows of a delete file."""
    def finish_deletes(self, deletes: DeleteReader) -> None:
        """Complete a delete file."""
    def open(self, schema: pa.Schema) -> _Wanted:
        """Open the data file with this schema; returns the leaf columns to read and the top-level columns that
        contain them.
        """
    def statistics_leaves(self) -> list[int]:
        """Return the leaf columns whose statistics `TaskReader::select_row_groups` needs."""
    def select_row_groups(self, groups: Sequence[_RowGroup]) -> list[bool]:
        """Return which row groups may hold matching rows; each is given by its row count, the offset of its first
        page, and its statistics.
        """
    def check_rows(self, rows: int) -> None:
        """Reject a file whose number of rows differs from that in its manifest."""
    def apply(self, batch: pa.RecordBatch | None, first_position: int, row_count: int) -> pa.RecordBatch | None:
        """Convert `row_count` rows of the file, beginning at row `first_position`, to rows of the scan; None if no
        rows are left. `batch` is None if no column is to be read.
        """

@final
class DeleteReader:
    """A reader of one delete file of a task."""
    @property
    def wanted(self) -> _Wanted:
        """Return the leaf columns to read and the top-level columns that contain them."""

@final
class BatchReader:
    """A reader of a data file without pyarrow."""
    def __new__(cls, files: Files, path: str, file_format: Literal["AVRO", "ORC"]) -> BatchReader:
        """Open a data file."""
    def schema(self) -> pa.Schema:
        """Return the schema of the file, with field ids, as a `pyarrow.Schema`."""
    def begin(self, columns: Sequence[int], batch_rows: int) -> None:
        """Begin to read these top-level columns in batches of about `batch_rows`."""
    def next_batch(self) -> pa.RecordBatch | None:
        """Return the next batch as a `pyarrow.RecordBatch`; None at the end."""

@final
class PaimonTable:
    """A table with its latest schema."""
    @staticmethod
    def open(files: Files, location: str, branch: str | None) -> PaimonTable:
        """Open the table in a folder, on a given branch or on the main one."""
    def refresh(self) -> PaimonTable:
        """Return the table with its latest schema."""
    @property
    def location(self) -> str:
        """Return the folder of the table."""
    @property
    def branch(self) -> str:
        """Return the branch that is read."""
    def source_batches(self, batches: Sequence[pa.RecordBatch], *, exact: bool) -> list[pa.RecordBatch]:
        """Return the rows of a merge in the types of the table's columns; with `exact`, a column that `append`
        rejects is an error.
        """
    def hides_new_rows(self) -> bool:
        """Return whether readers see new rows only after a compaction."""
    def moves_keys(self) -> bool:
        """Return whether a key can move to another partition, because the primary key lacks a partition column."""
    def has_waiting_rows(self) -> bool:
        """Return whether rows may wait for a compaction that assigns them to buckets."""
    def schema_ids(self) -> list[int]:
        """Return the ids of all schemas in ascending order."""
    def snapshot_ids(self) -> list[int]:
        """Return the ids of all snapshots in ascending order."""
    def schema_json(self, schema_id: int | None) -> str:
        """Return a schema as JSON; the latest for None."""
    def snapshot_json(self, snapshot_id: int | None) -> str:
        """Return a snapshot as JSON; the latest for None, `null` if there is no snapshot."""
    def tags_json(self) -> str:
        """Return the tags as a JSON object of names and file contents."""
    def branches(self) -> list[str]:
        """Return the branches other than the main one, sorted."""
    def consumers_json(self) -> str:
        """Return the consumers as a JSON object of names and next snapshots."""
    def manage_references(self, change: str, utc_offset_ms: int) -> None:
        """Change tags and branches by operations in JSON."""
    def mark_partitions_done(self, partitions: Sequence[Mapping[str, str | None]]) -> None:
        """Write the `_SUCCESS` files of partitions, which are given by the values of all partition columns as text."""
    def alter(self, changes: str, lock: object | None) -> PaimonTable:
        """Apply schema changes, which are given as a JSON array of operations, to the latest schema. Returns the
        table with the new schema. `lock` is held while the schema is published.
        """
    def bucket_ids(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the bucket of each row as a `pyarrow.Array`; columns are matched by name."""

@final
class PaimonFileSpec:
    """The encoding of data files."""
    @property
    def format(self) -> Literal["parquet", "orc", "avro"]:
        """Return the file format: `parquet`, `orc` or `avro`."""
    @property
    def codec(self) -> str:
        """Return the compression codec, by its name in the format's writer."""
    @property
    def level(self) -> int | None:
        """Return the compression level; None for the default of the codec."""
    @property
    def target_file_bytes(self) -> int:
        """Return the target size of a file in bytes."""
    @property
    def row_group_bytes(self) -> int:
        """Return the target size of a row group or a stripe in bytes."""

@final
class PaimonRows:
    """A writer that accepts the rows of users and returns rows for files."""
    def __new__(
        cls,
        table: PaimonTable,
        *,
        memory_bytes: int,
        utc_offset_ms: int,
        overwrites: bool,
        assigns_buckets: bool = False,
        name: str | None = None,
    ) -> PaimonRows:
        """Begin a write to a table."""
    def changelog(self) -> PaimonRows | None:
        """Return the changelog files of the write, whose rows are returned after each `next_sorted` of the data
        files. None if there are none.
        """
    def file(self) -> PaimonFileSpec:
        """Return the encoding of the files."""
    def avro_writer(self, codec: str, level: int | None) -> AvroWriter:
        """Begin an Avro file. Codecs have Avro's names."""
    def input_schema(self) -> pa.Schema:
        """Return the columns that `split` accepts, as a `pyarrow.Schema`."""
    def schema(self) -> pa.Schema:
        """Return the columns of files, with field ids, as a `pyarrow.Schema`."""
    def restored_keys(self) -> tuple[list[str], int] | None:
        """Return the columns and the snapshot of the keys that must be passed to `restore_keys` before the first
        row. None if keys cannot move to another partition.
        """
    def restore_keys(self, split: PaimonSplit, keys: pa.RecordBatch) -> None:
        """Add keys that were read from a split."""
    def split(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Return the rows of a batch as `(slot, pyarrow.RecordBatch)`."""
    def next_sorted(self, most_rows: int) -> list[tuple[int, pa.RecordBatch]] | None:
        """Return the next of the rows that waited until all rows were added; None after the last row."""
    def new_location(self, partition: int, count: int, extension: str) -> str:
        """Return a location for the next file of a slot."""
    def close(
        self,
        partition: int,
        path: str,
        file_format: str,
        size_bytes: int,
        column_sizes: dict[int, int],
        split_offsets: Sequence[int] | None,
    ) -> None:
        """Complete the file of a slot."""
    def abort(self) -> None:
        """Delete the files that were written here, which are indexes next to data files."""
    def written(self) -> tuple[int, int, int]:
        """Return the numbers of written files, rows and bytes."""
    def messages(self) -> list[bytes]:
        """Return the written files as commit messages, one for each bucket."""

@final
class PaimonCommit:
    """A commit of the output of writers."""
    def __new__(
        cls,
        table: PaimonTable,
        *,
        user: str,
        identifier: int | None = None,
        watermark: int | None = None,
        properties: dict[str, str] = ...,
        overwrite: Literal["table", "partitions", "dynamic"] | None = None,
        partitions: Sequence[dict[str, str | None]] = ...,
        # Has `acquire() -> float | None`, which returns the seconds to wait before the next attempt, and `release()`.
        lock: object | None = None,
    ) -> PaimonCommit:
        """Begin a commit to a table."""
    def commit(self, messages: Sequence[bytes]) -> PaimonCommitResult:
        """Commit messages and returns the result."""
    def record_statistics(self, schema_id: int, content: str) -> PaimonCommitResult:
        """Record the content of a statistics file, which belongs to a schema. Returns the result."""
    def compact_manifests(self) -> PaimonCommitResult:
        """Merge the manifests of the latest snapshot and returns the result."""
    @property
    def max_retries(self) -> int:
        """Return how often the commit is retried (`commit.max-retries`)."""
    def back_off(self, number: int) -> bool:
        """Wait before the `number`-th time that the operation is planned again; returns false if the attempts are
        used up.
        """
    @property
    def may_be_committed(self) -> bool:
        """Return whether the files of the messages may be part of the table."""
    def abort(self, messages: Sequence[bytes]) -> int:
        """Delete the files of uncommitted messages and returns their number."""
    def sweep(self, operation: str, kept: Sequence[bytes]) -> int:
        """Delete the files of writers whose name begins with `operation`, except those of the messages, and returns
        their number.
        """

@final
class PaimonExpiry:
    """An expiry of snapshots; None for the options of the table."""
    def __new__(
        cls,
        *,
        older_than_ms: int | None,
        retain_max: int | None,
        retain_min: int | None,
        max_deletes: int | None,
    ) -> PaimonExpiry:
        """Create an expiry that does not depend on when it is carried out."""
    def plan(self, table: PaimonTable) -> tuple[list[int], pa.RecordBatch]:
        """Return the ids of the snapshots that expire, and the files that only they reference: `kind`, `location`
        and `size_bytes` of each, in the order in which they are deleted.
        """
    def due(self, table: PaimonTable, latest: int) -> list[int]:
        """Return the ids of the snapshots that expire. `latest` is a snapshot that was just committed."""
    def apply(self, table: PaimonTable, last: int | None) -> tuple[list[int], pa.RecordBatch]:
        """Delete the snapshots that expire, up to `last` if it is given. Returns their ids, and the files that can
        be deleted then.
        """

@final
class PaimonAnalysis:
    """The statistics of a table, to which its rows are added."""
    def __new__(cls, table: PaimonTable, columns: Sequence[str] | None) -> PaimonAnalysis:
        """Create the statistics of columns; None for all columns that are not nested."""
    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows with these columns."""
    def finish(self, snapshot_id: int, rows: int) -> tuple[int, str]:
        """Return the id of the schema that the statistics belong to, and the content of their file. `rows` is the
        number of rows of the table in the snapshot.
        """

@final
class PaimonListing:
    """The contents of the folder of a table."""
    def __new__(cls, table: PaimonTable, older_than_ms: int, workers: int) -> PaimonListing:
        """List the folder of a table; files that were modified before `older_than_ms` may be orphan files."""
    def __len__(self) -> int:
        """Return the number of files."""
    @property
    def size_bytes(self) -> int:
        """Return the total size of all files in bytes."""
    def orphans(self, table: PaimonTable) -> pa.RecordBatch:
        """Return the old files that nothing references: `kind`, `location` and `size_bytes` of each. The table must
        have been loaded after the listing.
        """

@final
class PaimonRollback:
    """A rollback to an earlier state."""
    def __new__(cls, snapshot: tuple[str, int | str]) -> PaimonRollback:
        """Create a rollback to a snapshot, a tag or the state at a time."""
    def plan(self, table: PaimonTable) -> tuple[int, list[int], list[str]]:
        """Return the id of the snapshot that becomes the latest one, and the snapshots and tags that are deleted."""
    def apply(self, table: PaimonTable) -> tuple[int, list[int], list[str]]:
        """Perform the rollback. Returns the id of the snapshot, and the deleted snapshots and tags."""

@final
class PaimonCommitResult:
    """The snapshots of a commit, and the files that it added and removed: those of the write, or those of the
    compaction if nothing was written.
    """
    @property
    def snapshot_ids(self) -> list[int]:
        """Return the ids of the snapshots in ascending order; empty if there was nothing to commit."""
    @property
    def attempts(self) -> int:
        """Return the number of attempts; 0 if there was nothing to commit, or if it was already committed."""
    @property
    def added_files(self) -> int:
        """Return the number of added data files."""
    @property
    def added_rows(self) -> int:
        """Return the number of rows in added data files, including deletes."""
    @property
    def added_bytes(self) -> int:
        """Return the size of added data files in bytes."""
    @property
    def lost(self) -> list[int]:
        """Return the positions of the messages whose compaction was not committed, because another writer changed
        the bucket.
        """
    @property
    def failure(self) -> BaseException | None:
        """Return why the compaction failed as a whole after the written files were committed; None if it did not."""
    @property
    def removed_files(self) -> int:
        """Return the number of removed data files."""
    @property
    def removed_rows(self) -> int:
        """Return the number of rows in removed data files."""

@final
class PaimonCompaction:
    """A task that rewrites some files of one bucket."""
    @staticmethod
    def plan(
        table: PaimonTable,
        *,
        full: bool,
        partitions: Sequence[dict[str, str | None]],
        row_filter: str,
        utc_offset_ms: int,
        buckets: Sequence[bytes] | None,
        appended: Literal["added", "replacing"] | None,
        of_writer: bool,
        identifier: int | None,
    ) -> tuple[list[PaimonCompaction], list[bytes]]:
        """Return the compactions of the latest snapshot: those that are due, or with `full` all that reduce the
        number of files. Also returns commit messages of files whose level only changes. `partitions` are values of
        partition columns as text; empty for all partitions. `row_filter` applies to partition columns. `buckets` are
        commit messages, to whose buckets the compaction is limited; None for all. The files that they append are
        `added` to the bucket or `replacing` its files if they are not yet part of the table, else None. `of_writer`
        is whether their writer compacts, which it does not if the table leaves compaction to a dedicated job;
        `identifier` is the number of its commit.
        """
    @staticmethod
    def waiting_rows(
        table: PaimonTable, *, partitions: Sequence[dict[str, str | None]], row_filter: str
    ) -> tuple[list[PaimonSplit], list[bytes]]:
        """Return the reads of rows that wait for buckets, with one split for each partition, and the commit messages
        that remove their files. `partitions` and `row_filter` are as for `plan`.
        """
    def reads(self) -> list[PaimonSplit]:
        """Return the files to read, as one split for each group of files that become one sorted run."""
    def begin(self, group: int) -> None:
        """Begin the rows of a split, by its number."""
    def changelog(self) -> PaimonCompaction | None:
        """Return the changelog files of the compaction, whose rows are returned after each `split` of the data
        files. None if there are none.
        """
    def file(self) -> PaimonFileSpec:
        """Return the encoding of the files."""
    def avro_writer(self, codec: str, level: int | None) -> AvroWriter:
        """Begin an Avro file. Codecs have Avro's names."""
    def schema(self) -> pa.Schema:
        """Return the columns of files, with field ids, as a `pyarrow.Schema`."""
    def split(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Return rows of the current split as `(number of the split, pyarrow.RecordBatch)`."""
    def next_sorted(self, most_rows: int) -> list[tuple[int, pa.RecordBatch]] | None:
        """Return the next rows of changelog files as `(number of the split, pyarrow.RecordBatch)`. None if no rows
        wait.
        """
    def new_location(self, partition: int, count: int, extension: str) -> str:
        """Return a location for the next file."""
    def close(
        self,
        partition: int,
        path: str,
        file_format: str,
        size_bytes: int,
        column_sizes: dict[int, int],
        split_offsets: Sequence[int] | None,
    ) -> None:
        """Complete the file."""
    def abort(self) -> None:
        """Delete the files that were written here, which are indexes next to data files."""
    def written(self) -> tuple[int, int, int]:
        """Return the numbers of written files, rows and bytes."""
    def message(self) -> bytes:
        """Return the commit message of the bucket."""

@final
class PaimonScan:
    """A scan that is bound to a snapshot and a schema."""
    def __new__(
        cls,
        table: PaimonTable,
        *,
        view: Literal["rows", "read-optimized", "audit-log", "binlog", "row-tracking"],
        row_filter: str,
        selected_fields: Sequence[str],
        snapshot: tuple[Literal["id", "as_of"], int] | tuple[Literal["ref"], str] | None,
        options: dict[str, str],
        limit: int | None,
        case_sensitive: bool,
    ) -> PaimonScan:
        """Bind a scan to a snapshot and a schema."""
    def schema(self) -> pa.Schema:
        """Return the schema of the rows as a `pyarrow.Schema`."""
    @property
    def snapshot_id(self) -> int | None:
        """Return the snapshot that is read, or the last one of an incremental read."""
    @property
    def filter(self) -> str:
        """Return the bound filter as SQL."""
    def plan(self, workers: int) -> PaimonPlan:
        """Plan the scan on at most `workers` threads."""
    def rewrites(self, *, utc_offset_ms: int) -> PaimonRewrites:
        """Plan the data files whose rows may match, to write those again that have changed rows. The table must not
        have a primary key.
        """

@final
class PaimonRewrites:
    """The data files of a scan, each of which may be rewritten."""
    def __len__(self) -> int:
        """Return the number of files."""
    def matches_all(self, index: int) -> bool:
        """Return whether all rows of a file match the filter of the scan, as far as is known without reading the
        file.
        """
    def file(self, index: int) -> tuple[PaimonSplit, PaimonCompaction, ChangedRows]:
        """Return a file: the split with the columns of the scan and the positions of its rows, the task that
        replaces the file, and its changed rows. The task reads the whole rows and their positions.
        """
    def marks_rows(self) -> bool:
        """Return whether deletion vectors mark the changed rows. Otherwise the files are rewritten."""
    def mark(self, index: int, changed: ChangedRows) -> None:
        """Mark the changed rows of a file as deleted."""
    def remove(self, index: int) -> None:
        """Remove the vector of a file that is removed or rewritten."""
    def messages(self) -> list[bytes]:
        """Write the vectors. Returns the commit messages of their buckets."""
    def abort(self) -> None:
        """Delete the written files of vectors."""

@final
class ChangedRows:
    """The positions of the changed rows of a data file."""
    def add(self, positions: pa.Array) -> None:
        """Add positions."""
    def add_selected(self, positions: pa.Array) -> None:
        """Add positions of rows that were selected in an earlier read, none of which may be deleted."""
    def add_all(self) -> None:
        """Add the positions of all rows."""
    def mask(self, positions: pa.Array) -> pa.BooleanArray:
        """Return which of the rows at these positions change, as a Boolean array."""
    def is_whole(self) -> bool:
        """Return whether all rows of the file change."""
    def __len__(self) -> int:
        """Return the number of changed rows."""

@final
class PaimonChangeScan:
    """A read of changes that is bound to snapshots and a schema."""
    def __new__(
        cls,
        table: PaimonTable,
        *,
        row_filter: str,
        selected_fields: list[str],
        case_sensitive: bool,
        snapshots: tuple[int | None, int | None],
        mode: str,
        identifier_columns: list[str],
    ) -> PaimonChangeScan:
        """Bind a read of changes to snapshots and a schema."""
    def schema(self) -> pa.Schema:
        """Return the schema of the changes as a `pyarrow.Schema`."""
    @property
    def snapshot_id(self) -> int | None:
        """Return the last snapshot of the range."""
    @property
    def filter(self) -> str:
        """Return the bound filter as SQL."""
    def plan(self, workers: int) -> PaimonChangePlan:
        """Plan the read on at most `workers` threads."""

@final
class PaimonChangePlan:
    """The splits to read, in stages."""
    def __len__(self) -> int:
        """Return the number of stages."""
    def stage(self, index: int) -> PaimonChangeStage:
        """Return a stage."""
    def metrics(self) -> dict[str, int]:
        """Return planning metrics by name."""
    def count(self) -> tuple[int, list[int]]:
        """Return 0 and all stages, because changes are counted by reading them."""
    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Return the wire forms of the units that can be read separately: stages whose rows are paired, and the
        splits of other stages.
        """

@final
class PaimonChangeStage:
    """A set of splits of one commit that are read together, or that can each be read separately."""
    @staticmethod
    def from_bytes(content: bytes, files: Files) -> PaimonChangeStage:
        """Deserialise a stage; files are read through the storage of `files`."""
    def __len__(self) -> int:
        """Return the number of splits."""
    @property
    def ordinal(self) -> int:
        """Return the number of the snapshot in the range."""
    @property
    def snapshot_id(self) -> int:
        """Return the snapshot."""
    def schema(self) -> pa.Schema:
        """Return the schema of the changes as a `pyarrow.Schema`."""
    def split(self, index: int) -> tuple[Literal["changelog", "before", "after"], PaimonSplit]:
        """Return a split and its origin: `changelog`, `before` or `after` the commit."""
    def rows(self, index: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a split with the change columns."""
    def pairs(self, memory_bytes: int) -> ChangePairs | None:
        """Return the pairing of the stage's rows, with about `memory_bytes` of them in memory; None if each split
        can be read separately.
        """

@final
class PaimonPlan:
    """The splits of a scan."""
    def __len__(self) -> int:
        """Return the number of splits."""
    def split(self, index: int) -> PaimonSplit:
        """Return one split."""
    @staticmethod
    def schema() -> pa.Schema:
        """Return the schema of the plan as a `pyarrow.Schema`."""
    def batches(self) -> list[pa.RecordBatch]:
        """Return the files of the plan as `pyarrow.RecordBatch`es."""
    def metrics(self) -> dict[str, int]:
        """Return the numbers of files that were kept and skipped, by name; levels are included only if they have
        files.
        """
    def count(self) -> tuple[int, list[int]]:
        """Return the number of rows that can be counted from metadata only, and the splits that must be read to
        count the rest.
        """
    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Return groups of splits of about `target_bytes`, each in its wire form as bytes."""

@final
class PaimonSplit:
    """Files of one bucket that are read together."""
    @staticmethod
    def from_bytes(content: bytes, files: Files) -> list[PaimonSplit]:
        """Deserialise splits; files are read through the storage of `files`."""
    def to_bytes(self) -> bytes:
        """Return the wire form of this split."""
    @property
    def snapshot_id(self) -> int:
        """The id of the snapshot."""
    @property
    def partition(self) -> list[tuple[str, str | None]]:
        """Return the partition: names, and values as SQL text, with None for NULL."""
    @property
    def partition_values(self) -> list[tuple[str, str | None]]:
        """Return the partition as an overwrite accepts it: names, and values as text, with None for NULL."""
    @property
    def bucket(self) -> int:
        """The bucket."""
    @property
    def total_buckets(self) -> int:
        """The number of buckets of the partition."""
    @property
    def raw_convertible(self) -> bool:
        """Whether the files can be read without merging."""
    def data_files(self) -> list[PaimonDataFile]:
        """Return the data files."""
    def deletion_files(self) -> list[PaimonDeletionFile | None]:
        """Return the locations of the deletion vectors of the data files, in order."""
    def schema(self) -> pa.Schema:
        """Return the schema of the rows as a `pyarrow.Schema`."""
    def reader(self) -> SplitReader:
        """Begin to read the split."""
    @property
    def files(self) -> Files:
        """Return the files through which the split is read."""

@final
class PaimonDataFile:
    """A data file of a split."""
    @property
    def file_path(self) -> str:
        """The location of the file."""
    @property
    def file_name(self) -> str:
        """The name of the file."""
    @property
    def file_format(self) -> Literal["PARQUET", "ORC", "AVRO", "BLOB"]:
        """Return the format in upper case, derived from the file name."""
    @property
    def file_size_in_bytes(self) -> int:
        """The size of the file in bytes."""
    @property
    def row_count(self) -> int:
        """The number of rows."""
    @property
    def level(self) -> int:
        """The level in the LSM tree."""
    @property
    def schema_id(self) -> int:
        """The id of the schema that the file was written with."""
    @property
    def min_sequence_number(self) -> int:
        """The smallest sequence number."""
    @property
    def max_sequence_number(self) -> int:
        """The greatest sequence number."""
    @property
    def delete_row_count(self) -> int | None:
        """The number of records that delete; None if it is unknown."""
    @property
    def first_row_id(self) -> int | None:
        """The row id of the first row; None if the file has no row ids."""
    @property
    def extra_files(self) -> list[str]:
        """The names of the additional files, such as file indexes."""

@final
class PaimonDeletionFile:
    """The location of a data file's deletion vector."""
    @property
    def path(self) -> str:
        """The location of the file."""
    @property
    def offset(self) -> int:
        """The offset of the deletion vector in the file."""
    @property
    def length(self) -> int:
        """The length of the deletion vector in bytes."""
    @property
    def cardinality(self) -> int | None:
        """The number of deleted rows; None if it is unknown."""

@final
class SplitReader:
    """A reader of one split."""
    def schema(self) -> pa.Schema:
        """Return the schema of the rows as a `pyarrow.Schema`."""
    def step(self) -> pa.RecordBatch | tuple[Literal["open", "read"], int] | None:
        """Advance the read: `("open", file)` and `("read", file)` request a file, a `pyarrow.RecordBatch` contains
        rows, and None is the end.
        """
    def file(self, index: int) -> tuple[str, str, bool]:
        """Return the location and format of a file, and whether it has nanosecond timestamps."""
    def open(self, index: int, schema: pa.Schema) -> _Wanted:
        """Set the schema of an opened file; returns the leaf columns to read and the top-level columns that contain
        them.
        """
    def push(self, index: int, position: int, batch: pa.RecordBatch | None, rows: int) -> None:
        """Add rows of a file that begin at row `position`; `batch` is None if no column is to be read."""
    def end(self, index: int) -> None:
        """Complete a file."""

def is_storage_option(name: str) -> bool:
    """Return whether a name is that of a store option, such as `s3.endpoint`."""

def cache_stats() -> tuple[int, int, int, int, int]:
    """Return hits, misses, evictions, entries and bytes."""

def cache_clear() -> None:
    """Remove all entries."""

def cache_limit(size_bytes: int) -> None:
    """Set the size limit in bytes and evicts entries that exceed it."""

def int96_timestamps(files: Files, path: str, column: str, leaf: int, row_groups: Sequence[int]) -> pa.Array:
    """Return the exact INT96 timestamps of a leaf column of a Parquet file in these row groups; `column` is its
    name.
    """

def kept_rows(blob: bytes, row_count: int) -> pa.Array:
    """Return the mask of the rows that a blob does not delete."""

def deleted_positions(blob: bytes) -> pa.Array:
    """Return the positions in a blob, in ascending order."""

def encode_positions(positions: pa.Array) -> bytes:
    """Encode positions as a blob."""

def apply_transform(transform: str, array: pa.Array) -> pa.Array:
    """Apply a transform, by its text in the spec, to an Arrow array."""

def encode_variant(value: object) -> tuple[bytes, bytes]:
    """Return the metadata and the value of a variant: None, a bool, an int of 64 bits, a float, a str, bytes, a
    list, a dict with str keys, or a tuple of a type and its parts: `("decimal", unscaled, scale)`, `("date", days)`
    or `("timestamp", units, is_nanoseconds, is_instant)`.
    """

def variant_to_json(array: pa.Array) -> pa.Array:
    """Convert an array of variants (structs of `metadata` and `value`) to JSON text."""

def normalize_predicate(text: str) -> str:
    """Parse a predicate and prints it again, for messages and tests."""

@final
class TableProperty:
    """A table property."""
    @property
    def key(self) -> str:
        """Return the key; for a column property, the part before the column name."""
    @property
    def is_of_column(self) -> bool:
        """Return whether the key ends with a column name."""
    @property
    def default(self) -> str | None:
        """Return the default value, or None."""
    @property
    def values(self) -> str:
        """Return a description of the accepted values."""
    @property
    def is_used(self) -> bool:
        """Return whether frazil uses it; otherwise its value is checked and kept for other engines."""
    @property
    def doc(self) -> str:
        """Return the description."""
    def check(self, value: str) -> None:
        """Check a value of the property."""

@final
class SpecFeature:
    """A section of a specification."""
    @property
    def section(self) -> str:
        """Return the name of the section."""
    @property
    def modules(self) -> list[str]:
        """Return the modules that implement it."""
    @property
    def proof(self) -> list[str]:
        """Return the golden tables (`*` is a wildcard) or the tests that cover the feature."""
    @property
    def read(self) -> str:
        """Return a description of whether tables with the feature can be read."""
    @property
    def write(self) -> str:
        """Return a description of whether the feature can be written."""

def iceberg_features() -> list[SpecFeature]:
    """Return the sections of the Iceberg specification."""

def paimon_features() -> list[SpecFeature]:
    """Return the sections of the Paimon specification."""

def table_properties() -> list[TableProperty]:
    """Return all table properties, by key."""

def table_property(key: str) -> TableProperty | None:
    """Return the table property for a key, or None."""

def paimon_create(files: Files, location: str, definition: str) -> PaimonTable:
    """Create a table in a folder without a table. The definition is JSON with the members `fields`, `partitionKeys`,
    `primaryKeys`, `options` and `comment` of a schema file.
    """

def filter_batch(schema_json: str, row_filter: str, batch: pa.RecordBatch, *, case_sensitive: bool) -> pa.RecordBatch:
    """Return the rows that a filter keeps. The filter is bound to the columns of a Paimon schema; columns of the
    batch are matched by name.
    """

def schema_json(schema: pa.Schema) -> str:
    """Return the JSON of the Iceberg schema for the rows of an Arrow schema, with new ids."""

def typed_schema_json(columns: Sequence[tuple[str, str]]) -> str:
    """Return the JSON of the schema of columns with these names and types, with new ids."""

def selected_schema_json(schema: str, names: Sequence[str], case_sensitive: bool) -> str:
    """Return the JSON of the schema with only these columns, selected like `selected_fields` of a scan."""

def schema_arrow(schema: str) -> pa.Schema:
    """Return the Arrow schema of the rows of a schema as a `pyarrow.Schema`."""

def create_table(
    files: Files,
    location: str,
    schema: str,
    partition_by: Sequence[tuple[str, str | None]],
    sort_order: str,
    format_version: int,
    properties: dict[str, str],
    row: CatalogRow | ServerRow | None = None,
) -> Table:
    """Create a table in a folder without a table, or in a catalog whose `row` references no table; see `new_table`."""

def owned_files(table: Table, workers: int) -> pa.RecordBatch:
    """Return every file of a table as a `pyarrow.RecordBatch` of `kind`, `location` and `size_bytes`."""

def unreachable_files(before: Table, after: Table, workers: int) -> pa.RecordBatch:
    """Return the files that are not referenced in `after`, a later state of the same table; the columns are those of
    `owned_files`.
    """

@final
class Listing:
    """The contents of a folder."""
    def __new__(cls, table: Table, folder: str, older_than_ms: int, workers: int) -> Listing:
        """List a folder of a table."""
    def __len__(self) -> int:
        """Return the number of files."""
    @property
    def size_bytes(self) -> int:
        """Return the total size of all files in bytes."""
    def orphans(self, table: Table, workers: int) -> pa.RecordBatch:
        """Return the old files that are not referenced in `table`, a state that was loaded after the listing; the
        columns are those of `owned_files`.
        """

class _RewriteRules(Protocol):
    """The criteria for rewriting data files."""

    @property
    def target_file_bytes(self) -> int:
        """The target size of new files in bytes."""
    @property
    def min_file_bytes(self) -> int:
        """The size in bytes below which a file is rewritten."""
    @property
    def max_file_bytes(self) -> int:
        """The size in bytes above which a file is rewritten."""
    @property
    def min_input_files(self) -> int:
        """The minimum number of files in a group; smaller groups are skipped."""
    @property
    def delete_file_threshold(self) -> int:
        """The number of delete files from which a data file is rewritten."""
    @property
    def delete_ratio_threshold(self) -> float:
        """The ratio of deleted rows from which a data file is rewritten."""
    @property
    def max_group_bytes(self) -> int:
        """The maximum size of a group in bytes."""
    @property
    def rewrite_all(self) -> bool:
        """Whether all files are rewritten."""

@final
class FileGroup:
    """A group of data files that are rewritten together."""
    @property
    def places(self) -> list[int]:
        """Return the positions of the files in the plan."""
    @property
    def changes_spec(self) -> bool:
        """Return whether the files have a different spec than the new files, and may be in any of its partitions."""
    @property
    def input_bytes(self) -> int:
        """Return the total size of the files in bytes."""
    @property
    def delete_files(self) -> int:
        """Return the number of delete files that apply to the files."""
    @property
    def output_files(self) -> int:
        """Return the expected number of new files."""
    @property
    def output_file_bytes(self) -> int:
        """Return the length at which a new file is closed."""

def file_groups(plan: Plan, rules: _RewriteRules, spec_id: int) -> list[FileGroup]:
    """Return the files of a plan that should be rewritten, in groups of one partition of a spec, or of all other
    specs.
    """

def unchanged_groups(
    planned: Plan, newer: Plan, groups: Sequence[FileGroup], passes_over_equality_deletes: bool
) -> list[bool]:
    """Return whether a newer plan still has all files of each group, with the same deletes; see
    `rewrite::unchanged`.
    """

# When, condition, action, SQL expressions by column, omitted columns.

class _MergeClause(Protocol):
    """A clause of a MERGE."""

    @property
    def when(self) -> str:
        """The rows that the clause applies to: matched, not matched, or not matched by source."""
    @property
    def condition(self) -> str | None:
        """An additional condition as SQL; None for all rows."""
    @property
    def action(self) -> str:
        """The action: update, delete or insert."""
    @property
    def assignments(self) -> Sequence[tuple[str, str]]:
        """The assigned columns and their SQL expressions."""
    @property
    def except_columns(self) -> Sequence[str]:
        """The columns that an assignment of all columns excludes."""

class _MergePlan(Protocol):
    """A MERGE. A condition, or columns that both sides have, determine which rows match."""

    @property
    def on(self) -> str | Sequence[str]:
        """The condition as SQL, or the key columns."""
    @property
    def source_alias(self) -> str:
        """The name of the source in expressions."""
    @property
    def target_alias(self) -> str:
        """The name of the table in expressions."""
    @property
    def clauses(self) -> Sequence[_MergeClause]:
        """The clauses, in order; the first one that applies to a row decides."""

@final
class Merger:
    """A MERGE that matches the rows of a source with those of a target."""
    def __new__(cls, plan: _MergePlan, target_schema: pa.Schema, source_schema: pa.Schema, *, now_us: int) -> Merger:
        """Bind a MERGE to the schemas of the target and the source."""
    @staticmethod
    def upsert(
        join_columns: Sequence[str], *, update: bool, insert: bool, target_schema: pa.Schema, source_schema: pa.Schema
    ) -> Merger:
        """Create a merger for an upsert by columns that exist on both sides."""
    def source(self, batch: pa.RecordBatch) -> None:
        """Add rows of the source."""
    def seal(self) -> None:
        """Complete the source."""
    def changes_unmatched(self) -> bool:
        """Return whether unmatched target rows may change, in which case the filter must not be used."""
    def target_columns(self) -> list[str]:
        """Return the target columns that `probe` needs for partial rows."""
    def filter(self) -> str | None:
        """Return a filter for the target rows that can match."""
    def compared_columns(self) -> list[tuple[str | None, str | None]]:
        """Return the columns of target and source that ON compares for equality; None for a side that is computed."""
    def has_other_conditions(self) -> bool:
        """Return whether ON has parts other than equalities between target and source."""
    def probe(
        self, batch: pa.RecordBatch, *, partial: bool = False
    ) -> tuple[pa.BooleanArray, pa.UInt32Array, pa.UInt32Array, pa.RecordBatch, bool]:
        """Return the changes to target rows; with `partial`, columns that are not needed may be missing."""
    def inserts(self) -> list[pa.RecordBatch]:
        """Return the rows to insert, with the columns that are set."""
    def matched(self) -> bytes:
        """Return which source rows have matched so far, one bit per row."""
    def merge_matched(self, bits: bytes) -> None:
        """Add the result of `matched` from another merger of the same source."""

@final
class Updater:
    """An updater, which replaces some columns of rows."""
    def __new__(cls, assignments: Sequence[tuple[str, str]], schema: pa.Schema, alias: str, *, now_us: int) -> Updater:
        """Bind assignments to a schema."""
    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with their new values."""

def evaluate_expression(text: str, relations: Sequence[tuple[str, pa.RecordBatch]]) -> pa.Array:
    """Evaluate SQL text for each row of batches, which are referenced by their names."""

def iceberg_metadata_tables() -> list[tuple[str, str, bool]]:
    """Return the metadata tables of Iceberg: name, documentation, and whether a snapshot can be chosen."""

def paimon_duration_ms(name: str, text: str) -> int:
    """Return the milliseconds of a duration such as `7 d`, in the notation of Paimon's options; `name` is for
    errors.
    """

def paimon_option_names() -> list[str]:
    """Return the names of the options of Paimon tables, without those of single columns."""

def paimon_system_tables() -> list[tuple[str, str, bool]]:
    """Return the system tables of Paimon: name, documentation, and whether a snapshot can be chosen."""
