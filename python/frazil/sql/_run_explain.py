"""EXPLAIN of queries, and of statements that change rows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from frazil.sql import _statements as st
from frazil.sql._hints import check_hints
from frazil.sql._parse import parse
from frazil.sql._run_merge import merge
from frazil.sql._run_row_changes import delete, truncate, update

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from frazil.sql._engine import Args, Engine, Frame
    from frazil.sql._row_change import Change
    from frazil.sql._run import Run
    from frazil.sql._sources import Source

__all__ = ["explain"]

_HANDLERS: dict[type[Any], Callable[[Any, Run[Any]], Any]] = {
    st.Delete: delete,
    st.Merge: merge,
    st.Truncate: truncate,
    st.Update: update,
}


def explain(statement: st.Explain, run: Run[Frame]) -> Frame:
    """Run EXPLAIN of a query, or describe how a statement would change rows.

    Raises:
        FrazilError: As raised by the statement, except by its commit.
    """
    if not statement.changes_rows:
        return run.query(statement.query, statement.head + " ")
    if not run.mentions_lake():
        return run.unchanged()
    inner = run.sql.only(statement.query.text, statement.query.start)
    change = parse(inner)
    check_hints(inner, None)
    name = change.name if isinstance(change, st.Truncate) else cast("Any", change).target.name
    if run.where(name) is None:
        return run.pass_on()
    engine = _Explaining(run.engine, statement.head)
    _HANDLERS[type(change)](change, replace(run, engine=cast("Engine[Any]", engine), sql=inner, results=[]))
    return run.frame(("plan",), [("\n".join(engine.lines),)])


class _Explaining:
    """An engine that describes changes of rows instead of making them."""

    def __init__(self, engine: Engine[Any], head: str) -> None:
        """Describe the changes of an engine; `head` is EXPLAIN and its mode."""
        self._engine, self._head = engine, head
        self._query: tuple[str, Sequence[Source], Args] = ("", (), None)
        self.lines: list[str] = []
        """The description."""

    def __getattr__(self, name: str) -> Any:
        """Return a method that does not change anything."""
        if name in ("insert", "create_view"):
            raise AssertionError(name)
        return getattr(self._engine, name)

    def query(self, text: str, sources: Sequence[Source], args: Args = None) -> Any:
        """Run a query, and remember it."""
        self._query = text, sources, args
        return self._engine.query(text, sources, args)

    def delete(self, table: Any, row_filter: str | None, branch: str) -> Any:
        """Describe the deletion of rows that match a filter."""
        self._filter("delete", table, row_filter, branch)
        return _NO_RESULT

    def update(self, table: Any, values: Mapping[str, str], row_filter: str | None, branch: str) -> Any:
        """Describe the update of rows that match a filter, after checking the values."""
        self._engine.assigned_constants(table, values)
        self._filter("update", table, "true" if row_filter is None else row_filter, branch)
        self.lines += [f"Value of column `{column}`: {value}" for column, value in values.items()]
        return _NO_RESULT

    def change(self, table: Any, change: Change[Any]) -> Any:
        """Describe the change of the rows that a query selects."""
        found = change.select(table)
        text, sources, args = self._query
        self.lines.append(f"{change.kind.upper()} of the rows that a query of Spark selects")
        self._where(change.kind, table, change.branch)
        self.lines.append(f"Conflict filter: {found.row_filter or 'none, all rows of concurrent appends'}")
        names = {f"t{place}": _name(one) for place, one in enumerate(sources)}
        self.lines.append(f"Query: {text.format_map(_Names(names)).strip()}")
        self.lines.append(str(self._engine.value(self._engine.query(f"{self._head} {text}", sources, args))))
        return _NO_RESULT

    def _filter(self, kind: str, table: Any, row_filter: str | None, branch: str) -> None:
        if row_filter is None:
            self.lines.append("DELETE of all files, without reading them")
            self.lines.append("Runs in: this process")
            return
        self.lines.append(f"{kind.upper()} of the rows that match a filter, evaluated by frazil")
        self.lines.append(f"Filter: {row_filter}")
        self._where(kind, table, branch)
        if table.format == "paimon":
            return
        head = next((one for one in (branch, "main") if one in table.refs()), None)
        files = "0 files" if head is None else table.scan(row_filter, ref=head).explain()
        self.lines.append(f"Files that may change: {files}")

    def _where(self, kind: str, table: Any, branch: str) -> None:
        if table.format == "paimon":
            if table.primary_keys:
                self.lines.append(f"Records: {_RECORDS[kind]} for each row")
            else:
                self.lines.append("Rewrites: the data files with matching rows")
            self.lines.append("Runs in: this process")
            return
        mode = table.properties.get(f"write.{kind}.mode", "copy-on-write") if table.format_version > 1 else ""
        self.lines.append(f"Mode: {mode.lower() or 'copy-on-write'}")
        in_workers = self._engine.changes_in_workers(table, branch)
        self.lines.append(f"Runs in: {'the workers of Spark' if in_workers else 'this process'}")


_RECORDS = {"delete": "-D", "merge": "-D, +U or +I", "update": "+U"}
"""The kinds of the records that change rows of a Paimon table with a primary key."""

_NO_RESULT = SimpleNamespace()
"""The result of a change that is only described."""


class _Names(dict[str, str]):
    """The names of tables, by the placeholders in a query; other placeholders are kept."""

    def __missing__(self, name: str) -> str:
        """Return the placeholder of a DataFrame."""
        return "{" + name + "}"


def _name(source: Source) -> str:
    """Return a short name of a source, for descriptions."""
    name = getattr(source.table, "name", type(source.table).__name__)
    name = name() if callable(name) else name
    name = name if isinstance(name, str) else ".".join(name)
    state = "" if source.state is None else f" at {source.state[0]} {source.state[1]}"
    columns = "" if source.address is None else f" with {', '.join(source.address)}"
    return f"<{name}{state}{columns}>"
