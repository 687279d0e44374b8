//! Writes the changelog of a compaction: the row of each changed key before and after it (documentation: "Changelog
//! Producer", `lookup` and `full-compaction`).
//!
//! | before | after | records |
//! | --- | --- | --- |
//! | none | row | `+I` after |
//! | row | none | `-D` before |
//! | row | row | `-U` before, `+U` after; none if both are equal and `changelog-producer.row-deduplicate` is set |
//!
//! With `merge-engine` = `first-row`, the row of a key never changes, so only inserts are written.

use std::collections::{BTreeMap, VecDeque};

use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, Int64Array, RecordBatch, StructArray};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave_record_batch;
use frazil_core::error::{Error, Result};

use crate::merge::{Trace, keeps_first};
use crate::read::unordered::with_ordered_entries;
use crate::spec::entries_builder::NewFile;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::table::Table;
use crate::write::changelog::Changelog;
use crate::write::file::{FileBuilder, FileSpec};
use crate::write::side_files::SideFiles;
use crate::write::upsert::Records;

const INSERT: i8 = 0;
const UPDATE_BEFORE: i8 = 1;
const UPDATE_AFTER: i8 = 2;
const DELETE: i8 = 3;

/// The changelog files of a compaction.
#[derive(Debug)]
pub(super) struct ChangelogOutput {
    level: i32,
    settings: Changelog,
    /// Whether the row of a key never changes.
    keeps_first: bool,
    /// Compares rows, if an unchanged row is left out.
    equality: Option<Equality>,
    /// Rows of files that wait to be written, by group.
    pending: VecDeque<(usize, RecordBatch)>,
    open: BTreeMap<usize, FileBuilder>,
    pub(super) files: Vec<NewFile>,
}

impl ChangelogOutput {
    /// Creates the output of one bucket, whose files have the level of the merge. Otherwise, readers that skip level 0
    /// would skip them.
    ///
    /// # Errors
    /// As for [`Changelog::try_new`]; `Unsupported` for columns whose values cannot be compared.
    pub(super) fn try_new(table: &Table, options: &Options, level: i32, utc_offset_ms: i64) -> Result<Self> {
        Ok(Self {
            level,
            settings: Changelog::try_new(table, options, (level, utc_offset_ms), None)?,
            keeps_first: keeps_first(options),
            equality: Equality::from_options(table.schema(), options)?,
            pending: VecDeque::new(),
            open: BTreeMap::new(),
            files: Vec::new(),
        })
    }

    /// Returns the encoding of the files.
    pub(super) fn spec(&self) -> &FileSpec {
        &self.settings.spec
    }

    /// Returns the changes of a batch of merged rows. `before` are the valid images of the trace.
    ///
    /// # Errors
    /// `LimitExceeded` for strings that exceed an Arrow column.
    pub(super) fn changes(&self, before: &Records, after: &Records, trace: &Trace) -> Result<Records> {
        let mut picks: Vec<(usize, usize)> = Vec::new();
        let mut kinds: Vec<i8> = Vec::new();
        let mut push = |source: usize, row: usize, kind: i8| {
            picks.push((source, row));
            kinds.push(kind);
        };
        let is_equal = self.equality.as_ref().map(|equality| equality.of(&before.values, &after.values)).transpose()?;
        let mut old = 0;
        for (row, kind) in after.kinds.values().iter().enumerate() {
            let is_added = kind & 1 == 0;
            let is_known = trace.before.is_valid(row);
            if trace.has_new.value(row) {
                match (is_known, is_added) {
                    (false, true) => push(1, row, INSERT),
                    (true, false) => push(0, old, DELETE),
                    (true, true) if self.keeps_first => {}
                    (true, true) if is_equal.as_ref().is_none_or(|equal| !equal.is_same(old, row)) => {
                        push(0, old, UPDATE_BEFORE);
                        push(1, row, UPDATE_AFTER);
                    }
                    _ => {}
                }
            }
            old += usize::from(is_known);
        }
        let sequences = [before.sequences.values(), after.sequences.values()];
        let number = |(source, row): &(usize, usize)| sequences.get(*source).and_then(|numbers| numbers.get(*row));
        let sequences: Int64Array = picks.iter().filter_map(number).copied().collect();
        let values = interleave_record_batch(&[&before.values, &after.values], &picks)?;
        Ok(Records { slot: 0, values, sequences, kinds: Int8Array::from(kinds) })
    }

