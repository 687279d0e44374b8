"""Expiring storage credentials."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Credentials"]


class Credentials(Protocol):
    """Storage properties that are renewed before they expire. Pickles contain no secrets."""

    def current(self) -> tuple[dict[str, str], int | None]:
        """Return storage properties that are currently valid, and the renewal time in milliseconds since the epoch."""
