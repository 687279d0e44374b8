"""The methods that change the schema of a Paimon table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from frazil._arguments import property_texts
from frazil._boundary import operation
from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frazil._native import PaimonTable
    from frazil.paimon._state import Lock
    from frazil.paimon._update_schema import UpdateSchema
    from frazil.paimon._views import View

__all__ = ["SchemaVerbs"]


class SchemaVerbs:
    """Methods that change columns and options, with one new schema per commit.

    The handle is updated to the new schema. The builder is imported on first use.
    """

    location: str
    _native: PaimonTable
    _view: View

    def update_schema(self) -> UpdateSchema:
        """Change the columns: `with table.update_schema() as update: update.add_column("a", "BIGINT")`."""
        from frazil.paimon._update_schema import UpdateSchema

        return UpdateSchema(self._alter)

    def set_properties(self, properties: Mapping[str, object] | None = None, **more: object) -> None:
        """Set table options and keep all others. A name that is probably misspelt emits a `UserWarning`.

        Raises:
            InvalidArgumentError: An option does not accept the value, or cannot change because the table has
                snapshots; nothing is changed.
            UnsupportedError: frazil cannot write tables with the option.
            CommitStateUnknownError: The outcome of the commit is unknown.
        """
        update = self.update_schema()
        for name, value in (property_texts(properties) | property_texts(more)).items():
            update.set_option(name, value)
        update.commit()

    def remove_properties(self, *names: str) -> None:
        """Remove table options. Removing an option that is not set is not an error.

        Raises:
            InvalidArgumentError: A name is not a string, or the option cannot change; nothing is changed.
            CommitStateUnknownError: The outcome of the commit is unknown.
        """
        update = self.update_schema()
        for name in names:
            update.remove_option(name)
        update.commit()

    def _alter(self, change: dict[str, Any]) -> None:
        """Publish a schema with changes, which are given in their wire form, and update the handle to it."""
        if self._view != "rows":
            message = f"the view {self._view!r} of a table is read-only"
            raise UnsupportedError(message, context={"table": self.location}, hint="alter the table itself")
        with operation("commit", lambda: self.location):
            self._native = self._native.alter(json.dumps(change["operations"]), self._lock())

    def _lock(self) -> Lock | None:
        """Return the lock for publishing a schema; None if no lock is needed."""
        raise NotImplementedError
