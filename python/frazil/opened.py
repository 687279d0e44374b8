"""How a table was opened, whatever its format."""

from __future__ import annotations

from typing import Any


class Opened:
    """A table that remembers how it was opened."""

    _options: dict[str, Any]

    @property
    def relocations(self) -> dict[str, str]:
        """Recorded prefixes to where the files lie now, as the table was opened with them."""
        return dict(self._options["relocate"])

    @property
    def storage_properties(self) -> dict[str, str]:
        """The options of the storage that the table was opened with; they may be secret."""
        return dict(self._options["properties"])
