//! The wire form of a worker's output, which is sent to the process that commits.
//!
//! The form is an [envelope] of one record batch with one row:
//!
//! ```text
//! spec_id  data_files         deletions                              matched
//! 0        [data_file, …]     [{task, path, rows, before, goes}, …]  …
//! ```
//!
//! `data_files` are rows of `data_file` ([`manifest_rows`](crate::spec::manifest_rows)). `rows` and `before` are
//! deletion vectors in the form of the spec: newly deleted positions, and those that were deleted before. `matched` has
//! a bit for each source row of a merge, set if the row matched. File locations are checked before they are trusted.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use arrow_select::concat::concat;
use frazil_core::bitmap::Positions;
use frazil_core::envelope::{self, EnvelopeKind};
use frazil_core::error::{Error, ErrorKind, Result};

use super::location::LocationProvider;
use crate::deletes::vector;
use crate::files::AddedFiles;
use crate::read::FileFormat;
use crate::spec::manifest::FileContent;
use crate::spec::manifest_rows::rows_schema;
use crate::spec::manifest_type::data_file;
use crate::spec::table_metadata::TableMetadata;

/// The version of the wire form that this library writes and reads.
pub const VERSION: &str = "1";

const MESSAGE: EnvelopeKind = EnvelopeKind { name: "commit message", key: "frazil.message", version: VERSION };

/// The output of one worker.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// The data files, all of one spec.
    pub data: Option<AddedFiles>,
    /// The data files from which rows are deleted.
    pub deletions: Vec<Deletion>,
    /// The matched source rows of a merge, one bit per row; empty for other operations.
    pub matched: Vec<u8>,
}

/// A data file from which rows are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The position among the tasks that were sent to the worker.
    pub task: usize,
    /// The location, as recorded.
    pub path: String,
    /// The newly deleted rows.
    pub rows: Positions,
    /// The rows that were deleted before.
    pub before: Positions,
    /// Whether the whole file is removed.
    pub goes: bool,
}

impl Message {
    /// Serialises the message.
    ///
    /// # Errors
    /// `LimitExceeded` for deletions that exceed the size of a deletion vector or a message.
    pub fn write(&self) -> Result<Vec<u8>> {
        let (spec_id, data) = match &self.data {
            Some(files) => (Some(files.spec_id), list_of(files.data_files.clone())?),
            None => (None, list_of(StructArray::new_empty_fields(0, None))?),
        };
        let vectors = |of: fn(&Deletion) -> &Positions| -> Result<ArrayRef> {
            let blobs = self.deletions.iter().map(|deletion| vector::encode(of(deletion)));
            let blobs = blobs.collect::<Result<Vec<_>>>()?;
            check_length(blobs.iter().map(Vec::len))?;
            Ok(Arc::new(BinaryArray::from_iter_values(blobs)))
        };
        let task = |deletion: &Deletion| {
            i32::try_from(deletion.task).map_err(|_| Error::invalid("a group has more than 2^31 tasks"))
        };
        check_length(self.deletions.iter().map(|deletion| deletion.path.len()))?;
        let tasks = self.deletions.iter().map(task).collect::<Result<Vec<_>>>()?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(tasks)),
            Arc::new(StringArray::from_iter_values(self.deletions.iter().map(|deletion| &deletion.path))),
            vectors(|deletion| &deletion.rows)?,
            vectors(|deletion| &deletion.before)?,
            Arc::new(self.deletions.iter().map(|deletion| Some(deletion.goes)).collect::<BooleanArray>()),
        ];
        let deletions = StructArray::try_new_with_length(deletion_fields(), columns, None, self.deletions.len())?;
        let columns: [(&str, ArrayRef); 4] = [
            ("spec_id", Arc::new(Int32Array::from(vec![spec_id]))),
            ("data_files", Arc::new(data)),
            ("deletions", Arc::new(list_of(deletions)?)),
            ("matched", Arc::new(BinaryArray::from_iter_values([&self.matched]))),
        ];
        envelope::seal(MESSAGE, String::new(), RecordBatch::try_from_iter(columns)?)
    }

    /// Deserialises a message that was written for a table.
    ///
    /// # Errors
    /// `Unsupported` for another version; `CorruptData` for any other input that [`Message::write`] did not write;
    /// `InvalidArgument` for files outside the table's data folder or with a spec that the table does not have.
    pub fn read(bytes: &[u8], table: &TableMetadata) -> Result<Self> {
        let (_, batch) = envelope::open(MESSAGE, bytes)?;
        if batch.num_rows() != 1 {
            return Err(malformed("it does not have exactly one row"));
        }
        let spec_id = column(&batch, "spec_id")?.as_primitive_opt::<Int32Type>();
        let spec_id = spec_id.ok_or_else(|| malformed("`spec_id` is not an int"))?;
        let files = rows_of(column(&batch, "data_files")?)?;
        let data = match spec_id.iter().next().flatten() {
            Some(spec_id) => Some(AddedFiles { spec_id, data_files: checked(files, spec_id, table)? }),
            None if files.is_empty() => None,
            None => return Err(malformed("its data files have no spec")),
        };
        let matched = column(&batch, "matched")?.as_binary_opt::<i32>().filter(|bits| bits.null_count() == 0);
        let matched = matched.and_then(|bits| bits.iter().next().flatten());
        Ok(Self {
            data,
            deletions: deletions(&rows_of(column(&batch, "deletions")?)?)?,
            matched: matched.ok_or_else(|| malformed("`matched` is not binary"))?.to_vec(),
        })
    }
}

