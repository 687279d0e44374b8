//! Returns a plan as Arrow batches: one row for each data file, in the order of the splits.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder, Int64Builder, StringBuilder};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use frazil_core::error::{Error, Result};

use super::plan::{Plan, Planned};

/// The number of files from which a batch is closed at the end of a split.
const BATCH_FILES: usize = 8192;

/// Returns the schema of a plan. `partition` is the folder of the partition (`p=1/q=a`), `split` the number of the
/// split, `deletion_file` the location of the file with the deletion vector.
pub fn plan_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("partition", DataType::Utf8, false),
        Field::new("bucket", DataType::Int32, false),
        Field::new("file_path", DataType::Utf8, false),
        Field::new("file_size_in_bytes", DataType::Int64, false),
        Field::new("row_count", DataType::Int64, false),
        Field::new("level", DataType::Int32, false),
        Field::new("schema_id", DataType::Int64, false),
        Field::new("split", DataType::Int64, false),
        Field::new("raw_convertible", DataType::Boolean, false),
        Field::new("deletion_file", DataType::Utf8, true),
    ]))
}

/// Returns the batches of a plan, with those of the fallback branch last.
pub fn batches(plan: &Plan) -> SplitBatches<'_> {
    SplitBatches { plan, split: 0, before: 0, folders: vec![None; plan.partitions.rows().len()] }
}

/// An iterator over the batches of a plan.
#[derive(Debug)]
pub struct SplitBatches<'a> {
    plan: &'a Plan,
    split: usize,
    /// The number of splits in the earlier plans of the iteration, so that numbers continue in the plan of the fallback
    /// branch.
    before: usize,
    /// The folders of partitions, computed on first use.
    folders: Vec<Option<Arc<str>>>,
}

impl Iterator for SplitBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.split >= self.plan.splits.len() {
            let before = self.before + self.plan.splits.len();
            *self = Self { before, ..batches(self.plan.fallback()?) };
        }
        Some(self.batch())
    }
}

impl SplitBatches<'_> {
    fn batch(&mut self) -> Result<RecordBatch> {
        let mut rows = StreamRows::default();
        while rows.files < BATCH_FILES
            && let Some(planned) = self.plan.splits.get(self.split)
        {
            let number = i64::try_from(self.before + self.split).unwrap_or(i64::MAX);
            self.append(&mut rows, planned, number)?;
            self.split += 1;
        }
        rows.finish()
    }

    /// Appends the files of a split, which all belong to one bucket.
    fn append(&mut self, rows: &mut StreamRows, planned: &Planned, number: i64) -> Result<()> {
        let (plan, entries) = (self.plan, &self.plan.entries);
        let Some(first) = plan.rows(planned).next() else { return Ok(()) };
        let bucket = entries.buckets().value(first);
        let folder = self.folder(plan.partitions.of(first))?;
        let path = format!("{}/{}", plan.read.table_location, plan.read.bucket_path(&folder, bucket)?);
        for row in plan.rows(planned) {
            rows.partition.append_value(&folder);
            rows.bucket.append_value(bucket);
            if entries.external_paths().is_valid(row) {
                rows.file_path.append_value(entries.external_paths().value(row));
            } else {
                write!(rows.file_path, "{path}/{}", entries.file_names().value(row))
                    .map_err(|_| Error::internal("cannot write to a string"))?;
                rows.file_path.append_value("");
            }
            rows.file_size_in_bytes.append_value(entries.file_sizes().value(row));
            rows.row_count.append_value(entries.row_counts().value(row));
            rows.level.append_value(entries.levels().value(row));
            rows.schema_id.append_value(entries.schema_ids().value(row));
            rows.split.append_value(number);
            rows.raw_convertible.append_value(planned.raw_convertible);
            rows.deletion_file.append_option(plan.deletion_file(row).map(|vector| &vector.path));
            rows.files += 1;
        }
        Ok(())
    }

    fn folder(&mut self, partition: usize) -> Result<Arc<str>> {
        if let Some(Some(folder)) = self.folders.get(partition) {
            return Ok(folder.clone());
        }
        let folder: Arc<str> = self.plan.partitions.folder(&self.plan.read, partition)?.into();
        if let Some(place) = self.folders.get_mut(partition) {
            *place = Some(folder.clone());
        }
        Ok(folder)
    }
}

#[derive(Default)]
struct StreamRows {
    files: usize,
    partition: StringBuilder,
    bucket: Int32Builder,
    file_path: StringBuilder,
    file_size_in_bytes: Int64Builder,
    row_count: Int64Builder,
    level: Int32Builder,
    schema_id: Int64Builder,
    split: Int64Builder,
    raw_convertible: BooleanBuilder,
    deletion_file: StringBuilder,
}

impl StreamRows {
    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.partition.finish()),
            Arc::new(self.bucket.finish()),
            Arc::new(self.file_path.finish()),
            Arc::new(self.file_size_in_bytes.finish()),
            Arc::new(self.row_count.finish()),
            Arc::new(self.level.finish()),
            Arc::new(self.schema_id.finish()),
            Arc::new(self.split.finish()),
            Arc::new(self.raw_convertible.finish()),
            Arc::new(self.deletion_file.finish()),
        ];
        Ok(RecordBatch::try_new(plan_schema(), columns)?)
    }
}
