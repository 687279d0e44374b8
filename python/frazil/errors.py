"""All errors that frazil raises, as one hierarchy of classes.

All errors are subclasses of :class:`FrazilError`. Many are also built-in errors, so that ``except FileNotFoundError``
or ``except ValueError`` works. The message states what failed, where, and what to do. ``context`` maps names (``file``,
``table``, ``snapshot``, ``column``, ``offset``) to locations, and ``hint`` suggests a remedy. Errors never contain
secrets, and they can be pickled, as Spark and multiprocessing require.

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
    """The base class of all frazil errors.

    ``message`` states what failed, ``context`` where (innermost location first), and ``hint`` what to do, or is
    ``None``. The text of the error ends with the hint.

    >>> error = InvalidArgumentError("the limit is negative", context={"option": "limit"}, hint="leave it out")
    >>> str(error), error.context, error.hint
    ('the limit is negative; leave it out', {'option': 'limit'}, 'leave it out')
    """

    message: str
    context: dict[str, str]
    hint: str | None

    def __init__(self, message: str, *, context: Mapping[str, str] | None = None, hint: str | None = None) -> None:
        """Keep the message, the context and the hint."""
        self.message = without_secrets(message)
        super().__init__(self.message)
        self.context = {name: without_secrets(place) for name, place in (context or {}).items()}
        self.hint = None if hint is None else without_secrets(hint)

    @property
    def kind(self) -> str:
        """The name of the class, which frazil's documentation uses as the error kind.

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
        """Pickle the message, context and hint, independent of the arguments that the built-in base class expects."""
        return _rebuild, (type(self), self.message, self.context, self.hint), self.__dict__


def _rebuild(cls: type[FrazilError], message: str, context: dict[str, str], hint: str | None) -> FrazilError:
    return cls(message, context=context, hint=hint)


class InvalidArgumentError(FrazilError, ValueError):
    """An argument, option, filter or configuration value is invalid."""


class NotFoundError(FrazilError, LookupError):
    """A named object does not exist."""


class NoSuchTableError(NotFoundError):
    """A location or a name does not refer to a table."""


class NoSuchNamespaceError(NotFoundError):
    """A namespace does not exist in a catalog."""


class NoSuchSnapshotError(NotFoundError):
    """A snapshot, branch or tag does not exist."""


class AlreadyExistsError(FrazilError):
    """An object to be created already exists."""


class CorruptDataError(FrazilError):
    """Bytes cannot be decoded, or contradict what metadata records about them."""


class CorruptMetadataError(CorruptDataError):
    """Table metadata, a schema or a snapshot violates the specification."""


class CorruptManifestError(CorruptDataError):
    """A manifest list or manifest violates the specification."""


class CorruptDataFileError(CorruptDataError):
    """A data file cannot be decoded, or is not the recorded file."""


class CorruptDeletesError(CorruptDataError):
    """A delete file or deletion vector cannot be decoded. Ignoring it would restore deleted rows."""


class UnsupportedError(FrazilError, NotImplementedError):
    """A feature, version or option is known to frazil but not supported."""


class MissingFileError(FrazilError, FileNotFoundError):
    """A file that metadata references does not exist."""

    def __init__(self, message: str, *, context: Mapping[str, str] | None = None, hint: str | None = None) -> None:
        """Set the attributes that users of ``FileNotFoundError`` expect."""
        super().__init__(message, context=context, hint=hint)
        self.errno = errno.ENOENT
        self.filename = self.context.get("file")


class PathNotAllowedError(MissingFileError):
    """A path in metadata is outside the locations that the table may access. The table treats the file as missing.

    To allow access, pass the location as ``allowed_locations`` to ``frazil.load_table`` or ``frazil.load_catalog``.
    """


class LimitExceededError(FrazilError, MemoryError):
    """More memory, length or depth is needed than allowed; ``frazil.config.memory_limit`` limits the memory."""


class CommitError(FrazilError):
    """A commit did not succeed as requested; the subclasses state the outcome."""


class CommitConflictError(CommitError):
    """A concurrent commit won, and the operation cannot be rebased on its result."""


class CommitStateUnknownError(CommitError):
    """The outcome of a commit is unknown: it may have succeeded. Nothing was deleted."""


class CommitValidationError(CommitError):
    """The commit would violate a guarantee of the operation."""


class CatalogError(FrazilError):
    """A catalog or a store rejected a request or failed; the subclasses state how."""


class UnauthorizedError(CatalogError):
    """Credentials are missing or were rejected."""


class ForbiddenError(CatalogError):
    """Credentials are valid but lack a permission."""


class UnavailableError(CatalogError):
    """The service is currently unavailable; a later attempt may succeed."""


class StorageError(FrazilError, OSError):
    """A storage error that is not covered by a more specific class."""


class CancelledError(FrazilError):
    """The caller requested cancellation."""


class InternalError(FrazilError):
    """A bug in frazil; please report it with the full message."""
