"""Catalogs of Paimon tables.

`metastore` determines where the names are stored; the default is `filesystem`:

    warehouse/sales.db/orders/schema/schema-0         filesystem: database sales, table sales.orders
    paimon_tables                  jdbc:              catalog_key, database_name, table_name
    paimon_database_properties     jdbc:              catalog_key, database_name, property_key, property_value

In a JDBC catalog, the folder of a table is the same as in a warehouse, or is below the property `location` of its
database. The table `orders$branch_b1` is the branch `b1` of `orders`. `orders$ro`, `orders$audit_log`, `orders$binlog`
and `orders$row_tracking` are views of `orders`. Other names with `$`, such as `orders$snapshots` and
`orders$branch_b1$files`, are system tables of `orders`. The database `sys` contains the system tables of the catalog,
such as `sys.all_tables`. Listings omit branches, views and system tables.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, cast

from frazil._arguments import table_files
from frazil.catalog._base import Catalog
from frazil.catalog._identifiers import dotted, namespace_levels, table_levels
from frazil.catalog._paimon_purge import check_state, delete, planned
from frazil.catalog._recipe import Recipe
from frazil.catalog._system_tables import SYSTEM_DATABASE, CatalogInspect
from frazil.catalog._table import NamedTable
from frazil.catalog._warehouse import Warehouse
from frazil.errors import InvalidArgumentError, UnsupportedError
from frazil.paimon._create import NewTable
from frazil.paimon._inspect import Inspect
from frazil.paimon._plain_tables import FORMAT_TABLE, PLAIN_TYPES, check_no_table, open_plain_table
from frazil.paimon._table import MAIN, Table
from frazil.paimon._views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil._virtual_table import VirtualTable
    from frazil.catalog._identifiers import Identifier, Levels
    from frazil.catalog._paimon_lock import SnapshotLock
    from frazil.catalog._purge import PurgePlan
    from frazil.paimon._views import View

DATABASE_SUFFIX = ".db"
BRANCH = "branch_"

_PLAIN_NAME = re.compile(r'[^/\\$%:*?"<>|\x00-\x1f]+')


class PaimonCatalogTable(NamedTable, Table):
    """A Paimon table that was loaded by name.

    Pickled as its location, without the catalog unless writers need a lock from it.
    """

    catalog: PaimonCatalog

    def refresh(self) -> PaimonCatalogTable:
        """Return the table with its latest schema, at its current location in the catalog.

        Raises:
            NoSuchTableError: The catalog no longer contains the table.
        """
        newest: PaimonCatalogTable = self.catalog.load_table(self.levels)
        return newest

    def with_branch(self, branch: str) -> Table:
        """Return the table at a branch.

        Raises:
            NoSuchSnapshotError: The branch does not exist.
        """
        table = PaimonCatalogTable(self._on_branch(branch), self._files, self._options, self._view)
        name = self.levels[-1].partition("$")[0]
        table.levels = (*self.levels[:-1], name if branch == MAIN else f"{name}${BRANCH}{branch}")
        if "_recipe" in self.__dict__:
            table.__dict__["_recipe"] = self.__dict__["_recipe"]
        else:
            table.catalog = self.catalog
        return table

    def _lock(self) -> SnapshotLock | None:
        return self.catalog.lock(self.levels)

    def _alter(self, change: dict[str, Any]) -> None:
        super()._alter(change)
        if self.branch == MAIN:
            self.catalog.after_alter(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the location and the branch, and the catalog's recipe if writers need a lock from it."""
        recipe = self.__dict__.get("_recipe")
        if recipe is None and not self.catalog.takes_locks:
            return super().__reduce__()
        branch = None if self.branch == MAIN else self.branch
        recipe = Recipe(recipe or self.catalog.recipe())
        return _reopen, (self.location, branch, self._view, self._options, self.levels, recipe)


def _reopen(
    location: str, branch: str | None, view: View, options: dict[str, Any], levels: Levels, recipe: Recipe
) -> PaimonCatalogTable:
    opened = PaimonCatalogTable.open(location, branch=branch, view=view, **options)
    table = cast("PaimonCatalogTable", opened)
    table.levels = levels
    table.__dict__["_recipe"] = recipe
    return table


