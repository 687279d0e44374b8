"""Catalogs: what they answer, and what is changed through them."""

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
    from frazil.iceberg._row import CatalogRow, ServerRow
    from frazil.iceberg._table import Table as IcebergTable
    from frazil.iceberg._table import Transaction


@dataclass(frozen=True, slots=True)
class PropertiesUpdateSummary:
    """What became of the properties of a namespace. `missing` were to be removed and not there."""

    removed: list[str]
    updated: list[str]
    missing: list[str]


class Catalog(Lookups[T]):
    """Tables by name, in namespaces that may nest. Use `frazil.load_catalog` to get one.

    A name is text with dots between its levels, or a tuple of them. What a type of catalog cannot do is refused with
    `UnsupportedError`.
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
        format_version: int = 2,
    ) -> T:
        """Make a table.

        Args:
            identifier: Its name, in a namespace that exists; a `hadoop` catalog creates missing namespaces.
            schema: As in `frazil.create_table`.
            location: Its folder; below that of the namespace, or of the warehouse, unless given.
            partition_by: As in `frazil.create_table`.
            partition_spec: The same by another name.
            sort_order: As in `frazil.create_table`.
            properties: Properties of the table.
            format_version: 1, 2 or 3.

        Raises:
            AlreadyExistsError: There is a table of this name, or another writer was first.
            NoSuchNamespaceError: There is no such namespace.
            InvalidArgumentError: A type that Iceberg does not have, a partition field that is none, or no place
                for the table.
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
        format_version: int = 2,
    ) -> CreateTableTransaction:
        """Begin a transaction that creates a table, with its first rows, in one commit.

        Nobody sees the table before the commit. If the `with` block fails, there is no table, and the files that were
        written are deleted. The arguments are those of `create_table`.

        Raises:
            AlreadyExistsError: There is a table of this name. The commit raises it if another writer was first.
            NoSuchNamespaceError: There is no such namespace.
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
        """Begin a transaction that gives a table another definition and new rows, in one commit.

        The table has no rows when the transaction begins. Its earlier snapshots, its tags and its other branches stay.
        A column keeps the id of the column that had its name. Others read the old rows until the commit.

        Args:
            identifier: The name of the table.
            schema: As in `create_table`.
            location: The folder of new files; that of the table unless given.
            partition_by: As in `create_table`.
            partition_spec: As in `create_table`.
            sort_order: As in `create_table`.
            properties: Properties that are set; others stay.
            format_version: 1, 2 or 3, not below that of the table; None keeps it.

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
        """Give the table of this name, made as by `create_table` if there is none. One that is there stays."""
        levels = table_levels(identifier)
        try:
            return self.create_table(levels, schema, *args, **kwargs)
        except AlreadyExistsError:
            return self.load_table(levels)

    def register_table(self, identifier: Identifier, metadata_location: str) -> T:
        """Give a name to a table that is there, by its newest metadata file.

        Raises:
            AlreadyExistsError: There is a table of this name.
            NoSuchNamespaceError: There is no such namespace.
            CorruptMetadataError: The file is no metadata of a table.
            MissingFileError: There is no such file.
        """
        levels = self._levels_of_new(identifier)
        self._register(levels, path_text("metadata_location", metadata_location))
        return self._load_after("registered", levels)

    def rename_table(self, from_identifier: Identifier, to_identifier: Identifier) -> T:
        """Give a table another name, in another namespace too; its files stay where they are.

        Raises:
            AlreadyExistsError: There is a table of the new name, be it this one.
            NoSuchNamespaceError: There is no such namespace to go to.
            NoSuchTableError: The table does not exist.
        """
        old, new = table_levels(from_identifier), table_levels(to_identifier)
        self._check_namespace_of_new(new[:-1])
        # A database finds nothing wrong with it.
        if new == old and self._has_table(old):
            raise self._exists_already(new)
        self._rename(old, new)
        return self._load_after("renamed", new)

    def _load_after(self, done: str, levels: Levels) -> T:
        """Load a table that was changed; an error says that it was."""
        try:
            return self.load_table(levels)
        except FrazilError as error:
            message = f"the table is {done}, but it cannot be loaded: {error.message}"
            raise type(error)(message, context=error.context, hint="load it by its name") from error

    def drop_table(self, identifier: Identifier, purge: bool = False) -> None:  # noqa: FBT001, FBT002 - as in Java
        """Forget a table. No file is deleted, unless `purge` is set: see `purge_table`.

        Raises:
            NoSuchTableError: The table does not exist.
        """
        if purge:
            self.purge_table(identifier)
        else:
            self._drop(table_levels(identifier), None)

    def plan_purge(self, identifier: Identifier) -> PurgePlan:
        """Say which files `purge_table` deletes: all that any snapshot, the metadata log or statistics name.

        Raises:
            CommitValidationError: The property `gc.enabled` of the table is false, or another table shares its files.
            MissingFileError: A manifest or manifest list is not there; nothing can be said of the files that it named.
            PathNotAllowedError: A file lies where this catalog may not delete.
        """
        levels = table_levels(identifier)
        plan = PurgePlan.of(levels, self.load_table(levels))
        self.check_shares_nothing(levels, plan.metadata_location)
        return plan

    def purge_table(self, identifier: Identifier, plan: PurgePlan | None = None) -> PurgePlan:
        """Forget a table, then delete its files; give what was deleted.

        Args:
            identifier: Its name.
            plan: What `plan_purge` gave, so that exactly this is deleted.

        Raises:
            CommitConflictError: The table changed after it was planned; nothing was deleted.
            NoSuchTableError: The table does not exist.
            StorageError: The table is forgotten, and some of its files could not be deleted; the message counts them.
        """
        levels = table_levels(identifier)
        plan = plan or self.plan_purge(levels)
        if plan.identifier != levels:
            message = f"the plan is for table {dotted(plan.identifier)!r}, not for {dotted(levels)!r}"
            raise InvalidArgumentError(message)
        self._purge(plan)
        return plan

    def create_namespace(self, namespace: Identifier, properties: Mapping[str, str] | None = None) -> None:
        """Make a namespace. Its property `location` is where its tables go.

        Raises:
            AlreadyExistsError: There is such a namespace.
        """
        levels = _named(namespace)
        self._prepare()
        if self._has_namespace(levels) or not self._create_namespace(levels, property_texts(properties)):
            message = f"catalog {self.name!r} has a namespace {dotted(levels)!r} already"
            raise AlreadyExistsError(message, context={"catalog": self.name, "namespace": dotted(levels)})

    def create_namespace_if_not_exists(
        self, namespace: Identifier, properties: Mapping[str, str] | None = None
    ) -> None:
        """Make a namespace if there is none of this name; one that is there is not changed."""
        try:
            self.create_namespace(namespace, properties)
        except AlreadyExistsError:
            return

    def drop_namespace(self, namespace: Identifier) -> None:
        """Remove an empty namespace.

        Raises:
            CatalogError: There are tables, views or namespaces in it.
            NoSuchNamespaceError: There is no such namespace.
        """
        levels = _named(namespace)
        if not self._drop_namespace(self._existing(levels)):
            message = f"namespace {dotted(levels)!r} of catalog {self.name!r} is not empty"
            context = {"catalog": self.name, "namespace": dotted(levels)}
            raise errors.CatalogError(message, context=context, hint="drop what is in it first")

    def update_namespace_properties(
        self, namespace: Identifier, removals: Iterable[str] | None = None, updates: Mapping[str, str] | None = None
    ) -> PropertiesUpdateSummary:
        """Remove and set properties of a namespace, in one step.

        Raises:
            InvalidArgumentError: A property is to be both removed and set.
            NoSuchNamespaceError: There is no such namespace.
        """
        removed = set(field_names(() if removals is None else removals, "removals"))
        updated = property_texts(updates, "updates")
        if both := sorted(removed & updated.keys()):
            message = f"properties are to be both removed and set: {', '.join(both)}"
            raise InvalidArgumentError(message)
        present = self._update_namespace(self._existing(_named(namespace)), removed, updated)
        return PropertiesUpdateSummary(sorted(removed & present), sorted(updated), sorted(removed - present))

    def recipe(self) -> tuple[Callable[..., Catalog[T]], tuple[Any, ...]]:
        """Give what makes this catalog again, in another process too: a function and its arguments."""
        return type(self), (self.name, dict(self.properties), dict(self._relocate))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name and properties, which hold the credentials that it was loaded with."""
        return self.recipe()

    def row(self, levels: Levels) -> CatalogRow | ServerRow | None:
        """Give the place that names the newest state of a table; None where the folder of the table does.

        Raises:
            UnsupportedError: Catalogs of this type cannot commit.
        """
        self._refuse(f"commit to table {dotted(levels)!r}")

    def _location_of_new(self, levels: Levels, location: str | None) -> str:
        if location is None:
            folder = self._folder_of(levels[:-1])
            if not folder:
                message = f"there is no place for table {dotted(levels)!r}: catalog {self.name!r} has no warehouse"
                hint = "give the table a location, the namespace the property location, or the catalog a warehouse"
                raise InvalidArgumentError(message, context={"catalog": self.name, "table": dotted(levels)}, hint=hint)
            location = f"{folder.rstrip('/')}/{levels[-1]}"
            if self._is_taken(levels, location):
                location = f"{location}-{uuid.uuid4().hex[:8]}"
        return place_of_new(location)

    def _is_taken(self, levels: Levels, location: str) -> bool:
        """Whether another table lies there, such as one that had the name before it was renamed."""
        return False

    def _files_of_new(self, levels: Levels, new: NewTable) -> _native.Files:
        """Return the files that a new table may access: also those that its creator names in its properties."""
        allowed = [*self.allowed_for(levels), *new.own_locations()]
        credentials = self.credentials_for(levels)
        return table_files(new.location, self._readable(), self.storage_properties, allowed, credentials)

    def _folder_of(self, namespace: Levels) -> str | None:
        """Where the tables of a namespace go."""
        return self.load_namespace_properties(namespace).get("location")

    def _levels_of_new(self, identifier: Identifier) -> Levels:
        levels = table_levels(identifier)
        self._check_namespace_of_new(levels[:-1])
        return levels

    def _check_namespace_of_new(self, namespace: Levels) -> None:
        if not namespace:
            self._prepare()
        if not self._has_namespace(namespace):
            raise self._no_such_namespace(namespace, "create_namespace creates it")

    def _prepare(self) -> None:
        """Make what the catalog itself needs, before the first thing in it is made."""

    def check_shares_nothing(self, levels: Levels, metadata_location: str) -> None:
        """Raise an error if another table of the catalog may use files in the folder of a table."""

    def _changed_meanwhile(self, levels: Levels) -> CommitConflictError:
        message = f"table {dotted(levels)!r} changed after its deletion was planned; nothing was deleted"
        return CommitConflictError(message, context={"catalog": self.name, "table": dotted(levels)})

    def _exists_already(self, levels: Levels) -> AlreadyExistsError:
        message = f"catalog {self.name!r} has a table {dotted(levels)!r} already"
        context = {"catalog": self.name, "table": dotted(levels)}
        return AlreadyExistsError(
            message, context=context, hint="load_table opens it; create_table_if_not_exists does both"
        )

    def _refuse(self, what: str, hint: str | None = None) -> NoReturn:
        message = f"catalogs of type {self.type}, which {self.name!r} is, cannot {what}"
        raise UnsupportedError(message, context={"catalog": self.name}, hint=hint)

    # What kinds of catalogs do, each in one step of theirs.

    def _check_new(self, levels: Levels, new: NewTable) -> None:
        """Raise an error if a table cannot be created under this name."""
        self._refuse("make tables")

    def _staged(
        self, levels: Levels, native: _native.Table, files: _native.Files, location: str, options: dict[str, Any]
    ) -> IcebergTable:
        """Return a new table as a transaction has it, before its commit."""
        del levels, native, files, location, options
        self._refuse("make tables")

    def _created(self, levels: Levels, native: _native.Table, files: _native.Files, location: str) -> T:
        """Return a table after the commit that created it, which made the state `native`."""
        return self._load_after("made", levels)

    def _register(self, levels: Levels, metadata_location: str) -> None:
        self._refuse("register tables")

    def _rename(self, old: Levels, new: Levels) -> None:
        self._refuse("rename tables")

    def _drop(self, levels: Levels, expected: str | None) -> None:
        """Forget a table; `CommitConflictError` where `expected` is given and not its metadata file."""
        self._refuse("drop tables")

    def _purge(self, plan: PurgePlan) -> None:
        self._refuse("delete tables")

    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        """Make a namespace; say whether there was none."""
        self._refuse("make namespaces")

    def _drop_namespace(self, levels: Levels) -> bool:
        """Remove a namespace if it is empty; say whether it was."""
        self._refuse("drop namespaces")

    def _update_namespace(self, levels: Levels, removed: set[str], updated: Mapping[str, str]) -> set[str]:
        """Change properties; give the keys that there were."""
        self._refuse("keep properties of namespaces")


def _partition_fields(partition_by: Any, partition_spec: Any) -> Any:
    """Return the partition fields, which have two names."""
    if partition_by and partition_spec:
        message = "partition_by and partition_spec exclude each other"
        raise InvalidArgumentError(message)
    if hasattr(partition_spec, "fields"):
        return partition_spec
    return field_names(partition_spec, "partition_spec") or partition_by


def _named(namespace: Identifier) -> Levels:
    levels = namespace_levels(namespace)
    if not levels:
        message = "the name of a namespace is empty"
        raise InvalidArgumentError(message)
    return levels
