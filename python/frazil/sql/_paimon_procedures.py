"""The procedures of Paimon (Java) 1.4, which are called in the namespace `sys`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.errors import InvalidArgumentError
from frazil.paimon import ObjectTable
from frazil.sql._paimon_compact import compact, compact_database, compact_manifest, rescale
from frazil.sql._paimon_maintenance import (
    clear_consumers,
    create_tag_from_timestamp,
    expire_partitions,
    expire_snapshots,
    expire_tags,
    mark_partition_done,
    purge_files,
    remove_orphan_files,
    reset_consumer,
    rollback,
    rollback_to_timestamp,
    rollback_to_watermark,
    table_of,
)
from frazil.sql._procedure_types import Parameter, Procedure, by_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.paimon._manage_snapshots import ManageSnapshots
    from frazil.sql._procedure_types import Context, Rows

__all__ = ["PROCEDURES"]

_ELSEWHERE = "call it in a Spark session with Paimon's own catalog"
_COPY = "copy the rows with CREATE TABLE … AS SELECT"

_TABLE = Parameter("table", "string", required=True)
_TAG = Parameter("tag", "string", required=True)
_BRANCH = Parameter("branch", "string", required=True)
_FUNCTION = Parameter("function", "string", required=True)
_OPTIONS = Parameter("options", "string")
_PARTITIONS = Parameter("partitions", "string")
_WHERE = Parameter("where", "string")
_PARALLELISM = Parameter("parallelism", "int", support="tuning")
_RETAINED = Parameter("time_retained", "string")
_SNAPSHOT = Parameter("snapshot", "bigint")
_RESULT = ("result boolean",)
_MOVED = ("previous_snapshot_id bigint NOT NULL", "current_snapshot_id bigint NOT NULL")


def _refresh(context: Context, given: Mapping[str, Any]) -> Rows:
    table = context.table(given["table"])
    if not isinstance(table, ObjectTable):
        message = f"refresh_object_table: {given['table']} is not an object table"
        raise InvalidArgumentError(message)
    table.refresh()
    return [(True,)]


def _references(context: Context, given: Mapping[str, Any]) -> ManageSnapshots:
    return table_of(context, given).manage_snapshots()


def _create_tag(context: Context, given: Mapping[str, Any]) -> Rows:
    references = _references(context, given)
    references.create_tag(given.get("snapshot"), given["tag"], time_retained=given.get("time_retained")).commit()
    return [(True,)]


def _replace_tag(context: Context, given: Mapping[str, Any]) -> Rows:
    references = _references(context, given)
    references.replace_tag(given["tag"], given.get("snapshot"), time_retained=given.get("time_retained")).commit()
    return [(True,)]


def _rename_tag(context: Context, given: Mapping[str, Any]) -> Rows:
    _references(context, given).rename_tag(given["tag"], given["target_tag"]).commit()
    return [(True,)]


def _delete_tag(context: Context, given: Mapping[str, Any]) -> Rows:
    references = _references(context, given)
    for name in _names(given["tag"]):
        references.remove_tag(name)
    references.commit()
    return [(True,)]


def _create_branch(context: Context, given: Mapping[str, Any]) -> Rows:
    table = table_of(context, given)
    is_optional = str(given.get("ignoreIfExists")).lower() == "true"
    if not (is_optional and given["branch"] in table.branches()):
        table.manage_snapshots().create_branch(given.get("tag"), given["branch"]).commit()
    return [(True,)]


def _delete_branch(context: Context, given: Mapping[str, Any]) -> Rows:
    references = _references(context, given)
    for name in _names(given["branch"]):
        references.remove_branch(name)
    references.commit()
    return [(True,)]


def _rename_branch(context: Context, given: Mapping[str, Any]) -> Rows:
    _references(context, given).rename_branch(given["from_branch"], given["to_branch"]).commit()
    return [(True,)]


def _fast_forward(context: Context, given: Mapping[str, Any]) -> Rows:
    _references(context, given).fast_forward(given["branch"]).commit()
    return [(True,)]


def _names(text: str) -> list[str]:
    """Return names that are separated by commas."""
    return [name.strip() for name in text.split(",")]


PROCEDURES = by_name(
    # A procedure of earlier Paimon releases; since then, each query of an object table lists its files.
    Procedure(name="refresh_object_table", parameters=(_TABLE,), columns=("result boolean",), act=_refresh),
    Procedure(
        name="rollback",
        parameters=(
            _TABLE,
            Parameter("version", "string"),
            _SNAPSHOT,
            Parameter("tag", "string"),
        ),
        columns=_MOVED,
        act=rollback,
    ),
    Procedure(
        name="rollback_to_timestamp",
        parameters=(
            _TABLE,
            Parameter("timestamp", "bigint", required=True),
        ),
        columns=_MOVED,
        act=rollback_to_timestamp,
    ),
    Procedure(
        name="rollback_to_watermark",
        parameters=(
            _TABLE,
            Parameter("watermark", "bigint", required=True),
        ),
        columns=_MOVED,
        act=rollback_to_watermark,
    ),
    Procedure(name="purge_files", parameters=(_TABLE,), columns=("result string",), act=purge_files),
    Procedure(
        name="create_tag",
        parameters=(
            _TABLE,
            _TAG,
            _SNAPSHOT,
            _RETAINED,
        ),
        columns=_RESULT,
        act=_create_tag,
    ),
    Procedure(
        name="replace_tag",
        parameters=(
            _TABLE,
            _TAG,
            _SNAPSHOT,
            _RETAINED,
        ),
        columns=_RESULT,
        act=_replace_tag,
    ),
    Procedure(
        name="rename_tag",
        parameters=(
            _TABLE,
            _TAG,
            Parameter("target_tag", "string", required=True),
        ),
        columns=_RESULT,
        act=_rename_tag,
    ),
    Procedure(
        name="create_tag_from_timestamp",
        parameters=(
            _TABLE,
            _TAG,
            Parameter("timestamp", "bigint"),
            _RETAINED,
        ),
        columns=(
            "tagName string",
            "snapshot bigint",
            "commit_time bigint",
            "watermark string",
        ),
        act=create_tag_from_timestamp,
    ),
    Procedure(
        name="delete_tag",
        parameters=(
            _TABLE,
            _TAG,
        ),
        columns=_RESULT,
        act=_delete_tag,
    ),
    Procedure(
        name="expire_tags",
        parameters=(
            _TABLE,
            Parameter("older_than", "string"),
        ),
        columns=("expired_tags string NOT NULL",),
        act=expire_tags,
    ),
    Procedure(
        name="create_branch",
        parameters=(
            _TABLE,
            _BRANCH,
            Parameter("tag", "string"),
            Parameter("ignoreIfExists", "string"),
        ),
        columns=_RESULT,
        act=_create_branch,
    ),
    Procedure(
        name="create_global_index",
        parameters=(
            _TABLE,
            Parameter("index_column", "string", required=True),
            Parameter("index_type", "string", required=True),
            _PARTITIONS,
            _OPTIONS,
        ),
        columns=_RESULT,
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="drop_global_index",
        parameters=(
            _TABLE,
            Parameter("index_column", "string", required=True),
            Parameter("index_type", "string", required=True),
            _PARTITIONS,
        ),
        columns=_RESULT,
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="delete_branch",
        parameters=(
            _TABLE,
            _BRANCH,
        ),
        columns=_RESULT,
        act=_delete_branch,
    ),
    Procedure(
        name="rename_branch",
        parameters=(
            _TABLE,
            Parameter("from_branch", "string", required=True),
            Parameter("to_branch", "string", required=True),
        ),
        columns=_RESULT,
        act=_rename_branch,
    ),
    Procedure(
        name="compact",
        parameters=(
            _TABLE,
            _PARTITIONS,
            Parameter("compact_strategy", "string", default="full"),
            Parameter("order_strategy", "string", default="none", support="no"),
            Parameter("order_by", "string", support="no"),
            _WHERE,
            Parameter("options", "string", support="no"),
            Parameter("partition_idle_time", "string", support="no"),
        ),
        columns=_RESULT,
        act=compact,
        blank_is_null=True,
    ),
    Procedure(
        name="compact_database",
        parameters=(
            Parameter("including_databases", "string", default=".*"),
            Parameter("including_tables", "string", default=".*"),
            Parameter("excluding_tables", "string"),
            Parameter("options", "string", support="no"),
        ),
        columns=("result string",),
        act=compact_database,
    ),
    Procedure(
        name="rescale",
        parameters=(
            _TABLE,
            Parameter("bucket_num", "int"),
            _PARTITIONS,
            Parameter("where", "string", support="no"),
        ),
        columns=_RESULT,
        act=rescale,
    ),
    Procedure(
        name="migrate_database",
        parameters=(
            Parameter("source_type", "string", required=True),
            Parameter("database", "string", required=True),
            _OPTIONS,
            Parameter("options_map", "map<string,string>"),
            _PARALLELISM,
        ),
        columns=("result string",),
        instead=_COPY,
    ),
    Procedure(
        name="migrate_table",
        parameters=(
            Parameter("source_type", "string", required=True),
            _TABLE,
            _OPTIONS,
            Parameter("delete_origin", "boolean", default=True),
            Parameter("target_table", "string"),
            Parameter("options_map", "map<string,string>"),
            _PARALLELISM,
        ),
        columns=_RESULT,
        instead=_COPY,
    ),
    Procedure(
        name="remove_orphan_files",
        parameters=(
            _TABLE,
            Parameter("older_than", "string"),
            Parameter("dry_run", "boolean", default=False),
            _PARALLELISM,
            Parameter("mode", "string", default="DISTRIBUTED", support="tuning"),
        ),
        columns=(
            "deletedFileCount bigint",
            "deletedFileTotalLenInBytes bigint",
        ),
        act=remove_orphan_files,
    ),
    Procedure(
        name="remove_unexisting_files",
        parameters=(
            _TABLE,
            Parameter("dry_run", "boolean", default=False),
            _PARALLELISM,
        ),
        columns=("fileName string NOT NULL",),
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="expire_snapshots",
        parameters=(
            _TABLE,
            Parameter("retain_max", "int"),
            Parameter("retain_min", "int"),
            Parameter("older_than", "string"),
            Parameter("max_deletes", "int"),
            Parameter("options", "string", support="no"),
        ),
        columns=("deleted_snapshots_count int NOT NULL",),
        act=expire_snapshots,
    ),
    Procedure(
        name="expire_partitions",
        parameters=(
            _TABLE,
            Parameter("expiration_time", "string"),
            Parameter("timestamp_formatter", "string"),
            Parameter("timestamp_pattern", "string"),
            Parameter("expire_strategy", "string"),
            Parameter("max_expires", "int"),
            Parameter("options", "string", support="no"),
        ),
        columns=("expired_partitions string",),
        act=expire_partitions,
    ),
    Procedure(
        name="repair",
        parameters=(Parameter("database_or_table", "string", required=True),),
        columns=_RESULT,
        instead="omit it: catalogs that frazil opens do not need to be repaired",
    ),
    Procedure(
        name="fast_forward",
        parameters=(
            _TABLE,
            _BRANCH,
        ),
        columns=_RESULT,
        act=_fast_forward,
    ),
    Procedure(
        name="reset_consumer",
        parameters=(
            _TABLE,
            Parameter("consumerId", "string", required=True),
            Parameter("nextSnapshotId", "bigint"),
        ),
        columns=_RESULT,
        act=reset_consumer,
    ),
    Procedure(
        name="mark_partition_done",
        parameters=(
            _TABLE,
            Parameter("partitions", "string", required=True),
        ),
        columns=_RESULT,
        act=mark_partition_done,
    ),
    Procedure(
        name="compact_manifest",
        parameters=(
            _TABLE,
            Parameter("options", "string", support="no"),
        ),
        columns=_RESULT,
        act=compact_manifest,
    ),
    Procedure(
        name="clear_consumers",
        parameters=(
            _TABLE,
            Parameter("includingConsumers", "string"),
            Parameter("excludingConsumers", "string"),
        ),
        columns=_RESULT,
        act=clear_consumers,
    ),
    Procedure(
        name="alter_view_dialect",
        parameters=(
            Parameter("view", "string", required=True),
            Parameter("action", "string", required=True),
            Parameter("engine", "string"),
            Parameter("query", "string"),
        ),
        columns=_RESULT,
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="create_function",
        parameters=(
            _FUNCTION,
            Parameter("inputParams", "string", required=True),
            Parameter("returnParams", "string", required=True),
            Parameter("deterministic", "boolean", default=True),
            Parameter("comment", "string"),
            _OPTIONS,
        ),
        columns=_RESULT,
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="alter_function",
        parameters=(
            _FUNCTION,
            Parameter("change", "string", required=True),
        ),
        columns=_RESULT,
        instead=_ELSEWHERE,
    ),
    Procedure(name="drop_function", parameters=(_FUNCTION,), columns=_RESULT, instead=_ELSEWHERE),
    Procedure(name="trigger_tag_automatic_creation", parameters=(_TABLE,), columns=_RESULT, instead=_ELSEWHERE),
    Procedure(
        name="rewrite_file_index",
        parameters=(
            _TABLE,
            _WHERE,
        ),
        columns=(
            "written_partitions int NOT NULL",
            "written_indexes int NOT NULL",
        ),
        instead=_ELSEWHERE,
    ),
    Procedure(
        name="copy",
        parameters=(
            Parameter("source_table", "string", required=True),
            Parameter("target_table", "string", required=True),
            _WHERE,
        ),
        columns=_RESULT,
        instead=_COPY,
    ),
)
"""The procedures by name."""
