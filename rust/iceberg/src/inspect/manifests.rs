//! The `manifests` and `all_manifests` metadata tables: one part per snapshot.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::virtual_table::{Part, PartBatches, VirtualTable};

use crate::scan::plan::manifests_of;
use crate::spec::manifest_list::MANIFEST_LIMIT_BYTES;
use crate::spec::manifest_rows::read_list;
use crate::spec::partition_value::human_text;
use crate::spec::single_value;
use crate::spec::snapshot::Snapshot;
use crate::spec::types::{PrimitiveType, Type};
use crate::table::Table;

const COUNTS: [(&str, i32, &str); 6] = [
    ("added_data_files_count", 0, "added_files_count"),
    ("existing_data_files_count", 0, "existing_files_count"),
    ("deleted_data_files_count", 0, "deleted_files_count"),
    ("added_delete_files_count", 1, "added_files_count"),
    ("existing_delete_files_count", 1, "existing_files_count"),
    ("deleted_delete_files_count", 1, "deleted_files_count"),
];

/// A table of the manifests of some snapshots.
#[derive(Debug, Clone)]
pub(super) struct ManifestsTable {
    table: Table,
    snapshots: Vec<Arc<Snapshot>>,
    schema: SchemaRef,
}

impl ManifestsTable {
    /// Creates the table. With `all`, the rows also have the id of their snapshot and the key metadata.
    pub(super) fn new(table: &Table, snapshots: Vec<Arc<Snapshot>>, all: bool) -> Self {
        let mut fields = vec![
            Field::new("content", DataType::Int32, false),
            Field::new("path", DataType::Utf8, false),
            Field::new("length", DataType::Int64, false),
            Field::new("partition_spec_id", DataType::Int32, true),
            Field::new("added_snapshot_id", DataType::Int64, true),
        ];
        fields.extend(COUNTS.map(|(name, ..)| Field::new(name, DataType::Int32, true)));
        fields.push(Field::new("partition_summaries", DataType::List(summary_field()), true));
        if all {
            fields.push(Field::new("reference_snapshot_id", DataType::Int64, false));
            fields.push(Field::new("key_metadata", DataType::Binary, true));
        }
        Self { table: table.clone(), snapshots, schema: Arc::new(Schema::new(fields)) }
    }

