"""The table snapshot that a DataFrame was read from, as recorded in Spark plans."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from frazil._run import ReadSnapshot
from frazil.iceberg._table import state_of
from frazil.spark._options import READ_SNAPSHOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from frazil.iceberg import Table as IcebergTable
    from frazil.paimon import Table as PaimonTable

__all__ = ["BranchRead", "snapshot_read_by", "table_id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRead:
    """A branch of a table, and the snapshot that was the latest one when the branch was read."""

    table: str
    """The result of `table_id`."""
    branch: str
    snapshot_id: int | None
    """The snapshot; None if the branch was empty."""

    def option(self) -> str:
        """Return this object as the value of the option that records it in a plan."""
        return json.dumps(asdict(self))


def table_id(table: IcebergTable | PaimonTable) -> str:
    """Return a unique id of the table: its UUID, or its location if it has none."""
    if table.format == "paimon":
        return table.location
    return str(state_of(table).metadata.table_uuid or table.location)


def snapshot_read_by(frame: DataFrame, table: IcebergTable | PaimonTable, branch: str) -> ReadSnapshot | None:
    """Return the oldest snapshot of a branch that a DataFrame reads; None if it is not known to read the branch.

    The snapshot is recorded in the Spark plan. The plan is not available over Spark Connect, and a checkpoint discards
    it.
    """
    found = (BranchRead(**json.loads(option)) for option in _options(frame))
    wanted = (table_id(table), branch)
    reads = {one.snapshot_id for one in found if (one.table, one.branch) == wanted}
    return ReadSnapshot(min(reads, key=_age(table))) if reads else None


def _age(table: IcebergTable | PaimonTable) -> Any:
    """Return a sort key that orders snapshots by age, with expired ones first."""
    snapshots: list[Any] = list(table.snapshots())
    places = {snapshot.snapshot_id: place for place, snapshot in enumerate(snapshots)}
    return lambda number: places.get(number, -1)


def _options(frame: DataFrame) -> set[str]:
    """Return the values of the option `READ_SNAPSHOT` in the plan of a DataFrame."""
    from pyspark.sql.utils import is_remote

    if is_remote():
        return set()
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark has no public way to a plan
    leaves = [leaf for part in (plan, *_items(plan.subqueriesAll())) for leaf in _items(part.collectLeaves())]
    found = map(_option, leaves)
    return {option for option in found if option is not None}


def _option(leaf: Any) -> str | None:
    kind = leaf.getClass().getSimpleName()
    if kind == "DataSourceV2Relation":
        value: str | None = leaf.options().get(READ_SNAPSHOT)
        return value
    if kind == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
        options = leaf.relation().options()
        return str(options.apply(READ_SNAPSHOT)) if options.contains(READ_SNAPSHOT) else None
    return None


def _items(sequence: Any) -> Iterator[Any]:
    """Yield the items of a Scala sequence."""
    return (sequence.apply(place) for place in range(sequence.size()))
