"""HTTP client for the Iceberg REST catalog API: paths, authorization and error mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from frazil import errors
from frazil._extras import imported
from frazil.catalog._properties import masked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil.catalog._identifiers import Levels

__all__ = ["ConflictError", "RestClient"]

_SEPARATOR = "%1F"
_FIRST_ERROR = 300
_CONFLICT = 409
_NOT_FOUND = 404


class ConflictError(Exception):
    """Status 409 in response to a change: a requirement does not hold, or a name is in use. Callers handle it."""

    def __init__(self, message: str, context: Mapping[str, str]) -> None:
        """Keep the message and the context for the error raised to users."""
        super().__init__(message)
        self.message, self.context = message, context


class RestClient:
    """A thread-safe client that sends requests to one catalog."""

    def __init__(self, name: str, properties: Mapping[str, str]) -> None:
        """Read `uri` and the authorization: `token`, or `credential` with `scope` and `oauth2-server-uri`.

        Raises:
            InvalidArgumentError: The `uri` is missing or is not the address of a server, or a property has an invalid
                value.
        """
        uri = properties.get("uri", "").rstrip("/")
        if not uri.lower().startswith(("http://", "https://")):
            message = f"the uri of catalog {name!r} must begin with http:// or https://, not {masked(uri)!r}"
            raise errors.InvalidArgumentError(message, context={"catalog": name})
        if properties.get("rest.sigv4-enabled", "false").lower() == "true":
            message = f"catalog {name!r} requires AWS-signed requests (rest.sigv4-enabled), which are not supported"
            raise errors.UnsupportedError(message, context={"catalog": name}, hint="use a token or a credential")
        self._name, self._uri, self._properties = name, uri, dict(properties)
        self._requests: Any = imported("requests", f"catalog {name!r}, which is of type rest,")
        from frazil.catalog import _rest_session

        self._http = _rest_session
        self._session = _rest_session.new_session()
        self._timeout_s = _rest_session.timeout_s(name, properties)
        self._auth = self._authorization()
        self._prefix = ""

    def close(self) -> None:
        """Close the idle connections; later requests open new ones."""
        self._session.close()
        self._auth.close()

    def configure(self) -> tuple[dict[str, str], dict[str, str]]:
        """Load the configuration of the server: defaults, overrides and the path prefix."""
        warehouse = self._properties.get("warehouse")
        answer = self.get("config", {} if warehouse is None else {"warehouse": warehouse}, prefixed=False)
        defaults, overrides = answer.get("defaults") or {}, answer.get("overrides") or {}
        self._properties = {**defaults, **self._properties, **overrides}
        self._uri = self._properties.get("uri", self._uri).rstrip("/")
        prefix = self._properties.get("prefix", "").strip("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._timeout_s = self._http.timeout_s(self._name, self._properties)
        self._auth = self._authorization()
        return defaults, overrides

    def get(self, path: str, parameters: Mapping[str, str] | None = None, *, prefixed: bool = True) -> dict[str, Any]:
        """Send a GET request and return the response."""
        return self._send("GET", path, parameters=parameters, prefixed=prefixed)

    def has(self, path: str) -> bool:
        """Return whether the resource at a path exists."""
        try:
            try:
                self._send("HEAD", path)
            except (errors.UnsupportedError, errors.CatalogError) as error:
                # Some servers do not support HEAD.
                if error.context.get("status") not in ("400", "405", "406", "501"):
                    raise
                self.get(path)
        except (errors.NoSuchTableError, errors.NoSuchNamespaceError):
            return False
        return True

    def post(self, path: str, body: Any, *, is_commit: bool = False) -> dict[str, Any]:
        """Send a change. The request is not retried if the change may have been applied.

        Raises:
            ConflictError: The server responded with 409.
            CommitStateUnknownError: The commit may have been applied. After any other error, it was not applied.
        """
        return self._send("POST", path, body=body, is_commit=is_commit)

    def delete(self, path: str, parameters: Mapping[str, str] | None = None) -> None:
        """Delete a resource; a status 404 on a retry counts as success, because the first response may be lost.

        Raises:
            ConflictError: The server responded with 409.
        """
        self._send("DELETE", path, parameters=parameters)

    def namespace(self, levels: Levels) -> str:
        """Return the path of a namespace."""
        return f"namespaces/{self._separator().join(quote(level, safe='') for level in levels)}"

    def table(self, levels: Levels) -> str:
        """Return the path of a table."""
        return f"{self.namespace(levels[:-1])}/tables/{quote(levels[-1], safe='')}"

    def parent(self, levels: Levels) -> dict[str, str]:
        """Return the parameters for listing the children of a namespace."""
        return {"parent": unquote(self._separator()).join(levels)} if levels else {}

    def _separator(self) -> str:
        """Return the URL-encoded separator between the levels of a namespace."""
        return self._properties.get("namespace-separator", _SEPARATOR)

    def pages(self, path: str, key: str, parameters: Mapping[str, str] | None = None) -> list[Any]:
        """Return all items of a list that the server may split into pages."""
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
        try:
            response = self._session.request(
                method,
                address,
                params=parameters,
                json=body,
                headers=self._headers(),
                auth=self._auth,
                timeout=self._timeout_s,
            )
        except self._requests.RequestException as error:
            raise self._unreachable(error, is_commit=is_commit) from None
        is_gone = method == "DELETE" and response.status_code == _NOT_FOUND
        if is_gone and self._http.may_have_taken_effect(response):
            return {}
        if response.status_code >= _FIRST_ERROR:
            raise self._refused(response, is_change=method in ("POST", "DELETE"), is_commit=is_commit)
        return self._answer(response, is_commit=is_commit)

    def _answer(self, response: Any, *, is_commit: bool) -> dict[str, Any]:
        if not response.content:
            return {}
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            return answer
        raise self._odd(response, is_commit=is_commit)

    def _refused(self, response: Any, *, is_change: bool, is_commit: bool) -> Exception:
        """Return the exception for an error response, by its status and error type."""
        kind, said = "", ""
        try:
            found = response.json()["error"]
            kind, said = str(found.get("type") or ""), str(found.get("message") or "")
        except (ValueError, KeyError, TypeError, AttributeError):
            said = response.reason or ""
        status = response.status_code
        message = f"the server of catalog {self._name!r} responded with status {status}: {said or kind or 'no reason'}"
        context = {"catalog": self._name, "status": str(status)}
        if is_change and (status == _CONFLICT or kind == "NamespaceNotEmptyException"):
            return ConflictError(message, context)
        if is_commit and status in self._http.UNKNOWN:
            return errors.CommitStateUnknownError(message, context=context)
        found_kind = _KINDS.get(kind) or _STATUSES.get(status) or errors.CatalogError
        if status in self._http.UNKNOWN:
            found_kind = errors.UnavailableError
        return found_kind(message, context=context)

    def _odd(self, response: Any, *, is_commit: bool) -> errors.FrazilError:
        message = (
            f"the server of catalog {self._name!r} responded with status {response.status_code} and a body that is "
            "not JSON"
        )
        context = {"catalog": self._name, "uri": masked(self._uri)}
        if is_commit:
            return errors.CommitStateUnknownError(message, context=context)
        hint = "the uri must be the address of an Iceberg REST catalog, without /v1"
        return errors.CatalogError(message, context=context, hint=hint)

    def _unreachable(self, error: Exception, *, is_commit: bool) -> errors.FrazilError:
        # The text of the error may contain the address, including secrets.
        message = f"catalog {self._name!r} at {masked(self._uri)} does not respond: {type(error).__name__}"
        context = {"catalog": self._name, "uri": masked(self._uri)}
        if is_commit and not self._http.was_not_sent(error):
            return errors.CommitStateUnknownError(message, context=context)
        return errors.UnavailableError(message, context=context)

    # Authorization

    def _headers(self) -> dict[str, str]:
        own = {
            key.removeprefix("header."): value for key, value in self._properties.items() if key.startswith("header.")
        }
        return {
            "Content-Type": "application/json",
            "X-Client-Version": "frazil",
            "X-Iceberg-Access-Delegation": "vended-credentials",
            **own,
        }

    def _authorization(self) -> Any:
        """Return the authorization of requests: a credential to exchange for tokens, or a token."""
        properties = self._properties
        if "credential" not in properties:
            return self._http.Bearer(properties.get("token"))
        address = properties.get("oauth2-server-uri", f"{self._uri}/v1/oauth/tokens")
        if not address.lower().startswith(("http://", "https://")):
            address = f"{self._uri}/{address.lstrip('/')}"
        form = {"scope": properties.get("scope", "catalog")}
        for key in ("audience", "resource"):
            if key in properties:
                form[key] = properties[key]
        return self._http.OAuth2(
            catalog=self._name,
            address=address,
            credential=properties["credential"],
            form=form,
            is_basic=properties.get("rest.oauth2-basic-auth", "false").lower() == "true",
            timeout_s=self._timeout_s,
            unreachable=lambda error: self._unreachable(error, is_commit=False),
            token=properties.get("token"),
        )


_KINDS: dict[str, type[errors.FrazilError]] = {
    "NoSuchTableException": errors.NoSuchTableError,
    "NoSuchNamespaceException": errors.NoSuchNamespaceError,
    "NoSuchViewException": errors.NoSuchTableError,
    "AlreadyExistsException": errors.AlreadyExistsError,
    "NotAuthorizedException": errors.UnauthorizedError,
    "ForbiddenException": errors.ForbiddenError,
    "UnsupportedOperationException": errors.UnsupportedError,
}
"""Exceptions by the error `type` in the response."""

_STATUSES: dict[int, type[errors.FrazilError]] = {
    400: errors.CatalogError,
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NoSuchTableError,
    406: errors.UnsupportedError,
    419: errors.UnauthorizedError,
    429: errors.CatalogError,
}
"""Exceptions by status, for responses whose type does not determine one."""
