"""Conversion of the columns of a statement to Iceberg and Paimon schemas."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, NoReturn

from frazil.errors import UnsupportedError
from frazil.iceberg._schema import Schema
from frazil.paimon._data_types import parse_type
from frazil.paimon._schema import DataField
from frazil.paimon._schema import Schema as PaimonSchema
from frazil.sql._column_types import SESSION_TIMESTAMP, Array, Map, Multiset, Spatial, Struct
from frazil.sql._defaults import default_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.iceberg import NestedField
    from frazil.sql._column_types import Column, ColumnType

_ICEBERG = {
    "BIGINT": "long",
    "BINARY": "binary",
    "BOOLEAN": "boolean",
    "CHAR": "string",
    "DATE": "date",
    "DECIMAL": "decimal",
    "DOUBLE": "double",
    "FLOAT": "float",
    "INT": "int",
    "SMALLINT": "int",
    "STRING": "string",
    "TIME": "time",
    "TIMESTAMP_LTZ": "timestamptz",
    "TIMESTAMP_NTZ": "timestamp",
    "TINYINT": "int",
    "VARBINARY": "binary",
    "VARCHAR": "string",
    "VARIANT": "variant",
}
"""The types of the Iceberg connectors of Spark and Flink, by name. TIMESTAMP depends on `spark.sql.timestampType`."""

_NANOSECONDS = {"TIMESTAMP_LTZ": "timestamptz_ns", "TIMESTAMP_NTZ": "timestamp_ns"}
_MICROSECONDS = 6
"""The number of fractional digits of timestamps in Iceberg format version 2."""

_PAIMON = {
    "BINARY": "BYTES",
    "TIMESTAMP_LTZ": "TIMESTAMP({}) WITH LOCAL TIME ZONE",
    "TIMESTAMP_NTZ": "TIMESTAMP({})",
}
"""The types of Paimon's Spark connector, by Spark name. Types that are not listed have the same name in Paimon."""


def iceberg_schema(columns: Sequence[Column], *, timestamp_has_zone: bool) -> Schema:
    """Return the Iceberg schema of columns, with ids assigned level by level, as in the Java library.

    Raises:
        InvalidArgumentError: A default does not fit its type.
        UnsupportedError: Iceberg does not have a type.

    >>> from frazil.sql._column_types import Column, Primitive
    >>> both = (Column("a", Primitive("BIGINT")), Column("b", Primitive("STRING")))
    >>> columns = (Column("s", Struct(both)), Column("t", Primitive("TIMESTAMP")))
    >>> schema = iceberg_schema(columns, timestamp_has_zone=True)
    >>> print(schema.find_field("t"), "|", schema.find_field("s.a"))
    2: t: optional timestamptz | 3: a: optional long
    """
    ids = _Ids(_timestamp(timestamp_has_zone))
    return Schema.from_json({"type": "struct", "schema-id": 0, "fields": ids.columns(columns)})


def iceberg_type(found: ColumnType, *, timestamp_has_zone: bool) -> str:
    """Return an Iceberg type as a string or, if it is nested, as JSON.

    >>> from frazil.sql._column_types import Primitive
    >>> iceberg_type(Primitive("BIGINT"), timestamp_has_zone=True)
    'long'
    """
    made = _Ids(_timestamp(timestamp_has_zone)).type(found)
    return made if isinstance(made, str) else json.dumps(made)


def find_field(schema: Schema, parts: Sequence[str]) -> NestedField | None:
    """Return a field of an Iceberg schema by its path, case-insensitively; None if the schema does not have it."""
    fields, found = schema.fields, None
    for part in parts:
        found = next((one for one in fields if one.name.lower() == part.lower()), None)
        if found is None:
            return None
        fields = found.fields
    return found


def spark_type(iceberg: str) -> str:
    """Return the SQL type of a primitive Iceberg type; a UUID is a string in Spark.

    >>> spark_type("timestamptz"), spark_type("decimal(9, 2)"), spark_type("fixed[4]"), spark_type("timestamp_ns")
    ('TIMESTAMP_LTZ', 'DECIMAL(9,2)', 'BINARY(4)', 'TIMESTAMP_NTZ(9)')
    """
    if iceberg == "uuid":
        return "STRING"
    if iceberg.startswith("fixed["):
        return f"BINARY({iceberg.removeprefix('fixed[').removesuffix(']')})"
    nanoseconds = next((spark for spark, name in _NANOSECONDS.items() if name == iceberg), None)
    if nanoseconds is not None:
        return f"{nanoseconds}(9)"
    # Several Spark types map to int and to string; the widest is tried first.
    found = next((spark for spark in ("INT", "STRING", *_ICEBERG) if _ICEBERG[spark] == iceberg), None)
    if found is not None:
        return found
    name, parenthesis, parameters = iceberg.partition("(")
    return name.upper() + parenthesis + parameters.replace(", ", ",")


def paimon_schema(columns: Sequence[Column], *, timestamp_has_zone: bool) -> PaimonSchema:
    """Return the Paimon schema of columns, with their comments and defaults.

    Raises:
        UnsupportedError: Paimon does not have a type.

    >>> from frazil.sql._column_types import Column, Primitive
    >>> columns = [Column("t", Array(Primitive("TIMESTAMP")), required=True, comment="c")]
    >>> print(paimon_schema(columns, timestamp_has_zone=False))
    table {
      0: t: ARRAY<TIMESTAMP(6)> NOT NULL (c)
    }
    """
    timestamp = _timestamp(timestamp_has_zone)
    ids = itertools.count()
    fields = []
    for column in columns:
        field_id, text = next(ids), _paimon_type(column.type, timestamp) + _not_null(column.required)
        if column.has_binary_default:
            message = f"column `{column.name}`: X'…' as a default is not supported for Paimon tables"
            raise UnsupportedError(message, hint="use a string")
        data_type = parse_type(text, lambda: next(ids))
        fields.append(DataField(field_id, column.name, data_type, column.comment, column.default))
    return PaimonSchema(0, tuple(fields))


