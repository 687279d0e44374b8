"""The procedures of Iceberg (Java) 1.11, which are called in the namespace `system`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.sql._changelog_view import create_changelog_view
from frazil.sql._procedure_filters import file_filter
from frazil.sql._procedure_types import Parameter, Procedure, by_name, on_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from frazil.sql._procedure_types import Context, Rows

__all__ = ["PROCEDURES"]

_ELSEWHERE = "call it in a Spark session with Iceberg's own catalog"
_COPY = "copy the rows with CREATE TABLE … AS SELECT"


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
    staged = [one.snapshot_id for one in table.snapshots() if one.summary.get("wap.id") == given["wap_id"]]
    if len(staged) > 1:
        message = f"several snapshots have the WAP id {given['wap_id']!r}"
        hint = f"call cherrypick_snapshot with one of the snapshots {', '.join(map(str, staged))}"
        raise InvalidArgumentError(message, hint=hint)
    table.manage_snapshots().publish_changes(given["wap_id"]).commit()
    return [(staged[-1], _head(table))]


def _fast_forward(table: Any, given: Mapping[str, Any]) -> Rows:
    before = table.snapshot_by_name(given["branch"])
    table.manage_snapshots().fast_forward(given["branch"], given["to"]).commit()
    after = table.snapshot_by_name(given["branch"])
    return [(given["branch"], None if before is None else before.snapshot_id, after.snapshot_id)]


def _ancestors(table: Any, given: Mapping[str, Any]) -> Rows:
    return [(one.snapshot_id, one.timestamp_ms) for one in table.ancestors_of(given.get("snapshot_id"))]


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
    if not given["dry_run"]:
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
"""The options of `rewrite_data_files` that affect its result, with the parsers of their values."""

_REWRITE_IGNORED = (
    "max-concurrent-file-group-rewrites",
    "partial-progress.enabled",
    "remove-dangling-deletes",
    "rewrite-job-order",
    "shuffle-partitions-per-file",
    "use-starting-sequence-number",
)
"""The options that only tune the Java implementation, or that request the default behaviour."""


def _rewrite(context: Context, given: Mapping[str, Any]) -> Rows:
    table = context.table(given["table"])
    strategy = given["strategy"].lower()
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
    branch, where = given.get("branch", "main"), given.get("where")
    row_filter = file_filter(where, table.scan().schema(), context) if where else True
    done = table.rewrite_data_files(row_filter, branch=branch, **options).apply()
    not_rewritten = done.refused_files + done.failed_files
    return [(done.rewritten_files, done.added_files, done.rewritten_bytes, not_rewritten, done.removed_delete_files)]


_ARGUMENTS = {"partial-progress.max-commits": "max_commits"}


def _register(context: Context, given: Mapping[str, Any]) -> Rows:
    table = context.catalog.catalog.register_table(context.levels(given["table"]), given["metadata_file"])
    snapshot = table.current_snapshot()
    summary = {} if snapshot is None else snapshot.summary
    counts = (summary.get("total-records"), summary.get("total-data-files"))
    return [(_head(table), *(None if count is None else int(count) for count in counts))]


_TABLE = Parameter("table", "string", required=True)
_SNAPSHOT = Parameter("snapshot_id", "bigint", required=True)
_OPTIONAL_SNAPSHOT = Parameter("snapshot_id", "bigint")
_OPTIONS = Parameter("options", "map<string,string>")
_WHERE = Parameter("where", "string")
_DELETES = Parameter("max_concurrent_deletes", "int", support="tuning")
_STREAM = Parameter("stream_results", "boolean", default=False, support="tuning")
_PARALLELISM = Parameter("parallelism", "int", support="tuning")
_PROPERTIES = Parameter("properties", "map<string,string>")
_MOVED = ("previous_snapshot_id bigint NOT NULL", "current_snapshot_id bigint NOT NULL")
_PICKED = ("source_snapshot_id bigint NOT NULL", "current_snapshot_id bigint NOT NULL")

PROCEDURES = by_name(
    Procedure(
        name="rollback_to_snapshot",
        parameters=(_TABLE, _SNAPSHOT),
        columns=_MOVED,
        act=on_table(lambda table, given: _moved(table, lambda refs: refs.rollback_to_snapshot(given["snapshot_id"]))),
    ),
    Procedure(
        name="rollback_to_timestamp",
        parameters=(_TABLE, Parameter("timestamp", "timestamp", required=True)),
        columns=_MOVED,
        act=on_table(lambda table, given: _moved(table, lambda refs: refs.rollback_to_timestamp(given["timestamp"]))),
    ),
    Procedure(
        name="set_current_snapshot",
        parameters=(_TABLE, _OPTIONAL_SNAPSHOT, Parameter("ref", "string")),
        columns=("previous_snapshot_id bigint", "current_snapshot_id bigint NOT NULL"),
        act=on_table(_set_current),
    ),
    Procedure(name="cherrypick_snapshot", parameters=(_TABLE, _SNAPSHOT), columns=_PICKED, act=on_table(_cherry_pick)),
    Procedure(
        name="publish_changes",
        parameters=(_TABLE, Parameter("wap_id", "string", required=True)),
        columns=_PICKED,
        act=on_table(_publish),
    ),
    Procedure(
        name="fast_forward",
        parameters=(
            _TABLE,
            Parameter("branch", "string", required=True),
            Parameter("to", "string", required=True),
        ),
        columns=("branch_updated string NOT NULL", "previous_ref bigint", "updated_ref bigint NOT NULL"),
        act=on_table(_fast_forward),
    ),
    Procedure(
        name="ancestors_of",
        parameters=(_TABLE, _OPTIONAL_SNAPSHOT),
        columns=("snapshot_id bigint", "timestamp bigint"),
        act=on_table(_ancestors),
    ),
    Procedure(
        name="expire_snapshots",
        parameters=(
            _TABLE,
            Parameter("older_than", "timestamp"),
            Parameter("retain_last", "int"),
            _DELETES,
            _STREAM,
            Parameter("snapshot_ids", "array<bigint>"),
            Parameter("clean_expired_metadata", "boolean", default=False, support="no"),
        ),
        columns=(
            "deleted_data_files_count bigint",
            "deleted_position_delete_files_count bigint",
            "deleted_equality_delete_files_count bigint",
            "deleted_manifest_files_count bigint",
            "deleted_manifest_lists_count bigint",
            "deleted_statistics_files_count bigint",
        ),
        act=on_table(_expire),
    ),
    Procedure(
        name="remove_orphan_files",
        parameters=(
            _TABLE,
            Parameter("older_than", "timestamp"),
            Parameter("location", "string"),
            Parameter("dry_run", "boolean", default=False),
            _DELETES,
            Parameter("file_list_view", "string", support="no"),
            Parameter("equal_schemes", "map<string,string>", support="no"),
            Parameter("equal_authorities", "map<string,string>", support="no"),
            Parameter("prefix_mismatch_mode", "string", default="ERROR", support="no"),
            Parameter("prefix_listing", "boolean", default=False, support="tuning"),
            _STREAM,
        ),
        columns=("orphan_file_location string NOT NULL",),
        act=on_table(_orphans),
    ),
    Procedure(
        name="rewrite_data_files",
        parameters=(
            _TABLE,
            Parameter("strategy", "string", default="binpack"),
            Parameter("sort_order", "string"),
            _OPTIONS,
            _WHERE,
            Parameter("branch", "string"),
        ),
        columns=(
            "rewritten_data_files_count int NOT NULL",
            "added_data_files_count int NOT NULL",
            "rewritten_bytes_count bigint NOT NULL",
            "failed_data_files_count int NOT NULL",
            "removed_delete_files_count int NOT NULL",
        ),
        act=_rewrite,
    ),
    Procedure(
        name="register_table",
        parameters=(_TABLE, Parameter("metadata_file", "string", required=True)),
        columns=("current_snapshot_id bigint", "total_records_count bigint", "total_data_files_count bigint"),
        act=_register,
    ),
    Procedure(
        name="create_changelog_view",
        parameters=(
            _TABLE,
            Parameter("changelog_view", "string"),
            _OPTIONS,
            Parameter("compute_updates", "boolean"),
            Parameter("identifier_columns", "array<string>"),
            Parameter("net_changes", "boolean", default=False),
        ),
        columns=("changelog_view string NOT NULL",),
        act=create_changelog_view,
    ),
    Procedure(
        name="rewrite_manifests",
        parameters=(
            _TABLE,
            Parameter("use_caching", "boolean", support="tuning"),
            Parameter("spec_id", "int"),
            Parameter("sort_by", "array<string>"),
        ),
        columns=("rewritten_manifests_count int NOT NULL", "added_manifests_count int NOT NULL"),
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="rewrite_position_delete_files",
        parameters=(_TABLE, _OPTIONS, _WHERE),
        columns=(
            "rewritten_delete_files_count int NOT NULL",
            "added_delete_files_count int NOT NULL",
            "rewritten_bytes_count bigint NOT NULL",
            "added_bytes_count bigint NOT NULL",
        ),
        instead="use rewrite_data_files with the option delete-file-threshold, which removes deletes",
    ),
    Procedure(
        name="compute_table_stats",
        parameters=(_TABLE, _OPTIONAL_SNAPSHOT, Parameter("columns", "array<string>")),
        columns=("statistics_file string",),
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="compute_partition_stats",
        parameters=(_TABLE, _OPTIONAL_SNAPSHOT),
        columns=("partition_statistics_file string",),
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="add_files",
        parameters=(
            _TABLE,
            Parameter("source_table", "string", required=True),
            Parameter("partition_filter", "map<string,string>"),
            Parameter("check_duplicate_files", "boolean", default=True),
            Parameter("parallelism", "int", default=1, support="tuning"),
        ),
        columns=("added_files_count bigint NOT NULL", "changed_partition_count bigint"),
        instead="read the files with Spark, and write the rows with INSERT",
    ),
    Procedure(
        name="snapshot",
        parameters=(
            Parameter("source_table", "string", required=True),
            _TABLE,
            Parameter("location", "string"),
            _PROPERTIES,
            _PARALLELISM,
        ),
        columns=("imported_files_count bigint NOT NULL",),
        instead=_COPY,
    ),
    Procedure(
        name="migrate",
        parameters=(
            _TABLE,
            _PROPERTIES,
            Parameter("drop_backup", "boolean", default=False),
            Parameter("backup_table_name", "string"),
            _PARALLELISM,
        ),
        columns=("migrated_files_count bigint NOT NULL",),
        instead=f"tables of Spark's session catalog cannot be replaced; {_COPY}",
    ),
    Procedure(
        name="rewrite_table_path",
        parameters=(
            _TABLE,
            Parameter("source_prefix", "string", required=True),
            Parameter("target_prefix", "string", required=True),
            Parameter("start_version", "string"),
            Parameter("end_version", "string"),
            Parameter("staging_location", "string"),
            Parameter("create_file_list", "boolean", default=True),
        ),
        columns=(
            "latest_version string",
            "file_list_location string",
            "rewritten_manifest_file_paths_count int",
            "rewritten_delete_file_paths_count int",
        ),
        instead=_ELSEWHERE,
    ),
)
"""The procedures by name."""
