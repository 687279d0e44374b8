"""The tables that a query references, with their positions in its text.

sqlglot finds the names but never generates a query: Spark receives the original text, in which only these names are
replaced. A `$` in a name becomes `_` and time travel becomes blanks before sqlglot parses the text, so that positions
are kept.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil._extras import imported
from frazil._secrets import without_secrets
from frazil.sql._hints import OptionsHint, options_hints
from frazil.sql._lexer import blank, invalid, lexed, unsupported
from frazil.sql._metadata_columns import used_names
from frazil.sql._narrow import Condition, Statement, conditions, has_pipe, named_columns, select_of
from frazil.sql._reader import Name, Reader
from frazil.sql._time_travel import AsOf, time_travel

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from frazil.sql._lexer import Lexed, Token

_READ_INSTEAD = "read the table with `frazil.spark.read`, and create a temporary view of the DataFrame"
_CHANGES = ("Insert", "Update", "Delete", "Merge", "Create", "Drop", "Command")
_OUTSIDE = {
    "version": "this form of VERSION AS OF or TIMESTAMP AS OF is not supported",
    "when": "this form of VERSION AS OF or TIMESTAMP AS OF is not supported",
    "sample": "TABLESAMPLE is not supported",
    "changes": "CHANGES is not supported",
}
_GENERATED = re.compile(r"__tmp\d+")
"""The names of the common table expressions to which sqlglot converts the part of a query before a pipe."""

PIPES_SINCE = 30
"""The first release of sqlglot in which the tables of queries with pipes are found reliably."""

Edit: TypeAlias = "tuple[int, int, str]"
"""A replacement: the start and the end of a part of a text, and the new text of the part."""

_BEFORE_TABLE = ("UNION", "ALL", "DISTINCT", "EXCEPT", "MINUS", "INTERSECT", "AS")


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a table in a query, and the part of the table that the query reads."""

    name: Name
    has_alias: bool
    """Whether the query gives the table an alias."""
    as_of: AsOf | None = None
    """The snapshot to read."""
    names: frozenset[str] | None = None
    """The identifiers in the query, in lower case; only columns with these names are read. None to read all columns."""
    conditions: tuple[Condition, ...] = ()
    """The conditions of the WHERE clause; rows that do not meet them do not affect the result."""
    table_start: int | None = None
    """The position of the keyword `TABLE`, if the reference is a query of the form `TABLE name`."""
    options: OptionsHint | None = None
    """The read options, if a hint sets them."""
    metadata: frozenset[str] = frozenset()
    """The metadata columns that the query reads of the table, in lower case."""
    stars: tuple[int | None, ...] = ()
    """The ends of the stars that would include them; None for a star that cannot be changed."""
    qualifiers: tuple[tuple[int, int], ...] = ()
    """The positions at which the name qualifies columns, with its catalog or namespace."""

    @property
    def end(self) -> int:
        """Return the offset after the name, the time travel clause and the hint."""
        return max([self.name.end, *(clause.end for clause in (self.as_of, self.options) if clause is not None)])


