"""A lake: named catalogs, and the Spark SQL statements that operate on them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from frazil._arguments import text as argument_text
from frazil.errors import (
    AlreadyExistsError,
    FrazilError,
    InvalidArgumentError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnsupportedError,
)
from frazil.sql import _statements as st
from frazil.sql._create import create_table, is_there
from frazil.sql._insert import Insertion, insertion
from frazil.sql._lexer import in_place, invalid, place_of, statements, unsupported
from frazil.sql._names import Names, Resolved
from frazil.sql._other import instead
from frazil.sql._parse import parse
from frazil.sql._procedures import arguments, procedure, typed
from frazil.sql._reader import Reader, quoted
from frazil.sql._references import mentions, references, replaced
from frazil.sql._sources import Sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from frazil._run import ReadSnapshot
    from frazil.catalog import Catalog
    from frazil.sql._column_types import Column
    from frazil.sql._reader import Name
    from frazil.sql._references import Reference
    from frazil.sql._sources import Source
    from frazil.sql._time_travel import AsOf

Frame = TypeVar("Frame")
"""The result type of a query in the engine."""

Cells = tuple[Any, ...]

Args: TypeAlias = "Mapping[str, Any] | Sequence[Any] | None"
"""The values of query parameters, by name or by position."""

_WITH_ARGS = st.Query | st.Insert | st.CreateTable | st.CreateView | st.Explain | st.Other

_VIEW_FIRST = 'create a temporary view of the rows: lake.sql("SELECT …").createOrReplaceTempView("name")'


class Engine(Protocol[Frame]):
    """An engine that runs queries."""

    def query(self, text: str, sources: Sequence[Source], args: Args = None) -> Frame:
        """Run a query; `{t0}` in the text refers to the first source, and so on."""
        ...

    def value(self, frame: Frame) -> Any:
        """Return the first column of the first row of a query."""
        ...

    def constants(self, texts: Sequence[str]) -> list[str | None]:
        """Return the values of literals as strings."""
        ...

    def values(self, texts: Sequence[str]) -> list[Any]:
        """Return the values of expressions that do not use columns."""
        ...

    def overwrites_partitions(self) -> bool:
        """Return whether INSERT OVERWRITE replaces only the partitions that have new rows."""
        ...

    def create_view(
        self, frame: Frame, name: str, columns: Sequence[str] | None, *, replaces: bool, is_global: bool
    ) -> None:
        """Create a temporary view of a query; `columns` renames its columns."""
        ...

    def columns_of(self, frame: Frame) -> Iterable[Column]:
        """Return the columns of a query, all of them nullable."""
        ...

    def insert(self, frame: Frame, table: Any, insertion: Insertion) -> None:
        """Write the rows of a query into a table, or into the table of a transaction."""
        ...

    def frame(self, columns: Sequence[str], rows: Sequence[Cells]) -> Frame:
        """Return rows as a result. A column is a name for strings, or a name and an SQL type, and is then nullable."""
        ...

    def columns(self, table: Any) -> list[Cells]:
        """Return the name, type and comment of each column of a table."""
        ...

    def has_temporary_view(self, name: str) -> bool:
        """Return whether a temporary view of this name exists."""
        ...

    def timestamp_has_zone(self) -> bool:
        """Return whether the type TIMESTAMP has a time zone."""
        ...

    def user(self) -> str:
        """Return the owner of newly created objects."""
        ...

    def snapshot_properties(self) -> dict[str, str]:
        """Return the snapshot properties that record the engine."""
        ...


class Lake(Generic[Frame]):
    """Catalog tables in Spark SQL. Use `frazil.spark.connect` to create a lake."""

    def __init__(
        self,
        catalogs: Mapping[str, Catalog[Any] | Mapping[str, Any]],
        engine: Engine[Frame],
        foreign: Iterable[str] = (),
    ) -> None:
        """Keep catalogs by name, opened or as properties, and the names of the engine's own catalogs."""
        self._names = Names(catalogs, foreign)
        self._engine = engine

    def sql(self, text: str, args: Args = None) -> Frame:
        """Run a statement.

        Args:
            text: The statement.
            args: The values of its parameters, as in `spark.sql`: by name for `:name`, by position for `?`.

        Raises:
            InvalidArgumentError: The statement cannot be parsed, or something in it is invalid.
            UnsupportedError: A statement or clause is not supported for tables of these catalogs; the hint suggests an
                alternative. Nothing was changed.
            FrazilError: As raised by the method of the catalog or the table.
        """
        text = argument_text("the statement", text)
        try:
            statement = parse(text)
        except FrazilError:
            # The error for an unsupported clause is raised only if the statement refers to a catalog of the lake. For
            # other tables, Spark supports more clauses than this parser.
            if mentions(text, self._names.is_ours):
                raise
            return self._engine.query(text, (), args)
        if args is not None and not isinstance(statement, _WITH_ARGS):
            message = "args apply only to queries and to statements that contain one"
            raise InvalidArgumentError(message, hint="include the values in the statement")
        try:
            return self._run(statement, text, args)
        except FrazilError as error:
            raise _placed(error, text, _start_of(statement, text)) from error.__cause__

    def script(self, text: str) -> list[Frame]:
        """Run the statements of a script, separated by semicolons, and return the result of each.

        The first failing statement ends the script; earlier statements are not undone.

        Raises:
            FrazilError: As in `sql`; line and column are relative to the start of the script.
        """
        return [self.sql(statement) for statement in statements(text)]

    def table(self, name: str) -> Any:
        """Return a table by its SQL name, at its latest state.

        Raises:
            NoSuchTableError: The table does not exist, or its catalog is not part of this lake.
        """
        reader = Reader(name)
        found = reader.name("the name of a table")
        reader.end()
        where = self._names.table(found.parts)
        if where is None:
            message = f"no catalog of this lake has a table {found}"
            raise NoSuchTableError(message, context={"table": str(found)}, hint=self._catalogs_hint())
        return where.catalog.catalog.load_table(where.levels)

    def catalog(self, name: str) -> Catalog[Any]:
        """Return a catalog by its SQL name.

        Raises:
            InvalidArgumentError: The lake does not contain this catalog.
        """
        found = self._names.catalogs.get(name)
        if found is None:
            message = f"the lake has no catalog {name!r}"
            raise InvalidArgumentError(message, context={"catalog": str(name)}, hint=self._catalogs_hint())
        return found.catalog

    def _catalogs_hint(self) -> str:
        names = ", ".join(self._names.catalogs)
        return f"the catalogs are {names}" if names else "this lake has no catalogs"

    def _run(self, statement: st.Statement, text: str, args: Args) -> Frame:
        handlers: dict[type[Any], Callable[[Any, str], Frame]] = {
            st.Call: self._call,
            st.CreateNamespace: self._namespace,
            st.CreateTable: lambda create, _: self._create(create, text, args),
            st.CreateView: lambda view, _: self._view(view, text, args),
            st.Describe: self._describe,
            st.DropNamespace: self._namespace,
            st.DropTable: self._drop,
            st.Explain: lambda explain, _: self._explain(explain, text, args),
            st.Insert: lambda insert, _: self._insert(insert, text, args),
            st.Other: lambda other, _: self._other(other, text, args),
            st.Query: lambda query, _: self._query(query.text, args),
            st.ShowCatalogs: lambda *_: self._engine.frame(("catalog",), [(name,) for name in self._names.all()]),
            st.ShowCurrent: self._show_current,
            st.ShowNamespaces: self._show_namespaces,
            st.ShowTables: self._show_tables,
            st.Use: self._use,
        }
        return handlers[type(statement)](statement, text)

    def _where(self, name: Name) -> Resolved | None:
        return None if self._is_view(name.parts) else self._names.table(name.parts)

    def _done(self) -> Frame:
        return self._engine.frame((), ())

    def _spark(self, text: str, args: Args = None) -> Frame:
        """Pass a statement that does not refer to the lake on to Spark."""
        if mentions(text, self._names.is_ours):
            begin = len(text) - len(text.lstrip())
            problem = "the statement changes something outside the catalogs of this lake, but refers to a table in them"
            raise unsupported(text, begin, problem, _VIEW_FIRST)
        return self._engine.query(text, (), args)

    def _is_view(self, parts: tuple[str, ...]) -> bool:
        """Return whether a name is a temporary view, which takes precedence over tables of the current catalog."""
        return len(parts) == 1 and self._names.current is not None and self._engine.has_temporary_view(parts[0])

    def _query(self, text: str, args: Args = None, head: str = "") -> Frame:
        """Run a query; `head` is prepended to its text."""
        found, sources = self._sources(text, args, Sources(self._names))
        return self._engine.query(head + replaced(text, found), sources, args)

    def _sources(self, text: str, args: Args, tables: Sources) -> tuple[list[Reference], list[Source]]:
        """Return the references to the lake in a query, and the source of each.

        Each table is loaded once, so that several references to it read the same state.
        """
        found = [one for one in references(text, self._names.is_ours) if not self._is_view(one.name.parts)]
        return found, [self._source(tables, one, text, args) for one in found]

    def _explain(self, statement: st.Explain, text: str, args: Args) -> Frame:
        query = in_place(text, statement.query.start, statement.query.text)
        return self._query(query, args, statement.head + " ")

    def _view(self, statement: st.CreateView, text: str, args: Args) -> Frame:
        if not mentions(statement.query.text, self._names.is_ours):
            return self._engine.query(text, (), args)
        rows = self._query(in_place(text, statement.query.start, statement.query.text), args)
        if len(statement.name.parts) > 1:
            raise invalid(text, statement.name.start, "the name of a temporary view must have one part")
        self._engine.create_view(
            rows,
            statement.name.parts[0],
            statement.columns,
            replaces=statement.replaces,
            is_global=statement.is_global,
        )
        return self._done()

    def _source(self, tables: Sources, one: Reference, text: str, args: Args) -> Source:
        """Return the source that a reference in a query reads."""
        try:
            source = replace(tables.source(one.name.parts), names=one.names, conditions=one.conditions)
            return source if one.as_of is None else source.at(self._state(one.as_of, args))
        except FrazilError as error:
            raise _placed(error, text, one.name.start) from None

    def _state(self, as_of: AsOf, args: Args) -> tuple[str, Any]:
        if as_of.kind == "version":
            return "version", as_of.value
        # Times are evaluated by the engine, which knows the time zone and the functions of the session.
        named = args if hasattr(args, "items") else None
        moment_ms = self._engine.value(self._query(f"SELECT unix_millis(CAST({as_of.value} AS TIMESTAMP))", named))
        if moment_ms is None:
            message = f"TIMESTAMP AS OF {as_of.value} is NULL"
            raise InvalidArgumentError(message, hint="use a timestamp such as '2024-02-29 12:00:00'")
        return "as_of", int(moment_ms)

    def _other(self, statement: st.Other, text: str, args: Args) -> Frame:
        if statement.is_of_session or not mentions(text, self._names.is_ours):
            return self._engine.query(text, (), args)
        raise unsupported(text, statement.start, f"{statement.what} is not supported", self._instead(statement))

    def _instead(self, statement: st.Other) -> str | None:
        """Return a hint that suggests a Python alternative to an unsupported statement; None if there is none."""
        where = None if statement.table is None else self._where(statement.table)
        if statement.table is not None and where is None:
            return _VIEW_FIRST
        use = instead(statement.what, "iceberg" if where is None else where.catalog.format)
        if use is None or where is None:
            return use and f"use {use}"
        return "use " + use.replace("lake.table(…)", f'lake.table("{statement.table}")')

    def _use(self, statement: st.Use, text: str) -> Frame:
        parts = statement.name.parts
        if self._names.use(parts, is_catalog=statement.is_catalog, is_namespace=statement.is_namespace):
            return self._done()
        result = self._engine.query(text, ())
        self._names.leave()
        return result

    def _show_tables(self, statement: st.ShowTables, text: str) -> Frame:
        where = self._names.listed_namespace(None if statement.namespace is None else statement.namespace.parts)
        if where is None:
            return self._engine.query(text, ())
        rows = [
            (_dotted(levels[:-1]), levels[-1], False)
            for levels in where.catalog.catalog.list_tables(where.levels)
            if _is_like(levels[-1], statement.pattern)
        ]
        return self._engine.frame(("namespace", "tableName", "isTemporary boolean NOT NULL"), rows)

    def _show_namespaces(self, statement: st.ShowNamespaces, text: str) -> Frame:
        current = self._names.current
        if statement.parent is not None:
            where = self._names.new_namespace(statement.parent.parts)
        else:
            where = None if current is None else Resolved(current, ())
        if where is None:
            return self._engine.query(text, ())
        listed = map(_dotted, where.catalog.catalog.list_namespaces(where.levels))
        return self._engine.frame(("namespace",), [(name,) for name in listed if _is_like(name, statement.pattern)])

    def _show_current(self, statement: st.ShowCurrent, text: str) -> Frame:
        del statement
        current = self._names.current
        if current is None:
            return self._engine.query(text, ())
        return self._engine.frame(("catalog", "namespace"), [(current.name, _dotted(self._names.namespace))])

    def _namespace(self, statement: st.CreateNamespace | st.DropNamespace, text: str) -> Frame:
        where = self._names.new_namespace(statement.name.parts)
        if where is None:
            return self._spark(text)
        catalog = where.catalog.catalog
        if isinstance(statement, st.DropNamespace):
            if statement.cascade:
                message = "DROP NAMESPACE … CASCADE is not supported"
                raise UnsupportedError(message, hint="drop its tables first")
            try:
                catalog.drop_namespace(where.levels)
            except NoSuchNamespaceError:
                if not statement.if_exists:
                    raise
            return self._done()
        # Folders do not store properties, but Spark always sets an owner.
        owner = {} if catalog.type in ("hadoop", "paimon") else {"owner": self._engine.user()}
        try:
            catalog.create_namespace(where.levels, owner | dict(statement.properties))
        except AlreadyExistsError:
            if not statement.if_not_exists:
                raise
        return self._done()

    def _create(self, statement: st.CreateTable, text: str, args: Args) -> Frame:
        where = self._where(statement.name)
        if where is None:
            return self._spark(text, args)
        if is_there(statement, where):
            return self._done()
        if statement.query is None:
            create_table(statement, where, text, self._engine, None)
            return self._done()
        tables = Sources(self._names)
        query = in_place(text, statement.query.start, statement.query.text)
        found, sources = self._sources(query, args, tables)
        how = Insertion(read=_read_of_replaced(statement, tables, sources))
        rows = self._engine.query(replaced(query, found), sources, args)
        statement = replace(statement, columns=tuple(self._engine.columns_of(rows)))
        create_table(statement, where, text, self._engine, lambda table: self._engine.insert(rows, table, how))
        return self._done()

    def _drop(self, statement: st.DropTable, text: str) -> Frame:
        where = self._where(statement.name)
        if where is None:
            return self._spark(text)
        catalog = where.catalog.catalog
        try:
            # In Java's catalogs of these types, dropping a table also deletes its files.
            catalog.drop_table(where.levels, purge=statement.purge or catalog.type in {"hadoop", "paimon"})
        except NoSuchTableError:
            if not statement.if_exists:
                raise
        return self._done()

    def _describe(self, statement: st.Describe, text: str) -> Frame:
        where = self._where(statement.name)
        if where is None:
            return self._spark(text)
        table = _readable(text, statement.name.start, where)
        rows = self._engine.columns(table)
        if where.catalog.format == "iceberg":
            from frazil.sql._describe import details, partitioning

            rows += partitioning(table, rows)
            if statement.extended:
                rows += details(table, f"{quoted(where.catalog.name)}.{_dotted(where.levels)}")
        elif statement.extended:
            message = "DESCRIBE EXTENDED of a Paimon table is not supported"
            raise UnsupportedError(message, hint="use lake.table(…).options")
        return self._engine.frame(("col_name", "data_type", "comment"), rows)

    def _call(self, statement: st.Call, text: str) -> Frame:
        where = self._names.procedure(statement.procedure.parts)
        if where is None:
            return self._spark(text)
        found = procedure(where, text, statement.procedure.start)
        given = arguments(found, statement, text)
        values = self._engine.values([typed(kind, value.text) for kind, value in given.values()])
        rows = found.run(self._names, where.catalog, dict(zip(given, values, strict=True)))
        return self._engine.frame(found.columns, rows)

    def _insert(self, statement: st.Insert, text: str, args: Args) -> Frame:
        where = self._where(statement.name)
        if where is None:
            return self._spark(text, args)
        tables = Sources(self._names)
        target = tables.source(statement.name.parts)
        how = insertion(statement, target, text, self._engine)
        query = in_place(text, statement.query.start, statement.query.text)
        found, sources = self._sources(query, args, tables)
        if how.mode != "append" and any(one.reads(target) for one in sources):
            # The snapshot is determined before the query is created, because the query may read later commits.
            how = replace(how, read=target.snapshot())
        rows = self._engine.query(replaced(query, found), sources, args)
        self._engine.insert(rows, target.table, how)
        return self._done()


