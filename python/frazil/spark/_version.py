"""The release of Spark that frazil needs."""

from __future__ import annotations

from frazil.errors import UnsupportedError

__all__ = ["check_spark"]


def check_spark() -> None:
    """Check that Spark has Arrow UDFs and writers of Arrow batches, which came together.

    Raises:
        UnsupportedError: A release before 4.1.
    """
    import pyspark
    from pyspark.sql import functions

    if not hasattr(functions, "arrow_udf"):
        message = f"frazil needs Spark 4.1 or later, and this is PySpark {pyspark.__version__}"
        raise UnsupportedError(message, hint="install it with pip install 'frazil[spark]'")
