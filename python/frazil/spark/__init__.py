"""frazil in PySpark 4.1 and later: the data source `frazil`, reads and writes of tables, and partition transforms.

spark.read.format("frazil").load("/path/of/table")
frazil.spark.read(spark, "/path/of/table", row_filter="id > 10", selected_fields=("id", "name"))
frazil.spark.write(frame, "/path/of/table", "overwrite", overwrite_filter="day = date '2024-02-29'")
frazil.spark.merge(frame, "/path/of/table", ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
frazil.spark.connect(spark, {"local": {"type": "hadoop", "warehouse": "/lake"}}).sql("SELECT * FROM local.db.t")
frazil.spark.functions.bucket(16, "id")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from frazil.spark import functions
from frazil.spark._read import read, register
from frazil.spark._version import check_spark

if TYPE_CHECKING:
    from frazil.spark._connect import connect
    from frazil.spark._row_level import delete, merge, update
    from frazil.spark._writes import write

__all__ = ["connect", "delete", "functions", "merge", "read", "register", "update", "write"]

_LATER = {
    "connect": "_connect",
    "delete": "_row_level",
    "merge": "_row_level",
    "update": "_row_level",
    "write": "_writes",
}


def __getattr__(name: str) -> Any:
    """Import write modules on first use; Spark imports this module when it looks for data sources."""
    if name not in _LATER:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    check_spark()
    found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found
    return found
