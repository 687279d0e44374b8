"""Statements that show the contents of catalogs, and select the current catalog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from frazil.sql._catalog_properties import CURRENT_CATALOG
from frazil.sql._names import Resolved
from frazil.sql._reader import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import ShowCatalogs, ShowCurrent, ShowNamespaces, ShowTables, Use

__all__ = ["dotted", "is_like", "show_catalogs", "show_current", "show_namespaces", "show_tables", "use"]


def use(statement: Use, run: Run[Frame]) -> Frame:
    """Make a catalog and a namespace current."""
    parts = statement.name.parts
    if run.names.use(parts, is_catalog=statement.is_catalog, is_namespace=statement.is_namespace):
        return run.done()
    result = run.engine.query(f"SET CATALOG {statement.name}", ()) if statement.is_catalog else run.unchanged()
    run.names.leave()
    return result


def show_catalogs(statement: ShowCatalogs, run: Run[Frame]) -> Frame:
    """List the catalogs of the lake and of the engine."""
    return run.frame(("catalog",), [(name,) for name in run.names.all() if is_like(name, statement.pattern)])


def show_current(statement: ShowCurrent, run: Run[Frame]) -> Frame:
    """Return the current catalog, and the namespace unless the statement asks only for the catalog."""
    current = run.names.current
    if current is None:
        if statement.is_catalog:
            return run.engine.query(f"SELECT current_catalog() AS `{CURRENT_CATALOG}`", ())
        return run.unchanged()
    if statement.is_catalog:
        return run.frame((CURRENT_CATALOG,), [(current.name,)])
    return run.frame(("catalog", "namespace"), [(current.name, dotted(run.names.namespace))])


def show_tables(statement: ShowTables, run: Run[Frame]) -> Frame:
    """List the tables of a namespace."""
    where = run.names.listed_namespace(None if statement.namespace is None else statement.namespace.parts)
    if where is None:
        return run.unchanged()
    rows = [
        (dotted(levels[:-1]), levels[-1], False)
        for levels in where.catalog.catalog.list_tables(where.levels)
        if is_like(levels[-1], statement.pattern)
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
    return run.frame(("namespace",), [(name,) for name in listed if is_like(name, statement.pattern)])


def dotted(levels: Sequence[str]) -> str:
    """Return the parts of a name in SQL notation, separated by dots."""
    return ".".join(map(quoted, levels))


def is_like(name: str, pattern: str | None) -> bool:
    """Return whether a name matches a SHOW pattern; True without a pattern.

    In a pattern, `*` matches any string, and `|` separates alternatives.

    >>> is_like("orders", "or*|x"), is_like("orders", "order")
    (True, False)
    """
    if pattern is None:
        return True
    parts = (".*".join(map(re.escape, part.strip().split("*"))) for part in pattern.split("|"))
    return any(re.fullmatch(part, name, re.IGNORECASE) for part in parts)
