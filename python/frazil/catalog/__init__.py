"""Catalogs, which map names to tables."""

from frazil.catalog._base import Catalog, PropertiesUpdateSummary
from frazil.catalog._load import load_catalog
from frazil.catalog._purge import PurgePlan

__all__ = ["Catalog", "PropertiesUpdateSummary", "PurgePlan", "load_catalog"]
