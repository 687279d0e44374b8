"""Random histories of tables compared with simple models: the parts that all formats share."""
