"""The read options, which Spark passes as strings: options of all formats are parsed here, others by their format.

>>> asked = parse({"path": "/t", "tag": "q1", "split-size": "1048576", "scan.mode": "default"})
>>> asked.snapshot, asked.others
(('tag', 'q1'), {'scan.mode': 'default'})
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import json
from typing import TYPE_CHECKING, Any, NoReturn

from frazil import _native
from frazil._arguments import listed_locations
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NS_MODES = ("error", "micros", "long")
"""The handling of nanosecond timestamps, which Spark does not support."""

READ_LANES = ("auto", "arrow", "native")
"""The values of `read_lane` in `frazil.spark.read`: the faster reader, frazil, or Spark also for required columns."""

NATIVE_FILES = "native-files"
"""The option by which `frazil.spark.read` passes the data files that Spark reads itself."""

READ_SNAPSHOT = "read-snapshot"
"""The option that records the table, branch and snapshot read by frazil in Spark plans."""

AUDIT_OPTIONS = ("wap-branch", "wap-id")
"""The options by which `frazil.spark.read` passes the settings of write-audit-publish."""

SESSION_OPTIONS = "session-options"
"""The option by which `frazil.spark.read` and queries pass the settings `spark.paimon.*`."""

SNAPSHOT_OPTIONS = ("snapshot-id", "as-of-timestamp", "tag", "ref", "versionasof", "timestampasof")
"""The mutually exclusive options that select a state."""

COMMON_OPTIONS = (
    *SNAPSHOT_OPTIONS,
    "branch",
    "path",
    "format",
    "inspect",
    "split-size",
    "file-open-cost",
    "row-filter",
    "columns",
    "metadata-columns",
    "case-sensitive",
    "limit",
    "batch-size",
    "relocate",
    "allowed-locations",
    "timestamp-ns-mode",
    "pushdown",
    READ_SNAPSHOT,
    *AUDIT_OPTIONS,
    SESSION_OPTIONS,
)
"""The options of all table formats, in normalized form."""

_UNSUPPORTED = {
    "paths": "a read is limited to one table; pass one path and union the DataFrames",
}
_SHOWN = {"versionasof": "versionAsOf", "timestampasof": "timestampAsOf"}


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """The options of a read."""

    path: str
    """The folder or metadata file of the table, optionally followed by `$` and the name of a metadata table."""
    format: str | None = None
    """The table format, `iceberg` or `paimon`; None to detect it."""
    metadata_table: str | None = None
    """The metadata table to read; None for the rows of the table, or for the one in `path`."""
    snapshot: tuple[str, Any] | None = None
    """The selected snapshot.

    One of `("id", 1)`, `("as_of", ms)`, `("tag", "name")`, `("ref", "tag or branch")` and `("version", "text")`.
    """
    branch: str | None = None
    split_bytes: int | None = None
    """The bytes of files that a partition reads; None for the table's setting."""
    open_cost_bytes: int | None = None
    """The minimum size that a file counts as; None for the table's setting."""
    row_filter: str = ""
    """The filter as an SQL expression; empty for all rows."""
    columns: tuple[str, ...] = ("*",)
    """The column names, including metadata columns."""
    case_sensitive: bool = True
    limit: int | None = None
    batch_rows: int | None = None
    """The maximum number of rows in a batch."""
    relocate: dict[str, str] = dataclasses.field(default_factory=dict)
    """A mapping of recorded prefixes to their current locations."""
    allowed_locations: tuple[str, ...] = ()
    """The locations that the table may access in addition to its own."""
    storage: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """The storage options, which may be secret."""
    timestamp_ns: str = "error"
    """The handling of nanosecond timestamps: one of `NS_MODES`."""
    pushdown: bool = False
    """Whether Spark may push filters down; see `frazil.spark._source.PushingReader` for the risk."""
    given: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """All options except storage options, with names in lower case."""

    @property
    def opening(self) -> dict[str, Any]:
        """The arguments for opening the table with `frazil.load_table`."""
        return {"relocate": self.relocate, "storage": self.storage, "allowed_locations": self.allowed_locations}

    @property
    def others(self) -> dict[str, str]:
        """The format-specific options."""
        return {name: value for name, value in self.given.items() if name not in COMMON_OPTIONS}


def parse(options: Mapping[str, str]) -> ReadOptions:
    """Parse the options common to all formats; names are case-insensitive.

    Raises:
        InvalidArgumentError: An option does not apply, or contradicts another option.
        UnsupportedError: Spark added an option for a feature that frazil does not support.
    """
    lower = {name.lower(): value for name, value in options.items()}
    storage = {name: value for name, value in lower.items() if _native.is_storage_option(name)}
    given = {name: value for name, value in lower.items() if name not in storage}
    for name, why in _UNSUPPORTED.items():
        if name in given:
            _refuse(name, why)
    if "path" not in given:
        message = "the table is not specified: call `load` with its folder or metadata file, or set the option `path`"
        hint = "CREATE TABLE … USING frazil accepts a LOCATION or the option `path`, but no columns"
        raise InvalidArgumentError(message, hint=hint)
    exclude(given, *SNAPSHOT_OPTIONS)
    return ReadOptions(
        path=given["path"],
        metadata_table=given.get("inspect"),
        format=given.get("format"),
        snapshot=_snapshot(given),
        branch=given.get("branch"),
        split_bytes=number(given, "split-size", least=1),
        open_cost_bytes=number(given, "file-open-cost", least=0),
        row_filter=given.get("row-filter", ""),
        columns=_columns(given),
        case_sensitive=flag(given, "case-sensitive", default=True),
        limit=number(given, "limit", least=0),
        batch_rows=number(given, "batch-size", least=1),
        relocate=_relocate(given),
        allowed_locations=tuple(listed_locations(given.get("allowed-locations", ""))),
        storage=storage,
        timestamp_ns=_choice(given, "timestamp-ns-mode", NS_MODES),
        pushdown=flag(given, "pushdown", default=False),
        given=given,
    )


