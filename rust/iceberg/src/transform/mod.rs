//! Partition transforms (spec: "Partition Transforms", appendix B).

mod bucket;
mod evaluate;
pub mod project;
mod temporal;
mod truncate;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use arrow_select::take::take;
use frazil_core::error::{Error, Result};
use frazil_core::scalar::{Scalar, ScalarType};

use crate::spec::transform::Transform;
use crate::spec::types::PrimitiveType;
use temporal::Unit;

impl Transform {
    /// Returns the type of the partition values for a column of type `source`. None if the transform does not apply to
    /// `source`, is unknown, or has the parameter 0.
    pub fn result_type(&self, source: &PrimitiveType) -> Option<PrimitiveType> {
        match self {
            Self::Identity => source.scalar().map(|_| source.clone()),
            Self::Void => Some(source.clone()),
            Self::Bucket(buckets) => (*buckets > 0 && bucket::takes(source)).then_some(PrimitiveType::Int),
            Self::Truncate(width) => (*width > 0 && truncate::takes(source)).then(|| source.clone()),
            Self::Year | Self::Month | Self::Day | Self::Hour => Unit::of(self)?.result_type(source),
            Self::Unknown(_) => None,
        }
    }

    /// Returns the partition values of a column, in the Arrow type of [`Transform::result_type`]. NULL stays NULL.
    ///
    /// `array` has the Arrow type of `source`. Dictionaries, the large and view forms of strings and binary values, and
    /// any zone of a timestamp with zone are also accepted.
    ///
    /// `InvalidArgument` if the transform does not apply to `source`, or if `array` has another type. `InvalidArgument`
    /// also if a result does not fit: `truncate` of a decimal gains a digit, or `hour` exceeds the range of an int.
    /// `Unsupported` for an unknown transform.
    pub fn apply(&self, array: &dyn Array, source: &PrimitiveType) -> Result<ArrayRef> {
        self.check(source)?;
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let values = self.apply(dictionary.values().as_ref(), source)?;
            return Ok(take(values.as_ref(), dictionary.keys(), None)?);
        }
        let array = canonical(array, source)?;
        match self {
            Self::Identity => Ok(array),
            Self::Void => Ok(new_null_array(array.data_type(), array.len())),
            Self::Bucket(buckets) => bucket::apply(&array, source, *buckets).ok_or_else(|| self.not_for(source)),
            Self::Truncate(width) => truncate::apply(&array, source, *width),
            Self::Year | Self::Month | Self::Day | Self::Hour | Self::Unknown(_) => {
                Unit::of(self).ok_or_else(|| self.not_for(source))?.apply(&array, source)
            }
        }
    }

    /// Returns the partition value of one value that is not NULL; None for NULL (`void`).
    ///
    /// # Errors
    /// See [`Transform::apply`].
    pub fn apply_scalar(&self, value: &Scalar) -> Result<Option<Scalar>> {
        let source = source_type(value.scalar_type())
            .ok_or_else(|| Error::invalid(format!("no Iceberg type can represent {value:?}")))?;
        self.check(&source)?;
        match self {
            Self::Identity => Ok(Some(value.clone())),
            Self::Void => Ok(None),
            Self::Bucket(buckets) => Ok(bucket::apply_scalar(value, *buckets).map(Scalar::Int32)),
            Self::Truncate(width) => truncate::apply_scalar(value, *width),
            Self::Year | Self::Month | Self::Day | Self::Hour | Self::Unknown(_) => {
                Unit::of(self).ok_or_else(|| self.not_for(&source))?.apply_scalar(value, &source)
            }
        }
    }

    fn check(&self, source: &PrimitiveType) -> Result<()> {
        match self {
            Self::Unknown(text) => {
                Err(Error::unsupported(format!("the partition transform {text:?} is not supported")))
            }
            _ if self.result_type(source).is_some() => Ok(()),
            _ => Err(self.not_for(source)),
        }
    }

    #[cold]
    fn not_for(&self, source: &PrimitiveType) -> Error {
        Error::invalid(format!("the partition transform {self:?} does not apply to the type {source:?}"))
    }
}

/// Returns the Iceberg type for values of a scalar type; None if there is none.
fn source_type(scalar: ScalarType) -> Option<PrimitiveType> {
    use arrow_schema::TimeUnit::{Microsecond, Nanosecond};
    Some(match scalar {
        ScalarType::Null => PrimitiveType::Unknown,
        ScalarType::Boolean => PrimitiveType::Boolean,
        ScalarType::Int32 => PrimitiveType::Int,
        ScalarType::Int64 => PrimitiveType::Long,
        ScalarType::Float32 => PrimitiveType::Float,
        ScalarType::Float64 => PrimitiveType::Double,
        ScalarType::Decimal { precision, scale } => {
            PrimitiveType::Decimal { precision, scale: u8::try_from(scale).ok()? }
        }
        ScalarType::Date => PrimitiveType::Date,
        ScalarType::Time => PrimitiveType::Time,
        ScalarType::Timestamp { unit: Microsecond, utc: false } => PrimitiveType::Timestamp,
        ScalarType::Timestamp { unit: Microsecond, utc: true } => PrimitiveType::Timestamptz,
        ScalarType::Timestamp { unit: Nanosecond, utc: false } => PrimitiveType::TimestampNs,
        ScalarType::Timestamp { unit: Nanosecond, utc: true } => PrimitiveType::TimestamptzNs,
        ScalarType::String => PrimitiveType::String,
        ScalarType::Uuid => PrimitiveType::Uuid,
        ScalarType::Fixed(length) => PrimitiveType::Fixed(length),
        ScalarType::Binary => PrimitiveType::Binary,
        ScalarType::Int8 | ScalarType::Int16 | ScalarType::Timestamp { .. } => return None,
    })
}

/// Returns `array` in the Arrow type of `source`, if the two differ only in representation.
fn canonical(array: &dyn Array, source: &PrimitiveType) -> Result<ArrayRef> {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Timestamp, Utf8, Utf8View};
    let found = array.data_type();
    let wanted = match source {
        PrimitiveType::Geometry(_) | PrimitiveType::Geography(..) => Binary,
        _ => match source.scalar() {
            Some(scalar) => scalar.arrow(),
            // A variant has only one representation, and only `void` accepts it.
            None => return Ok(make_array(array.to_data())),
        },
    };
    if *found == wanted {
        return Ok(make_array(array.to_data()));
    }
    let same_values = match (found, &wanted) {
        (LargeUtf8 | Utf8View, Utf8) | (LargeBinary | BinaryView, Binary) => true,
        // The zone only affects how an instant is displayed.
        (Timestamp(found, Some(_)), Timestamp(wanted, Some(_))) => found == wanted,
        _ => false,
    };
    if !same_values {
        return Err(Error::invalid(format!("an Arrow array of the type {found} does not match the type {source:?}")));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, &wanted, &options).map_err(|e| {
        Error::invalid(format!("an Arrow array of the type {found} is too large for {wanted}")).caused_by(e)
    })
}

#[cfg(test)]
mod tests;
