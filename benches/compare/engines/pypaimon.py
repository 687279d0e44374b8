"""pypaimon, with its native reader."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypaimon

from targets import some_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from targets import Target

PACKAGES = ("pypaimon", "pypaimon-rust", "pyarrow")


def list_files(target: Target) -> Callable[[], dict[str, float]]:
    def run() -> dict[str, float]:
        splits = _builder(target).new_scan().plan().splits()
        return {"files": sum(len(split.files) for split in splits)}

    return run


def read_rows(target: Target) -> Callable[[], pa.Table]:
    def run() -> pa.Table:
        builder = _builder(target)
        return builder.new_read().to_arrow(builder.new_scan().plan().splits())

    return run


def append_paimon(target: Target) -> Callable[[], dict[str, float]]:
    return _append(target, some_rows(target))


def upsert_paimon(target: Target) -> Callable[[], dict[str, float]]:
    return _append(target, some_rows(target), primary_keys=["id"], options={"bucket": "4"})


def append_paimon_row(target: Target) -> Callable[[], dict[str, float]]:
    rows = some_rows(target).slice(0, 1)
    append = _append(target, rows)
    for _ in range(1_000):
        append()
    return append


def _append(target: Target, rows: pa.Table, **arguments: Any) -> Callable[[], dict[str, float]]:
    warehouse = Path(target.tables) / "written" / "pypaimon"
    shutil.rmtree(warehouse, ignore_errors=True)
    catalog = pypaimon.CatalogFactory.create({"warehouse": str(warehouse)})
    catalog.create_database("default", ignore_if_exists=True)
    schema = pypaimon.Schema.from_pyarrow_schema(rows.schema, **arguments)
    catalog.create_table("default.rows", schema, ignore_if_exists=False)
    builder = catalog.get_table("default.rows").new_batch_write_builder()

    def run() -> dict[str, float]:
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()
        return {"rows": rows.num_rows}

    return run


def _builder(target: Target) -> Any:
    warehouse, name = target.paimon_name
    table = pypaimon.CatalogFactory.create({"warehouse": warehouse}).get_table(name)
    return table.copy({"read.native.enabled": "true"}).new_read_builder()
