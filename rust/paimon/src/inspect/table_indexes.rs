//! The system table `table_indexes`: the index files of a snapshot, with the deletion vectors in each.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};

use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display};
use crate::spec::index_manifest::{DELETION_VECTORS, DeletionRange, IndexEntry};

pub(super) const COLUMNS: [InspectColumn; 7] = [
    ("partition", ViewKind::Text, NULLABLE),
    ("bucket", ViewKind::Int, REQUIRED),
    ("index_type", ViewKind::Text, REQUIRED),
    ("file_name", ViewKind::Text, REQUIRED),
    ("file_size", ViewKind::Long, REQUIRED),
    ("row_count", ViewKind::Long, REQUIRED),
    ("dv_ranges", ViewKind::DeletionRanges, NULLABLE),
];

/// Returns the fields of a deletion range: the data file, the offset and length of its vector, and its number of
/// deleted rows.
pub(super) fn range_fields() -> Fields {
    Fields::from(vec![
        Field::new("f0", DataType::Utf8, false),
        Field::new("f1", DataType::Int32, false),
        Field::new("f2", DataType::Int32, false),
        Field::new("_CARDINALITY", DataType::Int64, true),
    ])
}

pub(super) fn rows(state: &InspectState, context: &Context) -> Result<Vec<ArrayRef>> {
    let snapshot = state.snapshot.as_ref();
    let entries = snapshot.map_or(Ok(Vec::new()), |snapshot| state.table.index_entries(snapshot, context))?;
    let partitions: BinaryArray = entries.iter().map(|entry| Some(&entry.partition)).collect();
    let long =
        |of: fn(&IndexEntry) -> i64| -> ArrayRef { Arc::new(entries.iter().map(of).map(Some).collect::<Int64Array>()) };
    Ok(vec![
        Arc::new(display::partitions(&partitions, state)?),
        Arc::new(entries.iter().map(|entry| Some(entry.bucket)).collect::<Int32Array>()),
        Arc::new(StringArray::from_iter_values(entries.iter().map(|entry| &entry.index_type))),
        Arc::new(StringArray::from_iter_values(entries.iter().map(|entry| &entry.file_name))),
        long(|entry| entry.file_size),
        long(|entry| entry.row_count),
        deletion_ranges(&entries)?,
    ])
}

/// Returns the ranges of each index, or NULL for indexes other than deletion vectors.
fn deletion_ranges(entries: &[IndexEntry]) -> Result<ArrayRef> {
    let DataType::List(item) = ViewKind::DeletionRanges.arrow() else {
        return Err(Error::internal("the type of deletion ranges is not a list"));
    };
    let ranges = || entries.iter().flat_map(|entry| &entry.deletion_ranges);
    let int =
        |of: fn(&DeletionRange) -> i32| -> ArrayRef { Arc::new(ranges().map(of).map(Some).collect::<Int32Array>()) };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ranges().map(|range| Some(&range.data_file)).collect::<StringArray>()),
        int(|range| range.offset),
        int(|range| range.length),
        Arc::new(ranges().map(|range| range.cardinality).collect::<Int64Array>()),
    ];
    let values = StructArray::try_new(range_fields(), columns, None)?;
    let offsets = OffsetBuffer::from_lengths(entries.iter().map(|entry| entry.deletion_ranges.len()));
    let known: NullBuffer = entries.iter().map(|entry| entry.index_type == DELETION_VECTORS).collect::<Vec<_>>().into();
    Ok(Arc::new(ListArray::try_new(item, offsets, Arc::new(values), Some(known))?))
}
