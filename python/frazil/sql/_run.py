"""The execution of a statement: its text, the catalogs and engine of the lake, and the tables opened so far."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal

from frazil.errors import FrazilError, InvalidArgumentError, UnsupportedError
from frazil.sql._engine import Frame
from frazil.sql._lexer import Lexed, place_of, unsupported
from frazil.sql._metadata_columns import metadata_columns, without_stars
from frazil.sql._references import edited, mentions, references, replaced
from frazil.sql._sources import selects_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._write_result import WriteResult
    from frazil.sql._engine import Args, Cells, Engine
    from frazil.sql._names import Names, Resolved
    from frazil.sql._reader import Name, Text
    from frazil.sql._references import Edit, Reference
    from frazil.sql._sources import Source, Sources
    from frazil.sql._time_travel import AsOf
    from frazil.sql._views import Views

VIEW_FIRST = 'create a temporary view of the rows: lake.sql("SELECT …").createOrReplaceTempView("name")'


@dataclass(frozen=True, slots=True)
class Run(Generic[Frame]):
    """The execution of one statement."""

    names: Names
    engine: Engine[Frame]
    sql: Lexed
    args: Args
    tables: Sources
    views: Views[Frame]
    """The temporary views of the lake."""
    results: list[WriteResult] = field(default_factory=list)
    """The results of the writes."""

    @property
    def text(self) -> str:
        """The text of the statement."""
        return self.sql.text

    @property
    def start(self) -> int:
        """The position of the first token."""
        return self.sql.significant[0].start if self.sql.significant else 0

    def again(self, table: Any, newer: Any) -> Run[Frame]:
        """Return the execution of another attempt, in which `table` is read at the state of `newer`.

        The other tables are loaded again. If the state is the same, nothing is.
        """
        # Paimon tables have no files that identify their states.
        is_same = newer is table or (table.format == "iceberg" and table.metadata_location == newer.metadata_location)
        return self if is_same else replace(self, tables=self.tables.again(table, newer))

    def where(self, name: Name) -> Resolved | None:
        """Resolve the name of a table; None if it is a temporary view, or not in a catalog of the lake."""
        return None if self.is_view(name.parts) else self.names.table(name.parts)

    def is_view(self, parts: tuple[str, ...]) -> bool:
        """Return whether a name is a temporary view, which takes precedence over tables of the current catalog."""
        return len(parts) == 1 and self.names.current is not None and self.engine.has_temporary_view(parts[0])

    def mentions_lake(self) -> bool:
        """Return whether the statement contains a name that refers to a catalog of the lake."""
        return mentions(self.sql, self.names.is_ours)

    def has_sources(self) -> bool:
        """Return whether a query reads a table of the lake, or a temporary view of one."""
        return bool(self.tables) or self.views.are_named_in(self.text)

    def done(self) -> Frame:
        """Return the empty result of a statement that returns no rows."""
        return self.engine.frame((), ())

    def frame(self, columns: Sequence[str], rows: Sequence[Cells]) -> Frame:
        """Return rows as the result of the statement."""
        return self.engine.frame(columns, rows)

    def pass_on(self) -> Frame:
        """Pass the statement on to the engine, because the object that it names is not in the lake.

        Raises:
            UnsupportedError: The statement also refers to a table of the lake.
        """
        if self.mentions_lake():
            problem = "the statement changes an object outside this lake, but refers to a table in this lake"
            raise unsupported(self.text, self.start, problem, VIEW_FIRST)
        return self.unchanged()

    def unchanged(self) -> Frame:
        """Let the engine run the statement as it is."""
        return self.engine.query(self.text, (), self.args)

    def query(self, part: Text | None = None, head: str = "") -> Frame:
        """Run a query, which is a part of the statement or all of it; `head` is prepended to its text."""
        text, sources = self.read(part)
        return self.engine.query(head + text, sources, self.args)

    def read(self, part: Text | None = None, edits: Sequence[Edit] = ()) -> tuple[str, list[Source]]:
        """Return a query with placeholders for its tables in the lake, if any, and the source of each.

        Each table is loaded once, so that several references to it read the same state.
        """
        sql = self.sql if part is None else self.sql.only(part.text, part.start)
        found = self.references(sql)
        if not found:
            return edited(sql.text, edits), []
        sources = [self.source(one) for one in found]
        stars = (
            without_stars(source, one.stars, self.text, one.name.start)
            for one, source in zip(found, sources, strict=True)
        )
        return replaced(sql.text, found, [*edits, *itertools.chain.from_iterable(stars)]), sources

    def references(self, sql: Lexed) -> list[Reference]:
        """Return the references of a query to tables of the lake.

        Raises:
            InvalidArgumentError: The statement has a syntax error.
            UnsupportedError: As in `references`.
        """
        try:
            found = references(sql, self.names.is_ours)
        except UnsupportedError:
            self.check_syntax()
            raise
        return [one for one in found if not self.is_view(one.name.parts)]

    def check_syntax(self) -> None:
        """Let the engine parse the statement.

        Raises:
            InvalidArgumentError: The statement has a syntax error.
        """
        # Names such as `t$files` are not part of the engine's SQL.
        parts = (token.text.replace("$", "_") if token.kind == "name" else token.text for token in self.sql.tokens)
        error = self.engine.syntax_error("".join(parts))
        if error is not None:
            raise error

    def target(self, name: Name, change: Literal["insert", "rows"]) -> Source:
        """Return the table that a statement changes, and its branch, which may not exist yet.

        Raises:
            InvalidArgumentError: The settings of the session contradict each other.
        """
        source = self.tables.source(name.parts)
        branch = self.engine.session_branch(source.table, source.name, change)
        if branch is None or source.table.format == "iceberg":
            return source.on(branch)
        return self.tables.with_branch(source, branch)

    def source(self, one: Reference) -> Source:
        """Return the source that a reference in a query reads."""
        try:
            options = {} if one.options is None else one.options.options
            source = self.tables.source(one.name.parts)
            source = replace(source, names=one.names, conditions=one.conditions, options=options)
            source = replace(source, metadata=metadata_columns(source, one.metadata))
            if one.as_of is not None:
                return source.at(self._state(one.as_of))
            branch = None if selects_state(options) else self.engine.session_branch(source.table, source.name)
            return source.on(branch, must_exist=True)
        except FrazilError as error:
            raise placed(error, self.text, one.name.start) from None

    def _state(self, as_of: AsOf) -> tuple[str, Any]:
        if as_of.kind == "version":
            return "version", as_of.value
        # Times are evaluated by the engine, which knows the time zone and the functions of the session.
        named = self.args if hasattr(self.args, "items") else None
        query = Lexed(f"SELECT unix_millis(CAST({as_of.value} AS TIMESTAMP))")
        moment_ms = self.engine.value(replace(self, sql=query, args=named).query())
        if moment_ms is None:
            message = f"TIMESTAMP AS OF {as_of.value} is NULL"
            raise InvalidArgumentError(message, hint="use a timestamp such as '2024-02-29 12:00:00'")
        return "as_of", int(moment_ms)


def placed(error: FrazilError, text: str, position: int) -> FrazilError:
    """Return an error with its line and column, unless they are already set."""
    if "line" not in error.context:
        line, column = place_of(text, position)
        error.context |= {"line": str(line), "column": str(column)}
        # Messages of the core end with the hint, which `str` adds.
        error.message = f"{error.message.removesuffix(f'; {error.hint}')} (line {line}, column {column})"
    return error
