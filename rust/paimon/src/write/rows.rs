//! Converts new rows of a table: aligns them, splits them by partition and bucket, and collects the changes of buckets.
//!
//! ```text
//! split(batch)*    rows that can be written now, with the slots of their files
//! next_sorted()*   the rows that waited until all were there, one slot at a time
//!     new_location(), close()   for each file, which the caller writes
//!     next_changelog()*   the records that they were merged from, if a changelog has them
//! changes()        one for each bucket, for a commit
//! ```
//!
//! Rows of primary-key tables are records: they are sorted and merged before they are written, see `upsert.rs`.
//!
//! A slot is a bucket with new rows. If the number of buckets is not fixed, sequence numbers begin at 0 in each write,
//! because readers do not compare them. Otherwise sequence numbers continue after the last one of the bucket.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::filter::{filter, filter_record_batch};
use arrow_select::take::take_record_batch;
use frazil_core::align::filled;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::groups::take_rows;
use frazil_core::sort::RowSorter;

use super::align::Align;
use super::avro_schema::avro_schema;
use super::change::{BucketChange, Home, Increment};
use super::changelog::{Changelog, is_of_input};
use super::check::check_writable;
use super::defaults::Defaults;
use super::dynamic_buckets::NewIndex;
use super::file::{EntrySettings, FileBuilder, FileSpec};
use super::file_schema::FileSchema;
use super::format::Blanks;
use super::index_files::IndexFiles;
use super::kinds;
use super::path::DataFilePaths;
use super::postponed::{assigning, waiting, waits};
use super::restore::Restorer;
use super::row_placement::{Part, Placed, RowPlacement};
use super::side_files::SideFiles;
use super::upsert::{Records, Upserts};
use crate::spec::columns::ROW_KIND;
use crate::spec::entries_builder::{BucketOf, EntriesBuilder, NewFile};
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::partition_path::Naming;
use crate::spec::schema::TableSchema;
use crate::spec::types::TypeRoot;
use crate::table::{Table, partition_folder};

/// The maximum number of buckets whose files are open at the same time. Rows of other buckets are held and sorted until
/// all rows have been received.
const MAX_OPEN_SLOTS: usize = 64;

/// The options of a write that are not in the table.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The approximate number of bytes of rows in memory. Further rows are spilled to temporary files.
    pub memory_bytes: usize,
    /// The offset of the local clock from UTC.
    pub utc_offset_ms: i64,
    /// Whether the rows replace the rows of their buckets. If so, sequence numbers begin at 0, and the number of
    /// buckets is taken from the option `bucket`.
    pub overwrites: bool,
    /// Whether rows that waited for buckets are assigned to them, which is part of a compaction.
    pub assigns_buckets: bool,
    /// The part of file names that replaces a new UUID; unique for each writer.
    pub name: Option<String>,
}

/// The writer: accepts user rows, returns rows for files, and collects the metadata of the files.
#[derive(Debug)]
pub struct RowWriter {
    schema: Arc<TableSchema>,
    memory_bytes: usize,
    align: Align,
    defaults: Defaults,
    blanks: Blanks,
    homes: RowPlacement,
    /// The previous state of the buckets, if rows continue it.
    restorer: Option<Restorer>,
    spec: FileSpec,
    entries: Arc<EntrySettings>,
    paths: DataFilePaths,
    changelog: Option<Changelog>,
    index_files: IndexFiles,
    side_files: SideFiles,
    naming: Naming,
    slots: Vec<Slot>,
    by_home: HashMap<Home, usize>,
    mode: WriteMode,
    /// Whether the changes are those of a compaction.
    assigns_buckets: bool,
}

/// How the writer turns input rows into data file rows.
#[derive(Debug)]
enum WriteMode {
    /// Rows are unchanged. The sorter holds the rows of buckets beyond the maximum number of open buckets.
    Append(Option<RowSorter>),
    /// Rows are records with a key.
    Upsert(Box<Upsert>),
}

#[derive(Debug)]
struct Upsert {
    records: Upserts,
    files: FileSchema,
    /// The position of the table column with the row kinds (`rowkind.field`); None if the row kinds are a separate
    /// column.
    kinds: Option<usize>,
    /// The number of accepted rows.
    rows: usize,
}

/// A bucket with new rows.
#[derive(Debug)]
struct Slot {
    home: Home,
    /// The folder of the partition.
    folder: String,
    /// The sequence number of the next row.
    next_sequence: i64,
    data: SlotOutput,
    changelog: SlotOutput,
}

