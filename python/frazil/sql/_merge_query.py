"""The query of a MERGE: a join of target and source that returns addresses, clauses and new values."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.sql._comparable import comparable_schema
from frazil.sql._lexer import Lexed, blank
from frazil.sql._moments import Moments
from frazil.sql._narrow import filters
from frazil.sql._new_values import old_columns, path_sql, value_sql
from frazil.sql._reader import Reader, Text
from frazil.sql._references import braced, replaced
from frazil.sql._row_queries import (
    RowQuery,
    address_names,
    check_metadata_columns,
    keyword_before,
    place_of_target,
    unused_prefix,
)
from frazil.sql._scope import Sides, has_subquery, qualified
from frazil.sql._sources import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil.sql._engine import Held
    from frazil.sql._narrow import Condition
    from frazil.sql._new_values import Value
    from frazil.sql._references import Edit
    from frazil.sql._run import Run
    from frazil.sql._statements import Merge, MergeClause, When

__all__ = ["ClauseValues", "MergeQuery"]

_JOINS = {
    (False, False): "INNER",
    (False, True): "RIGHT OUTER",
    (True, False): "LEFT OUTER",
    (True, True): "FULL OUTER",
}
"""The join by whether unmatched rows of the target and of the source are needed."""


class ClauseValues(NamedTuple):
    """The new values of a clause by column."""

    clause: MergeClause
    values: dict[str, Value]


class MergeQuery:
    """The query of a MERGE, whose expressions are parts of the statement.

    sqlglot receives a query with the parts of the statement at their positions. The query for Spark has them in another
    order.
    """

    def __init__(self, statement: Merge, run: Run[Any]) -> None:
        """Find the tables of the statement.

        Raises:
            UnsupportedError: The target has a column with the name of a metadata column, or the name of a common table
                expression, or the statement cannot be parsed.
        """
        self._statement, self._run = statement, run
        self._parts = sorted(_expressions(statement), key=lambda part: part.start)
        self._query, self._using = _in_place(statement, run.sql, self._parts)
        self._found = run.references(self._query)
        place = place_of_target("MERGE", statement.target, self._found, run)
        self._sources = [run.source(one) for one in self._found]
        self._target = self._sources[place]
        self._place = place
        self.target_columns: list[str] = self._target.table.scan().schema().names
        check_metadata_columns("MERGE", statement.target, self._target.table, run)

    @property
    def _reads_others(self) -> bool:
        """Whether the result also depends on rows of the table that do not change.

        If another writer deletes a row that matches a row of the source, that row of the source is inserted.
        """
        inserts = any(clause.when == "not_matched" for clause in self._statement.clauses)
        return inserts or any(one.reads(self._target) for one in self._sources if one is not self._target)

    @cached_property
    def source_columns(self) -> list[str]:
        """The columns of the source that the statement may use."""
        begin, _ = self._source_range
        if any(clause.action in ("update_all", "insert_all") for clause in self._statement.clauses):
            for place, one in enumerate(self._found):
                if one.name.start == begin:
                    self._sources[place] = self._run.source(replace(one, names=None))
        return self._run.engine.column_names(self.source_rows())

    @property
    def needs_matches_only(self) -> bool:
        """Whether rows of the target that do not match a row of the source are not needed."""
        return self._join in (_JOINS[False, False], _JOINS[False, True])

    @property
    def held_name(self) -> str:
        """A name for the rows of the source that no part of the statement contains."""
        return f"{self._prefix}_held"

    @property
    def _join(self) -> str:
        whens = {clause.when for clause in self._statement.clauses}
        return _JOINS["not_matched_by_source" in whens, "not_matched" in whens]

    def source_rows(self) -> Any:
        """Return the query of the source."""
        common, source = self._fragments([(0, self._verb_start), self._source_range], [])
        text = f"{common}SELECT * FROM {source}"  # noqa: S608 - of the statement
        return self._run.engine.query(text, self._sources, self._run.args)

    @cached_property
    def source_alias(self) -> str:
        """The name by which columns of the source are qualified, in quotes."""
        statement = self._statement
        if statement.source_alias is not None:
            return _quoted(statement.source_alias)
        if statement.source.text.startswith("("):
            return _quoted(f"{self._prefix}_query")
        # A clause for time travel may follow the name.
        return _quoted(Reader(statement.source.text).name("the name of a table").parts[-1])

    @cached_property
    def _prefix(self) -> str:
        return unused_prefix([self._run.text, *self.target_columns, *self.source_columns])

    @property
    def _verb_start(self) -> int:
        return keyword_before(self._run.sql, "MERGE", self._statement.target.name.start).start

    @property
    def _source_range(self) -> tuple[int, int]:
        """The positions of the source, without its alias and with its hint."""
        source = self._statement.source
        return source.start, max([source.end, *(one.end for one in self._found if one.name.start == source.start)])

    def build(self, clauses: Sequence[ClauseValues], held: Held[Any] | None = None) -> RowQuery:
        """Return the query; if the rows of the source are held, it reads them by `held_name`.

        Its columns are those of the address, whether a source row exists, the number of the clause, and then the values
        of each clause. They are NULL for the rows of other clauses, for which they are not evaluated.

        Raises:
            InvalidArgumentError: A clause for unmatched rows refers to a column of the other side.
        """
        statement, prefix = self._statement, self._prefix
        edits = [edit for clause in statement.clauses for edit in self._qualifications(clause)]
        ranges = [(0, self._verb_start), (statement.target.name.start, self._using), self._source_range]
        ranges += [(part.start, part.end) for part in self._parts]
        common, target, source, *found = self._fragments(ranges, edits)
        texts = {part.start: text for part, text in zip(self._parts, found, strict=True)}
        self._check_subqueries(common, target, source, texts)
        address = address_names(self._target.table, prefix)
        has_source, number = f"{prefix}_source", f"{prefix}_clause"
        cases = {when: self._case(when, texts) for when in ("matched", "not_matched", "not_matched_by_source")}
        matched = f"WHEN {has_source} THEN {cases['matched']} ELSE {cases['not_matched_by_source']}"
        clause = f"CASE WHEN {address[0]} IS NULL THEN {cases['not_matched']} {matched} END AS {number}"
        columns = [*address, has_source, clause]
        qualifier, used = statement.target.qualifier[-1], set[str]()
        for place, (_, values) in enumerate(clauses):
            for value in values.values():
                text = value_sql(value, lambda part: texts[part.start], lambda column: path_sql(qualifier, column))
                used.update(old_columns(value))
                # The value may end with a comment.
                columns.append(f"CASE {number} WHEN {place} THEN ({text}\n) END AS {prefix}_{len(columns)}")
        source = source if held is None else self.held_name
        read = f"(SELECT *, true AS {has_source} FROM {source}\n) AS {braced(self.source_alias)}"  # noqa: S608 - as above
        on = texts[statement.on.start]
        keys = self._keys(held) if held is not None and held.is_small else None
        if held is not None and held.is_small and keys is None:
            # Spark would sort all rows of the target: it does not broadcast a source whose unmatched rows are needed.
            alias, name = braced(_quoted(qualifier)), braced(self.source_alias)
            reduced = f"SELECT /*+ BROADCAST({name}) */ {alias}.* FROM {target}\n LEFT SEMI JOIN {read} ON ({on}\n)"  # noqa: S608 - as above
            target = f"({reduced}) AS {alias}"
        text = f"{common}SELECT {', '.join(columns)} FROM {target}\n {self._join} JOIN {read} ON ({on}\n)"  # noqa: S608 - as above
        sources = list(self._sources)
        narrowed = replace(self._target, conditions=self._conditions, keys=keys)
        sources[self._place] = narrowed.with_address(address, used)
        return RowQuery(text, sources, self._row_filter, self._reads_others)

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        """The conditions of ON on the target only; empty if unmatched rows of the target are changed, too."""
        statement = self._statement
        if any(clause.when == "not_matched_by_source" for clause in statement.clauses):
            return ()
        return self._sides.conditions_of_target(statement.on)

    @property
    def _sides(self) -> Sides:
        columns = (self.target_columns, self.source_columns)
        return Sides(self._statement.target.qualifier, (self._source_name,), columns, self._run)

    def is_unchanged_key(self, column: str, value: Value) -> bool:
        """Return whether a value is the column of the source that ON compares with this column of the primary key."""
        if column not in key_of(self._target.table) or not isinstance(value, Text | str):
            return False
        text = value if isinstance(value, str) else value.text
        return self._sides.is_equal(column, text, self._statement.on)

    def _keys(self, held: Held[Any]) -> Any:
        """Return the query of the columns of the source that equal columns of the target, by whose names.

        The result is None if the rows of the target have to be compared in the engine.
        """
        found = self._sides.equal_columns(self._statement.on)
        if not found:
            return None
        whole = self._query_of_columns(found, held)
        compared = held.engine.comparable_columns(self._target.table, whole)
        return self._query_of_columns({name: found[name] for name in compared}, held) if compared else None

    def _query_of_columns(self, columns: Mapping[str, str], held: Held[Any]) -> Any:
        selected = ", ".join(f"{_quoted(column)} AS {_quoted(name)}" for name, column in columns.items())
        return held.engine.query(f"SELECT {selected} FROM {self.held_name}", [])  # noqa: S608 - columns

    @property
    def _row_filter(self) -> str:
        """The filter that all matching rows of the target match; empty if other rows may affect the result."""
        # If the statement reads the table again, rows that do not match the filter may also affect its result.
        if any(one.reads(self._target) for one in self._sources if one is not self._target):
            return ""
        engine = self._run.engine
        moments = Moments(engine.values, timestamp_has_zone=engine.timestamp_has_zone())
        table = self._target.table
        found = filters(comparable_schema(table.scan().schema(), table), self._conditions, moments)
        return " and ".join(found)

    def _check_subqueries(self, common: str, target: str, source: str, texts: dict[int, str]) -> None:
        """Let Spark check that subqueries in clauses for unmatched rows only use columns of their side.

        The query of the statement has the columns of both sides, so that such a name would not be an error.
        """
        sides = {"not_matched": f"(SELECT * FROM {source}\n) AS {braced(self.source_alias)}"}  # noqa: S608 - of the statement
        sides["not_matched_by_source"] = target
        engine = self._run.engine
        for when, side in sides.items():
            parts = [part for clause in self._statement.clauses if clause.when == when for part in _of_clause(clause)]
            found = ", ".join(f"({texts[part.start]}\n)" for part in parts if has_subquery(part))
            if found:
                text = f"{common}SELECT {found} FROM {side}"  # noqa: S608 - of the statement
                engine.column_names(engine.query(text, self._sources, self._run.args))

    def _case(self, when: When, texts: dict[int, str]) -> str:
        """Return the number of the first clause whose condition is true, as an expression."""
        cases = [
            f"WHEN ({'true' if clause.condition is None else texts[clause.condition.start]}\n) THEN {place}"
            for place, clause in enumerate(self._statement.clauses)
            if clause.when == when
        ]
        return f"CASE {' '.join(cases)} END" if cases else "NULL"

    def _qualifications(self, clause: MergeClause) -> Iterator[Edit]:
        """Qualify the columns in a clause for unmatched rows, which may only use one side."""
        if clause.when == "matched":
            return
        own, other = (self._statement.target.qualifier, (self._source_name,))
        columns = (self.target_columns, self.source_columns)
        if clause.when == "not_matched":
            own, other, columns = other, own, columns[::-1]
        for part in _of_clause(clause):
            yield from qualified(part, own, other, columns, clause.when, self._run)

    @property
    def _source_name(self) -> str:
        return self.source_alias[1:-1].replace("``", "`")

    def _fragments(self, ranges: Sequence[tuple[int, int]], edits: Sequence[Edit]) -> list[str]:
        """Return ranges of the query with placeholders for tables, in order."""
        mark = unused_prefix([self._run.text])
        marks = sorted({place for one in ranges for place in one})
        text = replaced(self._query.text, self._found, [*((place, place, mark) for place in marks), *edits])
        pieces = dict(zip(marks, text.split(mark)[1:], strict=True))
        return ["".join(pieces[place] for place in marks if begin <= place < end) for begin, end in ranges]


def _in_place(statement: Merge, sql: Lexed, parts: Sequence[Text]) -> tuple[Lexed, int]:
    """Return a query with the tables and expressions of a MERGE at their positions, and the position of USING."""
    text, begin = sql.text, statement.target.name.start
    verb = keyword_before(sql, "MERGE", begin)
    using = keyword_before(sql, "USING", statement.source.start)
    query = f"{text[: verb.start]}FROM {blank(text[verb.end : begin])}{text[begin : using.start]}JOIN "
    query += text[using.end : statement.on.end]
    query += blank(text[statement.on.end : statement.clauses[0].start]) + "SELECT 1"
    for part in parts:
        if part is not statement.on:
            query += blank(text[len(query) : part.start]).replace(" ", ",", 1) + part.text
    return Lexed(query), using.start


def _expressions(statement: Merge) -> Iterator[Text]:
    yield statement.on
    for clause in statement.clauses:
        yield from _of_clause(clause)


def _of_clause(clause: MergeClause) -> Iterator[Text]:
    if clause.condition is not None:
        yield clause.condition
    yield from (one.value for one in clause.assignments if one.value is not None)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
