"""Catalogs: tables by name."""

from __future__ import annotations


def load_catalog(name: str = "default", **properties: str) -> object:
    """Placeholder."""
    raise NotImplementedError
