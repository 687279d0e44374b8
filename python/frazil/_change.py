"""The base class of the change builders."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

Commit: TypeAlias = "Callable[[dict[str, Any]], None]"


class Change:
    """Operations that are collected and applied together by `commit` or at the end of a `with` block.

    If the block raises, nothing is changed. After a commit the builder is empty, and committing again does nothing. A
    failed commit can be retried.
    """

    _update: ClassVar[str]
    _operations: list[dict[str, Any]] = []  # noqa: RUF012 - for builders whose creation failed

    def __init__(self, commit: Commit, **options: Any) -> None:
        """Not for direct use; use the methods of a table or a transaction."""
        self._commit = commit
        self._options = options
        self._operations = []
        self._is_abandoned = False

    def commit(self) -> None:
        """Commit the changes and update the table to the new state.

        Raises:
            InvalidArgumentError: The table does not allow an operation; nothing is changed.
            CommitConflictError: Concurrent commits won in every attempt.
            CommitStateUnknownError: The outcome of the commit is unknown.
        """
        operations, self._operations = self._operations, []
        if not operations:
            return
        try:
            self._commit({"update": self._update, **self._options, "operations": operations})
        except BaseException:
            self._operations = operations
            self._is_abandoned = True
            raise

    def _then(self, operation: str, **arguments: Any) -> Self:
        self._operations.append({"operation": operation, **arguments})
        return self

    def __enter__(self) -> Self:
        """Return the builder, to collect operations."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Commit unless the block raised."""
        if kind is None:
            self.commit()
        else:
            self._is_abandoned = True

    def __del__(self) -> None:
        """Warn of operations that were collected but never committed."""
        if self._operations and not self._is_abandoned:
            count = f"{len(self._operations)} operation{'s' if len(self._operations) > 1 else ''}"
            message = f"{count} of {type(self).__name__} not committed; call commit(), or use a `with` block"
            warnings.warn(message, ResourceWarning, source=self, stacklevel=2)
