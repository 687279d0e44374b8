"""The tables that a query names, and their places in its text.

sqlglot finds the names; it never writes a query, which Spark gets as the user wrote it but for the names that were
found. A `$` in a name becomes `_` and time travel becomes blanks before sqlglot sees them, so that no character moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from frazil._extras import imported
from frazil.sql._lexer import significant, tokens, unsupported
from frazil.sql._reader import Name, Reader
from frazil.sql._time_travel import AsOf, blanked, time_travel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_READ_INSTEAD = "read the table with `frazil.spark.read`, and make a temporary view of the DataFrame"
_CHANGES = ("Insert", "Update", "Delete", "Merge", "Create", "Drop", "Command")
_OUTSIDE = {
    "version": "this form of VERSION AS OF or TIMESTAMP AS OF is not supported",
    "when": "this form of VERSION AS OF or TIMESTAMP AS OF is not supported",
    "sample": "TABLESAMPLE is not supported",
    "changes": "CHANGES is not supported",
}
_BEFORE_TABLE = ("UNION", "ALL", "DISTINCT", "EXCEPT", "MINUS", "INTERSECT", "AS")


@dataclass(frozen=True, slots=True)
class Reference:
    """A table that a query names, whether the query gives it another name, and the snapshot that it asks for."""

    name: Name
    has_alias: bool
    as_of: AsOf | None = None

    @property
    def end(self) -> int:
        """Return the offset after the name and the clause on the snapshot."""
        return self.name.end if self.as_of is None else self.as_of.end


def references(text: str, is_ours: Callable[[tuple[str, ...]], bool]) -> list[Reference]:
    """Return the names of tables in a query for which `is_ours` holds, in the order of the text.

    Raises:
        InvalidArgumentError: The text cannot be split into tokens.
        UnsupportedError: The query cannot be parsed, and names in it may be of such a table; or a clause of such a
            table is not supported.

    >>> found = references("SELECT * FROM a.b.t x, s WHERE id IN (SELECT id FROM a.b.`u v`)", lambda p: p[0] == "a")
    >>> [(str(one.name), one.name.start, one.has_alias) for one in found]
    [('a.b.t', 14, True), ('a.b.`u v`', 53, False)]
    """
    if not mentions(text, is_ours):
        return []
    _refuse_table_statements(text, is_ours)
    sqlglot = imported("sqlglot", "a query in Spark SQL")
    clauses = time_travel(text)
    try:
        [parsed] = sqlglot.parse(_masked(blanked(text, clauses)), read="spark")
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0].partition(". Line")[0]
        raise unsupported(text, _begin(text), f"the query cannot be parsed: {reason}", _READ_INSTEAD) from None
    for node in parsed.walk():
        if type(node).__name__ in _CHANGES:
            raise unsupported(text, _begin(text), "a query that changes tables is not supported", _READ_INSTEAD)
    found = [one for one in (_reference(table, text, is_ours) for table in parsed.find_all(sqlglot.exp.Table)) if one]
    behind = {_significant_end(text, clause.start): clause for clause in clauses}
    found = [replace(one, as_of=behind.get(one.name.end)) for one in found]
    return sorted(found, key=lambda one: one.name.start)


def mentions(text: str, is_ours: Callable[[tuple[str, ...]], bool]) -> bool:
    """Return whether any name in a text, read as that of a table, is one for which `is_ours` holds.

    >>> mentions("SELECT local.x FROM t", lambda parts: parts[0] == "local")
    True
    """
    return any(is_ours(parts) for parts in names(text))


def replaced(text: str, found: Sequence[Reference]) -> str:
    """Return the query with `{t0} AS name`, `{t1} AS name` and so on in the places of the references.

    >>> replaced("SELECT '{' FROM a.b.t, a.c AS d", references("SELECT '{' FROM a.b.t, a.c AS d", lambda p: len(p) > 1))
    "SELECT '{{' FROM {t0} AS `t`, {t1} AS d"
    """
    pieces, end = [], 0
    for index, one in enumerate(found):
        alias = "" if one.has_alias else " AS `" + one.name.parts[-1].replace("`", "``") + "`"
        pieces += [_braced(text[end : one.name.start]), f"{{t{index}}}", _braced(alias)]
        end = one.end
    return "".join([*pieces, _braced(text[end:])])


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _reference(table: Any, text: str, is_ours: Callable[[tuple[str, ...]], bool]) -> Reference | None:
    parts = table.parts
    first, last = parts[0], parts[-1]
    if type(last).__name__ != "Identifier":
        if str(last.name).upper() == "IDENTIFIER":
            place = first.meta.get("start", _begin(text))
            raise unsupported(text, place, "IDENTIFIER(…) as a table is not supported", "write its name")
        return None  # a function
    if "start" not in first.meta or "end" not in last.meta:
        if is_ours(tuple(part.name for part in parts)):
            problem = f"sqlglot does not tell where the query names table {table.name}"
            raise unsupported(text, _begin(text), problem, "upgrade sqlglot")
        return None
    start, end = first.meta["start"], last.meta["end"] + 1
    written = Reader(text[start:end]).name("the name of a table")
    if len(written.parts) == 1 and _is_common_table(table, written.parts[0]):
        return None
    if not is_ours(written.parts):
        return None
    for key, problem in _OUTSIDE.items():
        if table.args.get(key):
            raise unsupported(text, start, f"{problem} for table {written}", _READ_INSTEAD)
    return Reference(Name(written.parts, start, end), table.args.get("alias") is not None)


def _is_common_table(table: Any, name: str) -> bool:
    """Return whether a name is that of a common table expression where it stands."""
    node, parent = table, table.parent
    while parent is not None:
        expressions = _common_tables(parent)
        if type(parent).__name__ == "With":
            # Inside of an expression those before it are known, and with RECURSIVE itself.
            own = list(parent.expressions)
            place = next((index for index, one in enumerate(own) if one is node), 0)
            expressions = own[: place + bool(parent.args.get("recursive"))]
        elif type(node).__name__ == "With":
            expressions = []
        if any(one.alias.lower() == name.lower() for one in expressions):
            return True
        node, parent = parent, parent.parent
    return False


def _common_tables(query: Any) -> list[Any]:
    # `with_` since release 28.
    found = query.args.get("with_") or query.args.get("with")
    return list(found.expressions) if found is not None and type(found).__name__ == "With" else []


def names(text: str) -> Iterator[tuple[str, ...]]:
    """Return each sequence of names with dots between them."""
    reader = Reader(text)
    while not reader.at_end:
        token = reader.peek()
        if token is not None and token.is_name and token.text != "``":
            parts = [token.value]
            reader.take("a name")
            following = reader.peek(1)
            while reader.at(".") and following is not None and following.is_name and following.text != "``":
                reader.take("a dot")
                parts.append(reader.take("a name").value)
                following = reader.peek(1)
            yield tuple(parts)
        else:
            reader.take("a token")


def _refuse_table_statements(text: str, is_ours: Callable[[tuple[str, ...]], bool]) -> None:
    """Raise for `TABLE name` in the place of a query, which sqlglot takes for a column."""
    found = significant(text)
    for index, token in enumerate(found[:-1]):
        before = found[index - 1] if index else None
        is_query = before is None or before.text == "(" or before.is_word(*_BEFORE_TABLE)
        if token.is_word("TABLE") and is_query and found[index + 1].is_name:
            name = Reader(text[found[index + 1].start :]).name("the name of a table")
            if is_ours(name.parts):
                raise unsupported(text, token.start, f"TABLE {name} is not supported", "write SELECT * FROM")


def _masked(text: str) -> str:
    return "".join(
        token.text.replace("$", "_") if token.kind in ("name", "quoted") else token.text for token in tokens(text)
    )


def _significant_end(text: str, position: int) -> int:
    """Return the offset after the last token before a position."""
    return max((token.end for token in significant(text[:position])), default=0)


def _begin(text: str) -> int:
    return len(text) - len(text.lstrip())
