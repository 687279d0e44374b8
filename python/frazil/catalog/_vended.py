"""Expiring credentials that a catalog server vends for the files of one table."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from frazil import _native
from frazil.catalog._properties import is_secret
from frazil.catalog._recipe import Recipe
from frazil.errors import FrazilError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog._identifiers import Levels

__all__ = ["VendedCredentials"]

_EARLY_MS = 300_000
"""The time before their expiry at which credentials are renewed, unless half of their lifetime is shorter."""
_LIFETIME_MS = 900_000
"""The renewal interval of credentials without an expiry; object stores do not issue shorter sessions."""
_EXPIRIES = ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "expiration-time")
_ADLS_EXPIRY = "adls.sas-token-expires-at-ms"


def now_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class VendingCatalog(Protocol):
    """A catalog that vends credentials for its tables."""

    def load_credentials(self, levels: Levels) -> dict[str, str]:
        """Request new credentials for a table."""

    def recipe(self) -> tuple[Any, tuple[Any, ...]]:
        """Return a function and its arguments that recreate the catalog."""


class VendedCredentials:
    """The credentials of one table. A copy in another process requests credentials when it needs them."""

    def __init__(self, levels: Levels, catalog: VendingCatalog | Recipe) -> None:
        """Keep the name of the table, and its catalog or the recipe that recreates it."""
        self._levels = levels
        self._catalog: Any = catalog
        self._lock = threading.RLock()
        self._properties: dict[str, str] = {}
        self._renew_at_ms: int | None = 0
        self._expires_at_ms: int | None = 0

    def note(self, found: Mapping[str, Any]) -> None:
        """Store the credentials that the server vended with the table."""
        noted_ms = now_ms()
        expiries = [
            int(value)
            for key, value in found.items()
            if (key in _EXPIRIES or key.startswith(_ADLS_EXPIRY)) and str(value).isdecimal()
        ]
        with self._lock:
            self._properties = {key: str(value) for key, value in found.items() if _native.is_storage_option(key)}
            self._expires_at_ms = min(expiries, default=None)
            if self._expires_at_ms is not None:
                lifetime_ms = self._expires_at_ms - noted_ms
                self._renew_at_ms = self._expires_at_ms - min(_EARLY_MS, max(0, lifetime_ms // 2))
            else:
                self._renew_at_ms = noted_ms + _LIFETIME_MS if any(map(is_secret, self._properties)) else None

    def current(self) -> tuple[dict[str, str], int | None]:
        """Return storage properties that are currently valid, and the renewal time in milliseconds since the epoch.

        The native module calls this method, possibly from other threads.

        Raises:
            FrazilError: The server does not vend new credentials, and the last ones have expired.
        """
        with self._lock:
            asked_ms = now_ms()
            if self._renew_at_ms is not None and asked_ms >= self._renew_at_ms:
                try:
                    self._renew()
                except FrazilError:
                    if self._expires_at_ms is None or asked_ms >= self._expires_at_ms:
                        raise
            return dict(self._properties), self._renew_at_ms

    def _renew(self) -> None:
        if isinstance(self._catalog, Recipe):
            make, arguments = self._catalog
            self._catalog = make(*arguments)
        self.note(self._catalog.load_credentials(self._levels))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the catalog and the name of the table, without the credentials."""
        catalog = self._catalog
        return VendedCredentials, (self._levels, catalog if isinstance(catalog, Recipe) else Recipe(catalog.recipe()))

    def __repr__(self) -> str:
        """Return a representation with the name of the table, without credentials."""
        return f"<frazil.catalog.VendedCredentials of {'.'.join(self._levels)!r}>"
