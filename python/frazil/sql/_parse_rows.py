"""Parsing of DELETE, UPDATE, MERGE and TRUNCATE."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from frazil.sql._lexer import invalid
from frazil.sql._parse_insert import common_tables, partition_values
from frazil.sql._statements import Assignment, Delete, Merge, MergeClause, Target, Truncate, Update
from frazil.sql._time_travel import time_travel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from frazil.sql._reader import Name, Reader, Text
    from frazil.sql._statements import Action, When

Item = TypeVar("Item")

_EVOLUTION_HINT = "add the columns with lake.table(…).update_schema() first"
_CLAUSES: dict[When, str] = {
    "matched": "WHEN MATCHED",
    "not_matched": "WHEN NOT MATCHED",
    "not_matched_by_source": "WHEN NOT MATCHED BY SOURCE",
}


def delete(reader: Reader) -> Delete:
    """Parse `DELETE FROM`.

    >>> from frazil.sql._reader import Reader
    >>> found = delete(Reader("DELETE FROM a.t AS x WHERE x.id = 1"))
    >>> found.target.name.parts, found.target.alias, found.condition.text
    (('a', 't'), 'x', 'x.id = 1')
    """
    common = common_tables(reader)
    reader.expect("DELETE", "FROM")
    return Delete(_target(reader, "WHERE"), _where(reader), common)


def update(reader: Reader) -> Update:
    """Parse `UPDATE … SET`.

    >>> from frazil.sql._reader import Reader
    >>> found = update(Reader("UPDATE t SET a = f(1, 2), s.x = DEFAULT WHERE b"))
    >>> [(one.path, one.value and one.value.text) for one in found.assignments]
    [(('a',), 'f(1, 2)'), (('s', 'x'), None)]
    """
    common = common_tables(reader)
    reader.expect("UPDATE")
    target = _target(reader, "SET")
    reader.expect("SET")
    assignments = tuple(_assignments(reader, "WHERE"))
    return Update(target, assignments, _where(reader), common)


def merge(reader: Reader) -> Merge:
    """Parse `MERGE INTO`. The clauses may have any order, because those of different kinds apply to different rows.

    >>> from frazil.sql._reader import Reader
    >>> text = "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED AND s.id > 0 THEN DELETE"
    >>> found = merge(Reader(text))
    >>> found.source.text, found.source_alias, found.on.text
    ('(SELECT 1 AS id)', 's', 't.id = s.id')
    >>> [(one.when, one.condition.text, one.action) for one in found.clauses]
    [('matched', 's.id > 0', 'delete')]
    """
    common = common_tables(reader)
    reader.expect("MERGE")
    if reader.at("WITH", "SCHEMA", "EVOLUTION"):
        reader.reject("MERGE WITH SCHEMA EVOLUTION is not supported", _EVOLUTION_HINT)
    reader.expect("INTO")
    target = _target(reader, "USING")
    reader.expect("USING")
    source = _source(reader)
    source_alias = _alias(reader, "ON")
    reader.expect("ON")
    on = reader.until("WHEN", what="a condition")
    return Merge(target, source, source_alias, on, tuple(_clauses(reader)), common)


def truncate(reader: Reader) -> Truncate:
    """Parse `TRUNCATE TABLE`.

    >>> from frazil.sql._reader import Reader
    >>> truncate(Reader("TRUNCATE TABLE t PARTITION (day = '2024-02-29')")).partition[0].column
    'day'
    """
    reader.expect("TRUNCATE", "TABLE")
    name = reader.name("the name of a table")
    return Truncate(name, tuple(partition_values(reader)) if reader.accept("PARTITION") else ())


def _target(reader: Reader, following: str) -> Target:
    return Target(reader.name("the name of a table"), _alias(reader, following))


def _alias(reader: Reader, following: str) -> str | None:
    """Parse an alias, unless the keyword comes next that follows aliases in this statement."""
    has_as, token = reader.accept("AS"), reader.peek()
    if not has_as and (token is None or not token.is_name or token.is_word(following)):
        return None
    alias = reader.identifier("an alias")
    if reader.at("("):
        reader.fail("an alias of a table cannot have a list of columns here")
    return alias


def _where(reader: Reader) -> Text | None:
    return reader.until(what="a condition") if reader.accept("WHERE") else None


def _source(reader: Reader) -> Text:
    first = reader.peek()
    if first is None:
        reader.fail("expected a table or a query in parentheses")
    if reader.at("("):
        reader.skip_parentheses()
        return reader.since(first)
    reader.name("the name of a table, or a query in parentheses,")
    following = reader.peek()
    begin = len(reader.text) if following is None else following.start
    end = next((clause.end for clause in time_travel(reader.sql) if clause.start == begin), begin)
    while (token := reader.peek()) is not None and token.start < end:
        reader.take("a time travel clause")
    return reader.since(first)


def _assignments(reader: Reader, following: str) -> Iterator[Assignment]:
    """Parse `column = value, …` up to a keyword."""
    seen: set[tuple[str, ...]] = set()
    while True:
        name = _new_column(reader, seen)
        reader.expect("=")
        reader.accept("=")
        yield Assignment(name.parts, _value(reader, following), name.start)
        if not reader.accept(","):
            return


def _new_column(reader: Reader, seen: set[tuple[str, ...]]) -> Name:
    """Parse the name of a column, and add it to those that are set.

    Raises:
        InvalidArgumentError: The column is already set.
    """
    name = reader.name("the name of a column")
    path = tuple(part.lower() for part in name.parts)
    if path in seen:
        raise invalid(reader.text, name.start, f"column `{'.'.join(name.parts)}` is set twice")
    seen.add(path)
    return name


def _value(reader: Reader, *following: str) -> Text | None:
    value = reader.until(*following, what="a value")
    return None if value.text.upper() == "DEFAULT" else value


def _clauses(reader: Reader) -> Iterator[MergeClause]:
    """Parse the WHEN clauses of a MERGE.

    Raises:
        InvalidArgumentError: A clause comes after one of the same kind without a condition.
    """
    if not reader.at("WHEN"):
        reader.fail("expected WHEN")
    unconditional: set[When] = set()
    while (token := reader.peek()) is not None and reader.accept("WHEN"):
        when = _when(reader)
        condition = reader.until("THEN", what="a condition") if reader.accept("AND") else None
        if when in unconditional:
            problem = f"this clause never applies, because an earlier {_CLAUSES[when]} clause has no condition"
            raise invalid(reader.text, token.start, problem, "add a condition to the earlier clause")
        if condition is None:
            unconditional.add(when)
        reader.expect("THEN")
        action, assignments = _inserted(reader) if when == "not_matched" else _changed(reader, when)
        yield MergeClause(when, action, condition, assignments, token.start)


def _when(reader: Reader) -> When:
    if reader.accept("MATCHED"):
        return "matched"
    reader.expect("NOT", "MATCHED")
    if reader.accept("BY", "SOURCE"):
        return "not_matched_by_source"
    reader.accept("BY", "TARGET")
    return "not_matched"


def _changed(reader: Reader, when: When) -> tuple[Action, tuple[Assignment, ...]]:
    """Parse the action on a row of the target."""
    if reader.accept("DELETE"):
        return "delete", ()
    if not reader.accept("UPDATE", "SET"):
        reader.fail("expected UPDATE SET or DELETE")
    if when == "matched" and reader.accept("*"):
        return "update_all", ()
    return "update", tuple(_assignments(reader, "WHEN"))


def _inserted(reader: Reader) -> tuple[Action, tuple[Assignment, ...]]:
    """Parse the action on a row of the source without a match."""
    reader.expect("INSERT")
    if reader.accept("*"):
        return "insert_all", ()
    seen: set[tuple[str, ...]] = set()
    names = list(_list(reader, lambda: _new_column(reader, seen)))
    reader.expect("VALUES")
    before = reader.peek()
    values = list(_list(reader, lambda: _value(reader)))
    if len(names) != len(values):
        problem = f"INSERT has {len(names)} columns and {len(values)} values"
        raise invalid(reader.text, before.start if before else 0, problem)
    pairs = zip(names, values, strict=True)
    return "insert", tuple(Assignment(name.parts, value, name.start) for name, value in pairs)


def _list(reader: Reader, item: Callable[[], Item]) -> Iterator[Item]:
    """Parse items in parentheses, separated by commas."""
    reader.expect("(")
    yield item()
    while reader.accept(","):
        yield item()
    reader.expect(")")
