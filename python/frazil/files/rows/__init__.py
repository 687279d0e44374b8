"""Rows as users have them, as Arrow batches."""
