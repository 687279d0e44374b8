"""frazil in PySpark 4.0 and later: the data source `frazil`, reads of a table as a DataFrame, partition transforms.

spark.read.format("frazil").load("/path/of/table")
frazil.spark.read(spark, "/path/of/table", row_filter="id > 10", selected_fields=("id", "name"))
frazil.spark.functions.bucket(16, "id")
"""

from frazil.spark import functions
from frazil.spark.read import read, register

__all__ = ["functions", "read", "register"]
