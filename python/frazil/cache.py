"""The cache of file contents: decoded manifest columns, kept for later plans.

>>> import frazil
>>> stats = frazil.cache.stats()
>>> stats.bytes <= frazil.config.cache_bytes
True
>>> frazil.cache.clear()
>>> frazil.cache.stats().entries
0

Only immutable table files are cached, identified by location, length and modification time. Files in object stores are
cached only for the table handle that read them. A table that may not access a file does not see the cached contents
that another table read. The cache holds at most ``frazil.config.cache_bytes``, and less if planning needs
``frazil.config.memory_limit``. Results are the same with a cache, without one (``cache_bytes = 0``) and after the cache
is cleared.
"""

from __future__ import annotations

from typing import NamedTuple

from frazil.config import config

__all__ = ["Stats", "clear", "stats"]


class Stats(NamedTuple):
    """The counters and the current size of this process's cache."""

    hits: int
    """The number of lookups that found an entry."""
    misses: int
    """The number of lookups that found no entry."""
    evictions: int
    """The number of entries removed to free space."""
    entries: int
    """The number of entries."""
    bytes: int
    """The memory used by the entries, in bytes."""


def stats() -> Stats:
    """Return the counters since the process started and the current size of the cache."""
    from frazil import _native

    _native.cache_limit(config.cache_bytes)
    return Stats(*_native.cache_stats())


def clear() -> None:
    """Remove all entries; the counters are not reset."""
    from frazil import _native

    _native.cache_clear()
