"""pypaimon, with its native reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypaimon

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


def _builder(target: Target) -> Any:
    warehouse, name = target.paimon_name
    table = pypaimon.CatalogFactory.create({"warehouse": warehouse}).get_table(name)
    return table.copy({"read.native.enabled": "true"}).new_read_builder()
