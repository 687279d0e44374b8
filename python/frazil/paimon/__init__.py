"""Apache Paimon tables, scans, splits and writes, in the terms of the specification."""

from frazil._orphans import OrphanResult, RemoveOrphanFiles
from frazil._write_result import WriteResult
from frazil.paimon._expire import ExpireResult, ExpireSnapshots
from frazil.paimon._format_file import FormatFile
from frazil.paimon._format_table import FormatTable, format_table
from frazil.paimon._inspect import Inspect
from frazil.paimon._load import load_table
from frazil.paimon._object_table import ObjectTable, object_table
from frazil.paimon._rollback import Rollback, RollbackResult
from frazil.paimon._scan import Plan, Scan
from frazil.paimon._schema import DataField, Schema
from frazil.paimon._snapshot import HistoryEntry, Snapshot, Tag
from frazil.paimon._split import Split
from frazil.paimon._table import Table, bucket_ids

__all__ = [
    "DataField",
    "ExpireResult",
    "ExpireSnapshots",
    "FormatFile",
    "FormatTable",
    "HistoryEntry",
    "Inspect",
    "ObjectTable",
    "OrphanResult",
    "Plan",
    "RemoveOrphanFiles",
    "Rollback",
    "RollbackResult",
    "Scan",
    "Schema",
    "Snapshot",
    "Split",
    "Table",
    "Tag",
    "WriteResult",
    "bucket_ids",
    "format_table",
    "load_table",
    "object_table",
]
