"""Where Spark finds the data source `frazil` by itself.

Spark imports every module whose name begins with `pyspark_` when it first looks for any data source, so this is light
and never fails: where frazil cannot be imported there is no data source of that name.
"""

import contextlib

with contextlib.suppress(Exception):
    from frazil.spark._source import FrazilDataSource as DefaultSource

__all__ = ["DefaultSource"]
