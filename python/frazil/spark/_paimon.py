"""Paimon tables in Spark: options named as those of Paimon and its connector for Spark, and reads of one snapshot."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, NoSuchSnapshotError
from frazil.paimon._options import chooses_state
from frazil.spark._branch_read import BranchRead, table_id
from frazil.spark._options import SNAPSHOT_OPTIONS, check_names, exclude
from frazil.spark._state import ReadState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from frazil.paimon import Scan, Table
    from frazil.spark._options import ReadOptions

_SPLIT_SIZES = ("source.split.target-size", "source.split.open-file-cost")

_CHOOSE_SNAPSHOT = (
    "scan.snapshot-id",
    "scan.tag-name",
    "scan.version",
    "scan.timestamp-millis",
    "scan.timestamp",
    "scan.watermark",
)

_SNAPSHOT_OPTIONS = {"tag": "scan.tag-name", "version": "scan.version"}
_SNAPSHOT_ARGUMENTS = {"id": "snapshot_id", "as_of": "as_of", "ref": "ref"}

_CHOOSE_CHANGES = ("incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag")

# With a misspelt one of these a read would give other rows than are meant, so that they are compared as a whole.
_OF_READS = (
    *_CHOOSE_SNAPSHOT,
    *_CHOOSE_CHANGES,
    *_SPLIT_SIZES,
    "incremental-between-scan-mode",
    "incremental-between-tag-to-snapshot",
    "read.allow.fullscan",
    "read.batch-size",
    "scan.bounded.watermark",
    "scan.bucket",
    "scan.creation-time-millis",
    "scan.dedicated-split-generation",
    "scan.fallback-branch",
    "scan.fallback-delta-branch",
    "scan.fallback-snapshot-branch",
    "scan.file-creation-time-millis",
    "scan.ignore-corrupt-files",
    "scan.ignore-lost-files",
    "scan.infer-parallelism",
    "scan.manifest.parallelism",
    "scan.max-splits-per-task",
    "scan.mode",
    "scan.parallelism",
    "scan.partitions",
    "scan.plan-sort-partition",
    "scan.primary-branch",
    "scan.push-down",
    "scan.remove-normalize",
    "scan.split-enumerator.batch-size",
    "scan.split-enumerator.mode",
    "source.split.target-size-with-column-pruning",
)
_FAMILIES_OF_READS = re.compile(r"(incremental|read|scan|source)\b")

# Options of tables begin with one of these words. A table's own ones are the same by another name in a read, so that
# they are handed on, whatever they are.
_FAMILIES_OF_TABLES = re.compile(
    r"(add|aggregation|alter|append|async|auto|blob|bucket|cache|chain|changelog|clustering|commit|compaction|consumer|"
    r"continuous|cross|data|delete|deletion|dynamic|end|fields|file|force|format|full|global|ignore|index|input|key|"
    r"legacy|local|lookup|manifest|materialized|merge|metadata|metastore|num|object|orc|avro|overwrite|page|parquet|"
    r"partial|partition|pk|postpone|precommit|primary|query|record|row|rowkind|sequence|sink|snapshot|sort|spill|stats|"
    r"streaming|tag|target|tmp|type|upsert|variant|visibility|write)\b"
)
_UNSUPPORTED = {
    "catalog": "tables are named by the option `path`",
    "database": "tables are named by the option `path`",
    "table": "tables are named by the option `path`",
    "read.changelog": "give the option `metadata-columns` with `_ROW_KIND`",
    "read.readchangelog": "give the option `metadata-columns` with `_ROW_KIND`",
    "read.stream.*": "streaming reads are not supported",
    "consumer-id": "streaming reads are not supported",
    "scan.bounded.watermark": "streaming reads are not supported",
    "scan.bucket": "buckets are not chosen; give the option `row-filter`",
    "scan.partitions": "partitions are chosen by the option `row-filter`",
}


class OpenedState(ReadState):
    """A Paimon table, or one of its views, whatever is read of it."""

    def __init__(self, table: Table, asked: ReadOptions) -> None:
        """Keep the table as long as the state is not sent to another process."""
        super().__init__(asked)
        self._table: Table | None = table

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None}

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Give the sizes that the table's options name."""
        return _sizes_of(self._opened().options)

    def _opened(self) -> Table:
        if self._table is None:
            from frazil._table import load_table
            from frazil.paimon._table import view_of

            asked = self.asked
            table = load_table(asked.path, format="paimon", **asked.opening)
            self._table = table if asked.metadata_table is None else view_of(table, asked.metadata_table)
        return self._table


