"""The part of a table that a query needs: the columns that it may use, and simple conditions from its WHERE.

Names are not resolved. A column is kept if its name occurs anywhere in the statement, so that omitting other columns
does not change name resolution. A condition only skips rows that Spark would skip, and Spark applies the condition
again.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from frazil._expression import Expression, col
from frazil._extras import imported
from frazil._literal import SqlText
from frazil.sql._lexer import Lexed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import pyarrow as pa

    from frazil.sql._lexer import Token
    from frazil.sql._moments import Moments

_ALL_COLUMNS = ("NATURAL", "PIVOT", "UNPIVOT")
"""The keywords of clauses in which a query may use columns without naming them."""

_PLAIN_QUOTED = re.compile(r"[\w $-]*")
"""Quoted names that are not regular expressions in the sense of `spark.sql.parser.quotedRegexColumnNames`."""

_INNER = ("", "INNER", "CROSS")
_COMPARISONS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBER = re.compile(r"-?[0-9]{1,38}(\.[0-9]{1,38})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HINT = "/*+"
_CASTS: dict[str, Kind] = {
    "DATE": "date",
    "TIMESTAMPLTZ": "timestamp_ltz",
    "TIMESTAMPNTZ": "timestamp_ntz",
    "TIMESTAMPTZ": "timestamp",
}
"""The target types of casts, by their names in sqlglot, which calls TIMESTAMP of Spark TIMESTAMPTZ."""


Kind = Literal["number", "string", "date", "timestamp", "timestamp_ltz", "timestamp_ntz"]
"""The kind of a constant."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one column: an operator, and constants with their types."""

    column: str
    operator: str
    constants: tuple[tuple[Kind, str], ...] = ()


_EXPRESSIONS: dict[str, Callable[[Expression, list[SqlText]], Expression]] = {
    "=": lambda column, values: column == values[0],
    "<>": lambda column, values: ~(column == values[0]),
    "<": lambda column, values: column < values[0],
    "<=": lambda column, values: column <= values[0],
    ">": lambda column, values: column > values[0],
    ">=": lambda column, values: column >= values[0],
    "in": lambda column, values: column.is_in(values),
    "between": lambda column, values: (column >= values[0]) & (column <= values[1]),
    "like": lambda column, values: Expression(f"({column} LIKE {values[0]})"),
    "is null": lambda column, _: column.is_null(),
    "is not null": lambda column, _: column.is_not_null(),
}
"""The operators of conditions."""


class Statement:
    """The information on all tables of a query that its tokens contain."""

    def __init__(self, sql: Lexed, names_of_tables: Collection[tuple[int, int]]) -> None:
        """Read the tokens; `names_of_tables` holds the positions of table names."""
        found = [
            token for token in _with_hints(sql) if not any(start <= token.start < end for start, end in names_of_tables)
        ]
        self.names: frozenset[str] | None = None
        """The names in lower case; None if the query may use columns that it does not mention."""
        if not _has_hidden_columns(found):
            # A string in double quotes may be a name, depending on a session setting.
            are_names = (token for token in found if token.is_name or token.text[0] == '"')
            self.names = frozenset(token.value.lower() for token in are_names)
        strings = {index for index, token in enumerate(found) if token.kind == "string"}
        self.has_plain_strings = all(
            found[index].text[0] == "'" and not set("'\\") & set(found[index].text[1:-1]) and index + 1 not in strings
            for index in strings
        )
        """Whether every string literal is exactly the characters between its quotes."""


def named_columns(table: Any, statement: Statement, values: Collection[str]) -> frozenset[str] | None:
    """Return the names of the columns to keep; None to keep all columns.

    Args:
        table: The table node in the sqlglot tree.
        statement: The tokens of the query.
        values: The unqualified names that the query uses as values, such as column names.
    """
    own = select_of(table)
    if own is None or table.alias_or_name.lower() in values or table.name.lower() in values:
        return None
    return None if _renames_columns(table, own) or _has_star(own) else statement.names


