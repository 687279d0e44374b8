"""The methods of Iceberg tables that Paimon tables do not support yet."""

from __future__ import annotations

from typing import Any, NoReturn

from frazil.errors import UnsupportedError


class UnsupportedMethods:
    """The methods that change an Iceberg table and are not supported for Paimon yet."""

    location: str

    def transaction(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        self._refuse("transaction")

    def update_statistics(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        self._refuse("update_statistics")

    def update_spec(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `UnsupportedError`."""
        self._refuse("update_spec")

    def update_sort_order(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `UnsupportedError`."""
        self._refuse("update_sort_order")

    def update_location(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `UnsupportedError`."""
        self._refuse("update_location")

    def upgrade(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `UnsupportedError`."""
        self._refuse("upgrade")

    def rewrite_data_files(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `UnsupportedError`."""
        self._refuse("rewrite_data_files", hint="call compact")

    def _refuse(self, method: str, *, hint: str = "use Paimon's own connectors") -> NoReturn:
        message = (
            f"{method} is not supported for Paimon tables yet; frazil reads them, changes their rows and compacts them"
        )
        raise UnsupportedError(message, context={"table": self.location}, hint=hint)
