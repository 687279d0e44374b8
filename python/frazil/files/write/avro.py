"""Avro data files, encoded by the native writer of the table format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.errors import InternalError

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.files.write.options import AvroEncoder, WriterOptions, WrittenColumns

__all__ = ["AvroFormat"]

_LEVELS = {"deflate", "zstandard"}


class AvroFormat:
    """The Avro format of the files in one write."""

    name = "AVRO"
    extension = "avro"
    group_bytes = 4 << 20

    def __init__(self, options: WriterOptions) -> None:
        """Check that the columns of the table can be encoded."""
        if options.avro_encoder is None:
            message = "an Avro write has no encoder"
            raise InternalError(message)
        self._encoder = options.avro_encoder
        self._codec = options.codec
        self._level = options.level if options.codec in _LEVELS else None
        # Unsupported columns are rejected before a file is created.
        self._new_writer()

    def open(self, sink: Any, first: pa.Table) -> _AvroWriter:
        """Start a file."""
        del first
        return _AvroWriter(sink, self._new_writer())

    def _new_writer(self) -> AvroEncoder:
        return self._encoder(self._codec, self._level)


class _AvroWriter:
    def __init__(self, sink: Any, writer: AvroEncoder) -> None:
        self._sink, self._writer = sink, writer

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._sink.write(self._writer.write(batch))

    def close(self) -> WrittenColumns:
        self._sink.write(self._writer.finish())
        return {}, None
