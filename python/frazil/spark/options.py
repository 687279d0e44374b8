"""The options of a read, as text that Spark hands over: named as those of Spark's Iceberg connector.

>>> parse({"path": "/t", "tag": "q1", "split-size": "1048576"}).snapshot
('ref', 'q1')
>>> parse({"path": "/t", "snapshot_id": "7"})
Traceback (most recent call last):
  ...
frazil.errors.InvalidArgument: unknown option `snapshot_id`: did you mean `snapshot-id`?; the options are ...
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import json
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

STORAGE_PREFIXES = ("s3.", "gcs.", "adls.", "client.")
"""Options that begin so go to the storage."""

NS_MODES = ("error", "micros", "long")
"""What becomes of timestamps with nanoseconds, which Spark lacks."""

_TIME_TRAVEL = ("snapshot-id", "as-of-timestamp", "branch", "tag", "ref", "versionasof", "timestampasof")
_APPEND = ("start-snapshot-id", "end-snapshot-id")
_OTHER = (
    "path",
    "split-size",
    "file-open-cost",
    "row-filter",
    "columns",
    "metadata-columns",
    "case-sensitive",
    "limit",
    "batch-size",
    "relocate",
    "timestamp-ns-mode",
    "pushdown",
)
# They tune Spark's Iceberg connector and change no row.
_WITHOUT_EFFECT = ("lookback", "locality", "vectorization-enabled", "aggregate-push-down-enabled")
_UNSUPPORTED = {
    "start-timestamp": "changelogs are not supported; for appended rows give `start-snapshot-id`",
    "end-timestamp": "changelogs are not supported; for appended rows give `end-snapshot-id`",
    "stream-from-timestamp": "streaming reads are not supported",
    "paths": "one read is of one table; give one path and union the DataFrames",
    # Spark adds it where it creates a table in its catalog; the reads of that table then get none of the options.
    "provider": "Spark's catalog does not hand a table's options to its reads; create a temporary view instead",
}
_SHOWN = {"versionasof": "versionAsOf", "timestampasof": "timestampAsOf"}


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """What is asked of a table."""

    path: str
    """The folder or metadata file of the table."""
    snapshot: tuple[str, Any] | None = None
    """`("id", 1)`, `("ref", "name")` or `("as_of", ms)`; None for the current snapshot."""
    append: tuple[int, int | None] | None = None
    """The first snapshot, exclusive, and the last one, inclusive, of an incremental append scan."""
    split_bytes: int | None = None
    """How many bytes of files a partition reads; None for what the table says."""
    open_cost_bytes: int | None = None
    """What a file counts at least; None for what the table says."""
    row_filter: str = ""
    """SQL; empty for all rows."""
    columns: tuple[str, ...] = ("*",)
    """Names of columns, metadata columns among them."""
    case_sensitive: bool = True
    limit: int | None = None
    batch_rows: int | None = None
    """At most so many rows in a batch."""
    relocate: dict[str, str] = dataclasses.field(default_factory=dict)
    """Recorded prefixes to where the files lie now."""
    properties: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Options of the storage; they may hold secrets."""
    timestamp_ns: str = "error"
    """One of `NS_MODES`."""
    pushdown: bool = False
    """Whether Spark may push filters into the read; see `frazil.spark.source.PushingReader` for the danger."""


def parse(options: Mapping[str, str]) -> ReadOptions:
    """Check the options of a read; names are compared without case.

    Raises:
        InvalidArgument: An option that is unknown, has no meaning, or contradicts another one.
        Unsupported: An option of Spark's Iceberg connector that frazil does not have.
    """
    given = {name.lower(): value for name, value in options.items()}
    properties = {name: value for name, value in given.items() if name.startswith(STORAGE_PREFIXES)}
    # Spark's own option first: it says more than the others that come with it.
    for name in sorted(given.keys() - properties.keys(), key=lambda name: name not in _UNSUPPORTED):
        _check_name(name)
    if "path" not in given:
        message = "the table is not named: call `load` with its folder or metadata file, or give the option `path`"
        raise InvalidArgument(message)
    _exclude(given, *_TIME_TRAVEL)
    _exclude(given, "start-snapshot-id", *_TIME_TRAVEL)
    _exclude(given, "end-snapshot-id", *_TIME_TRAVEL)
    return ReadOptions(
        path=given["path"],
        snapshot=_snapshot(given),
        append=_append(given),
        split_bytes=_number(given, "split-size", least=1),
        open_cost_bytes=_number(given, "file-open-cost", least=0),
        row_filter=given.get("row-filter", ""),
        columns=_columns(given),
        case_sensitive=_flag(given, "case-sensitive", default=True),
        limit=_number(given, "limit", least=0),
        batch_rows=_number(given, "batch-size", least=1),
        relocate=_relocate(given),
        properties=properties,
        timestamp_ns=_choice(given, "timestamp-ns-mode", NS_MODES),
        pushdown=_flag(given, "pushdown", default=False),
    )


