"""Execution of an operation in Spark workers."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from frazil.iceberg.operations.row_change import WorkerResult
from frazil.spark._iceberg import size_of
from frazil.spark._session import WriteSession, change_groups
from frazil.spark._shared import shared
from frazil.spark._state import OPEN_COST_BYTES, SPLIT_BYTES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from frazil.iceberg._staged import StagedTable
    from frazil.iceberg.operations.row_change import RowChange
    from frazil.iceberg.operations.values import SnapshotRequest

__all__ = ["SparkExecutor"]


class SparkExecutor:
    """Executes row changes in Spark workers; the driver plans the file groups and commits the results."""

    def __init__(self, spark: SparkSession) -> None:
        """Use the workers of a session."""
        self._spark = spark

    def execute(self, operation: Any, work: RowChange, ready: Any, staged: StagedTable) -> SnapshotRequest:
        """Execute one attempt, and return the snapshot to commit."""
        state = work.plan.state
        groups = work.groups(size_of(state.properties, "read.split.target-size") or SPLIT_BYTES, OPEN_COST_BYTES)
        session = WriteSession(state)
        staged.own(session)
        with shared(self._spark, pickle.dumps(ready)) as prepared:
            contents = [group.content for group in groups]
            messages, found = change_groups(self._spark, session, operation, prepared, contents)
        results = [WorkerResult(groups[row.number], row.deleted, row.updated) for row in found]
        return work.take(staged, messages, results)