def conditions(table: Any, statement: Statement) -> tuple[Condition, ...]:
    """Return the simple WHERE conditions that concern only this table, from the SELECT that reads it."""
    own = select_of(table)
    where = None if own is None else own.args.get("where")
    if own is None or where is None or statement.names is None or not _is_filtered_by_where(table, own):
        return ()
    if _renames_columns(table, own):
        return ()
    relations = _relations(own)
    alias = table.alias_or_name.lower()
    if [one.alias_or_name.lower() for one in relations].count(alias) > 1:
        return ()
    is_alone = len(relations) == 1 and not own.args.get("laterals")
    found = []
    for node in _conjuncts(where.this):
        condition, column = _condition(node) or (None, None)
        if condition is None or column is None or column.args.get("db"):
            continue
        if condition.operator == "<>" or _has_large_number(condition):
            continue
        qualifier = column.text("table").lower()
        has_strings = any(kind == "string" for kind, _ in condition.constants)
        if (qualifier == alias or (not qualifier and is_alone)) and (statement.has_plain_strings or not has_strings):
            found.append(condition)
    return tuple(found)


def conjuncts(text: str, is_own: Callable[[Sequence[str]], bool]) -> tuple[Condition, ...]:
    """Return the simple conditions that a condition in Spark SQL joins by AND.

    Args:
        text: The condition.
        is_own: Whether a column, given as the parts of its name, can only be one of the table.

    >>> found = conjuncts("t.id = s.id AND t.day > 5 AND 7 = t.n AND s.x = 2", lambda parts: parts[0] == "t")
    >>> [(one.column, one.operator, one.constants) for one in found]
    [('day', '>', (('number', '5'),)), ('n', '=', (('number', '7'),))]
    """
    sqlglot = imported("sqlglot", "a condition in Spark SQL")
    try:
        [parsed] = sqlglot.parse(text, read="spark")
        has_plain_strings = Statement(Lexed(text), ()).has_plain_strings
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError):
        return ()
    found = []
    for node in _conjuncts(parsed):
        condition, column = _condition(node) or (None, None)
        if condition is None or column is None or condition.operator == "<>" or _has_large_number(condition):
            continue
        has_strings = any(kind == "string" for kind, _ in condition.constants)
        if (has_plain_strings or not has_strings) and is_own([part.name for part in column.parts]):
            found.append(condition)
    return tuple(found)


def equalities(text: str) -> list[tuple[list[str], list[str]]]:
    """Return the pairs of columns, as the parts of their names, that a condition requires to be equal.

    >>> equalities("t.id = s.id AND (n = s.n AND t.x <=> s.x) AND t.a = 1")
    [(['t', 'id'], ['s', 'id']), (['n'], ['s', 'n'])]
    """
    sqlglot = imported("sqlglot", "a condition in Spark SQL")
    try:
        [parsed] = sqlglot.parse(text, read="spark")
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError):
        return []
    found = []
    for node in _conjuncts(parsed):
        sides = [node.this, node.expression] if type(node).__name__ == "EQ" else []
        if sides and all(type(one).__name__ == "Column" for one in sides):
            left, right = ([part.name for part in one.parts] for one in sides)
            found.append((left, right))
    return found


def _renames_columns(table: Any, own: Any) -> bool:
    """Return whether the alias of a table, or of a relation that contains it, has a list of columns."""
    node = table
    while node is not own:
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return True
        node = node.parent
    return False


def kept(columns: Sequence[str], names: Collection[str] | None) -> tuple[str, ...]:
    """Return the columns that a query reads: at least one, because rows without columns cannot be passed on.

    >>> kept(["a", "B", "ä"], {"b", "t"}), kept(["a", "b"], {"t"}), kept(["a"], None)
    (('B', 'ä'), ('a',), ('a',))
    """
    if names is None:
        return tuple(columns)
    # Columns with non-ASCII names are always kept, because Spark compares non-ASCII letters by its own rules.
    return tuple(name for name in columns if not name.isascii() or name.lower() in names) or tuple(columns[:1])


def filters(schema: pa.Schema, found: Sequence[Condition], moments: Moments | None = None) -> list[str]:
    """Return the conditions as frazil filters, without those that Spark may evaluate differently.

    Without `moments`, conditions on timestamps are omitted.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("id", pa.int64()), ("x", pa.float32())])
    >>> filters(schema, [Condition("ID", "<", (("number", "5"),)), Condition("x", "<", (("number", "5"),))])
    ['("id" < 5)']
    """
    expressions = (_filter(schema, one, moments) for one in found)
    return [str(one) for one in expressions if one is not None]


