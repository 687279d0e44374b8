"""The tables and columns that DELETE, UPDATE, MERGE and TRUNCATE change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from frazil.sql._defaults import default_literal
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._new_values import NewStruct, OldValue
from frazil.sql._targets import branch_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from frazil.errors import FrazilError, UnsupportedError
    from frazil.sql._new_values import Value
    from frazil.sql._reader import Name, Text
    from frazil.sql._run import Run
    from frazil.sql._statements import Assignment, Target

__all__ = ["Opened", "default_sql", "has_default", "named", "new_values", "open_target", "path_of", "value_of"]

_INSTEAD = {
    ("UPDATE", "iceberg"): 'lake.table(…).update({"name": "upper(name)"}, "id = 1")',
    ("MERGE", "iceberg"): 'frazil.spark.merge(frame, lake.table(…), ["id"])',
}
"""The Python alternatives by statement and table format."""

_WRITE_VALUE = "write the value"


class _Session(Protocol):
    def is_case_sensitive(self) -> bool: ...


class Opened(NamedTuple):
    """A table to change, and its branch."""

    table: Any
    branch: str


def open_target(what: str, name: Name, run: Run[Any]) -> Opened | None:
    """Open the table to change; return None if it is not in the lake.

    Raises:
        UnsupportedError: The name refers to a metadata table or an immutable state, or to a table without snapshots.
    """
    if run.where(name) is None:
        return None
    source = run.target(name, "rows")
    branch = branch_of(name, source, run.text)
    if not hasattr(source.table, "merge"):
        raise _unsupported(run, what, f"{what} is not supported for tables without snapshots", run.start, name)
    return Opened(source.table, branch)


def _unsupported(run: Run[Any], what: str, problem: str, position: int, name: Name) -> UnsupportedError:
    """Return the error for a table, with the Python alternative."""
    where, source = run.where(name), run.tables.source(name.parts)
    use = _INSTEAD.get((what, "" if where is None else where.catalog.format))
    if use and source.state is None:
        use = use.replace("lake.table(…)", f'lake.table("{name}")')
    return unsupported(run.text, position, problem, use and f"use {use}")


def new_values(
    what: str, assignments: Sequence[Assignment], target: Target, opened: Opened, run: Run[Any]
) -> dict[str, Value]:
    """Return the new value of each column that assignments set, completely or by fields of a struct.

    Raises:
        InvalidArgumentError: The table does not have a column or field, or several with this name, or it is set twice.
        UnsupportedError: A path leads into an array or a map, or a DEFAULT cannot be written as SQL.
    """
    set_values: dict[tuple[str, ...], Value] = {}
    for one in assignments:
        path = path_of(what, one, target, opened, run)
        shorter, longer = sorted((path, next((old for old in set_values if _overlap(old, path)), ())), key=len)
        if shorter:
            reason = (
                "" if len(longer) == len(path) and shorter == longer else f", because `{'.'.join(shorter)}` is set, too"
            )
            raise invalid(run.text, one.start, f"column `{'.'.join(longer)}` is set twice{reason}")
        set_values[path] = value_of(one, path, opened, run)
    schema: pa.Schema = opened.table.scan().schema()
    columns = dict.fromkeys(path[0] for path in set_values)
    return {column: _new_value((column,), schema.field(column).type, set_values) for column in columns}


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    count = min(len(one), len(other))
    return one[:count] == other[:count]


def _new_value(path: tuple[str, ...], data_type: pa.DataType, set_values: Mapping[tuple[str, ...], Value]) -> Value:
    if path in set_values:
        return set_values[path]
    if not any(_overlap(one, path) for one in set_values):
        return OldValue(path)
    fields = [data_type.field(place) for place in range(data_type.num_fields)]
    return NewStruct(tuple((field.name, _new_value((*path, field.name), field.type, set_values)) for field in fields))


def has_default(field: Any) -> bool:
    """Return whether a column has a default for omitted values."""
    name = "default_value" if hasattr(field, "default_value") else "write_default"
    return getattr(field, name) is not None


def path_of(what: str, one: Assignment, target: Target, opened: Opened, run: Run[Any]) -> tuple[str, ...]:
    """Return the assigned column, and the fields after it, in the spelling of the table.

    Raises:
        InvalidArgumentError: The table does not have the column or field, or several with this name.
        UnsupportedError: The path leads into an array or a map.
    """
    import pyarrow as pa

    schema: pa.Schema = opened.table.scan().schema()
    qualifier = [part.lower() for part in target.qualifier]
    parts = [part.lower() for part in one.path]
    # As in Spark, a qualifier takes precedence over a column with fields.
    counts = (count for count in range(len(parts) - 1, 0, -1) if parts[:count] == qualifier[-count:])
    begin = next((count for count in (*counts, 0) if named(schema.names, one.path[count], run.engine)), 0)
    column, *fields = one.path[begin:]
    found = [_single(schema.names, column, ".".join(one.path), "the table has", one, run)]
    data_type = schema.field(found[0]).type
    for name in fields:
        shown = ".".join(found)
        if not pa.types.is_struct(data_type):
            raise _not_a_struct(what, one, shown, data_type, run)
        names = [data_type.field(place).name for place in range(data_type.num_fields)]
        found.append(_single(names, name, f"{shown}.{name}", f"the struct `{shown}` has", one, run))
        data_type = data_type.field(found[-1]).type
    return tuple(found)


def _not_a_struct(what: str, one: Assignment, shown: str, data_type: pa.DataType, run: Run[Any]) -> FrazilError:
    import pyarrow as pa

    if pa.types.is_nested(data_type):
        kind = "a map" if pa.types.is_map(data_type) else "an array"
        problem = f"{what} is not supported for parts of column `{shown}`, which is {kind}"
        return unsupported(run.text, one.start, problem, "set the whole column")
    return invalid(run.text, one.start, f"column `{shown}` is not a struct, and has no fields")


def _single(names: Sequence[str], name: str, shown: str, has: str, one: Assignment, run: Run[Any]) -> str:
    """Return the column or field with a name.

    Raises:
        InvalidArgumentError: There is no such name, or there are several.
    """
    found, kind = named(names, name, run.engine), "column" if has == "the table has" else "field"
    if not found:
        hint = f"the {kind}s are {', '.join(names)}"
        raise invalid(run.text, one.start, f"{has} no {kind} `{shown}`", hint)
    if len(found) > 1:
        raise invalid(run.text, one.start, f"the name `{name}` is ambiguous: {has} {kind}s {', '.join(found)}")
    return found[0]


def named(columns: Iterable[str], name: str, session: _Session) -> list[str]:
    """Return the columns with a name, which is case-sensitive if the session requires it."""
    if session.is_case_sensitive():
        return [column for column in columns if column == name]
    return [column for column in columns if column.lower() == name.lower()]


def value_of(one: Assignment, path: Sequence[str], opened: Opened, run: Run[Any]) -> Text | str:
    """Return the value that an assignment sets: an expression, or the default of its column as SQL.

    Raises:
        UnsupportedError: The value is the default of a field of a struct, or of a column whose default is not a
            literal.
    """
    if one.value is not None:
        return one.value
    if len(path) > 1:
        problem = f"DEFAULT is not supported for field `{'.'.join(path)}` of a struct"
        raise unsupported(run.text, one.start, problem, _WRITE_VALUE)
    if opened.table.format == "paimon" and has_default(_field(path[0], opened.table)):
        problem = f"DEFAULT is not supported for column `{path[0]}` of a Paimon table"
        raise unsupported(run.text, one.start, problem, _WRITE_VALUE)
    return default_sql(path[0], opened.table, run, one.start)


def default_sql(column: str, table: Any, run: Run[Any], start: int) -> str:
    """Return the default of a column of a new row, as SQL.

    Raises:
        UnsupportedError: The default is not a literal.
    """
    field = _field(column, table)
    # The writer of a Paimon table replaces NULL by the default of the column.
    if table.format == "paimon" or not has_default(field):
        return "NULL"
    if field.fields:
        problem = f"DEFAULT is not supported for column `{column}`, which is not of a simple type"
        raise unsupported(run.text, start, problem, _WRITE_VALUE)
    return default_literal(field.write_default, field.type)


def _field(column: str, table: Any) -> Any:
    return next(field for field in table.schema().fields if field.name == column)
