"""Deleting all files of a table, planned first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil.catalog._identifiers import dotted
from frazil.config import config
from frazil.errors import FrazilError, StorageError, UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.catalog._identifiers import Levels
    from frazil.iceberg._table import Table

_CHUNK = 1024
"""So many files are deleted before the next are taken out of the plan."""


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """What deleting a table deletes. `batch` has a row for each file: `kind`, `location`, `size_bytes`."""

    identifier: Levels
    metadata_location: str
    """The state that was planned, as the catalog calls it."""
    batch: pa.RecordBatch
    files: _native.Files

    @classmethod
    def of(cls, levels: Levels, table: Any) -> PurgePlan:
        """Plan the deletion of a table."""
        from frazil.iceberg._table import Table

        if not isinstance(table, Table):
            message = "this release deletes the files of Iceberg tables only"
            raise UnsupportedError(message, context={"table": dotted(levels)})
        native = table._native  # noqa: SLF001 - the two halves of one package
        batch = _native.owned_files(native, config.max_workers)
        return cls(levels, cls.state_of(table), batch, native.files)

    @staticmethod
    def state_of(table: Table) -> str:
        """Give the state that a table is at, as the catalog calls it."""
        return table._native.recorded_location  # noqa: SLF001

    def __len__(self) -> int:
        """Give the number of files."""
        return int(self.batch.num_rows)

    @property
    def size_bytes(self) -> int:
        """The bytes of all files."""
        return sum(size for _, size in self.by_kind().values())

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Give how many files and bytes there are of each kind."""
        import pyarrow as pa

        grouped = (
            pa.Table.from_batches([self.batch]).group_by("kind").aggregate([([], "count_all"), ("size_bytes", "sum")])
        )
        rows = grouped.to_pylist()
        return {row["kind"]: (row["count_all"], row["size_bytes_sum"]) for row in rows}

    def of_kind(self, kind: str) -> list[str]:
        """Give the locations of the files of a kind."""
        import pyarrow.compute as pc

        chosen: list[str] = self.batch.filter(pc.equal(self.batch["kind"], kind))["location"].to_pylist()
        return chosen

    def delete(self, *, keep: frozenset[str] = frozenset()) -> None:
        """Delete the files, but those to `keep`: what others name goes before what names them.

        Raises:
            StorageError: Some could not be deleted; the others are gone.
        """
        failures: list[tuple[str, FrazilError]] = []

        def delete(location: str) -> None:
            try:
                self.files.delete(location)
            except FrazilError as error:
                failures.append((location, error))

        with ThreadPoolExecutor(max_workers=config.max_workers, thread_name_prefix="frazil-delete") as pool:
            for start in range(0, len(self), _CHUNK):
                locations = self.batch["location"][start : start + _CHUNK].to_pylist()
                list(pool.map(delete, (location for location in locations if location not in keep)))
        if failures:
            location, error = failures[0]
            message = (
                f"the table is gone, but {len(failures)} of its {len(self)} files are left, such as {location}: {error}"
            )
            raise StorageError(message, context={"table": dotted(self.identifier), "file": location}) from error

    def __repr__(self) -> str:
        """Give what there is of each kind."""
        kinds = ", ".join(f"{count} {kind}" for kind, (count, _) in self.by_kind().items())
        return f"<frazil.catalog.PurgePlan {dotted(self.identifier)!r}: {kinds}; {self.size_bytes} bytes>"
