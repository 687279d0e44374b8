"""The methods of a Paimon table that change its files, but not its rows one by one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from frazil import _native
from frazil._arguments import field_names, whole_number
from frazil._boundary import operation_of
from frazil._write_result import WriteResult
from frazil.errors import InvalidArgumentError
from frazil.paimon._retention import expire_after_commit
from frazil.paimon._row_verbs import RowVerbs
from frazil.paimon._schema_verbs import SchemaVerbs
from frazil.paimon._writing import commit_options, replaced_partitions, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from frazil.paimon._expire import ExpireResult

__all__ = ["FileVerbs"]

_MAX_SNAPSHOTS = 2**31 - 1


class FileVerbs(RowVerbs, SchemaVerbs):
    """Methods for manifests, buckets, partitions and all files."""

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
    def analyze(self, columns: Sequence[str] | None = None) -> WriteResult:
        """Compute statistics of the table and its columns, and record them in a separate snapshot for query planners.

        The number of distinct values is an estimate, typically within 1 %. Later snapshots keep the statistics, until
        the schema changes.

        Args:
            columns: The columns to analyze; None for all columns that are not nested. Without columns, only the number
                and the size of the rows are recorded.

        Returns:
            The result. `snapshot_id` is None if the table has no snapshot.

        Raises:
            InvalidArgumentError: A column does not exist.
            UnsupportedError: A column has a nested type.
            CommitConflictError: As in `append`; or the table was altered while it was analyzed.
            CommitStateUnknownError: As in `append`.

        >>> import frazil, json, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
        >>> _ = table.append([{"id": number % 3} for number in range(9)])
        >>> table.analyze().snapshot_id
        2
        >>> found = table.inspect.statistics().to_pylist()[0]
        >>> found["mergedRecordCount"], json.loads(found["colstat"])["id"]["distinctCount"]
        (9, 3)
        """
        from frazil.paimon._scan import Scan, scan_arguments

        self._check_not_view()
        state = state_of(self, self._lock()).refreshed()
        began = time.perf_counter()
        analysis = _native.PaimonAnalysis(state.native, columns if columns is None else field_names(columns, "columns"))
        scan = Scan(state.native, scan_arguments("", columns=analysis.columns))
        if scan.snapshot_id is None:
            return WriteResult(None)
        rows = 0 if analysis.columns else scan.count()
        for batch in scan.to_arrow_batch_reader() if analysis.columns else ():
            analysis.add(batch)
            rows += batch.num_rows
        statistics = analysis.finish(scan.snapshot_id, rows)
        done = state.begin_commit(self._commit_options(None, None, None, None)).record_statistics(*statistics)
        self._native = state.native
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

    @operation_of
    def mark_partition_done(self, partitions: Sequence[Mapping[str, Any]]) -> None:
        """Write a file `_SUCCESS` into the folders of partitions, which tells other jobs that their rows are complete.

        Args:
            partitions: A value for each partition column, for each partition. A partition may have no rows.

        Raises:
            InvalidArgumentError: A partition column is missing or unknown, or has a value of another type.
            UnsupportedError: The option `partition.mark-done-action` is not `success-file`.

        >>> import frazil, tempfile
        >>> columns = {"id": "BIGINT", "day": "STRING"}
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", columns, format="paimon", partition_keys=["day"])
        >>> table.mark_partition_done([{"day": "2024-02-29"}])
        """
        self._check_not_view()
        self._native.mark_partitions_done(replaced_partitions(partitions) or [])

    @operation_of
    def purge_files(self) -> ExpireResult:
        """Delete all rows, branches, tags and consumers, all snapshots but a new one, and the files that they need.

        The schema and the options stay. Stop all readers and writers of the table before. Orphan files are deleted by
        `remove_orphan_files`.

        Returns:
            The snapshots and files that expired. Files of branches and tags are not counted.

        Raises:
            InvalidArgumentError: The table is a branch.
            CommitConflictError: As in `truncate`.

        >>> import frazil, tempfile
        >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "BIGINT"}, format="paimon")
        >>> _ = table.append([{"id": 1}])
        >>> table.purge_files().deleted_files["data"], table.scan().count()
        (1, 0)
        """
        table: Any = self  # with the other methods of a table
        self._check_not_view()
        if table.branch != "main":
            message = f"{self.location}: the files of all branches are purged together"
            raise InvalidArgumentError(message, hint="load the table without a branch; remove_branch deletes a branch")
        changes = table.manage_snapshots()
        for name in table.branches():
            changes.remove_branch(name)
        for name in table.tags():
            changes.remove_tag(name)
        for name in table.inspect.consumers().column("consumer_id").to_pylist():
            changes.remove_consumer(name)
        changes.commit()
        table.truncate()
        plan = table.expire_snapshots(retain_max=1, retain_min=1, max_deletes=_MAX_SNAPSHOTS)
        result: ExpireResult = plan.apply()
        return result
