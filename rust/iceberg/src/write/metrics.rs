//! Collects counts and bounds of the columns of a data file (spec: "Manifests", fields 108 to 138; appendix D).
//!
//! Metrics are computed from the rows during the write, not from the file's footer. They are therefore exact, include
//! NaN counts, and do not depend on the file format.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use frazil_core::error::{Error, Result};
use frazil_core::extremes::{extremes, float_extremes, least_and_greatest, upper_text};
use frazil_core::nested::{Repeated, child};
use frazil_core::scalar::Scalar;

use crate::properties::MetricsMode;
use crate::spec::single_value;
use crate::spec::types::{NestedField, PrimitiveType, StructType, Type};

/// The metrics of a data file's columns, by field id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The number of rows.
    pub record_count: i64,
    /// 109: the number of values, including NULL and NaN; for columns inside lists and maps, the number of elements.
    pub value_counts: BTreeMap<i32, i64>,
    /// 110: the number of NULL values.
    pub null_counts: BTreeMap<i32, i64>,
    /// 137: the number of NaN values, for floating-point columns.
    pub nan_counts: BTreeMap<i32, i64>,
    /// 125: lower bounds.
    pub lower_bounds: BTreeMap<i32, Vec<u8>>,
    /// 128: upper bounds.
    pub upper_bounds: BTreeMap<i32, Vec<u8>>,
}

/// A collector of the metrics of batches as they are written.
#[derive(Debug)]
pub struct MetricsCollector {
    fields: Arc<StructType>,
    modes: Arc<HashMap<i32, MetricsMode>>,
    columns: BTreeMap<i32, MeasuredColumn>,
    record_count: i64,
}

#[derive(Debug, Default)]
struct MeasuredColumn {
    values: i64,
    nulls: i64,
    nans: Option<i64>,
    bounds: Option<Bounds>,
    /// The metrics mode; None for columns without an order, and inside lists and maps.
    mode: Option<MetricsMode>,
}

/// The lowest and the highest value, excluding NULL and NaN.
#[derive(Debug, Clone, PartialEq)]
enum Bounds {
    Scalar(Scalar, Scalar),
    Text(String, String),
    Bytes(Vec<u8>, Vec<u8>),
    /// Values of a fixed length, which are never truncated: part of a uuid is not a uuid.
    Fixed(Vec<u8>, Vec<u8>),
}

impl MetricsCollector {
    /// Creates a collector for rows with these columns.
    pub fn new(fields: impl Into<Arc<StructType>>, modes: impl Into<Arc<HashMap<i32, MetricsMode>>>) -> Self {
        Self { fields: fields.into(), modes: modes.into(), columns: BTreeMap::new(), record_count: 0 }
    }

    /// Adds a batch whose columns match the fields, in order and with their Arrow types.
    ///
    /// # Errors
    /// `Internal` for columns with other types.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = i64::try_from(batch.num_rows()).unwrap_or(i64::MAX);
        self.record_count = self.record_count.saturating_add(rows);
        let Self { fields, modes, columns, .. } = self;
        fields
            .fields
            .iter()
            .zip(batch.columns())
            .try_for_each(|(field, array)| add(field, array, false, modes, columns))
    }

    /// Returns the number of rows so far.
    pub fn record_count(&self) -> i64 {
        self.record_count
    }

    /// Returns the metrics of the file.
    pub fn finish(self) -> Metrics {
        let mut metrics = Metrics { record_count: self.record_count, ..Metrics::default() };
        for (id, column) in self.columns {
            metrics.value_counts.insert(id, column.values);
            metrics.null_counts.insert(id, column.nulls);
            if let Some(nans) = column.nans {
                metrics.nan_counts.insert(id, nans);
            }
            let length = match column.mode {
                Some(MetricsMode::Truncate(length)) => Some(length),
                Some(MetricsMode::Full) => None,
                _ => continue,
            };
            let Some(bounds) = column.bounds else { continue };
            let (lower, upper) = bounds.encoded(length);
            metrics.lower_bounds.insert(id, lower);
            upper.map(|upper| metrics.upper_bounds.insert(id, upper));
        }
        metrics
    }
}