class PaimonCatalog(Catalog[PaimonCatalogTable]):
    """The common parts of Paimon catalogs: databases do not nest, and tables are folders."""

    type: ClassVar[str] = "paimon"

    def create_table(  # type: ignore[override]
        self,
        identifier: Identifier,
        schema: Any,
        *,
        partition_keys: Sequence[str] = (),
        primary_keys: Sequence[str] = (),
        options: Mapping[str, object] | None = None,
        comment: str | None = None,
    ) -> PaimonCatalogTable:
        """Create a table.

        The option `type` selects other kinds of tables: `format-table` creates a `FormatTable` in the format of the
        option `file.format`, and `object-table` an `ObjectTable` of the folder in the option `object-location`.

        Args:
            identifier: The name, in an existing database.
            schema: As in `frazil.create_table`; empty for an object table.
            partition_keys: The partition columns, outermost first.
            primary_keys: The columns of the primary key.
            options: Table options. A folder in `data-file.external-paths`, `path` or `object-location` is allowed for
                this table as long as this catalog object exists.
            comment: A comment on the table.

        Raises:
            AlreadyExistsError: A table of this name exists, or a concurrent writer created it first.
            NoSuchNamespaceError: The database does not exist.
            InvalidArgumentError: Paimon does not support a type, or the name or an option is not allowed.
            UnsupportedError: frazil cannot write this type of table yet, the option `connector` is not `paimon`, or the
                catalog does not create tables.

        >>> import frazil, tempfile
        >>> catalog = frazil.load_catalog(type="paimon", warehouse=tempfile.mkdtemp())
        >>> catalog.create_namespace("sales")
        >>> options = {"type": "format-table", "file.format": "csv", "field-delimiter": ";"}
        >>> catalog.create_table("sales.logs", [("id", "INT"), ("name", "STRING")], options=options)
        <frazil.paimon.FormatTable '...': columns id, name>
        """
        levels = table_levels(identifier)
        self._check_namespace_of_new(levels[:-1])
        made_of = (schema, partition_keys, primary_keys, options, comment)
        new = NewTable("", *made_of)
        new.check_connector()
        own_locations = new.own_locations()
        if new.table_type() == FORMAT_TABLE:
            for place in own_locations:
                check_no_table(place, table_files(place, self._readable(), self.storage_properties))
        self._create_new(levels, made_of)
        self.allow(levels, own_locations)
        return self._load_after("created", levels)

    def plan_purge(self, identifier: Identifier) -> PurgePlan:
        """Return the files that `purge_table` deletes: all files in the folder of the table.

        Raises:
            NoSuchTableError: The table does not exist.
            UnsupportedError: The table has data files in other folders.
        """
        levels = table_levels(identifier)
        if not self._has_main(levels):
            raise self._no_such_table(levels)
        return planned(levels, self._open_files(levels))

    def _as_planned(self, plan: PurgePlan) -> PaimonCatalogTable:
        """Return the table of a plan; raise `CommitConflictError` if the table changed after planning."""
        if not self._has_main(plan.identifier):
            raise self._no_such_table(plan.identifier)
        table = self._open_files(plan.identifier)
        if not check_state(plan, table):
            raise self._changed_meanwhile(plan.identifier)
        return table

    def _create_new(self, levels: Levels, made_of: tuple[Any, ...]) -> None:
        """Create a table from the arguments of `NewTable` that follow the location."""
        del levels, made_of
        self._refuse("create tables")

    def _open(self, levels: Levels) -> PaimonCatalogTable | Any:
        table = self._open_files(levels)
        if table.options.get("type") in PLAIN_TYPES:
            return open_plain_table(table.schema(), table.location, table._options)  # noqa: SLF001 - one package
        return table

    def _open_files(self, levels: Levels) -> PaimonCatalogTable:
        """Open the folder of a table; a format table or an object table is opened as a table of Paimon files, too."""
        name, branch, system = _parts(levels[-1])
        if system is not None and system not in VIEWS:
            name, branch, system = levels[-1], None, None
        location = self._location((*levels[:-1], name))
        opened = PaimonCatalogTable.open(
            location,
            relocate=self._readable(),
            storage=self.storage_properties,
            allowed_locations=self.allowed_for(levels),
            branch=branch,
            view=VIEWS[system] if system else "rows",
        )
        table = cast("PaimonCatalogTable", opened)
        table.catalog = self
        table.levels = levels
        return table

    def _has_table(self, levels: Levels) -> bool:
        system = _parts(levels[-1])[2]
        return self._has_branch(levels) if system is None or system in VIEWS else self._has_main(levels)

    def _has_metadata_table(self, levels: Levels) -> bool:
        if levels[:-1] == (SYSTEM_DATABASE,):
            return levels[-1] in self.inspect
        return _parts(levels[-1])[2] in Inspect.names() and self._has_branch(levels)

    def _has_branch(self, levels: Levels) -> bool:
        """Return whether the table in `levels` exists and has the branch that its name contains."""
        name, branch, _ = _parts(levels[-1])
        main = (*levels[:-1], name)
        return self._has_main(main) and (branch in {None, MAIN} or branch in self._open_files(main).branches())

    def list_tables(self, namespace: Identifier = ()) -> list[tuple[str, ...]]:
        """List the tables of a database; the database `sys` contains the system tables of the catalog.

        Raises:
            NoSuchNamespaceError: The database does not exist.
        """
        if _is_system(namespace):
            return [(SYSTEM_DATABASE, name) for name in self.inspect.names()]
        return super().list_tables(namespace)

    def namespace_exists(self, namespace: Identifier) -> bool:
        """Return whether a database exists; `sys` always does."""
        return _is_system(namespace) or super().namespace_exists(namespace)

    def load_namespace_properties(self, namespace: Identifier) -> dict[str, str]:
        """Return the properties of a database; `sys` has none.

        Raises:
            NoSuchNamespaceError: The database does not exist.
        """
        return {} if _is_system(namespace) else super().load_namespace_properties(namespace)

    @property
    def inspect(self) -> CatalogInspect:
        """The system tables of the catalog: `inspect.all_tables()` is the same as `load_table("sys.all_tables")`."""
        return CatalogInspect(self)

    def _metadata_table(self, levels: Levels) -> VirtualTable | None:
        if levels[:-1] == (SYSTEM_DATABASE,):
            return self.inspect[levels[-1]]
        name, branch, system = _parts(levels[-1])
        if system is None:
            return None
        table = self._found((*levels[:-1], name if branch is None else f"{name}${BRANCH}{branch}"))
        if table is None:
            return None
        if not isinstance(table, Table):
            message = f"table {dotted((*levels[:-1], name))!r} of type {table.table_type} has no system tables"
            raise UnsupportedError(message, context={"catalog": self.name})
        return table.inspect[system]

    @property
    def takes_locks(self) -> bool:
        """Whether table writers acquire a lock from the catalog."""
        return False

    def lock(self, levels: Levels) -> SnapshotLock | None:
        """Return the lock to hold while a snapshot of a table is published; None if the catalog has no locks."""
        del levels
        return None

    def after_alter(self, table: PaimonCatalogTable) -> None:
        """Update what the catalog stores about a table after a new schema was published."""

    @abstractmethod
    def _has_main(self, levels: Levels) -> bool:
        """Return whether the table in `levels` exists; the name must not contain a branch."""

    @abstractmethod
    def _location(self, levels: Levels) -> str:
        """Return the current folder of a table; raise `NoSuchTableError` if the catalog does not contain it."""


