"""Named catalogs, the current catalog and namespace, and the resolution of table names as in Spark."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.catalog import Catalog
from frazil.catalog._load import catalog_of as load_catalog
from frazil.errors import AlreadyExistsError, InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DEFAULT = "table-default."
_OVERRIDE = "table-override."
_NAMESPACE = "default-namespace"
_OF_SPARK = frozenset({"spark_catalog", "global_temp", "session", "system"})

_FILE_FORMATS = frozenset({"avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml"})
"""The formats of files that Spark reads by their path."""


class LakeCatalog:
    """A catalog with its SQL name, opened on first use."""

    def __init__(self, name: str, given: Catalog[Any] | Mapping[str, Any], comment: str | None = None) -> None:
        """Keep an opened catalog, or the properties with which it is opened on first use; and its comment.

        Raises:
            InvalidArgumentError: The argument is neither a catalog nor a mapping of properties.
        """
        self.name, self.comment = name, comment
        self._catalog: Catalog[Any] | None = None
        self._properties: dict[str, Any] = {}
        self.defaults: dict[str, str] = {}
        self.overrides: dict[str, str] = {}
        if isinstance(given, Catalog):
            self._catalog = given
            self._namespace: str | None = None
            return
        if not hasattr(given, "items"):
            message = f"catalog {name!r} must be a catalog or a mapping of its properties, not {type(given).__name__}"
            raise InvalidArgumentError(message)
        properties = dict(given)
        self._namespace = properties.pop(_NAMESPACE, None)
        self.defaults = _taken(properties, _DEFAULT)
        self.overrides = _taken(properties, _OVERRIDE)
        self._properties = properties

    @property
    def catalog(self) -> Catalog[Any]:
        """The catalog object, opened on first access.

        Raises:
            InvalidArgumentError: The properties do not describe a catalog.
            UnsupportedError: Catalogs of this type are not supported yet.
        """
        if self._catalog is None:
            self._catalog = load_catalog(self.name, self._properties)
        return self._catalog

    def properties(self) -> dict[str, str]:
        """Return the properties with which the catalog was added; empty for an opened catalog."""
        own = {} if self._namespace is None else {_NAMESPACE: self._namespace}
        own |= {f"{_DEFAULT}{name}": value for name, value in self.defaults.items()}
        own |= {f"{_OVERRIDE}{name}": value for name, value in self.overrides.items()}
        return {name: str(value) for name, value in self._properties.items()} | own

    @property
    def format(self) -> str:
        """The format of the catalog's tables, `iceberg` or `paimon`."""
        return "paimon" if self.catalog.type == "paimon" else "iceberg"

    @property
    def default_namespace(self) -> tuple[str, ...]:
        """The namespace that becomes current after USE of the catalog."""
        if self._namespace is not None:
            return tuple(self._namespace.split("."))
        return ("default",) if self.format == "paimon" else ()


class Resolved(NamedTuple):
    """A name resolved to a catalog."""

    catalog: LakeCatalog
    levels: tuple[str, ...]


