"""The lock that table writers hold while they publish a snapshot, compatible with Java's `JdbcCatalogLock`.

    paimon_distributed_locks    lock_id               acquired_at             expire_time_seconds
                                jdbc.sales.orders     2024-02-29 12:00:00     480

A row represents a lock that is held. It expires `expire_time_seconds` after `acquired_at`, by the clock of the
database, and the next writer then deletes it. A writer that finds the lock held retries after 100 ms, 200 ms and so on.
"""

from __future__ import annotations

import logging
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.catalog._database import retried
from frazil.catalog._paimon_jdbc_rows import LOCKS
from frazil.catalog._sql_session import DuplicateError
from frazil.errors import (
    CatalogError,
    CommitStateUnknownError,
    FrazilError,
    InvalidArgumentError,
    UnavailableError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from frazil.catalog._sql_session import Session

_LOGGER = logging.getLogger(__name__)

_FIRST_WAIT_S = 0.05

_EXPIRED = {
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at) > expire_time_seconds",
    "postgresql": "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at)) > expire_time_seconds",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW()) > expire_time_seconds",
    "mariadb": "TIMESTAMPDIFF(SECOND, acquired_at, NOW()) > expire_time_seconds",
}
"""The SQL condition that a lock has expired, by database dialect."""

_UNITS_MS = {
    "": 1.0,
    **dict.fromkeys(("d", "day", "days"), 86_400_000.0),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000.0),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1.0),
}


@dataclass(frozen=True, slots=True)
class LockSettings:
    """The settings for waiting for a lock."""

    acquire_timeout_s: float
    """The maximum time to wait, and the time after which a held lock expires."""

    check_max_sleep_s: float
    """The maximum time between two attempts."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> LockSettings:
        """Read `lock-acquire-timeout` and `lock-check-max-sleep`, with Java's defaults.

        Raises:
            InvalidArgumentError: A property is not a duration.
            UnsupportedError: `lock.type` is an unsupported type of lock.
        """
        kind = properties.get("lock.type", "jdbc")
        if kind != "jdbc":
            message = f"lock type {kind!r} is not supported"
            raise UnsupportedError(message, hint="remove the property lock.type to use locks in the catalog's database")
        return cls(
            _seconds("lock-acquire-timeout", properties.get("lock-acquire-timeout", "8 min")),
            _seconds("lock-check-max-sleep", properties.get("lock-check-max-sleep", "8 s")),
        )


class SnapshotLock:
    """The lock on one table, for one writer."""

    def __init__(
        self,
        changing: Callable[[], AbstractContextManager[Session]],
        dialect: str,
        lock_id: str,
        settings: LockSettings,
    ) -> None:
        """Keep the function that begins a database transaction, and the dialect of the database.

        Raises:
            UnsupportedError: Java does not support locks in this type of database.
        """
        expired = _EXPIRED.get(dialect)
        if expired is None:
            message = f"locks in {dialect!r} databases are not supported"
            hint = "set lock.enabled to false if no other engine writes the tables"
            raise UnsupportedError(message, context={"lock": lock_id}, hint=hint)
        self._changing, self._id, self._settings, self._expired = changing, lock_id, settings, expired
        self._began: float | None = None
        self._wait_s = _FIRST_WAIT_S
        self._acquired_at: str | None = None

    def acquire(self) -> float | None:
        """Try to acquire the lock; return None on success, or the seconds to wait before the next attempt.

        Raises:
            CatalogError: The database returned an error; the lock is not acquired.
            UnavailableError: Another writer held the lock for longer than `lock-acquire-timeout`.
        """
        if self._began is None:
            self._began, self._wait_s = time.monotonic(), _FIRST_WAIT_S
        holder = self._try()
        waited_s = time.monotonic() - self._began
        if holder is None:
            self._began = None
            return None
        if waited_s > self._settings.acquire_timeout_s:
            self._began = None
            raise self._timeout(holder, waited_s)
        self._wait_s = min(2 * self._wait_s, self._settings.check_max_sleep_s)
        return self._wait_s

    def release(self) -> None:
        """Release the lock if this writer still holds it.

        If the release fails, the lock remains until it expires. A lock that another writer acquired after an expiry is
        not deleted.
        """
        try:
            count = self._delete()
        except FrazilError as error:
            _LOGGER.warning("the lock %r could not be released and stays held until it expires: %s", self._id, error)
            return
        if not count:
            _LOGGER.warning("the lock %r expired while it was held: raise lock-acquire-timeout", self._id)

    @retried
    def _delete(self) -> int:
        with self._changing() as session:
            return session.delete(LOCKS, {"lock_id": self._id, "acquired_at": self._acquired_at})

    @retried
    def _try(self) -> str | None:
        """Acquire the lock and return None, or return the time at which the current holder acquired it."""
        row = {"lock_id": self._id}
        try:
            with self._changing() as session:
                session.delete(LOCKS, row, self._expired)
                held = session.select(LOCKS, ["acquired_at"], row)
                if held:
                    return str(held[0][0])
                try:
                    session.insert(LOCKS, {**row, "expire_time_seconds": int(self._settings.acquire_timeout_s)})
                except DuplicateError:
                    session.rollback()
                    return "now"
                [(self._acquired_at,)] = session.select(LOCKS, ["acquired_at"], row)
        except CommitStateUnknownError as error:
            message = f"the lock {self._id!r} may or may not have been acquired; it will expire: {error.message}"
            raise CatalogError(message, context=error.context) from error
        return None

    def _timeout(self, holder: str, waited_s: float) -> UnavailableError:
        message = (
            f"the lock {self._id!r} has been held by another writer since {holder}; waited {waited_s:.1f} s for it"
        )
        hint = (
            "try again later, or raise lock-acquire-timeout; if the other writer has died, wait until the lock "
            f"expires, or delete its row in {LOCKS}"
        )
        return UnavailableError(message, context={"lock": self._id}, hint=hint)


@contextmanager
def held(lock: SnapshotLock | None) -> Iterator[None]:
    """Hold a lock for the duration of the block, if there is a lock."""
    if lock is None:
        yield
        return
    while (wait_s := lock.acquire()) is not None:
        time.sleep(wait_s)
    try:
        yield
    finally:
        lock.release()


def _seconds(name: str, text: str) -> float:
    """Parse a Paimon duration such as `8 min`; a number without a unit is in milliseconds.

    >>> _seconds("lock-acquire-timeout", "8 min"), _seconds("lock-check-max-sleep", "50")
    (480.0, 0.05)
    """
    found = re.fullmatch(r"\s*(\d{1,15})\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if found is None or found[2] not in _UNITS_MS:
        message = f"{name} must be a duration such as '8 s' or '5 min', not {text!r}"
        raise InvalidArgumentError(message)
    return int(found[1]) * _UNITS_MS[found[2]] / 1000
