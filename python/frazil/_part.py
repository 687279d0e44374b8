"""The common interface of scan parts, which are sent as bytes and can be read independently in any process."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from frazil import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    import pyarrow as pa


class NativePart(Protocol):
    """A file of a scan, or several files that are read together."""

    def schema(self) -> pa.Schema:
        """Return the schema of the rows."""

    def to_bytes(self) -> bytes:
        """Return the serialized form."""


N = TypeVar("N", bound=NativePart)


class Part(Generic[N]):
    """A part of a scan. It is pickled without credentials."""

    def __init__(self, native: N) -> None:
        """Not for direct use; use `Scan.plan_files` or `from_bytes`."""
        self._native = native

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows."""
        return self._native.schema()

    @abstractmethod
    def to_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows together with their schema."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema(), self.to_arrow_batches())

    def to_arrow(self) -> pa.Table:
        """Return the rows."""
        return self.to_arrow_batch_reader().read_all()

    def to_bytes(self) -> bytes:
        """Return the serialized form: everything that another process needs to read the part, except credentials."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, content: bytes, *, storage: Mapping[str, str] | None = None) -> list[Self]:
        """Deserialize parts; `storage` holds the storage options.

        Raises:
            UnsupportedError: The bytes were written by a different version.
            CorruptDataError: The bytes are not the serialized form of such parts.
        """
        files = _native.Files("/", [], [], dict(storage or {}))
        return [cls(native) for native in cls._reader()(content, files)]

    @classmethod
    @abstractmethod
    def _reader(cls) -> Callable[[bytes, _native.Files], list[N]]:
        """Return the native function that deserializes parts of this type."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the serialized form."""
        return _from_bytes, (type(self), self.to_bytes())


def _from_bytes(cls: type[Part[N]], content: bytes) -> Part[N]:
    return cls.from_bytes(content)[0]
