"""The tables and columns that DELETE, UPDATE, MERGE and TRUNCATE change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.sql._lexer import invalid, unsupported
from frazil.sql._targets import branch_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from frazil.errors import UnsupportedError
    from frazil.sql._reader import Name, Text
    from frazil.sql._run import Run
    from frazil.sql._statements import Assignment, Target

__all__ = ["Opened", "column_of", "named", "open_target", "value_of"]

_INSTEAD = {
    ("UPDATE", "iceberg"): 'lake.table(…).update({"name": "upper(name)"}, "id = 1")',
    ("MERGE", "iceberg"): 'frazil.spark.merge(frame, lake.table(…), ["id"])',
    ("TRUNCATE", "paimon"): "lake.table(…).truncate()",
}
"""The Python alternatives by statement and table format."""


class Opened(NamedTuple):
    """A table to change, and its branch."""

    table: Any
    branch: str


def open_target(what: str, name: Name, run: Run[Any]) -> Opened | None:
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
    return Opened(source.table, branch)


def _unsupported(run: Run[Any], what: str, problem: str, position: int, name: Name) -> UnsupportedError:
    """Return the error for a table, with the Python alternative."""
    where, source = run.where(name), run.tables.source(name.parts)
    use = _INSTEAD.get((what, "" if where is None else where.catalog.format))
    if use and source.state is None:
        use = use.replace("lake.table(…)", f'lake.table("{name}")')
    return unsupported(run.text, position, problem, use and f"use {use}")


def column_of(what: str, one: Assignment, target: Target, opened: Opened, run: Run[Any]) -> str:
    """Return the name of the assigned column, in the spelling of the table.

    Raises:
        InvalidArgumentError: The table does not have the column, or several with this name.
        UnsupportedError: The path refers to a field of a struct.
    """
    schema: pa.Schema = opened.table.scan().schema()
    *before, last = one.path
    qualifier = [part.lower() for part in target.qualifier]
    is_column = not before or [part.lower() for part in before] == qualifier[-len(before) :]
    found = named(schema.names, last, run) if is_column else []
    if not found and before and named(schema.names, one.path[0], run):
        problem = f"{what} is not supported for single fields of structs"
        raise _unsupported(run, what, problem, one.start, target.name)
    if not found:
        problem = f"the table has no column `{'.'.join(one.path)}`"
        raise invalid(run.text, one.start, problem, f"the columns are {', '.join(schema.names)}")
    if len(found) > 1:
        raise invalid(run.text, one.start, f"the name `{last}` is ambiguous: the table has columns {', '.join(found)}")
    return found[0]


def named(columns: Iterable[str], name: str, run: Run[Any]) -> list[str]:
    """Return the columns with a name, which is case-sensitive if the session requires it."""
    if run.engine.is_case_sensitive():
        return [column for column in columns if column == name]
    return [column for column in columns if column.lower() == name.lower()]


def value_of(one: Assignment, column: str, opened: Opened, run: Run[Any]) -> Text | None:
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
