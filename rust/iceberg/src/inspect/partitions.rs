//! The `partitions` metadata table: the live files of a snapshot, summed by partition.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StructArray, TimestampMicrosecondArray};
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::floats::one_nan;
use frazil_core::virtual_table::{Part, PartBatches, VirtualTable};

use super::entries::{FilesTable, InspectedEntries, Manifest};
use super::partition_type::partition_type;
use crate::spec::arrow::{arrow_fields, arrow_type};
use crate::spec::manifest::DELETED;
use crate::spec::snapshot::Snapshot;
use crate::spec::types::StructType;
use crate::table::Table;

const POSITION_DELETES: i32 = 1;
const EQUALITY_DELETES: i32 = 2;

/// A table of the partitions of a snapshot.
#[derive(Debug)]
pub(super) struct PartitionsTable {
    table: Table,
    files: FilesTable,
    partition: StructType,
    schema: SchemaRef,
}

/// The sums of a partition.
#[derive(Debug, Clone, Default)]
struct Sums {
    /// The spec of the most recently added file.
    spec_id: i32,
    rows: i64,
    files: i32,
    bytes: i64,
    position_deletes: i64,
    position_delete_files: i32,
    equality_deletes: i64,
    equality_delete_files: i32,
    /// The commit time and the id of the latest snapshot that added a file.
    updated: Option<(i64, i64)>,
}

