"""Opens the database that the properties of a catalog specify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from frazil import errors
from frazil._extras import imported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog._database import Database

__all__ = ["open_database"]


def open_database(
    catalog: str, catalog_type: str, properties: Mapping[str, str], *, may_be_absent: bool = False
) -> Database:
    """Return the database of the property `uri`, a SQLAlchemy or JDBC address.

    Args:
        catalog: The name of the catalog, for messages.
        catalog_type: The type of the catalog, for messages.
        properties: The properties of the catalog.
        may_be_absent: Whether the first change creates a missing SQLite file.

    Raises:
        InvalidArgumentError: The properties do not specify a database.
        MissingFileError: The SQLite file does not exist.
        UnsupportedError: SQLAlchemy or the driver is not installed.
    """
    uri = properties.get("uri")
    if not uri:
        message = f"catalog {catalog!r} of type {catalog_type} needs the property 'uri'"
        raise errors.InvalidArgumentError(
            message, context={"catalog": catalog}, hint="use a file, such as sqlite:///path/catalog.db"
        )
    file = _sqlite_file(catalog, uri)
    if file is not None:
        from frazil.catalog._sqlite import SqliteDatabase

        return SqliteDatabase(catalog, file, may_be_absent=may_be_absent)
    imported("sqlalchemy", f"catalog {catalog!r} of type {catalog_type}")
    from frazil.catalog._server_database import ServerDatabase

    return ServerDatabase(catalog, uri, properties)


def _sqlite_file(catalog: str, uri: str) -> Path | None:
    """Return the file of a SQLite address; None for other databases.

    The forms are `sqlite:///relative.db`, `sqlite:////absolute.db` and `jdbc:sqlite:path`, each with or without
    `file:`.
    """
    address = uri[len("jdbc:") :] if uri.lower().startswith("jdbc:") else uri
    scheme, _, rest = address.partition(":")
    if scheme.partition("+")[0].lower() != "sqlite":
        return None
    database, _, query = rest.partition("?")
    if uri == address:
        authority, _, database = database.removeprefix("//").partition("/")
        if authority:
            message = f"the uri of catalog {catalog!r} has a host, which SQLite does not support"
            raise errors.InvalidArgumentError(
                message, context={"catalog": catalog}, hint="such as sqlite:////path/catalog.db"
            )
    if database.startswith("file:"):
        database = unquote(database[len("file:") :])
    if database in {"", ":memory:"} or "mode=memory" in query.split("&"):
        message = f"the uri of catalog {catalog!r} is an in-memory database, which is always empty"
        raise errors.InvalidArgumentError(
            message, context={"catalog": catalog}, hint="use a file, such as sqlite:///path/catalog.db"
        )
    return Path(database).absolute()
