"""Catalogs: tables by name."""

from frazil.catalog.base import Catalog
from frazil.catalog.load import load_catalog

__all__ = ["Catalog", "load_catalog"]
