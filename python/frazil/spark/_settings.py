"""The settings of a session that the Java connectors of both formats read, and their effect in frazil.

| effect | meaning |
| --- | --- |
| obeyed | as in Java |
| ignored | the setting tunes the Java connector, and does not change rows |
| refused | the setting would change rows: the operations that it concerns raise an error, unless it is off |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ICEBERG_PREFIX", "PAIMON_PREFIX", "SETTINGS", "Setting", "check_settings", "connector_options"]

ICEBERG_PREFIX = "spark.sql.iceberg."
PAIMON_PREFIX = "spark.paimon."

Operation = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the session; a name that ends with `*` is a prefix."""

    name: str
    effect: Literal["obeyed", "ignored", "refused"]
    note: str = ""
    concerns: tuple[Operation, ...] = ()
    """The operations that a refused setting would change."""
    harmless: str = "false"
    """The value with which a refused setting has no effect."""

    def is_of(self, name: str) -> bool:
        """Return whether this is the setting of a name."""
        return name.startswith(self.name[:-1]) if self.name.endswith("*") else name == self.name


def _iceberg(effect: Literal["obeyed", "ignored"], names: Mapping[str, str]) -> tuple[Setting, ...]:
    return tuple(Setting(f"{ICEBERG_PREFIX}{name}", effect, note) for name, note in names.items())


def _paimon_ignored(*names: str) -> tuple[Setting, ...]:
    return tuple(Setting(f"{PAIMON_PREFIX}{name}", "ignored") for name in names)


SETTINGS: tuple[Setting, ...] = (
    Setting("spark.wap.branch", "obeyed", "see [Write-audit-publish](#write-audit-publish)"),
    Setting("spark.wap.id", "obeyed", "see [Write-audit-publish](#write-audit-publish)"),
    *_iceberg(
        "obeyed",
        {
            "distribution-mode": "in `INSERT` and `frazil.spark.write`",
            "read.split-size": "the bytes of files that a partition reads",
            "snapshot-property.*": "entries for the summaries of new snapshots",
        },
    ),
    Setting(f"{ICEBERG_PREFIX}merge-schema", "refused", "add the columns with `ALTER TABLE`", ("write",)),
    *_iceberg(
        "ignored",
        {
            "advisory-partition-size": "",
            "aggregate-push-down.enabled": "",
            "async-micro-batch-planning-enabled": "",
            "check-nullability": "required columns are always checked",
            "check-ordering": "columns are matched by name, or by position in SQL",
            "compression-codec": "set `write.parquet.compression-codec` of the table",
            "compression-level": "set `write.parquet.compression-level` of the table",
            "compression-strategy": "",
            "data-planning-mode": "",
            "delete-planning-mode": "",
            "executor-cache.*": "",
            "handle-timestamp-without-timezone": "Spark has `TIMESTAMP_NTZ`",
            "identifier-fields-rely": "",
            "locality.enabled": "",
            "planning.preserve-data-grouping": "",
            "read.adaptive-split-size.*": "",
            "report-column-stats": "",
            "shred-variants": "",
            "use-timestamp-without-timezone-in-new-tables": "Spark has `TIMESTAMP_NTZ`",
            "variant-inference-buffer-size": "",
            "vectorization.enabled": "",
        },
    ),
    Setting(f"{PAIMON_PREFIX}write.merge-schema", "refused", "add the columns with `ALTER TABLE`", ("write",)),
    Setting(
        f"{PAIMON_PREFIX}write.hive-style-dynamic-partition.enabled",
        "refused",
        "list the columns of `INSERT`",
        ("write",),
    ),
    Setting(
        f"{PAIMON_PREFIX}read.changelog", "refused", "read `` `t$audit_log` ``, which has the row kinds", ("read",)
    ),
    Setting(
        f"{PAIMON_PREFIX}legacy-timestamp-mapping.enabled",
        "refused",
        "cast the columns to `TIMESTAMP`",
        ("read", "write"),
    ),
    *_paimon_ignored(
        "format-table.*",
        "read.stream.*",
        "requiredSparkConfsCheck.enabled",
        "source.split.target-size-with-column-pruning",
        "v1Function.enabled",
        "vector-search.*",
        "write.data-evolution.*",
        "write.merge-schema.*",
        "write.use-v2-write",
    ),
)
"""The settings by name. All other settings `spark.paimon.*` are options of Paimon tables."""


def check_settings(values: Mapping[str, str], prefix: str, operation: Operation) -> None:
    """Check that no setting with a prefix would change the rows of an operation.

    Raises:
        UnsupportedError: A setting would.
    """
    for one in SETTINGS:
        value = values.get(one.name, one.harmless) if one.effect == "refused" else one.harmless
        if one.name.startswith(prefix) and operation in one.concerns and value.strip().lower() != one.harmless:
            message = f"the setting `{one.name}` = {value!r} is not supported"
            raise UnsupportedError(message, hint=f"unset it; {one.note}")


def connector_options(name: str) -> bool:
    """Return whether a setting `spark.paimon.*` belongs to the connector, and not to tables."""
    return any(one.is_of(name) for one in SETTINGS)