class PaimonState(OpenedState):
    """A Paimon table at one snapshot, or changes up to one.

    The current snapshot is read by its id. Where that would be another read, because the schema was changed since, or
    because the rows are changes or also those of a fallback branch, and for every other snapshot, what was asked for is
    asked again, and another snapshot than at first is an error.
    """

    def __init__(self, table: Table, asked: ReadOptions) -> None:
        """Find the snapshot; every read is of that one."""
        super().__init__(table, asked)
        self._arguments = scan_arguments(asked)
        scan = table.scan(**self._arguments)
        self._snapshot_id = scan.snapshot_id
        # Options of the table may choose too, and contradict the id.
        with contextlib.suppress(InvalidArgumentError, NoSuchSnapshotError):
            self._arguments = self._by_id(table)

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Scan:
        """Describe a read of the state.

        Raises:
            NoSuchSnapshotError: What was asked for is another snapshot now.
        """
        common: dict[str, Any] = {"case_sensitive": self.asked.case_sensitive, "limit": limit}
        scan = self._opened().scan(row_filter or True, columns, **common, **self._arguments)
        if self._snapshot_id not in (None, scan.snapshot_id):
            message = f"the table has snapshot {scan.snapshot_id} now, the DataFrame was made of {self._snapshot_id}"
            raise NoSuchSnapshotError(message, context={"table": self.asked.path}, hint="make the DataFrame again")
        return scan

    def lasting_options(self) -> dict[str, str | None] | None:
        """Return the snapshot by its id, if that gives the same rows."""
        snapshot_id, options = self._arguments.get("snapshot_id"), self._arguments["options"]
        if snapshot_id is None or any(name in options for name in (*_CHOOSE_SNAPSHOT, *_CHOOSE_CHANGES)):
            return None
        others = dict.fromkeys((*SNAPSHOT_OPTIONS, *_CHOOSE_SNAPSHOT, "scan.mode"))
        return {**others, "snapshot-id": str(snapshot_id), "branch": options.get("branch")}

    def newest_of(self) -> BranchRead | None:
        """Return the branch that is read, if neither a snapshot nor changes were chosen."""
        asked, table = self.asked, self._opened()
        kind, name = asked.snapshot or ("ref", asked.branch or table.branch)
        is_branch = kind == "ref" and (name == "main" or name in table.branches())
        if not is_branch or asked.metadata_table is not None or chooses_state((*asked.others, *table.options)):
            return None
        return BranchRead(table=table_id(table), branch=name, snapshot_id=self._snapshot_id)

    def groups(self, columns: Sequence[str], row_filter: str, limit: int | None) -> list[list[bytes]]:
        """Plan, and give the partitions; a table without a snapshot has none, whatever was committed since."""
        return [] if self._snapshot_id is None else super().groups(columns, row_filter, limit)

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Give the sizes that the table's options name, or those of the read."""
        return _sizes_of(self._opened().options | self._arguments["options"])

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read splits."""
        from frazil import _native
        from frazil.paimon._read import read_splits

        files = self.files()
        splits = [split for content in contents for split in _native.PaimonSplit.from_bytes(content, files)]
        # One thread: Spark gives a task one core.
        return splits[0].schema(), read_splits(splits, workers=1, limit=limit)

    def _by_id(self, table: Table) -> dict[str, Any]:
        """Give the arguments that choose the snapshot by its id, or those that there are.

        Raises:
            InvalidArgumentError: Something else chooses too.
            NoSuchSnapshotError: What was asked for is a tag.
        """
        options = dict(self._arguments["options"])
        if "ref" in self._arguments:
            options.setdefault("branch", self._arguments["ref"])
        branch = table.with_branch(options.get("branch", table.branch))
        current = branch.current_snapshot()
        if current is None or (current.snapshot_id, current.schema_id) != (
            self._snapshot_id,
            branch.schema().schema_id,
        ):
            return self._arguments
        if "scan.fallback-branch" in branch.options | options:
            return self._arguments
        for name in (*_CHOOSE_SNAPSHOT, "scan.mode"):
            options.pop(name, None)
        arguments: dict[str, Any] = {"snapshot_id": self._snapshot_id, "options": options}
        branch.scan(**arguments)
        return arguments


def scan_arguments(asked: ReadOptions) -> dict[str, Any]:
    """Give the arguments of a scan: which snapshot, and Paimon's own options as they are.

    Raises:
        InvalidArgumentError: An option that is unknown or contradicts another one.
        UnsupportedError: An option of Paimon's connector for Spark that frazil does not have.
    """
    given = asked.given
    of_tables = {
        name for name in asked.others if _FAMILIES_OF_TABLES.match(name) and not _FAMILIES_OF_READS.match(name)
    }
    check_names(asked.others, (*_OF_READS, *of_tables), _UNSUPPORTED)
    for choice in SNAPSHOT_OPTIONS:
        for name in (*_CHOOSE_SNAPSHOT, *_CHOOSE_CHANGES):
            exclude(given, choice, name)
    for name, other in zip(("split-size", "file-open-cost"), _SPLIT_SIZES, strict=True):
        exclude(given, name, other)
    common = {"branch": asked.branch, _SPLIT_SIZES[0]: asked.split_bytes, _SPLIT_SIZES[1]: asked.open_cost_bytes}
    options = asked.others | {name: str(value) for name, value in common.items() if value is not None}
    for name in _SPLIT_SIZES:
        _size_bytes(options, name)
    kind, value = asked.snapshot or ("", None)
    if kind in _SNAPSHOT_OPTIONS:
        options[_SNAPSHOT_OPTIONS[kind]] = str(value)
    arguments: dict[str, Any] = {"options": options}
    return arguments | ({_SNAPSHOT_ARGUMENTS[kind]: value} if kind in _SNAPSHOT_ARGUMENTS else {})


def _sizes_of(options: Mapping[str, str]) -> tuple[int | None, int | None]:
    split, cost = (_size_bytes(options, name) for name in _SPLIT_SIZES)
    return split, cost


def _size_bytes(options: Mapping[str, str], name: str) -> int | None:
    """Give a size such as `128 mb` in bytes; None where it is not given."""
    text = options.get(name)
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,18})\s*([kmgt]?)(?:b|bytes|[ei]bibytes)?", text.strip().lower())
    size = int(found[1]) << (10 * " kmgt".index(found[2] or " ")) if found else 1 << 63
    if size >= 1 << 63:
        message = f"option `{name}` is {text!r}, expected a size such as 128 mb"
        raise InvalidArgumentError(message)
    return size
