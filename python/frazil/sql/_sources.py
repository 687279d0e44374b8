"""The sources that names in a query refer to: tables, states of tables, metadata tables and system tables.

A table takes precedence over a selector: `db.t.files` is the table `files` of the namespace `db.t`, if it exists.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from frazil._run import ReadSnapshot
from frazil._virtual_table import VirtualTable, split_metadata_table
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchTableError
from frazil.iceberg import Inspect
from frazil.paimon import ObjectTable
from frazil.sql._comparable import comparable_schema
from frazil.sql._narrow import filters, kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from frazil.sql._moments import Moments
    from frazil.sql._names import LakeCatalog, Names
    from frazil.sql._narrow import Condition

_SELECTORS = (
    ("branch", re.compile(r"branch_(.+)", re.DOTALL)),
    ("tag", re.compile(r"tag_(.+)", re.DOTALL)),
    ("id", re.compile(r"snapshot_id_([0-9]{1,19})")),
    ("as_of", re.compile(r"at_timestamp_([0-9]{1,19})")),
)
"""The selectors of states, as last parts of names, compatible with Iceberg's Spark connector."""

_SELECTING = (
    *("as-of-timestamp", "branch", "end-snapshot-id", "ref", "snapshot-id", "start-snapshot-id", "tag"),
    *("timestampasof", "versionasof"),
)
"""The read options that select a state of an Iceberg table."""

OBJECT_TABLE = "object table"

_CHANGES = "changes"
"""The name of the table of the changes of a table."""

_NUMBERS = ("id", "as_of")
_SYSTEM_DATABASE = "sys"


def kind_of(table: Any) -> str:
    """Return what a table without snapshots and without writes is, for messages."""
    return OBJECT_TABLE if isinstance(table, ObjectTable) else "metadata table"


def key_of(table: Any) -> Sequence[str]:
    """Return the primary key of a Paimon table, which identifies its rows; empty for other tables."""
    return table.primary_keys if table.format == "paimon" else ()


@dataclass(frozen=True)
class Source:
    """A table that a query reads, and the part to read."""

    table: Any
    """The table, or a small `VirtualTable` computed by the catalog."""
    metadata_table: str | None = None
    """The name of the metadata table or system table to read."""
    state: tuple[str, Any] | None = None
    """The selected state; None for the current state.

    One of `("version", text)`, `("as_of", ms)`, `("id", number)`, `("branch", name)` and `("tag", name)`.
    """
    names: frozenset[str] | None = None
    """The names of the columns to read, in lower case; None to read all."""
    conditions: tuple[Condition, ...] = ()
    """The conditions on rows; rows that do not meet them need not be read."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Other read options, as in Spark's `option`."""
    metadata: tuple[str, ...] = ()
    """The metadata columns to read."""
    address: tuple[str, ...] | None = None
    """The names of additional columns that identify a row; None to omit them.

    They are the data file of the row and its position in it, or copies of the primary key.
    """
    name: tuple[str, ...] = ()
    """The names of the catalog, of the namespace and of the table."""
    keys: Any = None
    """A query with some columns of the table; rows that do not equal one of its rows in them need not be read."""

    def narrowed(self, schema: pa.Schema, moments: Moments | None = None) -> tuple[tuple[str, ...], list[str]]:
        """Return the columns to read, and filters by which rows may be skipped."""
        texts = filters(comparable_schema(schema, self.table), self.conditions, moments)
        return kept(schema.names, self.names), texts

    def with_address(self, address: tuple[str, ...], columns: Iterable[str] = ()) -> Source:
        """Return the same source with the addresses of rows, and with columns that must be read."""
        names = None if self.names is None else self.names | {one.lower() for one in (*columns, *key_of(self.table))}
        return replace(self, address=address, names=names)

    def reads(self, other: Source) -> bool:
        """Return whether this source reads the latest state of the table and branch of `other`."""
        return self.table is other.table and self._head() == other._head()

    def snapshot(self) -> ReadSnapshot | None:
        """Return the latest snapshot of the selected branch when the table was loaded; None without snapshots."""
        if not hasattr(self.table, "current_snapshot"):
            return None
        _, branch = self.state or ("branch", "main")
        if self.table.format == "paimon":
            found = self.table.current_snapshot()
            return ReadSnapshot(None if found is None else found.snapshot_id)
        ref = self.table.refs().get(branch) or self.table.refs().get("main")
        return ReadSnapshot(None if ref is None else ref.snapshot_id)

    def on(self, branch: str | None, *, must_exist: bool = False) -> Source:
        """Return the rows of an Iceberg table on a branch, unless this source has another state or `branch` is None.

        With `must_exist`, the source is also unchanged if the branch does not exist.
        """
        if branch is None or self.state is not None or self.metadata_table is not None:
            return self
        return self if must_exist and branch not in self.table.refs() else replace(self, state=("branch", branch))

    def at(self, state: tuple[str, Any]) -> Source:
        """Return the same table at another state.

        Raises:
            InvalidArgumentError: The name already selects a state, or the table has no states.
        """
        if self.state is not None:
            message = "AS OF cannot be combined with a name that already selects a snapshot"
            raise InvalidArgumentError(message)
        if isinstance(self.table, VirtualTable):
            message = "AS OF is not supported for a table without snapshots"
            raise InvalidArgumentError(message)
        return replace(self, state=state)

    def _head(self) -> tuple[str, Any]:
        """Return the state in one form: a version is a branch, and a branch that will be created is `main`."""
        kind, value = self.state or ("branch", "main")
        if kind == "version":
            return "branch", value
        is_iceberg = getattr(self.table, "format", None) == "iceberg"
        is_new = kind == "branch" and is_iceberg and value not in self.table.refs()
        return ("branch", "main") if is_new else (kind, value)


