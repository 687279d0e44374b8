"""Catalogs that implement the Iceberg REST API, such as Polaris, Lakekeeper, Nessie, Gravitino and Unity Catalog."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from frazil import _native, errors
from frazil._arguments import place_of_new, table_files
from frazil._opened import opened_with
from frazil.catalog._base import Catalog
from frazil.catalog._identifiers import dotted, table_levels
from frazil.catalog._properties import Properties, of_storage
from frazil.catalog._rest_client import ConflictError, RestClient
from frazil.catalog._table import CatalogTable
from frazil.catalog._vended import VendedCredentials
from frazil.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog._identifiers import Identifier, Levels
    from frazil.catalog._purge import PurgePlan
    from frazil.iceberg._new_table import NewTable

_OF_THE_CLIENT = (
    "audience",
    "credential",
    "namespace-separator",
    "oauth2-server-uri",
    "prefix",
    "resource",
    "scope",
    "token",
)
_GONE = (NoSuchTableError, NoSuchNamespaceError)
"""The errors that mean that a table does not exist, or that its namespace does not exist."""
_EMPTY_SCHEMA = {"type": "struct", "schema-id": 0, "fields": []}


class RestCatalog(Catalog[CatalogTable]):
    """The tables of an Iceberg REST server, which applies metadata changes itself."""

    type: ClassVar[str] = "rest"
    _lists_fast = True

    def __init__(self, name: str, properties: Mapping[str, str], relocate: Mapping[str, str]) -> None:
        """Request the configuration from the server at `uri`.

        Raises:
            InvalidArgumentError: The `uri` is not the address of a server.
            UnauthorizedError: The server rejects the credential.
            UnavailableError: The server does not respond.
        """
        super().__init__(name, properties, relocate)
        self._given = Properties(properties)
        self._client = RestClient(name, properties)
        defaults, overrides = self._client.configure()
        self.properties = Properties({**defaults, **properties, **overrides})
        self._vended: dict[Levels, VendedCredentials] = {}

    def close(self) -> None:
        """Close the idle connections to the server. Later requests of the catalog and its tables open new ones."""
        self._client.close()

    @property
    def storage_properties(self) -> Properties:
        """The storage properties of the tables, as set by the user or by the server."""
        own = of_storage(self._given)
        kept = {key: value for key, value in own.items() if not _is_of_the_client(key)}
        return Properties({**_of_storage_only(self.properties), **kept})

    def credentials_for(self, levels: Levels) -> VendedCredentials | None:
        """Return the credentials for the files of one table; None if the server did not vend any with the table."""
        return self._vended.get(levels)

    def load_credentials(self, levels: Levels) -> dict[str, str]:
        """Request new credentials for a table, which the server vends when the table is loaded.

        Raises:
            NoSuchTableError: The table no longer exists.
        """
        try:
            return _vended(self._client.get(self._client.table(levels), {"snapshots": "refs"}))
        except _GONE:
            raise self._no_such_table(levels) from None

    def recipe(self) -> tuple[Any, tuple[Any, ...]]:
        """Return a function and its arguments that recreate this catalog."""
        return type(self), (self.name, dict(self._given), dict(self._relocate))

    def row(self, levels: Levels) -> _Row:
        """Return the catalog pointer of a table on the server; the table may not exist yet."""
        return _Row(self, levels)

    def load_answer(self, levels: Levels) -> dict[str, Any]:
        """Return the server's response for a table, and keep the credentials for the table's files."""
        answer = self._client.get(self._client.table(levels), {"snapshots": "all"})
        self._note_credentials(levels, answer)
        return answer

    def commit(self, levels: Levels, request: str) -> dict[str, Any] | None:
        """Send a commit and return the response; None if a requirement of the commit is not met."""
        # The identifier is optional, but old servers require it.
        body = {"identifier": _identifier(levels), **json.loads(request)}
        try:
            return self._client.post(self._client.table(levels), body, is_commit=True)
        except ConflictError:
            return None

    def _note_credentials(self, levels: Levels, answer: Mapping[str, Any]) -> None:
        found = _vended(answer)
        if levels in self._vended or any(map(_native.is_storage_option, found)):
            self._vended.setdefault(levels, VendedCredentials(levels, self)).note(found)

    def _readable(self) -> dict[str, str]:
        # The warehouse is a name here, not a location.
        return self._mapping()

    def _options_of(self, levels: Levels) -> dict[str, Any]:
        """Return the options for opening a table of this name."""
        allowed = self.allowed_for(levels)
        return opened_with(self._readable(), self.storage_properties, allowed, self.credentials_for(levels))

    def _open(self, levels: Levels) -> CatalogTable:
        try:
            answer = self.load_answer(levels)
        except _GONE:
            raise self._no_such_table(levels) from None
        metadata, place = answer.get("metadata"), answer.get("metadata-location")
        if not isinstance(metadata, dict) or not isinstance(place, str) or not metadata.get("location"):
            message = f"the server of catalog {self.name!r} returned no metadata for table {dotted(levels)!r}"
            raise errors.CatalogError(message, context={"catalog": self.name, "table": dotted(levels)})
        location = self._relocated(str(metadata["location"]))
        options = self._options_of(levels)
        files = table_files(location, **options)
        native = _native.Table.restore(files, place, json.dumps(metadata).encode())
        return CatalogTable.of_state(self, levels, native, files, location, options)

    def _staged(
        self, levels: Levels, native: _native.Table, files: _native.Files, location: str, options: dict[str, Any]
    ) -> CatalogTable:
        return CatalogTable.of_state(self, levels, native, files, location, options)

    def _levels_of_new(self, identifier: Identifier) -> Levels:
        """Return the name of a new table. The server checks that the namespace exists."""
        levels = table_levels(identifier)
        self._check_is_in_namespace(levels[:-1])
        return levels

    def _check_namespace_of_new(self, namespace: Levels) -> None:
        self._check_is_in_namespace(namespace)
        super()._check_namespace_of_new(namespace)

    def _check_is_in_namespace(self, namespace: Levels) -> None:
        if not namespace:
            message = f"a table in catalog {self.name!r} must be in a namespace, as in every REST catalog"
            raise InvalidArgumentError(message, context={"catalog": self.name}, hint="use a name such as ns.t")

    def _location_of_new(self, levels: Levels, location: str | None) -> str:
        """Ask the server for the location of a new table, without creating it."""
        body: dict[str, Any] = {"name": levels[-1], "schema": _EMPTY_SCHEMA, "stage-create": True}
        if location is not None:
            body["location"] = place_of_new(location)
        try:
            answer = self._client.post(f"{self._client.namespace(levels[:-1])}/tables", body)
        except (ConflictError, AlreadyExistsError):
            raise self._exists_already(levels) from None
        except _GONE:
            raise self._no_such_namespace(levels[:-1], "create the namespace with create_namespace") from None
        self._note_credentials(levels, answer)
        found = str((answer.get("metadata") or {}).get("location") or "")
        return place_of_new(found or location or super()._location_of_new(levels, None))

    def _check_new(self, levels: Levels, new: NewTable) -> None:
        """Do nothing: the server checked the name when it returned the location, and checks it again on commit."""

    def _created(self, levels: Levels, native: _native.Table, files: _native.Files, location: str) -> CatalogTable:
        options = self._options_of(levels)
        return self._staged(levels, native, files, location, options)

    def _register(self, levels: Levels, metadata_location: str) -> None:
        body = {"name": levels[-1], "metadata-location": metadata_location}
        try:
            self._client.post(f"{self._client.namespace(levels[:-1])}/register", body)
        except (ConflictError, AlreadyExistsError):
            raise self._exists_already(levels) from None
        except _GONE:
            raise self._no_such_namespace(levels[:-1], "create the namespace with create_namespace") from None
        except UnavailableError:
            # The response may have been lost even though the table was registered.
            if not self._has_table(levels) or self.load_answer(levels).get("metadata-location") != metadata_location:
                raise

    def _rename(self, old: Levels, new: Levels) -> None:
        try:
            self._client.post("tables/rename", {"source": _identifier(old), "destination": _identifier(new)})
        except _GONE:
            raise self._no_such_table(old) from None
        except (ConflictError, AlreadyExistsError):
            raise self._exists_already(new) from None
        except UnavailableError:
            # The response may have been lost even though the table was renamed.
            if self._has_table(old) or not self._has_table(new):
                raise

    def _drop(self, levels: Levels, expected: str | None) -> None:
        try:
            if expected is not None and self.load_answer(levels).get("metadata-location") != expected:
                raise self._changed_meanwhile(levels)
            self._client.delete(self._client.table(levels), {"purgeRequested": "false"})
        except _GONE:
            raise self._no_such_table(levels) from None
        except ConflictError as error:
            raise errors.CatalogError(error.message, context={**error.context, "table": dotted(levels)}) from None

    def _purge(self, plan: PurgePlan) -> None:
        self._drop(plan.identifier, plan.metadata_location)
        plan.delete()

    def _child_namespaces(self, levels: Levels) -> set[Levels]:
        found = self._client.pages("namespaces", "namespaces", self._client.parent(levels))
        return {tuple(namespace) for namespace in found}

    def _tables(self, levels: Levels) -> set[Levels]:
        if not levels:
            return set()
        found = self._client.pages(f"{self._client.namespace(levels)}/tables", "identifiers")
        return {(*one["namespace"], one["name"]) for one in found}

    def _has_table(self, levels: Levels) -> bool:
        return len(levels) > 1 and self._client.has(self._client.table(levels))

    def _has_namespace(self, levels: Levels) -> bool:
        return not levels or self._client.has(self._client.namespace(levels))

    def _namespace_properties(self, levels: Levels) -> dict[str, str]:
        if not levels:
            return {}
        return dict(self._client.get(self._client.namespace(levels)).get("properties") or {})

    def _create_namespace(self, levels: Levels, properties: Mapping[str, str]) -> bool:
        try:
            self._client.post("namespaces", {"namespace": levels, "properties": dict(properties)})
        except (ConflictError, AlreadyExistsError):
            return False
        return True

    def _drop_namespace(self, levels: Levels) -> bool:
        try:
            self._client.delete(self._client.namespace(levels))
        except ConflictError:
            return False
        return True

    def _update_namespace(self, levels: Levels, removed: set[str], updated: Mapping[str, str]) -> set[str]:
        body = {"removals": sorted(removed), "updates": dict(updated)}
        try:
            answer = self._client.post(f"{self._client.namespace(levels)}/properties", body)
        except ConflictError as error:
            raise errors.CatalogError(error.message, context=error.context) from None
        return set(answer.get("removed") or ())


class _Row:
    """The server's catalog pointer of a table. The native commit calls its methods, possibly from other threads."""

    def __init__(self, catalog: RestCatalog, levels: Levels) -> None:
        self._catalog, self._levels = catalog, levels

    def load(self) -> tuple[str, bytes] | None:
        """Return the metadata file and metadata of the latest state; None if the table does not exist."""
        try:
            return _state(self._catalog.load_answer(self._levels))
        except _GONE:
            return None

    def commit(self, request: str) -> tuple[str, bytes] | None:
        """Send a commit and return the new state; None if a requirement of the commit is not met.

        Raises:
            CatalogError: The server rejected the commit, and nothing changed.
            CommitStateUnknownError: The commit may have succeeded.
        """
        answer = self._catalog.commit(self._levels, request)
        return None if answer is None else _state(answer)


def _state(answer: Mapping[str, Any]) -> tuple[str, bytes]:
    return str(answer["metadata-location"]), json.dumps(answer["metadata"]).encode()


def _vended(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties that a server vends for the files of a table."""
    found = dict(answer.get("config") or {})
    location = str((answer.get("metadata") or {}).get("location") or "")
    offered = answer.get("storage-credentials") or []
    matching = [one for one in offered if location.startswith(str(one.get("prefix") or ""))]
    # If several credentials match, the one with the longest prefix applies.
    for one in sorted(matching, key=lambda one: len(str(one.get("prefix") or ""))):
        found |= one.get("config") or {}
    return found


def _identifier(levels: Levels) -> dict[str, Any]:
    return {"namespace": list(levels[:-1]), "name": levels[-1]}


def _is_of_the_client(key: str) -> bool:
    return key in _OF_THE_CLIENT or key.startswith(("header.", "rest."))


def _of_storage_only(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: str(value) for key, value in properties.items() if _native.is_storage_option(key)}
