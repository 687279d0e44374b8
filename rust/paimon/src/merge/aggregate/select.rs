//! Functions that select one of the values: the first, the last, the maximum or the minimum.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ByteArrayType, Date32Type, Decimal128Type, Float32Type, Float64Type, GenericBinaryType,
    GenericStringType, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use frazil_core::error::{Error, Result};

use super::FieldAggregator;
use super::picks::{ElementPick, NULL, Sources};
use super::subject::Subject;
use crate::spec::types::{DataType, TypeRoot};

/// The rule by which a value is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The first value, NULL or not.
    First,
    /// The first value that is not NULL.
    FirstNonNull,
    /// The last value, NULL or not. A retract sets NULL.
    Last,
    /// The last value that is not NULL. A retract of a value sets NULL.
    LastNonNull,
    /// The last value, retracted or not.
    Key,
    /// The maximum.
    Max,
    /// The minimum.
    Min,
}

/// A comparison of two values that are not NULL.
type Compare = fn(&dyn Array, usize, &dyn Array, usize) -> Ordering;

/// The aggregator that selects a value by a rule.
#[derive(Debug)]
pub(super) struct Select {
    subject: Subject,
    rule: Rule,
    compare: Compare,
    sources: Sources,
    chosen: ElementPick,
    /// Whether a value was selected by [`Rule::First`] or [`Rule::FirstNonNull`]: Java's `initialized`.
    found: bool,
    results: Vec<ElementPick>,
}

impl Select {
    /// Creates the aggregator for a rule that needs no order.
    pub(super) fn new(subject: Subject, rule: Rule) -> Self {
        let sources = Sources::new(&subject.data_type);
        let unordered: Compare = |_, _, _, _| Ordering::Equal;
        Self { subject, rule, compare: unordered, sources, chosen: NULL, found: false, results: Vec::new() }
    }

    /// Creates the aggregator for the maximum or minimum.
    pub(super) fn extreme(subject: Subject, data_type: &DataType, rule: Rule) -> Result<Self> {
        let compare = order(data_type).ok_or_else(|| subject.wrong_type("numbers, strings, bytes, dates and times"))?;
        Ok(Self { compare, ..Self::new(subject, rule) })
    }

    fn pick(&mut self, values: &ArrayRef, row: usize) -> Result<ElementPick> {
        self.sources.pick(values, row).ok_or_else(|| self.subject.misfit(values, row))
    }

    /// Returns whether no value was selected, or NULL was.
    fn is_null(&self) -> bool {
        self.sources.is_null(self.chosen)
    }

    /// Compares the selected value with another one.
    fn against(&self, values: &ArrayRef, row: usize) -> Result<Ordering> {
        let (array, chosen) = self.chosen;
        let known = self.sources.array(array).ok_or_else(|| Error::internal("a value belongs to a released array"))?;
        Ok((self.compare)(known, chosen, values, row))
    }
}

impl FieldAggregator for Select {
    fn begin(&mut self) {
        (self.chosen, self.found) = (NULL, false);
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let pick = self.pick(values, row)?;
        let valid = values.is_valid(row);
        let takes = match self.rule {
            Rule::Last | Rule::Key => true,
            Rule::First => !std::mem::replace(&mut self.found, true),
            Rule::FirstNonNull => valid && !std::mem::replace(&mut self.found, true),
            Rule::LastNonNull => valid,
            Rule::Max | Rule::Min if !valid || self.is_null() => valid,
            Rule::Max => self.against(values, row)?.is_lt(),
            Rule::Min => self.against(values, row)?.is_ge(),
        };
        if takes {
            self.chosen = pick;
        }
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let pick = self.pick(values, row)?;
        let valid = values.is_valid(row);
        let takes = match self.rule {
            // Java applies the later value to the earlier accumulator, so the later value may be selected as the first
            // one found.
            Rule::First => std::mem::replace(&mut self.found, true),
            Rule::Last | Rule::Key => false,
            Rule::FirstNonNull => self.is_null() || std::mem::replace(&mut self.found, true),
            Rule::LastNonNull => self.is_null(),
            Rule::Max | Rule::Min if !valid || self.is_null() => valid,
            Rule::Max => self.against(values, row)?.is_le(),
            Rule::Min => self.against(values, row)?.is_gt(),
        };
        if takes {
            self.chosen = pick;
        }
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.chosen = self.pick(values, row)?;
        Ok(())
    }

