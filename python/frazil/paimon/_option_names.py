"""Checks of the option names of Paimon tables."""

from __future__ import annotations

import difflib
import warnings
from functools import cache
from typing import TYPE_CHECKING

from frazil import _native
from frazil._caller import caller_depth
from frazil.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_MISSPELT = 0.8
"""The minimum `difflib` ratio of a misspelt name: about one wrong letter in five."""

_OF_OTHERS = ("fields.", "file-index.", "orc.", "parquet.", "avro.", "fs.", "hadoop.")
"""The prefixes of names that contain a column name, or that a file format or a file system defines."""


def check_options(names: Collection[str]) -> None:
    """Check the names of options that a user sets.

    Raises:
        InvalidArgumentError: A name is a storage option.
    """
    wrong = next((name for name in names if _native.is_storage_option(name)), None)
    if wrong is not None:
        message = f"`{wrong}` is a storage option, which every reader of the table would see"
        raise InvalidArgumentError(message, hint="pass it in storage={...}")
    warn_of_unknown(names)


def warn_of_unknown(names: Iterable[str]) -> None:
    """Emit a `UserWarning` for each name that is probably a misspelt option; other unknown names are user-defined."""
    for name in names:
        known = None if name.startswith(_OF_OTHERS) else closest(name)
        if known not in (None, name):
            message = f"unknown table option `{name}`; did you mean `{known}`?"
            warnings.warn(message, UserWarning, stacklevel=caller_depth())


def closest(name: str) -> str | None:
    """Return the option that is most similar to a name, or None.

    >>> closest("bukcet"), closest("write-olny"), closest("my-label")
    ('bucket', 'write-only', None)
    """
    if name in _known():
        return name
    return next(iter(difflib.get_close_matches(name, _known(), n=1, cutoff=_MISSPELT)), None)


@cache
def _known() -> frozenset[str]:
    return frozenset(_native.paimon_option_names())
