"""Statements that read and write rows: queries, temporary views and INSERT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from frazil.sql._insert import insertion
from frazil.sql._insert_defaults import defaults_in_values
from frazil.sql._lexer import invalid
from frazil.sql._references import mentions

if TYPE_CHECKING:
    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import CreateView, Insert, Query

__all__ = ["create_view", "insert", "query"]


def query(statement: Query, run: Run[Frame]) -> Frame:
    """Run a query."""
    del statement
    return run.query()


def create_view(statement: CreateView, run: Run[Frame]) -> Frame:
    """Create a temporary view of a query.

    Raises:
        InvalidArgumentError: The name of the view has several parts, or the column list and the query differ in length.
    """
    if not mentions(statement.query.text, run.names.is_ours):
        return run.unchanged()
    rows = run.query(statement.query)
    if len(statement.name.parts) > 1:
        raise invalid(run.text, statement.name.start, "the name of a temporary view must have one part")
    run.engine.create_view(
        rows,
        statement.name.parts[0],
        statement.columns,
        replaces=statement.replaces,
        is_global=statement.is_global,
    )
    return run.done()


def insert(statement: Insert, run: Run[Frame]) -> Frame:
    """Write the rows of a query into a table."""
    if run.where(statement.name) is None:
        return run.pass_on()
    target = run.target(statement.name, "insert")
    how = insertion(statement, target, run.text, run.engine)
    text, sources = run.read(statement.query, list(defaults_in_values(statement, how, target.table, run)))
    if how.mode != "append" and any(one.reads(target) for one in sources):
        # The snapshot is determined before the query is created, because the query may read newer commits.
        how = replace(how, read=target.snapshot())
    rows = run.engine.query(text, sources, run.args)
    run.results.append(run.engine.insert(rows, target.table, how))
    return run.done()