def whole_filter(
    schema: pa.Schema,
    text: str,
    moments: Moments | None = None,
    qualifier: Sequence[str] = (),
    *,
    case_sensitive: bool = False,
) -> str | None:
    r"""Return a condition as an equivalent frazil filter; None if Spark may select other rows.

    Args:
        schema: The columns of the table.
        text: The condition in Spark SQL.
        moments: As in `filters`.
        qualifier: The name of the table, by whose last parts columns may be qualified.
        case_sensitive: Whether names of columns are case-sensitive.

    Raises:
        UnsupportedError: sqlglot is not installed.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    >>> whole_filter(schema, "ID = 1 OR NOT (name LIKE 'a%' AND id IN (2, 3))")
    '(("id" = 1) OR (NOT (("name" LIKE \'a%\') AND ("id" IN (2, 3)))))'
    >>> whole_filter(schema, "db.t.id <> 1 AND t.name IS NULL", qualifier=("lake", "db", "t"))
    '((NOT ("id" = 1)) AND ("name" IS NULL))'
    >>> whole_filter(schema, "abs(id) = 1")
    """
    sqlglot = imported("sqlglot", "a condition in Spark SQL")
    try:
        [parsed] = sqlglot.parse(text, read="spark")
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError):
        return None
    whole = _WholeFilter(schema, moments, tuple(part.lower() for part in qualifier), case_sensitive)
    try:
        found = whole.of(parsed) if Statement(Lexed(text), ()).has_plain_strings else None
    except RecursionError:
        return None
    return None if found is None else str(found)


def filters_of_conjuncts(
    schema: pa.Schema, text: str, moments: Moments, *, case_sensitive: bool
) -> list[tuple[Any, str | None]]:
    """Return the conditions that a condition joins by AND: each as a node of sqlglot, and as in `whole_filter`.

    The result is empty if the condition cannot be parsed.

    >>> from frazil.sql._moments import Moments
    >>> import pyarrow as pa
    >>> moments = Moments(lambda texts: [], timestamp_has_zone=True)
    >>> found = filters_of_conjuncts(pa.schema([("id", pa.int64())]), "ID > 1 AND f(id)", moments, case_sensitive=False)
    >>> [text for _, text in found]
    ['("id" > 1)', None]
    """
    sqlglot = imported("sqlglot", "a condition in Spark SQL")
    whole = _WholeFilter(schema, moments, (), case_sensitive)
    try:
        [parsed] = sqlglot.parse(text, read="spark")
        is_plain = Statement(Lexed(text), ()).has_plain_strings
        found = [(node, whole.of(node) if is_plain else None) for node in _conjuncts(parsed)]
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError):
        return []
    return [(node, None if one is None else str(one)) for node, one in found]


@dataclass(frozen=True, slots=True)
class _WholeFilter:
    """The translation of all parts of a condition."""

    schema: pa.Schema
    moments: Moments | None
    qualifier: tuple[str, ...]
    case_sensitive: bool

    def of(self, node: Any) -> Expression | None:
        """Return an equivalent filter, or None."""
        kind = type(node).__name__
        if kind in ("And", "Or"):
            left, right = self.of(node.this), self.of(node.expression)
            if left is None or right is None:
                return None
            return left & right if kind == "And" else left | right
        if kind == "Paren":
            return self.of(node.this)
        if kind == "Boolean":
            return Expression("TRUE" if node.this else "FALSE")
        found = _condition(node)
        if found is not None and self._is_known(found[1]) and not _has_large_number(found[0]):
            return _filter(self.schema, found[0], self.moments)
        negated = None
        if kind == "Not":
            negated = self.of(node.this)
        elif kind == "Like" and node.args.get("negate"):
            # sqlglot 30 parses NOT LIKE in this form.
            negated = self.of(type(node)(this=node.this.copy(), expression=node.expression.copy()))
        return None if negated is None else ~negated

    def _is_known(self, column: Any) -> bool:
        """Return whether a column is unqualified or qualified by the table, and spelled as the session requires."""
        parts = tuple(text.lower() for key in ("catalog", "db", "table") if (text := column.text(key)))
        if parts and parts != self.qualifier[-len(parts) :]:
            return False
        return not self.case_sensitive or column.name in self.schema.names


