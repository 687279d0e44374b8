"""Data that all tasks of a job receive."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


_SMALL_BYTES = 1024


class Shared:
    """Bytes that each worker receives once, as a Spark broadcast, or with each task if they are few.

    If broadcasts are not available, the bytes are sent with each task: over Spark Connect, and on platforms that
    restrict access to the `SparkContext`.
    """

    def __init__(self, content: bytes, broadcast: Any = None) -> None:
        """Not for direct use; use `shared`."""
        self._content: bytes | None = content
        self._broadcast = broadcast

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ if self._broadcast is None else self.__dict__ | {"_content": None}

    def content(self) -> bytes:
        """Return the bytes."""
        given: bytes = self._broadcast.value if self._content is None else self._content
        return given


@contextlib.contextmanager
def shared(spark: SparkSession, content: bytes) -> Iterator[Shared]:
    """Share bytes with the workers until the end of the block."""
    broadcast: Any = None
    # A DELETE or an UPDATE shares only a few bytes, which do not need a broadcast.
    if len(content) > _SMALL_BYTES:
        with contextlib.suppress(Exception):
            broadcast = spark.sparkContext.broadcast(content)
    try:
        yield Shared(content, broadcast)
    finally:
        if broadcast is not None:
            with contextlib.suppress(Exception):  # the session may have been stopped
                broadcast.destroy()