class Names:
    """The catalogs of a lake, with the current catalog and namespace.

    The current catalog is None while one of Spark's own catalogs is current.
    """

    def __init__(self, catalogs: Mapping[str, Catalog[Any] | Mapping[str, Any]], foreign: Iterable[str] = ()) -> None:
        """Keep catalogs by name, and the names of Spark's catalogs."""
        self._foreign = frozenset(foreign) | _OF_SPARK
        self.catalogs = {name: LakeCatalog(name, given) for name, given in catalogs.items()}
        self.current: LakeCatalog | None = None
        self.namespace: tuple[str, ...] = ()

    def add(self, name: str, properties: Mapping[str, Any], comment: str | None = None) -> None:
        """Add a catalog, which is opened on first use.

        Raises:
            AlreadyExistsError: A catalog of this name exists.
        """
        if name in self.catalogs or name in self._foreign:
            message = f"catalog {name!r} already exists"
            raise AlreadyExistsError(message, context={"catalog": name})
        self.catalogs[name] = LakeCatalog(name, properties, comment)

    def catalog(self, name: str) -> LakeCatalog:
        """Return a catalog of the lake.

        Raises:
            InvalidArgumentError: The catalog is not part of the lake.
        """
        found = self.catalogs.get(name)
        if found is None:
            message = f"the lake has no catalog {name!r}"
            near = difflib.get_close_matches(name, self.catalogs, n=1)
            names = ", ".join(self.catalogs)
            hint = f"the catalogs are {names}" if names else "this lake has no catalogs"
            raise InvalidArgumentError(
                message, context={"catalog": name}, hint=f"did you mean `{near[0]}`?" if near else hint
            )
        return found

    def remove(self, name: str) -> None:
        """Remove a catalog from the lake; its tables are not changed.

        Raises:
            InvalidArgumentError: The catalog is not part of the lake, or it is the current catalog.
        """
        if name in self._foreign and name not in self.catalogs:
            message = f"catalog {name!r} cannot be dropped, because it is a catalog of Spark"
            raise InvalidArgumentError(message, context={"catalog": name}, hint="drop a catalog of this lake")
        found = self.catalog(name)
        if found is self.current:
            message = f"catalog {name!r} cannot be dropped, because it is the current catalog"
            raise InvalidArgumentError(message, context={"catalog": name}, hint="USE another catalog first")
        del self.catalogs[name]

    def table(self, parts: tuple[str, ...]) -> Resolved | None:
        """Return the catalog and levels of a table name; None if it is not in a catalog of the lake."""
        if len(parts) > 1 and parts[0] in self.catalogs:
            return Resolved(self.catalogs[parts[0]], parts[1:])
        if self.current is None or not self.is_ours(parts):
            return None
        return Resolved(self.current, (*self.namespace, *parts) if len(parts) == 1 else parts)

    def procedure(self, parts: tuple[str, ...]) -> Resolved | None:
        """Return the catalog and levels of a procedure name; None if it is not in a catalog of the lake."""
        if self.current is not None and len(parts) == 2 and parts[0].lower() == "system":  # noqa: PLR2004 - `system.name`
            return Resolved(self.current, parts)
        return self.table(parts)

    def in_namespace(self, parts: tuple[str, ...]) -> Resolved | None:
        """Resolve a name of two parts relative to the current namespace; None if this is not possible."""
        if len(parts) != 2 or self.current is None or not self.namespace or parts[0] in self.catalogs:  # noqa: PLR2004 - a table and a selector
            return None
        return Resolved(self.current, (*self.namespace, *parts))

    def is_ours(self, parts: tuple[str, ...]) -> bool:
        """Return whether a table name refers to a catalog of the lake."""
        if len(parts) > 1 and parts[0] in self.catalogs:
            return True
        if self.current is None or _is_path(parts):
            return False
        return len(parts) == 1 or parts[0] not in self._foreign

    def new_namespace(self, parts: tuple[str, ...]) -> Resolved | None:
        """Return the catalog and levels of a namespace name; None if it is not in a catalog of the lake."""
        if parts[0] in self.catalogs:
            return Resolved(self.catalogs[parts[0]], parts[1:])
        return None if self.current is None or parts[0] in self._foreign else Resolved(self.current, parts)

    def listed_namespace(self, parts: tuple[str, ...] | None) -> Resolved | None:
        """Return the namespace whose tables are listed; the current one if no name is given."""
        if parts is not None:
            return self.new_namespace(parts)
        return None if self.current is None else Resolved(self.current, self.namespace)

    def use(self, parts: tuple[str, ...], *, is_catalog: bool, is_namespace: bool) -> bool:
        """Make a catalog and a namespace current; return False if the catalog is one of Spark's.

        Raises:
            NoSuchNamespaceError: The namespace does not exist in the catalog.
            UnsupportedError: The name has more parts than a catalog name.
        """
        if is_catalog and len(parts) > 1:
            message = f"{'.'.join(parts)!r} is not a catalog name"
            raise UnsupportedError(message, hint="use USE with the catalog and the namespace")
        found = None
        if not is_namespace and parts[0] in self.catalogs:
            found = Resolved(self.catalogs[parts[0]], parts[1:])
        elif not is_catalog and self.current is not None and parts[0] not in self._foreign:
            found = Resolved(self.current, parts)
        if found is None:
            return False
        if found.levels:
            found.catalog.catalog.load_namespace_properties(found.levels)
        self.current, self.namespace = found.catalog, found.levels or found.catalog.default_namespace
        return True

    def all(self) -> list[str]:
        """Return the names of all known catalogs, including those of Spark."""
        return sorted({*self.catalogs, *self._foreign - _OF_SPARK, "spark_catalog"})

    def leave(self) -> None:
        """Record that one of Spark's catalogs is current."""
        self.current, self.namespace = None, ()


def _is_path(parts: tuple[str, ...]) -> bool:
    """Return whether a name is the path of files that Spark reads, such as parquet.`/data`."""
    return len(parts) == 2 and parts[0].lower() in _FILE_FORMATS and "/" in parts[1]  # noqa: PLR2004 - a format and a path


def _taken(properties: dict[str, Any], prefix: str) -> dict[str, str]:
    """Remove the properties with a prefix, and return them without the prefix."""
    names = [name for name in properties if name.startswith(prefix)]
    return {name.removeprefix(prefix): str(properties.pop(name)) for name in names}
