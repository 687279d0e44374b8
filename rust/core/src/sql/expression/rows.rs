//! The rows on which expressions are evaluated: selected rows of several batches, side by side.

use std::cell::RefCell;
use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_select::take::take;

use super::cast::widened;
use super::types::normal_type;
use crate::error::{Error, Result};

/// Selected rows of one batch per relation, in the order of the scope. Columns are selected when they are needed.
#[derive(Debug)]
pub struct Rows<'a> {
    len: usize,
    relations: Vec<Option<Relation<'a>>>,
    columns: RefCell<HashMap<(usize, usize), ArrayRef>>,
}

/// Selected rows of one batch, or all of them.
#[derive(Debug, Clone)]
pub struct Relation<'a> {
    batch: &'a RecordBatch,
    at: Option<UInt32Array>,
}

impl<'a> Relation<'a> {
    /// Creates a relation with all rows.
    pub fn whole(batch: &'a RecordBatch) -> Self {
        Self { batch, at: None }
    }

    /// Creates a relation with the rows at these positions, in this order.
    pub fn at(batch: &'a RecordBatch, places: Vec<u32>) -> Self {
        Self { batch, at: Some(places.into()) }
    }
}

impl<'a> Rows<'a> {
    /// Creates `len` rows; None for a relation without rows.
    pub fn new(len: usize, relations: Vec<Option<Relation<'a>>>) -> Self {
        Self { len, relations, columns: RefCell::default() }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the values of a top-level column, in its [`normal_type`].
    pub(super) fn column(&self, relation: usize, index: usize) -> Result<ArrayRef> {
        if let Some(known) = self.columns.borrow().get(&(relation, index)) {
            return Ok(known.clone());
        }
        let missing = || Error::internal(format!("column {index} of relation {relation} is missing from the rows"));
        let found = self.relations.get(relation).and_then(Option::as_ref).ok_or_else(missing)?;
        let column = found.batch.columns().get(index).ok_or_else(missing)?;
        let values = match &found.at {
            Some(places) => take(column.as_ref(), places, None)?,
            None => column.clone(),
        };
        if values.len() != self.len {
            return Err(Error::internal(format!(
                "a column has {} values, but there are {} rows",
                values.len(),
                self.len
            )));
        }
        let values = widened(&values, &normal_type(values.data_type()))?;
        self.columns.borrow_mut().insert((relation, index), values.clone());
        Ok(values)
    }

    /// Returns the rows whose bit is set. Columns are selected from the batch again, because usually only a few of them
    /// are needed.
    pub(super) fn select(&self, mask: &BooleanBuffer) -> Result<Self> {
        let places: UInt32Array = mask.set_indices_u32().collect::<Vec<_>>().into();
        let relation = |relation: &Relation<'a>| -> Result<Relation<'a>> {
            let at = match &relation.at {
                Some(at) => arrow_array::cast::AsArray::as_primitive(&take(at, &places, None)?).clone(),
                None => places.clone(),
            };
            Ok(Relation { batch: relation.batch, at: Some(at) })
        };
        let relations = self.relations.iter().map(|part| part.as_ref().map(relation).transpose());
        Ok(Self::new(places.len(), relations.collect::<Result<_>>()?))
    }
}
