"""CALL, and statements that lake tables do not support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._lexer import unsupported
from frazil.sql._other import instead
from frazil.sql._procedure_types import Context
from frazil.sql._procedures import arguments, procedure, typed

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
    use = instead(statement.what)
    raise unsupported(run.text, statement.start, f"{statement.what} is not supported", use and f"use {use}")
