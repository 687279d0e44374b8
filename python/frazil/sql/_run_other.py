"""CALL, ANALYZE, and statements that lake tables do not support."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from frazil.errors import NoSuchNamespaceError, NoSuchTableError
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._other import instead, is_statement
from frazil.sql._procedure_types import Context
from frazil.sql._procedures import arguments, procedure, typed
from frazil.sql._references import mentions
from frazil.sql._row_targets import named, open_target
from frazil.sql._run_rows import one_part_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import Analyze, CacheTable, Call, DropView, Other, RefreshTable, UncacheTable

_FRACTION = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][+-]?\d+)([DdFf]|[Bb][Dd])?")

__all__ = ["analyze", "cache", "call", "drop_view", "other", "refresh", "uncache"]


def analyze(statement: Analyze, run: Run[Frame]) -> Frame:
    """Record the statistics of a table.

    Raises:
        UnsupportedError: The table is not a Paimon table with snapshots, or a clause is not supported.
    """
    opened = open_target("ANALYZE", statement.name, run)
    if opened is None:
        return run.pass_on()
    for clause, start in statement.refused:
        raise unsupported(run.text, start, f"{clause} is not supported for ANALYZE TABLE", "leave it out")
    if not hasattr(opened.table, "analyze"):
        raise unsupported(run.text, run.start, "ANALYZE is not supported for Iceberg tables", None)
    table = opened.table.with_branch(opened.branch)
    columns: Sequence[str] | None = statement.columns
    if columns is not None:
        known = table.scan().schema().names
        columns = [next(iter(named(known, column, run.engine)), column) for column in columns]
    run.results.append(table.analyze(columns))
    return run.done()


def call(statement: Call, run: Run[Frame]) -> Frame:
    """Run a procedure."""
    where = run.names.procedure(statement.procedure.parts)
    if where is None:
        return run.pass_on()
    found = procedure(where, run.text, statement.procedure.start)
    given = arguments(found, statement, run.text)
    for kind, value in given.values():
        if kind == "timestamp" and _is_fraction(value.text):
            problem = f"expected a timestamp, not the number {value.text}"
            raise invalid(run.text, value.start, problem, "write TIMESTAMP '2024-02-29 12:00:00', for example")
    values = run.engine.values([typed(kind, value.text) for kind, value in given.values()])
    context = Context(run.names, where.catalog, run.engine)
    rows = found.run(context, dict(zip(given, values, strict=True)))
    return run.frame(found.columns, rows)


def drop_view(statement: DropView, run: Run[Frame]) -> Frame:
    """Drop a temporary view, or a view outside the lake.

    Raises:
        UnsupportedError: The name refers to a catalog of the lake.
    """
    if run.where(statement.name) is None:
        return run.unchanged()
    raise unsupported(run.text, run.start, "DROP VIEW is not supported", None)


def refresh(statement: RefreshTable, run: Run[Frame]) -> Frame:
    """Check that a table exists: each statement reads its latest state anyway."""
    if run.where(statement.name) is None:
        return run.pass_on()
    run.tables.source(statement.name.parts)
    return run.done()


def cache(statement: CacheTable, run: Run[Frame]) -> Frame:
    """Cache the rows of a query as a temporary view. A table is read again by each statement, and not cached."""
    if statement.query is not None and mentions(statement.query.text, run.names.is_ours):
        name = one_part_name(statement.name, run)
        rows = run.query(statement.query)
        run.engine.create_view(rows, name, None, replaces=False, is_global=False)
        return run.engine.query(statement.head, ())
    if statement.query is not None or run.where(statement.name) is None:
        return run.unchanged()
    run.tables.source(statement.name.parts)
    return run.done()


def uncache(statement: UncacheTable, run: Run[Frame]) -> Frame:
    """Check that a table exists; it is never cached."""
    if run.where(statement.name) is None:
        return run.pass_on()
    with contextlib.suppress(*(NoSuchTableError, NoSuchNamespaceError) if statement.if_exists else ()):
        run.tables.source(statement.name.parts)
    return run.done()


def _is_fraction(text: str) -> bool:
    return bool(_FRACTION.fullmatch(text.strip()))


def other(statement: Other, run: Run[Frame]) -> Frame:
    """Pass a statement on to the engine.

    Raises:
        UnsupportedError: The statement refers to a table of the lake; the hint suggests a Python alternative.
    """
    if statement.is_of_session or not run.mentions_lake():
        return run.unchanged()
    if not is_statement(statement.what):
        run.check_syntax()
    use = instead(statement.what)
    raise unsupported(run.text, statement.start, f"{statement.what} is not supported", use and f"use {use}")
