"""What the builders of changes share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from frazil._arguments import text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

Commit: TypeAlias = "Callable[[dict[str, Any]], None]"


def term(source_column_name: str, transform: Any) -> dict[str, str]:
    """Give a column with a transform; both are in one text where there is no transform."""
    column = text("source_column_name", source_column_name)
    return {"transform": column} if transform is None else {"column": column, "transform": str(transform)}


class Change:
    """Operations that are collected, and made together by `commit` or at the end of a `with` block.

    A block that raises changes nothing. After a commit the builder is empty: committing again does nothing. A commit
    that failed can be tried again.
    """

    _update: str

    def __init__(self, commit: Commit, **options: Any) -> None:
        """Use the methods of a table or a transaction instead."""
        self._commit = commit
        self._options = options
        self._operations: list[dict[str, Any]] = []

    def commit(self) -> None:
        """Make the changes; the table is at the new state then.

        Raises:
            InvalidArgumentError: An operation that the table does not allow; nothing is changed then.
            CommitConflictError: Other writers were first, more often than `commit.retry.num-retries` allows.
            CommitStateUnknownError: It is not known whether the change was made.
        """
        if self._operations:
            self._commit({"update": self._update, **self._options, "operations": self._operations})
            self._operations = []

    def _then(self, operation: str, **arguments: Any) -> Self:
        self._operations.append({"operation": operation, **arguments})
        return self

    def __enter__(self) -> Self:
        """Collect operations."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Commit, unless the block raised."""
        if kind is None:
            self.commit()
