"""The procedures of CALL: their arguments, actions and result rows, compatible with Iceberg (Java)."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.sql._lexer import invalid, unsupported
from frazil.sql._reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from frazil.sql._names import LakeCatalog, Names, Resolved
    from frazil.sql._reader import Text
    from frazil.sql._statements import Call

    Rows = list[tuple[Any, ...]]

__all__ = ["PROCEDURES", "Procedure", "arguments", "procedure", "typed"]

Kind = Literal["string", "bigint", "boolean", "timestamp", "map<string,string>", "array<bigint>"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a procedure."""

    name: str
    kind: Kind
    required: bool = False


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure. `act` receives the table and the arguments that are not NULL, by name, and returns the rows.

    If it `creates` the table, `act` receives the catalog instead, and the name of the table as the argument `levels`.
    """

    parameters: tuple[Parameter, ...]
    columns: tuple[str, ...]
    act: Callable[[Any, Mapping[str, Any]], Rows]
    creates: bool = False

    def run(self, names: Names, catalog: LakeCatalog, given: Mapping[str, Any]) -> Rows:
        """Run the procedure on the table given in the arguments."""
        found = {name: value for name, value in given.items() if value is not None}
        missing = next((one.name for one in self.parameters if one.required and one.name not in found), None)
        if missing is not None:
            message = f"the argument {missing} must not be NULL"
            raise InvalidArgumentError(message)
        levels = _levels(names, catalog, found.pop("table"))
        if self.creates:
            return self.act(catalog.catalog, {**found, "levels": levels})
        return self.act(catalog.catalog.load_table(levels), found)


def _levels(names: Names, catalog: LakeCatalog, name: str) -> tuple[str, ...]:
    """Return the name of a table in the procedure's catalog; the catalog's own name may precede it."""
    reader = Reader(name)
    parts = reader.name("the name of a table").parts
    reader.end()
    if len(parts) > 1 and parts[0] == catalog.name:
        return parts[1:]
    return (*names.namespace, *parts) if len(parts) == 1 and names.current is catalog else parts


def procedure(where: Resolved, text: str, start: int) -> Procedure:
    """Return a procedure by its name in a catalog, such as `system.expire_snapshots`.

    Raises:
        InvalidArgumentError: The procedure does not exist; the error lists similar ones.
        UnsupportedError: The catalog does not contain Iceberg tables.
    """
    name = where.levels[-1].lower()
    if where.catalog.format != "iceberg":
        hint = 'for a Paimon table use lake.table("…").compact()'
        raise unsupported(text, start, "CALL is not supported in Paimon catalogs", hint)
    if len(where.levels) == 2 and where.levels[0].lower() == "system" and name in PROCEDURES:  # noqa: PLR2004
        return PROCEDURES[name]
    if name in _LATER:
        raise unsupported(text, start, f"the procedure {name} is not supported", _LATER[name])
    near = difflib.get_close_matches(name, PROCEDURES, n=3)
    hint = f"use {where.catalog.name}.system.<name>; the names are {', '.join(near or PROCEDURES)}"
    raise invalid(text, start, f"unknown procedure {'.'.join(where.levels)}", hint)


def arguments(found: Procedure, statement: Call, text: str) -> dict[str, tuple[Kind, Text]]:
    """Return the arguments of a CALL by parameter name.

    Raises:
        InvalidArgumentError: A name is unknown or specified twice, there are too many arguments, or one is missing.
    """
    given: dict[str, tuple[Kind, Text]] = {}
    names = ", ".join(parameter.name for parameter in found.parameters)
    is_named = False
    for place, argument in enumerate(statement.arguments):
        is_named = is_named or argument.name is not None
        if argument.name is None and (is_named or place >= len(found.parameters)):
            problem = "a positional argument follows a named one" if is_named else "too many arguments"
            raise invalid(text, argument.value.start, problem, f"the parameters are {names}")
        wanted = found.parameters[place].name if argument.name is None else argument.name.lower()
        parameter = next((one for one in found.parameters if one.name == wanted), None)
        if parameter is None:
            raise invalid(text, argument.value.start, f"unknown parameter {wanted}", f"the parameters are {names}")
        if parameter.name in given:
            raise invalid(text, argument.value.start, f"the argument {wanted} is specified twice")
        given[parameter.name] = (parameter.kind, argument.value)
    missing = next((one.name for one in found.parameters if one.required and one.name not in given), None)
    if missing is not None:
        problem = f"the argument {missing} is missing"
        raise invalid(text, statement.procedure.start, problem, f"the parameters are {names}")
    return given


def typed(kind: Kind, expression: str) -> str:
    """Return an expression cast to the type of its parameter; timestamps become milliseconds since the epoch.

    >>> typed("bigint", "5"), typed("timestamp", "'2024-02-29'")
    ('CAST((5) AS bigint)', "unix_millis(CAST(('2024-02-29') AS timestamp))")
    """
    cast = f"CAST(({expression}) AS {kind})"
    return f"unix_millis({cast})" if kind == "timestamp" else cast


# The actions of the procedures


def _head(table: Any) -> int | None:
    snapshot = table.current_snapshot()
    return None if snapshot is None else int(snapshot.snapshot_id)


def _moved(table: Any, change: Callable[[Any], Any]) -> Rows:
    before = _head(table)
    change(table.manage_snapshots()).commit()
    return [(before, _head(table))]


def _set_current(table: Any, given: Mapping[str, Any]) -> Rows:
    if ("snapshot_id" in given) == ("ref" in given):
        message = "set_current_snapshot requires either snapshot_id or ref"
        raise InvalidArgumentError(message)
    return _moved(table, lambda refs: refs.set_current_snapshot(given.get("snapshot_id"), ref_name=given.get("ref")))


def _cherry_pick(table: Any, given: Mapping[str, Any]) -> Rows:
    table.manage_snapshots().cherry_pick(given["snapshot_id"]).commit()
    return [(given["snapshot_id"], _head(table))]


def _publish(table: Any, given: Mapping[str, Any]) -> Rows:
    wap_id = given["wap_id"]
    found = next((one for one in table.snapshots() if one.summary.get("wap.id") == wap_id), None)
    if found is None:
        message = f"the table has no snapshot with the wap.id {wap_id!r}"
        raise InvalidArgumentError(message)
    return _cherry_pick(table, {"snapshot_id": found.snapshot_id})


def _fast_forward(table: Any, given: Mapping[str, Any]) -> Rows:
    before = table.snapshot_by_name(given["branch"])
    table.manage_snapshots().fast_forward(given["branch"], given["to"]).commit()
    after = table.snapshot_by_name(given["branch"])
    return [(given["branch"], None if before is None else before.snapshot_id, after.snapshot_id)]


def _ancestors(table: Any, given: Mapping[str, Any]) -> Rows:
    by_id = {snapshot.snapshot_id: snapshot for snapshot in table.snapshots()}
    found: Rows = []
    snapshot_id = given.get("snapshot_id", _head(table))
    if snapshot_id is not None and snapshot_id not in by_id:
        message = f"the table has no snapshot {snapshot_id}"
        raise InvalidArgumentError(message)
    while snapshot_id in by_id:
        found.append((snapshot_id, by_id[snapshot_id].timestamp_ms))
        snapshot_id = by_id[snapshot_id].parent_snapshot_id
    return found


def _expire(table: Any, given: Mapping[str, Any]) -> Rows:
    plan = table.expire_snapshots(
        given.get("older_than"), retain_last=given.get("retain_last"), snapshot_ids=given.get("snapshot_ids", ())
    )
    deleted = plan.apply().deleted_files
    kinds = ("data", "position-deletes", "equality-deletes", "manifest", "manifest-list", "statistics")
    return [tuple(deleted.get(kind, 0) for kind in kinds)]


def _orphans(table: Any, given: Mapping[str, Any]) -> Rows:
    plan = table.remove_orphan_files(given.get("older_than"), location=given.get("location"))
    found = [(location,) for location in plan.files["location"].to_pylist()]
    if not given.get("dry_run", False):
        plan.apply()
    return found


_REWRITE_OPTIONS: dict[str, Callable[[str], Any]] = {
    "target-file-size-bytes": int,
    "min-file-size-bytes": int,
    "max-file-size-bytes": int,
    "min-input-files": int,
    "delete-file-threshold": int,
    "delete-ratio-threshold": float,
    "max-file-group-size-bytes": int,
    "rewrite-all": lambda text: text.strip().lower() == "true",
    "partial-progress.max-commits": int,
}
"""The options of `rewrite_data_files` that affect its result, and the parsers of their values."""

_REWRITE_IGNORED = (
    "max-concurrent-file-group-rewrites",
    "partial-progress.enabled",
    "remove-dangling-deletes",
    "rewrite-job-order",
    "shuffle-partitions-per-file",
    "use-starting-sequence-number",
)
"""The options that only tune the Java implementation, or that request the default behaviour."""


def _rewrite(table: Any, given: Mapping[str, Any]) -> Rows:
    strategy = given.get("strategy", "binpack").lower()
    if strategy != "binpack" or "sort_order" in given:
        message = f"rewrite_data_files supports only binpack without a sort order (strategy {strategy!r})"
        raise UnsupportedError(message, hint="set the sort order of the table: new files are sorted by it")
    options = {}
    for name, text in given.get("options", {}).items():
        if name in _REWRITE_IGNORED:
            continue
        if name not in _REWRITE_OPTIONS:
            near = difflib.get_close_matches(name, [*_REWRITE_OPTIONS, *_REWRITE_IGNORED], n=1)
            message = f"rewrite_data_files has no option {name!r}"
            raise InvalidArgumentError(message, hint=f"the options are {', '.join(near or _REWRITE_OPTIONS)}")
        try:
            options[_ARGUMENTS.get(name, name.replace("-", "_"))] = _REWRITE_OPTIONS[name](text)
        except ValueError:
            message = f"the option {name!r} of rewrite_data_files is {text!r}, expected a number"
            raise InvalidArgumentError(message) from None
    if given.get("options", {}).get("partial-progress.enabled", "false").lower() != "true":
        options.pop("max_commits", None)
    done = table.rewrite_data_files(given.get("where") or True, **options).apply()
    not_rewritten = done.refused_files + done.failed_files
    return [(done.rewritten_files, done.added_files, done.rewritten_bytes, not_rewritten, done.removed_delete_files)]


_ARGUMENTS = {"partial-progress.max-commits": "max_commits"}


def _register(catalog: Any, given: Mapping[str, Any]) -> Rows:
    table = catalog.register_table(given["levels"], given["metadata_file"])
    snapshot = table.current_snapshot()
    summary = {} if snapshot is None else snapshot.summary
    counts = (summary.get("total-records"), summary.get("total-data-files"))
    return [(_head(table), *(None if count is None else int(count) for count in counts))]


_TABLE = Parameter("table", "string", required=True)
_SNAPSHOT = Parameter("snapshot_id", "bigint", required=True)
_MOVED = ("previous_snapshot_id bigint", "current_snapshot_id bigint")
_PICKED = ("source_snapshot_id bigint", "current_snapshot_id bigint")
_EXPIRED = ("data", "position_delete", "equality_delete", "manifest")

PROCEDURES: dict[str, Procedure] = {
    "rollback_to_snapshot": Procedure(
        (_TABLE, _SNAPSHOT),
        _MOVED,
        lambda table, given: _moved(table, lambda refs: refs.rollback_to_snapshot(given["snapshot_id"])),
    ),
    "rollback_to_timestamp": Procedure(
        (_TABLE, Parameter("timestamp", "timestamp", required=True)),
        _MOVED,
        lambda table, given: _moved(table, lambda refs: refs.rollback_to_timestamp(given["timestamp"])),
    ),
    "set_current_snapshot": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint"), Parameter("ref", "string")), _MOVED, _set_current
    ),
    "cherrypick_snapshot": Procedure((_TABLE, _SNAPSHOT), _PICKED, _cherry_pick),
    "publish_changes": Procedure((_TABLE, Parameter("wap_id", "string", required=True)), _PICKED, _publish),
    "fast_forward": Procedure(
        (_TABLE, Parameter("branch", "string", required=True), Parameter("to", "string", required=True)),
        ("branch_updated", "previous_ref bigint", "updated_ref bigint"),
        _fast_forward,
    ),
    "ancestors_of": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint")), ("snapshot_id bigint", "timestamp bigint"), _ancestors
    ),
    "expire_snapshots": Procedure(
        (
            _TABLE,
            Parameter("older_than", "timestamp"),
            Parameter("retain_last", "bigint"),
            Parameter("max_concurrent_deletes", "bigint"),
            Parameter("stream_results", "boolean"),
            Parameter("snapshot_ids", "array<bigint>"),
        ),
        (
            *(f"deleted_{kind}_files_count bigint" for kind in _EXPIRED),
            "deleted_manifest_lists_count bigint",
            "deleted_statistics_files_count bigint",
        ),
        _expire,
    ),
    "remove_orphan_files": Procedure(
        (
            _TABLE,
            Parameter("older_than", "timestamp"),
            Parameter("location", "string"),
            Parameter("dry_run", "boolean"),
            Parameter("max_concurrent_deletes", "bigint"),
        ),
        ("orphan_file_location",),
        _orphans,
    ),
    "rewrite_data_files": Procedure(
        (
            _TABLE,
            Parameter("strategy", "string"),
            Parameter("sort_order", "string"),
            Parameter("options", "map<string,string>"),
            Parameter("where", "string"),
        ),
        (
            "rewritten_data_files_count int",
            "added_data_files_count int",
            "rewritten_bytes_count bigint",
            "failed_data_files_count int",
            "removed_delete_files_count int",
        ),
        _rewrite,
    ),
    "register_table": Procedure(
        (_TABLE, Parameter("metadata_file", "string", required=True)),
        ("current_snapshot_id bigint", "total_records_count bigint", "total_data_files_count bigint"),
        _register,
        creates=True,
    ),
}
"""The procedures by name."""

_LATER = {
    "add_files": "read the files with Spark, and write their rows with INSERT",
    "compute_partition_stats": None,
    "compute_table_stats": None,
    "create_changelog_view": 'use lake.table("…").changes()',
    "migrate": None,
    "rewrite_manifests": None,
    "rewrite_position_delete_files": "rewrite_data_files with the option delete-file-threshold removes deletes",
    "rewrite_table_path": None,
    "snapshot": None,
}
"""Unsupported procedures of Iceberg (Java), and their alternatives."""
