"""DELETE, UPDATE and TRUNCATE of Iceberg tables, and of Paimon tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.sql._comparable import comparable_schema
from frazil.sql._deterministic import check_deterministic
from frazil.sql._lexer import unsupported
from frazil.sql._literals import is_literal
from frazil.sql._moments import Moments
from frazil.sql._narrow import whole_filter
from frazil.sql._reader import Text
from frazil.sql._row_change import Change, Selection
from frazil.sql._row_queries import rows_to_delete, rows_to_update
from frazil.sql._row_targets import Opened, new_values, open_target
from frazil.sql._run_alter_paimon import partitions_of

if TYPE_CHECKING:
    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import Delete, Target, Truncate, Update

__all__ = ["delete", "truncate", "update"]


def delete(statement: Delete, run: Run[Frame]) -> Frame:
    """Delete the rows that match a condition, or all rows.

    A condition that frazil evaluates as Spark does becomes a filter. The rows of any other condition are selected by a
    query.

    Raises:
        UnsupportedError: The table has a column with the name of a metadata column.
    """
    opened = open_target("DELETE", statement.target.name, run)
    if opened is None:
        return run.pass_on()
    condition = statement.condition
    check_deterministic("DELETE", [condition], run)
    row_filter = None if condition is None else _row_filter(condition, statement.target, opened, run)
    if condition is None or (row_filter is not None and statement.common is None):
        result = run.engine.delete(opened.table, row_filter, opened.branch)
    else:

        def select(table: Any) -> Selection[Frame]:
            attempt = run.again(opened.table, table)
            query = rows_to_delete(statement, condition, attempt)
            rows = attempt.engine.query(query.text, query.sources, attempt.args)
            return Selection(rows, query.row_filter, query.reads_others)

        result = run.engine.change(opened.table, Change("delete", opened.branch, select))
    run.results.append(result)
    return run.done()


def update(statement: Update, run: Run[Frame]) -> Frame:
    """Set columns of the rows that match a condition, or of all rows.

    Literals are set in the rows that match a filter. Rows with other conditions or values are selected by a query.

    Raises:
        InvalidArgumentError: A column does not exist or is set twice, or a value does not fit its column.
        UnsupportedError: As in `delete`, or an element of an array or a map is set.
    """
    opened = open_target("UPDATE", statement.target.name, run)
    if opened is None:
        return run.pass_on()
    values = new_values("UPDATE", statement.assignments, statement.target, opened, run)
    condition = statement.condition
    check_deterministic("UPDATE", [condition], run)
    row_filter = None if condition is None else _row_filter(condition, statement.target, opened, run)
    literals = {column: value.text if isinstance(value, Text) else value for column, value in values.items()}
    constants = {column: text for column, text in literals.items() if isinstance(text, str) and is_literal(text)}
    is_filter = (condition is None or row_filter is not None) and statement.common is None
    if is_filter and len(constants) == len(values):
        result = run.engine.update(opened.table, constants, row_filter, opened.branch)
    else:

        def select(table: Any) -> Selection[Frame]:
            attempt = run.again(opened.table, table)
            target = Opened(table, opened.branch)
            values = new_values("UPDATE", statement.assignments, statement.target, target, attempt)
            query = rows_to_update(statement, values, attempt)
            rows = attempt.engine.query(query.text, query.sources, attempt.args)
            return Selection(rows, query.row_filter, query.reads_others, tuple(values))

        result = run.engine.change(opened.table, Change("update", opened.branch, select))
    run.results.append(result)
    return run.done()


def truncate(statement: Truncate, run: Run[Frame]) -> Frame:
    """Delete all rows of a table, or of a partition of a Paimon table.

    Raises:
        UnsupportedError: The statement has a PARTITION clause, and the table is not one of Paimon.
    """
    opened = open_target("TRUNCATE", statement.name, run)
    if opened is None:
        return run.pass_on()
    if statement.partition and opened.table.format == "paimon":
        partitions = partitions_of([statement.partition], opened.table, run)
        run.results.append(opened.table.with_branch(opened.branch).drop_partitions(partitions))
        return run.done()
    if statement.partition:
        problem = "PARTITION is not supported for TRUNCATE TABLE"
        hint = "write DELETE FROM with a condition on the partition columns"
        raise unsupported(run.text, statement.partition[0].start, problem, hint)
    run.results.append(run.engine.delete(opened.table, None, opened.branch))
    return run.done()


def _row_filter(condition: Text, target: Target, opened: Opened, run: Run[Any]) -> str | None:
    """Return a condition as a filter of frazil; None if frazil may not evaluate it as Spark does."""
    engine = run.engine
    return whole_filter(
        comparable_schema(opened.table.scan().schema(), opened.table),
        condition.text,
        Moments(engine.values, timestamp_has_zone=engine.timestamp_has_zone()),
        target.qualifier,
        case_sensitive=engine.is_case_sensitive(),
    )
