"""The names of Paimon options that reads in Spark accept."""

from __future__ import annotations

import re

__all__ = ["CHOOSE_CHANGES", "OF_READS", "SPLIT_SIZES", "TIME_TRAVEL", "is_option", "is_read_option", "is_table_option"]

SPLIT_SIZES = ("source.split.target-size", "source.split.open-file-cost")

TIME_TRAVEL = (
    "scan.snapshot-id",
    "scan.tag-name",
    "scan.version",
    "scan.timestamp-millis",
    "scan.timestamp",
    "scan.watermark",
)

CHOOSE_CHANGES = ("incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag")

# The full names are compared, because a misspelt name would make a read return other rows than intended.
OF_READS = (
    *TIME_TRAVEL,
    *CHOOSE_CHANGES,
    *SPLIT_SIZES,
    "incremental-between-scan-mode",
    "incremental-between-tag-to-snapshot",
    "read.allow.fullscan",
    "read.batch-size",
    "scan.bounded.watermark",
    "scan.bucket",
    "scan.creation-time-millis",
    "scan.dedicated-split-generation",
    "scan.fallback-branch",
    "scan.fallback-delta-branch",
    "scan.fallback-snapshot-branch",
    "scan.file-creation-time-millis",
    "scan.ignore-corrupt-files",
    "scan.ignore-lost-files",
    "scan.infer-parallelism",
    "scan.manifest.parallelism",
    "scan.max-splits-per-task",
    "scan.mode",
    "scan.parallelism",
    "scan.partitions",
    "scan.plan-sort-partition",
    "scan.primary-branch",
    "scan.push-down",
    "scan.remove-normalize",
    "scan.split-enumerator.batch-size",
    "scan.split-enumerator.mode",
    "source.split.target-size-with-column-pruning",
)
_FAMILIES_OF_READS = re.compile(r"(incremental|read|scan|source)\b")

# The first words of table options. A read may override any option of the table, so all options with these words are
# passed on.
_FAMILIES_OF_TABLES = re.compile(
    r"(add|aggregation|alter|append|async|auto|blob|bucket|cache|chain|changelog|clustering|commit|compaction|consumer|"
    r"continuous|cross|data|delete|deletion|dynamic|end|fields|file|force|format|full|global|ignore|index|input|key|"
    r"legacy|local|lookup|manifest|materialized|merge|metadata|metastore|num|object|orc|avro|overwrite|page|parquet|"
    r"partial|partition|pk|postpone|precommit|primary|query|record|row|rowkind|sequence|sink|snapshot|sort|spill|stats|"
    r"streaming|tag|target|tmp|type|upsert|variant|visibility|write)\b"
)


def is_read_option(name: str) -> bool:
    """Return whether this is the full name of an option of reads, in lower case."""
    return name in OF_READS or name == "branch"


def is_table_option(name: str) -> bool:
    """Return whether a name in lower case begins like an option of tables, and not like an option of reads."""
    return bool(_FAMILIES_OF_TABLES.match(name) and not _FAMILIES_OF_READS.match(name))


def is_option(name: str) -> bool:
    """Return whether a name in lower case may be an option of Paimon."""
    return is_read_option(name) or is_table_option(name)