def _has_large_number(condition: Condition) -> bool:
    """Return whether a constant exceeds 64 bits: Spark 4.1 evaluates NULL < 99999999999999999999 as true."""
    numbers = (text.partition(".")[0] for kind, text in condition.constants if kind == "number")
    return any(number.lstrip("-").isdecimal() and abs(int(number)) >= 1 << 63 for number in numbers)


def _with_hints(sql: Lexed) -> Iterator[Token]:
    """Return the tokens of a text, including those in hints."""
    for token in sql.tokens:
        if token.kind == "comment" and token.text.startswith(_HINT):
            start, hint = token.start + len(_HINT), Lexed(token.text[len(_HINT) : -2])
            yield from (replace(one, start=start + one.start) for one in hint.significant)
        elif token.kind not in ("blank", "comment"):
            yield token


def _has_hidden_columns(found: Sequence[Token]) -> bool:
    texts = [token.text for token in found]
    return any(
        token.is_word(*_ALL_COLUMNS)
        or (token.is_word("TABLE") and "." not in (before, after))
        or (token.is_word("IDENTIFIER") and after == "(")
        or (token.kind == "quoted" and not _PLAIN_QUOTED.fullmatch(token.value))
        for token, before, after in zip(found, ["", *texts], [*texts[1:], ""], strict=False)
    ) or has_pipe(found)


def has_pipe(found: Sequence[Token]) -> bool:
    """Return whether the tokens contain the pipe operator `|>`."""
    return any((one.text, after.text) == ("|", ">") for one, after in itertools.pairwise(found))


def select_of(table: Any) -> Any:
    """Return the SELECT that reads a table, as a node of sqlglot; None if there is none."""
    node = table.parent
    while node is not None and type(node).__name__ != "Select":
        node = node.parent
    return node


def _from_of(select: Any) -> Any:
    # sqlglot renamed this argument to `from_` in release 28.
    return select.args.get("from_") or select.args.get("from")


def _has_star(own: Any) -> bool:
    """Return whether a star refers to columns of the relations of a SELECT or of a nested SELECT."""
    for node in own.walk():
        if type(node).__name__ != "Star":
            continue
        parent, select = node.parent, select_of(node)
        if type(parent).__name__ == "Count" and parent.this is node and not parent.args.get("expressions"):
            continue
        is_qualified = type(parent).__name__ == "Column" and parent.args.get("table") is not None
        if select is own or is_qualified or _from_of(select) is None:
            return True
    return False


def _relations(select: Any) -> list[Any]:
    return [_from_of(select).this, *(join.this for join in select.args.get("joins") or ())]


def _is_filtered_by_where(table: Any, own: Any) -> bool:
    """Return whether WHERE conditions on a table can be applied before the joins of its SELECT."""
    if any(table.args.get(key) for key in ("joins", "pivots", "laterals", "sample")):
        return False
    first, joins = _from_of(own), own.args.get("joins") or []
    if first is None:
        # sqlglot also accepts texts that Spark refuses, such as a condition without FROM.
        return False
    if table.parent is first:
        later = joins
    else:
        place = next((index for index, join in enumerate(joins) if table.parent is join and join.this is table), None)
        if place is None or (joins[place].args.get("side") or "") != "" or joins[place].kind not in _INNER:
            return False
        later = joins[place + 1 :]
    return all((join.args.get("side") or "").upper() in ("", "LEFT") and not join.method for join in later)


def _conjuncts(node: Any) -> Iterator[Any]:
    """Yield the operands of nested ANDs, in order."""
    pending = [node]
    while pending:
        found = pending.pop()
        kind = type(found).__name__
        if kind == "And":
            pending += [found.expression, found.this]
        elif kind == "Paren":
            pending.append(found.this)
        else:
            yield found