impl PartitionsTable {
    pub(super) fn new(table: &Table, snapshots: Vec<Arc<Snapshot>>) -> Result<Self> {
        let partition = partition_type(table.metadata());
        let mut fields = Vec::new();
        if !partition.fields.is_empty() {
            fields.push(Field::new("partition", DataType::Struct(arrow_fields(&partition)), false));
            fields.push(Field::new("spec_id", DataType::Int32, false));
        }
        fields.extend([
            Field::new("record_count", DataType::Int64, false),
            Field::new("file_count", DataType::Int32, false),
            Field::new("total_data_file_size_in_bytes", DataType::Int64, false),
            Field::new("position_delete_record_count", DataType::Int64, true),
            Field::new("position_delete_file_count", DataType::Int32, true),
            Field::new("equality_delete_record_count", DataType::Int64, true),
            Field::new("equality_delete_file_count", DataType::Int32, true),
            Field::new("last_updated_at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
            Field::new("last_updated_snapshot_id", DataType::Int64, true),
        ]);
        Ok(Self {
            table: table.clone(),
            files: FilesTable::new(table, snapshots, None, false)?,
            partition,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    fn rows(&self, context: &Context) -> Result<RecordBatch> {
        let mut partitions = Partitions::new(&self.partition)?;
        let times: HashMap<i64, i64> =
            self.table.metadata().snapshots.iter().map(|own| (own.snapshot_id, own.timestamp_ms)).collect();
        let wanted = |name: &str| matches!(name, "content" | "partition" | "file_size_in_bytes");
        for part in self.files.manifests(context)? {
            for entries in Manifest::open(&self.table, part, &wanted, context)? {
                context.check()?;
                partitions.add(&entries?, &self.partition, &times)?;
            }
        }
        self.batch(&partitions)
    }

    fn batch(&self, partitions: &Partitions) -> Result<RecordBatch> {
        let sums = &partitions.sums;
        let long = |of: fn(&Sums) -> i64| Arc::new(Int64Array::from_iter_values(sums.iter().map(of))) as ArrayRef;
        let int = |of: fn(&Sums) -> i32| Arc::new(Int32Array::from_iter_values(sums.iter().map(of))) as ArrayRef;
        let mut columns: Vec<ArrayRef> = Vec::new();
        if !self.partition.fields.is_empty() {
            columns.push(partitions.tuples(&self.partition)?);
            columns.push(int(|own| own.spec_id));
        }
        let at = sums.iter().map(|own| own.updated.map(|(time_ms, _)| time_ms.saturating_mul(1_000)));
        let at: TimestampMicrosecondArray = at.collect();
        columns.extend([
            long(|own| own.rows),
            int(|own| own.files),
            long(|own| own.bytes),
            long(|own| own.position_deletes),
            int(|own| own.position_delete_files),
            long(|own| own.equality_deletes),
            int(|own| own.equality_delete_files),
            Arc::new(at.with_timezone("UTC")),
            Arc::new(sums.iter().map(|own| own.updated.map(|(_, id)| id)).collect::<Int64Array>()),
        ]);
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

impl VirtualTable for PartitionsTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn parts(&self, _: &Context) -> Result<Vec<Part>> {
        Ok(vec![Part::new()])
    }

    fn read(&self, _: &[u8], columns: &[usize], context: &Context) -> Result<PartBatches> {
        Ok(Box::new(std::iter::once(Ok(self.rows(context)?.project(columns)?))))
    }
}

/// Sums by partition tuple across specs, in order of first occurrence. Unpartitioned specs are kept separate, as in
/// Java.
struct Partitions {
    /// The row converter; None for an unpartitioned tuple, which has no fields to convert.
    converter: Option<RowConverter>,
    places: HashMap<(bool, Option<OwnedRow>), usize>,
    tuples: Vec<OwnedRow>,
    sums: Vec<Sums>,
}

impl Partitions {
    fn new(partition: &StructType) -> Result<Self> {
        let fields = partition.fields.iter().map(|field| SortField::new(arrow_type(&field.field_type)));
        let fields: Vec<_> = fields.collect();
        let converter = if fields.is_empty() { None } else { Some(RowConverter::new(fields)?) };
        Ok(Self { converter, places: HashMap::new(), tuples: Vec::new(), sums: Vec::new() })
    }

    fn add(&mut self, entries: &InspectedEntries, partition: &StructType, times: &HashMap<i64, i64>) -> Result<()> {
        let mistyped = || Error::internal("manifest entries do not have the expected columns");
        let tuples = entries.partition(partition)?;
        let tuples = tuples.as_struct_opt().ok_or_else(mistyped)?;
        let columns: Vec<ArrayRef> = tuples.columns().iter().map(one_nan).collect();
        let keys = self.converter.as_ref().map(|converter| converter.convert_columns(&columns)).transpose()?;
        let contents = entries.files()?.column_by_name("content").and_then(|own| own.as_primitive_opt::<Int32Type>());
        let contents = contents.ok_or_else(mistyped)?;
        let (counts, sizes) = (entries.file_long("record_count")?, entries.file_long("file_size_in_bytes")?);
        let (status, snapshots) = (entries.status()?, entries.long("snapshot_id")?);
        for row in (0..entries.len()).filter(|&row| status.value(row) != DELETED) {
            let key = (entries.is_unpartitioned(), keys.as_ref().map(|keys| keys.row(row).owned()));
            let next = self.sums.len();
            let place = *self.places.entry(key.clone()).or_insert(next);
            if place == next {
                self.sums.push(Sums::default());
                self.tuples.extend(key.1);
            }
            let Some(sums) = self.sums.get_mut(place) else { continue };
            let content = if contents.is_valid(row) { contents.value(row) } else { 0 };
            let snapshot = snapshots.is_valid(row).then(|| snapshots.value(row));
            sums.add(content, counts.value(row), sizes.value(row));
            let added = snapshot.and_then(|id| Some((*times.get(&id)?, id)));
            if added.map(|(time, _)| time) > sums.updated.map(|(time, _)| time) {
                sums.updated = added;
                sums.spec_id = entries.spec_id();
            }
        }
        Ok(())
    }

    fn tuples(&self, partition: &StructType) -> Result<ArrayRef> {
        let converter = self.converter.as_ref().ok_or_else(|| Error::internal("the partition type has no fields"))?;
        let columns = converter.convert_rows(self.tuples.iter().map(OwnedRow::row))?;
        Ok(Arc::new(StructArray::try_new(arrow_fields(partition), columns, None)?))
    }
}

impl Sums {
    fn add(&mut self, content: i32, rows: i64, bytes: i64) {
        let (deleted, files) = match content {
            POSITION_DELETES => (&mut self.position_deletes, &mut self.position_delete_files),
            EQUALITY_DELETES => (&mut self.equality_deletes, &mut self.equality_delete_files),
            _ => {
                self.bytes = self.bytes.saturating_add(bytes);
                (&mut self.rows, &mut self.files)
            }
        };
        *deleted = deleted.saturating_add(rows);
        *files = files.saturating_add(1);
    }
}
