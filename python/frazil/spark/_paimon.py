"""Paimon tables in Spark, with the options of Paimon and its Spark connector; each read uses one snapshot."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, NoSuchSnapshotError, UnsupportedError
from frazil.paimon._options import READ_OPTIONS, chooses_state
from frazil.spark._branch_read import BranchRead, table_id
from frazil.spark._char import char_lengths
from frazil.spark._options import READ_SNAPSHOT, SESSION_OPTIONS, SNAPSHOT_OPTIONS, check_names, exclude
from frazil.spark._paimon_options import CHOOSE_CHANGES, OF_READS, SPLIT_SIZES, TIME_TRAVEL, is_table_option
from frazil.spark._session_options import selects_state, with_session
from frazil.spark._settings import PAIMON_PREFIX
from frazil.spark._state import ReadState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from frazil.paimon import Scan, Table
    from frazil.spark._options import ReadOptions

_SNAPSHOT_OPTIONS = {"tag": "scan.tag-name", "version": "scan.version"}
_SNAPSHOT_ARGUMENTS = {"id": "snapshot_id", "as_of": "as_of", "ref": "ref"}

_UNSUPPORTED = {
    "catalog": "tables are specified by the option `path`",
    "database": "tables are specified by the option `path`",
    "table": "tables are specified by the option `path`",
    "read.changelog": "set the option `metadata-columns` to include `_ROW_KIND`",
    "read.readchangelog": "set the option `metadata-columns` to include `_ROW_KIND`",
    "read.stream.*": "streaming reads are not supported",
    "consumer-id": "streaming reads are not supported",
    "scan.bounded.watermark": "streaming reads are not supported",
    "scan.bucket": "reads of single buckets are not supported; use the option `row-filter`",
    "scan.partitions": "select partitions with the option `row-filter`",
}


class OpenedState(ReadState):
    """A Paimon table, or one of its views, for any type of read."""

    def __init__(self, table: Table, asked: ReadOptions) -> None:
        """Keep the table until the state is sent to another process."""
        super().__init__(asked)
        self._table: Table | None = table

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_table": None}

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Return the split sizes set in the table options."""
        return _sizes_of(self._opened().options)

    def char_lengths(self) -> dict[str, int]:
        """Return the lengths of the CHAR columns."""
        return char_lengths(self._opened())

    def _opened(self) -> Table:
        if self._table is None:
            from frazil._table import load_table
            from frazil.paimon._table import view_of

            asked = self.asked
            table = load_table(asked.path, format="paimon", **asked.opening)
            self._table = table if asked.metadata_table is None else view_of(table, asked.metadata_table)
        return self._table


