"""The base class of catalogs: lookups and changes."""

# ruff: noqa: ARG002 - what a type of catalog cannot do is refused, whatever is asked

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from frazil import errors
from frazil._arguments import field_names, path_text, place_of_new, property_texts, table_files
from frazil._opened import opened_with
from frazil.catalog._identifiers import dotted, namespace_levels, table_levels
from frazil.catalog._lookups import Lookups, T
from frazil.catalog._purge import PurgePlan
from frazil.errors import AlreadyExistsError, CommitConflictError, FrazilError, InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from frazil import _native
    from frazil.catalog._identifiers import Identifier, Levels
    from frazil.iceberg._creation import CreateTableTransaction
    from frazil.iceberg._new_table import NewTable
    from frazil.iceberg._pointer import CatalogRow, ServerRow
    from frazil.iceberg._table import Table as IcebergTable
    from frazil.iceberg._table import Transaction


@dataclass(frozen=True, slots=True)
class PropertiesUpdateSummary:
    """The result of a change to namespace properties. `missing` holds the keys to remove that did not exist."""

    removed: list[str]
    updated: list[str]
    missing: list[str]


class Catalog(Lookups[T]):
    """Tables by name, in namespaces that can be nested. Use `frazil.load_catalog` to open a catalog.

    A name is a string with dots between its levels, or a tuple of levels. Operations that a catalog type does not
    support raise `UnsupportedError`.
    """

    def create_table(  # noqa: PLR0913 - as PyIceberg has it
        self,
        identifier: Identifier,
        schema: Any,
        location: str | None = None,
        *,
        partition_by: Any = (),
        partition_spec: Any = (),
        sort_order: Any = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
    ) -> T:
        """Create a table.

        Args:
            identifier: The name, in an existing namespace; a `hadoop` catalog creates missing namespaces.
            schema: As in `frazil.create_table`.
            location: The folder; defaults to a folder below the namespace's location or the warehouse.
            partition_by: As in `frazil.create_table`.
            partition_spec: An alias of `partition_by`.
            sort_order: As in `frazil.create_table`.
            properties: Table properties.
            format_version: 1, 2 or 3; by default the property `format-version`, or else 2.

        Raises:
            AlreadyExistsError: A table of this name exists, or a concurrent writer created it first.
            NoSuchNamespaceError: The namespace does not exist.
            InvalidArgumentError: Iceberg does not support a type, a partition field is invalid, or no location for the
                table can be determined.
        """
        from frazil.iceberg._new_table import NewTable

        levels = self._levels_of_new(identifier)
        place, fields = self._location_of_new(levels, location), _partition_fields(partition_by, partition_spec)
        new = NewTable(place, schema, fields, format_version, properties, sort_order)
        self._check_new(levels, new)
        files = self._files_of_new(levels, new)
        native = new.make(files, self.row(levels))
        self.allow(levels, new.own_locations())
        return self._created(levels, native, files, new.location)

    def create_table_transaction(  # noqa: PLR0913 - as PyIceberg has it
        self,
        identifier: Identifier,
        schema: Any,
        location: str | None = None,
        *,
        partition_by: Any = (),
        partition_spec: Any = (),
        sort_order: Any = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
    ) -> CreateTableTransaction:
        """Begin a transaction that creates a table with its first rows in one commit.

        The table is not visible before the commit. If the `with` block fails, the table is not created and the files
        already written are deleted. The arguments are those of `create_table`.

        Raises:
            AlreadyExistsError: A table of this name exists. The commit raises this error if a concurrent writer created
                the table first.
            NoSuchNamespaceError: The namespace does not exist.
            InvalidArgumentError: As in `create_table`.

        >>> import frazil, tempfile
        >>> catalog = frazil.load_catalog(type="local", path=tempfile.mkdtemp() + "/lake")
        >>> catalog.create_namespace("sales")
        >>> with catalog.create_table_transaction("sales.orders", {"id": "long"}) as changes:
        ...     added = changes.append([{"id": 1}, {"id": 2}])
        >>> catalog.load_table("sales.orders").scan().count()
        2
        """
        from frazil.iceberg._creation import CreateTableTransaction
        from frazil.iceberg._new_table import NewTable

        levels = self._levels_of_new(identifier)
        place, fields = self._location_of_new(levels, location), _partition_fields(partition_by, partition_spec)
        new = NewTable(place, schema, fields, format_version, properties, sort_order)
        self._check_new(levels, new)
        files = self._files_of_new(levels, new)
        begun = new.begin(files, self.row(levels))
        allowed = [*self.allowed_for(levels), *new.own_locations()]
        options = opened_with(self._readable(), self.storage_properties, allowed, self.credentials_for(levels))
        return CreateTableTransaction(
            self._staged(levels, begun.staged(), files, new.location, options),
            begun,
            created=lambda: self.allow(levels, new.own_locations()),
            exists_already=lambda: self._exists_already(levels),
        )

    def replace_table_transaction(  # noqa: PLR0913 - as `create_table_transaction`
        self,
        identifier: Identifier,
        schema: Any,
        location: str | None = None,
        *,
        partition_by: Any = (),
        partition_spec: Any = (),
        sort_order: Any = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
    ) -> Transaction:
        """Begin a transaction that replaces the definition and the rows of a table in one commit.

        The table is empty when the transaction begins. Its earlier snapshots, tags and other branches are kept. A
        column keeps the id of the existing column of the same name. Readers see the old rows until the commit.

        Args:
            identifier: The name of the table.
            schema: As in `create_table`.
            location: The folder for new files; defaults to the folder of the table.
            partition_by: As in `create_table`.
            partition_spec: As in `create_table`.
            sort_order: As in `create_table`.
            properties: Properties to set; other properties are kept.
            format_version: 1, 2 or 3, not lower than the version of the table; None keeps the version.

        Raises:
            NoSuchTableError: The table does not exist.
            InvalidArgumentError: As in `create_table`.

        >>> import frazil, tempfile
        >>> catalog = frazil.load_catalog(type="local", path=tempfile.mkdtemp() + "/lake")
        >>> catalog.create_namespace("sales")
        >>> table = catalog.create_table("sales.orders", {"id": "long"})
        >>> added = table.append([{"id": 1}])
        >>> with catalog.replace_table_transaction("sales.orders", {"id": "long", "name": "string"}) as changes:
        ...     added = changes.append([{"id": 2, "name": "x"}])
        >>> table = catalog.load_table("sales.orders")
        >>> table.scan().to_arrow().to_pylist(), len(table.snapshots())
        ([{'id': 2, 'name': 'x'}], 2)
        """
        from frazil.iceberg._new_table import NewTable, own_locations
        from frazil.iceberg._table import replace_definition

        named = [] if location is None else [place_of_new(location)]
        self.allow(table_levels(identifier), [*own_locations(property_texts(properties)), *named])
        table: Any = self.load_table(identifier)
        if table.format != "iceberg":
            self._refuse("replace tables")
        fields = _partition_fields(partition_by, partition_spec)
        new = NewTable(location or table.location, schema, fields, format_version, properties, sort_order)
        changes: Transaction = table.transaction()
        try:
            replace_definition(changes, new, keep_location=location is None)
        except BaseException:
            changes.abort()
            raise
        return changes

    def create_table_if_not_exists(self, identifier: Identifier, schema: Any, *args: Any, **kwargs: Any) -> T:
        """Return the table of this name, created as by `create_table` if it does not exist."""
        levels = table_levels(identifier)
        try:
            return self.create_table(levels, schema, *args, **kwargs)
        except AlreadyExistsError:
            return self.load_table(levels)

    def register_table(self, identifier: Identifier, metadata_location: str) -> T:
        """Register an existing table under a name, from its latest metadata file.

        Raises:
            AlreadyExistsError: A table of this name exists.
            NoSuchNamespaceError: The namespace does not exist.
            CorruptMetadataError: The file is not valid table metadata.
            MissingFileError: The file does not exist.
        """
        levels = self._levels_of_new(identifier)
        self._register(levels, path_text("metadata_location", metadata_location))
        return self._load_after("registered", levels)

    def rename_table(self, from_identifier: Identifier, to_identifier: Identifier) -> T:
        """Rename a table, possibly into another namespace; its files are not moved.

        Raises:
            AlreadyExistsError: A table with the new name exists; this includes renaming a table to its current name.
            NoSuchNamespaceError: The target namespace does not exist.
            NoSuchTableError: The table does not exist.
        """
        old, new = table_levels(from_identifier), table_levels(to_identifier)
        self._check_namespace_of_new(new[:-1])
        # A database would accept renaming a table to its current name.
        if new == old and self._has_table(old):
            raise self._exists_already(new)
        self._rename(old, new)
        return self._load_after("renamed", new)

    def _load_after(self, done: str, levels: Levels) -> T:
        """Load a table after a change; an error states that the change was made."""
        try:
            return self.load_table(levels)
        except FrazilError as error:
            message = f"the table was {done}, but it cannot be loaded: {error.message}"
            raise type(error)(message, context=error.context, hint="load the table by its name") from error

    def drop_table(self, identifier: Identifier, purge: bool = False) -> None:  # noqa: FBT001, FBT002 - as in Java
        """Remove a table from the catalog. Its files are deleted only if `purge` is set (see `purge_table`).

        Raises:
            NoSuchTableError: The table does not exist.
        """
        if purge:
            self.purge_table(identifier)
        else:
            self._drop(table_levels(identifier), None)

    def plan_purge(self, identifier: Identifier) -> PurgePlan:
        """List the files that `purge_table` deletes: all files referenced by snapshots, metadata log or statistics.

        Raises:
            CommitValidationError: The table property `gc.enabled` is false, or another table shares files with it.
            MissingFileError: A manifest or manifest list is missing, so the files that it referenced are unknown.
            PathNotAllowedError: A file is in a location where this catalog may not delete files.
        """
        levels = table_levels(identifier)
        plan = PurgePlan.of(levels, self.load_table(levels))
        self.check_shares_nothing(levels, plan.metadata_location)
        return plan

    def purge_table(self, identifier: Identifier, plan: PurgePlan | None = None) -> PurgePlan:
        """Remove a table from the catalog and delete its files; return the plan that was carried out.

        Args:
            identifier: The name of the table.
            plan: The result of `plan_purge`, to delete exactly those files.

        Raises:
            CommitConflictError: The table changed after the purge was planned; nothing was deleted.
            NoSuchTableError: The table does not exist.
            StorageError: The table was removed from the catalog, but some files could not be deleted; the message
                counts them.
        """
        levels = table_levels(identifier)
        plan = plan or self.plan_purge(levels)
        if plan.identifier != levels:
            message = f"the purge plan belongs to table {dotted(plan.identifier)!r}, not to {dotted(levels)!r}"
            raise InvalidArgumentError(message)
        self._purge(plan)
        return plan

    def create_namespace(self, namespace: Identifier, properties: Mapping[str, str] | None = None) -> None:
        """Create a namespace. Its property `location` is the parent folder of new tables.

        Raises:
            AlreadyExistsError: The namespace exists.
        """
        levels = _named(namespace)
        self._prepare()
        if self._has_namespace(levels) or not self._create_namespace(levels, property_texts(properties)):
            message = f"catalog {self.name!r} already has a namespace {dotted(levels)!r}"
            raise AlreadyExistsError(message, context={"catalog": self.name, "namespace": dotted(levels)})

    def create_namespace_if_not_exists(
        self, namespace: Identifier, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create a namespace if it does not exist; an existing namespace is not changed."""
        try:
            self.create_namespace(namespace, properties)
        except AlreadyExistsError:
            return

    def drop_namespace(self, namespace: Identifier) -> None:
        """Drop an empty namespace.

        Raises:
            CatalogError: The namespace contains tables, views or namespaces.
            NoSuchNamespaceError: The namespace does not exist.
        """
        levels = _named(namespace)
        if not self._drop_namespace(self._existing(levels)):
            message = f"namespace {dotted(levels)!r} of catalog {self.name!r} is not empty"
            context = {"catalog": self.name, "namespace": dotted(levels)}
            raise errors.CatalogError(message, context=context, hint="drop its tables, views and namespaces first")

    def update_namespace_properties(
        self, namespace: Identifier, removals: Iterable[str] | None = None, updates: Mapping[str, str] | None = None
    ) -> PropertiesUpdateSummary:
        """Remove and set properties of a namespace in one step.

        Raises:
            InvalidArgumentError: The same property is both removed and set.
            NoSuchNamespaceError: The namespace does not exist.
        """
        removed = set(field_names(() if removals is None else removals, "removals"))
        updated = property_texts(updates, "updates")
        if both := sorted(removed & updated.keys()):
            message = f"the same properties are both removed and set: {', '.join(both)}"
            raise InvalidArgumentError(message)
        present = self._update_namespace(self._existing(_named(namespace)), removed, updated)
        return PropertiesUpdateSummary(sorted(removed & present), sorted(updated), sorted(removed - present))

    def recipe(self) -> tuple[Callable[..., Catalog[T]], tuple[Any, ...]]:
        """Return a function and its arguments that recreate this catalog, also in another process."""
        return type(self), (self.name, dict(self.properties), dict(self._relocate))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and the properties, including any credentials that the catalog was loaded with."""
        return self.recipe()

    def row(self, levels: Levels) -> CatalogRow | ServerRow | None:
        """Return the catalog pointer of a table; None if the latest state is determined by the table's folder.

        Raises:
            UnsupportedError: Catalogs of this type do not support commits.
        """
        self._refuse(f"commit to table {dotted(levels)!r}")

    def _location_of_new(self, levels: Levels, location: str | None) -> str:
        if location is None:
            folder = self._folder_of(levels[:-1])
            if not folder:
                message = f"no location for table {dotted(levels)!r}: catalog {self.name!r} has no warehouse"
                hint = (
                    "pass a location for the table, set the property location of the namespace, or configure a "
                    "warehouse"
                )
                raise InvalidArgumentError(message, context={"catalog": self.name, "table": dotted(levels)}, hint=hint)
            location = f"{folder.rstrip('/')}/{levels[-1]}"
            if self._is_taken(levels, location):
                location = f"{location}-{uuid.uuid4().hex[:8]}"
        return place_of_new(location)

    def _is_taken(self, levels: Levels, location: str) -> bool:
        """Return whether the location holds another table, such as one that had this name before a rename."""
        return False

    def _files_of_new(self, levels: Levels, new: NewTable) -> _native.Files:
        """Return the files that a new table may access, including locations in the properties set by its creator."""
        allowed = [*self.allowed_for(levels), *new.own_locations()]
        credentials = self.credentials_for(levels)
        return table_files(new.location, self._readable(), self.storage_properties, allowed, credentials)

    def _folder_of(self, namespace: Levels) -> str | None:
        """Return the parent folder of the tables in a namespace."""
        return self.load_namespace_properties(namespace).get("location")

    def _levels_of_new(self, identifier: Identifier) -> Levels:
        levels = table_levels(identifier)
        self._check_namespace_of_new(levels[:-1])
        return levels

    def _check_namespace_of_new(self, namespace: Levels) -> None:
        if not namespace:
            self._prepare()
        if not self._has_namespace(namespace):
            raise self._no_such_namespace(namespace, "create the namespace with create_namespace")

    def _prepare(self) -> None:
        """Create the structures that the catalog itself needs, before its first change."""

    def check_shares_nothing(self, levels: Levels, metadata_location: str) -> None:
        """Raise an error if another table of the catalog may use files in a table's folder."""

    def _changed_meanwhile(self, levels: Levels) -> CommitConflictError:
        message = f"table {dotted(levels)!r} changed after its deletion was planned; nothing was deleted"
        return CommitConflictError(message, context={"catalog": self.name, "table": dotted(levels)})

    def _exists_already(self, levels: Levels) -> AlreadyExistsError:
        message = f"catalog {self.name!r} already has a table {dotted(levels)!r}"
        context = {"catalog": self.name, "table": dotted(levels)}
        return AlreadyExistsError(
            message, context=context, hint="open it with load_table, or use create_table_if_not_exists"
        )

    def _refuse(self, what: str, hint: str | None = None) -> NoReturn:
        message = f"catalog {self.name!r} of type {self.type} cannot {what}"
        raise UnsupportedError(message, context={"catalog": self.name}, hint=hint)

    # The operations of the catalog types, each of which is one atomic step.

    def _check_new(self, levels: Levels, new: NewTable) -> None:
        """Raise an error if the table `new` cannot be created under the name `levels`."""
        self._refuse("create tables")

    def _staged(
        self, levels: Levels, native: _native.Table, files: _native.Files, location: str, options: dict[str, Any]
    ) -> IcebergTable:
        """Return a new table in the state that a transaction sees before its commit."""
        del levels, native, files, location, options
        self._refuse("create tables")

    def _created(self, levels: Levels, native: _native.Table, files: _native.Files, location: str) -> T:
        """Return the table that a commit created; `native` is its committed state."""
        return self._load_after("created", levels)

    def _register(self, levels: Levels, metadata_location: str) -> None:
        self._refuse("register tables")

    def _rename(self, old: Levels, new: Levels) -> None:
        self._refuse("rename tables")

    def _drop(self, levels: Levels, expected: str | None) -> None:
        """Drop a table; raise `CommitConflictError` if `expected` is given and is not the current metadata file."""
        self._refuse("drop tables")

    def _purge(self, plan: PurgePlan) -> None:
        self._refuse("delete tables")

    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        """Create a namespace and return whether it was created."""
        self._refuse("create namespaces")

    def _drop_namespace(self, levels: Levels) -> bool:
        """Drop a namespace if it is empty and return whether it was dropped."""
        self._refuse("drop namespaces")

    def _update_namespace(self, levels: Levels, removed: set[str], updated: Mapping[str, str]) -> set[str]:
        """Change properties and return the keys that existed before the change."""
        self._refuse("store namespace properties")


def _partition_fields(partition_by: Any, partition_spec: Any) -> Any:
    """Return the partition fields from whichever of the two arguments is given."""
    if partition_by and partition_spec:
        message = "partition_by and partition_spec are mutually exclusive"
        raise InvalidArgumentError(message)
    if partition_spec is None:
        return partition_by
    if hasattr(partition_spec, "fields"):
        return partition_spec
    return field_names(partition_spec, "partition_spec") or partition_by


def _named(namespace: Identifier) -> Levels:
    levels = namespace_levels(namespace)
    if not levels:
        message = "the namespace name is empty"
        raise InvalidArgumentError(message)
    return levels
