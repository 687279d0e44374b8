"""DELETE, UPDATE, MERGE and TRUNCATE of Iceberg tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.sql._lexer import invalid, unsupported
from frazil.sql._literals import is_literal
from frazil.sql._moments import Moments
from frazil.sql._narrow import whole_filter
from frazil.sql._row_change import Change
from frazil.sql._row_queries import rows_to_delete, rows_to_update
from frazil.sql._targets import branch_of

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.errors import UnsupportedError
    from frazil.sql._engine import Frame
    from frazil.sql._reader import Name, Text
    from frazil.sql._run import Run
    from frazil.sql._statements import Assignment, Delete, Merge, Target, Truncate, Update

__all__ = ["delete", "merge", "truncate", "update"]

_INSTEAD = {
    ("UPDATE", "iceberg"): 'lake.table(…).update({"name": "upper(name)"}, "id = 1")',
    ("MERGE", "iceberg"): 'frazil.spark.merge(frame, lake.table(…), ["id"])',
    ("TRUNCATE", "paimon"): "lake.table(…).truncate()",
}
"""The Python alternatives by statement and table format."""


class _Opened(NamedTuple):
    """A table to change, and its branch."""

    table: Any
    branch: str


def delete(statement: Delete, run: Run[Frame]) -> Frame:
    """Delete the rows that match a condition, or all rows.

    A condition that frazil evaluates as Spark does becomes a filter. The rows of any other condition are selected by a
    query.

    Raises:
        UnsupportedError: The table is not an Iceberg table, or has a column with the name of a metadata column.
    """
    opened = _open("DELETE", statement.target.name, run)
    if opened is None:
        return run.pass_on()
    condition = statement.condition
    row_filter = None if condition is None else _row_filter(condition, statement.target, opened, run)
    if condition is None or (row_filter is not None and statement.common is None):
        result = run.engine.delete(opened.table, row_filter, opened.branch)
    else:
        query = rows_to_delete(statement, condition, run)
        rows = run.engine.query(query.text, query.sources, run.args)
        result = run.engine.change(rows, opened.table, Change("delete", opened.branch, query.row_filter))
    run.results.append(result)
    return run.done()


def update(statement: Update, run: Run[Frame]) -> Frame:
    """Set columns of the rows that match a condition, or of all rows.

    Literals are set in the rows that match a filter. Rows with other conditions or values are selected by a query.

    Raises:
        InvalidArgumentError: A column does not exist or is set twice, or a value does not fit its column.
        UnsupportedError: As in `delete`, or a field of a struct is set.
    """
    opened = _open("UPDATE", statement.target.name, run)
    if opened is None:
        return run.pass_on()
    values: dict[str, Text | None] = {}
    for one in statement.assignments:
        column = _column(one, statement.target, opened, run)
        if column in values:
            raise invalid(run.text, one.start, f"column `{column}` is set twice")
        values[column] = _value(one, column, opened, run)
    condition = statement.condition
    row_filter = None if condition is None else _row_filter(condition, statement.target, opened, run)
    literals = {column: "NULL" if value is None else value.text for column, value in values.items()}
    is_filter = (condition is None or row_filter is not None) and statement.common is None
    if is_filter and all(map(is_literal, literals.values())):
        result = run.engine.update(opened.table, literals, row_filter, opened.branch)
    else:
        query = rows_to_update(statement, list(values.values()), run)
        rows = run.engine.query(query.text, query.sources, run.args)
        columns = tuple(sorted(values, key=lambda column: values[column] is not None))
        change = Change("update", opened.branch, query.row_filter, columns)
        result = run.engine.change(rows, opened.table, change)
    run.results.append(result)
    return run.done()


def merge(statement: Merge, run: Run[Frame]) -> Frame:
    """Refuse a MERGE into a table of the lake.

    Raises:
        UnsupportedError: The target is a table of the lake; the hint suggests a Python alternative.
    """
    if _open("MERGE", statement.target.name, run) is None:
        return run.pass_on()
    raise _unsupported(run, "MERGE", "MERGE is not supported", run.start, statement.target.name)


def truncate(statement: Truncate, run: Run[Frame]) -> Frame:
    """Delete all rows of a table.

    Raises:
        UnsupportedError: The statement has a PARTITION clause, or the table is not an Iceberg table.
    """
    opened = _open("TRUNCATE", statement.name, run)
    if opened is None:
        return run.pass_on()
    if statement.partition:
        problem = "PARTITION is not supported for TRUNCATE TABLE"
        hint = "write DELETE FROM with a condition on the partition columns"
        raise unsupported(run.text, statement.partition[0].start, problem, hint)
    run.results.append(run.engine.delete(opened.table, None, opened.branch))
    return run.done()


def _open(what: str, name: Name, run: Run[Any]) -> _Opened | None:
    """Open the table to change; return None if it is not in the lake.

    Raises:
        UnsupportedError: The name refers to a metadata table or an immutable state, or to a table of another format.
    """
    if run.where(name) is None:
        return None
    source = run.tables.source(name.parts)
    branch = branch_of(name, source, run.text)
    if not hasattr(source.table, "spec"):
        raise _unsupported(run, what, f"{what} is not supported for Paimon tables", run.start, name)
    return _Opened(source.table, branch)


def _unsupported(run: Run[Any], what: str, problem: str, position: int, name: Name) -> UnsupportedError:
    """Return the error for a table, with the Python alternative."""
    where, source = run.where(name), run.tables.source(name.parts)
    use = _INSTEAD.get((what, "" if where is None else where.catalog.format))
    if use and source.state is None:
        use = use.replace("lake.table(…)", f'lake.table("{name}")')
    return unsupported(run.text, position, problem, use and f"use {use}")


def _row_filter(condition: Text, target: Target, opened: _Opened, run: Run[Any]) -> str | None:
    """Return a condition as a filter of frazil; None if frazil may not evaluate it as Spark does."""
    engine = run.engine
    return whole_filter(
        opened.table.scan().schema(),
        condition.text,
        Moments(engine.values, timestamp_has_zone=engine.timestamp_has_zone()),
        target.qualifier,
        case_sensitive=engine.is_case_sensitive(),
    )


def _column(one: Assignment, target: Target, opened: _Opened, run: Run[Any]) -> str:
    """Return the name of the assigned column, in the spelling of the table.

    Raises:
        InvalidArgumentError: The table does not have the column, or several with this name.
        UnsupportedError: The path refers to a field of a struct.
    """
    schema: pa.Schema = opened.table.scan().schema()
    *before, last = one.path
    qualifier = [part.lower() for part in target.qualifier]
    is_column = not before or [part.lower() for part in before] == qualifier[-len(before) :]
    found = _columns(schema, last, run) if is_column else []
    if not found and before and _columns(schema, one.path[0], run):
        problem = "UPDATE is not supported for single fields of structs"
        raise _unsupported(run, "UPDATE", problem, one.start, target.name)
    if not found:
        problem = f"the table has no column `{'.'.join(one.path)}`"
        raise invalid(run.text, one.start, problem, f"the columns are {', '.join(schema.names)}")
    if len(found) > 1:
        raise invalid(run.text, one.start, f"the name `{last}` is ambiguous: the table has columns {', '.join(found)}")
    return found[0]


def _columns(schema: pa.Schema, name: str, run: Run[Any]) -> list[str]:
    if run.engine.is_case_sensitive():
        return [column for column in schema.names if column == name]
    return [column for column in schema.names if column.lower() == name.lower()]


def _value(one: Assignment, column: str, opened: _Opened, run: Run[Any]) -> Text | None:
    """Return the value that an assignment sets; None for NULL as a default.

    Raises:
        UnsupportedError: The value is a default that is not NULL.
    """
    if one.value is None:
        field = next(field for field in opened.table.schema().fields if field.name == column)
        if field.write_default is not None:
            problem = f"DEFAULT is not supported for column `{column}`, which has a default value"
            raise unsupported(run.text, one.start, problem, "write the value")
    return one.value
