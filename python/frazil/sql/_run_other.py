"""CALL, and statements that lake tables do not support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._lexer import unsupported
from frazil.sql._other import instead
from frazil.sql._procedure_types import Context
from frazil.sql._procedures import arguments, procedure, typed
from frazil.sql._run import VIEW_FIRST

if TYPE_CHECKING:
    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import Call, Other

__all__ = ["call", "other"]


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
    raise unsupported(run.text, statement.start, f"{statement.what} is not supported", _instead(statement, run))


def _instead(statement: Other, run: Run[Frame]) -> str | None:
    """Return a hint with the Python alternative to an unsupported statement, or None."""
    where = None if statement.table is None else run.where(statement.table)
    if statement.table is not None and where is None:
        return VIEW_FIRST
    use = instead(statement.what, "iceberg" if where is None else where.catalog.format)
    if use is None or where is None:
        return use and f"use {use}"
    return "use " + use.replace("lake.table(…)", f'lake.table("{statement.table}")')