fn add(
    field: &NestedField,
    array: &ArrayRef,
    repeated: bool,
    modes: &HashMap<i32, MetricsMode>,
    columns: &mut BTreeMap<i32, MeasuredColumn>,
) -> Result<()> {
    match &field.field_type {
        Type::Primitive(primitive) => {
            let mode = modes.get(&field.id).copied().unwrap_or(MetricsMode::None);
            if mode == MetricsMode::None {
                return Ok(());
            }
            let column = columns.entry(field.id).or_default();
            column.mode = (!repeated).then_some(mode);
            column.add(primitive, array).map_err(|e| e.with("column", &field.name))
        }
        Type::Struct(fields) => {
            let parent = array.as_struct_opt().ok_or_else(|| mistyped(field, array))?;
            (0..)
                .zip(&fields.fields)
                .try_for_each(|(i, inner)| add(inner, &child(parent, i)?, repeated, modes, columns))
        }
        Type::List(list) => add(&list.element, &Repeated::of(array)?.values, true, modes, columns),
        Type::Map(map) => {
            let entries = Repeated::of(array)?.values;
            let entries = entries.as_struct_opt().ok_or_else(|| mistyped(field, array))?;
            add(&map.key, &child(entries, 0)?, true, modes, columns)?;
            add(&map.value, &child(entries, 1)?, true, modes, columns)
        }
    }
}

fn mistyped(field: &NestedField, array: &ArrayRef) -> Error {
    Error::internal(format!("an array has the type {}, expected {}", array.data_type(), field.field_type))
        .with("column", &field.name)
}

impl MeasuredColumn {
    fn add(&mut self, primitive: &PrimitiveType, array: &ArrayRef) -> Result<()> {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.values = self.values.saturating_add(count(array.len()));
        let nulls = if *primitive == PrimitiveType::Unknown { array.len() } else { array.null_count() };
        self.nulls = self.nulls.saturating_add(count(nulls));
        let (nans, found) = bounds(primitive, array).ok_or_else(|| {
            Error::internal(format!("an array has the type {}, expected {primitive}", array.data_type()))
        })?;
        if matches!(primitive, PrimitiveType::Float | PrimitiveType::Double) {
            self.nans = Some(self.nans.unwrap_or(0).saturating_add(count(nans)));
        }
        if self.mode.is_some_and(|mode| mode != MetricsMode::Counts) {
            self.bounds = match (self.bounds.take(), found) {
                (Some(known), Some(found)) => Some(known.widened(found)),
                (known, found) => known.or(found),
            };
        }
        Ok(())
    }
}

/// The number of NaN values, and the bounds of the other values.
type Found = (usize, Option<Bounds>);

/// Returns the NaN count and bounds of an array; None if its type does not match.
fn bounds(primitive: &PrimitiveType, array: &ArrayRef) -> Option<Found> {
    use PrimitiveType as P;
    let none = |bounds| Some((0, bounds));
    match primitive {
        P::Boolean => {
            let array = array.as_boolean_opt()?;
            let (trues, values) = (array.true_count(), array.len() - array.null_count());
            let bounds = (Scalar::Boolean(trues == values), Scalar::Boolean(trues > 0));
            none((values > 0).then_some(Bounds::Scalar(bounds.0, bounds.1)))
        }
        P::Int => ordered::<Int32Type>(array, Scalar::Int32),
        P::Long => ordered::<Int64Type>(array, Scalar::Int64),
        P::Date => ordered::<Date32Type>(array, Scalar::Date),
        P::Time => ordered::<Time64MicrosecondType>(array, Scalar::Time),
        P::Timestamp | P::Timestamptz => {
            // In bounds, the unit and the zone are those of the column.
            ordered::<TimestampMicrosecondType>(array, Scalar::Int64)
        }
        P::TimestampNs | P::TimestamptzNs => ordered::<TimestampNanosecondType>(array, Scalar::Int64),
        P::Decimal { precision, scale } => {
            let scalar = |unscaled| Scalar::Decimal { unscaled, precision: *precision, scale: scale.cast_signed() };
            ordered::<Decimal128Type>(array, scalar)
        }
        P::Float => floats::<Float32Type>(array, f32::is_nan, |low, high| {
            let low = if low == 0.0 { -0.0 } else { low };
            Bounds::Scalar(Scalar::Float32(low), Scalar::Float32(if high == 0.0 { 0.0 } else { high }))
        }),
        P::Double => floats::<Float64Type>(array, f64::is_nan, |low, high| {
            let low = if low == 0.0 { -0.0 } else { low };
            Bounds::Scalar(Scalar::Float64(low), Scalar::Float64(if high == 0.0 { 0.0 } else { high }))
        }),
        P::String => {
            let texts = array.as_string_opt::<i32>()?;
            let bounds = least_and_greatest(texts.iter().flatten());
            none(bounds.map(|(low, high)| Bounds::Text(low.to_string(), high.to_string())))
        }
        P::Binary => {
            let bounds = least_and_greatest(array.as_binary_opt::<i32>()?.iter().flatten());
            none(bounds.map(|(low, high)| Bounds::Bytes(low.to_vec(), high.to_vec())))
        }
        P::Uuid | P::Fixed(_) => {
            let bounds = least_and_greatest(array.as_fixed_size_binary_opt()?.iter().flatten());
            none(bounds.map(|(low, high)| Bounds::Fixed(low.to_vec(), high.to_vec())))
        }
        P::Unknown | P::Variant | P::Geometry(_) | P::Geography(..) => none(None),
    }
}

