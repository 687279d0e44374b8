"""Read-only tables in Spark's own catalog: `CREATE TABLE … USING frazil`.

Spark passes the table options to a Python data source only when the table is created; a query passes only the schema.
The options are therefore stored in the metadata of the columns, which the catalog stores and every read receives. A
write receives the schema of its rows, whose columns may come from another table, so it cannot identify its target.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from frazil.catalog._properties import is_secret, masked
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

_KEY = "frazil.options"
_PREFIX = "option."
# Options that Spark adds to describe the table.
_OF_SPARK = frozenset(
    {"collation", "comment", "external", "is_managed_location", "location", "owner", "provider", "table_type"}
)


def options_of(options: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """Return the options of the source, and whether Spark creates a table with them.

    Raises:
        InvalidArgumentError: An option is a secret, which the catalog would show.
    """
    if "provider" not in {name.lower() for name in options}:
        return dict(options), False
    given = {name: value for name, value in options.items() if name.lower() not in _OF_SPARK}
    # Spark passes `OPTIONS` once with this prefix and once without.
    given = {name: value for name, value in given.items() if not name.lower().startswith(_PREFIX)}
    secret = next((name for name, value in given.items() if is_secret(name) or masked(value) != value), None)
    if secret is not None:
        message = f"option `{secret}` may be a secret, and Spark's catalog shows the options of its tables"
        raise InvalidArgumentError(message, hint="set credentials in the environment of driver and executors")
    if "path" not in {name.lower() for name in given}:
        message = "a table in Spark's catalog must refer to an existing table, but no path is given"
        hint = (
            "use CREATE TABLE … USING frazil LOCATION '…', without columns; create new tables with "
            "`frazil.create_table`"
        )
        raise InvalidArgumentError(message, hint=hint)
    return given, True


def keep(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Return the schema with the options stored in it."""
    from pyspark.sql.types import StructField, StructType

    text = json.dumps(dict(options), sort_keys=True)
    return StructType(
        [StructField(field.name, field.dataType, field.nullable, field.metadata | {_KEY: text}) for field in schema]
    )


def kept(schema: StructType) -> dict[str, str]:
    """Return the options stored in a schema; empty if its columns do not all come from one catalog table."""
    texts = {field.metadata.get(_KEY) for field in schema}
    text = texts.pop() if len(texts) == 1 else None
    return {} if text is None else dict(json.loads(text))
