//! The wire form of what a worker wrote: shipped to whoever commits.
//!
//! An [envelope] of one record batch with one row:
//!
//! ```text
//! spec_id  data_files         deletions                              matched
//! 0        [data_file, …]     [{task, path, rows, before, goes}, …]  …
//! ```
//!
//! `data_files` are rows of `data_file` ([`manifest_rows`](crate::spec::manifest_rows)). `rows` and `before` are
//! deletion vectors of the spec: positions that are deleted now, and that were deleted before. `matched` are the rows of
//! the source of a merge that matched, a bit for each. Where files lie is checked before it is believed.

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
use frazil_core::envelope::{self, Kind};
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

const MESSAGE: Kind = Kind { name: "commit message", key: "frazil.message", version: VERSION };

/// What one worker wrote.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Data files, all of one spec.
    pub data: Option<AddedFiles>,
    /// Data files that lose rows.
    pub deletions: Vec<Deletion>,
    /// Which rows of the source of a merge matched, a bit for each; may be empty.
    pub matched: Vec<u8>,
}

/// A data file that loses rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// Its place among the tasks that the worker was given.
    pub task: usize,
    /// Where it lies, as recorded.
    pub path: String,
    /// Rows that are deleted now.
    pub rows: Positions,
    /// Rows that were deleted before.
    pub before: Positions,
    /// Whether the whole file goes.
    pub goes: bool,
}

impl Message {
    /// Writes the message.
    ///
    /// # Errors
    /// `LimitExceeded` for deletions that a vector or a message does not hold.
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
            i32::try_from(deletion.task).map_err(|_| Error::invalid("above 2^31 tasks in one group"))
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

    /// Reads a message that was written for a table.
    ///
    /// # Errors
    /// `Unsupported` for another version; `CorruptData` for anything else that was not written by [`Message::write`];
    /// `InvalidArgument` for files that are not where the table is written or of a spec that it does not have.
    pub fn read(bytes: &[u8], table: &TableMetadata) -> Result<Self> {
        let (_, batch) = envelope::open(MESSAGE, bytes)?;
        if batch.num_rows() != 1 {
            return Err(malformed("it has another number of rows than one"));
        }
        let spec_id = column(&batch, "spec_id")?.as_primitive_opt::<Int32Type>();
        let spec_id = spec_id.ok_or_else(|| malformed("`spec_id` is no int"))?;
        let files = rows_of(column(&batch, "data_files")?)?;
        let data = match spec_id.iter().next().flatten() {
            Some(spec_id) => Some(AddedFiles { spec_id, data_files: checked(files, spec_id, table)? }),
            None if files.is_empty() => None,
            None => return Err(malformed("data files without a spec")),
        };
        let matched = column(&batch, "matched")?.as_binary_opt::<i32>().filter(|bits| bits.null_count() == 0);
        let matched = matched.and_then(|bits| bits.iter().next().flatten());
        Ok(Self {
            data,
            deletions: deletions(&rows_of(column(&batch, "deletions")?)?)?,
            matched: matched.ok_or_else(|| malformed("`matched` is no bits"))?.to_vec(),
        })
    }
}

/// The data files of messages: of each spec together, so that they share manifests.
///
/// # Errors
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
        let data_files = data_files.as_struct_opt().ok_or_else(|| Error::internal("data files are structs"))?;
        Ok(AddedFiles { spec_id, data_files: data_files.clone() })
    };
    groups.into_iter().map(together).collect()
}

/// Checks rows of `data_file`.
fn checked(files: StructArray, spec_id: i32, table: &TableMetadata) -> Result<StructArray> {
    let spec = table.spec(spec_id)?;
    let expected = rows_schema(&data_file(3, table.partition_type(spec)));
    if files.fields() != expected.fields() {
        return Err(malformed("its data files have other fields than those of the table"));
    }
    if files.null_count() > 0 {
        return Err(malformed("a data file is NULL"));
    }
    let text = |name: &str| -> Result<StringArray> {
        let values = files.column_by_name(name).and_then(|values| values.as_string_opt::<i32>());
        values.filter(|values| values.null_count() == 0).cloned().ok_or_else(|| malformed("a text is missing"))
    };
    let locations = LocationProvider::of(table)?;
    if let Some(path) = text("file_path")?.iter().flatten().find(|path| !locations.holds(path)) {
        let message = "a data file is not where the table is written";
        return Err(Error::invalid(message).with("file", path));
    }
    if text("file_format")?.iter().flatten().any(|format| FileFormat::parse(format).is_err()) {
        return Err(malformed("a data file of an unknown format"));
    }
    let content = files.column_by_name("content").and_then(|values| values.as_primitive_opt::<Int32Type>());
    let is_data = |code: Option<i32>| code == Some(FileContent::Data.code());
    if !content.is_some_and(|codes| codes.iter().all(is_data)) {
        return Err(malformed("a file that is no data file"));
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
            return Err(malformed("a count of a column is negative"));
        }
    }
    Ok(files)
}

fn deletions(rows: &StructArray) -> Result<Vec<Deletion>> {
    if rows.fields() != &deletion_fields() || rows.columns().iter().any(|column| column.null_count() > 0) {
        return Err(malformed("its deletions have other fields"));
    }
    let unfit = || malformed("a deletion is of another type");
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

/// Refuses values that one column does not hold: its offsets have 32 bits.
fn check_length(lengths: impl Iterator<Item = usize>) -> Result<()> {
    let total = lengths.fold(0, usize::saturating_add);
    if i32::try_from(total).is_ok() {
        return Ok(());
    }
    let message = format!("{total} bytes of deletions in one commit message, more than 2 GiB");
    Err(Error::new(ErrorKind::LimitExceeded, message).hint("delete in several steps, or in more tasks"))
}

/// A list of all rows, as one row.
fn list_of(rows: StructArray) -> Result<ListArray> {
    let field = Arc::new(Field::new("item", rows.data_type().clone(), false));
    let offsets = OffsetBuffer::from_lengths([rows.len()]);
    Ok(ListArray::try_new(field, offsets, Arc::new(rows), None)?)
}

/// What [`list_of`] was given.
fn rows_of(list: &ArrayRef) -> Result<StructArray> {
    let list = list.as_list_opt::<i32>().filter(|list| list.len() == 1 && list.null_count() == 0);
    let rows = list.map(|list| list.value(0)).ok_or_else(|| malformed("a list is missing"))?;
    rows.as_struct_opt().cloned().ok_or_else(|| malformed("a list of something else"))
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| malformed("a column is missing"))
}

fn malformed(why: &str) -> Error {
    Error::corrupt(format!("a malformed commit message: {why}"))
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
