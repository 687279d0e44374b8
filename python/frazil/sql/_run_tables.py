"""Statements that create and drop tables and namespaces."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frazil._virtual_table import VirtualTable
from frazil.errors import (
    AlreadyExistsError,
    FrazilError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnsupportedError,
)
from frazil.sql._create import create_table, is_there
from frazil.sql._create_like import create_table_like
from frazil.sql._insert import Insertion
from frazil.sql._lexer import unsupported
from frazil.sql._sources import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._run import ReadSnapshot
    from frazil.sql._engine import Frame
    from frazil.sql._names import Resolved
    from frazil.sql._run import Run
    from frazil.sql._sources import Source, Sources
    from frazil.sql._statements import CreateNamespace, CreateTable, CreateTableLike, DropNamespace, DropTable

__all__ = ["create", "create_like", "create_namespace", "drop", "drop_namespace"]

_IN_FOLDERS = ("hadoop", "paimon")
"""The types of catalogs that store nothing outside the folders of their tables."""


def create(statement: CreateTable, run: Run[Frame]) -> Frame:
    """Create or replace a table, with the rows of its query if it has one."""
    where = run.where(statement.name)
    if where is None:
        return run.unchanged() if statement.query is None else run.pass_on()
    if is_there(statement, where):
        return run.done()
    if statement.query is None:
        create_table(statement, where, run.text, run.engine, None)
        return run.done()
    text, sources = run.read(statement.query)
    how = Insertion(read=_read_of_replaced(statement, run.tables, sources))
    rows = run.engine.query(text, sources, run.args)
    statement = replace(statement, columns=tuple(run.engine.columns_of(rows)))

    def write(table: Any) -> None:
        branch = run.engine.session_branch(table, (where.catalog.name, *where.levels), "insert") or how.branch
        run.results.append(run.engine.insert(rows, table, replace(how, branch=branch)))

    create_table(statement, where, run.text, run.engine, write)
    return run.done()


def create_like(statement: CreateTableLike, run: Run[Frame]) -> Frame:
    """Create a table with the definition of another table.

    Raises:
        UnsupportedError: The other table is not in this lake, or has another format.
    """
    where, source = run.where(statement.name), run.where(statement.source)
    if where is None:
        return run.pass_on()
    if statement.if_not_exists and where.catalog.catalog.table_exists(where.levels):
        return run.done()
    if source is None:
        problem = f"LIKE of a table outside this lake is not supported: {statement.source}"
        raise unsupported(run.text, statement.source.start, problem, "list the columns instead")
    table = run.tables.load(source.catalog, source.levels)
    if not hasattr(table, "append"):
        problem = f"LIKE of {kind_of(table)} {statement.source} is not supported"
        raise unsupported(run.text, statement.source.start, problem)
    create_table_like(statement, table, source.catalog.format, where, run.text, run.engine.user())
    return run.done()


def drop(statement: DropTable, run: Run[Frame]) -> Frame:
    """Drop a table.

    Raises:
        NoSuchTableError: The table does not exist, and the statement does not have IF EXISTS.
    """
    where = run.where(statement.name)
    if where is None:
        return run.unchanged()
    catalog = where.catalog.catalog
    if catalog.type in _IN_FOLDERS and _is_metadata_table(where, run):
        raise unsupported(run.text, statement.name.start, f"metadata table {statement.name} cannot be dropped")
    try:
        # In Java's catalogs of these types, dropping a table also deletes its files.
        catalog.drop_table(where.levels, purge=statement.purge or catalog.type in _IN_FOLDERS)
    except NoSuchTableError:
        if not statement.if_exists:
            raise
    return run.done()


def create_namespace(statement: CreateNamespace, run: Run[Frame]) -> Frame:
    """Create a namespace.

    Raises:
        AlreadyExistsError: The namespace exists, and the statement does not have IF NOT EXISTS.
    """
    where = run.names.new_namespace(statement.name.parts)
    if where is None:
        return run.unchanged()
    catalog = where.catalog.catalog
    # Folders do not store properties, but Spark always sets an owner.
    owner = {} if catalog.type in _IN_FOLDERS else {"owner": run.engine.user()}
    try:
        catalog.create_namespace(where.levels, owner | dict(statement.properties))
    except AlreadyExistsError:
        if not statement.if_not_exists:
            raise
    return run.done()


def drop_namespace(statement: DropNamespace, run: Run[Frame]) -> Frame:
    """Drop a namespace: an empty one, or with CASCADE one of Paimon tables, which are dropped first.

    Raises:
        NoSuchNamespaceError: The namespace does not exist, and the statement does not have IF EXISTS.
        UnsupportedError: The statement has CASCADE, and the catalog is one of Iceberg tables.
    """
    where = run.names.new_namespace(statement.name.parts)
    if where is None:
        return run.unchanged()
    if statement.cascade and where.catalog.format == "paimon":
        with contextlib.suppress(*(NoSuchNamespaceError,) if statement.if_exists else ()):
            for table in where.catalog.catalog.list_tables(where.levels):
                where.catalog.catalog.purge_table(table)
    elif statement.cascade:
        message = "DROP NAMESPACE … CASCADE is not supported"
        raise UnsupportedError(message, hint="drop its tables first")
    try:
        where.catalog.catalog.drop_namespace(where.levels)
    except NoSuchNamespaceError:
        if not statement.if_exists:
            raise
    return run.done()


def _is_metadata_table(where: Resolved, run: Run[Any]) -> bool:
    with contextlib.suppress(FrazilError):
        return isinstance(run.tables.load(where.catalog, where.levels), VirtualTable)
    return False


def _read_of_replaced(statement: CreateTable, tables: Sources, sources: Sequence[Source]) -> ReadSnapshot | None:
    """Return the snapshot of the replaced table that a query reads; None if it does not read the table."""
    if not (statement.replaces and sources):
        return None
    try:
        target = tables.source(statement.name.parts)
    except NoSuchTableError:
        return None
    is_read = target.metadata_table is None and any(one.reads(target) for one in sources)
    return target.snapshot() if is_read else None
