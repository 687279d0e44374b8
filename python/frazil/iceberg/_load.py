"""Opens an Iceberg table by its location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil._arguments import path_text
from frazil._opened import opening
from frazil.iceberg._table import Table

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
    """Open the Iceberg table in a folder, or from one of its metadata files.

    This is `frazil.load_table` for one format, so that type checkers know the table type. Arguments and errors are the
    same. `load_table(location).inspect` provides the metadata tables.

    >>> import frazil
    >>> frazil.iceberg.load_table("tests/golden/iceberg/del_pos_file_parquet_part").format_version
    2
    """
    return Table.open(path_text("location", location), **opening(relocate, storage, allowed_locations))
