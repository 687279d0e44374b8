//! The `entries` and `files` metadata tables and their variants: one part per manifest, read in batches.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, MapArray, RecordBatch, RecordBatchOptions, StringArray,
    StructArray, new_null_array,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use frazil_core::avro::AvroFile;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::virtual_table::{Part, PartBatches, VirtualTable};
use serde::{Deserialize, Serialize};

use super::partition_type::partition_type;
use super::readable_metrics::{METRICS, ReadableMetrics};
use crate::scan::plan::manifests_of;
use crate::spec::arrow::{arrow_fields, arrow_type};
use crate::spec::manifest::{
    DELETED, inherited_file_sequence_numbers, inherited_first_row_ids, inherited_sequence_numbers, is_v1,
};
use crate::spec::manifest_list::{MANIFEST_LIMIT_BYTES, ManifestContent, ManifestFile};
use crate::spec::manifest_rows::entry_batches;
use crate::spec::partition_value;
use crate::spec::snapshot::Snapshot;
use crate::spec::types::StructType;
use crate::table::Table;

/// A table of the entries of some snapshots, or of their live files.
#[derive(Debug, Clone)]
pub(super) struct FilesTable {
    table: Table,
    snapshots: Vec<Arc<Snapshot>>,
    /// The type of manifests to read; None for all.
    content: Option<ManifestContent>,
    /// Whether each row is a manifest entry, in which case entries of deleted files are included.
    entries: bool,
    partition: StructType,
    metrics: Arc<ReadableMetrics>,
    schema: SchemaRef,
}

/// The fields of a manifest list that are needed to read a manifest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ManifestPart {
    path: String,
    spec_id: i32,
    deletes: bool,
    sequence_number: i64,
    snapshot_id: Option<i64>,
    first_row_id: Option<i64>,
}

impl FilesTable {
    pub(super) fn new(
        table: &Table,
        snapshots: Vec<Arc<Snapshot>>,
        content: Option<ManifestContent>,
        entries: bool,
    ) -> Result<Self> {
        let partition = partition_type(table.metadata());
        let metrics = Arc::new(ReadableMetrics::new(table.metadata().current_schema()?));
        let files = file_fields(&partition);
        let readable = Field::new("readable_metrics", DataType::Struct(metrics.fields().clone()), true);
        let fields: Vec<Field> = if entries {
            vec![
                Field::new("status", DataType::Int32, false),
                Field::new("snapshot_id", DataType::Int64, true),
                Field::new("sequence_number", DataType::Int64, true),
                Field::new("file_sequence_number", DataType::Int64, true),
                Field::new("data_file", DataType::Struct(files), false),
                readable,
            ]
        } else {
            files.iter().map(|field| field.as_ref().clone()).chain([readable]).collect()
        };
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { table: table.clone(), snapshots, content, entries, partition, metrics, schema })
    }

    /// Returns the manifests of the snapshots, without duplicates.
    pub(super) fn manifests(&self, context: &Context) -> Result<Vec<ManifestPart>> {
        let mut seen = HashSet::new();
        let mut parts = Vec::new();
        for snapshot in &self.snapshots {
            context.check()?;
            let manifests = manifests_of(snapshot, self.table.files(), context)?;
            let wanted =
                manifests.into_iter().filter(|manifest| self.content.is_none_or(|own| own == manifest.content));
            let new = wanted.filter(|manifest| seen.insert(manifest.manifest_path.clone()));
            parts.extend(new.map(|manifest| ManifestPart::of(&manifest)));
        }
        Ok(parts)
    }

    /// Returns the columns at these positions for the rows of a manifest.
    fn rows(&self, part: ManifestPart, columns: &[usize], context: &Context) -> Result<PartBatches> {
        let wanted = WantedColumns::of(self.schema.fields(), columns);
        let manifest = Manifest::open(&self.table, part, &|name| wanted.reads(name), context)?;
        let schema = Arc::new(self.schema.project(columns)?);
        let scan = self.clone();
        let path = manifest.part.path.clone();
        let batches = manifest.filter_map(move |entries| {
            let rows = entries.and_then(|entries| scan.batch(&entries, &schema)).map_err(|e| e.with("file", &path));
            rows.transpose()
        });
        Ok(Box::new(batches))
    }

    /// Returns the rows of a batch of entries; None if there are no rows.
    fn batch(&self, entries: &InspectedEntries, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
        let live = entries.status()?.values().iter().map(|status| self.entries || *status != DELETED);
        let live: BooleanArray = live.map(Some).collect();
        if live.true_count() == 0 {
            return Ok(None);
        }
        let columns = schema.fields().iter().map(|field| self.column(entries, field));
        let options = RecordBatchOptions::new().with_row_count(Some(entries.rows.num_rows()));
        let rows = RecordBatch::try_new_with_options(schema.clone(), columns.collect::<Result<_>>()?, &options)?;
        Ok(Some(if live.false_count() == 0 { rows } else { filter_record_batch(&rows, &live)? }))
    }

    fn column(&self, entries: &InspectedEntries, field: &Field) -> Result<ArrayRef> {
        match field.name().as_str() {
            "readable_metrics" => self.metrics.column(entries.files()?),
            "data_file" if self.entries => {
                let fields = file_fields(&self.partition);
                let columns = fields.iter().map(|field| self.file_column(entries, field));
                let files = StructArray::try_new_with_length(
                    fields.clone(),
                    columns.collect::<Result<_>>()?,
                    None,
                    entries.len(),
                );
                Ok(Arc::new(files?))
            }
            name if self.entries => entries.rows.column_by_name(name).cloned().ok_or_else(|| missing(name)),
            _ => self.file_column(entries, field),
        }
    }

    fn file_column(&self, entries: &InspectedEntries, field: &Field) -> Result<ArrayRef> {
        let name = field.name().as_str();
        let files = entries.files()?;
        let recorded = || files.column_by_name(name).ok_or_else(|| missing(name));
        match name {
            "spec_id" => Ok(Arc::new(Int32Array::from_value(entries.spec_id, entries.len()))),
            "content" => {
                let content = recorded()?.as_primitive_opt::<Int32Type>().ok_or_else(|| missing(name))?;
                Ok(Arc::new(Int32Array::from_iter_values(content.iter().map(Option::unwrap_or_default))))
            }
            "file_format" => {
                let formats = recorded()?.as_string_opt::<i32>().ok_or_else(|| missing(name))?;
                Ok(Arc::new(formats.iter().map(|name| name.map(str::to_uppercase)).collect::<StringArray>()))
            }
            "partition" => entries.partition(&self.partition),
            _ => match field.data_type() {
                DataType::Map(..) => as_map(recorded()?, field),
                _ => Ok(recorded()?.clone()),
            },
        }
    }
}