/// Returns the data files of messages, grouped by spec so that they share manifests.
///
/// None for messages that were read for one table.
pub fn data_of<'a>(messages: impl Iterator<Item = &'a Message>) -> Result<Vec<AddedFiles>> {
    let mut groups: Vec<(i32, Vec<&dyn Array>)> = Vec::new();
    for files in messages.filter_map(|message| message.data.as_ref()) {
        match groups.iter_mut().find(|(spec_id, _)| *spec_id == files.spec_id) {
            Some((_, members)) => members.push(&files.data_files),
            None => groups.push((files.spec_id, vec![&files.data_files])),
        }
    }
    let together = |(spec_id, members): (i32, Vec<&dyn Array>)| {
        let data_files = concat(&members)?;
        let data_files = data_files.as_struct_opt().ok_or_else(|| Error::internal("data files are not structs"))?;
        Ok(AddedFiles { spec_id, data_files: data_files.clone() })
    };
    groups.into_iter().map(together).collect()
}

/// Checks rows of `data_file`.
fn checked(files: StructArray, spec_id: i32, table: &TableMetadata) -> Result<StructArray> {
    let spec = table.spec(spec_id)?;
    let expected = rows_schema(&data_file(3, table.partition_type(spec)));
    if files.fields() != expected.fields() {
        return Err(malformed("the fields of its data files do not match those of the table"));
    }
    if files.null_count() > 0 {
        return Err(malformed("a data file is NULL"));
    }
    let text = |name: &str| -> Result<StringArray> {
        let values = files.column_by_name(name).and_then(|values| values.as_string_opt::<i32>());
        values.filter(|values| values.null_count() == 0).cloned().ok_or_else(|| malformed("a string is missing"))
    };
    let locations = LocationProvider::of(table)?;
    if let Some(path) = text("file_path")?.iter().flatten().find(|path| !locations.holds(path)) {
        let message = "a data file is outside the table's data folder";
        return Err(Error::invalid(message).with("file", path));
    }
    if text("file_format")?.iter().flatten().any(|format| FileFormat::parse(format).is_err()) {
        return Err(malformed("a data file has an unknown format"));
    }
    let content = files.column_by_name("content").and_then(|values| values.as_primitive_opt::<Int32Type>());
    let is_data = |code: Option<i32>| code == Some(FileContent::Data.code());
    if !content.is_some_and(|codes| codes.iter().all(is_data)) {
        return Err(malformed("a file is not a data file"));
    }
    for name in ["record_count", "file_size_in_bytes"] {
        let numbers = files.column_by_name(name).and_then(|values| values.as_primitive_opt::<Int64Type>());
        if !numbers.is_some_and(|numbers| numbers.iter().all(|number| number.is_some_and(|number| number >= 0))) {
            return Err(malformed("a count is missing or negative"));
        }
    }
    for name in ["column_sizes", "value_counts", "null_value_counts", "nan_value_counts"] {
        let entries = files.column_by_name(name).and_then(|lists| lists.as_list_opt::<i32>());
        let entries = entries.and_then(|lists| lists.values().as_struct_opt());
        let counts = entries.and_then(|entries| entries.columns().get(1)?.as_primitive_opt::<Int64Type>());
        if !counts.is_some_and(|counts| counts.iter().flatten().all(|count| count >= 0)) {
            return Err(malformed("a column count is negative"));
        }
    }
    Ok(files)
}

