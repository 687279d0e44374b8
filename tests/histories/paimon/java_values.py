"""Types and values of Paimon (Java), for the process with the virtual machine."""

from __future__ import annotations

import datetime as dt
import math
from functools import cache
from typing import TYPE_CHECKING, Any

import jpype

if TYPE_CHECKING:
    from collections.abc import Callable

    from histories.paimon.history import Type

_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000
_NINE_DIGITS = 6
"""The number of digits above which timestamps are written with nine digits."""
_EPOCH = dt.date(1970, 1, 1)


@cache
def java(name: str) -> Any:
    """Return a Java class by name; `paimon.` is short for the package of Paimon."""
    return jpype.JClass(f"org.apache.{name}" if name.startswith("paimon.") else name)


# Types


def java_type(kind: Type, next_id: Callable[[], int]) -> Any:
    """Return the type in Java; `next_id` numbers the fields of rows."""
    parts = [java_type(part, next_id) for part in kind.parts]
    if kind.root == "ROW":
        field = java("paimon.types.DataField")
        fields = [field(next_id(), name, part) for name, part in zip(kind.names, parts, strict=True)]
        return java("paimon.types.RowType")(kind.nullable, java("java.util.ArrayList")(fields))
    if parts:
        return java(f"paimon.types.{kind.root.title()}Type")(kind.nullable, *parts)
    return java("paimon.types.DataTypeJsonParser").parseAtomicTypeSQLString(str(kind))


# Values for Java


def to_java(value: Any, kind: Any) -> Any:
    """Return the Java object for a plain value.

    Raises:
        TypeError: The value is not of this type.
    """
    if value is None:
        return None
    root = str(kind.getTypeRoot().name())
    if root in _ATOMS:
        return _ATOMS[root](value, kind)
    if root == "ARRAY":
        return java("paimon.data.GenericArray")(_objects([to_java(part, kind.getElementType()) for part in value]))
    if root in ("MAP", "MULTISET"):
        return _map_to_java(value, kind, root)
    if root == "ROW":
        row = java("paimon.data.GenericRow")(len(value))
        for position, part in enumerate(value):
            row.setField(position, to_java(part, kind.getTypeAt(position)))
        return row
    raise TypeError(f"values of {root} are not made")


def _map_to_java(value: Any, kind: Any, root: str) -> Any:
    key_type = kind.getKeyType() if root == "MAP" else kind.getElementType()
    entries = java("java.util.LinkedHashMap")()
    for key, item in value:
        boxed = to_java(item, kind.getValueType()) if root == "MAP" else java("java.lang.Integer")(item)
        entries.put(to_java(key, key_type), boxed)
    return java("paimon.data.GenericMap")(entries)


def _objects(values: list[Any]) -> Any:
    return jpype.JArray(jpype.JObject)(values)


def _decimal(value: Any, kind: Any) -> Any:
    number = java("java.math.BigDecimal")(str(value)).setScale(kind.getScale())
    return java("paimon.data.Decimal").fromBigDecimal(number, kind.getPrecision(), kind.getScale())


def _timestamp(value: Any, _kind: Any) -> Any:
    return java("paimon.data.Timestamp").fromLocalDateTime(java("java.time.LocalDateTime").parse(value))


def _days(value: Any, _kind: Any) -> Any:
    return java("java.lang.Integer")(int(java("java.time.LocalDate").parse(value).toEpochDay()))


