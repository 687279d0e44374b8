"""The format-independent parts of scans: planning, execution part by part, and conversion of rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, TypeVar

from frazil._boundary import guarded, operation, operation_of
from frazil._narrowing import Narrowing
from frazil._output import Batches, Rows
from frazil._read_ahead import read_parts
from frazil.config import config
from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class NativePlan(Protocol):
    """The parts of a scan: files, or groups of files that are read together."""

    def __len__(self) -> int:
        """Return the number of parts."""

    def metrics(self) -> dict[str, int]:
        """Return the numbers of planned and pruned objects, such as manifests and files, by name."""

    def count(self) -> tuple[int, list[int]]:
        """Return the number of rows known from metadata, and the parts that must be read to count the rest."""

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Return groups of parts in serialized form."""


P = TypeVar("P", bound=NativePlan)
P_co = TypeVar("P_co", bound=NativePlan, covariant=True)
Part = TypeVar("Part")


class NativeScan(Protocol[P_co]):
    """A scan bound to a snapshot and a schema."""

    @property
    def snapshot_id(self) -> int | None:
        """The id of the snapshot."""

    @property
    def filter(self) -> str:
        """The filter as SQL."""

    def schema(self) -> pa.Schema:
        """Return the schema of the rows."""

    def plan(self, workers: int) -> P_co:
        """Plan the scan with up to `workers` threads."""


class Unpickled:
    """An object bound to a table state in this process, which therefore cannot be pickled."""

    _INSTEAD = "pickle the table, or the tasks returned by plan_files()"

    def __reduce__(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        message = f"a {type(self).__name__} cannot be pickled"
        raise UnsupportedError(message, hint=self._INSTEAD)


class Plan(Unpickled, Batches, Generic[P]):
    """The data files of a scan, as Arrow columns."""

    def __init__(self, native: P) -> None:
        """Not for direct use; use `Scan.plan`."""
        self._native = native

    def __len__(self) -> int:
        """Return the number of parts that can be read independently: data files or splits."""
        return len(self._native)

    @property
    def metrics(self) -> dict[str, int]:
        """The numbers of manifests, files and parts, and the numbers pruned for each reason."""
        return self._native.metrics()

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Return the parts in groups of about `target_bytes`, each as a serialized form that any process can read.

        Args:
            target_bytes: The maximum bytes of files in a group, unless a single part is larger.
            open_cost_bytes: The minimum size that each part counts as.
        """
        return self._native.groups(target_bytes, open_cost_bytes)

    @abstractmethod
    def explain(self) -> str:
        """Return a one-line summary of the planned and pruned files."""

    def __repr__(self) -> str:
        """Return a representation with the planned and pruned files."""
        return f"<{_package(self)}.Plan {self.explain()}>"


class Scan(Unpickled, Narrowing, Rows, Generic[P, Part]):
    """A read of a table, bound to a snapshot and a schema. Rows are read on request."""

    def __init__(self, native: NativeScan[P], limit: int | None) -> None:
        """Not for direct use; use `Table.scan`."""
        self._native = native
        self._limit = limit

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot that is read; None for a table without one."""
        return self._native.snapshot_id

    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows."""
        return self._native.schema()

    @abstractmethod
    def plan(self) -> Plan[P]:
        """Plan the scan: the data files to read, their deletes, and which files are read together."""

    def explain(self) -> str:
        """Return a summary of the planned and pruned files."""
        return self.plan().explain()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows as Arrow record batches; `config.max_workers` threads read files ahead."""
        import pyarrow as pa

        plan = self._plan()
        parts = (self._part(plan, index) for index in range(len(plan)))
        batches = read_parts(parts, self._read, workers=config.max_workers, limit=self._limit)
        return pa.RecordBatchReader.from_batches(self.schema(), guarded("scan", self._place, batches))

    @operation_of
    def count(self) -> int:
        """Count the rows from metadata unless a merge, delete or filter requires reading them."""
        plan = self._without_columns().plan(config.max_workers)
        rows, unread = plan.count()
        for index in unread:
            if self._limit is not None and rows >= self._limit:
                break
            rows += sum(batch.num_rows for batch in self._read(self._part(plan, index)))
        return rows if self._limit is None else min(rows, self._limit)

    def _plan(self) -> P:
        with operation("plan", self._place):
            return self._native.plan(config.max_workers)

    @property
    def row_filter(self) -> str:
        """The filter as SQL."""
        return self._native.filter

    @abstractmethod
    def _place(self) -> str:
        """Return the location of the table, for errors."""

    @abstractmethod
    def _without_columns(self) -> NativeScan[P]:
        """Return the same scan without any selected columns, for counting rows."""

    @abstractmethod
    def _part(self, plan: P, index: int) -> Part:
        """Return a part of a plan."""

    @abstractmethod
    def _read(self, part: Part) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a part."""

    def __repr__(self) -> str:
        """Return a representation with the filter and the snapshot."""
        return f"<{_package(self)}.Scan snapshot {self.snapshot_id} where {self.row_filter}>"


def _package(of: object) -> str:
    return type(of).__module__.rpartition(".")[0]
