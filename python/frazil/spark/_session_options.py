"""The options of tables in the settings of a session: `spark.paimon.*` and `spark.sql.iceberg.*`.

`spark.paimon.<option>` applies to all Paimon tables, and `spark.paimon.<catalog>.<database>.<table>.<option>` to tables
with these names, each of which may be `*`. The latter take precedence, and options of a query over both.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING

from frazil.errors import UnsupportedError
from frazil.paimon._options import READ_OPTIONS, chooses_state
from frazil.spark._options import SESSION_OPTIONS, SNAPSHOT_OPTIONS
from frazil.spark._paimon_options import is_option, is_read_option
from frazil.spark._settings import ICEBERG_PREFIX, PAIMON_PREFIX, check_settings, connector_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from frazil.spark._options import ReadOptions

__all__ = [
    "check_paimon_change",
    "iceberg_read_options",
    "merged",
    "paimon_options",
    "session_option",
    "session_values",
    "snapshot_properties",
    "with_session",
]

_NAME_PARTS = 3

# Options of reads that INSERT ignores; the rest of a name is checked by reads.
_OF_READS = re.compile(r"(incremental|read|scan|source)\b")

# Options that affect the files that a write creates or the resources that it needs, but not the rows of the table.
_WITHOUT_ROWS = re.compile(
    r"(async-|avro\.|cache-|commit\.|compaction\.|compression|file\.block-size$|file\.compression|file\.format$|"
    r"full-compaction\.|local-sort|lookup\.|lookup-|manifest\.|num-|orc\.|page-size$|parquet\.|query-auth|"
    r"read\.batch-size$|sink\.|snapshot\.clean|sort-|spill-|stats-|metadata\.stats|target-file-size$|"
    r"write-buffer|write-manifest-cache$|write-max-writers|write-only$|write\.batch-memory$|write\.batch-size$|zorder)"
)


def session_values(spark: SparkSession, *prefixes: str) -> dict[str, str]:
    """Return the settings of a session whose names have one of the prefixes."""
    found = spark.conf.getAll
    return {name: value for name, value in found.items() if name.startswith(prefixes)}


def paimon_options(values: Mapping[str, str], name: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the options that settings select for a Paimon table, without those of the connector.

    Args:
        values: The settings.
        name: The catalog, the database and the table; empty for a table that was opened by its location.

    >>> values = {"spark.paimon.scan.snapshot-id": "1", "spark.paimon.*.d.t.scan.snapshot-id": "2"}
    >>> values["spark.paimon.c.d.other.scan.snapshot-id"] = "3"
    >>> paimon_options(values, ("c", "d", "t")), paimon_options(values)
    ({'scan.snapshot-id': '2'}, {'scan.snapshot-id': '1'})
    """
    general, own = {}, {}
    parts = "\\.".join(f"({re.escape(part)}|\\*)" for part in name)
    pattern = re.compile(rf"{parts}\.(.+)") if len(name) == _NAME_PARTS else None
    for setting, value in values.items():
        if not setting.startswith(PAIMON_PREFIX) or connector_options(setting):
            continue
        option = setting.removeprefix(PAIMON_PREFIX)
        found = None if pattern is None else pattern.fullmatch(option)
        if found is not None:
            *levels, option = found.groups()
            own[levels.count("*"), option] = value
        elif not _is_of_another_table(option):
            general[option] = value
    # If several settings match, the one with the fewest wildcards applies.
    return general | {option: own[key] for key in sorted(own, reverse=True) for option in (key[1],)}


def _is_of_another_table(option: str) -> bool:
    """Return whether an option applies to a table, because it is not an option and ends with one."""
    parts = option.lower().split(".")
    # The name of a table may contain dots.
    ends = [".".join(parts[place:]) for place in range(_NAME_PARTS, len(parts))]
    if not ends:
        return False
    if "*" in parts[:_NAME_PARTS] or any(map(is_read_option, ends)):
        return True
    return any(map(is_option, ends)) and not is_option(option.lower())


def merged(session: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a session with those of a query, which take precedence.

    If the query selects a snapshot, a branch or changes, no option of the session does.
    """
    session = {name.lower(): value for name, value in session.items()}
    if selects_state(given):
        session = {name: value for name, value in session.items() if name not in READ_OPTIONS}
    return {**session, **given}


def selects_state(given: Iterable[str]) -> bool:
    """Return whether options of a query select a snapshot, a branch or changes."""
    names = [name.lower() for name in given]
    return chooses_state(names) or any(name == "branch" or name in SNAPSHOT_OPTIONS for name in names)


def session_option(spark: SparkSession, name: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the option that passes the settings `spark.paimon.*` to a read; empty if there are none.

    `name` contains the catalog, the database and the table, or is empty.
    """
    values = session_values(spark, PAIMON_PREFIX)
    return {SESSION_OPTIONS: json.dumps({"values": values, "name": name}, sort_keys=True)} if values else {}


def with_session(asked: ReadOptions) -> ReadOptions:
    """Return the options of a read of a Paimon table with those of the session.

    Raises:
        UnsupportedError: A setting would change the rows, and is not supported.
    """
    text = asked.given.get(SESSION_OPTIONS)
    if text is None:
        return asked
    session = json.loads(text)
    check_settings(session["values"], PAIMON_PREFIX, "read")
    given = merged(paimon_options(session["values"], tuple(session["name"])), asked.given)
    return dataclasses.replace(asked, given=given, branch=given.get("branch"))


def check_paimon_change(values: Mapping[str, str], name: tuple[str, ...], *, reads: bool) -> str | None:
    """Check the settings for a change of a Paimon table, and return the branch that they select.

    `reads` is whether the change selects existing rows.

    Raises:
        UnsupportedError: A setting would change the rows, and is not supported.
    """
    check_settings(values, PAIMON_PREFIX, "write")
    options = paimon_options(values, name)
    branch = options.pop("branch", None)
    for option in options:
        if _OF_READS.match(option):
            problem = "changes of rows" if reads and (option in READ_OPTIONS or chooses_state([option])) else ""
        else:
            problem = "" if _WITHOUT_ROWS.match(option) else "writes"
        if problem:
            message = f"the option `{option}` of the settings `{PAIMON_PREFIX}*` is not supported for {problem}"
            raise UnsupportedError(message, hint="unset it, or set it as an option of the table")
    return branch


def iceberg_read_options(spark: SparkSession) -> dict[str, str]:
    """Return the options of a session for reads of Iceberg tables."""
    size = spark.conf.get(f"{ICEBERG_PREFIX}read.split-size", None)
    return {} if size is None else {"split-size": size}


def snapshot_properties(values: Mapping[str, str]) -> dict[str, str]:
    """Return the entries for the summaries of new Iceberg snapshots."""
    prefix = f"{ICEBERG_PREFIX}snapshot-property."
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
