"""Random histories of Iceberg tables against a plain model."""
