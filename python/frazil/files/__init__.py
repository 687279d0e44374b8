"""Data files and the rows in them, for every table format: nothing here imports one. Not part of the public API."""