impl VirtualTable for FilesTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self, context: &Context) -> Result<Vec<Part>> {
        self.manifests(context)?.iter().map(ManifestPart::to_bytes).collect()
    }

    fn read(&self, part: &[u8], columns: &[usize], context: &Context) -> Result<PartBatches> {
        self.rows(ManifestPart::from_bytes(part)?, columns, context)
    }
}

impl ManifestPart {
    fn of(manifest: &ManifestFile) -> Self {
        Self {
            path: manifest.manifest_path.to_string(),
            spec_id: manifest.partition_spec_id,
            deletes: manifest.content == ManifestContent::Deletes,
            sequence_number: manifest.sequence_number,
            snapshot_id: manifest.added_snapshot_id,
            first_row_id: manifest.first_row_id,
        }
    }

    fn manifest(&self) -> ManifestFile {
        ManifestFile {
            partition_spec_id: self.spec_id,
            content: if self.deletes { ManifestContent::Deletes } else { ManifestContent::Data },
            sequence_number: self.sequence_number,
            added_snapshot_id: self.snapshot_id,
            first_row_id: self.first_row_id,
            ..ManifestFile::inline(&self.path)
        }
    }

    fn to_bytes(&self) -> Result<Part> {
        serde_json::to_vec(self).map_err(|e| Error::internal("a part cannot be encoded").caused_by(e))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|e| Error::invalid("not a part of this metadata table").caused_by(e))
    }
}

/// A reader of the entries of a manifest in batches, with their inherited values.
pub(super) struct Manifest<I> {
    part: ManifestPart,
    manifest: ManifestFile,
    partition: Arc<StructType>,
    written_by_v1: bool,
    next_row_id: Option<i64>,
    batches: I,
}

