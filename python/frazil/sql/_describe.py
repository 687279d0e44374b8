"""The DESCRIBE rows after the columns of an Iceberg table, in Spark's format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.catalog._properties import masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil.iceberg import Table

Row = tuple[str, str, str]

_EMPTY: Row = ("", "", "")
_IN_SPARK = {"year": "years", "month": "months", "day": "days", "hour": "hours"}


def partitioning(table: Table, columns: Sequence[tuple[str, ...]]) -> list[Row]:
    """Return the DESCRIBE rows for partitioning: columns, or transforms if any; empty if unpartitioned."""
    schema = table.schema()
    fields = [
        (str(field.transform), ", ".join(schema.find_column_name(source) or "" for source in field.source_ids))
        for field in table.spec().fields
    ]
    if not fields:
        return []
    if all(transform == "identity" for transform, _ in fields):
        known = {row[0]: row for row in columns}
        rows = [(name, known[name][1], known[name][2]) if name in known else (name, "", "") for _, name in fields]
        return [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), *rows]
    parts = [(f"Part {place}", _described(*field), "") for place, field in enumerate(fields)]
    return [_EMPTY, ("# Partitioning", "", ""), *parts]


def details(table: Table, name: str) -> list[Row]:
    """Return the rows with table details."""
    shown = dict(table.properties)
    rows = [("Name", name, ""), ("Type", "MANAGED", "")]
    if "comment" in shown:
        rows.append(("Comment", shown.pop("comment"), ""))
    rows += [("Location", table.location, ""), ("Provider", "iceberg", "")]
    if "owner" in shown:
        rows.append(("Owner", shown.pop("owner"), ""))
    current = table.current_snapshot()
    shown |= {
        "current-snapshot-id": "none" if current is None else str(current.snapshot_id),
        "format": f"iceberg/{shown.get('write.format.default', 'parquet')}",
        "format-version": str(table.format_version),
    }
    text = ",".join(f"{key}={masked(value)}" for key, value in sorted(shown.items()))
    return [_EMPTY, ("# Detailed Table Information", "", ""), *rows, ("Table Properties", f"[{text}]", "")]


def _described(transform: str, column: str) -> str:
    name, _, number = transform.removesuffix("]").partition("[")
    if name == "identity":
        return column
    return f"{name}({number}, {column})" if number else f"{_IN_SPARK.get(name, name)}({column})"
