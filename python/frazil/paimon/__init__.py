"""Apache Paimon: tables, scans and splits, in the words of its specification."""

from frazil.paimon.format_table import FormatFile, FormatTable, format_table
from frazil.paimon.object_table import ObjectTable, object_table
from frazil.paimon.scan import Plan, Scan
from frazil.paimon.schema import DataField, Schema
from frazil.paimon.snapshot import HistoryEntry, Snapshot, Tag
from frazil.paimon.split import Split
from frazil.paimon.table import Table, bucket_ids

__all__ = [
    "DataField",
    "FormatFile",
    "FormatTable",
    "HistoryEntry",
    "ObjectTable",
    "Plan",
    "Scan",
    "Schema",
    "Snapshot",
    "Split",
    "Table",
    "Tag",
    "bucket_ids",
    "format_table",
    "object_table",
]
