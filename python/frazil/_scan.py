"""What the scans of all formats share: they are planned, executed part by part, and give rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, TypeVar

from frazil._border import guarded, operation, operation_of
from frazil._read_ahead import read_parts
from frazil._rows import Batches, Rows
from frazil.config import config
from frazil.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class NativePlan(Protocol):
    """The parts of a scan: files, or files that are read together."""

    def __len__(self) -> int:
        """Give the number of parts."""

    def metrics(self) -> dict[str, int]:
        """Count what is planned and what is not."""

    def count(self) -> tuple[int, list[int]]:
        """Give the rows that metadata alone counts, and the parts that must be read to count the rest."""

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Give wire forms of groups of parts."""


P = TypeVar("P", bound=NativePlan)
P_co = TypeVar("P_co", bound=NativePlan, covariant=True)
Part = TypeVar("Part")


class NativeScan(Protocol[P_co]):
    """A scan that is bound to a snapshot and a schema."""

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot."""

    @property
    def filter(self) -> str:
        """The filter as SQL."""

    def schema(self) -> pa.Schema:
        """Give the schema of the rows."""

    def plan(self, workers: int) -> P_co:
        """Plan on so many threads."""


class Unpickled:
    """What is bound to a state of a table in this process, and so is not pickled."""

    _INSTEAD = "pickle the table, or the tasks that plan_files() gives"

    def __reduce__(self) -> NoReturn:
        """Raise `UnsupportedError`."""
        message = f"a {type(self).__name__} cannot be pickled"
        raise UnsupportedError(message, hint=self._INSTEAD)


class Plan(Unpickled, Batches, Generic[P]):
    """The data files of a scan, as columns."""

    def __init__(self, native: P) -> None:
        """Use `Scan.plan` instead."""
        self._native = native

    def __len__(self) -> int:
        """Give the number of parts that are read alone: data files, or splits."""
        return len(self._native)

    @property
    def metrics(self) -> dict[str, int]:
        """How many manifests, files and parts there are, and how many were left out and why."""
        return self._native.metrics()

    def groups(self, target_bytes: int, open_cost_bytes: int) -> list[bytes]:
        """Give the parts in groups of about `target_bytes`, each as a wire form, which can be read anywhere.

        Args:
            target_bytes: How many bytes of files a group has at most, unless one of the parts alone has more.
            open_cost_bytes: What each of the parts counts at least.
        """
        return self._native.groups(target_bytes, open_cost_bytes)

    @abstractmethod
    def explain(self) -> str:
        """Say in one line what was kept and what was left out."""

    def __repr__(self) -> str:
        """Give what was kept and what was left out."""
        return f"<{_package(self)}.Plan {self.explain()}>"


class Scan(Unpickled, Rows, Generic[P, Part]):
    """A read of a table that is bound to a snapshot and a schema. Rows are read when asked for."""

    def __init__(self, native: NativeScan[P], limit: int | None) -> None:
        """Use `Table.scan` instead."""
        self._native = native
        self._limit = limit

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot that is read; None for a table without one."""
        return self._native.snapshot_id

    @property
    def filter(self) -> str:
        """The filter as it was bound to the table's columns, as SQL."""
        return self._native.filter

    def schema(self) -> pa.Schema:
        """Give the Arrow schema of the rows."""
        return self._native.schema()

    @abstractmethod
    def plan(self) -> Plan[P]:
        """Plan the scan: which data files are read, with which deletes, and which of them together."""

    def explain(self) -> str:
        """Say what the plan keeps and what it leaves out."""
        return self.plan().explain()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Stream the rows as Arrow record batches; files are read ahead by `config.max_workers` threads."""
        import pyarrow as pa

        plan = self._plan()
        parts = (self._part(plan, index) for index in range(len(plan)))
        batches = read_parts(parts, self._read, workers=config.max_workers, limit=self._limit)
        return pa.RecordBatchReader.from_batches(self.schema(), guarded("scan", self._place, batches))

    @operation_of
    def count(self) -> int:
        """Count the rows: from metadata where no merge, delete or filter forbids it, by reading else."""
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

    @abstractmethod
    def _place(self) -> str:
        """Return the location of the table, for errors."""

    @abstractmethod
    def _without_columns(self) -> NativeScan[P]:
        """Give the same scan of no columns."""

    @abstractmethod
    def _part(self, plan: P, index: int) -> Part:
        """Give a part of a plan."""

    @abstractmethod
    def _read(self, part: Part) -> Iterator[pa.RecordBatch]:
        """Stream the rows of a part."""

    def __repr__(self) -> str:
        """Give filter and snapshot."""
        return f"<{_package(self)}.Scan snapshot {self.snapshot_id} where {self.filter}>"


def _package(of: object) -> str:
    return type(of).__module__.rpartition(".")[0]
