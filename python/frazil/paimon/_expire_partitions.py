"""Planned expiry of the partitions of Paimon tables."""

from __future__ import annotations

import datetime as dt
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from frazil import _native
from frazil._boundary import operation
from frazil._maintenance_plan import MaintenancePlan
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon._partition_time import PartitionTime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil._write_result import WriteResult
    from frazil.paimon._inspect import Inspect
    from frazil.paimon._schema import Schema

__all__ = ["ExpirePartitions", "ExpirePartitionsResult", "Rules"]

_STRATEGIES = ("values-time", "update-time")


class Partitioned(Protocol):
    """A table whose partitions expire."""

    location: str
    partition_keys: list[str]

    @property
    def inspect(self) -> Inspect:
        """The system tables."""

    def refresh(self) -> Any:
        """Load the latest state."""

    def schema(self) -> Schema:
        """Return the schema."""

    def drop_partitions(self, partitions: Sequence[Mapping[str, Any]]) -> WriteResult:
        """Delete all rows of partitions."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The partitions that expire; None selects the option of the table, which is named here."""

    expiration_time: str | None = None
    """`partition.expiration-time`"""
    timestamp_formatter: str | None = None
    """`partition.timestamp-formatter`"""
    timestamp_pattern: str | None = None
    """`partition.timestamp-pattern`"""
    strategy: str | None = None
    """`partition.expiration-strategy`"""
    max_expires: int | None = None
    """`partition.expiration-max-num`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpirePartitionsResult:
    """The result of an expiry."""

    partitions: tuple[dict[str, str | None], ...]
    """The expired partitions, oldest first."""
    snapshot_id: int | None = None
    """The snapshot without the partitions; None if no partition expired."""
    seconds: float = 0.0


class ExpirePartitions(MaintenancePlan[tuple[dict[str, str | None], ...]]):
    """A plan to expire partitions: nothing is changed until `apply` is called, which can be done once.

    >>> import frazil, tempfile
    >>> table = frazil.create_table(
    ...     tempfile.mkdtemp() + "/t", {"id": "INT", "day": "STRING"}, format="paimon", partition_keys=["day"]
    ... )
    >>> _ = table.append([{"id": 1, "day": "2020-01-31"}, {"id": 2, "day": "2999-01-31"}])
    >>> plan = table.expire_partitions("7 d")
    >>> plan.partitions
    ({'day': '2020-01-31'},)
    >>> _ = plan.apply()
    >>> table.scan().to_arrow().to_pylist()
    [{'id': 2, 'day': '2999-01-31'}]
    """

    _method = "expire_partitions"

    def __init__(self, table: Partitioned, rules: Rules) -> None:
        """Not for direct use; use `Table.expire_partitions`."""
        super().__init__(lambda: table.location)
        self._table, self._rules = table, rules

    @property
    def partitions(self) -> tuple[dict[str, str | None], ...]:
        """The partitions that expire, oldest first: values by column, as text; None for NULL."""
        return self._plan()

    def apply(self) -> ExpirePartitionsResult:
        """Delete the rows of the partitions, in one snapshot.

        A partition that another writer has changed since the plan was made is kept if its expiry depends on the time
        of the last change.

        Raises:
            InvalidArgumentError: The plan was already applied.
            CommitConflictError: Concurrent commits won in every attempt.
            CommitStateUnknownError: The outcome of the commit is unknown.
        """
        began = time.perf_counter()
        plan = self._take()
        with operation(self._method, self._place):
            due = self._make() if self._strategy() == "update-time" else plan
        expired = tuple(partition for partition in plan if partition in due)
        snapshot_id = self._table.drop_partitions(expired).snapshot_id if expired else None
        return ExpirePartitionsResult(partitions=expired, snapshot_id=snapshot_id, seconds=time.perf_counter() - began)

    def _make(self) -> tuple[dict[str, str | None], ...]:
        self._table.refresh()
        options = self._table.schema().options
        keys = self._table.partition_keys
        if not keys:
            message = "the table has no partitions"
            raise InvalidArgumentError(message, context={"table": self._place()})
        duration = self._option("expiration_time", "partition.expiration-time")
        if duration is None:
            message = "expire_partitions needs an expiration_time"
            hint = "pass a duration such as '7 d', or set the option partition.expiration-time"
            raise InvalidArgumentError(message, context={"table": self._place()}, hint=hint)
        age_ms = _native.paimon_duration_ms("expiration_time", duration)
        found = self._table.inspect.partitions().select(["partition", "last_update_time"]).to_pylist()
        parsed = _Names(keys, options.get("partition.default-name", "__DEFAULT_PARTITION__"))
        partitions = [(parsed.of(one["partition"]), one["last_update_time"]) for one in found]
        if self._strategy() == "values-time":
            times = PartitionTime(
                keys,
                self._option("timestamp_pattern", "partition.timestamp-pattern"),
                self._option("timestamp_formatter", "partition.timestamp-formatter"),
            )
            partitions = [(partition, times.of(partition)) for partition, _ in partitions]
        try:
            limit = _now() - dt.timedelta(milliseconds=age_ms)
        except OverflowError:
            return ()
        due = sorted(((at, tuple(one.items())) for one, at in partitions if at is not None and at < limit), key=_order)
        return tuple(dict(items) for _, items in due[: self._most()])

    def _strategy(self) -> str:
        found = self._option("strategy", "partition.expiration-strategy") or _STRATEGIES[0]
        if found not in _STRATEGIES:
            message = f"the expiration strategy {found!r} is not supported"
            raise UnsupportedError(message, hint=f"use one of {', '.join(_STRATEGIES)}")
        return found

    def _most(self) -> int:
        text = self._option("max_expires", "partition.expiration-max-num") or "100"
        if not text.isdecimal() or not int(text):
            message = f"max_expires is {text!r}, expected a positive number"
            raise InvalidArgumentError(message)
        return int(text)

    def _option(self, name: str, option: str) -> str | None:
        given: Any = getattr(self._rules, name)
        return self._table.schema().options.get(option) if given is None else str(given)

    def _summary(self, plan: tuple[dict[str, str | None], ...]) -> str:
        return f"{len(plan)} partitions expire"


def _now() -> dt.datetime:
    return dt.datetime.now()  # noqa: DTZ005 - as the times of partitions


def _order(one: tuple[dt.datetime, tuple[tuple[str, str | None], ...]]) -> Any:
    at, items = one
    return at, [value or "" for _, value in items]


class _Names:
    """Reads the names of partitions, such as `day=2024-01-31/hour=5`."""

    def __init__(self, keys: list[str], null: str) -> None:
        self._keys, self._null = keys, null
        self._form = re.compile("/".join(f"{re.escape(key)}=(.*)" for key in keys), re.DOTALL)

    def of(self, name: str) -> Mapping[str, str | None]:
        """Return the values by column.

        Raises:
            UnsupportedError: A value contains a text such as `/hour=`.
        """
        found = self._form.fullmatch(name)
        if found is None or any(name.count(f"/{key}=") != 1 for key in self._keys[1:]):
            message = f"the partition {name!r} is ambiguous, because a value contains the name of a column"
            raise UnsupportedError(message, hint="delete it with drop_partitions")
        values = (None if value == self._null else value for value in found.groups())
        return dict(zip(self._keys, values, strict=True))
