"""States of the model: the table after each commit, with its rows as dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from histories.iceberg.history import MAIN, NewTable, SortKey, Term
from histories.types import Struct, project


class NotApplicable(Exception):
    """The step does not apply to this state and is skipped."""


class Refused(Exception):
    """The step must raise an error without any change."""


@dataclass(frozen=True, eq=False)
class Row:
    """A row as written, with its partition spec and v3 metadata; None is unknown."""

    values: dict[str, Any]
    columns: Struct
    spec: int | None
    id: int | None = None
    sequence: int | None = None

    def read(self, columns: Struct) -> dict[str, Any]:
        """Return the row as read with these columns."""
        found: dict[str, Any] = project(self.values, self.columns, columns)
        return found


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A snapshot; `parent` is its position, and `is_append` whether incremental scans return its rows, `added`."""

    rows: tuple[Row, ...]
    columns: Struct
    parent: int | None
    operation: str
    added: tuple[Row, ...] = ()
    replaced: tuple[Any, ...] | None = None

    def read(self, columns: Struct) -> list[dict[str, Any]]:
        """Return the rows as read with these columns."""
        return [row.read(columns) for row in self.rows]


@dataclass(frozen=True)
class Ref:
    snapshot: int
    is_tag: bool = False


@dataclass(frozen=True, eq=False)
class State:
    """The state of a table; each change creates a new one."""

    version: int
    columns: Struct
    last_id: int
    specs: tuple[tuple[Term, ...], ...]
    order: tuple[SortKey, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    refs: dict[str, Ref] = field(default_factory=dict)
    snapshots: tuple[Snapshot, ...] = ()
    log: tuple[int, ...] = ()
    upgraded: bool = False
    dangling: bool = False
    """Whether deletes may apply to removed files, as Java leaves them in v2."""
    behind: bool = False
    """Whether the writer knows only an older partition spec: its rows may be of that spec or of the latest one."""

    @property
    def spec(self) -> tuple[Term, ...]:
        return self.specs[-1]

    @property
    def spec_of_new_rows(self) -> int | None:
        return None if self.behind else len(self.specs) - 1

    def head(self, branch: str = MAIN) -> Snapshot | None:
        """Return the snapshot of a branch, or None for a `main` without one."""
        ref = self.refs.get(branch)
        if (ref is None and branch != MAIN) or (ref is not None and ref.is_tag):
            raise NotApplicable(branch)
        return None if ref is None else self.snapshots[ref.snapshot]

    def stored(self, branch: str = MAIN) -> tuple[Row, ...]:
        """Return the rows of a branch as written."""
        head = self.head(branch)
        return () if head is None else head.rows

    def rows(self, branch: str = MAIN) -> list[dict[str, Any]]:
        """Return the rows of a branch as they are read now."""
        return [row.read(self.columns) for row in self.stored(branch)]

    @cached_property
    def shape(self) -> tuple[Any, ...]:
        """Return the properties that written rows depend on."""
        return (self.version, self.columns, self.specs, self.order)

    def with_snapshot(self, branch: str, snapshot: Snapshot) -> State:
        """Return the state after a commit to a branch."""
        place = len(self.snapshots)
        snapshots = (*self.snapshots, snapshot)
        return replace(self, snapshots=snapshots).with_ref(branch, Ref(place))

    def with_ref(self, name: str, ref: Ref) -> State:
        """Return the state with a created or moved reference."""
        log = (*self.log, ref.snapshot) if name == MAIN and (not self.log or self.log[-1] != ref.snapshot) else self.log
        return replace(self, refs={**self.refs, name: ref}, log=log)

    def place_of(self, branch: str) -> int | None:
        """Return the position of the snapshot of a branch."""
        ref = self.refs.get(branch)
        return None if ref is None else ref.snapshot

    def ancestors(self, place: int | None) -> list[int]:
        """Return a snapshot and its ancestors, newest first."""
        found = []
        while place is not None:
            found.append(place)
            place = self.snapshots[place].parent
        return found


def new_state(table: NewTable) -> State:
    """Return the state of a new table."""
    from histories.types import walk

    numbers = [f.id for kind in walk(table.columns) if isinstance(kind, Struct) for f in kind.fields]
    return State(table.version, table.columns, max(numbers), (table.partition_by,), properties=dict(table.properties))
