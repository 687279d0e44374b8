"""The Iceberg names of Arrow types, for messages."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["type_name"]

_NAMES = {
    pa.bool_().id: "boolean",
    pa.int32().id: "int",
    pa.int64().id: "long",
    pa.date32().id: "date",
    pa.time64("us").id: "time",
    pa.null().id: "unknown",
}


def type_name(data_type: pa.DataType) -> str:
    """Return the Iceberg name of a type."""
    types = pa.types
    if isinstance(data_type, pa.UuidType):
        return "uuid"
    if types.is_timestamp(data_type):
        suffix = "_ns" if data_type.unit == "ns" else ""
        return ("timestamp" if data_type.tz is None else "timestamptz") + suffix
    if types.is_decimal(data_type):
        return f"decimal({data_type.precision}, {data_type.scale})"
    if types.is_fixed_size_binary(data_type):
        return f"fixed[{data_type.byte_width}]"
    return _NAMES.get(data_type.id, str(data_type))
