"""CALL, ANALYZE, and statements that lake tables do not support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._lexer import unsupported
from frazil.sql._other import instead
from frazil.sql._procedure_types import Context
from frazil.sql._procedures import arguments, procedure, typed
from frazil.sql._row_targets import named, open_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import Analyze, Call, Other

__all__ = ["analyze", "call", "other"]


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
    values = run.engine.values([typed(kind, value.text) for kind, value in given.values()])
    context = Context(run.names, where.catalog, run.engine)
    rows = found.run(context, dict(zip(given, values, strict=True)))
    return run.frame(found.columns, rows)


def other(statement: Other, run: Run[Frame]) -> Frame:
    """Pass a statement on to the engine.

    Raises:
        UnsupportedError: The statement refers to a table of the lake; the hint suggests a Python alternative.
    """
    if statement.is_of_session or not run.mentions_lake():
        return run.unchanged()
    use = instead(statement.what)
    raise unsupported(run.text, statement.start, f"{statement.what} is not supported", use and f"use {use}")
