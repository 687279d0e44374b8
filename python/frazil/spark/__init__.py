"""frazil in PySpark 4.0 and later: the data source `frazil`, reads and writes of tables, partition transforms.

spark.read.format("frazil").load("/path/of/table")
frazil.spark.read(spark, "/path/of/table", row_filter="id > 10", selected_fields=("id", "name"))
frazil.spark.write(frame, "/path/of/table", "overwrite", overwrite_filter="day = date '2024-02-29'")
frazil.spark.merge(frame, "/path/of/table", ["id"]).when_matched_update_all().when_not_matched_insert_all().execute()
frazil.spark.functions.bucket(16, "id")
"""

from frazil.spark import functions
from frazil.spark.read import read, register
from frazil.spark.row_level import delete, merge, update
from frazil.spark.write import write

__all__ = ["delete", "functions", "merge", "read", "register", "update", "write"]