    /// Adds rows of a file of a group.
    ///
    /// # Errors
    /// As for [`FileBuilder::add_records`].
    pub(super) fn push(&mut self, group: usize, records: &Records, keys: &[ArrayRef], rows: RecordBatch) -> Result<()> {
        let entries = self.settings.entries.clone();
        let file = self.open.entry(group).or_insert_with(|| FileBuilder::new(entries).at_level(self.level));
        file.add_records(records, keys)?;
        self.pending.push_back((group, rows));
        Ok(())
    }

    /// Returns the next rows to write.
    pub(super) fn next(&mut self) -> Option<(usize, RecordBatch)> {
        self.pending.pop_front()
    }

    /// Returns the location of the next file.
    ///
    /// # Errors
    /// As for [`crate::write::path::DataFilePaths::next_location`].
    pub(super) fn new_location(&mut self, folder: &str, bucket: i32, extension: &str) -> Result<String> {
        self.settings.paths.next_location(folder, bucket, extension)
    }

    /// Ends the current file of a group.
    ///
    /// # Errors
    /// `Internal` for a file without rows; `Storage` if the index of the file cannot be written.
    pub(super) fn close(
        &mut self,
        group: usize,
        path: &str,
        size_bytes: i64,
        side_files: &mut SideFiles,
    ) -> Result<()> {
        let file = self.open.remove(&group).ok_or_else(|| Error::internal("a changelog file has no rows"))?;
        let mut file = side_files.finish(file, path, size_bytes)?;
        file.meta.external_path = self.settings.paths.external_path(path);
        self.files.push(file);
        Ok(())
    }
}

/// Compares rows by all columns except the ignored ones (`changelog-producer.row-deduplicate`). Maps are equal if they
/// have the same entries in any order.
#[derive(Debug)]
struct Equality {
    converter: RowConverter,
    columns: Vec<usize>,
}

/// The comparable rows of two batches.
struct EqualRows {
    before: Rows,
    after: Rows,
}

impl EqualRows {
    fn is_same(&self, before: usize, after: usize) -> bool {
        self.before.row(before) == self.after.row(after)
    }
}

impl Equality {
    fn from_options(schema: &TableSchema, options: &Options) -> Result<Option<Self>> {
        if !options.boolean("changelog-producer.row-deduplicate", false)? {
            return Ok(None);
        }
        let ignored = options.list("changelog-producer.row-deduplicate-ignore-fields");
        let fields = schema.fields.iter().enumerate();
        let compared: Vec<_> = fields.filter(|(_, field)| !ignored.contains(&field.name.as_str())).collect();
        let types = compared.iter().map(|(_, field)| SortField::new(field.data_type.arrow())).collect();
        let converter = RowConverter::new(types).map_err(|error| {
            Error::unsupported("rows of these types cannot be compared for `changelog-producer.row-deduplicate`")
                .caused_by(error)
        })?;
        Ok(Some(Self { converter, columns: compared.into_iter().map(|(at, _)| at).collect() }))
    }

    fn of(&self, before: &RecordBatch, after: &RecordBatch) -> Result<EqualRows> {
        let rows = |batch: &RecordBatch| -> Result<Rows> {
            let column = |at: &usize| with_ordered_entries(batch.column(*at));
            Ok(self.converter.convert_columns(&self.columns.iter().map(column).collect::<Result<Vec<_>>>()?)?)
        };
        Ok(EqualRows { before: rows(before)?, after: rows(after)? })
    }
}

/// Returns the valid images of a trace, with the names of the columns of merged rows.
///
/// # Errors
/// Only internal errors.
pub(super) fn images(trace: &Trace) -> Result<RecordBatch> {
    let batch =
        RecordBatch::from(StructArray::try_new(trace.before.fields().clone(), trace.before.columns().to_vec(), None)?);
    let Some(valid) = trace.before.nulls() else { return Ok(batch) };
    let valid = BooleanArray::new(valid.inner().clone(), None);
    Ok(filter_record_batch(&batch, &valid)?)
}

/// Returns the row kinds of images, which add.
pub(super) fn added(rows: usize) -> Int8Array {
    Int8Array::from_value(INSERT, rows)
}