/// New files of a bucket.
#[derive(Debug, Default)]
struct SlotOutput {
    open: Option<FileBuilder>,
    files: Vec<NewFile>,
}

/// The type of the files of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesOf {
    /// Files of rows.
    Data,
    /// The records of a write before merging (`changelog-producer` = `input`).
    Changelog,
}

impl RowWriter {
    /// Creates a writer of rows for a table with its latest schema.
    ///
    /// # Errors
    /// `Unsupported` naming a feature that cannot be written; `InvalidArgument` for an option that does not parse.
    pub fn try_new(table: &Table, options: &WriteOptions, context: &Context) -> Result<Self> {
        let schema = table.schema();
        check_writable(schema)?;
        let of_table = Options::new(schema.options.clone());
        let of_table = if options.assigns_buckets { assigning(&of_table) } else { of_table };
        let homes = RowPlacement::try_new(schema, &of_table)?;
        let of_table = if waits(&of_table)? { waiting(&of_table)? } else { of_table };
        let name = options.name.as_deref();
        let continues = homes.continues_buckets() && !options.overwrites;
        let has_key = !schema.primary_keys.is_empty();
        let kinds = kind_column(schema, &of_table)?;
        let with_kinds = has_key && kinds.is_none();
        let defaults = Defaults::try_new(schema)?;
        let align = Align::of_new_rows(schema.clone(), defaults.columns(), with_kinds);
        // Streaming readers ignore the changelog of an overwrite, so none is written.
        let has_changelog = is_of_input(schema, &of_table) && !options.overwrites;
        let changelog = has_changelog
            .then(|| Changelog::try_new(table, &of_table, (0, options.utc_offset_ms), name))
            .transpose()?;
        let mode = if has_key {
            let mut records = Upserts::try_new(schema, align.arrow(), options.memory_bytes, context)?;
            if changelog.is_some() {
                records.keep_unmerged();
            }
            let files = FileSchema::try_new(schema, &records.values(), &of_table)?;
            WriteMode::Upsert(Box::new(Upsert { records, files, kinds, rows: 0 }))
        } else {
            WriteMode::Append(None)
        };
        Ok(Self {
            restorer: continues.then(|| Restorer::try_new(table, context)).transpose()?,
            spec: FileSpec::from_options(&of_table, has_key.then_some(0))?,
            blanks: Blanks::try_new(schema, &of_table)?,
            entries: Arc::new(EntrySettings::try_new(schema, &of_table, options.utc_offset_ms)?),
            paths: DataFilePaths::try_new(table.files(), table.location(), &of_table)?.named(name),
            changelog,
            index_files: IndexFiles::try_new(table, name)?,
            side_files: SideFiles::new(table.files()),
            naming: Naming::from_options(&of_table)?,
            schema: schema.clone(),
            memory_bytes: options.memory_bytes,
            align,
            defaults,
            homes,
            slots: Vec::new(),
            by_home: HashMap::new(),
            mode,
            assigns_buckets: options.assigns_buckets,
        })
    }

    /// Returns the encoding of files, or None for changelog files of a write without them.
    pub fn file(&self, of: FilesOf) -> Option<&FileSpec> {
        match of {
            FilesOf::Data => Some(&self.spec),
            FilesOf::Changelog => self.changelog.as_ref().map(|changelog| &changelog.spec),
        }
    }

    /// Returns the columns that [`RowWriter::split`] accepts: those of the table, and `_ROW_KIND` for tables with a
    /// primary key, unless the option `rowkind.field` references a column.
    pub fn input(&self) -> &SchemaRef {
        self.align.arrow()
    }

    /// Returns the columns of files, with field ids.
    pub fn arrow(&self) -> &SchemaRef {
        match &self.mode {
            WriteMode::Append(_) => self.align.arrow(),
            WriteMode::Upsert(upsert) => upsert.files.arrow(),
        }
    }

    /// Returns the columns of files as an Avro schema.
    ///
    /// # Errors
    /// As for [`avro_schema`].
    pub fn avro_schema(&self) -> Result<String> {
        match &self.mode {
            WriteMode::Append(_) => avro_schema(&self.schema.fields),
            WriteMode::Upsert(upsert) => avro_schema(upsert.files.columns()),
        }
    }

    /// Returns the columns and the snapshot of the keys that must be passed to [`RowWriter::restore_keys`] before the
    /// first row. None if keys cannot move to another partition, or if there are none.
    pub fn restored_keys(&mut self) -> Option<(Vec<String>, i64)> {
        self.homes.moving_keys()?;
        Some((self.schema.primary_keys.clone(), self.restorer.as_ref()?.snapshot()?))
    }