    fn rows(&self, snapshot: &Snapshot, context: &Context) -> Result<RecordBatch> {
        let named = |e: Error| e.with("snapshot", snapshot.snapshot_id);
        let Some(list) = &snapshot.manifest_list else { return self.inline(snapshot, context) };
        let bytes = self.table.files().read(list, MANIFEST_LIMIT_BYTES).map_err(named)?;
        let manifests = read_list(bytes, context).map_err(|e| named(e.with("file", list)))?;
        let recorded = |name: &str| manifests.column_by_name(name).ok_or_else(|| missing(name));
        let contents = recorded("content")?.as_primitive_opt::<Int32Type>().ok_or_else(|| missing("content"))?;
        let columns = self.schema.fields().iter().map(|field| {
            let name = field.name().as_str();
            if let Some((_, content, name)) = COUNTS.iter().find(|(own, ..)| *own == name) {
                let counts = recorded(name)?.as_primitive_opt::<Int32Type>().ok_or_else(|| missing(name))?;
                let rows = contents.values().iter().zip(counts);
                let counts = rows.map(|(own, count)| if own == content { count } else { Some(0) });
                return Ok(Arc::new(counts.collect::<Int32Array>()) as ArrayRef);
            }
            match name {
                "path" => recorded("manifest_path").cloned(),
                "length" => recorded("manifest_length").cloned(),
                "partition_summaries" => self.summaries(&manifests),
                "reference_snapshot_id" => {
                    Ok(Arc::new(Int64Array::from_value(snapshot.snapshot_id, manifests.num_rows())) as ArrayRef)
                }
                _ => recorded(name).cloned(),
            }
        });
        Ok(RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_>>()?)?)
    }

    /// Returns the manifests that a v1 snapshot references directly, without a manifest list; few columns are known for
    /// them.
    fn inline(&self, snapshot: &Snapshot, context: &Context) -> Result<RecordBatch> {
        let manifests = manifests_of(snapshot, self.table.files(), context)?;
        let lengths = manifests.iter().map(|manifest| self.table.files().size(&manifest.manifest_path));
        let lengths = lengths.map(|size| size.map(|size| i64::try_from(size).unwrap_or(i64::MAX)));
        let lengths: ArrayRef = Arc::new(Int64Array::from(lengths.collect::<Result<Vec<_>>>()?));
        let columns = self.schema.fields().iter().map(|field| match field.name().as_str() {
            "content" => Arc::new(Int32Array::from_value(0, manifests.len())) as ArrayRef,
            "path" => Arc::new(StringArray::from_iter_values(manifests.iter().map(|own| &*own.manifest_path))),
            "length" => lengths.clone(),
            "partition_spec_id" => {
                Arc::new(Int32Array::from_iter_values(manifests.iter().map(|own| own.partition_spec_id)))
            }
            "reference_snapshot_id" => Arc::new(Int64Array::from_value(snapshot.snapshot_id, manifests.len())),
            _ => new_null_array(field.data_type(), manifests.len()),
        });
        Ok(RecordBatch::try_new(self.schema.clone(), columns.collect())?)
    }

    /// Returns the partition field summaries of manifest lists, with bounds as text.
    fn summaries(&self, manifests: &RecordBatch) -> Result<ArrayRef> {
        let metadata = self.table.metadata();
        let current = metadata.current_schema()?;
        let column = |name: &'static str| manifests.column_by_name(name).ok_or_else(|| missing(name));
        let summaries = column("partitions")?.as_list_opt::<i32>().ok_or_else(|| missing("partitions"))?;
        let specs = column("partition_spec_id")?.as_primitive_opt::<Int32Type>().ok_or_else(|| missing("spec"))?;
        let recorded = summaries.values().as_struct_opt().ok_or_else(|| missing("partitions"))?;
        let part = |name: &'static str| recorded.column_by_name(name).ok_or_else(|| missing(name));
        let bounds = |name: &'static str| -> Result<ArrayRef> {
            let bounds = part(name)?.as_binary_opt::<i32>().ok_or_else(|| missing(name))?;
            let mut texts: Vec<Option<String>> = vec![None; bounds.len()];
            for (row, ends) in
                summaries.value_offsets().windows(2).enumerate().filter(|(row, _)| summaries.is_valid(*row))
            {
                let [start, end] = ends else { continue };
                let spec = metadata.spec(specs.value(row))?;
                let partition = metadata.partition_type(spec);
                let range = usize::try_from(*start).unwrap_or(0)..usize::try_from(*end).unwrap_or(0);
                for ((place, field), typed) in range.zip(&spec.fields).zip(&partition.fields) {
                    let Type::Primitive(primitive) = &typed.field_type else { continue };
                    let known = field.source_ids.iter().all(|id| current.field(*id).is_some());
                    let value = if known { bound(bounds, place, primitive) } else { None };
                    if let Some(slot) = texts.get_mut(place) {
                        *slot = Some(
                            value.map_or_else(|| "null".to_string(), |value| human_text(&field.transform, &value)),
                        );
                    }
                }
            }
            Ok(Arc::new(StringArray::from(texts)))
        };
        let columns = vec![
            part("contains_null")?.clone(),
            part("contains_nan")?.clone(),
            bounds("lower_bound")?,
            bounds("upper_bound")?,
        ];
        let values = StructArray::try_new(summary_fields(), columns, recorded.nulls().cloned())?;
        let offsets = summaries.offsets().clone();
        Ok(Arc::new(ListArray::try_new(summary_field(), offsets, Arc::new(values), summaries.nulls().cloned())?))
    }
}

/// Decodes the bound at `place`; None if it is missing or cannot be decoded.
fn bound(
    bounds: &arrow_array::BinaryArray,
    place: usize,
    primitive: &PrimitiveType,
) -> Option<frazil_core::scalar::Scalar> {
    if place < bounds.len() && bounds.is_valid(place) {
        single_value::decode(primitive, bounds.value(place))
    } else {
        None
    }
}

impl VirtualTable for ManifestsTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self, _: &Context) -> Result<Vec<Part>> {
        Ok(self.snapshots.iter().map(|snapshot| snapshot.snapshot_id.to_string().into_bytes()).collect())
    }

    fn read(&self, part: &[u8], columns: &[usize], context: &Context) -> Result<PartBatches> {
        let id = std::str::from_utf8(part).ok().and_then(|text| text.parse::<i64>().ok());
        let id = id.ok_or_else(|| Error::invalid("not a part of this metadata table"))?;
        let rows = self.rows(self.table.metadata().snapshot(id)?, context)?;
        Ok(Box::new(std::iter::once(Ok(rows.project(columns)?))))
    }
}

fn summary_fields() -> Fields {
    Fields::from(vec![
        Field::new("contains_null", DataType::Boolean, true),
        Field::new("contains_nan", DataType::Boolean, true),
        Field::new("lower_bound", DataType::Utf8, true),
        Field::new("upper_bound", DataType::Utf8, true),
    ])
}

fn summary_field() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::Struct(summary_fields()), true))
}

fn missing(name: &str) -> Error {
    Error::internal("manifest lists do not have the expected columns").with("column", name)
}
