"""Writers of data files: Parquet and ORC through pyarrow, Avro through a native encoder."""