class PaimonState(OpenedState):
    """A Paimon table at one snapshot, or its changes up to one.

    The current snapshot is read by its id, unless the id would change the result. This is the case if the schema was
    changed after the snapshot, or if the rows are changes or include rows of a fallback branch. In these cases, and for
    any other snapshot, the original selection is evaluated again. An error is raised if it then yields a different
    snapshot.
    """

    def __init__(self, table: Table, asked: ReadOptions) -> None:
        """Determine the snapshot, which every read uses."""
        super().__init__(table, asked)
        self._chosen = with_session(asked)
        self._arguments = scan_arguments(self._chosen)
        scan = table.scan(**self._arguments)
        self._snapshot_id = scan.snapshot_id
        # Table options may also select a snapshot and contradict the id.
        with contextlib.suppress(InvalidArgumentError, NoSuchSnapshotError):
            self._arguments = self._by_id(table)

    def scan(self, columns: Sequence[str], row_filter: str = "", limit: int | None = None) -> Scan:
        """Create a scan of the state.

        Raises:
            NoSuchSnapshotError: The original selection now yields a different snapshot.
        """
        common: dict[str, Any] = {"case_sensitive": self.asked.case_sensitive, "limit": limit}
        scan = self._opened().scan(row_filter or True, columns, **common, **self._arguments)
        if self._snapshot_id not in (None, scan.snapshot_id):
            message = (
                f"the table now has snapshot {scan.snapshot_id}, but the DataFrame was created from {self._snapshot_id}"
            )
            raise NoSuchSnapshotError(message, context={"table": self.asked.path}, hint="create the DataFrame again")
        return scan

    def lasting_options(self) -> dict[str, str | None] | None:
        """Return the snapshot as an id, if the id selects the same rows."""
        snapshot_id, options = self._arguments.get("snapshot_id"), self._arguments["options"]
        if snapshot_id is None or any(name in options for name in (*TIME_TRAVEL, *CHOOSE_CHANGES)):
            return None
        others = dict.fromkeys((*SNAPSHOT_OPTIONS, *TIME_TRAVEL, "scan.mode"))
        return {**others, "snapshot-id": str(snapshot_id), "branch": options.get("branch")}

    def newest_of(self) -> BranchRead | None:
        """Return the branch that is read, unless a snapshot or changes were selected."""
        asked, table = self._chosen, self._opened()
        kind, name = asked.snapshot or ("ref", asked.branch or table.branch)
        is_branch = kind == "ref" and (name == "main" or name in table.branches())
        if not is_branch or asked.metadata_table is not None or chooses_state((*asked.others, *table.options)):
            return None
        return BranchRead(table=table_id(table), branch=name, snapshot_id=self._snapshot_id)

    def check_session(self, setting: Callable[[str], str | None]) -> None:
        """Check in a task that the settings of its session do not select another state or changes."""
        given = self.asked.given
        if SESSION_OPTIONS in given or READ_SNAPSHOT in given or selects_state(given):
            return
        name = next((name for name in READ_OPTIONS if setting(f"{PAIMON_PREFIX}{name}") is not None), None)
        if name is not None:
            message = f"`{PAIMON_PREFIX}{name}` is set, but Spark does not pass settings to opened Python data sources"
            hint = f"use `frazil.spark.read` or `lake.sql`, or set the option `{name}`"
            raise UnsupportedError(message, context={"table": self.asked.path}, hint=hint)

    def groups(self, columns: Sequence[str], row_filter: str, limit: int | None) -> list[list[bytes]]:
        """Plan the read and return its partitions; a table that had no snapshot has none, despite later commits."""
        return [] if self._snapshot_id is None else super().groups(columns, row_filter, limit)

    def table_sizes(self) -> tuple[int | None, int | None]:
        """Return the split sizes set in the table options or in the read options."""
        return _sizes_of(self._opened().options | self._arguments["options"])

    def read(self, contents: Sequence[bytes], limit: int | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the splits in `contents`, and return their schema and rows; at most `limit` rows are returned."""
        from frazil import _native
        from frazil.paimon._read import read_splits

        files = self.files()
        splits = [split for content in contents for split in _native.PaimonSplit.from_bytes(content, files)]
        # Spark assigns one core to a task, so the splits are read with one thread.
        return splits[0].schema(), read_splits(splits, workers=1, limit=limit)

    def _by_id(self, table: Table) -> dict[str, Any]:
        """Return the arguments that select the snapshot by its id, or the original arguments.

        Raises:
            InvalidArgumentError: Another option also selects a snapshot.
            NoSuchSnapshotError: A tag was selected.
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
        for name in (*TIME_TRAVEL, "scan.mode"):
            options.pop(name, None)
        arguments: dict[str, Any] = {"snapshot_id": self._snapshot_id, "options": options}
        branch.scan(**arguments)
        return arguments


def scan_arguments(asked: ReadOptions) -> dict[str, Any]:
    """Return the arguments of a scan: the snapshot selection, and Paimon's own options unchanged.

    Raises:
        InvalidArgumentError: An option is unknown or contradicts another option.
        UnsupportedError: frazil does not support an option of Paimon's Spark connector.
    """
    given = asked.given
    of_tables = {name for name in asked.others if is_table_option(name)}
    check_names(asked.others, (*OF_READS, *of_tables), _UNSUPPORTED)
    for choice in SNAPSHOT_OPTIONS:
        for name in (*TIME_TRAVEL, *CHOOSE_CHANGES):
            exclude(given, choice, name)
    for name, other in zip(("split-size", "file-open-cost"), SPLIT_SIZES, strict=True):
        exclude(given, name, other)
    common = {"branch": asked.branch, SPLIT_SIZES[0]: asked.split_bytes, SPLIT_SIZES[1]: asked.open_cost_bytes}
    options = asked.others | {name: str(value) for name, value in common.items() if value is not None}
    for name in SPLIT_SIZES:
        _size_bytes(options, name)
    kind, value = asked.snapshot or ("", None)
    if kind in _SNAPSHOT_OPTIONS:
        options[_SNAPSHOT_OPTIONS[kind]] = str(value)
    arguments: dict[str, Any] = {"options": options}
    return arguments | ({_SNAPSHOT_ARGUMENTS[kind]: value} if kind in _SNAPSHOT_ARGUMENTS else {})


def _sizes_of(options: Mapping[str, str]) -> tuple[int | None, int | None]:
    split, cost = (_size_bytes(options, name) for name in SPLIT_SIZES)
    return split, cost


def _size_bytes(options: Mapping[str, str], name: str) -> int | None:
    """Return a size such as `128 mb` in bytes; None if it is not set."""
    text = options.get(name)
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,18})\s*([kmgt]?)(?:b|bytes|[ei]bibytes)?", text.strip().lower())
    size = int(found[1]) << (10 * " kmgt".index(found[2] or " ")) if found else 1 << 63
    if size >= 1 << 63:
        message = f"option `{name}` is {text!r}, expected a size such as 128 mb"
        raise InvalidArgumentError(message)
    return size
