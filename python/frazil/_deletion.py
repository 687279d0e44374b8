"""Plans for deleting files, which users can inspect before the deletion."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.config import config
from frazil.errors import FrazilError, StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from frazil import _native

__all__ = ["DeletionPlan"]

_CHUNK = 1024
"""The number of files that are deleted per batch of locations read from the plan."""


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
                f"{done}, but {len(failures)} of {len(self)} files could not be deleted, such as {location}: {error}"
            )
            raise StorageError(message, context={**context, "file": location}) from error