fn deletions(rows: &StructArray) -> Result<Vec<Deletion>> {
    if rows.fields() != &deletion_fields() || rows.columns().iter().any(|column| column.null_count() > 0) {
        return Err(malformed("its deletions do not have the expected fields"));
    }
    let unfit = || malformed("a deletion does not have the expected type");
    let [tasks, paths, now, before, goes] = rows.columns() else { return Err(unfit()) };
    let tasks = tasks.as_primitive_opt::<Int32Type>().ok_or_else(unfit)?;
    let paths = paths.as_string_opt::<i32>().ok_or_else(unfit)?;
    let now = now.as_binary_opt::<i32>().ok_or_else(unfit)?;
    let before = before.as_binary_opt::<i32>().ok_or_else(unfit)?;
    let goes = goes.as_boolean_opt().ok_or_else(unfit)?;
    let deletion = |row: usize| {
        Ok(Deletion {
            task: usize::try_from(tasks.value(row)).map_err(|_| unfit())?,
            path: paths.value(row).to_string(),
            rows: vector::decode(now.value(row), None)?,
            before: vector::decode(before.value(row), None)?,
            goes: goes.value(row),
        })
    };
    (0..rows.len()).map(deletion).collect()
}

fn deletion_fields() -> Fields {
    let field = |name: &str, data_type| Field::new(name, data_type, false);
    vec![
        field("task", DataType::Int32),
        field("path", DataType::Utf8),
        field("rows", DataType::Binary),
        field("before", DataType::Binary),
        field("goes", DataType::Boolean),
    ]
    .into()
}

/// Rejects values that do not fit in one column, whose offsets have 32 bits.
fn check_length(lengths: impl Iterator<Item = usize>) -> Result<()> {
    let total = lengths.fold(0, usize::saturating_add);
    if i32::try_from(total).is_ok() {
        return Ok(());
    }
    let message = format!("{total} bytes of deletions in one commit message exceed the limit of 2 GiB");
    Err(Error::new(ErrorKind::LimitExceeded, message).hint("delete the rows in several steps, or in more tasks"))
}

/// Returns a list of all rows, as one row.
fn list_of(rows: StructArray) -> Result<ListArray> {
    let field = Arc::new(Field::new("item", rows.data_type().clone(), false));
    let offsets = OffsetBuffer::from_lengths([rows.len()]);
    Ok(ListArray::try_new(field, offsets, Arc::new(rows), None)?)
}

/// Returns the rows passed to [`list_of`].
fn rows_of(list: &ArrayRef) -> Result<StructArray> {
    let list = list.as_list_opt::<i32>().filter(|list| list.len() == 1 && list.null_count() == 0);
    let rows = list.map(|list| list.value(0)).ok_or_else(|| malformed("a list is missing"))?;
    rows.as_struct_opt().cloned().ok_or_else(|| malformed("a list does not contain structs"))
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| malformed("a column is missing"))
}

fn malformed(why: &str) -> Error {
    Error::corrupt(format!("malformed commit message: {why}"))
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
