"""Catalogs of Paimon tables in an SQL database; see `frazil.catalog.paimon`.

A table is created in one database transaction, in this order:

    INSERT of the row          other processes that create the table wait here, and fail after the commit
    schema/schema-0            created only if absent; Java publishes its schema file before it inserts the row
    COMMIT                     the table exists

If the transaction fails, the schema file is deleted. If the outcome of the COMMIT is unknown, nothing is deleted.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from frazil import errors
from frazil._arguments import table_files
from frazil._folders import local_path
from frazil.catalog._database import retried
from frazil.catalog._identifiers import dotted
from frazil.catalog._open_database import open_database
from frazil.catalog._paimon import DATABASE_SUFFIX, PaimonCatalog, check_name, check_table_levels
from frazil.catalog._paimon_jdbc_rows import (
    DATABASE_PROPERTIES,
    EXISTS,
    NEW_TABLES,
    TABLES,
    database_row,
    insert_properties,
    lock_table,
    replace_table_properties,
    table_properties,
    table_row,
)
from frazil.catalog._paimon_lock import LockSettings, SnapshotLock, held
from frazil.catalog._paimon_purge import delete, remove_empty_folders
from frazil.catalog._properties import masked
from frazil.catalog._sql_session import DuplicateError
from frazil.catalog._warehouse import Warehouse
from frazil.paimon._create import NewTable
from frazil.paimon._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from frazil import _native
    from frazil.catalog._identifiers import Levels
    from frazil.catalog._paimon import PaimonCatalogTable
    from frazil.catalog._purge import PurgePlan
    from frazil.catalog._sql_session import Session
    from frazil.paimon._schema import Schema

DEFAULT_KEY = "jdbc"
"""The default `catalog-key`."""

_TABLES = ("catalog_key", "database_name", "table_name")
_PROPERTIES = ("catalog_key", "database_name", "property_key", "property_value")


class PaimonJdbcCatalog(PaimonCatalog):
    """The tables that an SQL database lists under a `catalog-key`, in the layout of Java's `JdbcCatalog`."""

    _lists_fast = True

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Read `uri` (a SQLAlchemy or JDBC address), `catalog-key` and `warehouse` from the properties."""
        if properties.get("warehouse"):
            warehouse = Warehouse(name, self.type, properties, may_be_new=True).location
            properties = {**properties, "warehouse": warehouse}
        super().__init__(name, properties, relocate)
        self._database = open_database(name, self.type, self.properties, may_be_absent=True)
        self._key = self.properties.get("catalog-key", DEFAULT_KEY)
        self._has_tables = False

    @property
    def takes_locks(self) -> bool:
        """Whether table writers acquire a lock: if `lock.enabled` is set or the warehouse is an object store."""
        enabled = self.properties.get("lock.enabled")
        if enabled is None:
            return local_path(self.properties.get("warehouse", "")) is None
        return enabled.lower() == "true"

    def lock(self, levels: Levels) -> SnapshotLock | None:
        """Return the lock to hold while a snapshot of a table is published; None if the catalog has no locks.

        Raises:
            InvalidArgumentError: A lock property is not a duration.
            UnsupportedError: Locks are not supported for this `lock.type` or for this type of database.
        """
        if not self.takes_locks:
            return None
        settings = LockSettings.of(self.properties)
        return SnapshotLock(self._changing, self._database.dialect, dotted((self._key, *levels)), settings)

    # Lookups

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        return set() if levels else {(database,) for database in self._databases()}

    def _tables(self, levels: Levels) -> set[Levels]:
        if len(levels) != 1:
            return set()
        return {(*levels, name) for (name,) in self._rows(TABLES, ["table_name"], {"database_name": levels[0]})}

    def _has_main(self, levels: Levels) -> bool:
        if len(levels) != 2:  # noqa: PLR2004 - database and table
            return False
        return bool(self._rows(TABLES, ["table_name"], {"database_name": levels[0], "table_name": levels[1]}))

    def _has_namespace(self, levels: Levels) -> bool:
        return not levels or (len(levels) == 1 and levels[0] in self._databases())

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        if len(levels) != 1:
            return {}
        rows = self._rows(DATABASE_PROPERTIES, ["property_key", "property_value"], {"database_name": levels[0]})
        # `exists` is a marker row: without it, a database without properties would have no row in the table.
        return {key: value for key, value in rows if None not in (key, value) and key not in EXISTS}

    def _location(self, levels: Levels) -> str:
        if not self._has_main(levels):
            raise self._no_such_table(levels)
        first, *others = self._places(levels)
        found = next((place for place in (first, *others) if others and self._has_schema(place)), first)
        return self._relocated(found)

    def _places(self, levels: Levels) -> list[str]:
        """Return the possible folders of a table.

        Java 1.4 creates the folder in the warehouse, regardless of the `location` of the database; earlier releases
        created it in that location.
        """
        database, name = levels
        warehouse = self.properties.get("warehouse")
        folders = [] if warehouse is None else [f"{warehouse.rstrip('/')}/{database}{DATABASE_SUFFIX}"]
        location = self._namespace_properties((database,)).get("location")
        if location is not None and location.rstrip("/") not in folders:
            folders.append(location.rstrip("/"))
        if not folders:
            message = f"catalog {self.name!r} has no warehouse, and database {database!r} has no location"
            context = {"catalog": self.name, "database": database}
            raise errors.InvalidArgumentError(message, context=context, hint="configure a warehouse for the catalog")
        return [f"{folder}/{name}" for folder in folders]

    def _has_schema(self, place: str) -> bool:
        try:
            folder = f"{self._relocated(place)}/schema"
            found = table_files(folder, self._readable(), self.storage_properties, self.allowed_locations).list(folder)
        except errors.MissingFileError:
            return False
        return any(location.rpartition("/")[2].startswith("schema-") for location, _, _ in found)

    def _databases(self) -> set[str]:
        tables = (TABLES, DATABASE_PROPERTIES)
        return {str(database) for table in tables for (database,) in self._rows(table, ["database_name"], {})}

    def _rows(self, table: str, columns: Sequence[str], where: Mapping[str, str]) -> list[tuple[Any, ...]]:
        if not self._has_properties and table == DATABASE_PROPERTIES:
            return []
        return self._database.select(table, columns, {"catalog_key": self._key, **where})

    @cached_property
    def _has_properties(self) -> bool:
        """Whether databases have properties; the first use also checks the catalog's tables."""
        self._database.needed_columns(TABLES, _TABLES, "Paimon catalog")
        return self._database.columns(DATABASE_PROPERTIES, _PROPERTIES) is not None

    def _hint(self) -> str | None:
        """Return a hint that lists the catalog keys in the database; None if the key of this catalog exists."""
        keys = sorted({str(key) for (key,) in self._database.select(TABLES, ["catalog_key"], {})})
        if not keys or self._key in keys:
            return None
        shown = ", ".join(repr(key) for key in keys[:5])
        return f"the database contains tables under the catalog-key {shown}, but not {self._key!r}"

    # Tables

    def _create_new(self, levels: Levels, made_of: tuple[Any, ...]) -> None:
        check_table_levels(levels, self.name)
        place = self._relocated(self._places(levels)[0])
        files = table_files(place, self._readable(), self.storage_properties, self.allowed_for(levels))
        new = NewTable(place, *made_of)
        published = False
        try:
            with held(self.lock(levels)), self._changing() as session:
                self._insert_row(session, levels)
                schema = self._published(new, files)
                published = True
                self._sync(session, levels, schema)
        except errors.CommitStateUnknownError:
            if self._lists(levels) is not True:
                raise
        except BaseException:
            if published and self._lists(levels) is False:
                _unpublish(files, place)
            raise

    def _lists(self, levels: Levels) -> bool | None:
        """Return whether the database currently has a table; None if the database does not respond."""
        try:
            return self._has_main(levels)
        except errors.FrazilError:
            return None

    def _published(self, new: NewTable, files: _native.Files) -> Schema:
        try:
            return new.publish(files)
        except errors.AlreadyExistsError as error:
            message = f"the folder {masked(new.location)} contains a table that catalog {self.name!r} does not list"
            hint = "add it with register_table, unless another process is creating it now"
            context = {"catalog": self.name, "location": new.location}
            raise errors.CatalogError(message, context=context, hint=hint) from error

    def _insert_row(self, session: Session, levels: Levels) -> None:
        """Insert the row of a new table; its database cannot be dropped during the transaction."""
        row, database = table_row(self._key, levels), database_row(self._key, levels)
        tables = [TABLES, *([DATABASE_PROPERTIES] if session.columns(DATABASE_PROPERTIES) else [])]
        if not any(session.select(table, ["database_name"], database) for table in tables):
            raise self._no_such_namespace(levels[:1], "create the namespace with create_namespace")
        if session.select(TABLES, ["table_name"], row):
            raise self._exists_already(levels)
        try:
            session.insert(TABLES, row)
        except DuplicateError:
            session.rollback()
            raise self._exists_already(levels) from None

    def _sync(self, session: Session, levels: Levels, schema: Schema | None) -> None:
        """Replace the stored copy of a table's options; with None as the schema, delete the copy."""
        syncs = self.properties.get("sync-all-properties", "true").lower() != "false"
        found = table_properties(schema) if schema is not None and syncs else {}
        replace_table_properties(session, table_row(self._key, levels), found)

    def after_alter(self, table: PaimonCatalogTable) -> None:
        """Replace the stored copy of the options of a table.

        The latest schema is read within the transaction, so that the last of several concurrent updates stores it.

        Raises:
            CatalogError: The table was altered, but the copy was not replaced.
        """
        try:
            self._resync(table)
        except errors.FrazilError as error:
            message = (
                f"table {dotted(table.levels)!r} was altered, but the catalog's copy of its options was not updated"
            )
            hint = "the copy is updated by the next change to the table; readers use the options in the table"
            raise errors.CatalogError(message, context={"catalog": self.name}, hint=hint) from error

    @retried
    def _resync(self, table: PaimonCatalogTable) -> None:
        name = (*table.levels[:-1], table.levels[-1].partition("$")[0])
        with self._changing() as session:
            self._sync(session, name, None)
            self._sync(session, name, Table.refresh(table).schema())

    def _register(self, levels: Levels, metadata_location: str) -> None:
        check_table_levels(levels, self.name)
        places = self._places(levels)
        if metadata_location.rstrip("/") not in places:
            found = masked(metadata_location)
            message = f"the catalog expects table {dotted(levels)!r} in {masked(places[0])}, not in {found}"
            raise errors.InvalidArgumentError(message, context={"catalog": self.name}, hint="pass the expected folder")
        allowed = self.allowed_for(levels)
        place = self._relocated(metadata_location.rstrip("/"))
        table = Table.open(place, relocate=self._readable(), storage=self.storage_properties, allowed_locations=allowed)
        self._list(levels, table.schema())

    @retried
    def _list(self, levels: Levels, schema: Schema) -> None:
        with self._changing() as session:
            self._insert_row(session, levels)
            self._sync(session, levels, schema)

    @retried
    def _drop(self, levels: Levels, expected: str | None) -> None:
        del expected
        if len(levels) != 2:  # noqa: PLR2004 - database and table
            raise self._no_such_table(levels)
        with self._changing() as session:
            if session.delete(TABLES, table_row(self._key, levels)) != 1:
                raise self._no_such_table(levels)
            self._sync(session, levels, None)

    def _purge(self, plan: PurgePlan) -> None:
        table = self._as_planned(plan)
        self._drop(plan.identifier, None)
        delete(plan, table.location)

    # Databases

    @retried
    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        if len(levels) != 1:
            self._refuse("nest databases")
        check_name(levels[0])
        warehouse = self.properties.get("warehouse")
        place = {} if warehouse is None else {"location": f"{warehouse.rstrip('/')}/{levels[0]}{DATABASE_SUFFIX}"}
        with self._changing() as session:
            try:
                row = database_row(self._key, levels)
                insert_properties(session, DATABASE_PROPERTIES, row, EXISTS | place | dict(properties) | EXISTS)
            except DuplicateError:
                session.rollback()
                return False
            return True

    @retried
    def _drop_namespace(self, levels: Levels) -> bool:
        with self._changing() as session:
            row = database_row(self._key, levels)
            if session.select(TABLES, ["table_name"], row):
                return False
            session.delete(DATABASE_PROPERTIES, row)
            return True

    @retried
    def _update_namespace(self, levels: Levels, removed: set[str], updated: Mapping[str, str]) -> set[str]:
        row = database_row(self._key, levels)
        with self._changing() as session:
            if "location" in removed | updated.keys() and session.select(TABLES, ["table_name"], row):
                message = f"database {levels[0]!r} contains tables, so its location cannot be changed"
                raise errors.CatalogError(message, context={"catalog": self.name, "database": levels[0]})
            before = {key for (key,) in session.select(DATABASE_PROPERTIES, ["property_key"], row)}
            for key in before & (removed | updated.keys() | EXISTS.keys()):
                session.delete(DATABASE_PROPERTIES, {**row, "property_key": key})
            insert_properties(session, DATABASE_PROPERTIES, row, {**updated, **EXISTS})
            return before - EXISTS.keys()

    # The database

    @contextmanager
    def _changing(self) -> Iterator[Session]:
        """Begin a transaction of the database, and create the catalog's tables if they are missing."""
        creates_tables = self.properties.get("init_catalog_tables", "true").lower() != "false"
        with self._database.changing(self._create_tables if creates_tables else None) as session:
            if creates_tables and not self._has_tables:
                self._create_tables(session)
            yield session
        if not self._has_tables:
            self._has_tables = creates_tables
            self.__dict__.pop("_has_properties", None)

    @retried
    def _prepare(self) -> None:
        if not self._has_tables:
            with self._changing():
                pass

    def _create_tables(self, session: Session) -> None:
        """Create the missing tables."""
        length = self.properties.get("lock-key-max-length", "255")
        if not length.isdecimal():
            message = f"lock-key-max-length must be an integer, not {length!r}"
            raise errors.InvalidArgumentError(message, context={"catalog": self.name})
        for table in (*NEW_TABLES, *([lock_table(int(length))] if self.takes_locks else [])):
            session.create(table)


def _unpublish(files: _native.Files, place: str) -> None:
    """Delete the schema file of a table whose creation failed, unless its folder contains other files."""
    if files.folders(place) == ["schema"] and len(files.list(f"{place}/schema")) == 1:
        files.delete(f"{place}/schema/schema-0")
        remove_empty_folders(place)
