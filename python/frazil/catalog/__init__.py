"""Catalogs: tables by name."""

from frazil.catalog.base import Catalog, PropertiesUpdateSummary
from frazil.catalog.load import load_catalog
from frazil.catalog.purge import PurgePlan

__all__ = ["Catalog", "PropertiesUpdateSummary", "PurgePlan", "load_catalog"]
