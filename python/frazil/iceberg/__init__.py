"""Apache Iceberg: tables, scans and tasks, in the words of its specification."""

from frazil.iceberg.scan import Scan
from frazil.iceberg.schema import NestedField, PartitionField, PartitionSpec, Schema, SortField, SortOrder
from frazil.iceberg.snapshot import HistoryEntry, Snapshot, SnapshotRef
from frazil.iceberg.table import Table
from frazil.iceberg.task import DataFile, DeleteFile, FileScanTask
from frazil.iceberg.transaction import Transaction
from frazil.iceberg.write_result import WriteResult

__all__ = [
    "DataFile",
    "DeleteFile",
    "FileScanTask",
    "HistoryEntry",
    "NestedField",
    "PartitionField",
    "PartitionSpec",
    "Scan",
    "Schema",
    "Snapshot",
    "SnapshotRef",
    "SortField",
    "SortOrder",
    "Table",
    "Transaction",
    "WriteResult",
]
