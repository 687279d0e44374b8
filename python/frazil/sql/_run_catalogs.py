"""Statements that add catalogs to a lake, describe them and remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.sql._catalog_properties import catalog_properties
from frazil.sql._ddl import shown

if TYPE_CHECKING:
    from frazil.sql._engine import Frame
    from frazil.sql._run import Run
    from frazil.sql._statements import CreateCatalog, DescribeCatalog, DropCatalog

__all__ = ["create_catalog", "describe_catalog", "drop_catalog"]


def create_catalog(statement: CreateCatalog, run: Run[Frame]) -> Frame:
    """Add a catalog, which is opened on first use.

    Raises:
        AlreadyExistsError: The catalog exists, and the statement does not have IF NOT EXISTS.
    """
    name = statement.name.parts[0]
    if not (statement.if_not_exists and name in run.names.all()):
        run.names.add(name, catalog_properties(statement.properties), statement.comment)
    return run.done()


def describe_catalog(statement: DescribeCatalog, run: Run[Frame]) -> Frame:
    """Return the name, the type and the comment of a catalog and, with EXTENDED, its properties.

    Raises:
        InvalidArgumentError: The catalog is not part of the lake.
    """
    found = run.names.catalog(statement.name.parts[0])
    properties = found.properties()
    rows: list[tuple[str, str | None]] = [
        ("name", found.name),
        ("type", properties.pop("type", None) or found.catalog.type),
    ]
    rows.append(("comment", found.comment))
    if statement.extended:
        rows += [(f"option:{name}", value) for name, value in shown(properties).items()]
    return run.frame(("info name", "info value string"), rows)


def drop_catalog(statement: DropCatalog, run: Run[Frame]) -> Frame:
    """Remove a catalog from the lake; its tables are not changed.

    Raises:
        InvalidArgumentError: The catalog is current or one of Spark's, or it is missing and the statement does not have
            IF EXISTS.
    """
    name = statement.name.parts[0]
    if not (statement.if_exists and name not in run.names.all()):
        run.names.remove(name)
    return run.done()
