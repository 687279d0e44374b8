"""Compaction of data files."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil._boundary import operation
from frazil._maintenance_plan import MaintenancePlan
from frazil.errors import FrazilError, InvalidArgumentError
from frazil.iceberg.operations.values import Filter, SnapshotOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from frazil import _native
    from frazil._write_result import WriteResult
    from frazil.iceberg._state import TableState
    from frazil.iceberg.operations.rewrite import GroupPlan, Rewrite, RewriteRules, Rewriting

__all__ = ["RewriteDataFiles", "RewriteOptions", "RewriteResult"]

_MIN_SHARE, _MAX_SHARE = 0.75, 1.8
_TARGET = "write.target-file-size-bytes"
_NO_THRESHOLD = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteOptions:
    """The options of `Table.rewrite_data_files`."""

    filter: Filter = field(default_factory=Filter)
    target_file_size_bytes: int | None = None
    min_file_size_bytes: int | None = None
    max_file_size_bytes: int | None = None
    min_input_files: int = 5
    delete_file_threshold: int | None = None
    delete_ratio_threshold: float = 0.3
    max_file_group_size_bytes: int = 100 << 30
    rewrite_all: bool = False
    max_commits: int = 1
    snapshot: SnapshotOptions = field(default_factory=SnapshotOptions)

    def __post_init__(self) -> None:
        """Validate the numbers that do not depend on the table.

        Raises:
            InvalidArgumentError: A number is less than 1.
        """
        for name in ("min_input_files", "delete_file_threshold", "max_file_group_size_bytes", "max_commits"):
            value = getattr(self, name)
            if value is not None and value < 1:
                message = f"{name} is {value}, expected at least 1"
                raise InvalidArgumentError(message)

    def rules(self, properties: Mapping[str, str]) -> RewriteRules:
        """Return the rules for selecting files, from the options and a table's properties.

        Raises:
            InvalidArgumentError: The sizes do not increase from `min` to `target` to `max`.
        """
        from frazil.iceberg._writer_options import Properties
        from frazil.iceberg.operations.rewrite import RewriteRules

        target = self.target_file_size_bytes
        target = Properties(properties).number(_TARGET) if target is None else target
        least, most = self.min_file_size_bytes, self.max_file_size_bytes
        rules = RewriteRules(
            target_file_bytes=target,
            min_file_bytes=int(target * _MIN_SHARE) if least is None else least,
            max_file_bytes=int(target * _MAX_SHARE) if most is None else most,
            min_input_files=self.min_input_files,
            delete_file_threshold=_NO_THRESHOLD if self.delete_file_threshold is None else self.delete_file_threshold,
            delete_ratio_threshold=self.delete_ratio_threshold,
            max_group_bytes=self.max_file_group_size_bytes,
            rewrite_all=self.rewrite_all,
        )
        if not 0 <= rules.min_file_bytes < rules.target_file_bytes < rules.max_file_bytes:
            message = (
                f"the sizes are min_file_size_bytes={rules.min_file_bytes}, target_file_size_bytes="
                f"{rules.target_file_bytes} and max_file_size_bytes={rules.max_file_bytes}, expected "
                "min < target < max"
            )
            hint = "otherwise every new file would be rewritten again"
            raise InvalidArgumentError(message, hint=hint)
        return rules


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteResult:
    """The result of a compaction."""

    snapshot_ids: tuple[int, ...] = ()
    """The new snapshots."""
    rewritten_files: int = 0
    """The number of data files that were removed."""
    rewritten_bytes: int = 0
    """The total size of the removed data files in bytes."""
    added_files: int = 0
    """The number of new data files."""
    added_bytes: int = 0
    """The total size of the new data files in bytes."""
    removed_delete_files: int = 0
    """The number of delete files and deletion vectors that were removed."""
    refused_groups: int = 0
    """The number of groups that were skipped because concurrent commits changed their files."""
    refused_files: int = 0
    """The number of data files in the skipped groups."""
    failed_groups: int = 0
    """The number of groups that were not committed because of an error, if there are several commits."""
    failed_files: int = 0
    """The number of data files in the groups that failed."""
    failures: tuple[FrazilError, ...] = ()
    """The errors, one for each failed commit."""
    seconds: float = 0.0


class RewriteDataFiles(MaintenancePlan["GroupPlan"]):
    """A compaction plan. Nothing is changed until `apply` is called, which can be done once.

    The plan is made for the latest table state when `groups`, `input_files`, `input_bytes` or `output_files` is first
    read.

    >>> import frazil, tempfile
    >>> table = frazil.create_table(tempfile.mkdtemp() + "/t", {"id": "long"})
    >>> for number in range(5):
    ...     _ = table.append([{"id": number}])
    >>> plan = table.rewrite_data_files()
    >>> plan.input_files, plan.output_files
    (5, 1)
    >>> result = plan.apply()
    >>> result.rewritten_files, result.added_files, sorted(table.scan().to_arrow()["id"].to_pylist())
    (5, 1, [0, 1, 2, 3, 4])
    """

    _method = "rewrite_data_files"

    def __init__(
        self,
        newest: Callable[[], TableState],
        run: Callable[[Rewrite, Rewriting], WriteResult],
        place: Callable[[], str],
        options: RewriteOptions,
    ) -> None:
        """Not for direct use; use `Table.rewrite_data_files`."""
        super().__init__(place)
        self._newest, self._run, self._options = newest, run, options

    @property
    def groups(self) -> pa.Table:
        """The file groups, each with files of one partition or of an earlier partition spec."""
        import pyarrow as pa

        plan = self._plan()
        rows = [
            {
                "partition": _partition(plan, group),
                "input_files": len(group.places),
                "input_bytes": group.input_bytes,
                "delete_files": group.delete_files,
                "output_files": group.output_files,
            }
            for group in plan.groups
        ]
        schema = pa.schema([("partition", pa.string()), *((name, pa.int64()) for name in _COUNTS)])
        return pa.Table.from_pylist(rows, schema=schema)

    @property
    def input_files(self) -> int:
        """The number of data files to rewrite."""
        return sum(len(group.places) for group in self._plan().groups)

    @property
    def input_bytes(self) -> int:
        """The total size in bytes of the data files to rewrite."""
        return sum(group.input_bytes for group in self._plan().groups)

    @property
    def output_files(self) -> int:
        """The approximate number of new data files."""
        return sum(group.output_files for group in self._plan().groups)

    def apply(self) -> RewriteResult:
        """Write the new files and replace the old ones in up to `max_commits` commits.

        A group whose files were changed by a concurrent commit is skipped; the other groups are committed. If one of
        several commits fails, the other commits are still made: the result counts the failures, and a `RuntimeWarning`
        is emitted. If all commits fail, the first error is raised.

        Raises:
            CommitConflictError: Concurrent commits won more often than `commit.retry.num-retries` allows; the new files
                are deleted.
            CommitStateUnknownError: The outcome of the commit is unknown; nothing was deleted.
            CorruptDataFileError: A data file cannot be read.
            InvalidArgumentError: The plan was already applied.
        """
        began = time.perf_counter()
        plan = self._take()
        done = _Done()
        for groups in _parts(plan.groups, self._options.max_commits):
            self._apply_part(plan, groups, done)
        if done.failures and not done.snapshot_ids:
            raise done.failures[0]
        if done.failures:
            message = (
                f"rewrite_data_files of {self._place()}: {len(done.failures)} commits failed and "
                f"{len(done.snapshot_ids)} succeeded; the first error: {done.failures[0]}"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return done.result(time.perf_counter() - began)

    def _apply_part(self, plan: GroupPlan, groups: list[_native.FileGroup], done: _Done) -> None:
        from frazil.iceberg.operations.rewrite import Rewrite, Rewriting

        rewriting = Rewriting(plan, groups, done.removed)
        try:
            with operation(self._method, self._place):
                written = self._run(Rewrite(options=self._options.snapshot), rewriting)
        except FrazilError as error:
            done.fail(groups, error)
        else:
            done.add(rewriting, written)

    def _make(self) -> GroupPlan:
        from frazil.iceberg.operations.rewrite import GroupPlan

        state = self._newest()
        rules = self._options.rules(state.properties)
        return GroupPlan(state, self._options.snapshot.branch, self._options.filter, rules)

    def _summary(self, plan: GroupPlan) -> str:
        return (
            f"{self.input_files} files in {len(plan.groups)} groups, {self.input_bytes} bytes -> "
            f"{self.output_files} files"
        )


class _Done:
    """The accumulated results of a compaction's commits."""

    def __init__(self) -> None:
        self.snapshot_ids: list[int] = []
        self.failures: list[FrazilError] = []
        self.removed: list[int] = []
        """The positions of the data files that were replaced."""
        self._totals: Counter[str] = Counter()

    def add(self, rewriting: Rewriting, written: WriteResult) -> None:
        """Record a successful commit."""
        if written.snapshot_id is not None:
            self.snapshot_ids.append(written.snapshot_id)
        self.removed += _places(rewriting.groups)
        self._totals.update(
            rewritten_files=written.removed_files,
            rewritten_bytes=sum(group.input_bytes for group in rewriting.groups),
            added_files=written.added_files,
            added_bytes=written.added_bytes,
            removed_delete_files=written.removed_delete_files,
            refused_groups=len(rewriting.refused),
            refused_files=len(_places(rewriting.refused)),
        )

    def fail(self, groups: list[_native.FileGroup], error: FrazilError) -> None:
        """Record a failed commit and its groups."""
        self.failures.append(error)
        self._totals.update(failed_groups=len(groups), failed_files=len(_places(groups)))

    def result(self, seconds: float) -> RewriteResult:
        """Return the accumulated result."""
        return RewriteResult(
            snapshot_ids=tuple(self.snapshot_ids), failures=tuple(self.failures), seconds=seconds, **self._totals
        )


def _places(groups: Iterable[_native.FileGroup]) -> list[int]:
    return [place for group in groups for place in group.places]


_COUNTS = ("input_files", "input_bytes", "delete_files", "output_files")


def _partition(plan: GroupPlan, group: _native.FileGroup) -> str | None:
    """Return the partition of a group as a string; None if its files have an earlier partition spec."""
    if group.changes_spec:
        return None
    values = plan.planned.task(group.places[0]).partition
    return "/".join(f"{name}={'null' if value is None else value}" for name, value in values)


def _parts(groups: list[_native.FileGroup], count: int) -> Iterator[list[_native.FileGroup]]:
    """Divide groups into up to `count` parts of about equal size."""
    size = -(-len(groups) // count) if groups else 1
    return (groups[start : start + size] for start in range(0, len(groups), size))