def _millis(value: Any, _kind: Any) -> Any:
    return java("java.lang.Integer")(int(java("java.time.LocalTime").parse(value).toNanoOfDay()) // _NS_PER_MS)


def _boxed(name: str) -> Callable[[Any, Any], Any]:
    def box(value: Any, _kind: Any) -> Any:
        return java(f"java.lang.{name}")(value)

    return box


def _string(value: Any, _kind: Any) -> Any:
    return java("paimon.data.BinaryString").fromString(value)


def _bytes(value: Any, _kind: Any) -> Any:
    return jpype.JArray(jpype.JByte)(value)


def _variant(value: Any, _kind: Any) -> Any:
    return java("paimon.data.variant.GenericVariant").fromJson(value)


_ATOMS: dict[str, Callable[[Any, Any], Any]] = {
    "BOOLEAN": _boxed("Boolean"),
    "TINYINT": _boxed("Byte"),
    "SMALLINT": _boxed("Short"),
    "INTEGER": _boxed("Integer"),
    "BIGINT": _boxed("Long"),
    "FLOAT": _boxed("Float"),
    "DOUBLE": _boxed("Double"),
    "DECIMAL": _decimal,
    "CHAR": _string,
    "VARCHAR": _string,
    "BINARY": _bytes,
    "VARBINARY": _bytes,
    "DATE": _days,
    "TIME_WITHOUT_TIME_ZONE": _millis,
    "TIMESTAMP_WITHOUT_TIME_ZONE": _timestamp,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": _timestamp,
    "VARIANT": _variant,
}


# Values from Java, in the canonical form of `support.canonical`


def reader(kind: Any) -> Callable[[Any, int], Any]:
    """Return a function that reads the value at a position of a row or an array."""
    read = _reader(kind)
    return lambda data, position: None if data.isNullAt(position) else read(data, position)


def _reader(kind: Any) -> Callable[[Any, int], Any]:
    root = str(kind.getTypeRoot().name())
    if root in _PLAIN:
        return _PLAIN[root]
    if root == "DECIMAL":
        precision, scale = kind.getPrecision(), kind.getScale()
        return lambda data, at: _decimal(data.getDecimal(at, precision, scale))
    if root.startswith("TIMESTAMP"):
        digits = kind.getPrecision()
        zone = "+00:00" if root.endswith("LOCAL_TIME_ZONE") else ""
        return lambda data, at: _moment(data.getTimestamp(at, digits), nine=digits > _NINE_DIGITS) + zone
    if root == "ARRAY":
        element = reader(kind.getElementType())
        return lambda data, at: _array(data.getArray(at), element)
    if root in ("MAP", "MULTISET"):
        key = reader(kind.getKeyType() if root == "MAP" else kind.getElementType())
        item = reader(kind.getValueType() if root == "MAP" else java("paimon.types.IntType")())
        return lambda data, at: _pairs(data.getMap(at), key, item)
    if root == "ROW":
        width = kind.getFieldCount()
        row = row_reader(kind)
        return lambda data, at: row(data.getRow(at, width))
    raise TypeError(f"values of {root} are not read")


def row_reader(kind: Any) -> Callable[[Any], dict[str, Any]]:
    """Return a function that reads a row."""
    columns = [(str(field.name()), reader(field.type())) for field in kind.getFields()]
    return lambda row: {name: read(row, position) for position, (name, read) in enumerate(columns)}


def _array(array: Any, element: Callable[[Any, int], Any]) -> list[Any]:
    return [element(array, position) for position in range(array.size())]


def _pairs(found: Any, key: Callable[[Any, int], Any], item: Callable[[Any, int], Any]) -> list[Any]:
    keys, items = found.keyArray(), found.valueArray()
    return [[key(keys, position), item(items, position)] for position in range(found.size())]


def _float(value: float) -> str:
    return "NaN" if math.isnan(value) else repr(float(value))


def _moment(value: Any, *, nine: bool) -> str:
    seconds, millis = divmod(int(value.getMillisecond()), 1000)
    rest = millis * _NS_PER_MS + int(value.getNanoOfMillisecond())
    fraction = f".{rest:09d}" if nine or rest % 1000 else f".{rest // 1000:06d}" if rest else ""
    # Java's own string omits seconds that are zero.
    days, of_day = divmod(seconds, 86_400)
    clock = f"{of_day // 3600:02d}:{of_day // 60 % 60:02d}:{of_day % 60:02d}"
    return f"{_date(days)}T{clock}{fraction}"


def _date(days: int) -> str:
    try:
        return (_EPOCH + dt.timedelta(days=days)).isoformat()
    except OverflowError:
        return str(java("java.time.LocalDate").ofEpochDay(days))


def _decimal(value: Any) -> str | None:
    # A double that overflowed the decimal type of its changed column: Java reports it as not NULL, but returns NULL.
    return None if value is None else f"d:{value.toBigDecimal().toPlainString()}"


def _time(millis: int) -> str:
    seconds, rest = divmod(millis, 1000)
    clock = dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1000)
    return clock.isoformat()


_PLAIN: dict[str, Callable[[Any, int], Any]] = {
    "BOOLEAN": lambda data, at: bool(data.getBoolean(at)),
    "TINYINT": lambda data, at: int(data.getByte(at)),
    "SMALLINT": lambda data, at: int(data.getShort(at)),
    "INTEGER": lambda data, at: int(data.getInt(at)),
    "BIGINT": lambda data, at: int(data.getLong(at)),
    "FLOAT": lambda data, at: _float(data.getFloat(at)),
    "DOUBLE": lambda data, at: _float(data.getDouble(at)),
    "CHAR": lambda data, at: str(data.getString(at).toString()),
    "VARCHAR": lambda data, at: str(data.getString(at).toString()),
    "BINARY": lambda data, at: "x:" + bytes(data.getBinary(at)).hex(),
    "VARBINARY": lambda data, at: "x:" + bytes(data.getBinary(at)).hex(),
    "DATE": lambda data, at: _date(int(data.getInt(at))),
    "TIME_WITHOUT_TIME_ZONE": lambda data, at: _time(int(data.getInt(at))),
    "VARIANT": lambda data, at: {"variant_json": str(data.getVariant(at).toJson())},
}
