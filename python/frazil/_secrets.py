"""Removal of passwords and tokens from strings that should not contain them, such as URIs in error messages."""

from __future__ import annotations

import re

__all__ = ["without_secrets"]

_MASK = "***"
_USER_INFO = re.compile(r"[^\s/@'\"`(]+:[^\s/@'\"`]+@(?=[\w\[])")
_PARAMETER = re.compile(
    r"((?:[\w.-]*(?:password|passwd|pwd|passphrase|secret|token|credential|signature)[\w.-]*|\bsig)=)[^\s&;,'\"`)]+",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Return a string without the user and password before a host, and without the values of secret parameters.

    >>> without_secrets("there is no folder /data/me:abc@host/db, nor me:abc@host/db?password=abc&x=1")
    'there is no folder /data/***@host/db, nor ***@host/db?password=***&x=1'
    """
    return _PARAMETER.sub(rf"\g<1>{_MASK}", _USER_INFO.sub(f"{_MASK}@", text))