fn ordered<T: ArrowPrimitiveType>(array: &ArrayRef, scalar: impl Fn(T::Native) -> Scalar) -> Option<Found>
where
    T::Native: Ord + Copy,
{
    let found = extremes(array.as_primitive_opt::<T>()?);
    Some((0, found.map(|(low, high)| Bounds::Scalar(scalar(low), scalar(high)))))
}

fn floats<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    is_nan: impl Fn(T::Native) -> bool,
    bounds: impl Fn(T::Native, T::Native) -> Bounds,
) -> Option<Found>
where
    T::Native: PartialOrd + Copy,
{
    let (nans, found) = float_extremes(array.as_primitive_opt::<T>()?, is_nan);
    Some((nans, found.map(|(low, high)| bounds(low, high))))
}

impl Bounds {
    fn widened(self, other: Self) -> Self {
        let less = |a: &Scalar, b: &Scalar| a.compare(b).is_some_and(std::cmp::Ordering::is_lt);
        match (self, other) {
            (Self::Scalar(low, high), Self::Scalar(other_low, other_high)) => Self::Scalar(
                if less(&other_low, &low) { other_low } else { low },
                if less(&high, &other_high) { other_high } else { high },
            ),
            (Self::Text(low, high), Self::Text(a, b)) => Self::Text(low.min(a), high.max(b)),
            (Self::Bytes(low, high), Self::Bytes(a, b)) => Self::Bytes(low.min(a), high.max(b)),
            (Self::Fixed(low, high), Self::Fixed(a, b)) => Self::Fixed(low.min(a), high.max(b)),
            // All arrays of a column have the same type.
            (known, _) => known,
        }
    }

    /// Returns the bytes of the lower and the upper bound. Strings and binary values are truncated to `length`; the
    /// upper bound is None if no value of that length is large enough.
    fn encoded(self, length: Option<u32>) -> (Vec<u8>, Option<Vec<u8>>) {
        let length = length.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(usize::MAX));
        match self {
            Self::Scalar(low, high) => (single_value::encode(&low), Some(single_value::encode(&high))),
            Self::Fixed(low, high) => (low, Some(high)),
            Self::Text(low, high) => {
                let low: String = low.chars().take(length).collect();
                (low.into_bytes(), upper_text(&high, length).map(String::into_bytes))
            }
            Self::Bytes(mut low, high) => {
                low.truncate(length);
                (low, upper_bytes(&high, length))
            }
        }
    }
}

/// Returns the same as [`upper_text`], for bytes.
fn upper_bytes(bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let Some(prefix) = bytes.get(..length).filter(|_| bytes.len() > length) else { return Some(bytes.to_vec()) };
    let mut prefix = prefix.to_vec();
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(1) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