impl Manifest<()> {
    /// Opens a manifest. Only the file fields in `wanted`, and the fields that inheritance needs, are read.
    pub(super) fn open(
        table: &Table,
        part: ManifestPart,
        wanted: &dyn Fn(&str) -> bool,
        context: &Context,
    ) -> Result<Manifest<impl Iterator<Item = Result<RecordBatch>> + Send + use<>>> {
        let named = |e: Error| e.with("file", &part.path);
        let metadata = table.metadata();
        let partition = metadata.partition_type(metadata.spec(part.spec_id).map_err(named)?);
        let bytes = table.files().read(&part.path, MANIFEST_LIMIT_BYTES)?;
        let file = AvroFile::open(bytes).map_err(|e| named(e.corrupt_as(ErrorKind::CorruptManifest)))?;
        let needed = |name: &str| matches!(name, "record_count" | "first_row_id") || wanted(name);
        let batches = entry_batches(&file, &partition, &needed, context).map_err(named)?;
        Ok(Manifest {
            manifest: part.manifest(),
            partition: Arc::new(partition),
            written_by_v1: is_v1(&file),
            next_row_id: part.first_row_id,
            part,
            batches,
        })
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Manifest<I> {
    type Item = Result<InspectedEntries>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.batches.next()?;
        let entries = rows.and_then(|rows| self.resolved(rows));
        Some(entries.map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest).with("file", &self.part.path)))
    }
}

impl<I> Manifest<I> {
    fn resolved(&mut self, rows: RecordBatch) -> Result<InspectedEntries> {
        let mut entries = InspectedEntries { rows, spec_id: self.part.spec_id, partition: self.partition.clone() };
        let status = entries.status()?.clone();
        let sequence_numbers =
            inherited_sequence_numbers(&status, entries.long("sequence_number")?, &self.manifest, self.written_by_v1)?;
        let own = entries.long("file_sequence_number")?;
        let file_sequence_numbers = inherited_file_sequence_numbers(&status, own, &sequence_numbers, &self.manifest);
        let snapshots = entries.long("snapshot_id")?.iter().map(|own| own.or(self.manifest.added_snapshot_id));
        let snapshots: Int64Array = snapshots.collect();
        if let Some(next) = self.next_row_id {
            let (own, counts) =
                (entries.file_long("first_row_id")?.clone(), entries.file_long("record_count")?.clone());
            let row_ids = inherited_first_row_ids(&status, Some(&own), &counts, Some(next))?;
            let given = (0..status.len()).filter(|&row| own.is_null(row) && status.value(row) != DELETED);
            let taken: i64 = given.map(|row| counts.value(row)).sum();
            self.next_row_id = Some(next.saturating_add(taken));
            if let Some(row_ids) = row_ids {
                entries.put_file_column("first_row_id", Arc::new(row_ids))?;
            }
        }
        entries.put("snapshot_id", Arc::new(snapshots))?;
        entries.put("sequence_number", Arc::new(sequence_numbers))?;
        entries.put("file_sequence_number", Arc::new(file_sequence_numbers))?;
        Ok(entries)
    }
}

/// Some entries of a manifest.
#[derive(Debug)]
pub(super) struct InspectedEntries {
    rows: RecordBatch,
    spec_id: i32,
    partition: Arc<StructType>,
}

impl InspectedEntries {
    pub(super) fn len(&self) -> usize {
        self.rows.num_rows()
    }

    pub(super) fn spec_id(&self) -> i32 {
        self.spec_id
    }

    /// Returns whether the manifest's spec is unpartitioned.
    pub(super) fn is_unpartitioned(&self) -> bool {
        self.partition.fields.is_empty()
    }

    pub(super) fn status(&self) -> Result<&Int32Array> {
        let status = self.rows.column_by_name("status").and_then(|column| column.as_primitive_opt::<Int32Type>());
        let status = status.ok_or_else(|| missing("status"))?;
        match status.iter().find(|status| !matches!(status, Some(0..=DELETED))) {
            Some(unknown) => Err(Error::corrupt(format!("a manifest entry has the invalid status {unknown:?}"))),
            None => Ok(status),
        }
    }

    pub(super) fn long(&self, name: &str) -> Result<&Int64Array> {
        let column = self.rows.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        column.ok_or_else(|| missing(name))
    }

    pub(super) fn files(&self) -> Result<&StructArray> {
        self.rows
            .column_by_name("data_file")
            .and_then(|column| column.as_struct_opt())
            .ok_or_else(|| missing("data_file"))
    }

    pub(super) fn file_long(&self, name: &str) -> Result<&Int64Array> {
        let column = self.files()?.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        column.ok_or_else(|| missing(name))
    }

