"""Data files are read: Parquet and ORC by pyarrow, Avro by the native decoder."""
