//! Cancels rows that were deleted and inserted again unchanged, and pairs the remaining rows into updates.
//!
//! ```text
//! batch:  values …  (identifier)  change type  ordinal  commit
//!         1 a                     DELETE       0        17        cancelled: the row was only copied
//!         1 a                     INSERT       0        17
//!         2 b                     DELETE       0        17        UPDATE_BEFORE  where the first column identifies rows
//!         2 c                     INSERT       0        17        UPDATE_AFTER
//! ```
//!
//! Rows are sorted by commit, identifier, values and change type, with sorted runs in temporary files if they exceed
//! the memory limit. Two rows are equal if their values have the same bytes: NULL equals NULL, -0.0 differs from 0.0.

mod keys;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;

use crate::error::{Error, ErrorKind, Result};
use crate::sort::{Sorted, Sorter};
use keys::{Keys, RowKeys};

/// The approximate maximum number of rows in a returned batch.
const BATCH_ROWS: usize = 65_536;

/// The type of a row change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeType {
    /// An inserted row.
    Insert,
    /// A deleted row.
    Delete,
    /// A row before an update.
    UpdateBefore,
    /// A row after an update.
    UpdateAfter,
}

impl ChangeType {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Delete => "DELETE",
            Self::UpdateBefore => "UPDATE_BEFORE",
            Self::UpdateAfter => "UPDATE_AFTER",
        }
    }
}

/// The rows to compare, and how. The last three columns of a batch are the change type (a string: `INSERT` or
/// `DELETE`), the ordinal of the commit (an int) and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairSpec {
    /// The number of leading columns that make up a row.
    pub values: usize,
    /// The positions of the columns that identify a row; empty if no updates are computed.
    pub identifiers: Vec<usize>,
    /// Whether a row with a NULL identifier is never part of an update.
    pub null_is_unknown: bool,
    /// Whether rows of different commits cancel each other.
    pub across_commits: bool,
}

/// A collector of changes in any order.
#[derive(Debug)]
pub struct RowPairs {
    spec: PairSpec,
    schema: SchemaRef,
    keys: Keys,
    sorter: Sorter,
}

impl RowPairs {
    /// Creates a collector for batches of `schema`, with about `limit_bytes` of them in memory.
    ///
    /// # Errors
    /// `Internal` if the schema does not end with the three change columns; `Unsupported` for columns that cannot be
    /// compared.
    pub fn try_new(schema: SchemaRef, spec: PairSpec, limit_bytes: usize) -> Result<Self> {
        let keys = Keys::try_new(&schema, &spec)?;
        Ok(Self { spec, schema, keys, sorter: Sorter::new(limit_bytes) })
    }

    /// Adds changes.
    ///
    /// # Errors
    /// `Storage` if rows that do not fit in memory cannot be written to a temporary file.
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let keys = self.keys.sort_keys(&batch)?;
        self.sorter.push(batch, keys)
    }

    /// Returns the remaining changes.
    ///
    /// # Errors
    /// `Storage` if a temporary file cannot be read.
    pub fn finish(self) -> Result<Paired> {
        let Self { spec, schema, keys, sorter } = self;
        let sorted = sorter.finish()?;
        Ok(Paired {
            spec,
            schema,
            keys,
            sorted: Some(sorted),
            batches: VecDeque::new(),
            first_batch: 0,
            group: PairGroup::default(),
            output: Vec::new(),
        })
    }
}

/// A row of a batch: the number of the batch, counted from the first, and the row in it.
type PairPlace = (usize, usize);

/// The rows with the current identifier, excluding cancelled ones.
#[derive(Debug, Default)]
struct PairGroup {
    identifier: Option<Box<[u8]>>,
    /// Whether the identifier is known, so that updates can be paired.
    identified: bool,
    left: Vec<(PairPlace, ChangeType)>,
    values: Option<Box<[u8]>>,
    /// The number of rows at the end of `left` with these values. All of them have one change type: a row of the other
    /// type cancels the last one.
    equal: usize,
}

/// The remaining changes, ordered by commit, identifier and values.
#[derive(Debug)]
pub struct Paired {
    spec: PairSpec,
    schema: SchemaRef,
    keys: Keys,
    sorted: Option<Sorted>,
    /// The batches of the rows that are not yet returned.
    batches: VecDeque<RecordBatch>,
    first_batch: usize,
    group: PairGroup,
    output: Vec<(PairPlace, ChangeType)>,
}

