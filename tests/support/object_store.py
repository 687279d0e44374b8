"""A small S3 server with the features that tables need and with faults on demand; buckets are local folders."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import re
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ACCESS_KEY = "AKIACANARYKEY"
SECRET_KEY = "canary-of-the-secret"  # noqa: S105 - of no account
PAGE_KEYS = 3
"""The number of keys and prefixes in a page of a listing."""

FAULTS = {
    "refused": "403, without effect",
    "lost": "no answer, without effect",
    "answer lost": "no answer, after the effect",
    "busy": "503, without effect",
    "answer replaced": "503, after the effect",
    "twice": "the request takes effect twice, and the answer is the second",
    "answer cut": "half of the answer, then the connection ends",
    "short": "half of the content of a file, as if it were all",
    "half": "half of the file lands, then the connection ends",
    "read-only": "403 to every change from here on",
    "expired": "403 to everything from here on",
    "gone": "no answer after the effect, and 403 from here on",
    "blind": "no answer after the effect, and 403 to everything but changes from here on",
}
"""The faults of a request, and of those after it."""

CHANGES = ("PUT", "POST")

_VERSION = re.compile(r"/(v\d+(\.gz)?\.metadata\.json|snapshot-\d+|schema-\d+)$")


def fits(fault: str, method: str, path: str) -> bool:
    """Return whether a fault affects a request."""
    match fault:
        case "short":
            return method == "GET" and "?" not in path
        case "answer cut":
            return method != "HEAD"
        case "half":
            # A store without versions may have a partial file; a version appears completely or not at all.
            return method == "PUT" and not _VERSION.search(path)
        case "read-only":
            return method in CHANGES
        case "twice" | "answer lost" | "answer replaced" | "gone" | "blind":
            # Reads have no effect.
            return method in CHANGES
        case _:
            return True


class ObjectStore(ThreadingHTTPServer):
    """A server that exposes the folders in `root` as buckets, and records requests as strings."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        """Listen on a local port."""
        super().__init__(("127.0.0.1", 0), _Request)
        self.root = root
        self.requests: list[str] = []
        self.markers: set[str] = set()
        """The keys of empty objects that end with a slash, each with its bucket."""
        self.is_allowed: Callable[[str], bool] = lambda key: key == ACCESS_KEY
        """Whether requests that are signed with an access key are accepted."""
        self.has_real_times = False
        """Whether listings contain the times of files; otherwise all files have the same time."""
        self.fault, self.fault_at = "", 0
        self.calls: list[tuple[str, str]] = []
        """The method and the path of each request since `arm`."""
        self.is_tripped = False
        self.uploads: dict[str, dict[int, bytes]] = {}
        """The parts of each unfinished upload, by number."""
        self.changes: list[tuple[str, str]] = []
        """The changes that took effect: PUT or DELETE, and the key with its bucket."""
        self._lock = threading.Lock()

    def arm(self, fault: str = "", at: int = 0) -> None:
        """Cause `fault` at the request with this number, counting from zero and from now."""
        with self._lock:
            self.fault, self.fault_at, self.is_tripped = fault, at, False
            self.calls, self.changes = [], []

    def fault_of(self, method: str, path: str) -> str:
        """Return the fault of the next request."""
        with self._lock:
            number = len(self.calls)
            self.calls.append((method, path))
            if number > self.fault_at:
                is_change = method in (*CHANGES, "DELETE")
                later = {"read-only": method in CHANGES, "expired": True, "gone": True, "blind": not is_change}
                return "refused" if self.is_tripped and later.get(self.fault) else ""
            if not self.fault or number != self.fault_at or not fits(self.fault, method, path):
                return ""
            self.is_tripped = True
            first = {"read-only": "refused", "expired": "refused", "gone": "answer lost", "blind": "answer lost"}
            return first.get(self.fault, self.fault)

    def put(self, path: Path, content: bytes, *, if_absent: bool) -> bool:
        """Store a file atomically; return whether it was stored."""
        with self._lock:
            if if_absent and path.exists():
                return False
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            self.changes.append(("PUT", path.relative_to(self.root).as_posix()))
            return True

    def delete(self, path: Path) -> None:
        """Delete a file, which may not exist."""
        with self._lock:
            path.unlink(missing_ok=True)
            self.changes.append(("DELETE", path.relative_to(self.root).as_posix()))

    @property
    def properties(self) -> dict[str, str]:
        """Return the properties for connecting frazil to the server."""
        return {
            "s3.endpoint": f"http://127.0.0.1:{self.server_address[1]}",
            "s3.access-key-id": ACCESS_KEY,
            "s3.secret-access-key": SECRET_KEY,
            "s3.region": "eu-test-1",
            "s3.path-style-access": "true",
        }


@contextlib.contextmanager
def object_store(root: Path) -> Iterator[ObjectStore]:
    """Serve the folders in `root` as buckets."""
    with ObjectStore(root) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: ObjectStore
    content: bytes
    is_short: bool

    def do_HEAD(self) -> None:
        self._handle()

    def do_GET(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_DELETE(self) -> None:
        self._handle()

    def _handle(self) -> None:
        self.content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.is_short = False
        match self.server.fault_of(self.command, unquote(self.path)):
            case "refused":
                answer = self._recorded(lambda: self._failed(403, "AccessDenied"))
            case "busy":
                answer = self._recorded(lambda: self._failed(503, "SlowDown"))
            case "lost":
                answer = b""
            case "answer lost":
                self._recorded(self._serve)
                answer = b""
            case "answer replaced":
                self._recorded(self._serve)
                answer = self._recorded(lambda: self._failed(503, "SlowDown"))
            case "twice":
                self._recorded(self._serve)
                answer = self._recorded(self._serve)
            case "answer cut":
                whole = self._recorded(self._serve)
                answer, self.close_connection = whole[: len(whole) // 2], True
            case "half":
                self.content = self.content[: len(self.content) // 2]
                self._recorded(self._serve)
                answer = b""
            case fault:
                self.is_short = fault == "short"
                answer = self._recorded(self._serve)
        self.close_connection |= not answer
        self.wfile.write(answer)

    def _recorded(self, serve: Callable[[], None]) -> bytes:
        """Serve a request, and return the response instead of sending it."""
        connection, self.wfile = self.wfile, io.BytesIO()
        try:
            serve()
            return self.wfile.getvalue()
        finally:
            self.wfile = connection

    def _serve(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "uploads" in query or "uploadId" in query:
            self._upload({name: values[0] for name, values in query.items()})
        elif self.command == "PUT":
            self._put()
        elif self.command == "POST" and "delete" in query:
            self._delete()
        elif query.get("list-type") == ["2"]:
            self._listing({name: values[0] for name, values in query.items()})
        else:
            self._object(body=self.command == "GET")

    def _put(self) -> None:
        if self._authorized() is None:
            return
        path = self.server.root / unquote(urlsplit(self.path).path).lstrip("/")
        if self.server.put(path, self.content, if_absent=self.headers.get("If-None-Match") == "*"):
            self._answer(200, b"", {"ETag": '"e"'})
        else:
            self._failed(412, "PreconditionFailed")

    def _upload(self, query: dict[str, str]) -> None:
        """Handle a multipart upload: created, sent, completed or aborted."""
        if self._authorized() is None:
            return
        uploads = self.server.uploads
        if "uploads" in query:
            name = f"upload-{len(self.server.calls)}"
            uploads[name] = {}
            content = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
            self._answer(200, content.encode(), {"Content-Type": "application/xml"})
            return
        name = query["uploadId"]
        if name not in uploads:
            self._failed(404, "NoSuchUpload")
        elif self.command == "PUT":
            uploads[name][int(query["partNumber"])] = self.content
            self._answer(200, b"", {"ETag": f'"{query["partNumber"]}"'})
        elif self.command == "DELETE":
            del uploads[name]
            self._answer(204, b"", {})
        else:
            parts = uploads.pop(name)
            path = self.server.root / unquote(urlsplit(self.path).path).lstrip("/")
            self.server.put(path, b"".join(parts[number] for number in sorted(parts)), if_absent=False)
            content = "<CompleteMultipartUploadResult><ETag>&quot;e&quot;</ETag></CompleteMultipartUploadResult>"
            self._answer(200, content.encode(), {"Content-Type": "application/xml"})

    def _delete(self) -> None:
        bucket = self._authorized()
        if bucket is None:
            return
        keys = [unescape(key) for key in re.findall("<Key>(.*?)</Key>", self.content.decode())]
        for key in keys:
            self.server.delete(self.server.root / bucket / key)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        content = f'<?xml version="1.0"?><DeleteResult>{deleted}</DeleteResult>'
        self._answer(200, content.encode(), {"Content-Type": "application/xml"})

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def _object(self, *, body: bool) -> None:
        path = self._file()
        if path is None:
            return
        content = path.read_bytes()
        start, end, status = 0, len(content), 200
        if wanted := self.headers.get("Range"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first) if first else max(end - int(last), 0)
            end = min(int(last) + 1, end) if first and last else end
            if start >= len(content):
                self._failed(416, "InvalidRange")
                return
            status = 206
        headers = {"ETag": '"e"', "Last-Modified": formatdate(path.stat().st_mtime, usegmt=True)}
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        end = start + (end - start) // 2 if self.is_short else end
        self._answer(status, content[start:end], headers, body=body)

    def _listing(self, query: dict[str, str]) -> None:
        bucket = self._authorized()
        if bucket is None:
            return
        prefix = query.get("prefix", "")
        folder = self.server.root / bucket
        keys = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        keys += [key.removeprefix(f"{bucket}/") for key in self.server.markers if key.startswith(f"{bucket}/")]
        entries: dict[str, bool] = {}
        for key in sorted(keys, key=str.encode):
            if key.startswith(prefix):
                inner, slash, _ = key[len(prefix) :].partition("/")
                entries[prefix + inner + slash if query.get("delimiter") == "/" else key] = bool(slash)
        names = list(entries)
        at = int(query.get("continuation-token", "0"))
        page = names[at : at + PAGE_KEYS]
        more = at + PAGE_KEYS < len(names)
        parts = [f"<IsTruncated>{str(more).lower()}</IsTruncated>"]
        parts += [f"<NextContinuationToken>{at + PAGE_KEYS}</NextContinuationToken>"] if more else []
        for name in page:
            if entries[name]:
                parts.append(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>")
                continue
            size = 0 if name.endswith("/") else (folder / name).stat().st_size
            time = "2030-01-02T03:04:05.678Z"
            if self.server.has_real_times and not name.endswith("/"):
                modified = dt.datetime.fromtimestamp((folder / name).stat().st_mtime, dt.UTC)
                time = modified.strftime("%Y-%m-%dT%H:%M:%S.000Z")
            meta = f"<LastModified>{time}</LastModified><ETag>&quot;e&quot;</ETag><Size>{size}</Size>"
            parts.append(f"<Contents><Key>{escape(name)}</Key>{meta}</Contents>")
        content = f'<?xml version="1.0"?><ListBucketResult>{"".join(parts)}</ListBucketResult>'
        self._answer(200, content.encode(), {"Content-Type": "application/xml"})

    def _file(self) -> Path | None:
        """Return the requested file, or None after an error response."""
        bucket = self._authorized()
        if bucket is None:
            return None
        path = self.server.root / unquote(urlsplit(self.path).path).lstrip("/")
        if not path.is_file():
            self._failed(404, "NoSuchKey")
            return None
        return path

    def _authorized(self) -> str | None:
        """Return the requested bucket, or None after an error response."""
        self.server.requests.append(f"{self.command} {unquote(self.path)}")
        key = re.search(r"Credential=([^/]*)/", self.headers.get("Authorization", ""))
        if key is None or not self.server.is_allowed(key.group(1)):
            self._failed(403, "AccessDenied")
            return None
        return unquote(urlsplit(self.path).path).lstrip("/").partition("/")[0]

    def _failed(self, status: int, code: str) -> None:
        # Stores quote the key of the caller.
        text = f"<Error><Code>{code}</Code><AWSAccessKeyId>{quote(ACCESS_KEY)}</AWSAccessKeyId></Error>"
        self._answer(status, text.encode(), {"Content-Type": "application/xml"}, body=self.command != "HEAD")

    def _answer(self, status: int, content: bytes, headers: dict[str, str], *, body: bool = True) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)
