//! New rows of append tables: aligned to the table, split by partition and bucket, and turned into changes of buckets.
//!
//! ```text
//! split(batch)*    rows that can be written now, with the slots of their files
//! next_sorted()*   the rows that waited until all were there, one slot at a time
//!     new_location(), close()   for each file, which the caller writes
//! changes()        one for each bucket, for a commit
//! ```
//!
//! A slot is a bucket with new rows. If the number of buckets is not fixed, sequence numbers begin at 0 in each write:
//! readers of such tables do not compare them. Otherwise they continue those of the bucket.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;
use frazil_core::align::filled;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::groups::take_rows;
use frazil_core::sort::RowSorter;

use super::align::Align;
use super::change::{BucketChange, Home, Increment};
use super::check::check_writable;
use super::file::{FileBuilder, FileSpec};
use super::homes::{Homes, Part};
use super::path::{DataFilePaths, partition_folder};
use super::restore::Restorer;
use super::stats::{StatsCollector, StatsSettings};
use crate::spec::entries_builder::{BucketOf, EntriesBuilder, NewFile};
use crate::spec::options::Options;
use crate::spec::partition_path::Naming;
use crate::spec::schema::TableSchema;
use crate::table::{MAIN_BRANCH, Table};

/// Files of so many buckets are written at the same time. Rows of other buckets wait until all rows are there.
const MAX_OPEN_SLOTS: usize = 64;

/// How to write, apart from what the table says.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// About how many bytes of rows are held; further ones are spilled to temporary files.
    pub memory_bytes: usize,
    /// How far the clock of this machine is ahead of UTC.
    pub utc_offset_ms: i64,
}

/// Takes rows as users have them, returns rows for files, and collects what manifests say of the files.
#[derive(Debug)]
pub struct RowWriter {
    schema: Arc<TableSchema>,
    options: WriteOptions,
    align: Align,
    homes: Homes,
    /// What the buckets had before, where rows continue it.
    restorer: Option<Restorer>,
    spec: FileSpec,
    stats: Arc<StatsSettings>,
    paths: DataFilePaths,
    naming: Naming,
    slots: Vec<Slot>,
    by_home: HashMap<Home, usize>,
    /// Rows of buckets beyond the first few.
    sorter: Option<RowSorter>,
}

/// A bucket with new rows.
#[derive(Debug)]
struct Slot {
    home: Home,
    /// The folder of the partition.
    folder: String,
    next_sequence: i64,
    open: Option<FileBuilder>,
    files: Vec<NewFile>,
}

impl RowWriter {
    /// Return one for rows of a table with its newest schema.
    ///
    /// # Errors
    /// `Unsupported` naming what is not written; `InvalidArgument` for the value of an option that does not parse.
    pub fn try_new(table: &Table, options: WriteOptions, context: &Context) -> Result<Self> {
        let schema = table.schema();
        check_writable(schema)?;
        if table.branch() != MAIN_BRANCH {
            return Err(Error::unsupported("writing to a branch").with("branch", table.branch()));
        }
        let of_table = Options::new(schema.options.clone());
        let homes = Homes::try_new(schema, &of_table)?;
        let is_fixed = homes.total_buckets() > 0;
        Ok(Self {
            align: Align::new(schema.clone()),
            restorer: is_fixed.then(|| Restorer::try_new(table, context)).transpose()?,
            spec: FileSpec::from_options(&of_table)?,
            stats: Arc::new(StatsSettings::try_new(schema, &of_table)?),
            paths: DataFilePaths::try_new(table.location(), &of_table)?,
            naming: Naming::from_options(&of_table)?,
            schema: schema.clone(),
            options,
            homes,
            slots: Vec::new(),
            by_home: HashMap::new(),
            sorter: None,
        })
    }

    /// How files are encoded.
    pub fn file(&self) -> &FileSpec {
        &self.spec
    }

    /// The schema of the rows that [`RowWriter::split`] returns, with field ids.
    pub fn arrow(&self) -> &SchemaRef {
        self.align.arrow()
    }

