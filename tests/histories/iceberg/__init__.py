"""Random histories of Iceberg tables compared with a simple model."""
