"""Parsing of user-provided partition specs and sort orders for new tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from frazil._arguments import field_names
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from frazil.iceberg._schema import Schema

_SORT_KEY = re.compile(r"(.+?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.IGNORECASE | re.DOTALL)


def partition_terms(fields: Any, schema: Schema, name: str) -> list[tuple[str, str | None]]:
    """Return partition fields as strings such as `bucket(16, id)`, each with its explicit name if it has one.

    Args:
        fields: A sequence of strings such as `bucket(16, id)`, or a frazil or PyIceberg partition spec; None for no
            fields.
        schema: The schema that the spec refers to.
        name: The name of the argument.
    """
    given = getattr(fields, "fields", None)
    if given is None:
        return [(term, None) for term in field_names(() if fields is None else fields, name)]
    return [(_call(str(field.transform), _source(field, schema)), str(field.name)) for field in given]


def sort_terms(order: Any, schema: Schema) -> list[dict[str, Any]]:
    """Return sort keys in the wire form of a sort order change.

    Args:
        order: A sequence of strings such as `bucket(16, id) desc nulls first`, or a frazil or PyIceberg sort order;
            None for no order.
        schema: The schema that the order refers to.
    """
    given = getattr(order, "fields", None)
    if given is not None:
        return [_sort_term(field, schema) for field in given]
    return [_parsed(key) for key in field_names(() if order is None else order, "sort_order")]


def _parsed(key: str) -> dict[str, Any]:
    found = _SORT_KEY.fullmatch(key.strip())
    if found is None:
        message = "sort_order contains an empty key"
        raise InvalidArgumentError(message)
    descending = (found[2] or "asc").lower() == "desc"
    nulls_first = found[3].lower() == "first" if found[3] else not descending
    return {"term": {"transform": found[1]}, "descending": descending, "nulls_first": nulls_first}


def _sort_term(field: Any, schema: Schema) -> dict[str, Any]:
    return {
        "term": {"column": _source(field, schema), "transform": str(field.transform)},
        "descending": _value(field.direction) == "desc",
        "nulls_first": _value(field.null_order) == "nulls-first",
    }


def _call(transform: str, column: str) -> str:
    """Return a term: `bucket[16]` of `id` is `bucket(16, "id")`."""
    name, _, parameter = transform.removesuffix("]").partition("[")
    quoted = '"' + column.replace('"', '""') + '"'
    if name == "identity":
        return quoted
    return f"{name}({parameter}, {quoted})" if parameter else f"{name}({quoted})"


def _source(field: Any, schema: Schema) -> str:
    """Return the name of the source column of a field in a spec or an order."""
    ids = getattr(field, "source_ids", None) or (field.source_id,)
    [source_id, *more] = ids
    name = schema.find_column_name(source_id)
    if name is None or more:
        message = f"no single column in the schema has the source ids {[source_id, *more]}"
        raise InvalidArgumentError(message)
    return name


def _value(choice: Any) -> str:
    """Return the string value of an enumeration member, or the string itself."""
    return str(getattr(choice, "value", choice)).lower()
