"""The lock that writers of a table take while they publish a snapshot, as Java's `JdbcCatalogLock` keeps it.

    paimon_distributed_locks    lock_id               acquired_at             expire_time_seconds
                                jdbc.sales.orders     2024-02-29 12:00:00     480

A row is a lock that is held. It expires `expire_time_seconds` after `acquired_at`, by the clock of the database; the
next writer deletes it then. Who finds it held asks again after 100 ms, 200 ms and so on.
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
from frazil.catalog._statements import DuplicateError
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

    from frazil.catalog._statements import Session

_LOGGER = logging.getLogger(__name__)

_FIRST_WAIT_S = 0.05

_EXPIRED = {
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at) > expire_time_seconds",
    "postgresql": "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at)) > expire_time_seconds",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW()) > expire_time_seconds",
    "mariadb": "TIMESTAMPDIFF(SECOND, acquired_at, NOW()) > expire_time_seconds",
}
"""When a lock has expired, in the SQL of each database."""

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
    """How long writers wait for a lock."""

    acquire_timeout_s: float
    """How long to wait; also how long a lock is held before it expires."""

    check_max_sleep_s: float
    """How long to wait at most before asking again."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> LockSettings:
        """Take `lock-acquire-timeout` and `lock-check-max-sleep`, with the defaults of Java.

        Raises:
            InvalidArgumentError: A property is not a duration.
            UnsupportedError: `lock.type` is another type of lock.
        """
        kind = properties.get("lock.type", "jdbc")
        if kind != "jdbc":
            message = f"locks of the type {kind!r} are not supported"
            raise UnsupportedError(
                message, hint="remove the property lock.type, to lock in the database of the catalog"
            )
        return cls(
            _seconds("lock-acquire-timeout", properties.get("lock-acquire-timeout", "8 min")),
            _seconds("lock-check-max-sleep", properties.get("lock-check-max-sleep", "8 s")),
        )


class SnapshotLock:
    """The lock of one table, for one writer."""

    def __init__(
        self,
        changing: Callable[[], AbstractContextManager[Session]],
        dialect: str,
        lock_id: str,
        settings: LockSettings,
    ) -> None:
        """Take what begins a transaction of the database, and what the database is.

        Raises:
            UnsupportedError: Java has no locks in such databases.
        """
        expired = _EXPIRED.get(dialect)
        if expired is None:
            message = f"locks in databases of the type {dialect!r} are not supported"
            hint = "set lock.enabled to false if no other engine writes the tables"
            raise UnsupportedError(message, context={"lock": lock_id}, hint=hint)
        self._changing, self._id, self._settings, self._expired = changing, lock_id, settings, expired
        self._began: float | None = None
        self._wait_s = _FIRST_WAIT_S
        self._acquired_at: str | None = None

    def acquire(self) -> float | None:
        """Try to acquire the lock; return None if it is held now, or the seconds after which to try again.

        Raises:
            CatalogError: The database refused; the lock is not acquired.
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
        """Release the lock. If that fails, it expires; if it expired before, it may be another writer's and stays."""
        try:
            count = self._delete()
        except FrazilError as error:
            _LOGGER.warning("the lock %r is not released, so that it is held until it expires: %s", self._id, error)
            return
        if not count:
            _LOGGER.warning("the lock %r expired while it was held: raise lock-acquire-timeout", self._id)

    @retried
    def _delete(self) -> int:
        with self._changing() as session:
            return session.delete(LOCKS, {"lock_id": self._id, "acquired_at": self._acquired_at})

    @retried
    def _try(self) -> str | None:
        """Acquire the lock if it is free; return when the writer that holds it acquired it, or None."""
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
            message = f"whether the lock {self._id!r} is acquired is unknown; it expires: {error.message}"
            raise CatalogError(message, context=error.context) from error
        return None

    def _timeout(self, holder: str, waited_s: float) -> UnavailableError:
        message = f"the lock {self._id!r} is held by another writer since {holder}; waited {waited_s:.1f} s for it"
        hint = (
            "try again later, or raise lock-acquire-timeout; "
            f"if its writer has died, wait until it expires, or delete its row in {LOCKS}"
        )
        return UnavailableError(message, context={"lock": self._id}, hint=hint)


@contextmanager
def held(lock: SnapshotLock | None) -> Iterator[None]:
    """Hold a lock for the block, if there is one."""
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
    """Return a duration of Paimon, such as `8 min`; a number alone is milliseconds.

    >>> _seconds("lock-acquire-timeout", "8 min"), _seconds("lock-check-max-sleep", "50")
    (480.0, 0.05)
    """
    found = re.fullmatch(r"\s*(\d{1,15})\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if found is None or found[2] not in _UNITS_MS:
        message = f"{name} must be a duration such as '8 s' or '5 min', not {text!r}"
        raise InvalidArgumentError(message)
    return int(found[1]) * _UNITS_MS[found[2]] / 1000
