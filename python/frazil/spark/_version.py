"""The minimum Spark release."""

from __future__ import annotations

from frazil.errors import UnsupportedError

__all__ = ["check_spark"]


def check_spark() -> None:
    """Check that Spark supports Arrow UDFs and Arrow batch writers, which were added in the same release.

    Raises:
        UnsupportedError: The release is older than 4.1.
    """
    import pyspark
    from pyspark.sql import functions

    if not hasattr(functions, "arrow_udf"):
        message = f"frazil requires Spark 4.1 or later, but this is PySpark {pyspark.__version__}"
        raise UnsupportedError(message, hint="install it with pip install 'frazil[spark]'")
