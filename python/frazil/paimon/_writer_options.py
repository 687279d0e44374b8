"""The writer options of a table's data files, derived from its options."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from frazil.files.write.leaves import FIELD_ID
from frazil.files.write.options import WriterOptions
from frazil.paimon._data_types import type_of_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil import _native

__all__ = ["type_name", "utc_offset_ms", "writer_options"]

_PARQUET_HINT = "set the option `file.format` to parquet"


def writer_options(rows: _native.PaimonRows | _native.PaimonCompaction) -> WriterOptions:
    """Return the writer options for the files of a write."""
    file = rows.file()
    return WriterOptions(
        format=file.format,
        target_file_bytes=file.target_file_bytes,
        codec=file.codec,
        level=file.level,
        row_group_bytes=file.row_group_bytes,
        # Java looks up decimals in a dictionary in their shortest byte form. Dictionaries contain 16 bytes per value,
        # so Java would not find any rows.
        fixed_dictionaries=False,
        int96_nanoseconds=True,
        type_name=type_name,
        parquet_hint=_PARQUET_HINT,
        # The ORC library supports two levels for its codecs: fastest and default.
        compression_strategy="speed" if file.level is None or file.level <= 1 else "compression",
        orc_attributes=_orc_attributes,
        avro_encoder=rows.avro_writer,
    )


def _orc_attributes(field: pa.Field) -> dict[str, str]:
    """Return the ORC attribute with the field id, in the form that Java stores."""
    return {"paimon.id": field.metadata[FIELD_ID].decode()}


def type_name(data_type: pa.DataType) -> str:
    """Return the Paimon name of a type."""
    return str(type_of_arrow(data_type))


def utc_offset_ms() -> int:
    """Return the current UTC offset of this machine in milliseconds; Java records local times in metadata."""
    return (time.localtime().tm_gmtoff or 0) * 1_000
