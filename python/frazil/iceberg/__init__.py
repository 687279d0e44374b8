"""Apache Iceberg tables, scans and tasks, in the terms of the specification."""

from frazil._orphans import OrphanResult, RemoveOrphanFiles
from frazil._write_result import WriteResult
from frazil.iceberg._expire import ExpireResult, ExpireSnapshots
from frazil.iceberg._inspect import Inspect
from frazil.iceberg._load import load_table
from frazil.iceberg._rewrite_data_files import RewriteDataFiles, RewriteResult
from frazil.iceberg._scan import Scan
from frazil.iceberg._schema import NestedField, PartitionField, PartitionSpec, Schema, SortField, SortOrder
from frazil.iceberg._snapshot import HistoryEntry, MetadataLogEntry, Snapshot, SnapshotRef
from frazil.iceberg._static_table import StaticTable
from frazil.iceberg._table import Table, Transaction
from frazil.iceberg._table_metadata import TableMetadata
from frazil.iceberg._task import DataFile, DeleteFile, FileScanTask

__all__ = [
    "DataFile",
    "DeleteFile",
    "ExpireResult",
    "ExpireSnapshots",
    "FileScanTask",
    "HistoryEntry",
    "Inspect",
    "MetadataLogEntry",
    "NestedField",
    "OrphanResult",
    "PartitionField",
    "PartitionSpec",
    "RemoveOrphanFiles",
    "RewriteDataFiles",
    "RewriteResult",
    "Scan",
    "Schema",
    "Snapshot",
    "SnapshotRef",
    "SortField",
    "SortOrder",
    "StaticTable",
    "Table",
    "TableMetadata",
    "Transaction",
    "WriteResult",
    "load_table",
]