class PaimonFolderCatalog(PaimonCatalog):
    """The tables of a warehouse folder, in the layout of Java's `FileSystemCatalog`."""

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Read `warehouse`, a path or a URI, from the properties; the first write creates a local folder."""
        self._warehouse = Warehouse(name, self.type, properties, may_be_new=True)
        super().__init__(name, {**properties, "warehouse": self._warehouse.location}, relocate)

    def _check_folder(self) -> None:
        self._warehouse.check_exists()

    def _is_new(self) -> bool:
        return self._warehouse.is_new

    def _create_new(self, levels: Levels, made_of: tuple[Any, ...]) -> None:
        check_table_levels(levels, self.name)
        if self._has_main(levels):
            raise self._exists_already(levels)
        place = self._warehouse.table(_folder(levels))
        files = table_files(place, self._readable(), self.storage_properties, self.allowed_for(levels))
        NewTable(place, *made_of).publish(files)

    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        if len(levels) != 1:
            self._refuse("nest databases")
        if properties:
            self._refuse("store database properties")
        check_name(levels[0])
        return self._warehouse.make_folder(_folder(levels))

    def _drop(self, levels: Levels, expected: str | None) -> None:
        del expected
        if not self._has_main(levels):
            raise self._no_such_table(levels)
        hint = "use purge_table, or move the folder of the table out of the warehouse"
        self._refuse("drop a table and keep its files", hint)

    def _purge(self, plan: PurgePlan) -> None:
        delete(plan, self._as_planned(plan).location)

    def _drop_namespace(self, levels: Levels) -> bool:
        return self._warehouse.remove_empty_folder(_folder(levels))

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        names = () if levels else self._warehouse.folders(())
        return {(name.removesuffix(DATABASE_SUFFIX),) for name in names if name.endswith(DATABASE_SUFFIX)}

    def _tables(self, levels: Levels) -> set[Levels]:
        if len(levels) != 1:
            return set()
        return {(*levels, name) for name in self._warehouse.folders_where(_folder(levels), self._is_table)}

    def _has_main(self, levels: Levels) -> bool:
        return len(levels) == 2 and self._is_table(_folder(levels))  # noqa: PLR2004 - database and table

    def _is_table(self, folder: Levels) -> bool:
        return any(name.startswith("schema-") for name in self._warehouse.file_names((*folder, "schema")))

    def _has_namespace(self, levels: Levels) -> bool:
        return len(levels) < 2 and self._warehouse.has_folder(_folder(levels))  # noqa: PLR2004 - no nesting

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        return {"location": self._warehouse.place(*_folder(levels))}

    def _location(self, levels: Levels) -> str:
        if len(levels) != 2:  # noqa: PLR2004 - database and table
            raise self._no_such_table(levels, "a table name consists of a database and a table")
        return self._warehouse.table(_folder(levels))


def _folder(levels: Levels) -> Levels:
    return (levels[0] + DATABASE_SUFFIX, *levels[1:]) if levels else ()


def check_table_levels(levels: Levels, catalog: str) -> None:
    """Reject invalid names for a new table."""
    if len(levels) != 2:  # noqa: PLR2004 - database and table
        message = f"{dotted(levels)!r} is not a table name, which consists of a database and a table"
        raise InvalidArgumentError(message, context={"catalog": catalog})
    check_name(levels[1])


def check_name(name: str) -> None:
    """Reject names that would refer to special folders or system tables."""
    if name == SYSTEM_DATABASE or name.startswith(".") or not _PLAIN_NAME.fullmatch(name):
        message = f"{name!r} is not allowed as the name of a database or table"
        raise InvalidArgumentError(message, hint="use letters, digits, `_` and `-`")


def _parts(name: str) -> tuple[str, str | None, str | None]:
    """Split a name such as `orders$branch_b1$files` into table, branch and system table.

    >>> _parts("t"), _parts("t$branch_b"), _parts("t$FILES"), _parts("t$branch_b$files")
    (('t', None, None), ('t', 'b', None), ('t', None, 'files'), ('t', 'b', 'files'))
    """
    table, separator, rest = name.partition("$")
    if not rest.startswith(BRANCH):
        return table, None, rest.lower() if separator else None
    branch, separator, system = rest.removeprefix(BRANCH).partition("$")
    return table, branch, system.lower() if separator else None


def _is_system(namespace: Identifier) -> bool:
    return namespace_levels(namespace) == (SYSTEM_DATABASE,)
