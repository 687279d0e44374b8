"""Reads the manifests of local Paimon tables without frazil."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import fastavro
import fastavro.read
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["entries"]


def _zstandard(block: Any) -> io.BytesIO:
    compressed = pa.BufferReader(fastavro.schemaless_reader(block, "bytes"))
    return io.BytesIO(pa.CompressedInputStream(compressed, "zstd").read())


fastavro.read.BLOCK_READERS["zstandard"] = _zstandard


def entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a manifest, a manifest list or an index manifest in Avro."""
    with path.open("rb") as file:
        return list(fastavro.reader(file))
