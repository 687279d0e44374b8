//! Functions that unite serialized sets: bitmaps and sketches.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use frazil_core::error::Result;

use super::FieldAggregator;
use super::subject::Subject;
use crate::spec::types::{DataType, TypeRoot};

/// A type of sets.
pub(super) trait Sets: Debug + Send {
    /// A set in memory.
    type Set: Debug + Send;

    /// Reads the set of a value. The error describes why the bytes are invalid.
    fn read(&self, bytes: &[u8]) -> Result<Self::Set, String>;

    /// Unites two sets. If the bytes of the result depend on the order, `later` is the set of the later record.
    fn unite(&self, earlier: Self::Set, later: Self::Set) -> Result<Self::Set, String>;

    /// Serializes a set.
    fn write(&self, set: Self::Set) -> Result<Vec<u8>, String>;
}

/// Creates the aggregator that unites sets of a type.
pub(super) fn aggregator<S: Sets + 'static>(
    subject: Subject,
    data_type: &DataType,
    sets: S,
) -> Result<Box<dyn FieldAggregator>> {
    if !matches!(data_type.root, TypeRoot::VarBinary(_)) {
        return Err(subject.wrong_type("VARBINARY"));
    }
    Ok(Box::new(Union { subject, sets, accumulator: Accumulator::Null, results: BinaryBuilder::new() }))
}

#[derive(Debug)]
struct Union<S: Sets> {
    subject: Subject,
    sets: S,
    accumulator: Accumulator<S::Set>,
    results: BinaryBuilder,
}

#[derive(Debug)]
enum Accumulator<S> {
    Null,
    /// The only value so far, unchanged.
    One(Vec<u8>),
    Many(S),
}

impl<S: Sets> Union<S> {
    fn value<'a>(&self, values: &'a ArrayRef, row: usize) -> Result<Option<&'a [u8]>> {
        self.subject.check(values, row)?;
        Ok(values.as_binary_opt::<i32>().filter(|values| values.is_valid(row)).map(|values| values.value(row)))
    }

    fn read(&self, bytes: &[u8]) -> Result<S::Set> {
        self.sets.read(bytes).map_err(|problem| self.subject.corrupt(&problem))
    }

    fn take(&mut self, values: &ArrayRef, row: usize, is_later: bool) -> Result<()> {
        let Some(value) = self.value(values, row)? else { return Ok(()) };
        let known = match std::mem::replace(&mut self.accumulator, Accumulator::Null) {
            Accumulator::Null => {
                self.accumulator = Accumulator::One(value.to_vec());
                return Ok(());
            }
            Accumulator::One(bytes) => self.read(&bytes)?,
            Accumulator::Many(set) => set,
        };
        let value = self.read(value)?;
        let (earlier, later) = if is_later { (known, value) } else { (value, known) };
        let union = self.sets.unite(earlier, later).map_err(|problem| self.subject.corrupt(&problem))?;
        self.accumulator = Accumulator::Many(union);
        Ok(())
    }
}

impl<S: Sets> FieldAggregator for Union<S> {
    fn begin(&mut self) {
        self.accumulator = Accumulator::Null;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.take(values, row, true)
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.take(values, row, false)
    }

    fn retract(&mut self, _: &ArrayRef, _: usize) -> Result<()> {
        self.subject.cannot_retract()
    }

    fn append(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.accumulator, Accumulator::Null) {
            Accumulator::Null => self.results.append_null(),
            Accumulator::One(bytes) => self.results.append_value(bytes),
            Accumulator::Many(set) => {
                let bytes = self.sets.write(set).map_err(|problem| self.subject.corrupt(&problem))?;
                self.results.append_value(bytes);
            }
        }
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let value = self.value(values, row)?.map(<[u8]>::to_vec);
        self.accumulator = value.map_or(Accumulator::Null, Accumulator::One);
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.results.finish()))
    }
}
