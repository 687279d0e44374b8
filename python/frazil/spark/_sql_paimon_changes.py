"""DELETE, UPDATE and MERGE in SQL of Paimon tables, whose rows a query selects.

The query returns the keys of the rows and their new values, which become the source of a merge in this process. In a
table without a primary key, it returns their addresses, and the files with these rows are rewritten.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from frazil._run import ReadSnapshot
from frazil.errors import UnsupportedError
from frazil.paimon import Table
from frazil.paimon._addressed_rows import AddressedClause, AddressedRows, ChangeRows
from frazil.paimon._writing import carry_out, commit_options
from frazil.spark._assignment import assigned_values
from frazil.spark._char import char_lengths, with_lengths
from frazil.spark._input import collected
from frazil.spark._merged_rows import needed_rows
from frazil.spark._row_level import BROADCAST_LIMIT_BYTES
from frazil.spark._taking import conversion
from frazil.spark._type_conversion import rebuilt, spark_schema
from frazil.sql._merged_rows import check_matches
from frazil.sql._row_change import ClauseChange
from frazil.sql._row_queries import ADDRESS_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from frazil._write_result import WriteResult
    from frazil.paimon._state import TableState
    from frazil.sql._row_change import Change, Selection

__all__ = ["change"]

_CLAUSE = "clause"
"""The column of the source with the number of a clause."""


def change(table: Table, asked: Change[DataFrame], properties: Mapping[str, str]) -> WriteResult:
    """Change the rows whose keys or addresses are the first columns of a query, and insert the new rows of a MERGE.

    As in Java, a row with a key that a concurrent writer changes after the query is not a conflict. If a concurrent
    writer removes a file with rows that change, the query runs again.

    Raises:
        InvalidArgumentError: As in `Table.merge`; also if Spark does not assign values of a type to a column.
        UnsupportedError: As in `Table.merge`; also if Spark cannot represent a column of the key exactly.
        LimitExceededError: The keys and values have more than `BROADCAST_LIMIT_BYTES` bytes.
    """
    target = table if asked.branch == "main" else table.with_branch(asked.branch)
    if not table.primary_keys:
        operation = ChangeRows(options=commit_options(target, properties), kind=asked.kind)
        return carry_out(target, operation, _Queried(table, asked))
    found = asked.select(table)
    try:
        source = _Source(table, found, asked)
        rows = source.read()
    finally:
        found.release()
    merge = target.merge(rows, source.on(), snapshot_properties=properties)
    for number, clause in enumerate(source.clauses):
        condition = f"source.{_CLAUSE} = {number}"
        values = {name: f"source.{_value(number, place)}" for place, name in enumerate(clause.columns)}
        if clause.action == "delete":
            merge = merge.when_matched_delete(condition)
        elif clause.action == "update":
            merge = merge.when_matched_update(values, condition)
        else:
            merge = merge.when_not_matched_insert(values, condition)
    return merge.execute()


class _Queried:
    """The addresses and new values that a query returns."""

    def __init__(self, table: Table, asked: Change[DataFrame]) -> None:
        self._table, self._asked = table, asked

    def read(self, state: TableState) -> AddressedRows:
        """Run the query on a state of the table."""
        snapshot = json.loads(state.native.snapshot_json(None))
        # References to the main branch in the statement must not read another branch.
        table = self._table if self._asked.branch != "main" else Table(state.native, state.files, dict(state.opening))
        found = self._asked.select(table)
        try:
            source = _Source(table, found, self._asked)
            rows = source.read()
        finally:
            found.release()
        clauses, inserts = [], []
        for number, clause in enumerate(source.clauses):
            own = rows.filter(pc.equal(rows.column(_CLAUSE), number))
            values = own.select([_value(number, place) for place in range(len(clause.columns))])
            if clause.action == "insert":
                inserts.append(values.rename_columns(list(clause.columns)))
                continue
            address = own.select([_key(0), _key(1)]).rename_columns(["file", "position"])
            for name, column in zip(clause.columns, values.columns, strict=True):
                address = address.append_column(name, column)
            clauses.append(AddressedClause(address, None if clause.action == "delete" else clause.columns))
        read = ReadSnapshot(None if snapshot is None else snapshot["id"]) if found.reads_others else None
        return AddressedRows(clauses, inserts, read)


class _Source:
    """The keys or addresses, and the new values, that a query returns: the source of a merge."""

    def __init__(self, table: Table, found: Selection[DataFrame], asked: Change[DataFrame]) -> None:
        """Assign the values to the types of their columns, as Spark does in UPDATE."""
        self._schema, self._asked = table.scan().schema(), asked
        self._keys = table.primary_keys or ADDRESS_COLUMNS
        if table.primary_keys:
            self._check_keys(table)
        of_merge = asked.kind == "merge"
        self.clauses: Sequence[ClauseChange] = found.clauses
        if not of_merge:
            self.clauses = (ClauseChange("delete" if asked.kind == "delete" else "update", found.columns),)
        self._first_value = len(self._keys) + 2 * of_merge
        names = [name for clause in self.clauses for name in clause.columns]
        types = spark_schema(pa.schema([self._schema.field(name) for name in dict.fromkeys(names)]), "error")
        types = with_lengths(types, char_lengths(table))
        frame = assigned_values(found.frame, [*(None,) * self._first_value, *(types[name] for name in names)])
        if of_merge:
            frame = needed_rows(frame, len(self._keys), checks_matches=asked.checks_matches)
        self._frame = frame

    def _check_keys(self, table: Table) -> None:
        """Check that a key that Spark returns equals the key of one row.

        Raises:
            UnsupportedError: A column of the key is a floating-point number, or Spark has no such type.
        """
        key = pa.schema([self._schema.field(name) for name in self._keys])
        spark_schema(key, "error")
        floating = next((field.name for field in key if pa.types.is_floating(field.type)), None)
        if floating is not None:
            message = (
                f"the key column `{floating}` is a floating-point number, by which rows cannot be selected exactly"
            )
            hint = "select the rows by a filter that compares columns with constants"
            raise UnsupportedError(message, context={"table": table.location, "column": floating}, hint=hint)

    def on(self) -> str:
        """Return the ON condition of the merge."""
        pairs = (f"target.{_quoted(name)} = source.{_key(place)}" for place, name in enumerate(self._keys))
        return " and ".join(pairs)

    def read(self) -> pa.Table:
        """Run the query and return its rows.

        Raises:
            InvalidArgumentError: Several rows of the source of a MERGE match a row of the table.
            LimitExceededError: The rows have too many bytes.
        """
        rows = collected(self._frame, BROADCAST_LIMIT_BYTES)
        keys = [_key(place) for place in range(len(self._keys))]
        if self._asked.kind == "merge":
            if self._asked.checks_matches:
                check_matches(rows, len(keys))
            number = rows.column(self._first_value - 1)
        else:
            number = pa.chunked_array([pa.array([0] * rows.num_rows, pa.int32())])
        columns = {**dict(zip(keys, rows.columns, strict=False)), _CLAUSE: number}
        values = iter(rows.columns[self._first_value :])
        for place, clause in enumerate(self.clauses):
            for at, name in enumerate(clause.columns):
                columns[_value(place, at)] = _fitted(next(values), self._schema.field(name))
        source = pa.table(columns)
        source = source.filter(source.column(_CLAUSE).is_valid())
        # A row can be deleted by several rows of the source.
        return source if self._asked.checks_matches else _once(source, keys)


def _once(source: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return the first row of each key, and all rows without a key, which are inserted."""
    has_key = source.column(keys[0]).is_valid()
    keyed = source.filter(has_key)
    keyed = keyed.append_column("__row", pa.array(range(keyed.num_rows), pa.int64()))
    first = keyed.group_by(list(keys)).aggregate([("__row", "min")]).column("__row_min")
    return pa.concat_tables([keyed.take(first).drop_columns("__row"), source.filter(pc.invert(has_key))])


def _fitted(values: pa.ChunkedArray, target: pa.Field) -> pa.ChunkedArray:
    """Return values in the type of their column, which Spark may have in another form or unit."""
    if pa.types.is_timestamp(target.type) and values.type != target.type:
        return values.cast(target.type, safe=False)
    convert = conversion(values.type, target)
    chunks = values.chunks if convert is None else [convert(chunk) for chunk in values.chunks]
    if pa.types.is_nested(target.type):
        # The fields of structs are nullable in Spark.
        converts = [rebuilt(chunk.type, target.type) for chunk in chunks]
        chunks = [chunk if one is None else one(chunk) for chunk, one in zip(chunks, converts, strict=True)]
    return pa.chunked_array(chunks, target.type)


def _key(place: int) -> str:
    return f"key_{place}"


def _value(clause: int, place: int) -> str:
    return f"value_{clause}_{place}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
