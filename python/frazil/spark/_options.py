"""The options of a read, as text that Spark hands over: what every format has, the rest left to the format.

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
"""What becomes of timestamps with nanoseconds, which Spark lacks."""

READ_LANES = ("auto", "arrow", "native")
"""Who reads data files in `frazil.spark.read`: whoever is faster; always frazil; Spark, required columns too."""

NATIVE_FILES = "native-files"
"""The option by which `frazil.spark.read` names the data files that Spark reads itself."""

READ_SNAPSHOT = "read-snapshot"
"""The option by which plans of Spark name the table, the branch and the snapshot that frazil read."""

SNAPSHOT_OPTIONS = ("snapshot-id", "as-of-timestamp", "tag", "ref", "versionasof", "timestampasof")
"""Options of which at most one is given."""

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
)
"""Options that tables of every format take, as they are compared."""

_UNSUPPORTED = {
    "paths": "one read is of one table; give one path and union the DataFrames",
}
_SHOWN = {"versionasof": "versionAsOf", "timestampasof": "timestampAsOf"}


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """What is asked of a table."""

    path: str
    """The folder or metadata file of the table, perhaps with `$` and the name of a metadata table."""
    format: str | None = None
    """`iceberg` or `paimon`; None to look."""
    metadata_table: str | None = None
    """The metadata table that is read; None for the rows of the table, or what `path` says."""
    snapshot: tuple[str, Any] | None = None
    """`("id", 1)`, `("as_of", ms)`, `("tag", "name")`, `("ref", "tag or branch")` or `("version", "text")`."""
    branch: str | None = None
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
    allowed_locations: tuple[str, ...] = ()
    """Locations that the table may access besides its own."""
    storage: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Options of the storage, perhaps secret."""
    timestamp_ns: str = "error"
    """One of `NS_MODES`."""
    pushdown: bool = False
    """Whether Spark may push filters; see `frazil.spark._source.PushingReader` for the danger."""
    given: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """All options but those of the storage, their names in lower case."""

    @property
    def opening(self) -> dict[str, Any]:
        """The arguments with which `frazil.load_table` opens the table."""
        return {"relocate": self.relocate, "storage": self.storage, "allowed_locations": self.allowed_locations}

    @property
    def others(self) -> dict[str, str]:
        """The options that only one format has."""
        return {name: value for name, value in self.given.items() if name not in COMMON_OPTIONS}


def parse(options: Mapping[str, str]) -> ReadOptions:
    """Check the options that every format has; names are compared without case.

    Raises:
        InvalidArgumentError: An option that has no meaning, or contradicts another one.
        UnsupportedError: An option that Spark adds where it does something that frazil does not have.
    """
    lower = {name.lower(): value for name, value in options.items()}
    storage = {name: value for name, value in lower.items() if _native.is_storage_option(name)}
    given = {name: value for name, value in lower.items() if name not in storage}
    for name, why in _UNSUPPORTED.items():
        if name in given:
            _refuse(name, why)
    if "path" not in given:
        message = "the table is not named: call `load` with its folder or metadata file, or give the option `path`"
        hint = "CREATE TABLE … USING frazil takes a LOCATION or the option `path`, and no columns"
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
    """Check that options beside the common ones are known; a key of `unsupported` that ends with `*` is a prefix.

    Raises:
        InvalidArgumentError: An option that the format does not have.
        UnsupportedError: An option of Spark's connector for the format that frazil does not have.
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
    """Return the arguments that choose a snapshot in scans and metadata tables."""
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
    """Check that at most one of these options is given.

    Raises:
        InvalidArgumentError: There are two.
    """
    both = [f"`{_shown(name)}`" for name in names if name in given]
    if len(both) > 1:
        message = f"the options {' and '.join(both)} exclude each other"
        raise InvalidArgumentError(message)


def number(given: Mapping[str, str], name: str, least: int | None = None) -> int | None:
    """Give an option as a number of 64 bits; None where it is not given.

    Raises:
        InvalidArgumentError: It is no number, or below `least`.
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
            raise InvalidArgumentError(message)
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
            raise InvalidArgumentError(message)
        return name.strip(), comma + rest
    end = 1
    while (end := text.find(quote, end)) >= 0:
        if text[end + 1 : end + 2] != quote:
            return text[1:end].replace(quote * 2, quote), text[end + 1 :].lstrip()
        end += 2
    message = f"a quote is not closed in the columns {whole!r}"
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
    """Return an option that is true or false.

    Raises:
        InvalidArgumentError: It is neither.
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
        raise InvalidArgumentError(message, hint="milliseconds since the epoch go into `as-of-timestamp`") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)


def _relocate(given: Mapping[str, str]) -> dict[str, str]:
    text = given.get("relocate", "{}")
    try:
        places = json.loads(text)
    except ValueError as error:
        message = f"option `relocate` is no JSON: {error}"
        raise InvalidArgumentError(message) from None
    if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
        message = 'option `relocate` is a JSON object of recorded prefixes and places, as {"hdfs://nn/t": "/data/t"}'
        raise InvalidArgumentError(message)
    return places
