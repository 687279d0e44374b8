"""The settings of this process: memory, allowed locations and threads.

>>> from frazil.config import config
>>> config.memory_limit > 0
True
>>> config.max_workers = 0
Traceback (most recent call last):
  ...
frazil.errors.InvalidArgumentError: max_workers must be at least 1, not 0

Each setting defaults to its environment variable (``FRAZIL_MEMORY_LIMIT``, ``FRAZIL_CACHE_BYTES``,
``FRAZIL_ALLOWED_LOCATIONS``, ``FRAZIL_MAX_WORKERS``), or else to a value for the machine. An assignment overrides both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    Progress = Callable[[int, int, int], None]
    """A function that is called with the rows, bytes and files written so far."""

__all__ = ["Config", "config"]

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SHARE_OF_MEMORY = 0.75
_FALLBACK_BYTES = 4 << 30
_CACHE_BYTES = 256 << 20


class Config:
    """The settings; ``frazil.config`` is the only instance that frazil uses.

    >>> settings = Config()
    >>> settings.memory_limit = "2 GiB"
    >>> settings.memory_limit
    2147483648
    >>> settings.allowed_locations.append("s3://shared-bucket/")
    """

    __slots__ = ("_allowed_locations", "_cache_bytes", "_max_workers", "_memory_limit", "_progress")

    def __init__(self) -> None:
        """Start without assignments: settings are read from the environment on first use."""
        self._memory_limit: int | None = None
        self._cache_bytes: int | None = None
        self._allowed_locations: list[str] | None = None
        self._max_workers: int | None = None
        self._progress: Progress | bool | None = None

    @property
    def memory_limit(self) -> int:
        """The maximum bytes held by planning, decoding and deleting; three quarters of the memory by default.

        Accepts a number of bytes or a string such as ``"8 GiB"`` (units of 1024).
        """
        if self._memory_limit is None:
            text = os.environ.get("FRAZIL_MEMORY_LIMIT")
            self._memory_limit = _parse_bytes("FRAZIL_MEMORY_LIMIT", text) if text else _default_memory_limit()
        return self._memory_limit

    @memory_limit.setter
    def memory_limit(self, value: int | str) -> None:
        self._memory_limit = _parse_bytes("memory_limit", value)

    @property
    def cache_bytes(self) -> int:
        """The maximum bytes of decoded metadata kept for later plans; 256 MiB by default, 0 disables the cache.

        The cache counts towards `memory_limit` and shrinks if planning needs memory. The same values as for
        `memory_limit` are accepted. Entries above a lowered limit are removed at the next plan or call of
        `frazil.cache`.
        """
        if self._cache_bytes is None:
            text = os.environ.get("FRAZIL_CACHE_BYTES")
            self._cache_bytes = _parse_bytes("FRAZIL_CACHE_BYTES", text, least=0) if text else _CACHE_BYTES
        return self._cache_bytes

    @cache_bytes.setter
    def cache_bytes(self, value: int | str) -> None:
        self._cache_bytes = _parse_bytes("cache_bytes", value, least=0)

    @property
    def allowed_locations(self) -> list[str]:
        """The locations that any table may access, as a list; comma-separated in the environment."""
        if self._allowed_locations is None:
            text = os.environ.get("FRAZIL_ALLOWED_LOCATIONS", "")
            self._allowed_locations = [place.strip() for place in text.split(",") if place.strip()]
        return self._allowed_locations

    @allowed_locations.setter
    def allowed_locations(self, value: Iterable[str]) -> None:
        places = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        for place in places:
            if not isinstance(place, str) or not place:
                message = f"allowed_locations must be paths or URIs, not {place!r}"
                raise InvalidArgumentError(message)
        self._allowed_locations = places

    @property
    def max_workers(self) -> int:
        """The number of threads that read data files concurrently; defaults to the processors of this process."""
        if self._max_workers is None:
            text = os.environ.get("FRAZIL_MAX_WORKERS")
            self._max_workers = _parse_count("FRAZIL_MAX_WORKERS", text) if text else _processors()
        return self._max_workers

    @max_workers.setter
    def max_workers(self, value: int) -> None:
        self._max_workers = _parse_count("max_workers", value)

    @property
    def progress(self) -> Progress | bool | None:
        """The progress report of writes: a function of rows, bytes and files written, or True for a line on stderr.

        By default a line is shown in terminals and notebooks if `rich` is installed; False disables it.
        """
        return self._progress

    @progress.setter
    def progress(self, value: Progress | bool | None) -> None:
        if not (value is None or isinstance(value, bool) or callable(value)):
            message = f"progress must be a function, True, False or None, not {value!r}"  # type: ignore[unreachable]
            raise InvalidArgumentError(message)
        self._progress = value

    def __repr__(self) -> str:
        """Return a representation with the current values of all settings."""
        settings = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in ("memory_limit", "cache_bytes", "allowed_locations", "max_workers", "progress")
        )
        return f"Config({settings})"


config = Config()
"""The settings of this process."""


def _parse_bytes(name: str, value: int | str, *, least: int = 1) -> int:
    if isinstance(value, str):
        text = value.strip().lower().removesuffix("b").removesuffix("i")
        number = text.rstrip("kmgt").rstrip()
        unit = _UNITS.get(text[len(number) :].strip())
        parsed = int(float(number) * unit) if unit and _is_number(number) else None
    else:
        parsed = value if isinstance(value, int) and not isinstance(value, bool) else None
    if parsed is None or parsed < least:
        message = f"{name} must be a number of bytes such as 8589934592 or '8 GiB', not {value!r}"
        raise InvalidArgumentError(message)
    return parsed


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _parse_count(name: str, value: int | str) -> int:
    whole = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if not isinstance(whole, int) or isinstance(whole, bool) or whole < 1:
        message = f"{name} must be at least 1, not {value!r}"
        raise InvalidArgumentError(message)
    return whole


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _default_memory_limit() -> int:
    """Return three quarters of the memory of the machine or of the container that this process runs in."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        total = _FALLBACK_BYTES
    try:
        container = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        container = "max"
    if container.isdecimal():
        total = min(total, int(container))
    return max(1, int(total * _SHARE_OF_MEMORY))