def paimon_type(found: ColumnType, *, timestamp_has_zone: bool) -> str:
    """Return a nullable type in Paimon's notation.

    Raises:
        UnsupportedError: Paimon does not have the type.

    >>> from frazil.sql._column_types import Primitive
    >>> paimon_type(Array(Primitive("TIMESTAMP")), timestamp_has_zone=True)
    'ARRAY<TIMESTAMP(6) WITH LOCAL TIME ZONE>'
    """
    return _paimon_type(found, _timestamp(timestamp_has_zone))


class _Ids:
    """The counter for field ids."""

    def __init__(self, timestamp: str) -> None:
        self._next = 1
        self._timestamp = timestamp

    def fields(self, columns: Sequence[Column]) -> list[dict[str, Any]]:
        taken = [self._take() for _ in columns]
        return [
            {"id": field_id, "name": column.name, "required": column.required, "type": self.type(column.type)}
            | ({} if column.comment is None else {"doc": column.comment})
            for field_id, column in zip(taken, columns, strict=True)
        ]

    def columns(self, columns: Sequence[Column]) -> list[dict[str, Any]]:
        """Return the fields of top-level columns, with their defaults."""
        found = self.fields(columns)
        for field, column in zip(found, columns, strict=True):
            if column.default is not None:
                found_type = field["type"] if isinstance(field["type"], str) else field["type"]["type"]
                value = default_json(column.name, column.default, found_type, is_binary=column.has_binary_default)
                field |= {"initial-default": value, "write-default": value}
        return found

    def type(self, found: ColumnType) -> Any:
        match found:
            case Struct(fields):
                return {"type": "struct", "fields": self.fields(fields)}
            case Array(element, required):
                taken = self._take()
                return {
                    "type": "list",
                    "element-id": taken,
                    "element": self.type(element),
                    "element-required": required,
                }
            case Map(key, value, _, required):
                key_id, value_id = self._take(), self._take()
                return {
                    "type": "map",
                    "key-id": key_id,
                    "key": self.type(key),
                    "value-id": value_id,
                    "value": self.type(value),
                    "value-required": required,
                }
            case Multiset():
                _refuse("Iceberg", "MULTISET", "use MAP with the number of each element")
            case Spatial(name, parameters):
                return name.lower() + (f"({parameters})" if parameters else "")
        return _iceberg_primitive(self._timestamp if found.name == SESSION_TIMESTAMP else found.name, found.numbers)

    def _take(self) -> int:
        self._next += 1
        return self._next - 1


def _iceberg_primitive(name: str, numbers: tuple[int, ...]) -> str:
    if name not in _ICEBERG:
        _refuse("Iceberg", name, f"the supported types are {', '.join(_ICEBERG)}, ARRAY, MAP, STRUCT")
    if name == "DECIMAL":
        return f"decimal({numbers[0]}, {numbers[1]})"
    if name == "BINARY" and numbers:
        return f"fixed[{numbers[0]}]"
    return _NANOSECONDS.get(name, _ICEBERG[name]) if numbers > (_MICROSECONDS,) else _ICEBERG[name]


def _paimon_type(found: ColumnType, timestamp: str) -> str:
    match found:
        case Struct(fields):
            return f"ROW<{', '.join(_paimon_field(part, timestamp) for part in fields)}>"
        case Array(element, required):
            return f"ARRAY<{_paimon_type(element, timestamp)}{_not_null(required)}>"
        case Multiset(element, required):
            return f"MULTISET<{_paimon_type(element, timestamp)}{_not_null(required)}>"
        case Map(key, value, key_required, required):
            key_text = _paimon_type(key, timestamp) + _not_null(key_required)
            return f"MAP<{key_text}, {_paimon_type(value, timestamp)}{_not_null(required)}>"
        case Spatial(name, _):
            _refuse("Paimon", name, "use BYTES")
    return _paimon_primitive(timestamp if found.name == SESSION_TIMESTAMP else found.name, found.numbers)


def _paimon_field(part: Column, timestamp: str) -> str:
    name = part.name.replace("`", "``")
    comment = "" if part.comment is None else " COMMENT '{}'".format(part.comment.replace("'", "''"))
    return f"`{name}` {_paimon_type(part.type, timestamp)}{_not_null(part.required)}{comment}"


def _paimon_primitive(name: str, numbers: tuple[int, ...]) -> str:
    if name.startswith("TIMESTAMP_"):
        return _PAIMON[name].format(*(numbers or (_MICROSECONDS,)))
    return f"{name}({', '.join(map(str, numbers))})" if numbers else _PAIMON.get(name, name)


def _refuse(table_format: str, name: str, hint: str) -> NoReturn:
    message = f"{table_format} does not have the type {name}"
    raise UnsupportedError(message, hint=hint)


def _timestamp(has_zone: bool) -> str:  # noqa: FBT001 - one of two names
    return "TIMESTAMP_LTZ" if has_zone else "TIMESTAMP_NTZ"


def _not_null(required: bool) -> str:  # noqa: FBT001 - the name says it
    return " NOT NULL" if required else ""