    fn retract(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if self.subject.ignore_retract {
            return Ok(());
        }
        match self.rule {
            Rule::Key => self.chosen = self.pick(values, row)?,
            Rule::Last => self.chosen = NULL,
            Rule::LastNonNull => {
                self.subject.check(values, row)?;
                if values.is_valid(row) {
                    self.chosen = NULL;
                }
            }
            Rule::First | Rule::FirstNonNull | Rule::Max | Rule::Min => self.subject.cannot_retract()?,
        }
        Ok(())
    }

    fn append(&mut self) -> Result<()> {
        self.results.push(std::mem::replace(&mut self.chosen, NULL));
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let result = self.sources.gather(&self.results)?;
        self.results.clear();
        if self.chosen == NULL {
            self.sources.clear();
        }
        Ok(result)
    }
}

/// Returns the order of the values of a type, as in Java: NaN is the greatest and -0.0 is less than 0.0.
fn order(data_type: &DataType) -> Option<Compare> {
    if matches!(data_type.root, TypeRoot::Blob) {
        return None;
    }
    Some(match data_type.arrow() {
        ArrowType::Int8 => primitive::<Int8Type>,
        ArrowType::Int16 => primitive::<Int16Type>,
        ArrowType::Int32 => primitive::<Int32Type>,
        ArrowType::Int64 => primitive::<Int64Type>,
        ArrowType::Float32 => float32,
        ArrowType::Float64 => float64,
        ArrowType::Decimal128(..) => primitive::<Decimal128Type>,
        ArrowType::Date32 => primitive::<Date32Type>,
        ArrowType::Time32(_) => primitive::<Time32MillisecondType>,
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => primitive::<TimestampMillisecondType>,
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => primitive::<TimestampMicrosecondType>,
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => primitive::<TimestampNanosecondType>,
        ArrowType::Utf8 => bytes::<GenericStringType<i32>>,
        ArrowType::Binary => bytes::<GenericBinaryType<i32>>,
        _ => return None,
    })
}

fn primitive<T: ArrowPrimitiveType<Native: Ord>>(a: &dyn Array, i: usize, b: &dyn Array, j: usize) -> Ordering {
    let (a, b) = (a.as_primitive_opt::<T>(), b.as_primitive_opt::<T>());
    a.map(|a| a.value(i)).cmp(&b.map(|b| b.value(j)))
}

fn bytes<T: ByteArrayType>(a: &dyn Array, i: usize, b: &dyn Array, j: usize) -> Ordering {
    let (a, b) = (a.as_bytes_opt::<T>(), b.as_bytes_opt::<T>());
    a.map(|a| a.value(i).as_ref()).cmp(&b.map(|b| b.value(j).as_ref() as &[u8]))
}

fn float32(a: &dyn Array, i: usize, b: &dyn Array, j: usize) -> Ordering {
    let (a, b) = (a.as_primitive_opt::<Float32Type>(), b.as_primitive_opt::<Float32Type>());
    let (a, b) = (a.map_or(0.0, |a| a.value(i)), b.map_or(0.0, |b| b.value(j)));
    floats(f64::from(a), f64::from(b))
}

fn float64(a: &dyn Array, i: usize, b: &dyn Array, j: usize) -> Ordering {
    let (a, b) = (a.as_primitive_opt::<Float64Type>(), b.as_primitive_opt::<Float64Type>());
    floats(a.map_or(0.0, |a| a.value(i)), b.map_or(0.0, |b| b.value(j)))
}

fn floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => a.total_cmp(&b),
        (a, b) => a.cmp(&b),
    }
}
