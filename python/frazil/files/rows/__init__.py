"""Conversion of user-provided rows to Arrow batches."""
