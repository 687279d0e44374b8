"""HTTP client for the Iceberg REST catalog API: paths, authorization and error mapping."""

from __future__ import annotations

import base64
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from frazil import errors
from frazil._extras import imported
from frazil.catalog._properties import masked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog._identifiers import Levels

__all__ = ["Conflict", "RestClient"]

_SEPARATOR = "%1F"
_TIMEOUT_S = 60.0
_RETRIES = 3
_EARLY_S = 30
"""A token is renewed so long before it expires."""
_DEFAULT_LIFETIME_S = 3600.0
_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a type
_UNKNOWN = frozenset({500, 502, 503, 504})
"""After these, a change may have been made."""


_BUSY = 429
"""After this, nothing was made."""
_LONGEST_WAIT_S = 10.0


class Conflict(Exception):  # noqa: N818 - no failure: another writer was first
    """The server answered 409: a requirement of the request does not hold."""


class RestClient:
    """Sends requests to one catalog. It is thread-safe."""

    def __init__(self, name: str, properties: Mapping[str, str]) -> None:
        """Take `uri`, and what authorizes: `token`, or `credential` with `scope` and `oauth2-server-uri`.

        Raises:
            InvalidArgumentError: There is no `uri`, or it is not that of a server.
        """
        uri = properties.get("uri", "").rstrip("/")
        if not uri.lower().startswith(("http://", "https://")):
            message = f"the uri of catalog {name!r} must begin with http:// or https://, found {masked(uri)!r}"
            raise errors.InvalidArgumentError(message, context={"catalog": name})
        if properties.get("rest.sigv4-enabled", "false").lower() == "true":
            message = f"catalog {name!r} asks for requests that are signed for AWS (rest.sigv4-enabled)"
            raise errors.UnsupportedError(message, context={"catalog": name}, hint="use a token or a credential")
        self._name, self._uri, self._properties = name, uri, dict(properties)
        self._requests: Any = imported("requests", f"catalog {name!r}, which is of type rest,")
        self._session = self._requests.Session()
        self._lock = threading.RLock()
        self._token = properties.get("token")
        self._expires: float | None = None
        self._prefix = ""

    def configure(self) -> tuple[dict[str, str], dict[str, str]]:
        """Load the configuration of the server: defaults, overrides and the path prefix."""
        warehouse = self._properties.get("warehouse")
        answer = self.get("config", {} if warehouse is None else {"warehouse": warehouse}, prefixed=False)
        defaults, overrides = answer.get("defaults") or {}, answer.get("overrides") or {}
        self._properties = {**defaults, **self._properties, **overrides}
        self._uri = self._properties.get("uri", self._uri).rstrip("/")
        prefix = self._properties.get("prefix", "").strip("/")
        self._prefix = f"{prefix}/" if prefix else ""
        return defaults, overrides

    def get(self, path: str, parameters: Mapping[str, str] | None = None, *, prefixed: bool = True) -> dict[str, Any]:
        """Return what the server answers."""
        return self._send("GET", path, parameters=parameters, prefixed=prefixed)

    def has(self, path: str) -> bool:
        """Return whether the server has something."""
        try:
            try:
                self._send("HEAD", path)
            except (errors.UnsupportedError, errors.CatalogError) as error:
                # Not all servers answer HEAD.
                if error.context.get("status") not in ("400", "405", "406", "501"):
                    raise
                self.get(path)
        except (errors.NoSuchTableError, errors.NoSuchNamespaceError):
            return False
        return True

    def post(self, path: str, body: Any, *, is_commit: bool = False) -> dict[str, Any]:
        """Send a change. A commit is not retried, because its outcome is unknown if no answer arrives.

        Raises:
            Conflict: The server answered with 409.
            CommitStateUnknownError: A commit may have been made.
        """
        return self._send("POST", path, body=body, is_commit=is_commit)

    def delete(self, path: str, parameters: Mapping[str, str] | None = None) -> None:
        """Remove something."""
        self._send("DELETE", path, parameters=parameters)

    def namespace(self, levels: Levels) -> str:
        """Return the path of a namespace."""
        return f"namespaces/{self._separator().join(quote(level, safe='') for level in levels)}"

    def table(self, levels: Levels) -> str:
        """Return the path of a table."""
        return f"{self.namespace(levels[:-1])}/tables/{quote(levels[-1], safe='')}"

    def parent(self, levels: Levels) -> dict[str, str]:
        """Return the parameters for what lies below a namespace."""
        return {"parent": unquote(self._separator()).join(levels)} if levels else {}

    def _separator(self) -> str:
        """Return what stands between the levels of a namespace, as in a URL."""
        return self._properties.get("namespace-separator", _SEPARATOR)

    def pages(self, path: str, key: str, parameters: Mapping[str, str] | None = None) -> list[Any]:
        """Return a list that may come in pages."""
        found: list[Any] = []
        asked = dict(parameters or {})
        while True:
            answer = self.get(path, asked)
            found += answer.get(key) or []
            token = answer.get("next-page-token")
            if not token:
                return found
            asked["pageToken"] = token

    def _send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        body: Any = None,
        prefixed: bool = True,
        is_commit: bool = False,
    ) -> dict[str, Any]:
        address = f"{self._uri}/v1/{self._prefix if prefixed else ''}{path}"
        may_repeat = not is_commit and method != "POST"
        renewed = False
        # One more for a token that has expired.
        for attempt in range(1, _RETRIES + 2):
            try:
                response = self._session.request(
                    method,
                    address,
                    params=parameters,
                    data=body.encode() if isinstance(body, str) else None,
                    json=None if isinstance(body, str) else body,
                    headers=self._headers(),
                    timeout=float(self._properties.get("rest.timeout-s", _TIMEOUT_S)),
                )
            except self._requests.RequestException as error:
                if may_repeat and attempt < _RETRIES:
                    time.sleep(0.1 * attempt)
                    continue
                raise self._unreachable(error, is_commit=is_commit) from None
            if response.status_code == 401 and not renewed and self._can_renew():  # noqa: PLR2004 - HTTP
                renewed = True
                with self._lock:
                    self._token = self._expires = None
                continue
            is_busy = response.status_code == _BUSY or (may_repeat and response.status_code in _UNKNOWN)
            if is_busy and attempt < _RETRIES:
                time.sleep(_wait_s(response.headers.get("Retry-After"), attempt))
                continue
            return self._answer(response, is_commit=is_commit)
        message = "a request was repeated without an answer"
        raise errors.InternalError(message)

    def _answer(self, response: Any, *, is_commit: bool) -> dict[str, Any]:
        if response.status_code < 300:  # noqa: PLR2004 - HTTP
            if not response.content:
                return {}
            try:
                answer = response.json()
            except ValueError:
                answer = None
            if isinstance(answer, dict):
                return answer
            raise self._odd(response, is_commit=is_commit)
        raise self._refused(response, is_commit=is_commit)

    def _refused(self, response: Any, *, is_commit: bool) -> Exception:
        """Return the error for an answer that is one."""
        kind, said = "", ""
        try:
            found = response.json()["error"]
            kind, said = str(found.get("type") or ""), str(found.get("message") or "")
        except (ValueError, KeyError, TypeError, AttributeError):
            said = response.reason or ""
        status = response.status_code
        message = f"the server of catalog {self._name!r} answered {status}: {said or kind or 'no reason'}"
        context = {"catalog": self._name, "status": str(status)}
        if status == 409 or kind == "NamespaceNotEmptyException":  # noqa: PLR2004 - HTTP
            return Conflict(message)
        if is_commit and status in _UNKNOWN:
            return errors.CommitStateUnknownError(message, context=context)
        found_kind = _KINDS.get(kind) or _STATUSES.get(status) or errors.CatalogError
        if status in _UNKNOWN:
            found_kind = errors.UnavailableError
        return found_kind(message, context=context)

    def _odd(self, response: Any, *, is_commit: bool) -> errors.FrazilError:
        message = (
            f"the server of catalog {self._name!r} answered {response.status_code} with something that is not JSON"
        )
        context = {"catalog": self._name, "uri": masked(self._uri)}
        if is_commit:
            return errors.CommitStateUnknownError(message, context=context)
        hint = "the uri must be that of an Iceberg REST catalog, without /v1"
        return errors.CatalogError(message, context=context, hint=hint)

    def _unreachable(self, error: Exception, *, is_commit: bool) -> errors.FrazilError:
        # The text of the error may hold the address, and with it secrets.
        message = f"catalog {self._name!r} at {masked(self._uri)} gives no answer: {type(error).__name__}"
        context = {"catalog": self._name, "uri": masked(self._uri)}
        if is_commit and not isinstance(error, self._requests.ConnectTimeout):
            return errors.CommitStateUnknownError(message, context=context)
        return errors.UnavailableError(message, context=context)

    # Authorization

    def _headers(self) -> dict[str, str]:
        own = {
            key.removeprefix("header."): value for key, value in self._properties.items() if key.startswith("header.")
        }
        headers = {
            "Content-Type": "application/json",
            "X-Client-Version": "frazil",
            "X-Iceberg-Access-Delegation": "vended-credentials",
            **own,
        }
        token = self._bearer()
        return headers if token is None else {**headers, "Authorization": f"Bearer {token}"}

    def _can_renew(self) -> bool:
        return "credential" in self._properties

    def _bearer(self) -> str | None:
        if not self._can_renew():
            return self._token
        with self._lock:
            if self._token is None or (self._expires is not None and time.monotonic() > self._expires - _EARLY_S):
                self._token, lifetime = self._fetch_token()
                self._expires = time.monotonic() + lifetime
            return self._token

    def _fetch_token(self) -> tuple[str, float]:
        """Exchange the credential for a token (OAuth2, client credentials)."""
        client, _, secret = self._properties["credential"].rpartition(":")
        form = {"grant_type": "client_credentials", "scope": self._properties.get("scope", "catalog")}
        for key in ("audience", "resource"):
            if key in self._properties:
                form[key] = self._properties[key]
        headers = {}
        address = self._properties.get("oauth2-server-uri")
        if address is None:
            address = f"{self._uri}/v1/oauth/tokens"
        elif not address.lower().startswith(("http://", "https://")):
            address = f"{self._uri}/{address.lstrip('/')}"
        if self._properties.get("rest.oauth2-basic-auth", "false").lower() == "true":
            basic = base64.b64encode(f"{client}:{secret}".encode()).decode()
            headers["Authorization"] = f"Basic {basic}"
        else:
            form |= ({"client_id": client} if client else {}) | {"client_secret": secret}
        try:
            response = self._session.post(address, data=form, headers=headers, timeout=_TIMEOUT_S)
        except self._requests.RequestException as error:
            raise self._unreachable(error, is_commit=False) from None
        try:
            answer = response.json()
            token, lifetime = answer["access_token"], float(answer.get("expires_in") or _DEFAULT_LIFETIME_S)
        except (ValueError, KeyError, TypeError):
            message = (
                f"no token for catalog {self._name!r}: the server at {masked(address)} answered {response.status_code}"
            )
            hint = "the property credential is <client id>:<client secret>"
            raise errors.UnauthorizedError(message, context={"catalog": self._name}, hint=hint) from None
        return str(token), lifetime


def _wait_s(asked: str | None, attempt: int) -> float:
    """Return how long to wait before the next attempt: as the server asks, within reason."""
    try:
        return min(_LONGEST_WAIT_S, max(0.0, float(asked or "")))
    except ValueError:
        return 0.1 * attempt


_KINDS: dict[str, type[errors.FrazilError]] = {
    "NoSuchTableException": errors.NoSuchTableError,
    "NoSuchNamespaceException": errors.NoSuchNamespaceError,
    "NoSuchViewException": errors.NoSuchTableError,
    "AlreadyExistsException": errors.AlreadyExistsError,
    "NotAuthorizedException": errors.UnauthorizedError,
    "ForbiddenException": errors.ForbiddenError,
    "UnsupportedOperationException": errors.UnsupportedError,
}
"""Errors by the `type` that servers give."""

_STATUSES: dict[int, type[errors.FrazilError]] = {
    400: errors.CatalogError,
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NoSuchTableError,
    406: errors.UnsupportedError,
    419: errors.UnauthorizedError,
    429: errors.CatalogError,
}
"""Errors by status, where the type says nothing."""
