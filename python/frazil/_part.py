"""What the parts of all scans share: they are shipped as bytes, and read alone and anywhere."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from frazil import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    import pyarrow as pa


class NativePart(Protocol):
    """A file of a scan, or files that are read together."""

    def schema(self) -> pa.Schema:
        """Give the schema of the rows."""

    def to_bytes(self) -> bytes:
        """Give the wire form."""


N = TypeVar("N", bound=NativePart)


class Part(Generic[N]):
    """A part of a scan. Pickles as its wire form, which holds no credentials."""

    def __init__(self, native: N) -> None:
        """Use `Scan.plan_files` or `from_bytes` instead."""
        self._native = native

    def schema(self) -> pa.Schema:
        """Give the Arrow schema of the rows."""
        return self._native.schema()

    @abstractmethod
    def to_arrow_batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows."""

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows, with their schema."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema(), self.to_arrow_batches())

    def to_arrow(self) -> pa.Table:
        """Give the rows."""
        return self.to_arrow_batch_reader().read_all()

    def to_bytes(self) -> bytes:
        """Give the wire form: all that another process needs to read the part but credentials."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, content: bytes, *, storage: Mapping[str, str] | None = None) -> list[Self]:
        """Read the parts of a wire form; `storage` are the options of the storage.

        Raises:
            UnsupportedError: The bytes were written by another version.
            CorruptDataError: The bytes are no wire form of such parts.
        """
        files = _native.Files("/", [], [], dict(storage or {}))
        return [cls(native) for native in cls._reader()(content, files)]

    @classmethod
    @abstractmethod
    def _reader(cls) -> Callable[[bytes, _native.Files], list[N]]:
        """Give what reads wire forms."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the wire form."""
        return _from_bytes, (type(self), self.to_bytes())


def _from_bytes(cls: type[Part[N]], content: bytes) -> Part[N]:
    return cls.from_bytes(content)[0]
