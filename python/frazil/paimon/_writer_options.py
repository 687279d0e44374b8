"""How the data files of a table are written, from its options."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa

from frazil.files.write.leaves import FIELD_ID, leaves
from frazil.files.write.options import WriterOptions
from frazil.paimon._types import type_of_arrow

if TYPE_CHECKING:
    from frazil import _native

__all__ = ["type_name", "utc_offset_ms", "writer_options"]

_PARQUET_HINT = "set the option `file.format` to parquet"


def writer_options(rows: _native.PaimonRows | _native.PaimonCompaction) -> WriterOptions:
    """Return how the files of a write are written."""
    file = rows.file()
    return WriterOptions(
        format=file.format,
        target_file_bytes=file.target_file_bytes,
        codec=file.codec,
        level=file.level,
        row_group_bytes=file.row_group_bytes,
        # Java looks up the shortest bytes of a decimal in dictionaries, which hold 16 bytes: it would find no rows.
        fixed_dictionaries=False,
        int96_nanoseconds=True,
        # Parquet leaves NaN out of bounds, but Java's readers count it as the greatest value: they would skip it.
        without_statistics=frozenset(leaf.path for leaf in leaves(rows.schema()) if pa.types.is_floating(leaf.type)),
        type_name=type_name,
        parquet_hint=_PARQUET_HINT,
        # The ORC library has two levels of its codecs: the fastest, and their default.
        compression_strategy="speed" if file.level is None or file.level <= 1 else "compression",
        orc_attributes=_orc_attributes,
        avro_encoder=rows.avro_writer,
    )


def _orc_attributes(field: pa.Field) -> dict[str, str]:
    """Return the id of a field, as Java stores it."""
    return {"paimon.id": field.metadata[FIELD_ID].decode()}


def type_name(data_type: pa.DataType) -> str:
    """Return what Paimon calls a type."""
    return str(type_of_arrow(data_type))


def utc_offset_ms() -> int:
    """Return how many milliseconds the clock of this machine is ahead of UTC: Java records local times."""
    return (time.localtime().tm_gmtoff or 0) * 1_000
