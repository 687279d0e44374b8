//! Converts splits to a record batch with a row for each data file.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, UInt32Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use frazil_core::error::{Error, Result};

use crate::context::split::DataSplit;
use crate::read::scan_read::ScanRead;
use crate::spec::data_file_meta::{DataFileMeta, DeletionFile};
use crate::task::SplitTask;

#[derive(Default)]
struct Columns {
    split: UInt32Builder,
    before: BooleanBuilder,
    snapshot_id: Int64Builder,
    partition: BinaryBuilder,
    bucket: Int32Builder,
    total_buckets: Int32Builder,
    bucket_path: StringBuilder,
    raw_convertible: BooleanBuilder,
    streaming: BooleanBuilder,
    file_name: StringBuilder,
    file_size_bytes: Int64Builder,
    row_count: Int64Builder,
    min_key: BinaryBuilder,
    max_key: BinaryBuilder,
    min_sequence_number: Int64Builder,
    max_sequence_number: Int64Builder,
    schema_id: Int64Builder,
    level: Int32Builder,
    extra_files: ListBuilder<StringBuilder>,
    creation_time_ms: Int64Builder,
    delete_row_count: Int64Builder,
    embedded_file_index: BinaryBuilder,
    file_source: Int32Builder,
    external_path: StringBuilder,
    first_row_id: Int64Builder,
    write_cols: ListBuilder<StringBuilder>,
    deletion_path: StringBuilder,
    deletion_offset: Int64Builder,
    deletion_length: Int64Builder,
    deletion_cardinality: Int64Builder,
}

/// Writes splits. State that only planning needs (which columns have statistics) is left out.
///
/// # Errors
/// `InvalidArgument` for a split without files, which would have no row.
pub(super) fn write(tasks: &[SplitTask]) -> Result<RecordBatch> {
    if tasks.iter().any(|task| task.split.files.is_empty()) {
        return Err(Error::invalid("a split has no files"));
    }
    let mut columns = Columns::default();
    for (number, task) in (0_u32..).zip(tasks) {
        for (before, split) in [(false, Some(&task.split)), (true, task.before.as_ref())] {
            let files = split.into_iter().flat_map(|split| split.files.iter().enumerate().map(move |f| (split, f)));
            for (split, (at, file)) in files {
                columns.split.append_value(number);
                columns.before.append_value(before);
                columns.push_split(split);
                columns.push_file(file);
                columns.push_deletion(split.deletion_files.get(at).and_then(Option::as_ref));
            }
        }
    }
    columns.finish()
}

/// Reads splits.
///
/// # Errors
/// `CorruptData` if columns are missing or have invalid values.
pub(super) fn read(batch: &RecordBatch, read: &Arc<ScanRead>) -> Result<Vec<SplitTask>> {
    let rows = WireRows(batch);
    let mut tasks: Vec<SplitTask> = Vec::new();
    let mut last = None;
    for row in 0..batch.num_rows() {
        let number = rows.column("split")?.as_primitive_opt::<UInt32Type>().ok_or_else(malformed)?.value(row);
        if last != Some(number) {
            tasks.push(SplitTask { read: read.clone(), split: rows.split(row)?, before: None });
            last = Some(number);
        }
        let task = tasks.last_mut().ok_or_else(malformed)?;
        let split = if rows.truth("before", row)? {
            match &mut task.before {
                Some(before) => before,
                none => none.insert(rows.split(row)?),
            }
        } else {
            &mut task.split
        };
        split.files.push(rows.file(row)?);
        split.deletion_files.push(rows.deletion(row)?);
    }
    if tasks.iter().any(|task| task.split.files.is_empty()) {
        return Err(malformed());
    }
    Ok(tasks)
}

impl Columns {
    fn push_split(&mut self, split: &DataSplit) {
        self.snapshot_id.append_value(split.snapshot_id);
        self.partition.append_value(&split.partition);
        self.bucket.append_value(split.bucket);
        self.total_buckets.append_value(split.total_buckets);
        self.bucket_path.append_value(&split.bucket_path);
        self.raw_convertible.append_value(split.raw_convertible);
        self.streaming.append_value(split.streaming);
    }