def references(sql: str | Lexed, is_ours: Callable[[tuple[str, ...]], bool]) -> list[Reference]:
    """Return the table references in a query for which `is_ours` holds, in textual order.

    Raises:
        InvalidArgumentError: The text cannot be split into tokens.
        UnsupportedError: The query cannot be parsed and may refer to a table for which `is_ours` holds, or a clause on
            such a table is not supported.

    >>> found = references("SELECT * FROM a.b.t x, s WHERE id IN (SELECT id FROM a.b.`u v`)", lambda p: p[0] == "a")
    >>> [(str(one.name), one.name.start, one.has_alias) for one in found]
    [('a.b.t', 14, True), ('a.b.`u v`', 53, False)]
    """
    sql = lexed(sql)
    text = sql.text
    if not mentions(sql, is_ours):
        return []
    sqlglot = imported("sqlglot", "a query in Spark SQL")
    if has_pipe(sql.significant) and int(sqlglot.__version__.partition(".")[0]) < PIPES_SINCE:
        problem = f"pipes (`|>`) require sqlglot {PIPES_SINCE} or later"
        raise unsupported(text, _begin(text), problem, f'pip install "sqlglot>={PIPES_SINCE}"')
    clauses = time_travel(sql)
    hints = options_hints(sql)
    table_queries = _table_queries(sql)
    try:
        [parsed] = sqlglot.parse(_masked(sql, [*clauses, *hints], table_queries), read="spark")
    except Exception as error:  # noqa: BLE001 - in pipes, sqlglot also fails with errors that are not its own
        raise unsupported(
            text, _begin(text), f"the query cannot be parsed{_reason(error, sql)}", _READ_INSTEAD
        ) from None
    for node in parsed.walk():
        if type(node).__name__ in _CHANGES:
            raise unsupported(text, _begin(text), "a query that changes tables is not supported", _READ_INSTEAD)
    tables = ((table, _reference(table, text, is_ours)) for table in parsed.find_all(sqlglot.exp.Table))
    # sqlglot copies the tables before a pipe into several common table expressions.
    unique = {one.name.start: (one, table) for table, one in tables if one}
    found = [pair for _, pair in sorted(unique.items())]
    ends = [token.end for token in sql.significant]
    after_names = {ends[bisect.bisect_right(ends, clause.start) - 1]: clause for clause in clauses}
    after_clauses = {clause.end: name_end for name_end, clause in after_names.items()}
    hinted: dict[int, OptionsHint] = {}
    for hint in hints:
        before = max((end for end in ends if end <= hint.start), default=0)
        if after_clauses.get(before, before) in hinted:
            raise invalid(text, hint.start, "OPTIONS is specified twice", "write all options in one hint")
        hinted[after_clauses.get(before, before)] = hint
    misplaced = next((hint for end, hint in hinted.items() if end not in {one.name.end for one, _ in found}), None)
    if misplaced is not None:
        problem = "OPTIONS must directly follow the name of a table of this lake"
        raise invalid(text, misplaced.start, problem, "write it before the alias: t /*+ OPTIONS(…) */ AS x")
    statement = Statement(sql, [(one.name.start, one.name.end) for one, _ in found])
    columns = [node for node in parsed.find_all(sqlglot.exp.Column) if not node.args.get("table")]
    values = {node.name.lower() for node in columns}
    aliases = {node.name.lower() for node in parsed.find_all(sqlglot.exp.TableAlias)}
    qualifiers = _qualifiers(sql, [one for one, _ in found], aliases)
    metadata = [used_names(table, select_of(table)) for _, table in found]
    return [
        replace(
            one,
            metadata=used,
            stars=stars,
            as_of=after_names.get(one.name.end),
            options=hinted.get(one.name.end),
            names=named_columns(table, statement, values),
            conditions=conditions(table, statement),
            qualifiers=qualifiers.get(one.name.start, ()),
            table_start=table_queries.get(one.name.start),
        )
        for (one, table), (used, stars) in zip(found, metadata, strict=True)
    ]


def mentions(sql: str | Lexed, is_ours: Callable[[tuple[str, ...]], bool]) -> bool:
    """Return whether the text contains a name for which `is_ours` holds when it is read as a table name.

    >>> mentions("SELECT local.x FROM t", lambda parts: parts[0] == "local")
    True
    """
    return any(is_ours(tuple(token.value for token in sequence)) for sequence, _ in _sequences(lexed(sql)))


def names_in(text: str) -> list[tuple[str, ...]]:
    """Return the names of one or more parts in a text.

    >>> names_in("SELECT a.b, 'c.d' FROM e")
    [('SELECT',), ('a', 'b'), ('FROM',), ('e',)]
    """
    return [tuple(token.value for token in sequence) for sequence, _ in _sequences(lexed(text))]


def edited(text: str, edits: Sequence[Edit], kept: Callable[[str], str] = str) -> str:
    """Return a text with some of its parts replaced; `kept` converts the others.

    >>> edited("a b c", [(2, 3, "-"), (0, 1, "x")])
    'x - c'
    """
    pieces, end = [], 0
    for start, after, replacement in sorted(edits):
        pieces += [kept(text[end:start]), replacement]
        end = after
    return "".join([*pieces, kept(text[end:])])


def replaced(text: str, found: Sequence[Reference], edits: Sequence[Edit] = ()) -> str:
    """Return the query with the references replaced by `{t0} AS name`, `{t1} AS name` and so on.

    A column is qualified by the last part of its table's name. `edits` contains further replacements.

    >>> replaced("SELECT '{' FROM a.b.t, a.c AS d", references("SELECT '{' FROM a.b.t, a.c AS d", lambda p: len(p) > 1))
    "SELECT '{{' FROM {t0} AS `t`, {t1} AS d"
    """
    edits = list(edits)
    for index, one in enumerate(found):
        alias = braced("`" + one.name.parts[-1].replace("`", "``") + "`")
        if one.table_start is not None:
            edits.append((one.table_start, one.table_start + len("TABLE"), "SELECT * FROM"))
        edits.append((one.name.start, one.end, f"{{t{index}}}" + ("" if one.has_alias else f" AS {alias}")))
        edits += [(start, end, alias) for start, end in one.qualifiers]
    return edited(text, edits, braced)


