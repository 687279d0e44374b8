"""An Iceberg REST catalog in this process, which applies metadata updates to plain dictionaries."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
NEW = {
    "format-version": 2,
    "last-sequence-number": 0,
    "last-column-id": 0,
    "current-schema-id": -1,
    "schemas": [],
    "default-spec-id": -1,
    "partition-specs": [],
    "last-partition-id": 999,
    "default-sort-order-id": -1,
    "sort-orders": [],
    "properties": {},
    "current-snapshot-id": -1,
    "refs": {},
    "snapshots": [],
    "snapshot-log": [],
    "metadata-log": [],
    "statistics": [],
    "partition-statistics": [],
}


class Refused(Exception):
    """An error response."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


@dataclass
class RestServer:
    """A server on a free port. Requests must have the `token`, if it is set."""

    warehouse: Path
    token: str | None = None
    secret: str = "secret"  # noqa: S105
    """The secret that is exchanged for tokens."""
    config: Json = field(default_factory=dict)
    """The response to `GET v1/config`."""
    table_config: Json = field(default_factory=dict)
    """The configuration in the response to loading a table."""
    store: Path | None = None
    """The folder with the buckets of an object store."""
    page_size: int = 1000
    faults: list[Callable[[Handler], bool]] = field(default_factory=list)
    """Functions that are called after each commit; a result of True suppresses the response."""
    rule: Callable[[str, str], str | int | None] = lambda _method, _path: None
    """A function of the method and path of each request. `lose-request` closes the connection before the request has an
    effect, `lose-answer` after it, and a number is the status of a response without an effect.
    """
    busy: int = 0
    """The number of requests that are rejected because the server is busy."""
    requests: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.namespaces: dict[tuple[str, ...], Json] = {}
        self.tables: dict[tuple[str, ...], Json] = {}
        self.connections: list[socket.socket] = []
        self.lock = threading.RLock()
        self.tokens = 0
        handler = type("OwnHandler", (Handler,), {"catalog": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.uri = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        for connection in self.connections:
            # Some are already closed.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    # Effects of requests

    def answer(self, method: str, parts: list[str], query: Json, body: Json) -> Json | None:
        match method, parts:
            case "GET", ["config"]:
                return {"defaults": {}, "overrides": {}, **self.config}
            case "GET", ["namespaces"]:
                return self._page("namespaces", self._children(query), query)
            case "POST", ["namespaces"]:
                return self._create_namespace(tuple(body["namespace"]), body.get("properties") or {})
            case _, ["namespaces", name, *rest]:
                levels = tuple(name.split("\x1f"))
                if not any(known[: len(levels)] == levels for known in self.namespaces):
                    raise Refused(404, "NoSuchNamespaceException", f"Namespace does not exist: {'.'.join(levels)}")
                return self._in_namespace(method, levels, rest, query, body)
            case "POST", ["tables", "rename"]:
                return self._rename(_levels(body["source"]), _levels(body["destination"]))
        raise Refused(400, "BadRequestException", f"{method} {'/'.join(parts)}")

    def _in_namespace(  # noqa: PLR0911 - one line for each request
        self, method: str, levels: tuple[str, ...], rest: list[str], query: Json, body: Json
    ) -> Json | None:
        match method, rest:
            case "GET" | "HEAD", []:
                return {"namespace": levels, "properties": self.namespaces.get(levels, {})}
            case "DELETE", []:
                below = [*self.tables, *(known for known in self.namespaces if known != levels)]
                if any(name[: len(levels)] == levels for name in below):
                    raise Refused(409, "NamespaceNotEmptyException", "Namespace is not empty")
                del self.namespaces[levels]
                return None
            case "POST", ["properties"]:
                return self._update_namespace(levels, body)
            case "GET", ["tables"]:
                found = [{"namespace": t[:-1], "name": t[-1]} for t in sorted(self.tables) if t[:-1] == levels]
                return self._page("identifiers", found, query)
            case "POST", ["tables"]:
                return self._stage((*levels, body["name"]), body)
            case "POST", ["register"]:
                return self._register((*levels, body["name"]), body["metadata-location"])
            case _, ["tables", name]:
                return self._table(method, (*levels, name), body)
        raise Refused(400, "BadRequestException", f"{method} {rest}")

    def _page(self, key: str, found: list[Any], query: Json) -> Json:
        start = int(query.get("pageToken") or 0)
        end = start + self.page_size
        return {key: found[start:end]} | ({"next-page-token": str(end)} if end < len(found) else {})

    def _children(self, query: Json) -> list[Any]:
        parent = tuple(query["parent"].split("\x1f")) if query.get("parent") else ()
        return sorted(
            {
                one[: len(parent) + 1]
                for one in self.namespaces
                if len(one) > len(parent) and one[: len(parent)] == parent
            }
        )

    def _create_namespace(self, levels: tuple[str, ...], properties: Json) -> Json:
        if levels in self.namespaces:
            raise Refused(409, "AlreadyExistsException", f"Namespace already exists: {'.'.join(levels)}")
        self.namespaces[levels] = dict(properties)
        return {"namespace": levels, "properties": properties}

    def _update_namespace(self, levels: tuple[str, ...], body: Json) -> Json:
        properties = self.namespaces.setdefault(levels, {})
        removed = [key for key in body["removals"] if properties.pop(key, None) is not None]
        properties |= body["updates"]
        missing = [key for key in body["removals"] if key not in removed]
        return {"updated": list(body["updates"]), "removed": removed, "missing": missing}

    def _stage(self, levels: tuple[str, ...], body: Json) -> Json:
        assert body["stage-create"]
        self._check_free(levels)
        location = body.get("location") or str(self.warehouse.joinpath(*levels))
        return {"metadata": {**NEW, "location": location}, "config": self.table_config}

    def _check_free(self, levels: tuple[str, ...]) -> None:
        if levels in self.tables:
            raise Refused(409, "AlreadyExistsException", f"Table already exists: {'.'.join(levels)}")

    def _register(self, levels: tuple[str, ...], location: str) -> Json:
        self._check_free(levels)
        metadata = json.loads(Path(location.removeprefix("file://")).read_text(encoding="utf-8"))
        self.tables[levels] = {"metadata-location": location, "metadata": metadata}
        return self.tables[levels]

    def _rename(self, source: tuple[str, ...], destination: tuple[str, ...]) -> None:
        if source not in self.tables:
            raise Refused(404, "NoSuchTableException", "Table does not exist")
        self._check_free(destination)
        self.tables[destination] = self.tables.pop(source)

    def _table(self, method: str, levels: tuple[str, ...], body: Json) -> Json | None:
        found = self.tables.get(levels)
        if method == "POST":
            return self._commit(levels, found, body)
        if found is None:
            raise Refused(404, "NoSuchTableException", f"Table does not exist: {'.'.join(levels)}")
        if method == "DELETE":
            del self.tables[levels]
            return None
        return {**found, "config": self.table_config}

    def _commit(self, levels: tuple[str, ...], found: Json | None, body: Json) -> Json:
        for requirement in body["requirements"]:
            check(requirement, None if found is None else found["metadata"])
        metadata = copy.deepcopy(NEW if found is None else found["metadata"])
        last: dict[str, int] = {}
        for update in body["updates"]:
            apply(metadata, dict(update), last)
        metadata["last-updated-ms"] = max(int(time.time() * 1000), metadata.get("last-updated-ms", 0))
        if found is not None:
            entry = {"timestamp-ms": metadata["last-updated-ms"], "metadata-file": found["metadata-location"]}
            metadata["metadata-log"].append(entry)
        name = f"metadata/{len(metadata['metadata-log']):05}-{uuid.uuid4()}.metadata.json"
        location = metadata["location"].removeprefix("file://")
        path = Path(location.replace("s3://", f"{self.store}/", 1), name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(metadata), encoding="utf-8")
        self.tables[levels] = {"metadata-location": f"{location}/{name}", "metadata": metadata}
        return self.tables[levels]


def _levels(identifier: Json) -> tuple[str, ...]:
    return (*identifier["namespace"], identifier["name"])


def check(requirement: Json, metadata: Json | None) -> None:
    """Raise if a requirement is not met."""
    kind = requirement["type"]
    if kind == "assert-create":
        holds = metadata is None
    elif metadata is None:
        raise Refused(404, "NoSuchTableException", "Table does not exist")
    elif kind == "assert-table-uuid":
        holds = requirement["uuid"] == metadata["table-uuid"]
    elif kind == "assert-ref-snapshot-id":
        holds = requirement["snapshot-id"] == metadata["refs"].get(requirement["ref"], {}).get("snapshot-id")
    else:
        names = {
            "assert-last-assigned-field-id": "last-column-id",
            "assert-last-assigned-partition-id": "last-partition-id",
        }
        key = kind.removeprefix("assert-")
        holds = requirement[key] == metadata[names.get(kind, key)]
    if not holds:
        raise Refused(409, "CommitFailedException", f"Requirement failed: {requirement}")


_LISTS = {
    "schema": ("schemas", "schema-id"),
    "spec": ("partition-specs", "spec-id"),
    "sort-order": ("sort-orders", "order-id"),
}
_SELECTED = {
    "set-current-schema": ("schema", "current-schema-id", "schema-id"),
    "set-default-spec": ("spec", "default-spec-id", "spec-id"),
    "set-default-sort-order": ("sort-order", "default-sort-order-id", "sort-order-id"),
}


def apply(metadata: Json, update: Json, last: dict[str, int]) -> None:  # noqa: C901, PLR0912 - a line for each kind
    """Apply an update."""
    action = update.pop("action")
    if action in ("add-schema", "add-spec", "add-sort-order"):
        _add(metadata, action.removeprefix("add-"), update, last)
    elif action in _SELECTED:
        kind, key, member = _SELECTED[action]
        if update[member] == -1 and kind not in last:
            raise Refused(400, "ValidationException", f"Cannot set last added {kind}: none has been added")
        metadata[key] = last[kind] if update[member] == -1 else update[member]
    else:
        match action:
            case "assign-uuid":
                metadata["table-uuid"] = update["uuid"]
            case "upgrade-format-version":
                metadata["format-version"] = update["format-version"]
                if update["format-version"] > 2:
                    metadata.setdefault("next-row-id", 0)
            case "set-location":
                metadata["location"] = update["location"]
            case "set-properties":
                metadata["properties"] |= update["updates"]
            case "remove-properties":
                for key in update["removals"]:
                    del metadata["properties"][key]
            case "add-snapshot":
                _add_snapshot(metadata, update["snapshot"])
            case "set-snapshot-ref":
                known = {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]}
                if update["snapshot-id"] not in known:
                    message = f"Cannot set {update['ref-name']} to unknown snapshot: {update['snapshot-id']}"
                    raise Refused(400, "ValidationException", message)
                _set_ref(metadata, update.pop("ref-name"), update)
            case "remove-snapshot-ref":
                del metadata["refs"][update["ref-name"]]
                if update["ref-name"] == "main":
                    metadata["current-snapshot-id"] = -1
            case "remove-snapshots":
                gone = set(update["snapshot-ids"])
                assert not gone & {ref["snapshot-id"] for ref in metadata["refs"].values()}
                metadata["snapshots"] = [one for one in metadata["snapshots"] if one["snapshot-id"] not in gone]
            case "set-statistics":
                metadata["statistics"].append(update["statistics"])
            case _:
                raise Refused(400, "BadRequestException", f"unknown action {action}")


def _add(metadata: Json, kind: str, update: Json, last: dict[str, int]) -> None:
    items, key = _LISTS[kind]
    item = update[kind]
    known = next((one for one in metadata[items] if {**one, key: 0} == {**item, key: 0}), None)
    if known is None:
        item = {**item, key: item[key] if not metadata[items] else max(one[key] for one in metadata[items]) + 1}
        metadata[items].append(item)
        # As in Java, an existing one is not the last added one.
        last[kind] = item[key]
    if kind == "schema":
        metadata["last-column-id"] = max(metadata["last-column-id"], update["last-column-id"])
    if kind == "spec":
        metadata["last-partition-id"] = max([metadata["last-partition-id"], *(f["field-id"] for f in item["fields"])])


def _add_snapshot(metadata: Json, snapshot: Json) -> None:
    assert all(one["snapshot-id"] != snapshot["snapshot-id"] for one in metadata["snapshots"])
    if metadata["format-version"] > 1:
        last = metadata["last-sequence-number"]
        _check(snapshot["sequence-number"] > last, f"sequence number {snapshot['sequence-number']} is not above {last}")
        metadata["last-sequence-number"] = snapshot["sequence-number"]
    if metadata["format-version"] > 2:
        _check("first-row-id" in snapshot, "first-row-id is null")
        _check(snapshot["first-row-id"] >= metadata["next-row-id"], "first-row-id is behind the next row id")
        metadata["next-row-id"] += snapshot["added-rows"]
    metadata["snapshots"].append(snapshot)


def _check(holds: bool, message: str) -> None:  # noqa: FBT001 - a condition
    if not holds:
        raise Refused(400, "ValidationException", f"Cannot add a snapshot: {message}")


def _set_ref(metadata: Json, name: str, ref: Json) -> None:
    metadata["refs"][name] = ref
    if name == "main" and metadata["current-snapshot-id"] != ref["snapshot-id"]:
        metadata["current-snapshot-id"] = ref["snapshot-id"]
        snapshot = next(one for one in metadata["snapshots"] if one["snapshot-id"] == ref["snapshot-id"])
        entry = {"snapshot-id": ref["snapshot-id"], "timestamp-ms": snapshot["timestamp-ms"]}
        metadata["snapshot-log"].append(entry)


class Handler(BaseHTTPRequestHandler):
    """A handler that processes requests one at a time."""

    catalog: RestServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        self.catalog.connections.append(self.connection)

    def do(self) -> None:
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        server = self.catalog
        with server.lock:
            server.requests.append((self.command, unquote(url.path)))
            fault = server.rule(self.command, unquote(url.path))
            if fault == "lose-request":
                self.close_connection = True
                return
            if isinstance(fault, int):
                self.send(fault, {"error": {"message": "no", "type": "Failure", "code": fault}})
                return
            try:
                status, answer = 200, self.answered(url.path, url.query, raw)
            except Refused as error:
                status = error.status
                answer = {"error": {"message": str(error), "type": error.kind, "code": status}}
            is_commit = status == 200 and self.command == "POST" and "/tables/" in url.path
            if fault == "lose-answer" or (is_commit and server.faults and server.faults.pop(0)(self)):
                self.close_connection = True
                return
        self.send(status, answer)

    def answered(self, path: str, query: str, raw: bytes) -> Json | None:
        server = self.catalog
        if server.busy:
            server.busy -= 1
            raise Refused(429, "TooManyRequests", "slow down")
        parts = [unquote(part) for part in path.strip("/").split("/")]
        assert parts.pop(0) == "v1"
        if parts == ["oauth", "tokens"]:
            form = {key: values[0] for key, values in parse_qs(raw.decode()).items()}
            basic = self.headers.get("Authorization", "").removeprefix("Basic ")
            sent = base64.b64decode(basic).decode().partition(":")[2] if basic else form.get("client_secret")
            if sent != server.secret:
                raise Refused(401, "NotAuthorizedException", "wrong secret")
            server.tokens += 1
            return {"access_token": f"token-{server.tokens}", "token_type": "bearer", "expires_in": 3600}
        wanted = f"token-{server.tokens}" if server.tokens else server.token
        if wanted is not None and self.headers.get("Authorization") != f"Bearer {wanted}":
            raise Refused(401, "NotAuthorizedException", "Not authorized")
        prefix = (server.config.get("overrides") or {}).get("prefix")
        if prefix and parts != ["config"]:
            assert parts.pop(0) == prefix
        parameters = {key: values[0] for key, values in parse_qs(query).items()}
        return server.answer(self.command, parts, parameters, json.loads(raw) if raw else {})

    def send(self, status: int, answer: Json | None) -> None:
        content = b"" if answer is None or self.command == "HEAD" else json.dumps(answer).encode()
        self.send_response(204 if answer is None and status == 200 else status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = do_HEAD = do  # noqa: N815 - as the base class calls them