    fn push_file(&mut self, file: &DataFileMeta) {
        self.file_name.append_value(&file.file_name);
        self.file_size_bytes.append_value(file.file_size_bytes);
        self.row_count.append_value(file.row_count);
        self.min_key.append_value(&file.min_key);
        self.max_key.append_value(&file.max_key);
        self.min_sequence_number.append_value(file.min_sequence_number);
        self.max_sequence_number.append_value(file.max_sequence_number);
        self.schema_id.append_value(file.schema_id);
        self.level.append_value(file.level);
        self.extra_files.append_value(file.extra_files.iter().map(Some));
        self.creation_time_ms.append_option(file.creation_time_ms);
        self.delete_row_count.append_option(file.delete_row_count);
        self.embedded_file_index.append_option(file.embedded_file_index.as_ref());
        self.file_source.append_option(file.file_source);
        self.external_path.append_option(file.external_path.as_ref());
        self.first_row_id.append_option(file.first_row_id);
        self.write_cols.append_option(file.write_cols.as_ref().map(|names| names.iter().map(Some)));
    }

    fn push_deletion(&mut self, deletion: Option<&DeletionFile>) {
        self.deletion_path.append_option(deletion.map(|file| &file.path));
        self.deletion_offset.append_option(deletion.map(|file| file.offset));
        self.deletion_length.append_option(deletion.map(|file| file.length));
        self.deletion_cardinality.append_option(deletion.and_then(|file| file.cardinality));
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: [(&str, ArrayRef); 30] = [
            ("split", Arc::new(self.split.finish())),
            ("before", Arc::new(self.before.finish())),
            ("snapshot_id", Arc::new(self.snapshot_id.finish())),
            ("partition", Arc::new(self.partition.finish())),
            ("bucket", Arc::new(self.bucket.finish())),
            ("total_buckets", Arc::new(self.total_buckets.finish())),
            ("bucket_path", Arc::new(self.bucket_path.finish())),
            ("raw_convertible", Arc::new(self.raw_convertible.finish())),
            ("streaming", Arc::new(self.streaming.finish())),
            ("file_name", Arc::new(self.file_name.finish())),
            ("file_size_bytes", Arc::new(self.file_size_bytes.finish())),
            ("row_count", Arc::new(self.row_count.finish())),
            ("min_key", Arc::new(self.min_key.finish())),
            ("max_key", Arc::new(self.max_key.finish())),
            ("min_sequence_number", Arc::new(self.min_sequence_number.finish())),
            ("max_sequence_number", Arc::new(self.max_sequence_number.finish())),
            ("schema_id", Arc::new(self.schema_id.finish())),
            ("level", Arc::new(self.level.finish())),
            ("extra_files", Arc::new(self.extra_files.finish())),
            ("creation_time_ms", Arc::new(self.creation_time_ms.finish())),
            ("delete_row_count", Arc::new(self.delete_row_count.finish())),
            ("embedded_file_index", Arc::new(self.embedded_file_index.finish())),
            ("file_source", Arc::new(self.file_source.finish())),
            ("external_path", Arc::new(self.external_path.finish())),
            ("first_row_id", Arc::new(self.first_row_id.finish())),
            ("write_cols", Arc::new(self.write_cols.finish())),
            ("deletion_path", Arc::new(self.deletion_path.finish())),
            ("deletion_offset", Arc::new(self.deletion_offset.finish())),
            ("deletion_length", Arc::new(self.deletion_length.finish())),
            ("deletion_cardinality", Arc::new(self.deletion_cardinality.finish())),
        ];
        // All columns are nullable, so that the schema of the wire form is always the same.
        Ok(RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))?)
    }
}

struct WireRows<'a>(&'a RecordBatch);

