"""The rules by which DELETE, UPDATE and MERGE change a table with a primary key.

As in Java, a changed row is written again as a record: -D for a deleted row, +U for an updated row, +I for an inserted
row. The merge engine then decides which record of a key is the row. A change whose record would lose is rejected,
because the row would silently keep its old values.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from frazil import _native
from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.paimon._options import READ_OPTIONS, chooses_state
from frazil.paimon._schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from frazil.paimon._state import TableState

__all__ = ["RowRules", "TableRules"]

_KIND = "_ROW_KIND"
_IGNORE_DELETE = (
    "ignore-delete",
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)
_REMOVE_ON_DELETE = {
    "partial-update": ("partial-update.remove-record-on-delete", "partial-update.remove-record-on-sequence-group"),
    "aggregation": ("aggregation.remove-record-on-delete",),
}
_UPDATING = ("deduplicate", "partial-update")
_LATEST = ("default", "latest-full", "full")
"""The values of `scan.mode` with which a batch read returns the latest rows."""


class TableRules:
    """The rules of any table, for one verb such as `delete`."""

    def __init__(self, state: TableState, verb: str) -> None:
        """Read the schema and check that scans of the table return its latest rows.

        Raises:
            UnsupportedError: An option makes scans return other rows.
        """
        self._verb = verb
        self._place = state.native.location
        self.schema = Schema.from_json(json.loads(state.native.schema_json(None)))
        self.options = self.schema.options
        self.keys = self.schema.primary_keys
        self._defaults = [column.name for column in self.schema.fields if column.default_value is not None]
        self._check_reads(state.native.branch)

    def placing_columns(self) -> list[str]:
        """Return the columns that determine the partition and the bucket of a row of a table without a primary key."""
        return [*self.schema.partition_keys, *_list(self._option("bucket-key"))]

    def check_defaults(self, new: pa.RecordBatch) -> None:
        """Check that the new values of updated rows are not NULL in columns with a default.

        Raises:
            InvalidArgumentError: A value is NULL.
        """
        for name in self._defaults:
            self._refuse_rows(
                new,
                new.column(name).is_null(),
                f"column `{name}` is NULL, which is written as the default of the column",
                f'set the column to a value, for example {{{name!r}: "coalesce({name}, …)"}}',
            )

    def _check_reads(self, branch: str) -> None:
        for name, value in self.options.items():
            if name not in READ_OPTIONS and not chooses_state([name]):
                continue
            is_latest = (name == "branch" and value == branch) or (name == "scan.mode" and value.lower() in _LATEST)
            if not is_latest:
                hint = "remove the option from the table, or use a table without it"
                self._refuse(f"the option `{name}` makes reads return other rows than the latest ones", hint)

    def _refuse_rows(self, rows: pa.RecordBatch, wrong: pa.BooleanArray, problem: str, hint: str) -> None:
        """Raise an error with the key of the first row in `wrong`, if any."""
        place = wrong.index(pa.scalar(True)).as_py()  # noqa: FBT003 - the value to find
        if place >= 0:
            key = {name: rows.column(name)[place].as_py() for name in self.keys}
            row = f"the row with the key {_shown(key)}" if key else "a row"
            message = f"{self._verb} cannot change {row}: {problem}"
            raise InvalidArgumentError(message, context={"table": self._place}, hint=hint)

    def _refuse(self, problem: str, hint: str | None) -> NoReturn:
        message = f"{self._verb} is not supported for this Paimon table: {problem}"
        raise UnsupportedError(message, context={"table": self._place}, hint=hint)

    def _option(self, name: str) -> str:
        return (self.options.get(name) or "").strip()

    def _is_true(self, name: str) -> bool:
        return self._option(name).lower() == "true"


class RowRules(TableRules):
    """The rules of a table with a primary key."""

    def __init__(self, state: TableState, verb: str) -> None:
        """Read the schema and check that records with the keys of rows can replace them.

        Raises:
            UnsupportedError: As in `TableRules`, or the row kind cannot be written.
        """
        super().__init__(state, verb)
        self.engine = (self._option("merge-engine") or "deduplicate").lower()
        self._kind = self._option("rowkind.field") or _KIND
        self._sequence = _list(self._option("sequence.field"))
        self._descending = self._option("sequence.field.sort-order").lower() == "descending"
        if self._kind == _KIND and _KIND in self.schema.column_names:
            self._refuse(f"the table has a column `{_KIND}`, the name of the column with row kinds", None)

    def check_deletes(self) -> None:
        """Check that a -D record deletes the row of its key (Java's `validatePKUpsertDeletable`).

        Raises:
            UnsupportedError: The merge engine or an option does not support it.
        """
        ignored = next((name for name in _IGNORE_DELETE if self._option(name)), None)
        if ignored is not None and self._is_true(ignored):
            self._refuse(f"the option `{ignored}` is true, so deletes have no effect", "set the option to false")
        if self.engine == "deduplicate":
            return
        names = _REMOVE_ON_DELETE.get(self.engine, ())
        groups = "partial-update.remove-record-on-sequence-group"
        if not any(self._is_true(name) or (name == groups and self._option(name)) for name in names):
            hint = f"set the option {' or '.join(f'`{name}`' for name in names)}" if names else None
            self._refuse(f"deletes are not supported with `merge-engine` = `{self.engine}`", hint)

    def check_updates(self) -> None:
        """Check that a +U record with all columns of a row replaces the row of its key.

        Raises:
            UnsupportedError: The merge engine or an option does not support it.
        """
        if self.engine not in _UPDATING:
            engines = " and ".join(f"`{name}`" for name in _UPDATING)
            self._refuse(
                f"updates are not supported with `merge-engine` = `{self.engine}`",
                f"append rows that the engine merges; the supported engines are {engines}",
            )
        endings = (".sequence-group", ".aggregate-function", ".default-aggregate-function")
        name = next((name for name in self.options if name.startswith("fields.") and name.endswith(endings)), None)
        if name is not None and self.engine == "partial-update":
            self._refuse(
                f"updates are not supported with the option `{name}`", "append rows that the merge engine merges"
            )

    def check_columns(self, names: Iterable[str], alias: str) -> None:
        """Check that assignments do not set a key column or the column of row kinds.

        Raises:
            InvalidArgumentError: An assignment sets such a column.
        """
        for name in names:
            for column in self.keys:
                if self._names(name, column, alias):
                    kind = "partition" if column in self.schema.partition_keys else "primary key"
                    message = f"{self._verb} cannot set the {kind} column `{column}`"
                    hint = "delete the row, and append it with the new key"
                    raise InvalidArgumentError(message, context={"table": self._place, "column": column}, hint=hint)
            if self._kind != _KIND and self._names(name, self._kind, alias):
                message = f"{self._verb} cannot set the column `{self._kind}`, which contains the row kind"
                raise InvalidArgumentError(
                    message, context={"table": self._place, "column": self._kind}, hint="omit the column"
                )

    def check_deleted(self, rows: pa.RecordBatch) -> None:
        """Check that the -D records of these rows delete them.

        Raises:
            InvalidArgumentError: A row has only NULL in the sequence fields by which a delete is ordered.
        """
        text = self._option("partial-update.remove-record-on-sequence-group")
        if self.engine != "partial-update" or not text or self._is_true("partial-update.remove-record-on-delete"):
            return
        named = set(_list(text))
        groups = self._groups()
        fields = [column for group in groups if named & set(group) for column in group]
        if not fields:
            fields = list(named)
        ordered = pa.array([False] * rows.num_rows, pa.bool_())
        for column in fields:
            ordered = pc.or_(ordered, rows.column(column).is_valid())
        self._refuse_rows(
            rows,
            pc.invert(ordered),
            f"the sequence fields {', '.join(f'`{name}`' for name in fields)} are NULL, so a delete has no effect",
            "set them first by an append",
        )

    def check_updated(self, old: pa.RecordBatch, new: pa.RecordBatch) -> None:
        """Check that the +U records `new` replace the rows `old`.

        Raises:
            InvalidArgumentError: A row would keep an old value, or get a value that was not set.
        """
        self.check_defaults(new)
        if self.engine == "partial-update":
            for name in (name for name in new.schema.names if name not in self.keys):
                cleared = pc.and_(old.column(name).is_valid(), new.column(name).is_null())
                problem = f"column `{name}` cannot become NULL, because `merge-engine` = `partial-update` ignores NULL"
                self._refuse_rows(new, cleared, problem, "set the column to a value")
        if self._sequence:
            fields = ", ".join(f"`{name}`" for name in self._sequence)
            self._refuse_rows(
                new,
                self._is_older(old, new),
                f"the new value of `sequence.field` ({fields}) is lower than the old one, so the update has no effect",
                "leave out such rows by a condition, or append them, which keeps the row with the greatest value",
            )

    def records(self, rows: pa.RecordBatch, kind: str) -> pa.RecordBatch:
        """Return the rows as records of a kind."""
        kinds = pa.array([kind], pa.string()).take(pa.array([0] * rows.num_rows, pa.int32()))
        if self._kind in rows.schema.names:
            place = rows.schema.get_field_index(self._kind)
            return rows.set_column(place, self._kind, kinds)
        return rows.append_column(self._kind, kinds)

    def deletes(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return -D records for rows.

        With engines that merge columns, a -D record becomes the row that later records are merged onto. Therefore, its
        values are NULL, except for keys, sequence fields and required columns.

        Raises:
            InvalidArgumentError: As in `check_deleted`.
        """
        self.check_deleted(rows)
        if self.engine != "deduplicate":
            kept = {*self.keys, *self._sequence, *(name for group in self._groups() for name in group), self._kind}
            for place, column in enumerate(rows.schema):
                if column.name not in kept and self.schema.find_field(column.name).nullable:
                    rows = rows.set_column(place, column, pa.nulls(rows.num_rows, column.type))
        return self.records(rows, "-D")

    def _groups(self) -> list[list[str]]:
        """Return the sequence fields of each sequence group."""
        return [_list(name[len("fields.") : -len(".sequence-group")]) for name in self.options if _is_group(name)]

    def with_keys(self, rows: pa.RecordBatch, old: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with the keys of the rows `old`, which are equal but may not be identical (0.0 and -0.0)."""
        for key in self.keys:
            place = rows.schema.get_field_index(key)
            rows = rows.set_column(place, rows.schema.field(place), old.column(key))
        return rows

    def check_unique(self, inserts: Sequence[pa.RecordBatch]) -> None:
        """Check that the inserted rows have different keys.

        Raises:
            InvalidArgumentError: Two rows have the same key.
        """
        parts = [batch for batch in inserts if batch.num_rows]
        if not parts or any(key not in batch.schema.names for batch in parts for key in self.keys):
            # The write rejects rows without a key.
            return
        keys = pa.Table.from_batches([batch.select(list(self.keys)) for batch in parts])
        counts = keys.group_by(list(self.keys)).aggregate([([], "count_all")])
        twice = counts.filter(pc.greater(counts["count_all"], 1)).select(list(self.keys)).slice(0, 1).to_pylist()
        if twice:
            message = f"several source rows would be inserted with the key {_shown(twice[0])}"
            raise InvalidArgumentError(message, context={"table": self._place}, hint="keep one row for each key")

    def check_absent(self, rows: pa.RecordBatch) -> None:
        """Check that there are no rows; they are rows of the table with the keys of inserted rows.

        Raises:
            InvalidArgumentError: There is a row.
        """
        if rows.num_rows:
            message = f"the table has a row with the key {_shown(rows.slice(0, 1).to_pylist()[0])}, which did not match"
            hint = "compare only the primary key in ON, and move other conditions to the clauses"
            raise InvalidArgumentError(message, context={"table": self._place}, hint=hint)

    def _names(self, name: str, column: str, alias: str) -> bool:
        """Return whether the name in an assignment refers to a column."""
        schema = pa.schema([pa.field(column, self.schema.find_field(column).data_type.arrow())])
        try:
            _native.Updater([(name, "NULL")], schema, alias, now_us=0)
        except FrazilError:
            return False
        return True

    def _is_older(self, old: pa.RecordBatch, new: pa.RecordBatch) -> pa.BooleanArray:
        """Return which rows have a lower sequence; NULL is lower than all values, in both sort orders."""
        older = pa.array([False] * new.num_rows, pa.bool_())
        tied = pc.invert(older)
        for name in self._sequence:
            before, after = old.column(name), new.column(name)
            compare = pc.greater if self._descending else pc.less
            lower = pc.or_(
                pc.fill_null(compare(after, before), False),  # noqa: FBT003 - the value of NULL
                pc.and_(after.is_null(), before.is_valid()),
            )
            equal = pc.or_(
                pc.fill_null(pc.equal(after, before), False),  # noqa: FBT003 - the value of NULL
                pc.and_(after.is_null(), before.is_null()),
            )
            older = pc.or_(older, pc.and_(tied, lower))
            tied = pc.and_(tied, equal)
        return older


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _is_group(name: str) -> bool:
    return name.startswith("fields.") and name.endswith(".sequence-group")


def _shown(key: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in key.items())