    /// Return the rows of a batch that can be written now, with the slots of their files.
    ///
    /// # Errors
    /// As [`Align::align`]; `InvalidArgument` for a partition that has another number of buckets than the table;
    /// `Storage` if rows cannot be spilled.
    pub fn split(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, RecordBatch)>> {
        let rows = self.align.align(batch)?;
        let parts = self.homes.split(&rows)?;
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

    /// Return the next of the rows that waited until all were there, at most `most_rows`; None after the last. All rows
    /// of a slot follow each other.
    ///
    /// # Errors
    /// As [`RowWriter::split`].
    pub fn next_sorted(&mut self, most_rows: usize) -> Result<Option<Vec<(usize, RecordBatch)>>> {
        let Some(sorter) = &mut self.sorter else { return Ok(None) };
        let Some(rows) = sorter.next_batch(most_rows)? else { return Ok(None) };
        let parts = self.homes.split(&rows)?;
        self.taken(&rows, parts).map(Some)
    }

    /// Return the location of the next file of a slot.
    ///
    /// # Errors
    /// `Internal` for a slot that does not exist.
    pub fn new_location(&mut self, slot: usize, extension: &str) -> Result<String> {
        let Slot { home, folder, .. } = self.slots.get(slot).ok_or_else(no_slot)?;
        self.paths.next_location(folder, home.bucket, extension)
    }

    /// End the file of a slot, which has the rows that were split since the last one.
    ///
    /// # Errors
    /// `Internal` for a slot without rows.
    pub fn close(&mut self, slot: usize, path: &str, size_bytes: i64) -> Result<()> {
        let slot = self.slots.get_mut(slot).ok_or_else(no_slot)?;
        let file = slot.open.take().ok_or_else(no_slot)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        slot.next_sequence = file.next_sequence();
        slot.files.push(file.finish(name, size_bytes, self.options.utc_offset_ms)?);
        Ok(())
    }

    /// Return how many files, rows and bytes are written.
    pub fn written(&self) -> (usize, i64, i64) {
        let files = || self.slots.iter().flat_map(|slot| &slot.files);
        let sum = |of: fn(&NewFile) -> i64| files().map(of).fold(0, i64::saturating_add);
        (files().count(), sum(|file| file.meta.row_count), sum(|file| file.meta.file_size_bytes))
    }

    /// Return the changes of the buckets that have new files.
    ///
    /// # Errors
    /// As [`EntriesBuilder::finish`].
    pub fn changes(&self) -> Result<Vec<BucketChange>> {
        let total_buckets = self.homes.total_buckets();
        let change = |slot: &Slot| -> Result<BucketChange> {
            let mut entries = EntriesBuilder::default();
            for file in &slot.files {
                let Home { partition, bucket } = &slot.home;
                entries.push(BucketOf { partition, bucket: *bucket, total_buckets }, file.clone());
            }
            Ok(BucketChange {
                home: slot.home.clone(),
                total_buckets,
                base_snapshot: self.restorer.as_ref().and_then(Restorer::snapshot),
                append: Increment { added: entries.finish()?, ..Increment::empty()? },
                compact: Increment::empty()?,
            })
        };
        self.slots.iter().filter(|slot| !slot.files.is_empty()).map(change).collect()
    }

    fn hold(&mut self, rows: RecordBatch) -> Result<()> {
        let keys = self.homes.keys(&rows)?;
        if self.sorter.is_none() {
            self.sorter = Some(RowSorter::new(self.homes.sort_fields(), self.options.memory_bytes)?);
        }
        self.sorter.as_mut().map_or(Ok(()), |sorter| sorter.push(rows, &keys))
    }

    /// The rows of each part, which become rows of its file.
    fn taken(&mut self, rows: &RecordBatch, parts: Vec<Part>) -> Result<Vec<(usize, RecordBatch)>> {
        if let Some(restorer) = &mut self.restorer {
            restorer.read(parts.iter().map(|part| &part.home))?;
        }
        let taken = |Part { home, rows: numbers }: Part| {
            let (number, part) = (self.slot(home)?, take_rows(rows, &numbers)?);
            let slot = self.slots.get_mut(number).ok_or_else(no_slot)?;
            let (schema_id, stats) = (self.schema.id, &self.stats);
            let new = || FileBuilder::new(schema_id, slot.next_sequence, StatsCollector::new(stats.clone()));
            slot.open.get_or_insert_with(new).add(&part)?;
            Ok((number, filled(part)?))
        };
        parts.into_iter().map(taken).collect()
    }

    /// The number of the slot of a bucket, which may be new.
    fn slot(&mut self, home: Home) -> Result<usize> {
        if let Some(slot) = self.by_home.get(&home) {
            return Ok(*slot);
        }
        let total_buckets = self.homes.total_buckets();
        let restorer = self.restorer.as_ref();
        let next_sequence = restorer.map_or(Ok(0), |restorer| restorer.next_sequence(&home, total_buckets))?;
        let folder = partition_folder(&self.schema, &home.partition, &self.naming)?;
        let number = self.slots.len();
        self.by_home.insert(home.clone(), number);
        self.slots.push(Slot { home, folder, next_sequence, open: None, files: Vec::new() });
        Ok(number)
    }
}

fn no_slot() -> Error {
    Error::internal("a file without rows")
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
