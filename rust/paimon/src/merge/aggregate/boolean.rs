//! The functions `bool_and` and `bool_or`. NULL is ignored.

use std::sync::Arc;

use arrow_array::builder::BooleanBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use frazil_core::error::Result;

use super::FieldAggregator;
use super::subject::Subject;
use crate::spec::types::{DataType, TypeRoot};

/// The accumulator that records whether all values are true, or whether any value is true.
#[derive(Debug)]
pub(super) struct Truth {
    subject: Subject,
    all: bool,
    accumulator: Option<bool>,
    results: BooleanBuilder,
}

impl Truth {
    pub(super) fn try_new(subject: Subject, data_type: &DataType, all: bool) -> Result<Self> {
        if !matches!(data_type.root, TypeRoot::Boolean) {
            return Err(subject.wrong_type("BOOLEAN"));
        }
        Ok(Self { subject, all, accumulator: None, results: BooleanBuilder::new() })
    }

    fn value(&self, values: &ArrayRef, row: usize) -> Result<Option<bool>> {
        self.subject.check(values, row)?;
        Ok(values.as_boolean_opt().filter(|values| values.is_valid(row)).map(|values| values.value(row)))
    }
}

impl FieldAggregator for Truth {
    fn begin(&mut self) {
        self.accumulator = None;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.accumulator = match (self.accumulator, self.value(values, row)?) {
            (Some(left), Some(right)) => Some(if self.all { left && right } else { left || right }),
            (left, right) => left.or(right),
        };
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.add(values, row)
    }

    fn retract(&mut self, _: &ArrayRef, _: usize) -> Result<()> {
        self.subject.cannot_retract()
    }

    fn append(&mut self) -> Result<()> {
        self.results.append_option(self.accumulator.take());
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.accumulator = self.value(values, row)?;
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.results.finish()))
    }
}
