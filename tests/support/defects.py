"""Checks of golden cases that hold what the reference wrongly reads, or what cannot be read as it does.

By case: the prefix of the check, and the content of the files. Checks of system tables are named by table and column.
"""

_DIFFERENCE = (
    "the reference compares only files that differ, so a key whose older or newer row lies in another file is new"
)
_NOT_A_NUMBER = "NaN is greater than all numbers and in no bound: a file of which it is not known is kept"
_YEAR_9999 = "nanoseconds in 64 bits end in 2262; values beyond are refused, not wrapped"
_BRACKETS = "old releases print partitions as `[a]`; release 1.4 prints them as `{a}`"
_NAME_ONLY = "old releases list the names of files; release 1.4 lists their paths"
_FOLDER_TIME = "the time of a branch is that of its folder, which a copy does not keep"
_SCHEMA_ONLY = "releases before 1.0 recorded the tag that a branch was made from; release 1.4 does not have the column"
_ADDRESS = "the reference prints the address of a Java array; it differs in every run"
_BEFORE_COMPACTION = "the reference listed the table before snapshot 5, a compaction: the rows are those of snapshot 4"
_FEW_COLUMNS = (
    "the reference prints statistics of files with few columns as those of the first columns of the table: "
    "`id` has the values of `b`"
)


def _of_branches_by_tag() -> list[tuple[str, str]]:
    columns = ("created_from_tag", "created_from_snapshot")
    by_tag = [(f"system table branches {column}", _SCHEMA_ONLY) for column in columns]
    return [*by_tag, ("system table branches create_time", _FOLDER_TIME)]


def _of_old_files() -> list[tuple[str, str]]:
    return [("system table files partition", _BRACKETS), ("system table files file_path", _NAME_ONLY)]


REFERENCE_DEFECTS: dict[str, list[tuple[str, str]]] = {
    "del_eq_type_fixed4": [
        ("snapshot 4853116099495376784", "both keys of e0.parquet delete a row; the reference keeps the first one's"),
        ("snapshot 4465443576545616631", "the same"),
        ("ref main", "the same"),
        ("rows", "the same"),
        ("k is not null", "the same"),
    ],
    "del_eq_promoted_column": [
        ("snapshot 6431086619860859947", "e0.parquet deletes the row of its key; the reference keeps it"),
    ],
    "del_eq_float_nan_zero": [
        ("equality deletes", "a filter holds -0.0 and 0.0 equal, so a key of the one may be a row of the other"),
    ],
    "del_eq_negzero_only": [("equality deletes", "the same")],
    "del_eq_wide_rows": [
        ("equality deletes", "the reference looks at bounds of columns that are in the delete file but in no key"),
    ],
    "mapping_legacy_two_level_list": [
        ("snapshot 1153710609796451867", "the reference's reader fails on the file, which has 5 rows"),
    ],
    "duckdb+duckdb-iceberg/iceberg/add_columns_with_defaults_in_struct": [
        ("rows", "0.34234 is expected of a column of type float, whose nearest value is 0.34233999252319336"),
        ("snapshot 7163205664921901236", "the same"),
    ],
    "nested_partitioned": [
        (check, "the reference reads a null struct around an identity partition source as a struct of nulls")
        for check in ("snapshot", "ref main", "ss.a.b is null", "id in (2, 3)")
    ],
    "cl_lookup_sequence": [("diff 2,5", _DIFFERENCE)],
    "cl_overwrite": [("diff 1,3", _DIFFERENCE)],
    "cl_partial_update_full_compaction": [("diff 1,3", _DIFFERENCE)],
    "cl_partial_update_lookup": [("diff 2,5", _DIFFERENCE)],
    "append_dv_parquet_b64": [
        (check, "the plan is of an earlier state of the table, whose files are gone") for check in ("k = 1", "p = 'b'")
    ],
    "data_evolution": [
        ("b > 150.0", _NOT_A_NUMBER),
        *(
            (f"system table files {column}", _FEW_COLUMNS)
            for column in ("null_value_counts", "min_value_stats", "max_value_stats")
        ),
    ],
    "pk_types_parquet_b4": [("f_f64 = nan", _NOT_A_NUMBER)],
    "cast_timestamp_6_to_timestamp_9": [("", _YEAR_9999)],
    "branch_fast_forward": [("system table branches create_time", _FOLDER_TIME)],
    "branches_pk": [("system table branches create_time", _FOLDER_TIME)],
    "old_1_3_1_evolved": [("system table branches create_time", _FOLDER_TIME)],
    "old_1_4_2_evolved": [("system table branches create_time", _FOLDER_TIME)],
    "old_0_8_2_evolved": [
        ("system table schemas options", "release 1.4 reads schemas of release 0.8 with its default, ORC files"),
        *_of_branches_by_tag(),
    ],
    "old_0_9_0_evolved": _of_branches_by_tag(),
    "old_0_8_2_pk": _of_old_files(),
    "old_0_9_0_append_types": _of_old_files(),
    "old_0_9_0_dynamic_bucket": _of_old_files(),
    "old_0_9_0_pk": _of_old_files(),
    "old_0_9_0_pk_dv": _of_old_files(),
    "old_1_0_1_append_types": [
        ("system table files partition", _BRACKETS),
        ("system table manifests min_partition_stats", _BRACKETS),
        ("system table manifests max_partition_stats", _BRACKETS),
    ],
    "pk_key_bin": [("system table files min_key", _ADDRESS), ("system table files max_key", _ADDRESS)],
    "pk_ignore_delete": [("system table files", _BEFORE_COMPACTION)],
    "pk_ignore_update_before": [
        ("system table files", _BEFORE_COMPACTION),
        ("system table audit_log", _BEFORE_COMPACTION),
    ],
}

