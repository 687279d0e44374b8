"""The functions that a lake adds to those of Spark SQL.

| function | result |
|---|---|
| `current_catalog()`, `current_database()`, `current_schema()` | the current catalog and namespace of the lake |
| `cat.system.bucket(n, x)`, `truncate(n, x)`, `years(x)`, `months(x)`, `days(x)`, `hours(x)` | a partition value |
| `cat.sys.max_pt('db.t')` | the greatest partition of a Paimon table |
| `paimon_incremental_query('db.t', a, b)` and its siblings in FROM | changes of a Paimon table |

They are replaced in the text of a statement before it is parsed, the inner ones first.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from frazil.errors import FrazilError, InvalidArgumentError
from frazil.sql._lexer import Lexed, invalid, unsupported
from frazil.sql._reader import Reader, literal, quoted
from frazil.sql._references import edited

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from frazil.sql._engine import Engine
    from frazil.sql._names import Names
    from frazil.sql._reader import Name, Text
    from frazil.sql._sources import Sources

__all__ = ["with_functions"]

_CURRENT = ("CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA")
_TRANSFORMS = ("bucket", "days", "hours", "months", "truncate", "years")
_INCREMENTAL = {
    "paimon_incremental_between_timestamp": "incremental-between-timestamp",
    "paimon_incremental_query": "incremental-between",
    "paimon_incremental_to_auto_tag": "incremental-to-auto-tag",
}
"""The table functions of Paimon's connector, and the read options that they set."""

_ANY = re.compile("|".join((*_CURRENT, *_TRANSFORMS, *_INCREMENTAL, "max_pt")), re.IGNORECASE)
_BEFORE_TABLE = ("FROM", "INTO", "JOIN", "UPDATE", "USING")
_TYPE_NAMES = {
    pa.binary(): "binary",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.large_binary(): "binary",
    pa.large_string(): "string",
    pa.string(): "string",
}
_NAMESPACES = {"iceberg": "system", "paimon": "sys"}


class _Call(NamedTuple):
    """A call of one of the functions."""

    name: Name
    function: str
    arguments: list[Text]
    end: int


def with_functions(text: str, names: Names, engine: Engine[Any], tables: Sources) -> str:
    """Return a statement in which calls of the functions are replaced by SQL of the engine.

    Raises:
        InvalidArgumentError: A call has the wrong number of arguments.
        UnsupportedError: The type of the argument of `truncate` is not known.
    """
    if not _ANY.search(text):
        return text
    while True:
        # The call that begins last contains no other one.
        found = list(_calls(Lexed(text), names))
        if not found:
            return text
        call = found[-1]
        replacement = _replacement(call, text, names, engine, tables)
        text = edited(text, [(call.name.start, call.end, replacement)])


def _calls(sql: Lexed, names: Names) -> Iterator[_Call]:
    reader, before = Reader(sql), None
    while not reader.at_end:
        first = reader.peek()
        if first is None or not first.is_name or first.text == "``" or (before is not None and before.text == "."):
            before = reader.take("a token")
            continue
        try:
            name = reader.name("a name")
        except FrazilError:
            before = first
            continue
        before = None
        function = _function(name.parts, names) if reader.at("(") else None
        if function is None:
            continue
        mark = reader.mark()
        reader.expect("(")
        arguments = []
        while not reader.at(")"):
            arguments.append(reader.until(what="an argument"))
            reader.accept(",")
        end = reader.take("')'").end
        reader.back_to(mark)
        yield _Call(name, function, arguments, end)


def _function(parts: tuple[str, ...], names: Names) -> str | None:
    """Return the function that a name refers to; None if it is not one of the lake."""
    last = parts[-1].lower()
    if len(parts) == 1:
        is_current = last.upper() in _CURRENT and names.current is not None
        return last if is_current or last in _INCREMENTAL else None
    where = names.procedure(parts)
    if where is None or len(where.levels) != 2:  # noqa: PLR2004 - the namespace and the function
        return None
    table_format = where.catalog.format
    known = _TRANSFORMS if table_format == "iceberg" else ("max_pt",)
    return last if where.levels[0].lower() == _NAMESPACES[table_format] and last in known else None


def _replacement(call: _Call, text: str, names: Names, engine: Engine[Any], tables: Sources) -> str:
    counts = {"max_pt": (1,), "bucket": (2,), "truncate": (2,), "paimon_incremental_to_auto_tag": (2,)}
    counts |= dict.fromkeys(map(str.lower, _CURRENT), (0,))
    counts |= dict.fromkeys(("paimon_incremental_query", "paimon_incremental_between_timestamp"), (3,))
    if len(call.arguments) not in counts.get(call.function, (1,)):
        [wanted] = counts.get(call.function, (1,))
        problem = f"{call.function} takes {wanted} argument{'' if wanted == 1 else 's'}, not {len(call.arguments)}"
        raise invalid(text, call.name.start, problem)
    if call.function.upper() in _CURRENT:
        return _current(call, text, names)
    if call.function == "truncate":
        return _truncated(call, text, engine, tables)
    if call.function in _TRANSFORMS:
        arguments = ", ".join(f"({one.text}\n)" for one in call.arguments)
        return f"{engine.transform_function(call.function)}({arguments})"
    values = [str(value) for value in engine.values([one.text for one in call.arguments])]
    if call.function == "max_pt":
        greatest = _greatest_partition(tables.source(_table_name(values[0], call, names)).table)
        return "CAST(NULL AS STRING)" if greatest is None else literal(greatest)
    table = ".".join(map(quoted, _table_name(values[0], call, names)))
    return f"{table} /*+ OPTIONS('{_INCREMENTAL[call.function]}' = {literal(','.join(values[1:]))}) */"


