"""Constants compared with timestamp columns; the engine evaluates them, because it knows the session's time zone."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

TimeKind = Literal["string", "date", "timestamp", "timestamp_ltz", "timestamp_ntz"]
"""The kind of a constant; `timestamp` is the type TIMESTAMP, whose time zone depends on the session."""

# Other strings depend on the time of evaluation, such as 'now', or differ between releases of Spark.
_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?")
_WITH_ZONE = re.compile(_TEXT.pattern + r"(Z|[+-][0-9]{2}:[0-9]{2})?")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock
_LEAST = -62_135_596_800_000_000
"""The first microsecond of year 1, the earliest timestamp that a filter literal can have."""

_GREATEST = 253_402_300_799_999_999


class Moment(NamedTuple):
    """A constant that is compared with a column."""

    has_zone: bool
    """Whether the column has a time zone."""
    kind: TimeKind
    text: str


class Moments:
    """Evaluates moments as filter literals, each of them once."""

    def __init__(self, values: Callable[[Sequence[str]], list[Any]], *, timestamp_has_zone: bool) -> None:
        """Evaluate expressions with `values`; `timestamp_has_zone` is the meaning of TIMESTAMP in the session."""
        self._values = values
        self._timestamp_has_zone = timestamp_has_zone
        self._known: dict[Moment, str | None] = {}

    def literal(self, data_type: pa.DataType, kind: TimeKind, text: str) -> str | None:
        """Return a constant as a filter literal for a timestamp column; None if Spark may compare it differently."""
        if data_type.unit != "us":
            return None
        moment = Moment(data_type.tz is not None, kind, text)
        if moment not in self._known:
            self._known[moment] = self._evaluated(moment)
        return self._known[moment]

    def _evaluated(self, moment: Moment) -> str | None:
        own = "timestamp_ltz" if moment.has_zone else "timestamp_ntz"
        kind = moment.kind
        if kind == "timestamp":
            kind = "timestamp_ltz" if self._timestamp_has_zone else "timestamp_ntz"
        pattern = _WITH_ZONE if moment.has_zone and kind != "date" else _TEXT
        if kind not in (own, "string", "date") or not pattern.fullmatch(moment.text):
            return None
        constant = f"TRY_CAST('{moment.text}' AS DATE)" if kind == "date" else f"'{moment.text}'"
        cast = f"TRY_CAST({constant} AS {own})"
        [value] = self._values([f"unix_micros({cast})" if moment.has_zone else cast])
        if value is None:
            return None
        if not moment.has_zone:
            return f"'{value.isoformat()}'"
        if not _LEAST <= value <= _GREATEST:
            return None
        return f"'{(_EPOCH + dt.timedelta(microseconds=value)).isoformat()}+00:00'"
