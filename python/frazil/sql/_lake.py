"""A lake: named catalogs, and the Spark SQL statements that operate on them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Generic

from frazil._arguments import text as argument_text
from frazil.errors import FrazilError, InvalidArgumentError, NoSuchNamespaceError, NoSuchTableError
from frazil.sql import _run_alter as alter
from frazil.sql import _run_catalogs as catalogs
from frazil.sql import _run_describe as described
from frazil.sql import _run_other as others
from frazil.sql import _run_row_changes as changes
from frazil.sql import _run_rows as rows
from frazil.sql import _run_show as show
from frazil.sql import _run_tables as tables
from frazil.sql import _statements as st
from frazil.sql._engine import Frame
from frazil.sql._functions import with_functions
from frazil.sql._hints import check_hints
from frazil.sql._lexer import Lexed, statements
from frazil.sql._names import Names
from frazil.sql._parse import parse
from frazil.sql._parse_catalog import is_catalog_statement
from frazil.sql._reader import Reader
from frazil.sql._run import Run, placed
from frazil.sql._run_explain import explain
from frazil.sql._run_merge import merge
from frazil.sql._sources import Sources
from frazil.sql._views import View, Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from frazil._write_result import WriteResult
    from frazil.catalog import Catalog
    from frazil.sql._engine import Args, Engine

_HANDLERS: dict[type[Any], Callable[[Any, Run[Any]], Any]] = {
    st.AlterNamespace: alter.alter_namespace,
    st.AlterTable: alter.alter_table,
    st.Analyze: others.analyze,
    st.CacheTable: others.cache,
    st.Call: others.call,
    st.CreateCatalog: catalogs.create_catalog,
    st.CreateNamespace: tables.create_namespace,
    st.CreateTable: tables.create,
    st.CreateTableLike: tables.create_like,
    st.CreateView: rows.create_view,
    st.Delete: changes.delete,
    st.Describe: described.describe,
    st.DescribeNamespace: described.describe_namespace,
    st.DescribeQuery: described.describe_query,
    st.DescribeCatalog: catalogs.describe_catalog,
    st.DropCatalog: catalogs.drop_catalog,
    st.DropNamespace: tables.drop_namespace,
    st.DropTable: tables.drop,
    st.DropView: others.drop_view,
    st.Explain: explain,
    st.Insert: rows.insert,
    st.Merge: merge,
    st.Other: others.other,
    st.Query: rows.query,
    st.RefreshTable: others.refresh,
    st.ShowCatalogs: show.show_catalogs,
    st.ShowColumns: described.show_columns,
    st.ShowCreate: described.show_create,
    st.ShowCurrent: show.show_current,
    st.ShowNamespaces: show.show_namespaces,
    st.ShowPartitions: described.show_partitions,
    st.ShowProperties: described.show_properties,
    st.ShowTableExtended: described.show_table_extended,
    st.ShowTables: show.show_tables,
    st.ShowTags: described.show_tags,
    st.Truncate: changes.truncate,
    st.UncacheTable: others.uncache,
    st.Update: changes.update,
    st.Use: show.use,
}
"""The functions that run the statements."""

_WITH_ARGS = (
    st.Query
    | st.Insert
    | st.Delete
    | st.Merge
    | st.Update
    | st.CacheTable
    | st.CreateTable
    | st.CreateView
    | st.DescribeQuery
    | st.Explain
    | st.Other
)
"""The kinds of statements that may contain a query with parameters."""


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
        self._last: WriteResult | None = None
        self._views = Views[Frame]()

    @property
    def last(self) -> WriteResult | None:
        """The result of the last successful INSERT, DELETE, UPDATE or TRUNCATE on a table of this lake."""
        return self._last

    def __enter__(self) -> Self:
        """Return this lake, which is disconnected at the end of the `with` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect the lake."""
        self.disconnect()

    def disconnect(self) -> None:
        """Restore the `spark.sql` that the session had before `frazil.spark.connect(…, plain=True)`.

        Without `plain=True`, and after the first call, nothing is changed. `lake.sql` can still be used.

        Raises:
            InvalidArgumentError: `spark.sql` was replaced again, for example by a lake that was connected later and
                must be disconnected first.
        """
        self._engine.disconnect()

    def sql(self, text: str, /, args: Args = None, **values: Any) -> Frame:
        """Run a statement.

        Args:
            text: The statement.
            args: The values of its parameters, as in `spark.sql`: by name for `:name`, by position for `?`.
            **values: The values of its placeholders, as in `spark.sql`: DataFrames, columns, strings and others for
                `{name}`. Lines and columns of errors refer to the text with these values.

        Raises:
            InvalidArgumentError: The statement cannot be parsed, or something in it is invalid.
            UnsupportedError: A statement or clause is not supported for tables of these catalogs; the hint suggests an
                alternative. Nothing was changed.
            FrazilError: As raised by the method of the catalog or the table.
        """
        text, engine = argument_text("the statement", text), self._engine
        frames: Mapping[str, Frame] = {}
        if values:
            text, frames = engine.inserted(text, values)
            engine = engine.with_frames(frames)
        self._views.refresh(text, self._view_rows)
        run = self._started(text, args, engine, self._names)
        try:
            return self._run(run, is_template=bool(frames))
        except FrazilError:
            raise
        except Exception as error:
            with contextlib.suppress(FrazilError):
                engine.clarify(error, run.sql, run.tables.columns(), self._names.all())
            raise

    def _started(self, text: str, args: Args, engine: Engine[Frame], names: Names) -> Run[Frame]:
        tables = Sources(names)
        return Run(names, engine, Lexed(with_functions(text, names, engine, tables)), args, tables, self._views)

    def _view_rows(self, view: View[Frame]) -> Frame:
        """Run the query of a temporary view on the latest states of its tables."""
        self._views.refresh(view.text, self._view_rows)
        return self._started(view.text, view.args, view.engine, view.names).query()

    def _run(self, run: Run[Frame], *, is_template: bool) -> Frame:
        sql = run.sql
        try:
            statement = parse(sql)
        except FrazilError:
            # The error for an unsupported clause is raised only if the statement refers to a catalog of the lake. For
            # other tables, Spark supports more clauses than this parser.
            if _concerns_lake(run):
                raise
            return run.unchanged()
        if (run.args or is_template) and not isinstance(statement, _WITH_ARGS) and _concerns_lake(run):
            kind, hint = "DataFrames", "only queries and statements that write the rows of a query accept them"
            if run.args:
                kind, hint = "args", "use placeholders such as {name}, or include the values in the statement"
            message = f"{kind} are not supported for {sql.significant[0].text.upper()} on objects of this lake"
            raise InvalidArgumentError(message, hint=hint)
        try:
            if not isinstance(statement, st.Query | st.Other) and run.mentions_lake():
                check_hints(sql, getattr(statement, "query", None))
            result: Frame = _HANDLERS[type(statement)](statement, run)
        except FrazilError as error:
            raise placed(error, run.text, run.start) from error.__cause__
        if run.results:
            self._last = run.results[-1]
        return result

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

    def has_name(self, name: str) -> bool:
        """Return whether a name of a table refers to a catalog of this lake, whether or not the table exists."""
        parts = _parts(name)
        return parts is not None and not self._is_view(parts) and self._names.table(parts) is not None

    def has_table(self, name: str) -> bool:
        """Return whether a table of this lake exists."""
        try:
            return self.has_name(name) and self.table(name) is not None
        except (NoSuchTableError, NoSuchNamespaceError):
            return False

    def has_namespace_name(self, name: str | None) -> bool:
        """Return whether a name of a namespace refers to a catalog of this lake; None for the current namespace."""
        parts = None if name is None else _parts(name)
        return (name is None or parts is not None) and self._names.listed_namespace(parts) is not None

    def has_catalog(self, name: str) -> bool:
        """Return whether a name begins with a catalog of this lake."""
        return (_parts(name) or ("",))[0] in self._names.catalogs

    def _is_view(self, parts: tuple[str, ...]) -> bool:
        return len(parts) == 1 and self._names.current is not None and self._engine.has_temporary_view(parts[0])

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


def _parts(name: str) -> tuple[str, ...] | None:
    """Return the parts of a name; None for another text."""
    try:
        reader = Reader(name)
        parts = reader.name("a name").parts
        reader.end()
    except FrazilError:
        return None
    return parts


def _concerns_lake(run: Run[Any]) -> bool:
    """Return whether a statement refers to a catalog of the lake, or is one that only lakes support."""
    return run.mentions_lake() or is_catalog_statement(run.sql)