def selects_state(options: Mapping[str, str]) -> bool:
    """Return whether read options of an Iceberg table select a state."""
    return any(name.lower() in _SELECTING for name in options)


class Sources:
    """The tables of one statement, each of which is loaded once: all references to a table read the same state."""

    def __init__(self, names: Names) -> None:
        """Resolve names with these catalogs."""
        self._names = names
        self._loaded: dict[tuple[str, tuple[str, ...]], Any] = {}

    def __bool__(self) -> bool:
        """Return whether a table was loaded."""
        return bool(self._loaded)

    def again(self, table: Any, newer: Any) -> Sources:
        """Return the sources for another attempt: `table` is read at the state of `newer`, others are loaded again."""
        others = Sources(self._names)
        others._loaded = {key: newer for key, loaded in self._loaded.items() if loaded is table}
        return others

    def named_in(self, names: Iterable[tuple[str, ...]]) -> Iterator[Any]:
        """Yield the tables that some of the names refer to."""
        for parts in names:
            if self._names.is_ours(parts):
                with contextlib.suppress(FrazilError):
                    yield self.source(parts).table

    def columns(self) -> list[str]:
        """Return the names of the columns of all tables that were loaded."""
        tables = (table for table in self._loaded.values() if not isinstance(table, FrazilError | VirtualTable))
        return [name for table in tables for name in table.scan().schema().names]

    def with_branch(self, source: Source, branch: str) -> Source:
        """Return the source with a Paimon table at a branch, to which later references to the table refer, too."""
        table = source.table.with_branch(branch)
        self._loaded |= {key: table for key, loaded in self._loaded.items() if loaded is source.table}
        return replace(source, table=table)

    def source(self, parts: tuple[str, ...]) -> Source:
        """Return the source that a name in a catalog of the lake refers to.

        Raises:
            NoSuchTableError: The table does not exist.
            FrazilError: The table cannot be loaded.
        """
        where = self._names.table(parts)
        assert where is not None  # noqa: S101 - names of other tables are not asked for
        name = (where.catalog.name, *where.levels[:-1], split_metadata_table(where.levels[-1])[0])
        try:
            return replace(self._found(where.catalog, where.levels), name=name)
        except NoSuchTableError:
            # The name may be `t.files`, without the namespace of `t`.
            longer = self._names.in_namespace(parts)
            if longer is None or _selector(longer.levels) is None:
                raise
            try:
                return self._found(longer.catalog, longer.levels)
            except NoSuchTableError:
                pass
            raise

    def _found(self, entry: LakeCatalog, levels: tuple[str, ...]) -> Source:
        try:
            table = self.load(entry, levels)
        except (NoSuchTableError, InvalidArgumentError):
            source = self._selected(entry, levels) if entry.format == "iceberg" else None
            if source is None:
                raise
            return source
        if not isinstance(table, VirtualTable):
            return Source(table)
        if entry.format == "iceberg":
            return self._selected(entry, levels) or Source(table)
        if levels[:-1] == (_SYSTEM_DATABASE,):
            return Source(table)
        return Source(self.load(entry, (*levels[:-1], split_metadata_table(levels[-1])[0])), table.name)

    def _selected(self, entry: LakeCatalog, levels: tuple[str, ...]) -> Source | None:
        """Return the table before a selector; None if the name has no selector or the table does not exist."""
        found = _selector(levels)
        if found is None:
            return None
        base, metadata_table, state = found
        try:
            table = self.load(entry, base)
        except (NoSuchTableError, InvalidArgumentError):
            return None
        return None if isinstance(table, VirtualTable) else Source(table, metadata_table, state)

    def load(self, entry: LakeCatalog, levels: tuple[str, ...]) -> Any:
        """Return a table of a catalog; a second call returns the same object."""
        key = (entry.name, levels)
        if key not in self._loaded:
            try:
                self._loaded[key] = entry.catalog.load_table(levels)
            except FrazilError as error:
                self._loaded[key] = error
        found = self._loaded[key]
        if isinstance(found, FrazilError):
            raise found
        return found


def _selector(levels: tuple[str, ...]) -> tuple[tuple[str, ...], str | None, tuple[str, Any] | None] | None:
    """Split a name into table, metadata table and state; None if it does not end with a selector.

    >>> _selector(("db", "t", "Files")), _selector(("db", "t$branch_b1")), _selector(("db", "t"))
    ((('db', 't'), 'files', None), (('db', 't'), None, ('branch', 'b1')), None)
    """
    last, word = split_metadata_table(levels[-1])
    base = (*levels[:-1], last)
    if word is None:
        base, word = levels[:-1], levels[-1]
    if not base:
        return None
    if word.lower() in (*Inspect.names(), _CHANGES):
        return base, word.lower(), None
    for kind, pattern in _SELECTORS:
        found = pattern.fullmatch(word)
        if found is not None:
            return base, None, (kind, int(found[1]) if kind in _NUMBERS else found[1])
    return None
