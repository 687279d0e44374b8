"""How a table was opened, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil._arguments import locations, relocations, storage_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from frazil._credentials import Credentials


def opened_with(
    relocate: Mapping[str, str],
    storage: Mapping[str, str],
    allowed_locations: Iterable[str],
    credentials: Credentials | None = None,
) -> dict[str, Any]:
    """Return the arguments that a table was opened with, as its pickle holds them."""
    options = {"relocate": dict(relocate), "storage": dict(storage), "allowed_locations": list(allowed_locations)}
    return options if credentials is None else {**options, "credentials": credentials}


def storage_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the storage properties of a table with these options, with credentials that are valid now."""
    credentials = options.get("credentials")
    return {**options["storage"], **({} if credentials is None else credentials.current()[0])}


def opening(
    relocate: Mapping[str, str] | None, storage: Mapping[str, str] | None, allowed_locations: Iterable[str] | None
) -> dict[str, Any]:
    """Return the same of what a user gives, checked."""
    return opened_with(relocations(relocate), storage_options(storage), locations(allowed_locations))


class Opened:
    """A table that remembers how it was opened."""

    _options: dict[str, Any]

    @property
    def relocations(self) -> dict[str, str]:
        """Recorded prefixes to where the files lie now, as the table was opened with them."""
        return dict(self._options["relocate"])

    @property
    def allowed_locations(self) -> list[str]:
        """The locations besides its own that this handle may access."""
        return list(self._options["allowed_locations"])

    @property
    def storage_properties(self) -> dict[str, str]:
        """The options of the storage, and credentials that the catalog of the table gives; they may be secret."""
        return storage_of(self._options)
