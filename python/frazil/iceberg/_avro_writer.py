"""Avro data files (`write.avro.*`), encoded by the native writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _native

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.iceberg._file_format import Properties, WrittenColumns

__all__ = ["AvroFormat"]

_CODECS = {"uncompressed": "null", "gzip": "deflate", "snappy": "snappy", "zstd": "zstandard"}
_LEVELS = {"deflate", "zstandard"}


class AvroFormat:
    """How Avro files are written."""

    name = "AVRO"
    extension = "avro"
    group_bytes = 4 << 20

    def __init__(self, rows: _native.RowWriter, properties: Properties) -> None:
        """As the properties of a table say."""
        self._rows = rows
        self._codec = properties.codec("write.avro.compression-codec", _CODECS)
        level = properties.level("write.avro.compression-level")
        self._level = level if self._codec in _LEVELS else None
        # What cannot be written is refused before there is a file.
        self._new_writer()

    def open(self, sink: Any, first: pa.Table) -> _AvroWriter:
        """Begin a file."""
        del first
        return _AvroWriter(sink, self._new_writer())

    def _new_writer(self) -> _native.AvroWriter:
        return _native.AvroWriter(self._rows, self._codec, self._level)


class _AvroWriter:
    def __init__(self, sink: Any, writer: _native.AvroWriter) -> None:
        self._sink, self._writer = sink, writer

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._sink.write(self._writer.write(batch))

    def close(self) -> WrittenColumns:
        self._sink.write(self._writer.finish())
        return {}, None