def _read_of_replaced(statement: st.CreateTable, tables: Sources, sources: Sequence[Source]) -> ReadSnapshot | None:
    """Return the snapshot of the replaced table that a query reads; None if it does not read the table."""
    if not (statement.replaces and sources):
        return None
    try:
        target = tables.source(statement.name.parts)
    except NoSuchTableError:
        return None
    is_read = target.metadata_table is None and any(one.reads(target) for one in sources)
    return target.snapshot() if is_read else None


def _readable(text: str, start: int, where: Resolved) -> Any:
    table = where.catalog.catalog.load_table(where.levels)
    if not hasattr(table, "scan") or not hasattr(table, "append"):
        name = ".".join(where.levels)
        raise unsupported(text, start, f"metadata table {name} cannot be read in SQL", "use lake.table(…).inspect")
    return table


def _placed(error: FrazilError, text: str, position: int) -> FrazilError:
    """Return an error with its line and column, unless they are already set."""
    if "line" not in error.context:
        line, column = place_of(text, position)
        error.context |= {"line": str(line), "column": str(column)}
        error.message += f" (line {line}, column {column})"
    return error


def _start_of(statement: st.Statement, text: str) -> int:
    if isinstance(statement, st.Other):
        return statement.start
    return len(text) - len(text.lstrip())


def _dotted(levels: Sequence[str]) -> str:
    return ".".join(map(quoted, levels))


def _is_like(name: str, pattern: str | None) -> bool:
    """Return whether a name matches a SHOW pattern; True without a pattern.

    In a pattern, `*` matches any string, and `|` separates alternatives.

    >>> _is_like("orders", "or*|x"), _is_like("orders", "order")
    (True, False)
    """
    if pattern is None:
        return True
    parts = (".*".join(map(re.escape, part.strip().split("*"))) for part in pattern.split("|"))
    return any(re.fullmatch(part, name, re.IGNORECASE) for part in parts)
