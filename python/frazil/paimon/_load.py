"""Opens a Paimon table by its location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._arguments import path_text
from frazil._opened import opening
from frazil.paimon._table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


def load_table(
    location: str | os.PathLike[str],
    *,
    relocate: Mapping[str, str] | None = None,
    storage: Mapping[str, str] | None = None,
    allowed_locations: Sequence[str] = (),
) -> Table:
    """Open the Paimon table in a folder.

    This is `frazil.load_table` for one format, so that type checkers know the table type. Arguments and errors are the
    same. `load_table(location).inspect` provides the system tables.

    >>> import frazil
    >>> frazil.paimon.load_table("tests/golden/paimon/g.db/cl_lookup_avro").primary_keys
    ['k']
    """
    return Table.open(path_text("location", location), **opening(relocate, storage, allowed_locations))
