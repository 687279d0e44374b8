"""The Python package of Apache Paimon's Rust library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pypaimon_rust.datafusion import PaimonCatalog

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets import Target

PACKAGES = ("pypaimon-rust",)


def list_files(target: Target) -> Callable[[], dict[str, float]]:
    """Count the splits, because the number of files is not reported."""

    def run() -> dict[str, float]:
        _builder(target).new_scan().plan().splits()
        return {}

    return run


def read_rows(target: Target) -> Callable[[], pa.Table]:
    def run() -> pa.Table:
        builder = _builder(target)
        return pa.Table.from_batches(builder.new_read().read_arrow(builder.new_scan().plan().splits()))

    return run


def _builder(target: Target) -> Any:
    warehouse, name = target.paimon_name
    return PaimonCatalog({"warehouse": warehouse}).get_table(name).new_read_builder()
