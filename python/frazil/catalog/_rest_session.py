"""HTTP sessions of REST catalogs: retries with backoff, and OAuth2 with client credentials."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import ConnectTimeoutError, InvalidHeader, NewConnectionError
from urllib3.util.retry import Retry

from frazil import errors
from frazil.catalog._properties import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["UNKNOWN", "Bearer", "OAuth2", "may_have_taken_effect", "new_session", "timeout_s", "was_not_sent"]

UNKNOWN = frozenset({500, 502, 503, 504})
"""The statuses after which a change may have been applied."""

_BUSY = 429
"""The status after which a change was certainly not applied."""
_UNAUTHORIZED = 401
_SERVER_ERROR = 500
_TIMEOUT_S = 60.0
_RETRIES = 2
_BACKOFF_S = 0.1
_LONGEST_WAIT_S = 10.0
_EARLY_S = 30
"""The time before its expiry at which a token is renewed."""
_DEFAULT_LIFETIME_S = 3600.0


class _Retries(Retry):
    """Retries with exponential backoff, or after the time given in `Retry-After`."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:  # noqa: FBT001, FBT002 - as of the base class
        """Return whether to retry a request: it was not carried out, or its method is safe to repeat."""
        return status_code == _BUSY or super().is_retry(method, status_code, has_retry_after)

    def get_retry_after(self, response: Any) -> float | None:
        """Return the retry delay that the server requests, in seconds, at most 10."""
        try:
            asked = super().get_retry_after(response)
        except InvalidHeader:
            return None
        return None if asked is None else min(asked, _LONGEST_WAIT_S)


def new_session(repeated_methods: Collection[str] = ("GET", "HEAD", "DELETE")) -> requests.Session:
    """Return a session that retries requests of some methods if the connection breaks or the server fails.

    Requests of all methods are retried if the connection cannot be established or the server is busy (429).
    """
    retries = _Retries(
        total=_RETRIES,
        backoff_factor=_BACKOFF_S,
        status_forcelist=UNKNOWN,
        allowed_methods=frozenset(repeated_methods),
        raise_on_status=False,
    )
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
    return session


def timeout_s(catalog: str, properties: Mapping[str, str]) -> float:
    """Return the response timeout in seconds (`rest.timeout-s`, 60 by default).

    Raises:
        InvalidArgumentError: The property is not a positive number.
    """
    given = properties.get("rest.timeout-s", str(_TIMEOUT_S))
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        message = f"property rest.timeout-s of catalog {catalog!r} must be a positive number of seconds, not {given!r}"
        raise errors.InvalidArgumentError(message, context={"catalog": catalog})
    return seconds


def was_not_sent(error: Exception) -> bool:
    """Return whether a request failed before it was sent, so that it had no effect."""
    if isinstance(error, requests.ConnectTimeout):
        return True
    cause = error.args[0] if error.args else None
    return isinstance(getattr(cause, "reason", cause), NewConnectionError)


def may_have_taken_effect(response: requests.Response) -> bool:
    """Return whether an earlier attempt at this request may have been carried out although its response was lost."""
    retries = getattr(response.raw, "retries", None)
    return any(
        attempt.status in UNKNOWN
        or (attempt.error is not None and not isinstance(attempt.error, NewConnectionError | ConnectTimeoutError))
        for attempt in getattr(retries, "history", ())
    )


@dataclass(frozen=True)
class Bearer(AuthBase):
    """Authorization with a fixed token; without a token, requests are not authorized."""

    token: str | None

    def close(self) -> None:
        """Do nothing: a fixed token needs no connection."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the token to a request."""
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token}"
        return request


@dataclass
class OAuth2(AuthBase):
    """Thread-safe authorization with tokens obtained for a credential (OAuth2, client credentials).

    A token is renewed before it expires and when the server rejects it.
    """

    catalog: str
    address: str
    """The token endpoint."""
    credential: str = field(repr=False)
    """`<client id>:<client secret>`, or the secret alone. A secret may contain colons; a client id may not."""
    form: Mapping[str, str]
    """The additional form fields of a token request."""
    is_basic: bool
    """Whether the credential is sent as HTTP basic authentication instead of in the form."""
    timeout_s: float
    unreachable: Callable[[Exception], errors.FrazilError]
    token: str | None = field(default=None, repr=False)
    """The current token; an initial token is used until the server rejects it."""

    def __post_init__(self) -> None:
        """Prepare the session for token requests."""
        self._session = new_session(("POST",))
        self._lock = threading.Lock()
        self._expires = math.inf

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add a token to a request."""
        request.headers["Authorization"] = f"Bearer {self._current()}"
        request.register_hook("response", self._renew)
        return request

    def close(self) -> None:
        """Close the idle connections to the token endpoint."""
        self._session.close()

    def _renew(self, response: requests.Response, **options: Any) -> requests.Response:
        """Send a request again if its token was rejected."""
        if response.status_code != _UNAUTHORIZED:
            return response
        refused = str(response.request.headers["Authorization"]).removeprefix("Bearer ")
        # Reading the response makes the connection reusable.
        _ = response.content
        response.close()
        request = response.request.copy()
        request.headers["Authorization"] = f"Bearer {self._current(refused)}"
        again: requests.Response = response.connection.send(request, **options)
        again.history.append(response)
        return again

    def _current(self, refused: str | None = None) -> str:
        with self._lock:
            if self.token is None or self.token == refused or time.monotonic() > self._expires - _EARLY_S:
                self.token, lifetime = self._fetch()
                self._expires = time.monotonic() + lifetime
            return self.token

    def _fetch(self) -> tuple[str, float]:
        """Return a new token and its lifetime in seconds."""
        first, colon, rest = self.credential.partition(":")
        client, secret = (first, rest) if colon else ("", first)
        form = {"grant_type": "client_credentials", **self.form}
        if not self.is_basic:
            form |= ({"client_id": client} if client else {}) | {"client_secret": secret}
        auth = requests.auth.HTTPBasicAuth(client.encode(), secret.encode()) if self.is_basic else Bearer(None)
        try:
            response = self._session.post(self.address, data=form, auth=auth, timeout=self.timeout_s)
        except requests.RequestException as error:
            raise self.unreachable(error) from None
        try:
            answer = response.json()
            return str(answer["access_token"]), float(answer.get("expires_in") or _DEFAULT_LIFETIME_S)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._refused(response.status_code) from None

    def _refused(self, status: int) -> errors.FrazilError:
        message = (
            f"cannot get a token for catalog {self.catalog!r}: the server at {masked(self.address)} responded with "
            f"status {status}"
        )
        context = {"catalog": self.catalog, "status": str(status)}
        if status >= _SERVER_ERROR or status == _BUSY:
            return errors.UnavailableError(message, context=context)
        hint = "the property credential must be <client id>:<client secret>"
        return errors.UnauthorizedError(message, context=context, hint=hint)
