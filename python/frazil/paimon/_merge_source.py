"""The source rows of a MERGE, and the keys in its ON condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._merge import Action, When
from frazil.files.rows.batches import source_parts
from frazil.files.rows.places import TypeNames
from frazil.paimon._scan import target_schema
from frazil.paimon._writer_options import type_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from frazil import _native
    from frazil._merge import MergePlan

__all__ = ["MergeSource", "matches_keys", "missing_keys"]


class MergeSource:
    """Rows that are compared with the rows of a table, in memory."""

    def __init__(self, data: Any) -> None:
        """Keep the user's data without reading it."""
        # A list may be changed by the user before the rows are needed.
        self._data = list(data) if isinstance(data, list) else data
        self._rows: list[pa.RecordBatch] | None = None

    def hold(self, table: _native.PaimonTable, *, exact: bool) -> list[pa.RecordBatch]:
        """Read all rows into memory once, and return them in the types of the columns of `table`.

        A column whose values cannot be converted keeps its type, because expressions may use the column; with `exact`,
        it is an error.

        Raises:
            InvalidArgumentError: The data is of an unsupported type, or its parts have different columns.
        """
        # Dictionaries are converted again, because the types of the columns may have changed since the last call.
        if self._rows is None or isinstance(self._data, list):
            self._rows = source_parts(self._data, target_schema(table), TypeNames(type_name))
        return table.source_batches(self._rows, exact=exact)


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
