"""The source rows of a MERGE, and the keys in its ON condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil._merge import Action, When
from frazil.errors import InvalidArgumentError
from frazil.files.rows.batches import batches, no_rows
from frazil.files.rows.python_values import TypeNames
from frazil.paimon._writer_options import type_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from frazil import _native
    from frazil._merge import MergePlan

__all__ = ["MergeSource", "matches_keys", "missing_keys"]


class MergeSource:
    """Rows that are compared with the rows of a table, in memory."""

    def __init__(self, data: Any) -> None:
        """Keep the user's data without reading it."""
        # A list may be changed by the user before the rows are needed.
        self._data = list(data) if isinstance(data, list) else data
        self._rows: pa.Table | None = None

    def hold(self, schema: pa.Schema) -> list[pa.RecordBatch]:
        """Read all rows into memory once, and return them in the types of the columns in `schema`.

        A column whose values cannot be converted keeps its type, because expressions may use the column.

        Raises:
            InvalidArgumentError: The data is of an unsupported type, or its parts have different columns.
        """
        # Dictionaries are converted again, because the types of the columns may have changed since the last call.
        if self._rows is None or isinstance(self._data, list):
            self._rows = _read(self._data, schema)
        rows = _fitted(self._rows, schema)
        return rows.to_batches() or [no_rows(rows.schema)]


def missing_keys(merger: _native.Merger, keys: Iterable[str]) -> list[str]:
    """Return the key columns that the ON condition does not compare with a column of the source."""
    compared = {target for target, source in merger.compared_columns() if source is not None}
    return [key for key in keys if key not in compared]


def matches_keys(plan: MergePlan, merger: _native.Merger, keys: Iterable[str]) -> bool:
    """Return whether a source row matches each row whose key it would insert.

    This is the case if ON compares nothing but the key, by columns with the same names, and all columns are inserted.
    """
    pairs = merger.compared_columns()
    own = [target for target, source in pairs if target is not None and target == source]
    inserts = [clause for clause in plan.clauses if clause.when is When.NOT_MATCHED]
    only_keys = not merger.has_other_conditions() and len(own) == len(pairs) and sorted(own) == sorted(keys)
    return only_keys and all(clause.action is Action.INSERT_ALL for clause in inserts)


def _read(data: Any, schema: pa.Schema) -> pa.Table:
    """Read all rows."""
    parts = list(batches(data, schema, TypeNames(type_name), source=True))
    filled = [part for part in parts if part.num_rows]
    # Parts without rows may lack columns that other parts have: an empty list has no columns.
    filled = filled or [part for part in parts if part.num_columns][:1] or [no_rows(schema)]
    try:
        return pa.concat_tables([pa.Table.from_batches([part]) for part in filled], promote_options="default")
    except pa.ArrowException as error:
        message = f"the parts of the source have different columns: {error}"
        raise InvalidArgumentError(message, hint="convert the parts to one schema") from error


def _fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows whose columns have the types of the table, if that loses nothing."""
    for place, name in enumerate(rows.schema.names):
        if rows.schema.names.count(name) > 1:
            message = f"the source has two columns `{name}`"
            raise InvalidArgumentError(message, context={"column": name}, hint="rename one of them")
        if name in schema.names:
            rows = rows.set_column(place, name, _converted(rows.column(place), schema.field(name).type))
    return rows


def _converted(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.type == target or not any(is_kind(column.type) and is_kind(target) for is_kind in _KINDS):
        return column
    try:
        return column.cast(target, safe=True)
    except (pa.ArrowException, NotImplementedError):
        return column


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _is_bytes(kind: pa.DataType) -> bool:
    return kind in (pa.binary(), pa.large_binary(), pa.binary_view()) or isinstance(kind, pa.FixedSizeBinaryType)


def _is_zoned(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.TimestampType) and bool(kind.tz)


def _is_local(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.TimestampType) and not kind.tz


_KINDS = (
    _is_text,
    _is_bytes,
    _is_zoned,
    _is_local,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_time,
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_struct,
    pa.types.is_map,
)
"""The kinds of types within which values are converted; other conversions need a CAST."""