    /// Adds keys of rows in a bucket.
    ///
    /// # Errors
    /// As for [`MovingKeys::restore`](super::moving_keys::MovingKeys::restore).
    pub fn restore_keys(&mut self, home: &Home, keys: &RecordBatch) -> Result<()> {
        self.homes.moving_keys().map_or(Ok(()), |known| known.restore(home, keys))
    }

    /// Returns the rows of a batch that can be written now, with the slots of their files.
    ///
    /// # Errors
    /// As for [`Align::align`]; `InvalidArgument` for a partition whose number of buckets differs from the table, an
    /// invalid row kind, or a retract that the merge engine does not accept; `Storage` if rows cannot be spilled.
    pub fn split(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, RecordBatch)>> {
        let rows = self.align.align(batch)?;
        let rows = self.blanks.trimmed(self.defaults.filled(rows)?)?;
        if matches!(self.mode, WriteMode::Upsert(_)) {
            self.hold_records(&rows)?;
            return Ok(Vec::new());
        }
        let parts = self.homes.split(&rows, self.restorer.as_mut())?;
        let mut open = self.slots.len();
        let (now, later): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| {
            let is_new = !self.by_home.contains_key(&part.home);
            if is_new && open >= MAX_OPEN_SLOTS {
                return false;
            }
            open += usize::from(is_new);
            true
        });
        let numbers: Vec<u32> = later.iter().flat_map(|part| part.rows.values().iter().copied()).collect();
        if !numbers.is_empty() {
            self.hold(take_record_batch(&rows, &UInt32Array::from(numbers))?)?;
        }
        self.taken(&rows, now)
    }

    /// Returns the next waiting rows, about `most_rows` of them, or None after the last. All rows of a slot are
    /// consecutive.
    ///
    /// # Errors
    /// As for [`RowWriter::split`].
    pub fn next_sorted(&mut self, most_rows: usize) -> Result<Option<Vec<(usize, RecordBatch)>>> {
        match &mut self.mode {
            WriteMode::Append(None) => Ok(None),
            WriteMode::Append(Some(sorter)) => {
                let Some(rows) = sorter.next_batch(most_rows)? else { return Ok(None) };
                let parts = self.homes.split(&rows, self.restorer.as_mut())?;
                self.taken(&rows, parts).map(Some)
            }
            WriteMode::Upsert(upsert) => {
                let Some(records) = upsert.records.next(most_rows)? else { return Ok(None) };
                let slot = self.slots.get_mut(records.slot).ok_or_else(no_slot)?;
                let keys = upsert.records.keys(&records.values);
                let new = || FileBuilder::new(self.entries.clone());
                slot.data.open.get_or_insert_with(new).add_records(&records, &keys)?;
                let rows = upsert.files.rows(&records, keys)?;
                Ok(Some(vec![(records.slot, filled(rows)?)]))
            }
        }
    }

    /// Returns the next rows of changelog files, or None until more records are merged. After each
    /// [`RowWriter::next_sorted`], call this method until it returns None.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn next_changelog(&mut self) -> Result<Option<Vec<(usize, RecordBatch)>>> {
        let (WriteMode::Upsert(upsert), Some(changelog)) = (&mut self.mode, &self.changelog) else { return Ok(None) };
        let Some(records) = upsert.records.next_unmerged() else { return Ok(None) };
        let slot = self.slots.get_mut(records.slot).ok_or_else(no_slot)?;
        let keys = upsert.records.keys(&records.values);
        let new = || FileBuilder::new(changelog.entries.clone());
        slot.changelog.open.get_or_insert_with(new).add_records(&records, &keys)?;
        let rows = upsert.files.rows(&records, keys)?;
        Ok(Some(vec![(records.slot, filled(rows)?)]))
    }

    /// Returns the location of the next file of a slot.
    ///
    /// # Errors
    /// `Internal` for a slot that does not exist.
    pub fn new_location(&mut self, of: FilesOf, slot: usize, extension: &str) -> Result<String> {
        let Slot { home, folder, .. } = self.slots.get(slot).ok_or_else(no_slot)?;
        let paths = match of {
            FilesOf::Data => Some(&mut self.paths),
            FilesOf::Changelog => self.changelog.as_mut().map(|changelog| &mut changelog.paths),
        };
        paths.ok_or_else(no_slot)?.next_location(folder, home.bucket, extension)
    }

    /// Closes the file of a slot, which has the rows that were split since the previous file.
    ///
    /// # Errors
    /// `Internal` for a slot without rows; `Storage` if the index of the file cannot be written.
    pub fn close(&mut self, of: FilesOf, slot: usize, path: &str, size_bytes: i64) -> Result<()> {
        let slot = self.slots.get_mut(slot).ok_or_else(no_slot)?;
        let (output, paths) = match of {
            FilesOf::Data => (&mut slot.data, Some(&self.paths)),
            FilesOf::Changelog => (&mut slot.changelog, self.changelog.as_ref().map(|changelog| &changelog.paths)),
        };
        let file = output.open.take().ok_or_else(no_slot)?;
        let mut file = self.side_files.finish(file, path, size_bytes)?;
        file.meta.external_path = paths.and_then(|paths| paths.external_path(path));
        output.files.push(file);
        Ok(())
    }

    /// Deletes the index files that were written. Files that cannot be deleted remain as orphan files.
    pub fn abort(&mut self) {
        self.side_files.delete();
    }

    /// Returns the numbers of files, rows and bytes that were written.
    pub fn written(&self) -> (usize, i64, i64) {
        let files = || self.slots.iter().flat_map(|slot| slot.data.files.iter().chain(&slot.changelog.files));
        let sum = |of: fn(&NewFile) -> i64| files().map(of).fold(0, i64::saturating_add);
        (files().count(), sum(|file| file.meta.row_count), sum(|file| file.meta.file_size_bytes))
    }

    /// Returns the changes of the buckets that have new files, and writes the indexes of dynamic buckets that have new
    /// keys.
    ///
    /// # Errors
    /// As for [`EntriesBuilder::finish`]; `Storage` if an index cannot be read or written.
    pub fn changes(&mut self) -> Result<Vec<BucketChange>> {
        let base_snapshot = self.restorer.as_ref().and_then(Restorer::snapshot);
        let mut changes = Vec::new();
        for slot in self.slots.iter().filter(|slot| !slot.data.files.is_empty()) {
            let Home { partition, bucket } = &slot.home;
            let total_buckets = self.homes.total_buckets(partition);
            let entries = |output: &SlotOutput| {
                let mut entries = EntriesBuilder::default();
                for file in &output.files {
                    entries.push(BucketOf { partition, bucket: *bucket, total_buckets }, file.clone());
                }
                entries.finish()
            };
            let mut append =
                Increment { added: entries(&slot.data)?, changelog: entries(&slot.changelog)?, ..Increment::empty()? };
            if let Some(NewIndex { hashes, replaced }) = self.homes.new_index(&slot.home, self.restorer.as_ref())? {
                append.index_removed.extend(replaced);
                append.index_added.push(
                    self.index_files
                        .of_keys(&slot.home, hashes, |location, content| self.side_files.put(location, content))?,
                );
            }
            let mut compact = Increment::empty()?;
            if self.assigns_buckets {
                std::mem::swap(&mut append, &mut compact);
            }
            changes.push(BucketChange {
                home: slot.home.clone(),
                total_buckets,
                base_snapshot,
                upper_files: None,
                append,
                compact,
            });
        }
        Ok(changes)
    }

    fn hold(&mut self, rows: RecordBatch) -> Result<()> {
        let keys = self.homes.keys(&rows)?;
        let WriteMode::Append(sorter) = &mut self.mode else { return Err(no_slot()) };
        if sorter.is_none() {
            *sorter = Some(RowSorter::new(self.homes.sort_fields(), self.memory_bytes)?);
        }
        sorter.as_mut().map_or(Ok(()), |sorter| sorter.push(rows, &keys))
    }

    /// Assigns sequence numbers to rows and holds them as records.
    fn hold_records(&mut self, rows: &RecordBatch) -> Result<()> {
        let WriteMode::Upsert(upsert) = &mut self.mode else { return Err(no_slot()) };
        let count = self.schema.fields.len();
        // Row kinds that are not a column of the table are in the last column.
        let (name, texts, null) = match upsert.kinds {
            // As in Java, NULL in a table column is not a valid kind.
            Some(place) => (rows.schema_ref().field(place).name().clone(), rows.column(place), None),
            None => (ROW_KIND.to_string(), rows.column(count), Some(kinds::INSERT)),
        };
        let found = kinds::parse(&name, texts, upsert.rows, null)?;
        upsert.rows = upsert.rows.saturating_add(rows.num_rows());
        let places: Vec<usize> = (0..count).collect();
        let (mut rows, mut found) = (rows.project(&places)?, found);
        if found.values().iter().any(|kind| upsert.records.ignores(*kind)) {
            let kept: BooleanArray = found.values().iter().map(|kind| Some(!upsert.records.ignores(*kind))).collect();
            rows = filter_record_batch(&rows, &kept)?;
            found = filter(&found, &kept)?.as_primitive().clone();
        }
        let Placed { rows, kinds: found, parts } = self.homes.place(rows, found, self.restorer.as_mut())?;
        let (mut sequences, mut slots) = (vec![0; rows.num_rows()], vec![0; rows.num_rows()]);
        self.read(&parts)?;
        for Part { home, rows } in parts {
            let number = self.slot(home)?;
            let slot = self.slots.get_mut(number).ok_or_else(no_slot)?;
            let of_row = u32::try_from(number).map_err(|_| no_slot())?;
            for row in rows.values().iter().filter_map(|row| usize::try_from(*row).ok()) {
                if let (Some(sequence), Some(of)) = (sequences.get_mut(row), slots.get_mut(row)) {
                    (*sequence, *of) = (slot.next_sequence, of_row);
                }
                slot.next_sequence = slot.next_sequence.checked_add(1).ok_or_else(no_sequence)?;
            }
        }
        let WriteMode::Upsert(upsert) = &mut self.mode else { return Err(no_slot()) };
        let records = Records { slot: 0, values: rows, sequences: sequences.into(), kinds: found };
        upsert.records.push(&records, slots.into())
    }

    /// Reads the previous state of buckets.
    fn read(&mut self, parts: &[Part]) -> Result<()> {
        self.restorer.as_mut().map_or(Ok(()), |restorer| restorer.read(parts.iter().map(|part| &part.home)))
    }

    /// Returns the rows of each part, converted to rows of its file.
    fn taken(&mut self, rows: &RecordBatch, parts: Vec<Part>) -> Result<Vec<(usize, RecordBatch)>> {
        self.read(&parts)?;
        let taken = |Part { home, rows: numbers }: Part| {
            let (number, part) = (self.slot(home)?, take_rows(rows, &numbers)?);
            let slot = self.slots.get_mut(number).ok_or_else(no_slot)?;
            let first = slot.next_sequence;
            let count = i64::try_from(part.num_rows()).ok();
            slot.next_sequence = count.and_then(|count| first.checked_add(count)).ok_or_else(no_sequence)?;
            slot.data.open.get_or_insert_with(|| FileBuilder::new(self.entries.clone())).add(&part, first)?;
            Ok((number, filled(part)?))
        };
        parts.into_iter().map(taken).collect()
    }

    /// Returns the slot number of a bucket, creating the slot if necessary.
    fn slot(&mut self, home: Home) -> Result<usize> {
        if let Some(slot) = self.by_home.get(&home) {
            return Ok(*slot);
        }
        let total_buckets = self.homes.total_buckets(&home.partition);
        let restorer = self.restorer.as_ref();
        let next_sequence = restorer.map_or(Ok(0), |restorer| restorer.next_sequence(&home, total_buckets))?;
        let folder = partition_folder(&self.schema, &home.partition, &self.naming)?;
        let number = self.slots.len();
        self.by_home.insert(home.clone(), number);
        self.slots.push(Slot {
            home,
            folder,
            next_sequence,
            data: SlotOutput::default(),
            changelog: SlotOutput::default(),
        });
        Ok(number)
    }
}

/// Returns the position of the table column with the row kinds (`rowkind.field`).
///
/// # Errors
/// `InvalidArgument` for a column that does not exist, or is not a string.
pub(crate) fn kind_column(schema: &TableSchema, options: &Options) -> Result<Option<usize>> {
    let Some(name) = options.text("rowkind.field").map(str::trim).filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let place = schema.fields.iter().position(|field| field.name == name);
    let is_text = |place: &usize| {
        let root = schema.fields.get(*place).map(|field| &field.data_type.root);
        matches!(root, Some(TypeRoot::Char(_) | TypeRoot::VarChar(_)))
    };
    place.filter(is_text).map(Some).ok_or_else(|| {
        Error::invalid(format!("the option `rowkind.field` is `{}`, which is not a string column", shown(name)))
    })
}

fn no_sequence() -> Error {
    Error::new(ErrorKind::LimitExceeded, "the sequence numbers of a bucket are exhausted")
}

fn no_slot() -> Error {
    Error::internal("a file has no rows")
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
