"""Creates a catalog from its properties."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from frazil._arguments import locations
from frazil.catalog._properties import warn_of_misspelt
from frazil.catalog._settings import configured_names, configured_properties
from frazil.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from frazil.catalog._base import Catalog
    from frazil.catalog._paimon import PaimonCatalog
    from frazil.catalog._table import CatalogTable

TYPES = ("hadoop", "local", "memory", "paimon", "rest", "sql")
"""The available catalog types."""

_LATER = ("bigquery", "dynamodb", "glue", "hive", "nessie")
_ALIASES = {"jdbc": "sql", "in-memory": "memory"}
_BY_SCHEME = {
    "http": "rest",
    "https": "rest",
    "jdbc": "sql",
    "mariadb": "sql",
    "mssql": "sql",
    "mysql": "sql",
    "oracle": "sql",
    "postgres": "sql",
    "postgresql": "sql",
    "sqlite": "sql",
    "thrift": "hive",
}


@overload
def load_catalog(
    name: str | None = "default",
    *,
    type: Literal["hadoop", "local", "memory", "rest", "sql"],
    **properties: str | Mapping[str, str] | None,
) -> Catalog[CatalogTable]: ...
@overload
def load_catalog(
    name: str | None = "default", *, type: Literal["paimon"], **properties: str | Mapping[str, str] | None
) -> PaimonCatalog: ...
@overload
def load_catalog(
    name: str | None = "default", **properties: str | Mapping[str, str] | None
) -> Catalog[CatalogTable] | Any: ...
def load_catalog(
    name: str | None = "default", **properties: str | Mapping[str, str] | None
) -> Catalog[Any] | PaimonCatalog:
    """Open a catalog by name; the given properties override the configured ones.

    Args:
        name: The name in configuration files, in environment variables and in the rows of a SQL catalog.
        **properties: `type` (`local`, `hadoop`, `rest`, `sql`, `memory`, `paimon`), `path`, `warehouse`, `uri`, and
            storage options such as `s3.endpoint`; keys with dots and hyphens are passed as `**{"s3.endpoint": ...}`.
            Without a `type`, the scheme of `uri` determines it. A `path` alone is a lake in a folder (`local`), and a
            `warehouse` alone is a folder of tables (`hadoop`). A `metastore` (`filesystem`, `jdbc`) implies the type
            `paimon`. `relocate` maps recorded prefixes to their current locations, for warehouses that were moved or
            copied.

    The configuration is read from `FRAZIL_CATALOG__<NAME>__<KEY>` and `.frazil.yaml`, then from
    `PYICEBERG_CATALOG__...` and `.pyiceberg.yaml`. Nothing is created before the first change to the catalog.

    Raises:
        InvalidArgumentError: The properties do not describe a catalog.
        MissingFileError: The warehouse folder or the database file does not exist.
        UnsupportedError: Catalogs of this type are not supported yet.

    >>> import frazil
    >>> catalog = frazil.load_catalog("local", type="hadoop", warehouse="tests/golden")
    >>> ("iceberg",) in catalog.list_namespaces()
    True
    >>> catalog.load_table("iceberg.del_pos_file_parquet_part").scan().count()
    52
    """
    return catalog_of(name, properties)


def catalog_of(name: str | None, properties: Mapping[str, object]) -> Catalog[Any]:
    """Return the catalog of a name, as `load_catalog` does, with properties whose keys can be any string.

    Raises:
        InvalidArgumentError: As in `load_catalog`.
        MissingFileError: As in `load_catalog`.
        UnsupportedError: As in `load_catalog`.
    """
    name = "default" if name is None else name
    if not isinstance(name, str) or not name:
        message = f"the name of a catalog must be a non-empty string, not {name!r}"
        raise InvalidArgumentError(message)
    merged = {**configured_properties(name), **_as_text(properties)}
    mapping = _mapping(merged.pop("relocate", None))
    warn_of_misspelt(merged)
    catalog_type = _type_of(name, merged)
    if catalog_type == "hadoop":
        from frazil.catalog._hadoop import HadoopCatalog

        return HadoopCatalog(name, merged, mapping)
    if catalog_type == "memory":
        from frazil.catalog._memory import MemoryCatalog

        return MemoryCatalog(name, merged, mapping)
    if catalog_type == "paimon":
        return _paimon_catalog(name, merged, mapping)
    if catalog_type == "rest":
        from frazil.catalog._rest import RestCatalog

        return RestCatalog(name, merged, mapping)
    if catalog_type == "local":
        from frazil.catalog._local import LocalCatalog

        return LocalCatalog(name, merged, mapping)
    from frazil.catalog._sql import SqlCatalog

    return SqlCatalog(name, merged, mapping)


def _paimon_catalog(name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> Catalog[Any]:
    metastore = properties.get("metastore", "filesystem").lower()
    if metastore == "filesystem":
        from frazil.catalog._paimon import PaimonFolderCatalog

        return PaimonFolderCatalog(name, properties, relocate)
    if metastore == "jdbc":
        from frazil.catalog._paimon_jdbc import PaimonJdbcCatalog

        return PaimonJdbcCatalog(name, properties, relocate)
    message = f"Paimon catalogs with the metastore {metastore!r} are not supported yet (catalog {name!r})"
    raise UnsupportedError(message, context={"catalog": name}, hint="the supported metastores are filesystem and jdbc")


def _type_of(name: str, properties: Mapping[str, str]) -> str:
    given = properties.get("type")
    found = _ALIASES.get(given.lower(), given.lower()) if given else _inferred(name, properties)
    if found in TYPES:
        return found
    hint = f"the supported catalog types are {', '.join(TYPES)}"
    if found in _LATER:
        message = f"catalogs of type {found!r} are not supported yet (catalog {name!r})"
        raise UnsupportedError(message, context={"catalog": name}, hint=hint)
    message = f"catalog {name!r} has the unknown type {given!r}"
    raise InvalidArgumentError(message, context={"catalog": name}, hint=hint)


def _inferred(name: str, properties: Mapping[str, str]) -> str:
    if properties.get("metastore"):
        return "paimon"
    uri = properties.get("uri")
    if uri:
        scheme = uri.partition(":")[0].partition("+")[0].lower()
        if scheme in _BY_SCHEME:
            return _BY_SCHEME[scheme]
        message = f"the type of catalog {name!r} cannot be determined from its uri"
        raise InvalidArgumentError(message, context={"catalog": name}, hint=f"set its type: {', '.join(TYPES)}")
    if properties.get("path"):
        return "local"
    if properties.get("warehouse"):
        return "hadoop"
    message = f"catalog {name!r} is not configured, and no type, uri, path or warehouse is given"
    known = configured_names()
    shown = f"the configured catalogs are {', '.join(map(repr, known))}" if known else "no catalog is configured"
    hint = f"pass path=, warehouse= or uri=, or configure it in .frazil.yaml ({shown})"
    raise InvalidArgumentError(message, context={"catalog": name}, hint=hint)


def _as_text(properties: Mapping[str, object]) -> dict[str, str]:
    """Convert property values to strings: None is treated as omitted, and a mapping becomes JSON."""
    return {key: _text(key, value) for key, value in properties.items() if value is not None}


def _text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if key == "allowed_locations" and not isinstance(value, str):
        return json.dumps(locations(value))  # type: ignore[arg-type]
    if not isinstance(value, Mapping):
        return str(value)
    if key != "relocate":
        message = f"the property {key!r} must be a string, not a mapping"
        raise InvalidArgumentError(
            message, hint=("pass properties as separate arguments, as in load_catalog(name, **properties)")
        )
    return json.dumps({str(recorded): str(place) for recorded, place in value.items()})


def _mapping(recorded: str | None) -> dict[str, str]:
    """Parse a mapping that was passed as an argument or configured as JSON."""
    if recorded is None:
        return {}
    try:
        parsed = json.loads(recorded)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict) or not all(isinstance(place, str) for place in parsed.values()):
        message = "relocate must be a mapping of recorded prefixes to their current locations"
        raise InvalidArgumentError(message)
    return parsed
