"""The methods of a Paimon table that write its files again in another form."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from frazil._arguments import whole_number
from frazil._boundary import operation_of
from frazil._write_result import WriteResult
from frazil.errors import InvalidArgumentError
from frazil.paimon._retention import expire_after_commit
from frazil.paimon._row_verbs import RowVerbs
from frazil.paimon._schema_verbs import SchemaVerbs
from frazil.paimon._writing import commit_options, replaced_partitions, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["FileVerbs"]


class FileVerbs(RowVerbs, SchemaVerbs):
    """Methods that keep the rows, and change the number of buckets or manifests."""

    @operation_of
    def compact_manifests(self) -> WriteResult:
        """Merge small manifests, and those that list removed files, in a separate snapshot; the rows do not change.

        Commits merge manifests by the options `manifest.merge-min-count` and `manifest.full-compaction-threshold-size`.

        Returns:
            The result. `snapshot_id` is None if no manifests can be merged.

        Raises:
            CommitConflictError: As in `append`.
            CommitStateUnknownError: As in `append`.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
        >>> for number in range(3):
        ...     _ = table.append([{"id": number}])
        >>> table.compact_manifests().snapshot_id, table.inspect.manifests().num_rows
        (4, 1)
        """
        self._check_not_view()
        state = state_of(self, self._lock()).refreshed()
        began = time.perf_counter()
        done = state.begin_commit(self._commit_options(None, None, None, None)).compact_manifests()
        self._native = state.native
        if not done.snapshot_ids:
            return WriteResult(None)
        expire_after_commit(self, self._native, self._files, self.options, done.snapshot_ids[-1])
        return WriteResult(done.snapshot_ids[-1], attempts=done.attempts, seconds=time.perf_counter() - began)

    @operation_of
    def rescale(
        self, buckets: int | None = None, *, partitions: Sequence[Mapping[str, Any]] | None = None
    ) -> WriteResult:
        """Write the rows of partitions again, with another number of buckets, in one snapshot.

        Rows cannot be added to a partition with another number of buckets than the table. Concurrent writes of rows are
        conflicts.

        Args:
            buckets: The number of buckets, which also becomes that of the table (`bucket`); by default, that of the
                table.
            partitions: The partitions to write again, as in `overwrite`; None for all. Partitions that have this number
                of buckets are not written.

        Returns:
            The added and removed files. `snapshot_id` is None if all partitions have this number of buckets.

        Raises:
            InvalidArgumentError: The number of buckets of the table is not fixed, or is not positive.
            UnsupportedError: As in `overwrite`.
            CommitConflictError: A concurrent writer changed rows.
            CommitStateUnknownError: As in `append`.

        >>> import frazil, tempfile
        >>> options = {"bucket": 1}
        >>> table = frazil.create_table(
        ...     tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon", primary_keys=["id"], options=options
        ... )
        >>> _ = table.append([{"id": number} for number in range(9)])
        >>> table.rescale(2).added_files, table.options["bucket"]
        (2, '2')
        """
        from frazil.paimon._rescale import Rescale

        self._check_not_view()
        wanted = replaced_partitions(partitions)
        of_table = self.options.get("bucket", "-1")
        if int(of_table) < 1:
            message = f"the table has the option `bucket` = {of_table}, so the number of its buckets is not fixed"
            hint = "compact() reduces the number of files; dynamic and postponed buckets need no rescaling"
            raise InvalidArgumentError(message, context={"table": self.location}, hint=hint)
        number = int(of_table) if buckets is None else whole_number("buckets", buckets)
        if number < 1:
            message = f"buckets must be at least 1, not {number}"
            raise InvalidArgumentError(message, context={"table": self.location})
        if number != int(of_table):
            self.set_properties({"bucket": str(number)})
        return self._run(Rescale(options=commit_options(self, None), buckets=number, partitions=wanted))