def _reason(error: Exception, sql: Lexed) -> str:
    """Return the reason why a query cannot be parsed, as the end of a message."""
    message = without_secrets(str(error)).partition("\n")[0].partition(". Line")[0]
    if type(error).__module__.startswith("sqlglot") or isinstance(error, ValueError | RecursionError):
        return f": {message}"
    if not has_pipe(sql.significant):
        return ""
    if isinstance(error, AssertionError):
        return ": after a pipe (`|>`), a query of UNION, EXCEPT or INTERSECT must be in parentheses"
    return ": sqlglot does not support this use of pipes (`|>`)"


def braced(text: str) -> str:
    """Return a text with doubled braces, which `str.format` returns as they are."""
    return text.replace("{", "{{").replace("}", "}}")


def _reference(table: Any, text: str, is_ours: Callable[[tuple[str, ...]], bool]) -> Reference | None:
    parts = table.parts
    first, last = parts[0], parts[-1]
    if type(last).__name__ != "Identifier":
        if str(last.name).upper() == "IDENTIFIER":
            place = first.meta.get("start", _begin(text))
            raise unsupported(text, place, "IDENTIFIER(…) as a table is not supported", "use its name")
        return None  # A table function does not have the position of a table name.
    if "start" not in first.meta or "end" not in last.meta:
        if is_ours(tuple(part.name for part in parts)):
            problem = f"sqlglot does not report the position of table {table.name} in the query"
            raise unsupported(text, _begin(text), problem, "upgrade sqlglot")
        return None
    start, end = first.meta["start"], last.meta["end"] + 1
    if _GENERATED.fullmatch(first.name) and text[start:end].strip("`") != first.name:
        return None  # The position is not one in the query.
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
    """Return whether a name refers to a common table expression at its position."""
    node, parent = table, table.parent
    while parent is not None:
        expressions = _common_tables(parent)
        if type(parent).__name__ == "With":
            # A common table expression can refer to the preceding ones, and with RECURSIVE also to itself.
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
    # sqlglot renamed this argument to `with_` in release 28.
    found = query.args.get("with_") or query.args.get("with")
    return list(found.expressions) if found is not None and type(found).__name__ == "With" else []


def _sequences(sql: Lexed) -> Iterator[tuple[list[Token], bool]]:
    """Yield the tokens of each sequence of names separated by dots, and whether `.*` follows."""
    reader = Reader(sql)
    while not reader.at_end:
        token = reader.peek()
        if token is not None and token.is_name and token.text != "``":
            parts = [reader.take("a name")]
            following = reader.peek(1)
            while reader.at(".") and following is not None and following.is_name and following.text != "``":
                reader.take("a dot")
                parts.append(reader.take("a name"))
                following = reader.peek(1)
            yield parts, reader.at(".", "*")
        else:
            reader.take("a token")


def _qualifiers(
    sql: Lexed, found: Sequence[Reference], aliases: Collection[str]
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Return the positions of `db.t` in columns such as `db.t.id`, keyed by the start of the table's name.

    Spark knows tables of the lake only by an alias with one part, so longer qualifiers must be replaced.
    """
    places: dict[int, tuple[tuple[int, int], ...]] = {}
    tables = {one.name.start for one in found}
    named = [one for one in found if not one.has_alias and len(one.name.parts) > 1]
    for sequence, has_star in _sequences(sql) if named else ():
        parts = [token.value.lower() for token in sequence]
        if sequence[0].start in tables or parts[0] in aliases:
            continue
        for one in named:
            own = [part.lower() for part in one.name.parts]
            longest = min(len(own), len(parts) - (not has_star))
            count = next((count for count in range(longest, 1, -1) if parts[:count] == own[-count:]), None)
            if count is not None:
                place = (sequence[0].start, sequence[count - 1].end)
                places[one.name.start] = (*places.get(one.name.start, ()), place)
                break
    return places


def _masked(sql: Lexed, clauses: Sequence[AsOf | OptionsHint], table_queries: Mapping[int, int]) -> str:
    """Return the text in a form that sqlglot can parse, with all names at the same positions."""
    queries = frozenset(table_queries.values())
    pieces = []
    for token in sql.tokens:
        if token.is_hint or any(clause.start <= token.start < clause.end for clause in clauses):
            pieces.append(blank(token.text))
        elif token.start in queries:
            # sqlglot parses `TABLE t` as a column, and `FROM t` as a query of all columns.
            pieces.append("FROM ")
        else:
            pieces.append(token.text.replace("$", "_") if token.is_name else token.text)
    return "".join(pieces)


def _table_queries(sql: Lexed) -> dict[int, int]:
    """Return the positions of names in queries of the form `TABLE name`, with those of the keyword `TABLE`."""
    found = sql.significant
    return {
        following.start: token.start
        for before, token, following in zip([None, *found], found, found[1:], strict=False)
        if token.is_word("TABLE")
        and following.is_name
        and (before is None or before.text == "(" or before.is_word(*_BEFORE_TABLE))
    }


def _begin(text: str) -> int:
    return len(text) - len(text.lstrip())
