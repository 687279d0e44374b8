"""Apache Iceberg and Apache Paimon tables for Python and PySpark, with a Rust core and no JVM.

>>> import frazil
>>> table = frazil.load_table("tests/golden/iceberg/del_pos_file_parquet_part")
>>> table.format_version
2
>>> table = frazil.load_table("tests/golden/paimon/g.db/cl_lookup_avro")
>>> table.primary_keys
['k']
"""

import importlib
from typing import TYPE_CHECKING

from frazil import cache, errors
from frazil._expression import col
from frazil._literal import lit
from frazil._native import __version__
from frazil._table import create_table, load_table
from frazil._virtual_table import VirtualTable
from frazil.catalog import load_catalog
from frazil.config import config
from frazil.errors import FrazilError

if TYPE_CHECKING:
    from frazil import iceberg, paimon, spark, variant  # noqa: F401 - `__all__` has no `spark`, which needs pyspark
else:

    def __getattr__(name: str) -> object:
        """Import a module on first use, as in `frazil.iceberg.Table` or `frazil.spark.read`."""
        if name in ("iceberg", "paimon", "spark", "variant"):
            return importlib.import_module(f"frazil.{name}")
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


__all__ = [
    "FrazilError",
    "VirtualTable",
    "__version__",
    "cache",
    "col",
    "config",
    "create_table",
    "errors",
    "iceberg",
    "lit",
    "load_catalog",
    "load_table",
    "paimon",
    "variant",
]
