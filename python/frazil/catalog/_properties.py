"""Catalog properties, with secrets hidden in their representation."""

from __future__ import annotations

import difflib
import re
import warnings
from typing import TYPE_CHECKING

from frazil._caller import caller_depth
from frazil._secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRET = re.compile(
    r"secret|password|passwd|pwd|passphrase|token|credential|access-key|account-key|private-key|sas|auth|signature|header\."
)
_OF_THE_CATALOG = frozenset(
    {
        "type",
        "uri",
        "path",
        "allowed_locations",
        "warehouse",
        "jdbc.user",
        "jdbc.password",
        "metastore",
        "catalog-key",
        "lock.enabled",
        "lock.type",
        "lock-acquire-timeout",
        "lock-check-max-sleep",
        "lock-key-max-length",
        "init_catalog_tables",
        "sync-all-properties",
    }
)
_OF_REST = frozenset(
    {
        "audience",
        "credential",
        "namespace-separator",
        "oauth2-server-uri",
        "prefix",
        "resource",
        "rest.oauth2-basic-auth",
        "rest.sigv4-enabled",
        "rest.timeout-s",
        "scope",
        "token",
    }
)
_MISSPELT = 0.85
"""The `difflib` ratio from which an unknown key counts as a misspelt one."""

# User and password precede the last @ of the authority; a password may contain an unescaped slash.
_USER_INFO = re.compile(r"(?<=://)(?:[^/\s]*@|[^/@:\s]+:[^\s]*@)|(?<=:thin:)[^\s]*@")
_HEAD = re.compile(r"^(?://)?[^/:@\s]+@")
"""The user information of an address without a scheme."""

_QUERY = re.compile(r"\?.*", re.DOTALL)
_JDBC_QUERY = re.compile(r"[?;].*", re.DOTALL)
_MASK = "***"


class Properties(dict[str, str]):
    """A dict of properties whose `repr` hides secrets.

    >>> Properties({"warehouse": "s3://wh", "s3.secret-access-key": "abc", "uri": "postgresql://me:abc@host/db"})
    {'warehouse': 's3://wh', 's3.secret-access-key': '***', 'uri': 'postgresql://***@host/db'}
    """

    def __repr__(self) -> str:
        """Return a representation with the keys and the non-secret values."""
        return repr({key: _MASK if is_secret(key) else masked(value) for key, value in self.items()})

    __str__ = __repr__


def of_storage(properties: Mapping[str, str]) -> Properties:
    """Return the catalog properties that configure the storage of the catalog's tables."""
    return Properties({key: value for key, value in properties.items() if key not in _OF_THE_CATALOG})


def warn_of_misspelt(properties: Mapping[str, str]) -> None:
    """Emit a `UserWarning` for each key that is probably a misspelt property of a catalog.

    Other keys are not reported: they configure the storage, which reports its own unknown keys, or are of the user.
    """
    known = _OF_THE_CATALOG | _OF_REST
    for key in properties:
        near = difflib.get_close_matches(key.lower(), sorted(known), n=1, cutoff=_MISSPELT)
        if near and key not in known:
            message = f"unknown catalog property `{key}`; did you mean `{near[0]}`?"
            warnings.warn(message, UserWarning, stacklevel=caller_depth())


def masked(location: str) -> str:
    """Return a path or URI without user, password and query.

    >>> masked("postgresql://me:abc@host/db?password=abc"), masked("/data/a b?")
    ('postgresql://***@host/db?***', '/data/a b?')
    >>> masked("me:abc@host/db"), masked("token@host/db"), masked("host/db?password=abc")
    ('***@host/db', '***@host/db', 'host/db?password=***')
    """
    location = _HEAD.sub(f"{_MASK}@", without_secrets(location))
    if ":" not in location:
        return location
    query = _JDBC_QUERY if location.lower().startswith("jdbc:") else _QUERY
    return _USER_INFO.sub(f"{_MASK}@", query.sub(f"?{_MASK}", location))


def is_secret(key: str) -> bool:
    """Return whether the value of a property must be hidden."""
    return _SECRET.search(key.lower()) is not None