    /// Returns the partition values as the partition type `target`: fields are matched by id, and missing ones are
    /// NULL.
    pub(super) fn partition(&self, target: &StructType) -> Result<ArrayRef> {
        let tuples = self.files()?.column_by_name("partition").and_then(|column| column.as_struct_opt());
        let tuples = tuples.ok_or_else(|| missing("partition"))?;
        let columns = target.fields.iter().map(|field| {
            let data_type = arrow_type(&field.field_type);
            let position = self.partition.fields.iter().position(|own| own.id == field.id);
            match position.and_then(|position| tuples.columns().get(position)) {
                Some(values) => partition_value::typed(values, &data_type),
                None => Ok(new_null_array(&data_type, self.len())),
            }
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Arc::new(StructArray::try_new_with_length(arrow_fields(target), columns, None, self.len())?))
    }

    fn put(&mut self, name: &str, column: ArrayRef) -> Result<()> {
        let place = self.rows.schema_ref().index_of(name)?;
        let mut columns = self.rows.columns().to_vec();
        if let Some(own) = columns.get_mut(place) {
            *own = column;
        }
        self.rows = RecordBatch::try_new(self.rows.schema(), columns)?;
        Ok(())
    }

    fn put_file_column(&mut self, name: &str, column: ArrayRef) -> Result<()> {
        let files = self.files()?;
        let (place, _) = files.fields().find(name).ok_or_else(|| missing(name))?;
        let mut columns = files.columns().to_vec();
        if let Some(own) = columns.get_mut(place) {
            *own = column;
        }
        let files = StructArray::try_new(files.fields().clone(), columns, files.nulls().cloned())?;
        self.put("data_file", Arc::new(files))
    }
}

/// The file fields to read.
struct WantedColumns {
    names: HashSet<String>,
    all: bool,
}

impl WantedColumns {
    fn of(fields: &Fields, columns: &[usize]) -> Self {
        let names = columns.iter().filter_map(|&column| fields.get(column)).map(|field| field.name().clone());
        let mut names: HashSet<String> = names.collect();
        if names.contains("readable_metrics") {
            names.extend(METRICS.iter().map(|(_, recorded)| (*recorded).to_string()));
        }
        Self { all: names.contains("data_file"), names }
    }

    fn reads(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

/// Returns the columns of files, in Java's order.
fn file_fields(partition: &StructType) -> Fields {
    let map = |name: &str, value: DataType| {
        let entry = vec![Field::new("key", DataType::Int32, false), Field::new("value", value, true)];
        let entries = Field::new("entries", DataType::Struct(entry.into()), false);
        Field::new(name, DataType::Map(Arc::new(entries), false), true)
    };
    let list = |name: &str, element: DataType| {
        Field::new(name, DataType::List(Arc::new(Field::new("element", element, true))), true)
    };
    let mut fields = vec![
        Field::new("content", DataType::Int32, false),
        Field::new("file_path", DataType::Utf8, false),
        Field::new("file_format", DataType::Utf8, false),
        Field::new("spec_id", DataType::Int32, false),
    ];
    if !partition.fields.is_empty() {
        fields.push(Field::new("partition", DataType::Struct(arrow_fields(partition)), false));
    }
    fields.extend([
        Field::new("record_count", DataType::Int64, false),
        Field::new("file_size_in_bytes", DataType::Int64, false),
        map("column_sizes", DataType::Int64),
        map("value_counts", DataType::Int64),
        map("null_value_counts", DataType::Int64),
        map("nan_value_counts", DataType::Int64),
        map("lower_bounds", DataType::Binary),
        map("upper_bounds", DataType::Binary),
        Field::new("key_metadata", DataType::Binary, true),
        list("split_offsets", DataType::Int64),
        list("equality_ids", DataType::Int32),
        Field::new("sort_order_id", DataType::Int32, true),
        Field::new("first_row_id", DataType::Int64, true),
        Field::new("referenced_data_file", DataType::Utf8, true),
        Field::new("content_offset", DataType::Int64, true),
        Field::new("content_size_in_bytes", DataType::Int64, true),
    ]);
    fields.into()
}

/// Converts a list of keys and values to a map.
fn as_map(list: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let name = field.name().as_str();
    let list = list.as_list_opt::<i32>().ok_or_else(|| missing(name))?;
    let pairs = list.values().as_struct_opt().ok_or_else(|| missing(name))?;
    let DataType::Map(entries, sorted) = field.data_type() else { return Err(missing(name)) };
    let DataType::Struct(fields) = entries.data_type() else { return Err(missing(name)) };
    let pairs = StructArray::try_new(fields.clone(), pairs.columns().to_vec(), None)
        .map_err(|e| Error::corrupt(format!("a map of {name} has a NULL key")).caused_by(e))?;
    let map = MapArray::try_new(entries.clone(), list.offsets().clone(), pairs, list.nulls().cloned(), *sorted);
    Ok(Arc::new(map?))
}

fn missing(name: &str) -> Error {
    Error::internal("manifest entries do not have the expected columns").with("column", name)
}
