"""The conditions of procedures, which are texts in Spark SQL, as filters of frazil."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.sql._lexer import tokens
from frazil.sql._moments import Moments
from frazil.sql._narrow import filters_of_conjuncts
from frazil.sql._reader import literal

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.sql._procedure_types import Context

__all__ = ["file_filter"]

_FUNCTIONS = "system"
"""The namespace of the functions of a catalog, which compute partition values."""


def file_filter(text: str, schema: pa.Schema, context: Context) -> str:
    """Return a filter that selects all files with rows that match a condition, and perhaps others.

    Names are case-insensitive, unless the session is case-sensitive, and double quotes contain a text, as in Spark SQL.
    Comparisons of functions of the catalog, such as `cat.system.bucket(2, s) < 2`, select all files.
    A condition that is not supported is returned as it is.
    """
    engine = context.engine
    moments = Moments(engine.values, timestamp_has_zone=engine.timestamp_has_zone())
    spark = "".join(literal(one.value) if one.text[0] == '"' else one.text for one in tokens(text))
    found = filters_of_conjuncts(schema, spark, moments, case_sensitive=engine.is_case_sensitive())
    if not found or any(one is None and not _calls_catalog(node, schema) for node, one in found):
        return text
    return " and ".join(one for _, one in found if one is not None) or "true"


def _calls_catalog(node: Any, schema: pa.Schema) -> bool:
    """Return whether a condition calls a function of a catalog, and contains only columns of the table."""
    names = {name.lower() for name in schema.names}
    found = list(node.walk())
    are_known = all(one.name.lower() in names for one in found if type(one).__name__ == "Column")
    return are_known and any(
        type(one).__name__ == "Dot" and one.this.name.lower() == _FUNCTIONS and one.expression.args.get("expressions")
        for one in found
    )
