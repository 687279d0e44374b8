"""Statements that add catalogs to a lake and remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._catalog_properties import catalog_properties

if TYPE_CHECKING:
    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import CreateCatalog, DropCatalog

__all__ = ["create_catalog", "drop_catalog"]


def create_catalog(statement: CreateCatalog, run: Run[Frame]) -> Frame:
    """Add a catalog, which is opened on first use.

    Raises:
        AlreadyExistsError: The catalog exists, and the statement does not have IF NOT EXISTS.
    """
    name = statement.name.parts[0]
    if not (statement.if_not_exists and name in run.names.all()):
        run.names.add(name, catalog_properties(statement.properties))
    return run.done()


def drop_catalog(statement: DropCatalog, run: Run[Frame]) -> Frame:
    """Remove a catalog from the lake; its tables are not changed.

    Raises:
        InvalidArgumentError: The catalog is current, or it is missing and the statement does not have IF EXISTS.
    """
    name = statement.name.parts[0]
    if not (statement.if_exists and name not in run.names.all()):
        run.names.remove(name)
    return run.done()
