"""What the writers of Parquet, ORC and Avro files have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from frazil import _native
from frazil.errors import InternalError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa


__all__ = ["FileFormat", "FormatWriter", "Properties", "WrittenColumns", "file_format"]

WrittenColumns = tuple[dict[int, int], list[int] | None]
"""The bytes of each column by field id, as far as they are known, and where the file can be split."""


class FormatWriter(Protocol):
    """A file in the making."""

    def write(self, rows: pa.Table) -> None:
        """Write rows, as a row group where the format has them."""

    def close(self) -> WrittenColumns:
        """End the file."""


class FileFormat(Protocol):
    """How the files of one write are written."""

    name: str
    """As manifests have it."""
    extension: str
    group_bytes: int
    """So many bytes of rows are worth to be written at once."""

    def open(self, sink: Any, first: pa.Table) -> FormatWriter:
        """Begin a file; `first` are rows that will be in it."""


class Properties:
    """The properties of a table: checked, and with the defaults of `_native.table_properties`.

    >>> properties = Properties({"write.parquet.page-row-limit": "10"})
    >>> properties.number("write.parquet.page-row-limit"), properties.number("write.parquet.page-size-bytes")
    (10, 1048576)
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Read the properties of a table."""
        self._properties = properties

    def value(self, key: str) -> str | None:
        """Return the value of a known property, or its default.

        Raises:
            InvalidArgumentError: The property does not take the value.
        """
        known, text = _known(key), self._properties.get(key)
        if text is None:
            return known.default
        known.check(text)
        return text

    def name(self, key: str) -> str:
        """Return a name in lower case, which the caller checks; empty if it is not set and has no default."""
        return (self._properties.get(key) or _known(key).default or "").lower()

    def number(self, key: str) -> int:
        """Return a whole number; 0 if the property is not set and has no default."""
        return int(self.value(key) or 0)

    def fraction(self, key: str) -> float:
        """Return a number between 0 and 1."""
        return float(self.value(key) or 0)

    def level(self, key: str) -> int | None:
        """Return the level of a codec, or None if it is not set."""
        return self.number(key) if key in self._properties else None

    def codec(self, key: str, known: Mapping[str, str]) -> str:
        """Return the name by which a writer knows the codec of a table.

        Raises:
            UnsupportedError: The codec is not among `known`.
        """
        name = self.name(key)
        codec = known.get(name)
        if codec is None:
            message = f"the codec {name!r} of {key} is not written"
            raise UnsupportedError(message, context={"property": key}, hint=f"set it to one of {', '.join(known)}")
        return codec

    def by_column(self, prefix: str) -> dict[str, str]:
        """Return the values of a property of columns, by the name of the column."""
        return {key[len(prefix) :]: value for key, value in self._properties.items() if key.startswith(prefix)}


def _known(key: str) -> _native.TableProperty:
    known = _native.table_property(key)
    if known is None:
        message = f"unknown table property {key!r}"
        raise InternalError(message)
    return known


def file_format(rows: _native.RowWriter, properties: Mapping[str, str], name: str | None = None) -> FileFormat:
    """Return the format of data files: `name`, or that of the table (`write.format.default`)."""
    checked = Properties(properties)
    name = (name or checked.name("write.format.default")).lower()
    rows.check_format(name)
    if name == "parquet":
        from frazil.iceberg._parquet_writer import ParquetFormat

        return ParquetFormat(rows, checked)
    if name == "orc":
        from frazil.iceberg._orc_writer import OrcFormat

        return OrcFormat(rows, checked)
    if name == "avro":
        from frazil.iceberg._avro_writer import AvroFormat

        return AvroFormat(rows, checked)
    message = f"data files of format {name!r} are not written"
    raise UnsupportedError(message, hint="set write.format.default to parquet, orc or avro")
