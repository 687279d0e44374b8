"""MERGE of Iceberg tables, and of Paimon tables with a primary key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.sql._deterministic import check_deterministic
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._merge_query import ClauseValues, MergeQuery
from frazil.sql._row_change import Change, ClauseChange, Selection
from frazil.sql._row_targets import Opened, has_default, named, new_values, open_target, path_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from frazil.sql._engine import Frame, Held
    from frazil.sql._new_values import Value
    from frazil.sql._run import Run
    from frazil.sql._statements import Action, Assignment, Merge, MergeClause

__all__ = ["merge"]

_ACTIONS: dict[Action, Literal["delete", "update", "insert"]] = {
    "delete": "delete",
    "insert": "insert",
    "insert_all": "insert",
    "update": "update",
    "update_all": "update",
}


def merge(statement: Merge, run: Run[Frame]) -> Frame:
    """Update, delete and insert rows by clauses, in one snapshot.

    A query joins the table with the source once. The rows of the table are changed by their addresses.

    Raises:
        InvalidArgumentError: A column does not exist or is set twice, a value does not fit its column, or several rows
            of the source match a row of the table.
        UnsupportedError: The rows of the table have no addresses, a column has the name of a metadata column, or the
            statement has parameters without names.
    """
    opened = open_target("MERGE", statement.target.name, run)
    if opened is None:
        return run.pass_on()
    _refuse_unnamed_parameters(run)
    check_deterministic("MERGE", [statement.on, *(clause.condition for clause in statement.clauses)], run)

    def select(table: Any) -> Selection[Frame]:
        attempt, target = run.again(opened.table, table), Opened(table, opened.branch)
        query = MergeQuery(statement, attempt)
        values = [_values(clause, statement, query, target, attempt) for clause in statement.clauses]
        columns = list(map(ClauseValues, statement.clauses, values))
        held = _held(query, target, attempt)
        clauses = zip(statement.clauses, values, strict=True)
        changes = tuple(ClauseChange(_ACTIONS[clause.action], tuple(columns)) for clause, columns in clauses)
        if held is None:
            found = query.build(columns)
            rows = attempt.engine.query(found.text, found.sources, attempt.args)
            return Selection(rows, found.row_filter, found.reads_others, clauses=changes)
        try:
            found = query.build(columns, held)
            rows = held.engine.query(found.text, found.sources, attempt.args)
        except BaseException:
            held.release()
            raise
        return Selection(rows, found.row_filter, found.reads_others, clauses=changes, release=held.release)

    change = Change("merge", opened.branch, select, checks_matches=_checks_matches(statement))
    run.results.append(run.engine.change(opened.table, change))
    return run.done()


def _held(query: MergeQuery, target: Opened, run: Run[Frame]) -> Held[Frame] | None:
    """Keep the rows of the source if they select the rows that are read of a large target."""
    is_paimon = target.table.format == "paimon"
    if is_paimon or not query.needs_matches_only or run.engine.joins_few_rows(target.table, target.branch):
        return None
    return run.engine.held(query.source_rows(), query.held_name)


def _refuse_unnamed_parameters(run: Run[Any]) -> None:
    found = next((token for token in run.sql.significant if token.text == "?" and token.kind == "symbol"), None)
    if found is not None:
        problem = "parameters without names are not supported for MERGE"
        raise unsupported(run.text, found.start, problem, "use parameters with names, such as :id")


def _checks_matches(statement: Merge) -> bool:
    """Return whether several matches of a row of the table are an error, by Spark's rule."""
    matched = [clause for clause in statement.clauses if clause.when == "matched"]
    is_plain_delete = len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None
    return bool(matched) and not is_plain_delete


def _values(
    clause: MergeClause, statement: Merge, query: MergeQuery, opened: Opened, run: Run[Any]
) -> dict[str, Value]:
    """Return the value of each column that a clause sets."""
    values = _all_values(clause, statement, query, opened, run)
    if clause.when == "matched":
        # A key that is set to the value that it must equal by ON does not change.
        return {column: value for column, value in values.items() if not query.is_unchanged_key(column, value)}
    return values


def _all_values(
    clause: MergeClause, statement: Merge, query: MergeQuery, opened: Opened, run: Run[Any]
) -> dict[str, Value]:
    if clause.action in ("update_all", "insert_all"):
        return {column: _value_of_source(column, clause, query, run) for column in query.target_columns}
    assignments, omitted = clause.assignments, set()
    if clause.action == "insert":
        _check_columns(assignments, statement, opened, run)
        # The writer sets the default of a column without values.
        omitted = {one for one in assignments if one.value is None and _has_default(one, statement, opened, run)}
    given = [one for one in assignments if one not in omitted]
    values = new_values("MERGE", given, statement.target, opened, run)
    if omitted and not values:
        problem = "INSERT is not supported if all values are DEFAULT"
        raise unsupported(run.text, clause.start, problem, "write the values")
    return values


def _has_default(one: Assignment, statement: Merge, opened: Opened, run: Run[Any]) -> bool:
    column = path_of("MERGE", one, statement.target, opened, run)[0]
    return any(field.name == column and has_default(field) for field in opened.table.schema().fields)


def _check_columns(assignments: Sequence[Assignment], statement: Merge, opened: Opened, run: Run[Any]) -> None:
    """Check the columns of an INSERT.

    Raises:
        InvalidArgumentError: A column is set twice, or is a field of a struct.
    """
    columns = set()
    for one in assignments:
        column, *fields = path_of("MERGE", one, statement.target, opened, run)
        if fields:
            problem = f"INSERT cannot set a field of a struct, `{'.'.join((column, *fields))}`"
            raise invalid(run.text, one.start, problem, f"set column `{column}`")
        if column in columns:
            raise invalid(run.text, one.start, f"column `{column}` is set twice")
        columns.add(column)


def _value_of_source(column: str, clause: MergeClause, query: MergeQuery, run: Run[Any]) -> str:
    """Return the column of the source with the name of a column of the table.

    Raises:
        InvalidArgumentError: The source does not have this column, or has several.
    """
    found = named(query.source_columns, column, run.engine)
    if len(found) != 1:
        what = "UPDATE SET *" if clause.action == "update_all" else "INSERT *"
        problem = f"{what}: the source has {'several columns' if found else 'no column'} `{column}`"
        hint = f"the columns of the source are {', '.join(query.source_columns)}"
        raise invalid(run.text, clause.start, problem, hint)
    return f"{query.source_alias}.`{found[0].replace('`', '``')}`"