impl Paired {
    /// Returns the next changes; None after the last ones.
    ///
    /// # Errors
    /// `InvalidArgument` if several rows that were changed in one commit have the same identifier; `Storage` if a
    /// temporary file cannot be read.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(sorted) = &mut self.sorted else { return Ok(None) };
            if let Some(batch) = sorted.next_batch(BATCH_ROWS)? {
                self.take(batch)?;
            } else {
                self.sorted = None;
                self.end_group()?;
            }
            if let Some(batch) = self.gather()? {
                return Ok(Some(batch));
            }
        }
    }

    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        let keys = self.keys.row_keys(&batch)?;
        let deletes = self.keys.deletes(&batch)?;
        let number = self.first_batch + self.batches.len();
        for row in 0..batch.num_rows() {
            let kind = if deletes.value(row) { ChangeType::Delete } else { ChangeType::Insert };
            self.take_row(&keys, row, (number, row), kind)?;
        }
        self.batches.push_back(batch);
        Ok(())
    }

    fn take_row(&mut self, keys: &RowKeys, row: usize, place: PairPlace, kind: ChangeType) -> Result<()> {
        let (identifier, values) = (keys.identifier(row), keys.values(row));
        if self.group.identifier.as_deref() != Some(identifier) {
            self.end_group()?;
            self.group.identifier = Some(identifier.into());
            self.group.identified = keys.is_identified(row);
            self.group.values = None;
        }
        let group = &mut self.group;
        if group.values.as_deref() != Some(values) {
            group.values = Some(values.into());
            group.equal = 0;
        }
        match group.left.last() {
            Some((_, last)) if group.equal > 0 && *last != kind => {
                group.left.pop();
                group.equal -= 1;
            }
            _ => {
                group.left.push((place, kind));
                group.equal += 1;
            }
        }
        // Without identifiers, a group contains all rows of a commit. Rows that no later row can cancel are returned
        // early.
        if self.spec.identifiers.is_empty() {
            let kept = group.left.len() - group.equal;
            self.output.extend(group.left.drain(..kept));
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        let group = &mut self.group;
        group.equal = 0;
        let inserts = group.left.iter().filter(|(_, kind)| *kind == ChangeType::Insert).count();
        let deletes = group.left.len() - inserts;
        if !self.spec.identifiers.is_empty() && group.identified && inserts > 0 && deletes > 0 {
            if (inserts, deletes) != (1, 1) {
                return Err(self.not_unique(inserts, deletes));
            }
            for (_, kind) in &mut group.left {
                *kind = if *kind == ChangeType::Delete { ChangeType::UpdateBefore } else { ChangeType::UpdateAfter };
            }
            group.left.sort_by_key(|(_, kind)| *kind == ChangeType::UpdateAfter);
        }
        self.output.append(&mut self.group.left);
        Ok(())
    }

    #[cold]
    fn not_unique(&self, inserts: usize, deletes: usize) -> Error {
        let names = self.spec.identifiers.iter().filter_map(|&at| self.schema.fields().get(at));
        let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
        let message = format!(
            "cannot compute updates: a commit deleted {deletes} and inserted {inserts} rows with the same `{}`",
            names.join("`, `")
        );
        Error::new(ErrorKind::InvalidArgument, message)
            .hint("specify columns that identify a row, or read the changes without updates")
    }

    /// Returns the rows that are ready to be returned, and releases the batches that contain no further rows.
    fn gather(&mut self) -> Result<Option<RecordBatch>> {
        if self.output.is_empty() {
            self.forget(self.group.left.first().map(|(place, _)| *place));
            return Ok(None);
        }
        let ready = std::mem::take(&mut self.output);
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let places: Vec<PairPlace> = ready.iter().map(|((batch, row), _)| (batch - self.first_batch, *row)).collect();
        let rows = interleave_record_batch(&batches, &places)?;
        let types = StringArray::from_iter_values(ready.iter().map(|(_, kind)| kind.name()));
        let mut columns = rows.columns().to_vec();
        let at = columns.len().checked_sub(keys::CHANGE_COLUMNS);
        if let Some(column) = at.and_then(|at| columns.get_mut(at)) {
            *column = Arc::new(types) as ArrayRef;
        }
        self.forget(self.group.left.first().map(|(place, _)| *place));
        Ok(Some(RecordBatch::try_new(self.schema.clone(), columns)?))
    }

    fn forget(&mut self, needed: Option<PairPlace>) {
        let until = needed.map_or(self.first_batch + self.batches.len(), |(batch, _)| batch);
        while self.first_batch < until && self.batches.pop_front().is_some() {
            self.first_batch += 1;
        }
    }
}

/// Returns whether each row was deleted, based on its change type.
fn is_delete(column: &ArrayRef) -> Result<arrow_array::BooleanArray> {
    let names = column.as_string_opt::<i32>().ok_or_else(|| Error::internal("the change type is not a string"))?;
    let mut flags = arrow_array::builder::BooleanBuilder::with_capacity(names.len());
    for name in names {
        match name {
            Some("DELETE") => flags.append_value(true),
            Some("INSERT") => flags.append_value(false),
            other => return Err(Error::internal(format!("unknown change type {other:?}"))),
        }
    }
    Ok(flags.finish())
}
