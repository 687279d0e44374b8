"""Data files are written: Parquet and ORC by pyarrow, Avro by a native encoder."""
