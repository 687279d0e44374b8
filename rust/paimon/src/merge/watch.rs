//! Watches a merge for what a lookup compaction needs besides the merged rows (Java's
//! `LookupChangelogMergeFunctionWrapper` and `FirstRowMergeFunctionWrapper`).
//!
//! ```text
//! level 0      k=1  k=2            merged: their rows are the result
//! level 3           k=2  k=3
//! ------------------------------- the output level is 3
//! level 5      k=1  k=2  k=3  k=4  looked up: the record of k=1 is replaced; k=4 is left out
//! ```

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StructArray, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use frazil_core::error::{Error, Result};

use super::engine::Engine;
use super::held::{Batches, Pick};
use super::output::{Rows, gather};
use super::pending::{Pending, PendingPart};

/// The things to observe in a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// The level of the result. Records of higher levels only replace, or are replaced: a key that has no other records
    /// has no row in the result.
    pub output_level: i32,
    /// The level below which records are new.
    pub new_below: i32,
    /// The rule by which older records are part of the result.
    pub old: OldRecords,
    /// Whether the row of a key before its new records is wanted.
    pub images: bool,
    /// Whether the places of looked-up records are wanted. If so, batches have a column of positions in their file
    /// before the sequence numbers.
    pub places: bool,
}

/// The rule by which records that are not new are part of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldRecords {
    /// All of them are.
    All,
    /// Only that of the lowest level is, because a lookup compaction merged it with those of higher levels.
    Lowest,
    /// A looked-up record stays the row of its key (merge engine `first-row`).
    First,
}

/// The observations of a merge, one row for each merged key. They follow the columns of the merged rows.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The record of the key before its new records; NULL if there was none or it was deleted. Has the columns of the
    /// merge; without columns if images are not wanted.
    pub before: StructArray,
    /// Whether the key has new records.
    pub has_new: BooleanArray,
    /// The number of the file of the record that was looked up, and the position of the record in the file.
    pub file: UInt32Array,
    /// See `file`.
    pub position: Int64Array,
}

/// The number of columns of a trace.
const TRACE_COLUMNS: usize = 4;

impl Trace {
    /// Returns the fields of the trace of a merge with this schema.
    fn fields(schema: &Schema, images: bool) -> [Field; TRACE_COLUMNS] {
        [
            Field::new("_BEFORE", DataType::Struct(image_fields(schema, images)), true),
            Field::new("_HAS_NEW", DataType::Boolean, false),
            Field::new("_FILE", DataType::UInt32, true),
            Field::new("_POSITION", DataType::Int64, true),
        ]
    }

    /// Returns rows with the columns of the trace.
    ///
    /// # Errors
    /// `Internal` for another number of rows.
    pub fn appended_to(self, rows: &RecordBatch) -> Result<RecordBatch> {
        let images = self.before.num_columns() > 0;
        let image_schema = Schema::new(self.before.fields().clone());
        let fields = Self::fields(&image_schema, images);
        let schema: Vec<_> = rows.schema_ref().fields().iter().cloned().chain(fields.map(Arc::new)).collect();
        let trace: [ArrayRef; TRACE_COLUMNS] =
            [Arc::new(self.before), Arc::new(self.has_new), Arc::new(self.file), Arc::new(self.position)];
        let columns = rows.columns().iter().cloned().chain(trace).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(schema)), columns)?)
    }

    /// Splits rows from their trace.
    ///
    /// # Errors
    /// `Internal` for rows without a trace.
    pub fn split_off(batch: &RecordBatch) -> Result<(RecordBatch, Self)> {
        let none = || Error::internal("rows have no trace of their merge");
        let width = batch.num_columns().checked_sub(TRACE_COLUMNS).ok_or_else(none)?;
        let rows = batch.project(&(0..width).collect::<Vec<_>>())?;
        let [before, has_new, file, position] = batch.columns().get(width..).unwrap_or_default() else {
            return Err(none());
        };
        let before = before.as_any().downcast_ref::<StructArray>();
        let has_new = has_new.as_any().downcast_ref::<BooleanArray>();
        let file = file.as_any().downcast_ref::<UInt32Array>();
        let position = position.as_any().downcast_ref::<Int64Array>();
        let trace = Self {
            before: before.ok_or_else(none)?.clone(),
            has_new: has_new.ok_or_else(none)?.clone(),
            file: file.ok_or_else(none)?.clone(),
            position: position.ok_or_else(none)?.clone(),
        };
        Ok((rows, trace))
    }
}

