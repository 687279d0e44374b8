"""Checks of column defaults, which Paimon stores as strings."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

from frazil import _native
from frazil._arguments import table_files
from frazil.errors import InvalidArgumentError
from frazil.paimon._schema import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.paimon._schema import DataField


def check_defaults(fields: Sequence[DataField], location: str) -> None:
    """Check that the defaults of columns are values of the types of the columns.

    Raises:
        InvalidArgumentError: A default is not a value of the type.
        UnsupportedError: Columns of the type cannot have a default.
    """
    given = [
        replace(field, data_type=replace(field.data_type, nullable=True))
        for field in fields
        if field.default_value is not None
    ]
    if not given:
        return
    import pyarrow as pa

    definition = {**Schema(0, tuple(given)).to_json(), "options": {}}
    with tempfile.TemporaryDirectory(prefix="frazil-") as scratch:
        table = _native.paimon_create(table_files(scratch, {}, {}), f"{scratch}/t", json.dumps(definition))
        # The writer parses the defaults when it is created, and replaces NULL with them.
        rows = _native.PaimonRows(table, memory_bytes=1 << 20, utc_offset_ms=0, overwrites=False, name=None)
        schema = rows.input_schema()
        [(_, found)] = rows.split(pa.record_batch([pa.nulls(1, field.type) for field in schema], schema=schema))
    for field in given:
        if found.column(field.name).null_count:
            message = f"column {field.name!r}: the default {field.default_value!r} does not fit {field.data_type}"
            raise InvalidArgumentError(message, context={"table": location, "column": field.name})
