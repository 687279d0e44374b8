//! New rows of append tables: aligned to the table, counted, and turned into the changes of their buckets.
//!
//! ```text
//! split(batch)*, new_location(), close()   for each file, which somebody else writes
//! changes()                                one for each bucket, for a commit
//! ```
//!
//! Tables without partitions and fixed buckets have one slot: bucket 0. Sequence numbers begin at 0 in each write: readers
//! of such tables do not compare them.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use frazil_core::error::{Error, Result};

use super::align::Align;
use super::change::{BucketChange, Home, Increment};
use super::check::check_writable;
use super::file::{FileBuilder, FileSpec};
use super::path::DataFilePath;
use crate::binary_row::NO_FIELDS;
use crate::spec::entries_builder::{BucketOf, EntriesBuilder, NewFile};
use crate::spec::options::Options;
use crate::table::{MAIN_BRANCH, Table};

/// The one slot: bucket 0 of a table without partitions.
const SLOT: usize = 0;
const BUCKET: i32 = 0;
/// The number of buckets is not fixed.
const TOTAL_BUCKETS: i32 = -1;

/// Takes rows as users have them, returns rows for files, and keeps what manifests say of the files.
#[derive(Debug)]
pub struct RowWriter {
    align: Align,
    spec: FileSpec,
    path: DataFilePath,
    schema_id: i64,
    utc_offset_ms: i64,
    next_sequence: i64,
    open: Option<FileBuilder>,
    files: Vec<NewFile>,
}

impl RowWriter {
    /// Return one for rows of a table with its newest schema. The clock of this machine is ahead of UTC by
    /// `utc_offset_ms`.
    ///
    /// # Errors
    /// `Unsupported` naming what is not written; `InvalidArgument` for the value of an option that does not parse.
    pub fn try_new(table: &Table, utc_offset_ms: i64) -> Result<Self> {
        let schema = table.schema();
        check_writable(schema)?;
        if table.branch() != MAIN_BRANCH {
            return Err(Error::unsupported("writing to a branch").with("branch", table.branch()));
        }
        let options = Options::new(schema.options.clone());
        Ok(Self {
            align: Align::new(schema.clone()),
            spec: FileSpec::from_options(&options)?,
            path: DataFilePath::try_new(table.location(), &options, "", BUCKET)?,
            schema_id: schema.id,
            utc_offset_ms,
            next_sequence: 0,
            open: None,
            files: Vec::new(),
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
    /// As [`Align::align`].
    pub fn split(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, RecordBatch)>> {
        let rows = self.align.align(batch)?;
        if rows.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let (schema_id, first) = (self.schema_id, self.next_sequence);
        let file = self.open.get_or_insert_with(|| FileBuilder::new(schema_id, first));
        file.add(rows.num_rows())?;
        Ok(vec![(SLOT, rows)])
    }

    /// Return the next of the rows that waited until all were there: none do.
    pub fn next_sorted(&mut self) -> Option<Vec<(usize, RecordBatch)>> {
        None
    }

    /// Return the location of the next file of a slot.
    ///
    /// # Errors
    /// `Internal` for a slot that does not exist.
    pub fn new_location(&mut self, slot: usize, extension: &str) -> Result<String> {
        if slot != SLOT {
            return Err(no_slot());
        }
        Ok(self.path.next_location(extension))
    }

    /// End the file of a slot: the rows that were split since the last one are in it.
    ///
    /// # Errors
    /// `Internal` for a slot without rows.
    pub fn close(&mut self, slot: usize, path: &str, size_bytes: i64) -> Result<()> {
        let file = self.open.take().filter(|_| slot == SLOT).ok_or_else(no_slot)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        self.next_sequence = file.next_sequence();
        self.files.push(file.finish(name, size_bytes, self.utc_offset_ms));
        Ok(())
    }

    /// Return how many files, rows and bytes are written.
    pub fn written(&self) -> (usize, i64, i64) {
        let sum = |of: fn(&NewFile) -> i64| self.files.iter().map(of).fold(0, i64::saturating_add);
        (self.files.len(), sum(|file| file.meta.row_count), sum(|file| file.meta.file_size_bytes))
    }

    /// Return the changes of the buckets that have new files.
    ///
    /// # Errors
    /// As [`EntriesBuilder::finish`].
    pub fn changes(&self) -> Result<Vec<BucketChange>> {
        if self.files.is_empty() {
            return Ok(Vec::new());
        }
        let mut entries = EntriesBuilder::default();
        for file in &self.files {
            let bucket = BucketOf { partition: &NO_FIELDS, bucket: BUCKET, total_buckets: TOTAL_BUCKETS };
            entries.push(bucket, file.clone());
        }
        Ok(vec![BucketChange {
            home: Home { partition: NO_FIELDS.into(), bucket: BUCKET },
            total_buckets: TOTAL_BUCKETS,
            base_snapshot: None,
            append: Increment { added: entries.finish()?, ..Increment::empty()? },
            compact: Increment::empty()?,
        }])
    }
}

fn no_slot() -> Error {
    Error::internal("a file of no rows")
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