REFUSED: dict[str, tuple[str, str]] = {
    "apache+impala/iceberg/iceberg_migrated_complex_test_orc": (
        "CorruptDataFileError",
        "its name mapping numbers nested columns otherwise than its schema; the expected values are none of them",
    ),
    "cast_timestamp_6_to_timestamp_9": ("UnsupportedError", _YEAR_9999),
}
"""Cases that must raise an error, by its name and reason, although the case expects rows."""

WRITTEN_DEFECTS: dict[tuple[str, str], str] = {
    ("java", "orc"): "a batch of only 0.0 and -0.0 of an ORC file is read as one repeated value",
    ("java", "orc_promoted"): "the same",
    ("pyiceberg", "by_identity_float_v3"): (
        "files of a partition are found by equality, and NaN equals nothing: its deletion vectors are not applied"
    ),
    ("pyiceberg", "types_parquet"): "NULL in a column of lists or maps becomes an empty list or map",
}
"""By reader and table of `support.written`, with or without version: errors in what it reads from frazil's tables."""

WRITTEN_REFUSED: dict[tuple[str, str], str] = {
    ("pyiceberg", "avro"): "Unsupported file format",
    ("pyiceberg", "orc_v3"): "Unsupported schema projection from timestamp",
    ("pyiceberg", "orc_promoted_v3"): "Unsupported schema projection from timestamp",
    ("pyiceberg", "types_orc_v3"): "Unsupported schema projection from timestamp",
    ("pyiceberg", "types_orc"): "Cannot promote an binary to fixed",
    ("pyiceberg", "types_avro"): "Unsupported file format",
    ("pyiceberg", "avro_promoted"): "Unsupported file format",
    ("duckdb", "avro"): "File format 'AVRO' not supported",
    ("duckdb", "orc"): "File format 'ORC' not supported",
    ("duckdb", "avro_promoted"): "File format 'AVRO' not supported",
    ("duckdb", "orc_promoted"): "File format 'ORC' not supported",
    ("duckdb", "types_avro"): "File format 'AVRO' not supported",
    ("duckdb", "types_orc"): "File format 'ORC' not supported",
}
"""By the same keys: the errors for tables that the reader cannot read."""
