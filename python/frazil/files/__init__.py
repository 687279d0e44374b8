"""Data files and their rows, independent of table formats: no format is imported here. Not part of the public API."""
