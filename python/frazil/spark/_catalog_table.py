"""Tables of Spark's own catalog: `CREATE TABLE … USING frazil`, to be read.

Spark gives a data source of Python the options of a table when the table is made, and never again: a query of it hands
over the schema alone. So the columns keep the options in their metadata, which the catalog stores and each read has. A
write has the schema of its rows, whose columns may be those of another table: it cannot know its own from it.
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
# What Spark says of the table itself.
_OF_SPARK = frozenset(
    {"collation", "comment", "external", "is_managed_location", "location", "owner", "provider", "table_type"}
)


def options_of(options: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """Give the options of the source, and whether Spark makes a table with them.

    Raises:
        InvalidArgumentError: A secret, which the catalog would show.
    """
    if "provider" not in {name.lower() for name in options}:
        return dict(options), False
    given = {name: value for name, value in options.items() if name.lower() not in _OF_SPARK}
    # Spark gives `OPTIONS` once with this prefix and once without.
    given = {name: value for name, value in given.items() if not name.lower().startswith(_PREFIX)}
    secret = next((name for name, value in given.items() if is_secret(name) or masked(value) != value), None)
    if secret is not None:
        message = f"option `{secret}` may be a secret, and Spark's catalog shows what its tables are made with"
        raise InvalidArgumentError(message, hint="leave credentials to the environment of driver and executors")
    if "path" not in {name.lower() for name in given}:
        message = "a table of Spark's catalog is one that there is already, and it is not named"
        hint = "write CREATE TABLE … USING frazil LOCATION '…', without columns; `frazil.create_table` makes new tables"
        raise InvalidArgumentError(message, hint=hint)
    return given, True


def keep(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Give the schema with the options in it."""
    from pyspark.sql.types import StructField, StructType

    text = json.dumps(dict(options), sort_keys=True)
    return StructType(
        [StructField(field.name, field.dataType, field.nullable, field.metadata | {_KEY: text}) for field in schema]
    )


def kept(schema: StructType) -> dict[str, str]:
    """Give the options that a schema has; none where its columns are not all of one table of the catalog."""
    texts = {field.metadata.get(_KEY) for field in schema}
    text = texts.pop() if len(texts) == 1 else None
    return {} if text is None else dict(json.loads(text))
