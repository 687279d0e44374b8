//! Converts a plan to Arrow batches: one row per data file, one batch per manifest.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, ListArray, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use frazil_core::error::{Error, Result};

use super::context::ReadContext;
use super::plan::{Plan, PlannedFiles};
use crate::spec::arrow::arrow_fields;
use crate::spec::types::StructType;

/// Returns the columns of a plan. `partition` is a struct of the fields of all specs of the table; `delete_files` lists
/// paths as a dictionary.
pub fn plan_schema(plan: &Plan) -> SchemaRef {
    let partition = DataType::Struct(arrow_fields(&partition_type(plan.read())));
    Arc::new(Schema::new(vec![
        Field::new("file_path", DataType::Utf8, false),
        Field::new("file_format", DataType::Utf8, false),
        Field::new("spec_id", DataType::Int32, false),
        Field::new("partition", partition, false),
        Field::new("record_count", DataType::Int64, false),
        Field::new("file_size_in_bytes", DataType::Int64, false),
        Field::new("data_sequence_number", DataType::Int64, false),
        Field::new("first_row_id", DataType::Int64, true),
        Field::new("delete_files", DataType::List(delete_file_field()), false),
    ]))
}

/// Returns the files of one manifest.
///
/// # Errors
/// `InvalidArgument` if the plan has no such batch.
pub fn planned_batch(plan: &Plan, index: usize) -> Result<RecordBatch> {
    let files = plan.files().get(index).ok_or_else(|| Error::invalid(format!("the plan has no batch {index}")))?;
    let entries = files.entries();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(entries.paths()?.clone()),
        Arc::new(entries.formats()?.clone()),
        Arc::new(Int32Array::from_value(files.partition().spec.spec_id, entries.len())),
        partition(plan.read(), files)?,
        Arc::new(entries.record_counts()?.clone()),
        Arc::new(entries.file_sizes()?.clone()),
        Arc::new(entries.sequence_numbers()?.clone()),
        entries
            .first_row_ids()?
            .map_or_else(|| new_null_array(&DataType::Int64, entries.len()), |ids| Arc::new(ids.clone()) as ArrayRef),
        delete_files(plan, files)?,
    ];
    Ok(RecordBatch::try_new(plan_schema(plan), columns)?)
}

fn partition_type(read: &ReadContext) -> StructType {
    let mut fields: Vec<_> = read.partitions.values().flat_map(|partition| &partition.fields.fields).cloned().collect();
    fields.sort_by_key(|field| field.id);
    fields.dedup_by_key(|field| field.id);
    StructType { fields }
}

fn partition(read: &ReadContext, files: &PlannedFiles) -> Result<ArrayRef> {
    let fields = arrow_fields(&partition_type(read));
    let rows = files.entries().len();
    let column = |id: i32, field: &Field| {
        let known = files.tuples().column(id).filter(|column| column.data_type() == field.data_type());
        known.cloned().unwrap_or_else(|| new_null_array(field.data_type(), rows))
    };
    let ids = partition_type(read).fields.into_iter().map(|field| field.id);
    let columns = ids.zip(&fields).map(|(id, field)| column(id, field)).collect();
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, None, rows)?))
}

/// Returns the field for delete files. A delete file often applies to many data files, so its path is stored only once
/// in the plan.
fn delete_file_field() -> Arc<Field> {
    let paths = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    Arc::new(Field::new("item", paths, true))
}

fn delete_files(plan: &Plan, files: &PlannedFiles) -> Result<ArrayRef> {
    let (offsets, numbers) = files.deletes().lists(files.entries().len());
    let numbers = Int32Array::new(numbers, None);
    let paths = DictionaryArray::try_new(numbers, plan.delete_paths())?;
    Ok(Arc::new(ListArray::try_new(delete_file_field(), offsets, Arc::new(paths), None)?))
}
