"""The leaf columns of a data file, with their names in tables and in Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FIELD_ID", "Leaf", "is_variant", "leaves", "stored_schema"]

FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column. A variant has two leaf columns with the same id and name."""

    field_id: int
    name: str
    """The name, including the names of the enclosing fields: `a.b`, `list.element`, `map.value`."""
    path: str
    """The path in Parquet: `list.list.element`, `map.key_value.value`."""
    type: pa.DataType


def leaves(schema: pa.Schema) -> list[Leaf]:
    """Return the leaf columns of a schema with field ids, in the order in which Parquet stores them."""
    return [leaf for field in schema for leaf in _leaves(field, field.name, field.name)]


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns that a Parquet file stores, without null-type columns unless there are no others."""
    kept = [field for field in schema if not pa.types.is_null(field.type)]
    return pa.schema(kept) if kept else schema


def is_variant(field: pa.Field) -> bool:
    """Return whether the struct is a variant."""
    return (field.metadata or {}).get(b"ARROW:extension:name") == b"arrow.parquet.variant"


def _leaves(field: pa.Field, name: str, path: str) -> Iterator[Leaf]:
    data_type = field.type
    if is_variant(field):
        field_id = int(field.metadata[FIELD_ID])
        for part in data_type:
            yield Leaf(field_id, name, f"{path}.{part.name}", part.type)
    elif pa.types.is_struct(data_type):
        for part in data_type:
            yield from _leaves(part, f"{name}.{part.name}", f"{path}.{part.name}")
    elif pa.types.is_map(data_type):
        yield from _leaves(data_type.key_field, f"{name}.key", f"{path}.key_value.key")
        yield from _leaves(data_type.item_field, f"{name}.value", f"{path}.key_value.value")
    elif pa.types.is_list(data_type):
        yield from _leaves(data_type.value_field, f"{name}.element", f"{path}.list.element")
    else:
        yield Leaf(int(field.metadata[FIELD_ID]), name, path, data_type)