def _condition(node: Any) -> tuple[Condition, Any] | None:
    """Return a condition and its column node; None for all other expressions."""
    if type(node).__name__ == "Not" and type(node.this).__name__ == "Is":
        found = _condition(node.this)
        return found and (Condition(found[0].column, "is not null"), found[1])
    operator, parts, allowed = _parts(node)
    # An unknown argument, such as `negate`, may change the meaning of the condition.
    is_known = all(name in allowed or not value for name, value in node.args.items())
    if not parts or not is_known or type(parts[0]).__name__ != "Column":
        return None
    column, constants = parts[0], [_constant(part) for part in parts[1:]]
    if type(column.this).__name__ != "Identifier" or None in constants or (operator == "in" and not constants):
        return None
    return Condition(column.name, operator, tuple(one for one in constants if one is not None)), column


def _parts(node: Any) -> tuple[str, list[Any], tuple[str, ...]]:
    """Return the operator, its operands and their argument names; no operands if the operator is unsupported."""
    kind = type(node).__name__
    if kind in _COMPARISONS:
        operator, operands = _COMPARISONS[kind], [node.this, node.expression]
        if type(node.this).__name__ != "Column":
            operator, operands = _FLIPPED[operator], operands[::-1]
        return operator, operands, ("this", "expression")
    if kind == "Is" and type(node.expression).__name__ == "Null":
        return "is null", [node.this], ("this", "expression")
    if kind == "Like":
        return "like", [node.this, node.expression], ("this", "expression")
    if kind == "In":
        return "in", [node.this, *node.expressions], ("this", "expressions")
    if kind == "Between":
        return "between", [node.this, node.args["low"], node.args["high"]], ("this", "low", "high")
    return "", [], ()


def _constant(node: Any) -> tuple[Kind, str] | None:
    kind = type(node).__name__
    if kind == "Neg" and type(node.this).__name__ == "Literal" and not node.this.is_string:
        return "number", f"-{node.this.name}"
    if kind == "Literal":
        return ("string" if node.is_string else "number"), node.name
    if kind in ("Cast", "TryCast") and type(node.this).__name__ == "Literal" and node.this.is_string:
        found = _CASTS.get(node.to.this.name)
        return None if found is None or (found == "date" and kind != "Cast") else (found, node.this.name)
    return None


def _filter(schema: pa.Schema, condition: Condition, moments: Moments | None) -> Expression | None:
    import pyarrow as pa

    fields = [field for field in schema if field.name.lower() == condition.column.lower()]
    if len(fields) != 1:
        return None
    [field] = fields
    is_pattern = condition.operator == "like"
    if pa.types.is_timestamp(field.type):
        # In a session that is not in ANSI mode, IN compares timestamps with strings as strings.
        values = [
            None if condition.operator == "in" and kind == "string" else _moment(field, kind, text, moments)
            for kind, text in condition.constants
        ]
    else:
        values = [_literal(field, kind, text) for kind, text in condition.constants]
    if None in values or (is_pattern and not pa.types.is_string(field.type)):
        return None
    literals = [SqlText(value) for value in values if value is not None]
    return _EXPRESSIONS[condition.operator](col(field.name), literals)


def _moment(field: pa.Field, kind: Kind, text: str, moments: Moments | None) -> str | None:
    if moments is None or kind == "number" or b"ARROW:extension:name" in (field.metadata or {}):
        return None
    return moments.literal(field.type, kind, text)


def _literal(field: pa.Field, kind: str, text: str) -> str | None:
    """Return a constant as a filter literal for a column; None if Spark may compare it as another type."""
    import pyarrow as pa

    data_type, found = field.type, None
    if b"ARROW:extension:name" in (field.metadata or {}):
        return None
    if kind == "number" and _NUMBER.fullmatch(text):
        whole, _, fraction = text.partition(".")
        if pa.types.is_integer(data_type) or pa.types.is_decimal128(data_type):
            scale = data_type.scale if pa.types.is_decimal128(data_type) else 0
            found = text if len(fraction) <= scale and len(whole) + len(fraction) <= 38 else None  # noqa: PLR2004 - the most digits of a decimal
        elif pa.types.is_float64(data_type) and math.isfinite(float(text)):
            found = repr(float(text))
    elif kind == "string" and pa.types.is_string(data_type):
        found = f"'{text}'"
    elif kind in ("string", "date") and pa.types.is_date32(data_type) and _is_date(text):
        found = f"DATE '{text}'"
    return found


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True
