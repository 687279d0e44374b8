"""What frazil keeps of files that it has read: decoded columns of manifests, for the next plan.

>>> import frazil
>>> stats = frazil.cache.stats()
>>> stats.bytes <= frazil.config.cache_bytes
True
>>> frazil.cache.clear()
>>> frazil.cache.stats().entries
0

Only files that tables write once are kept, known by their place, length and time of change; files of object stores only
for the table handle that read them. A table that may not read a file does not see what another one read from it. The
cache holds at most ``frazil.config.cache_bytes``, and less where planning needs ``frazil.config.memory_limit``. Results
are the same with a cache, without one (``cache_bytes = 0``) and with one that was just emptied.
"""

from __future__ import annotations

from typing import NamedTuple

from frazil.config import config

__all__ = ["Stats", "clear", "stats"]


class Stats(NamedTuple):
    """What the cache of this process did and what it holds."""

    hits: int
    """How often something was asked for and there."""
    misses: int
    """How often something was asked for and not there."""
    evictions: int
    """How many entries went for lack of room."""
    entries: int
    """How many entries there are."""
    bytes: int
    """How much memory they hold."""


def stats() -> Stats:
    """Count what the cache did since the process began, and what it holds now."""
    from frazil import _native

    _native.cache_limit(config.cache_bytes)
    return Stats(*_native.cache_stats())


def clear() -> None:
    """Drop all that is kept; the counts go on."""
    from frazil import _native

    _native.cache_clear()
