"""Readers of data files: Parquet and ORC through pyarrow, Avro through the native decoder."""
