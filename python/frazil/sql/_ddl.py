"""Columns and properties as text in the form of CREATE TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.catalog._properties import is_secret, masked
from frazil.sql._defaults import default_literal
from frazil.sql._reader import REDACTED, literal, quoted
from frazil.sql._table_schemas import spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from frazil.iceberg import NestedField
    from frazil.paimon._schema import DataField


def iceberg_columns(fields: Iterable[NestedField], *, timestamp_has_zone: bool, separator: str = " ") -> list[str]:
    """Return Iceberg columns in Spark syntax, or the fields of a struct if the separator is `: `.

    SQL has no syntax for defaults of struct fields, so they are omitted.

    >>> from frazil.iceberg import NestedField
    >>> field = NestedField(1, "a b", "timestamptz", required=True, doc="when")
    >>> iceberg_columns([field], timestamp_has_zone=True)
    ["`a b` TIMESTAMP NOT NULL COMMENT 'when'"]
    """
    return [
        quoted(field.name)
        + separator
        + _iceberg_type(field, timestamp_has_zone=timestamp_has_zone)
        + (" NOT NULL" if field.required else "")
        + ("" if field.write_default is None or separator != " " else f" DEFAULT {_default(field)}")
        + ("" if field.doc is None else f" COMMENT {literal(field.doc)}")
        for field in fields
    ]


def paimon_columns(fields: Iterable[DataField]) -> list[str]:
    """Return Paimon columns in the syntax of Flink and Paimon."""
    return [
        f"{quoted(field.name)} {field.type}"
        + ("" if field.default_value is None else f" DEFAULT {literal(field.default_value)}")
        + ("" if field.description is None else f" COMMENT {literal(field.description)}")
        for field in fields
    ]


def shown(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties sorted by name, with secrets masked.

    >>> shown({"b": "s3://me:x@host", "a.token": "x"})
    {'a.token': '*********(redacted)', 'b': 's3://***@host'}
    """
    return {key: REDACTED if is_secret(key) else masked(value) for key, value in sorted(properties.items())}


def _default(field: NestedField) -> str:
    return default_literal(field.write_default, field.type)


def _iceberg_type(field: NestedField, *, timestamp_has_zone: bool) -> str:
    inner = [_iceberg_type(one, timestamp_has_zone=timestamp_has_zone) for one in field.fields]
    if field.type.startswith("struct<"):
        fields = iceberg_columns(field.fields, timestamp_has_zone=timestamp_has_zone, separator=": ")
        return f"STRUCT<{', '.join(fields)}>"
    if inner:
        return f"{'ARRAY' if len(inner) == 1 else 'MAP'}<{', '.join(inner)}>"
    name = spark_type(field.type)
    return "TIMESTAMP" if timestamp_has_zone and name == "TIMESTAMP_LTZ" else name
