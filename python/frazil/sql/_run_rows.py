"""Statements that read and write rows: queries, temporary views and INSERT."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frazil.sql._insert import insertion
from frazil.sql._insert_defaults import defaults_in_values
from frazil.sql._lexer import invalid
from frazil.sql._references import mentions
from frazil.sql._views import View

if TYPE_CHECKING:
    from frazil.sql._engine import Frame
    from frazil.sql._reader import Name
    from frazil.sql._run import Run
    from frazil.sql._statements import CreateView, Insert, Query

__all__ = ["create_view", "insert", "one_part_name", "query"]


def query(statement: Query, run: Run[Frame]) -> Frame:
    """Run a query, of whose rows the user may create temporary views."""
    del statement
    frame = run.query()
    if run.has_sources():
        view = View(run.text, run.args, run.engine, copy(run.names), frame)
        run.engine.watch_views(frame, lambda name: run.views.add(name, view))
    return frame


def create_view(statement: CreateView, run: Run[Frame]) -> Frame:
    """Create a temporary view of a query.

    Raises:
        InvalidArgumentError: The name of the view has several parts, or the column list and the query differ in length.
    """
    if not mentions(statement.query.text, run.names.is_ours):
        return run.unchanged()
    rows, name = run.query(statement.query), one_part_name(statement.name, run)
    run.engine.create_view(rows, name, statement.columns, replaces=statement.replaces, is_global=statement.is_global)
    if not statement.is_global:
        view = View(statement.query.text, run.args, run.engine, copy(run.names), rows, statement.columns)
        run.views.add(name, view)
    return run.done()


def one_part_name(name: Name, run: Run[Any]) -> str:
    """Return the name of a temporary view.

    Raises:
        InvalidArgumentError: The name has several parts.
    """
    if len(name.parts) > 1:
        raise invalid(run.text, name.start, "the name of a temporary view must have one part")
    return name.parts[0]


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
