//! Builds manifest lists of new snapshots (spec: "Manifest Lists", "First Row ID Assignment").

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use frazil_core::error::{Error, Result};

use crate::spec::manifest_list::{FieldSummary, ManifestContent};
use crate::spec::manifest_rows::rows_schema;
use crate::spec::manifest_type::manifest_file;
use crate::spec::manifest_write::ManifestCounts;

/// A manifest that a commit wrote, before its snapshot has a sequence number.
#[derive(Debug, Clone)]
pub(super) struct NewManifest {
    pub(super) path: String,
    pub(super) length: usize,
    pub(super) spec_id: i32,
    pub(super) content: ManifestContent,
    pub(super) snapshot_id: i64,
    pub(super) counts: ManifestCounts,
}

/// The rows of a manifest list, and the number of row ids that its snapshot uses.
#[derive(Debug)]
pub(super) struct ListRows {
    pub(super) rows: RecordBatch,
    pub(super) added_rows: i64,
}

/// Returns the list of `new` manifests followed by those of the previous snapshot. `first_row_id` is the first row id
/// of the snapshot, for tables that have row ids.
pub(super) fn list_rows(
    new: &[NewManifest],
    kept: Option<RecordBatch>,
    sequence_number: i64,
    first_row_id: Option<i64>,
) -> Result<ListRows> {
    let schema = Arc::new(rows_schema(&manifest_file(3)));
    let added = new_rows(new, sequence_number, &schema)?;
    let rows = match kept {
        None => added,
        Some(kept) => concat_batches(&schema, [&added, &kept])?,
    };
    match first_row_id {
        None => Ok(ListRows { rows, added_rows: 0 }),
        Some(first) => assigned(&rows, first),
    }
}

fn new_rows(new: &[NewManifest], sequence_number: i64, schema: &Arc<Schema>) -> Result<RecordBatch> {
    let longs = |of: &dyn Fn(&NewManifest) -> i64| -> ArrayRef { Arc::new(new.iter().map(of).collect::<Int64Array>()) };
    let ints = |of: &dyn Fn(&NewManifest) -> i32| -> ArrayRef { Arc::new(new.iter().map(of).collect::<Int32Array>()) };
    let least = |manifest: &NewManifest| {
        // Entries without a sequence number inherit that of this snapshot, which is the highest.
        manifest.counts.min_sequence_number.unwrap_or(sequence_number)
    };
    let column = |field: &Arc<Field>| -> Result<ArrayRef> {
        Ok(match field.name().as_str() {
            "manifest_path" => Arc::new(new.iter().map(|manifest| Some(&manifest.path)).collect::<StringArray>()),
            "manifest_length" => longs(&|manifest| i64::try_from(manifest.length).unwrap_or(i64::MAX)),
            "partition_spec_id" => ints(&|manifest| manifest.spec_id),
            "content" => ints(&|manifest| i32::from(manifest.content == ManifestContent::Deletes)),
            "sequence_number" => longs(&|_| sequence_number),
            "min_sequence_number" => longs(&least),
            "added_snapshot_id" => longs(&|manifest| manifest.snapshot_id),
            "added_files_count" => ints(&|manifest| manifest.counts.files[0]),
            "existing_files_count" => ints(&|manifest| manifest.counts.files[1]),
            "deleted_files_count" => ints(&|manifest| manifest.counts.files[2]),
            "added_rows_count" => longs(&|manifest| manifest.counts.rows[0]),
            "existing_rows_count" => longs(&|manifest| manifest.counts.rows[1]),
            "deleted_rows_count" => longs(&|manifest| manifest.counts.rows[2]),
            "partitions" => summaries(new, field.data_type())?,
            _ => new_null_array(field.data_type(), new.len()),
        })
    };
    let columns = schema.fields().iter().map(column).collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

/// Returns the summaries of all manifests as one list column.
fn summaries(new: &[NewManifest], data_type: &DataType) -> Result<ArrayRef> {
    let DataType::List(element) = data_type else { return Err(Error::internal("summaries are not a list")) };
    let DataType::Struct(fields) = element.data_type() else {
        return Err(Error::internal("summaries are not structs"));
    };
    let all = || new.iter().flat_map(|manifest| &manifest.counts.partitions);
    let flags = |of: &dyn Fn(&FieldSummary) -> Option<bool>| -> ArrayRef {
        let mut flags = BooleanBuilder::new();
        all().for_each(|summary| flags.append_option(of(summary)));
        Arc::new(flags.finish())
    };
    let bytes = |of: &dyn Fn(&FieldSummary) -> Option<bytes::Bytes>| -> ArrayRef {
        let mut bytes = BinaryBuilder::new();
        all().for_each(|summary| bytes.append_option(of(summary)));
        Arc::new(bytes.finish())
    };
    let columns = vec![
        flags(&|summary| Some(summary.contains_null)),
        flags(&|summary| summary.contains_nan),
        bytes(&|summary| summary.lower_bound.clone()),
        bytes(&|summary| summary.upper_bound.clone()),
    ];
    let values = StructArray::try_new_with_length(fields.clone(), columns, None, all().count())?;
    let offsets = OffsetBuffer::from_lengths(new.iter().map(|manifest| manifest.counts.partitions.len()));
    Ok(Arc::new(ListArray::try_new(element.clone(), offsets, Arc::new(values), None)?))
}

/// Assigns row ids to the data manifests that have none, in the order of the list.
fn assigned(rows: &RecordBatch, first: i64) -> Result<ListRows> {
    const OWN: &str = "first_row_id";
    let long = |name: &str| rows.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
    let content = rows.column_by_name("content").and_then(|column| column.as_primitive_opt::<Int32Type>());
    let (Some(content), Some(added), Some(existing), Some(own)) =
        (content, long("added_rows_count"), long("existing_rows_count"), long(OWN))
    else {
        return Err(Error::internal("a manifest list does not have the expected columns"));
    };
    let mut next = first;
    let mut ids = Vec::with_capacity(rows.num_rows());
    for row in 0..rows.num_rows() {
        if content.value(row) != 0 || own.is_valid(row) {
            ids.push(own.is_valid(row).then(|| own.value(row)));
            continue;
        }
        ids.push(Some(next));
        let counted = added.is_valid(row) && existing.is_valid(row);
        let count = counted.then(|| added.value(row).checked_add(existing.value(row))).flatten();
        let count = count.filter(|&count| count >= 0);
        let after = count.and_then(|count| next.checked_add(count));
        next =
            after.ok_or_else(|| Error::corrupt("a manifest list does not record the number of rows of a manifest"))?;
    }
    let mut columns = rows.columns().to_vec();
    if let Some(column) = rows.schema_ref().index_of(OWN).ok().and_then(|place| columns.get_mut(place)) {
        *column = Arc::new(Int64Array::from(ids));
    }
    Ok(ListRows { rows: RecordBatch::try_new(rows.schema(), columns)?, added_rows: next - first })
}
