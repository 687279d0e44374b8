"""What the writers of Parquet, ORC and Avro files have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from frazil import _native

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
    """The properties of a table, as numbers and names that are checked."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Of a table."""
        self._properties = properties

    def text(self, key: str, default: str) -> str:
        """Give a name, in lower case."""
        return self._properties.get(key, default).lower()

    def number(self, key: str, default: int, *, least: int = 1) -> int:
        """Give a whole number."""
        text = self._properties.get(key)
        if text is None:
            return default
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            message = f"{key} is a number from {least} on, not {text!r}"
            raise InvalidArgumentError(message, context={"property": key})
        return number

    def fraction(self, key: str, default: float) -> float:
        """Give a number between 0 and 1."""
        text = self._properties.get(key)
        if text is None:
            return default
        try:
            number = float(text)
        except ValueError:
            number = 0
        if not 0 < number < 1:
            message = f"{key} is a number between 0 and 1, not {text!r}"
            raise InvalidArgumentError(message, context={"property": key})
        return number

    def flag(self, key: str, *, default: bool) -> bool:
        """Give a truth value; as in Java whatever is not `true` is false."""
        text = self._properties.get(key)
        return default if text is None else text.lower() == "true"

    def level(self, key: str) -> int | None:
        """Give the level of a codec, where one is set."""
        return self.number(key, 0, least=-(1 << 31)) if key in self._properties else None

    def codec(self, key: str, default: str, known: Mapping[str, str]) -> str:
        """Give the name by which a writer knows the codec of a table."""
        name = self.text(key, default)
        codec = known.get(name)
        if codec is None:
            message = f"the codec {name!r} of {key} is not written"
            raise UnsupportedError(message, context={"property": key}, hint=f"set it to one of {', '.join(known)}")
        return codec

    def by_column(self, prefix: str) -> dict[str, str]:
        """Give the values of a property that is set column by column, by column."""
        return {key[len(prefix) :]: value for key, value in self._properties.items() if key.startswith(prefix)}


def file_format(rows: _native.RowWriter, properties: Mapping[str, str], name: str | None = None) -> FileFormat:
    """Give the format of data files: `name`, or what the table says (`write.format.default`)."""
    checked = Properties(properties)
    name = (name or checked.text("write.format.default", "parquet")).lower()
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
