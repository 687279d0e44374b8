"""Spark SQL on catalog tables: tokens, names, types and statements. No engine is imported here."""

from frazil.sql._lake import Lake

__all__ = ["Lake"]
