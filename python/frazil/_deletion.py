"""Plans for deleting files, which users can inspect before the deletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.config import config
from frazil.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from frazil import _native
    from frazil.errors import FrazilError

__all__ = ["DeletionPlan"]

_CHUNK = 1024
"""The number of files that are deleted by one call: referenced files are gone before later ones are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPlan:
    """The files to delete. `batch` has a row for each file: `kind`, `location`, `size_bytes`."""

    batch: pa.RecordBatch
    files: _native.Files

    def __len__(self) -> int:
        """Return the number of files."""
        return int(self.batch.num_rows)

    @property
    def size_bytes(self) -> int:
        """The total size of all files in bytes."""
        return sum(size for _, size in self.by_kind().values())

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Return the number and total bytes of files by type."""
        import pyarrow as pa

        grouped = (
            pa.Table.from_batches([self.batch]).group_by("kind").aggregate([([], "count_all"), ("size_bytes", "sum")])
        )
        rows = grouped.to_pylist()
        return {row["kind"]: (row["count_all"], row["size_bytes_sum"]) for row in rows}

    def of_kind(self, kind: str) -> list[str]:
        """Return the locations of the files of one type."""
        import pyarrow.compute as pc

        chosen: list[str] = self.batch.filter(pc.equal(self.batch["kind"], kind))["location"].to_pylist()
        return chosen

    def delete_files(self, done: str, context: Mapping[str, str], *, keep: frozenset[str] = frozenset()) -> None:
        """Delete the files in order, except those to `keep`; referenced files precede the files that reference them.

        Args:
            done: The changes already made, for the error message: `the table was dropped`.
            context: The context to attach to the error, such as the table.
            keep: The locations of files that are not deleted.

        Raises:
            StorageError: Some files could not be deleted; the other files were deleted.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        failures: list[tuple[str, FrazilError]] = []
        locations = self.batch["location"]
        if keep:
            locations = locations.filter(pc.invert(pc.is_in(locations, pa.array(keep, pa.string()))))
        for start in range(0, len(locations), _CHUNK):
            chunk = locations[start : start + _CHUNK]
            failed = self.files.delete_all(chunk, config.max_workers)
            failures.extend((chunk[index].as_py(), error) for index, error in failed)
        if failures:
            location, error = failures[0]
            message = (
                f"{done}, but {len(failures)} of {len(self)} files could not be deleted, such as {location}: {error}"
            )
            raise StorageError(message, context={**context, "file": location}) from error