def split_names(text: str) -> list[str]:
    """Split names at commas; a name that holds a comma or a quote stands in double quotes or back quotes.

    >>> split_names('id, s.x, "a, b"')
    ['id', 's.x', 'a, b']
    """
    names = []
    rest = text
    while True:
        name, rest = _first_name(rest.lstrip(), text)
        names.append(name)
        if not rest:
            return names
        if not rest.startswith(","):
            message = f"columns are separated by commas, not {rest!r} (in {text!r})"
            raise InvalidArgument(message)
        rest = rest[1:]


def quote_name(name: str) -> str:
    """Write a name so that `split_names` gives it back.

    >>> split_names(quote_name('a "b", c'))
    ['a "b", c']
    """
    plain = name == name.strip() and not set(name) & set(',"`') and name
    return name if plain else '"' + name.replace('"', '""') + '"'


def _first_name(text: str, whole: str) -> tuple[str, str]:
    quote = text[:1]
    if quote not in ('"', "`") or not quote:
        name, comma, rest = text.partition(",")
        if not name.strip():
            message = f"a name is missing in the columns {whole!r}"
            raise InvalidArgument(message)
        return name.strip(), comma + rest
    end = 1
    while (end := text.find(quote, end)) >= 0:
        if text[end + 1 : end + 2] != quote:
            return text[1:end].replace(quote * 2, quote), text[end + 1 :].lstrip()
        end += 2
    message = f"a quote is not closed in the columns {whole!r}"
    raise InvalidArgument(message)


def _check_name(name: str) -> None:
    known = (*_TIME_TRAVEL, *_APPEND, *_OTHER)
    if name in known or name in _WITHOUT_EFFECT:
        return
    why = _UNSUPPORTED.get(name)
    if why is None and name.startswith(("streaming-", "async-")):
        why = "streaming reads are not supported"
    if why is not None:
        message = f"option `{name}`: {why}"
        raise Unsupported(message)
    near = difflib.get_close_matches(name, known, 1)
    message = f"unknown option `{name}`" + (f": did you mean `{_shown(near[0])}`?" if near else "")
    raise InvalidArgument(message, hint="the options are " + ", ".join(_shown(option) for option in known))


def _shown(name: str) -> str:
    return _SHOWN.get(name, name)


def _exclude(given: Mapping[str, str], *names: str) -> None:
    both = [f"`{_shown(name)}`" for name in names if name in given]
    if len(both) > 1 and (names[0] not in _APPEND or both[0] == f"`{names[0]}`"):
        message = f"the options {' and '.join(both)} exclude each other"
        raise InvalidArgument(message)


def _snapshot(given: Mapping[str, str]) -> tuple[str, Any] | None:
    if "snapshot-id" in given:
        return "id", _number(given, "snapshot-id")
    if "as-of-timestamp" in given:
        return "as_of", _number(given, "as-of-timestamp")
    if "timestampasof" in given:
        return "as_of", _timestamp_ms(given["timestampasof"])
    if "versionasof" in given:
        version = given["versionasof"]
        return ("id", int(version)) if version.isdecimal() else ("ref", version)
    name = next((name for name in ("branch", "tag", "ref") if name in given), None)
    return None if name is None else ("ref", given[name])


def _append(given: Mapping[str, str]) -> tuple[int, int | None] | None:
    start, end = (_number(given, name) for name in _APPEND)
    if start is not None:
        return start, end
    if end is not None:
        message = "the option `end-snapshot-id` needs `start-snapshot-id`"
        raise InvalidArgument(message, hint="to read the table as of a snapshot give `snapshot-id`")
    return None


def _number(given: Mapping[str, str], name: str, least: int | None = None) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or not -(1 << 63) <= number < 1 << 63 or (least is not None and number < least):
        expected = "a number" if least is None else f"a number from {least}"
        message = f"option `{name}` is {text!r}, expected {expected}"
        raise InvalidArgument(message)
    return number


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        message = f"option `{name}` is {text!r}, expected true or false"
        raise InvalidArgument(message)
    return text == "true"


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    text = given.get(name, choices[0]).lower()
    if text not in choices:
        message = f"option `{name}` is {text!r}, expected one of {', '.join(choices)}"
        raise InvalidArgument(message)
    return text


def _columns(given: Mapping[str, str]) -> tuple[str, ...]:
    columns = split_names(given["columns"]) if "columns" in given else ["*"]
    if "metadata-columns" in given:
        columns += split_names(given["metadata-columns"])
    return tuple(columns)


def _timestamp_ms(text: str) -> int:
    try:
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"option `timestampAsOf` is {text!r}, expected a timestamp such as 2024-01-31T12:00:00+00:00"
        raise InvalidArgument(message, hint="milliseconds since the epoch go into `as-of-timestamp`") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)


def _relocate(given: Mapping[str, str]) -> dict[str, str]:
    text = given.get("relocate", "{}")
    try:
        places = json.loads(text)
    except ValueError as error:
        message = f"option `relocate` is no JSON: {error}"
        raise InvalidArgument(message) from None
    if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
        message = 'option `relocate` is a JSON object of recorded prefixes and places, as {"hdfs://nn/t": "/data/t"}'
        raise InvalidArgument(message)
    return places
