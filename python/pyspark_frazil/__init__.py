"""The module in which Spark finds the data source `frazil` automatically.

Spark imports every module whose name begins with `pyspark_` when it first looks for a data source. This module
therefore loads quickly and never raises an error: if frazil cannot be imported, the data source is not registered.
"""

import contextlib

with contextlib.suppress(Exception):
    from frazil.spark._source import FrazilDataSource as DefaultSource

__all__ = ["DefaultSource"]
