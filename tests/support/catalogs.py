"""Creates catalogs of each type in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import frazil
from support.rest_server import RestServer

if TYPE_CHECKING:
    from pathlib import Path

    from frazil.catalog import Catalog

KINDS = ("hadoop", "sql", "memory", "local", "rest")


def catalog_in(root: Path, kind: str) -> Catalog[Any]:
    """Return a catalog of Iceberg tables with the namespace `ns`, entirely below a new folder."""
    root.mkdir()
    properties = {
        "hadoop": {"warehouse": f"{root}/warehouse"},
        "sql": {"uri": f"sqlite:///{root}/catalog.db", "warehouse": f"{root}/warehouse"},
        "memory": {"warehouse": f"{root}/warehouse"},
        "local": {"path": f"{root}/lake"},
        "rest": {"uri": RestServer(root / "warehouse").uri if kind == "rest" else ""},
    }[kind]
    made = frazil.load_catalog("c", type=kind, **properties)
    made.create_namespace("ns")
    return made