def check_names(names: Iterable[str], known: Iterable[str], unsupported: Mapping[str, str]) -> None:
    """Check that all format-specific options are known; a key of `unsupported` that ends with `*` is a prefix.

    Raises:
        InvalidArgumentError: The format does not have an option.
        UnsupportedError: frazil does not support an option of Spark's connector for the format.
    """
    offered = (*COMMON_OPTIONS, *known)
    for name in names:
        why = unsupported.get(name)
        if why is None:
            prefixes = (prefix for prefix in unsupported if prefix.endswith("*") and name.startswith(prefix[:-1]))
            why = next((unsupported[prefix] for prefix in prefixes), None)
        if why is not None:
            _refuse(name, why)
        if name not in offered:
            near = difflib.get_close_matches(name, offered, 1)
            message = f"unknown option `{name}`" + (f": did you mean `{_shown(near[0])}`?" if near else "")
            raise InvalidArgumentError(
                message, hint="the options are " + ", ".join(_shown(option) for option in offered)
            )


def snapshot_arguments(asked: ReadOptions) -> dict[str, Any]:
    """Return the arguments that select a snapshot in scans and metadata tables."""
    match asked.snapshot:
        case None:
            return {} if asked.branch is None else {"ref": asked.branch}
        case ("id", value):
            return {"snapshot_id": value}
        case ("as_of", value):
            return {"as_of": value}
        case ("version", value) if value.isdecimal():
            return {"snapshot_id": int(value)}
        case (_, value):
            return {"ref": value}


def exclude(given: Mapping[str, str], *names: str) -> None:
    """Check that at most one of the named options is set.

    Raises:
        InvalidArgumentError: More than one of the options is set.
    """
    both = [f"`{_shown(name)}`" for name in names if name in given]
    if len(both) > 1:
        message = f"the options {' and '.join(both)} are mutually exclusive"
        raise InvalidArgumentError(message)


def number(given: Mapping[str, str], name: str, least: int | None = None) -> int | None:
    """Return an option as a 64-bit integer; None if it is not set.

    Raises:
        InvalidArgumentError: The value is not an integer, or is below `least`.
    """
    text = given.get(name)
    if text is None:
        return None
    try:
        found = int(text)
    except ValueError:
        found = None
    if found is None or not -(1 << 63) <= found < 1 << 63 or (least is not None and found < least):
        expected = "a number" if least is None else f"a number from {least}"
        message = f"option `{name}` is {text!r}, expected {expected}"
        raise InvalidArgumentError(message)
    return found


def split_names(text: str) -> list[str]:
    """Split names at commas; a name that contains a comma or a quote must be in double quotes or backquotes.

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
            message = f"columns must be separated by commas, not {rest!r} (in {text!r})"
            raise InvalidArgumentError(message)
        rest = rest[1:]


def quote_name(name: str) -> str:
    """Quote a name so that `split_names` returns it unchanged.

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
            message = f"a column name is missing in {whole!r}"
            raise InvalidArgumentError(message)
        return name.strip(), comma + rest
    end = 1
    while (end := text.find(quote, end)) >= 0:
        if text[end + 1 : end + 2] != quote:
            return text[1:end].replace(quote * 2, quote), text[end + 1 :].lstrip()
        end += 2
    message = f"a quote is not closed in {whole!r}"
    raise InvalidArgumentError(message)


def _refuse(name: str, why: str) -> NoReturn:
    message = f"option `{name}`: {why}"
    raise UnsupportedError(message)


def _shown(name: str) -> str:
    return _SHOWN.get(name, name)


def _snapshot(given: Mapping[str, str]) -> tuple[str, Any] | None:
    name = next((name for name in SNAPSHOT_OPTIONS if name in given), None)
    match name:
        case None:
            return None
        case "snapshot-id":
            return "id", number(given, name)
        case "as-of-timestamp":
            return "as_of", number(given, name)
        case "timestampasof":
            return "as_of", _timestamp_ms(given[name])
        case "versionasof":
            return "version", given[name]
    return name, given[name]


def flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Return a Boolean option.

    Raises:
        InvalidArgumentError: The value is neither true nor false.
    """
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        message = f"option `{name}` is {text!r}, expected true or false"
        raise InvalidArgumentError(message)
    return text == "true"


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    text = given.get(name, choices[0]).lower()
    if text not in choices:
        message = f"option `{name}` is {text!r}, expected one of {', '.join(choices)}"
        raise InvalidArgumentError(message)
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
        raise InvalidArgumentError(message, hint="pass milliseconds since the epoch as `as-of-timestamp`") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)


def _relocate(given: Mapping[str, str]) -> dict[str, str]:
    text = given.get("relocate", "{}")
    try:
        places = json.loads(text)
    except ValueError as error:
        message = f"option `relocate` is not valid JSON: {error}"
        raise InvalidArgumentError(message) from None
    if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
        message = (
            'option `relocate` must be a JSON object of recorded prefixes and locations, as {"hdfs://nn/t": "/data/t"}'
        )
        raise InvalidArgumentError(message)
    return places
