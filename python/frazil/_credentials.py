"""Credentials for storage that expire."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Credentials"]


class Credentials(Protocol):
    """Storage properties that are renewed before they expire. Pickles contain no secrets."""

    def current(self) -> tuple[dict[str, str], int | None]:
        """Return storage properties that are valid now, and when to ask again, in milliseconds since the epoch."""
