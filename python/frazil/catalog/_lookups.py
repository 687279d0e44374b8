"""The read operations that all catalogs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from frazil import _native
from frazil._arguments import listed_locations
from frazil._virtual_table import split_metadata_table
from frazil.catalog._identifiers import dotted, namespace_levels, table_levels
from frazil.catalog._properties import Properties, of_storage
from frazil.errors import FrazilError, NoSuchNamespaceError, NoSuchTableError

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from frazil._credentials import Credentials
    from frazil._virtual_table import VirtualTable
    from frazil.catalog._identifiers import Identifier, Levels

_SHOWN_NAMES = 8

T = TypeVar("T")
"""The type of the tables of a catalog."""


class Lookups(ABC, Generic[T]):
    """The read operations of a catalog. A name is a string with dots between its levels, or a tuple of levels."""

    type: ClassVar[str]
    """The `type` that identifies this catalog type in `frazil.load_catalog`."""

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Keep the name, the properties and the mapping of recorded prefixes to current locations."""
        self.name = name
        self.properties = Properties(properties)
        self._relocate = dict(relocate)
        self._own: dict[Levels, list[str]] = {}

    @property
    def storage_properties(self) -> Properties:
        """The properties that are passed to the storage of the tables."""
        return of_storage(self.properties)

    def credentials_for(self, levels: Levels) -> Credentials | None:  # noqa: ARG002 - of servers that vend some
        """Return the credentials that the catalog's server vends for the files of a table, or None."""
        return None

    @property
    def allowed_locations(self) -> list[str]:
        """The locations that tables of this catalog may access in addition to their own and the warehouse."""
        return listed_locations(self.properties.get("allowed_locations", ""))

    def allowed_for(self, levels: Levels) -> list[str]:
        """Return the locations that one table may access: those of the catalog and those added by `allow`."""
        return [*self.allowed_locations, *self._own.get(levels, ())]

    def allow(self, levels: Levels, locations: Sequence[str]) -> None:
        """Allow one table to access locations that the user of this catalog specified for its files."""
        self._own.setdefault(levels, []).extend(locations)

    def close(self) -> None:
        """Close the connections of the catalog. The catalog and its tables open new connections if they are used again.

        A `with` block does this at its end.

        >>> import frazil, tempfile
        >>> with frazil.load_catalog(type="local", path=tempfile.mkdtemp() + "/lake") as catalog:
        ...     catalog.create_namespace("sales")
        >>> catalog.list_namespaces()
        [('sales',)]
        """

    def __enter__(self) -> Self:
        """Return the catalog."""
        return self

    def __exit__(self, kind: builtins.type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Close the connections."""
        self.close()

    def list_namespaces(self, namespace: Identifier = ()) -> list[tuple[str, ...]]:
        """List the namespaces directly below a namespace, or the top-level namespaces.

        A warehouse folder that does not exist yet has no namespaces.

        Raises:
            MissingFileError: The folder of the catalog does not exist.
            NoSuchNamespaceError: The namespace does not exist.
        """
        if not namespace_levels(namespace) and self._is_new():
            return []
        return sorted(self._child_namespaces(self._existing(namespace)))

    def list_tables(self, namespace: Identifier = ()) -> list[tuple[str, ...]]:
        """List the tables of a namespace, or those without a namespace, by full name.

        Raises:
            MissingFileError: The folder of the catalog does not exist.
            NoSuchNamespaceError: The namespace does not exist.
        """
        return sorted(self._tables(self._existing(namespace)))

    def list_views(self, namespace: Identifier) -> list[tuple[str, ...]]:
        """Return an empty list: views are not supported.

        Raises:
            NoSuchNamespaceError: The namespace does not exist.
        """
        self._existing(namespace)
        return []

    def load_table(self, identifier: Identifier) -> T | Any:
        """Open a table.

        `sales.orders$files` opens the metadata table or system table `files` of the table `sales.orders`, as a
        `frazil.VirtualTable`; for an Iceberg table, `sales.orders.files` does the same. A table of that name takes
        precedence.

        Raises:
            InvalidArgumentError: The table does not have this metadata table.
            MissingFileError: The folder of the catalog does not exist.
            NoSuchTableError: The table does not exist.
            CorruptMetadataError: The table's metadata violates the specification.
            UnsupportedError: This release does not read the table's format or version.
        """
        levels = table_levels(identifier)
        self._check_folder()
        try:
            return self._open(levels)
        except NoSuchTableError as error:
            found = self._metadata_table(levels)
            if found is not None:
                return found
            if error.context.get("catalog") == self.name:
                raise
            raise self._no_such_table(levels, str(error)) from error

    def table_exists(self, identifier: Identifier) -> bool:
        """Return whether a table exists, that is, whether `load_table` finds it.

        `sales.orders$files` exists if the table `sales.orders` does.
        """
        levels = table_levels(identifier)
        return self._has_table(levels) or self._has_metadata_table(levels)

    def namespace_exists(self, namespace: Identifier) -> bool:
        """Return whether a namespace exists.

        Raises:
            MissingFileError: The folder of the catalog does not exist.
        """
        levels = namespace_levels(namespace)
        self._check_folder()
        return self._has_namespace(levels)

    def load_namespace_properties(self, namespace: Identifier) -> dict[str, str]:
        """Return the properties of a namespace; `location` is the parent folder of its tables, if known.

        Raises:
            MissingFileError: The folder of the catalog does not exist.
            NoSuchNamespaceError: The namespace does not exist.
        """
        return self._namespace_properties(self._existing(namespace))

    @abstractmethod
    def _child_namespaces(self, levels: Levels) -> set[Levels]: ...

    @abstractmethod
    def _tables(self, levels: Levels) -> set[Levels]: ...

    @abstractmethod
    def _has_table(self, levels: Levels) -> bool: ...

    @abstractmethod
    def _has_namespace(self, levels: Levels) -> bool: ...

    @abstractmethod
    def _namespace_properties(self, levels: Levels) -> dict[str, str]: ...

    @abstractmethod
    def _open(self, levels: Levels) -> T:
        """Open a table; raise `NoSuchTableError` if the catalog has no such table or its location contains none."""

    def _metadata_table(self, levels: Levels) -> VirtualTable | None:
        """Open `t$files` or `t.files`; None if there is no table `t`."""
        levels, name = self._split(levels)
        table = None if name is None else self._found(levels)
        return None if table is None else cast("VirtualTable", table.inspect[name])

    def _has_metadata_table(self, levels: Levels) -> bool:
        """Return whether `_metadata_table` finds a table."""
        levels, name = self._split(levels)
        return name in self._metadata_tables() and self._has_table(levels)

    def _split(self, levels: Levels) -> tuple[Levels, str | None]:
        """Split `t$files` or `t.files` into the table and the name of its metadata table, or None."""
        last, name = split_metadata_table(levels[-1])
        if name is not None:
            return (*levels[:-1], last), name
        if len(levels) > 1 and levels[-1] in self._metadata_tables():
            return levels[:-1], levels[-1]
        return levels, None

    def _metadata_tables(self) -> list[str]:
        """Return the metadata table names that can follow a table name and a dot."""
        return [name for name, _, _ in _native.iceberg_metadata_tables()]

    def _found(self, levels: Levels) -> Any:
        """Open a table; None if it does not exist."""
        try:
            return self._open(levels)
        except NoSuchTableError:
            return None

    def _check_folder(self) -> None:
        """Raise `MissingFileError` if the catalog is a local folder that does not exist."""

    def _is_new(self) -> bool:
        """Return whether the first write will create the folder of the catalog's warehouse."""
        return False

    def _existing(self, namespace: Identifier) -> Levels:
        levels = namespace_levels(namespace)
        self._check_folder()
        if not self._has_namespace(levels):
            raise self._no_such_namespace(levels)
        return levels

    def _no_such_namespace(self, levels: Levels, remedy: str | None = None) -> NoSuchNamespaceError:
        message = f"catalog {self.name!r} has no namespace {dotted(levels)!r}"
        found = self._hint() or self._shown(self._siblings(levels, self._child_namespaces))
        hint = "; ".join(part for part in (found, remedy) if part) or None
        return NoSuchNamespaceError(message, context={"catalog": self.name, "namespace": dotted(levels)}, hint=hint)

    def _no_such_table(self, levels: Levels, why: str | None = None) -> NoSuchTableError:
        message = f"catalog {self.name!r} has no table {dotted(levels)!r}" + (f": {why}" if why else "")
        hint = self._hint() or self._shown(self._siblings(levels, self._tables))
        return NoSuchTableError(message, context={"catalog": self.name, "table": dotted(levels)}, hint=hint)

    def _siblings(self, levels: Levels, listed: Callable[[Levels], set[Levels]]) -> list[str]:
        """Return the names in the same namespace for a hint; empty if listing them is slow or fails."""
        if not levels or not self._lists_fast:
            return []
        try:
            return sorted(dotted(found) for found in listed(levels[:-1]))
        except FrazilError:
            return []

    @staticmethod
    def _shown(names: list[str]) -> str | None:
        more = ", …" if len(names) > _SHOWN_NAMES else ""
        return f"existing names: {', '.join(repr(name) for name in names[:_SHOWN_NAMES])}{more}" if names else None

    _lists_fast: ClassVar[bool] = False
    """Whether a single request lists the names, without checking each table."""

    def _hint(self) -> str | None:
        """Return a hint about the possible cause when a name is not found."""
        return None

    def _relocated(self, location: str) -> str:
        """Return the current location for a recorded location."""
        mapping = self._mapping()
        if not mapping:
            return location
        files = _native.Files("/", list(mapping.items()), [location], {})
        return str(files.openable(location))

    def _mapping(self) -> dict[str, str]:
        """Return the mapping of recorded prefixes to their current locations."""
        return self._relocate

    def _readable(self) -> dict[str, str]:
        """Return the location mapping to open a table with; by default the warehouse maps to itself.

        Mapping the warehouse to itself allows tables to read all of its files.
        """
        warehouse = self.properties.get("warehouse")
        return self._mapping() or ({warehouse: warehouse} if warehouse else {})

    def __repr__(self) -> str:
        """Return a representation with the type, name and properties, without secrets."""
        return f"<frazil.catalog.{type(self).__name__} {self.name!r} {self.properties!r}>"
