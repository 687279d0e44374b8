"""The source rows of a MERGE, and its ON condition."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _native
from frazil._merge import Action, When
from frazil.errors import InvalidArgumentError
from frazil.files.rows.batches import batches, no_rows
from frazil.files.rows.python_values import TypeNames
from frazil.paimon._writer_options import type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from frazil._merge import MergeClause, MergePlan

__all__ = ["MergeSource", "matches_keys", "missing_keys"]

_NAME = r'(?:"(?:[^"]|"")*"|[^\W\d]\w*)'
_COLUMN = rf"{_NAME}(?:\.{_NAME})*"
_EQUALITY = re.compile(rf"({_COLUMN}) = ({_COLUMN})")
_TOKEN = re.compile(rf"""{_COLUMN}|'(?:[^']|'')*'|.""", re.DOTALL)
_DEPTHS = {"(": 1, "CASE": 1, ")": -1, "END": -1}


class MergeSource:
    """Rows that are compared with the rows of a table, in memory."""

    def __init__(self, data: Any) -> None:
        """Keep the user's data without reading it."""
        self._data = data
        self._held: list[pa.RecordBatch] | None = None

    def hold(self, schema: pa.Schema) -> list[pa.RecordBatch]:
        """Read all rows into memory once, in the types of the columns in `schema`.

        A column whose values cannot be converted keeps its type, because expressions may use the column.

        Raises:
            InvalidArgumentError: The data is of an unsupported type, or its parts have different columns.
        """
        if self._held is None:
            parts = list(batches(self._data, schema, TypeNames(type_name), source=True))
            filled = [part for part in parts if part.num_rows]
            # Parts without rows may lack columns that other parts have: an empty list has no columns.
            filled = filled or [part for part in parts if part.num_columns][:1] or [no_rows(schema)]
            try:
                table = pa.concat_tables([pa.Table.from_batches([part]) for part in filled], promote_options="default")
            except pa.ArrowException as error:
                message = f"the parts of the source have different columns: {error}"
                raise InvalidArgumentError(message, hint="convert the parts to one schema") from error
            table = _fitted(table, schema)
            self._held = table.to_batches() or [no_rows(table.schema)]
        return self._held


def missing_keys(plan: MergePlan, keys: Iterable[str], target: pa.Schema, source: pa.Schema) -> list[str]:
    """Return the key columns that the ON condition does not compare with a column of the source."""
    compared = {pair[plan.target_alias] for pair in _compared(plan, target, source) if pair is not None}
    return [key for key in keys if key not in compared]


def matches_keys(plan: MergePlan, keys: Iterable[str], target: pa.Schema, source: pa.Schema) -> bool:
    """Return whether a source row matches each row whose key it would insert.

    This is the case if ON compares nothing but the key, by columns with the same names, and all columns are inserted.
    """
    pairs = _compared(plan, target, source)
    own = [pair[plan.target_alias] for pair in pairs if pair is not None and len(set(pair.values())) == 1]
    inserts = [clause for clause in plan.clauses if clause.when is When.NOT_MATCHED]
    return sorted(own) == sorted(keys) and len(own) == len(pairs) and all(_inserts_all(clause) for clause in inserts)


def _inserts_all(clause: MergeClause) -> bool:
    return clause.action is Action.INSERT_ALL


def _compared(plan: MergePlan, target: pa.Schema, source: pa.Schema) -> list[dict[str, str] | None]:
    """Return the columns by alias that each part of the ON condition compares; None for other conditions."""
    if isinstance(plan.on, list):
        names = [next((name for name in (text, text[1:-1]) if name in target.names), text) for text in plan.on]
        return [{plan.target_alias: name, plan.source_alias: name} for name in names]
    sides = ((plan.target_alias, target), (plan.source_alias, source))
    found: list[dict[str, str] | None] = []
    for part in _conjuncts(_native.normalize_predicate(plan.on)):
        match = _EQUALITY.fullmatch(part)
        columns = [] if match is None else [_column(_parts(side), sides) for side in match.groups()]
        placed = dict(column for column in columns if column is not None)
        found.append(placed if len(placed) == len(sides) else None)
    return found


def _column(parts: list[str], sides: Iterable[tuple[str, pa.Schema]]) -> tuple[str, str] | None:
    """Return the alias and the name of a column; None for a field of a struct."""
    for alias, schema in sides:
        if len(parts) == 2 and parts[0] == alias and parts[1] in schema.names:  # noqa: PLR2004 - alias and column
            return alias, parts[1]
    if len(parts) == 1:
        return next(((alias, parts[0]) for alias, schema in sides if parts[0] in schema.names), None)
    return None


def _parts(name: str) -> list[str]:
    """Return the parts of a name without quotes.

    >>> _parts('t."a ""b"" c"')
    ['t', 'a "b" c']
    """
    return [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in re.findall(_NAME, name)]


def _conjuncts(text: str) -> Iterator[str]:
    """Yield the parts of a normalized condition that AND connects.

    >>> list(_conjuncts('(a = b AND c = "x AND y") AND f(d AND e)'))
    ['a = b', 'c = "x AND y"', 'f(d AND e)']
    >>> list(_conjuncts("a = b OR c = d AND e = f"))
    ['a = b OR c = d AND e = f']
    """
    parts, depth, has_or = [""], 0, False
    for word in _TOKEN.findall(text):
        depth += _DEPTHS.get(word, 0)
        has_or = has_or or (depth == 0 and word == "OR")
        if depth == 0 and word == "AND":
            parts.append("")
        else:
            parts[-1] += word
    parts = [part.strip() for part in parts]
    if has_or:
        yield text
    else:
        for part in parts:
            yield from _conjuncts(part[1:-1]) if _is_enclosed(part) else [part]


def _is_enclosed(text: str) -> bool:
    """Return whether the first parenthesis of a text is closed by the last character.

    >>> _is_enclosed("(a)"), _is_enclosed("(a) = (b)")
    (True, False)
    """
    depth = 0
    tokens = _TOKEN.findall(text)
    for place, token in enumerate(tokens):
        depth += _DEPTHS.get(token, 0)
        if depth == 0:
            return text.startswith("(") and place == len(tokens) - 1
    return False


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