def _current(call: _Call, text: str, names: Names) -> str:
    assert names.current is not None  # noqa: S101 - the call was found because of it
    is_catalog = call.function == "current_catalog"
    value = literal(names.current.name if is_catalog else ".".join(map(quoted, names.namespace)))
    # A column of the result has the name of the call.
    return f"{value} AS `{call.function}()`" if _is_column(Lexed(text), call) else value


def _is_column(sql: Lexed, call: _Call) -> bool:
    """Return whether a call is a whole column, without an alias, in the list after SELECT."""
    found = sql.significant
    before = [token for token in found if token.end <= call.name.start]
    after = next((token for token in found if token.start >= call.end), None)
    ends = after is None or after.text in (",", ")", ";") or after.is_word("FROM")
    if not ends or not before or not (before[-1].is_word("SELECT", "DISTINCT", "ALL") or before[-1].text == ","):
        return False
    depth = 0
    for token in reversed(before):
        depth += (token.text == ")") - (token.text == "(")
        if depth < 0 or (depth == 0 and token.is_word("FROM", "WHERE", "BY", "HAVING", "ON", "VALUES")):
            return False
        if depth == 0 and token.is_word("SELECT"):
            return True
    return False


def _table_name(text: str, call: _Call, names: Names) -> tuple[str, ...]:
    """Return the parts of the name of a table, in the catalog of the function if it has none."""
    reader = Reader(text)
    parts = reader.name("the name of a table").parts
    reader.end()
    if len(call.name.parts) > 2 and parts[0] not in names.catalogs:  # noqa: PLR2004 - catalog, namespace, function
        return (call.name.parts[0], *parts)
    return parts


def _truncated(call: _Call, text: str, engine: Engine[Any], tables: Sources) -> str:
    width, value = (f"({one.text}\n)" for one in call.arguments)
    kind = _type_of(call.arguments[1], text, engine, tables)
    if kind is None:
        problem = f"the type of the argument of truncate is not known: {call.arguments[1].text}"
        raise unsupported(text, call.name.start, problem, "pass a column of a table or a constant")
    if kind in ("string", "binary"):
        return f"substring({value}, 1, {width})"
    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").rpartition(",")[2])
        unit = f"CAST({width} AS DECIMAL(38, 0)) * {'1' if scale == 0 else '0.' + '0' * (scale - 1) + '1'}BD"
        return f"CAST({value} - pmod({value}, {unit}) AS {kind})"
    return f"CAST({value} - pmod({value}, {width}) AS {kind})"


def _type_of(argument: Text, text: str, engine: Engine[Any], tables: Sources) -> str | None:
    """Return the type of a column of a table that the statement names, or of a constant."""
    reader = Reader(argument.text)
    first = reader.peek()
    if first is not None and first.is_name:
        column = reader.name("a column").parts[-1].lower()
        if not reader.at_end:
            return None
        for table in tables.named_in(_table_names(Lexed(text))):
            field = next((one for one in table.scan().schema() if one.name.lower() == column), None)
            if field is not None:
                return _type_name(field.type)
        return None
    try:
        [found] = engine.values([f"typeof({argument.text}\n)"])
    except FrazilError:
        raise
    except Exception:  # noqa: BLE001 - the engine cannot evaluate it without a table
        return None
    return str(found)


def _table_names(sql: Lexed) -> Iterator[tuple[str, ...]]:
    """Yield the names at places where the name of a table is expected."""
    reader = Reader(sql)
    while not reader.at_end:
        before, following = reader.take("a token"), reader.peek()
        if before.is_word(*_BEFORE_TABLE) and following is not None and following.is_name and following.text != "``":
            with contextlib.suppress(FrazilError):
                yield reader.name("the name of a table").parts


def _type_name(data_type: pa.DataType) -> str | None:
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if pa.types.is_fixed_size_binary(data_type):
        return "binary"
    return _TYPE_NAMES.get(data_type)


def _greatest_partition(table: Any) -> str | None:
    """Return the greatest value of the first partition column, as text; None if the table has no partitions.

    Raises:
        InvalidArgumentError: The table is not partitioned.
    """
    keys: Sequence[str] = getattr(table, "partition_keys", ())
    if not keys:
        message = "max_pt needs a partitioned table"
        raise InvalidArgumentError(message, context={"table": table.location})
    first, *others = keys
    default = table.options.get("partition.default-name", "__DEFAULT_PARTITION__")
    values: list[str] = []
    for text in table.inspect.partitions()["partition"].to_pylist():
        value = text.removeprefix(f"{first}=")
        if others:
            value = value.partition(f"/{others[0]}=")[0]
        values += [value] if value != default else []
    if not values:
        return None
    typed = pa.array(values).cast(table.scan(selected_fields=[first]).schema().field(first).type)
    return str(values[pc.index(typed, pc.max(typed)).as_py()])