impl<'a> WireRows<'a> {
    fn column(&self, name: &str) -> Result<&'a ArrayRef> {
        self.0.column_by_name(name).ok_or_else(malformed)
    }

    fn maybe_long(&self, name: &str, row: usize) -> Result<Option<i64>> {
        let column = self.column(name)?.as_primitive_opt::<Int64Type>().ok_or_else(malformed)?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    }

    fn long(&self, name: &str, row: usize) -> Result<i64> {
        self.maybe_long(name, row)?.ok_or_else(malformed)
    }

    fn maybe_int(&self, name: &str, row: usize) -> Result<Option<i32>> {
        let column = self.column(name)?.as_primitive_opt::<Int32Type>().ok_or_else(malformed)?;
        Ok(column.is_valid(row).then(|| column.value(row)))
    }

    fn int(&self, name: &str, row: usize) -> Result<i32> {
        self.maybe_int(name, row)?.ok_or_else(malformed)
    }

    fn truth(&self, name: &str, row: usize) -> Result<bool> {
        Ok(self.column(name)?.as_boolean_opt().ok_or_else(malformed)?.value(row))
    }

    fn maybe_text(&self, name: &str, row: usize) -> Result<Option<String>> {
        let column = self.column(name)?.as_string_opt::<i32>().ok_or_else(malformed)?;
        Ok(column.is_valid(row).then(|| column.value(row).to_string()))
    }

    fn text(&self, name: &str, row: usize) -> Result<String> {
        self.maybe_text(name, row)?.ok_or_else(malformed)
    }

    fn maybe_bytes(&self, name: &str, row: usize) -> Result<Option<Vec<u8>>> {
        let column = self.column(name)?.as_binary_opt::<i32>().ok_or_else(malformed)?;
        Ok(column.is_valid(row).then(|| column.value(row).to_vec()))
    }

    fn bytes(&self, name: &str, row: usize) -> Result<Vec<u8>> {
        self.maybe_bytes(name, row)?.ok_or_else(malformed)
    }

    fn texts(&self, name: &str, row: usize) -> Result<Option<Vec<String>>> {
        let column = self.column(name)?.as_list_opt::<i32>().ok_or_else(malformed)?;
        if column.is_null(row) {
            return Ok(None);
        }
        let values = column.value(row);
        let values = values.as_string_opt::<i32>().ok_or_else(malformed)?;
        Ok(Some(values.iter().flatten().map(str::to_string).collect()))
    }

    fn split(&self, row: usize) -> Result<DataSplit> {
        Ok(DataSplit {
            snapshot_id: self.long("snapshot_id", row)?,
            partition: self.bytes("partition", row)?,
            bucket: self.int("bucket", row)?,
            total_buckets: self.int("total_buckets", row)?,
            bucket_path: self.text("bucket_path", row)?,
            files: Vec::new(),
            deletion_files: Vec::new(),
            raw_convertible: self.truth("raw_convertible", row)?,
            streaming: self.truth("streaming", row)?,
        })
    }

    fn file(&self, row: usize) -> Result<DataFileMeta> {
        Ok(DataFileMeta {
            file_name: self.text("file_name", row)?,
            file_size_bytes: self.long("file_size_bytes", row)?,
            row_count: self.long("row_count", row)?,
            min_key: self.bytes("min_key", row)?,
            max_key: self.bytes("max_key", row)?,
            min_sequence_number: self.long("min_sequence_number", row)?,
            max_sequence_number: self.long("max_sequence_number", row)?,
            schema_id: self.long("schema_id", row)?,
            level: self.int("level", row)?,
            extra_files: self.texts("extra_files", row)?.unwrap_or_default(),
            creation_time_ms: self.maybe_long("creation_time_ms", row)?,
            delete_row_count: self.maybe_long("delete_row_count", row)?,
            embedded_file_index: self.maybe_bytes("embedded_file_index", row)?,
            file_source: self.maybe_int("file_source", row)?,
            value_stats_cols: None,
            external_path: self.maybe_text("external_path", row)?,
            first_row_id: self.maybe_long("first_row_id", row)?,
            write_cols: self.texts("write_cols", row)?,
        })
    }

    fn deletion(&self, row: usize) -> Result<Option<DeletionFile>> {
        let Some(path) = self.maybe_text("deletion_path", row)? else { return Ok(None) };
        Ok(Some(DeletionFile {
            path,
            offset: self.long("deletion_offset", row)?,
            length: self.long("deletion_length", row)?,
            cardinality: self.maybe_long("deletion_cardinality", row)?,
        }))
    }
}

fn malformed() -> Error {
    Error::corrupt("the files of a split are malformed")
}
