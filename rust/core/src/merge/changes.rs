//! The effects of a merge on the rows of one batch.

use crate::error::{Error, Result};
use crate::join::JoinPairs;
use crate::sql::expression::rows::Rows;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_ord::sort::sort_to_indices;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::{take, take_record_batch};

use super::clause::BoundAction;
use super::rows::updated;

/// The result of probing a batch of target rows.
#[derive(Debug)]
pub struct Probe {
    /// The rows that stay unchanged.
    pub untouched: BooleanBuffer,
    /// The rows that are deleted, in ascending order.
    pub deleted: Vec<u32>,
    /// The rows that are updated, in ascending order.
    pub updated: Vec<u32>,
    /// The updated rows, in the same order, in the target's schema.
    pub rows: RecordBatch,
    /// Whether any target row matches a source row, whether or not the row is changed.
    pub has_matches: bool,
}

/// The effects of the clauses on the rows of a batch.
pub(super) struct Changes {
    claimed: Vec<bool>,
    /// The target rows that several source rows would change.
    pub(super) claimed_twice: Vec<u32>,
    deleted: Vec<u32>,
    updated: Vec<(Vec<u32>, RecordBatch)>,
}

impl Changes {
    pub(super) fn new(rows: usize) -> Self {
        Self { claimed: vec![false; rows], claimed_twice: Vec::new(), deleted: Vec::new(), updated: Vec::new() }
    }

    /// Returns the pairs whose target row is not in an earlier pair. The target rows of the other pairs are recorded as
    /// [`Changes::claimed_twice`], unless `twice_allowed` is true.
    pub(super) fn claim(&mut self, pairs: JoinPairs, twice_allowed: bool) -> JoinPairs {
        let mut kept = JoinPairs::default();
        for (row, source) in pairs.probed.into_iter().zip(pairs.found) {
            let Some(claimed) = self.claimed.get_mut(row as usize) else { continue };
            if !std::mem::replace(claimed, true) {
                kept.probed.push(row);
                kept.found.push(source);
            } else if !twice_allowed {
                self.claimed_twice.push(row);
            }
        }
        kept
    }

    /// Applies the action of a clause to the batch rows at positions `places`; `rows` are these rows paired with their
    /// source rows.
    pub(super) fn apply(
        &mut self,
        action: &BoundAction,
        places: &[u32],
        rows: &Rows<'_>,
        batch: &RecordBatch,
        target: &SchemaRef,
    ) -> Result<()> {
        if places.is_empty() || !self.claimed_twice.is_empty() {
            return Ok(());
        }
        match action {
            BoundAction::Delete => self.deleted.extend(places),
            BoundAction::Update(set) => {
                let indices = UInt32Array::from(places.to_vec());
                let kept = |index: usize| Ok(take(batch.column(index).as_ref(), &indices, None)?);
                self.updated.push((places.to_vec(), updated(set, rows, target, kept)?));
            }
            BoundAction::Insert(_) => return Err(Error::internal("a target row cannot be inserted")),
        }
        Ok(())
    }

    /// Returns the combined effects of all clauses.
    pub(super) fn finish(mut self, target: &SchemaRef, has_matches: bool) -> Result<Probe> {
        self.deleted.sort_unstable();
        let (updated, rows) = match self.updated.len() {
            0 => (Vec::new(), RecordBatch::new_empty(target.clone())),
            1 => self.updated.pop().ok_or_else(|| Error::internal("an update is missing"))?,
            _ => {
                let (places, parts): (Vec<Vec<u32>>, Vec<RecordBatch>) = self.updated.into_iter().unzip();
                let places = UInt32Array::from(places.concat());
                let order = sort_to_indices(&places, None, None)?;
                let rows = take_record_batch(&concat_batches(target, &parts)?, &order)?;
                let mut places = places.values().to_vec();
                places.sort_unstable();
                (places, rows)
            }
        };
        let mut untouched = vec![true; self.claimed.len()];
        for row in self.deleted.iter().chain(&updated) {
            if let Some(untouched) = untouched.get_mut(*row as usize) {
                *untouched = false;
            }
        }
        Ok(Probe { untouched: BooleanBuffer::from(untouched), deleted: self.deleted, updated, rows, has_matches })
    }
}
