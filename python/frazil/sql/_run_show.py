"""Statements that show the contents of catalogs, describe tables, and select the current catalog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from frazil.errors import UnsupportedError
from frazil.sql._lexer import unsupported
from frazil.sql._names import Resolved
from frazil.sql._reader import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import Describe, ShowCatalogs, ShowCurrent, ShowNamespaces, ShowTables, Use

__all__ = ["describe", "show_catalogs", "show_current", "show_namespaces", "show_tables", "use"]


def use(statement: Use, run: Run[Frame]) -> Frame:
    """Make a catalog and a namespace current."""
    parts = statement.name.parts
    if run.names.use(parts, is_catalog=statement.is_catalog, is_namespace=statement.is_namespace):
        return run.done()
    result = run.unchanged()
    run.names.leave()
    return result


def show_catalogs(statement: ShowCatalogs, run: Run[Frame]) -> Frame:
    """List the catalogs of the lake and of the engine."""
    del statement
    return run.frame(("catalog",), [(name,) for name in run.names.all()])


def show_current(statement: ShowCurrent, run: Run[Frame]) -> Frame:
    """Return the current catalog and namespace."""
    del statement
    current = run.names.current
    if current is None:
        return run.unchanged()
    return run.frame(("catalog", "namespace"), [(current.name, dotted(run.names.namespace))])


def show_tables(statement: ShowTables, run: Run[Frame]) -> Frame:
    """List the tables of a namespace."""
    where = run.names.listed_namespace(None if statement.namespace is None else statement.namespace.parts)
    if where is None:
        return run.unchanged()
    rows = [
        (dotted(levels[:-1]), levels[-1], False)
        for levels in where.catalog.catalog.list_tables(where.levels)
        if _is_like(levels[-1], statement.pattern)
    ]
    return run.frame(("namespace", "tableName", "isTemporary boolean NOT NULL"), rows)


def show_namespaces(statement: ShowNamespaces, run: Run[Frame]) -> Frame:
    """List the namespaces of a catalog or of a namespace."""
    current = run.names.current
    if statement.parent is not None:
        where = run.names.new_namespace(statement.parent.parts)
    else:
        where = None if current is None else Resolved(current, ())
    if where is None:
        return run.unchanged()
    listed = map(dotted, where.catalog.catalog.list_namespaces(where.levels))
    return run.frame(("namespace",), [(name,) for name in listed if _is_like(name, statement.pattern)])


def describe(statement: Describe, run: Run[Frame]) -> Frame:
    """Return the columns of a table, its partitioning and, with EXTENDED, its details."""
    where = run.where(statement.name)
    if where is None:
        return run.pass_on()
    table = _readable(run.text, statement.name.start, where)
    rows = run.engine.columns(table)
    if where.catalog.format == "iceberg":
        from frazil.sql._describe import details, partitioning

        rows += partitioning(table, rows)
        if statement.extended:
            rows += details(table, f"{quoted(where.catalog.name)}.{dotted(where.levels)}")
    elif statement.extended:
        message = "DESCRIBE EXTENDED of a Paimon table is not supported"
        raise UnsupportedError(message, hint="use lake.table(…).options")
    return run.frame(("col_name", "data_type", "comment"), rows)


def dotted(levels: Sequence[str]) -> str:
    """Return the parts of a name in SQL notation, separated by dots."""
    return ".".join(map(quoted, levels))


def _readable(text: str, start: int, where: Resolved) -> Any:
    table = where.catalog.catalog.load_table(where.levels)
    if not hasattr(table, "scan") or not hasattr(table, "append"):
        name = ".".join(where.levels)
        raise unsupported(text, start, f"metadata table {name} cannot be read in SQL", "use lake.table(…).inspect")
    return table


def _is_like(name: str, pattern: str | None) -> bool:
    """Return whether a name matches a SHOW pattern; True without a pattern.

    In a pattern, `*` matches any string, and `|` separates alternatives.

    >>> _is_like("orders", "or*|x"), _is_like("orders", "order")
    (True, False)
    """
    if pattern is None:
        return True
    parts = (".*".join(map(re.escape, part.strip().split("*"))) for part in pattern.split("|"))
    return any(re.fullmatch(part, name, re.IGNORECASE) for part in parts)
