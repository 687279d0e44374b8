"""Every error that frazil raises, as one tree of classes.

All of them are :class:`FrazilError`; many are a built-in error too, so that ``except FileNotFoundError`` or
``except ValueError`` does what it says. The text says what failed, where, and what to do; ``context`` holds the places
by name (``file``, ``table``, ``snapshot``, ``column``, ``offset``) and ``hint`` the way out. None of them ever holds a
secret, and all of them survive pickling, as Spark and multiprocessing need it.

>>> try:
...     raise MissingFileError("there is no such file (file: /t/data/a.parquet)", context={"file": "/t/data/a.parquet"})
... except FileNotFoundError as error:
...     print(error.kind, error.context["file"])
MissingFileError /t/data/a.parquet
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from frazil._secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "AlreadyExistsError",
    "CancelledError",
    "CatalogError",
    "CommitConflictError",
    "CommitError",
    "CommitStateUnknownError",
    "CommitValidationError",
    "CorruptDataError",
    "CorruptDataFileError",
    "CorruptDeletesError",
    "CorruptManifestError",
    "CorruptMetadataError",
    "ForbiddenError",
    "FrazilError",
    "InternalError",
    "InvalidArgumentError",
    "LimitExceededError",
    "MissingFileError",
    "NoSuchNamespaceError",
    "NoSuchSnapshotError",
    "NoSuchTableError",
    "NotFoundError",
    "PathNotAllowedError",
    "StorageError",
    "UnauthorizedError",
    "UnavailableError",
    "UnsupportedError",
]


class FrazilError(Exception):
    """The base of all errors of frazil.

    ``message`` says what failed, ``context`` where (innermost place first), ``hint`` what to do, or ``None``. The text
    of the error ends with the hint.

    >>> error = InvalidArgumentError("the limit is negative", context={"option": "limit"}, hint="leave it out")
    >>> str(error), error.context, error.hint
    ('the limit is negative; leave it out', {'option': 'limit'}, 'leave it out')
    """

    message: str
    context: dict[str, str]
    hint: str | None

    def __init__(self, message: str, *, context: Mapping[str, str] | None = None, hint: str | None = None) -> None:
        """Keep the text, the places and the way out."""
        self.message = without_secrets(message)
        super().__init__(self.message)
        self.context = {name: without_secrets(place) for name, place in (context or {}).items()}
        self.hint = None if hint is None else without_secrets(hint)

    @property
    def kind(self) -> str:
        """The name of the class, which is the name of the kind in frazil's documents.

        >>> NoSuchTableError("there is no table").kind
        'NoSuchTableError'
        """
        return type(self).__name__

    def __str__(self) -> str:
        """Return message and hint; ``OSError`` would print its error number instead."""
        if self.hint is None or self.message.endswith(self.hint):
            return self.message
        return f"{self.message}; {self.hint}"

    def __reduce__(self) -> tuple[Callable[..., FrazilError], tuple[Any, ...], dict[str, Any]]:
        """Pickle by message, context and hint, whatever the built-in base makes of its arguments."""
        return _rebuild, (type(self), self.message, self.context, self.hint), self.__dict__


def _rebuild(cls: type[FrazilError], message: str, context: dict[str, str], hint: str | None) -> FrazilError:
    return cls(message, context=context, hint=hint)


class InvalidArgumentError(FrazilError, ValueError):
    """An argument, option, filter or configuration value that cannot be meant."""


class NotFoundError(FrazilError, LookupError):
    """Something asked for by name does not exist."""


class NoSuchTableError(NotFoundError):
    """There is no table at a location or under a name."""


class NoSuchNamespaceError(NotFoundError):
    """There is no such namespace in a catalog."""


class NoSuchSnapshotError(NotFoundError):
    """There is no such snapshot, branch or tag."""


class AlreadyExistsError(FrazilError):
    """Something to be created exists already."""


class CorruptDataError(FrazilError):
    """Bytes that do not decode, or contradict what was recorded of them."""


class CorruptMetadataError(CorruptDataError):
    """Table metadata, a schema or a snapshot that contradicts its specification."""


class CorruptManifestError(CorruptDataError):
    """A manifest list or manifest that contradicts its specification."""


class CorruptDataFileError(CorruptDataError):
    """A data file that cannot be decoded or is not the file that was recorded."""


class CorruptDeletesError(CorruptDataError):
    """A delete file or deletion vector that cannot be decoded. Reading on would bring deleted rows back."""


class UnsupportedError(FrazilError, NotImplementedError):
    """A feature, version or option that frazil knows to exist and does not support."""


class MissingFileError(FrazilError, FileNotFoundError):
    """A file that metadata names is not there."""

    def __init__(self, message: str, *, context: Mapping[str, str] | None = None, hint: str | None = None) -> None:
        """Fill in what users of ``FileNotFoundError`` look at."""
        super().__init__(message, context=context, hint=hint)
        self.errno = errno.ENOENT
        self.filename = self.context.get("file")


class PathNotAllowedError(MissingFileError):
    """A path in metadata leads out of the places that the table may read: for this table there is no such file.

    If it may read there, pass the place as ``allowed_locations`` to ``frazil.load_table`` or ``frazil.load_catalog``.
    """


class LimitExceededError(FrazilError, MemoryError):
    """More memory, length or depth than allowed; ``frazil.config.memory_limit`` is the limit on memory."""


class CommitError(FrazilError):
    """A commit did not happen as asked for; the subclasses say what is known."""


class CommitConflictError(CommitError):
    """Another writer won, and the operation cannot be rebased on its result."""


class CommitStateUnknownError(CommitError):
    """The outcome is not known: the commit may have happened. Nothing was deleted."""


class CommitValidationError(CommitError):
    """The commit would break what the operation promised."""


class CatalogError(FrazilError):
    """A catalog or a store refused or failed; the subclasses say how."""


class UnauthorizedError(CatalogError):
    """Credentials are missing or not accepted."""


class ForbiddenError(CatalogError):
    """Credentials are accepted and do not suffice."""


class UnavailableError(CatalogError):
    """The service cannot answer now; trying again later may help."""


class StorageError(FrazilError, OSError):
    """The storage failed in a way that no other class names."""


class CancelledError(FrazilError):
    """The caller asked to stop."""


class InternalError(FrazilError):
    """A bug in frazil: please report it with the whole text."""
