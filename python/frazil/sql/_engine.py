"""The engine that runs the queries of a lake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from frazil._literal import Lit
    from frazil._write_result import WriteResult
    from frazil.errors import InvalidArgumentError
    from frazil.sql._column_types import Column
    from frazil.sql._insert import Insertion
    from frazil.sql._lexer import Lexed
    from frazil.sql._row_change import Change
    from frazil.sql._sources import Source

Frame = TypeVar("Frame")
"""The result type of a query in the engine."""


@dataclass(frozen=True, slots=True)
class Held(Generic[Frame]):
    """The rows of a query, which are kept so that other queries can read them."""

    engine: Engine[Frame]
    """An engine whose queries can reference the rows by name."""
    is_small: bool
    """Whether the rows fit into the memory of each worker."""
    release: Callable[[], None]
    """A function that drops the rows."""


Cells = tuple[Any, ...]

Args: TypeAlias = "Mapping[str, Any] | Sequence[Any] | None"
"""The values of query parameters, by name or by position."""


class Engine(Protocol[Frame]):
    """An engine that runs queries."""

    def query(self, text: str, sources: Sequence[Source], args: Args = None) -> Frame:
        """Run a query in Spark SQL, in which `{t0}` refers to the first source, and so on.

        All sources with the same table and state return the same rows. If there are sources, other braces in the text
        are doubled, as for `str.format`; without sources, they are not.
        """
        ...

    def syntax_error(self, text: str) -> InvalidArgumentError | None:
        """Return the error for a statement that is not one of the engine's SQL; None if it is. Nothing is run."""
        ...

    def clarify(self, error: Exception, sql: Lexed, columns: Sequence[str], catalogs: Sequence[str]) -> None:
        """Rewrite the text of an error of the engine in the words of a statement.

        Args:
            error: The error.
            sql: The statement of the user.
            columns: The columns of the tables of the lake that the statement names.
            catalogs: The names of all catalogs.
        """
        ...

    def inserted(self, text: str, values: Mapping[str, Any]) -> tuple[str, Mapping[str, Frame]]:
        """Insert values into the placeholders of a text; return it, and the frames by their names in it."""
        ...

    def with_frames(self, frames: Mapping[str, Frame]) -> Engine[Frame]:
        """Return an engine whose queries can also reference these frames by name."""
        ...

    def held(self, frame: Frame, name: str) -> Held[Frame]:
        """Run a query and keep its rows under a name that no statement uses."""
        ...

    def comparable_columns(self, table: Any, frame: Frame) -> Sequence[str]:
        """Return the columns of a query that frazil compares with those of a table as the engine does.

        The columns have the same names on both sides.
        """
        ...

    def transform_function(self, name: str) -> str:
        """Return the name of a function of the engine that computes a partition value; `bucket` has two arguments."""
        ...

    def disconnect(self) -> None:
        """Undo what connecting changed in the session."""
        ...

    def value(self, frame: Frame) -> Any:
        """Return the first column of the first row of a query."""
        ...

    def constants(self, texts: Sequence[str]) -> list[str | None]:
        """Return the values of literals as strings, in the form of Spark's partition values."""
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

    def is_view_of(self, name: str, frame: Frame) -> bool:
        """Return whether a temporary view of this name exists and reads these rows."""
        ...

    def watch_views(self, frame: Frame, created: Callable[[str], None]) -> None:
        """Call a function with the name of each temporary view that a user creates of the rows of a query."""
        ...

    def columns_of(self, frame: Frame) -> Iterable[Column]:
        """Return the columns of a query, all of them nullable."""
        ...

    def column_names(self, frame: Frame) -> list[str]:
        """Return the names of the columns of a query."""
        ...

    def insert(self, frame: Frame, table: Any, insertion: Insertion) -> WriteResult:
        """Write the rows of a query into a table, or into the table of a transaction."""
        ...

    def delete(self, table: Any, row_filter: str | None, branch: str) -> WriteResult:
        """Delete the rows of a table that match a filter of frazil; None for all rows."""
        ...

    def update(self, table: Any, values: Mapping[str, str], row_filter: str | None, branch: str) -> WriteResult:
        """Set columns of the rows that match a filter of frazil, as `assigned_constants` evaluates their values."""
        ...

    def change(self, table: Any, change: Change[Frame]) -> WriteResult:
        """Change the rows of a table whose addresses or keys are the first columns of a query, and insert rows.

        Each attempt to commit calls `change.select`, reads the rows of the query, whose columns `Selection` describes,
        and calls `Selection.release`.

        Raises:
            InvalidArgumentError: A value does not fit its column, or `change.checks_matches` is set and several rows of
                the source match a row of the table.
            CommitConflictError: A concurrent writer changed rows on which the result depends in every attempt.
        """
        ...

    def assigned_constants(self, table: Any, values: Mapping[str, str]) -> Mapping[str, Lit]:
        """Evaluate constants, given as SQL, and assign them to the types of their columns by Spark's rules.

        Raises:
            InvalidArgumentError: A value does not fit its column.
        """
        ...

    def changes_in_workers(self, table: Any, branch: str) -> bool:
        """Return whether the rows of an Iceberg table are changed in workers, and not in this process."""
        ...

    def joins_few_rows(self, table: Any, branch: str) -> bool:
        """Return whether a join with all rows of an Iceberg table takes no longer than selecting rows before it."""
        ...

    def session_branch(
        self, table: Any, name: tuple[str, ...], change: Literal["insert", "rows"] | None = None
    ) -> str | None:
        """Return the branch that statements read and change instead of `main`, which may not exist; None for `main`.

        Args:
            table: The table.
            name: The names of its catalog, of its namespace and of the table.
            change: The kind of change; None for a read.
        """
        ...

    def is_case_sensitive(self) -> bool:
        """Return whether the names of columns are case-sensitive."""
        ...

    def frame(self, columns: Sequence[str], rows: Sequence[Cells]) -> Frame:
        """Return rows as a result. A column is a name for strings, or a name and an SQL type, and is then nullable."""
        ...

    def columns(self, table: Any) -> list[Cells]:
        """Return the name, type and comment of each column of a table; types are those of Spark, such as `bigint`."""
        ...

    def tree(self, table: Any) -> str:
        """Return the schema of a table as a tree, one line for each column and field."""
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
