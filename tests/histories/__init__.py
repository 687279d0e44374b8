"""Random histories of tables against plain models: the parts that all formats share."""