fn image_fields(schema: &Schema, images: bool) -> Fields {
    let fields = schema.fields().iter().filter(|_| images);
    fields.map(|field| field.as_ref().clone().with_nullable(true)).collect()
}

/// The observations for the next output batch.
#[derive(Debug)]
pub(super) struct Watched {
    watch: Watch,
    marks: Vec<Mark>,
}

/// The observation of one merged key.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The record before the new ones.
    before: Pick,
    /// The record that was looked up.
    looked_up: Pick,
    has_new: bool,
}

impl Watched {
    pub(super) fn new(watch: Watch) -> Self {
        Self { watch, marks: Vec::new() }
    }

    /// Returns whether records of a level are only looked up.
    pub(super) fn looks_up(&self, level: i32) -> bool {
        level > self.watch.output_level
    }

    /// Merges the records of a key, in the order of their runs.
    pub(super) fn close(
        &mut self,
        batches: &Batches,
        engine: &mut dyn Engine,
        pending: &mut Pending,
        records: &mut Vec<Pick>,
    ) -> Result<()> {
        if records.iter().all(|record| self.looks_up(batches.level(*record))) {
            return Ok(());
        }
        let is_lookup = self.watch.old != OldRecords::All;
        if is_lookup {
            batches.retain_lookup(records);
        }
        let is_new = |record: &Pick| batches.level(*record) < self.watch.new_below;
        let high = records.iter().copied().find(|record| !is_new(record)).unwrap_or(Pick::NULL);
        let looked_up = if self.looks_up(batches.level(high)) { high } else { Pick::NULL };
        if self.watch.old == OldRecords::First && !looked_up.is_null() {
            return Ok(());
        }
        let has_new = records.iter().any(is_new);
        let is_live = !high.is_null() && !batches.retracts(high);
        let before = if is_live && has_new { high } else { Pick::NULL };
        let count = pending.len();
        match records.as_slice() {
            [only] if !(is_lookup && engine.computes()) => pending.push(*only),
            _ => engine.merge(batches, records, pending)?,
        }
        if pending.len() > count {
            self.marks.push(Mark { before, looked_up, has_new });
        }
        Ok(())
    }

    /// Adds consecutive rows of a level whose keys have no other records.
    pub(super) fn push_range(&mut self, level: i32, rows: u32) {
        let mark = Mark { before: Pick::NULL, looked_up: Pick::NULL, has_new: level < self.watch.new_below };
        self.marks.extend(std::iter::repeat_n(mark, rows as usize));
    }

    /// Removes the last row of a range.
    pub(super) fn shorten(&mut self) {
        self.marks.pop();
    }

    /// Returns the observations since the last call.
    pub(super) fn take(&mut self, schema: &SchemaRef, batches: &Batches) -> Result<Trace> {
        let marks = std::mem::take(&mut self.marks);
        let before: Vec<Pick> = marks.iter().map(|mark| mark.before).collect();
        let place = |mark: &Mark| batches.place(mark.looked_up);
        let file = marks.iter().map(|mark| place(mark).map(|(file, _)| file)).collect();
        let position = marks.iter().map(|mark| place(mark).map(|(_, position)| position)).collect();
        let has_new = marks.iter().map(|mark| Some(mark.has_new)).collect();
        Ok(Trace { before: self.images(schema, batches, &before)?, has_new, file, position })
    }

    fn images(&self, schema: &SchemaRef, batches: &Batches, picks: &[Pick]) -> Result<StructArray> {
        let fields = image_fields(schema, self.watch.images);
        let nulls: NullBuffer = picks.iter().map(|pick| !pick.is_null()).collect();
        if fields.is_empty() {
            return Ok(StructArray::new_empty_fields(picks.len(), Some(nulls)));
        }
        let count = u32::try_from(picks.len()).unwrap_or(u32::MAX);
        let rows = Rows { picks, parts: &[PendingPart::Rows(count)], len: picks.len() };
        let column = |at: usize| {
            let arrays: Vec<ArrayRef> = batches.0.iter().map(|held| held.batch.column(at).clone()).collect();
            gather(schema.field(at).data_type(), &arrays, rows)
        };
        let columns = (0..fields.len()).map(column).collect::<Result<Vec<_>>>()?;
        Ok(StructArray::try_new(fields, columns, Some(nulls))?)
    }
}
