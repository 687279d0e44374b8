"""A small server that speaks as much of S3 as reading needs: buckets are folders on this machine."""

from __future__ import annotations

import contextlib
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACCESS_KEY = "AKIACANARYKEY"
SECRET_KEY = "canary-of-the-secret"  # noqa: S105 - of no account
PAGE_KEYS = 3
"""How many keys and prefixes a page of a listing has."""


class ObjectStore(ThreadingHTTPServer):
    """The folders in `root` as buckets; requests are kept as text."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        """Listen on a port of this machine."""
        super().__init__(("127.0.0.1", 0), _Request)
        self.root = root
        self.requests: list[str] = []
        self.markers: set[str] = set()
        """Keys of empty objects that end with a slash, each with its bucket."""

    @property
    def properties(self) -> dict[str, str]:
        """The properties by which frazil reaches it."""
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

    def do_HEAD(self) -> None:
        self._object(body=False)

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if query.get("list-type") == ["2"]:
            self._listing({name: values[0] for name, values in query.items()})
        else:
            self._object(body=True)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""

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
            meta = f"<LastModified>{time}</LastModified><ETag>&quot;e&quot;</ETag><Size>{size}</Size>"
            parts.append(f"<Contents><Key>{escape(name)}</Key>{meta}</Contents>")
        content = f'<?xml version="1.0"?><ListBucketResult>{"".join(parts)}</ListBucketResult>'
        self._answer(200, content.encode(), {"Content-Type": "application/xml"})

    def _file(self) -> Path | None:
        """The file that is asked for; None after an answer that says why not."""
        bucket = self._authorized()
        if bucket is None:
            return None
        path = self.server.root / unquote(urlsplit(self.path).path).lstrip("/")
        if not path.is_file():
            self._failed(404, "NoSuchKey")
            return None
        return path

    def _authorized(self) -> str | None:
        """The bucket that is asked for; None after a refusal."""
        self.server.requests.append(f"{self.command} {unquote(self.path)}")
        if f"Credential={ACCESS_KEY}/" not in self.headers.get("Authorization", ""):
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
