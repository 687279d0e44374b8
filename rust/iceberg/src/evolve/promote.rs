//! Promotes types to wider types (spec: "Schema Evolution", "Type promotion").

use arrow_schema::TimeUnit;
use frazil_core::error::{Error, Result};
use frazil_core::scalar::Scalar;

use crate::spec::table_metadata::TableMetadata;
use crate::spec::transform::Transform;
use crate::spec::types::{PrimitiveType, Value};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Returns whether the rules of a format version allow promotion from `from` to `to`.
pub(super) fn promotes(from: &PrimitiveType, to: &PrimitiveType, version: u8) -> bool {
    use PrimitiveType as P;
    match (from, to) {
        (P::Int, P::Long) | (P::Float, P::Double) => true,
        (P::Decimal { precision: narrow, scale: a }, P::Decimal { precision: wide, scale: b }) => {
            a == b && narrow < wide
        }
        (P::Unknown, to) => version >= 3 && *to != P::Unknown,
        // Never to a type with a time zone: a day begins at a different instant in each zone.
        (P::Date, P::Timestamp | P::TimestampNs) => version >= 3,
        _ => false,
    }
}

/// Rejects a type change if it would change partition values that were already written.
///
/// # Errors
/// `InvalidArgument`, with the partition field.
pub(super) fn check_partitions(base: &TableMetadata, id: i32, from: &PrimitiveType) -> Result<()> {
    if *from != PrimitiveType::Date {
        return Ok(());
    }
    let fields = base.partition_specs.iter().flat_map(|spec| &spec.fields);
    let mut changed = fields.filter(|field| field.source_ids.contains(&id)).filter(|field| {
        !matches!(field.transform, Transform::Day | Transform::Month | Transform::Year | Transform::Void)
    });
    match changed.next() {
        None => Ok(()),
        Some(field) => {
            let message =
                format!("the values of the partition field `{}` ({}) would change", field.name, field.transform);
            Err(Error::invalid(message).hint("add a column of the new type instead"))
        }
    }
}

/// Returns a default of a narrower type as a value of `to`.
pub(super) fn promoted(value: &Value, to: &PrimitiveType) -> Result<Value> {
    use PrimitiveType as P;
    let Value::Scalar(scalar) = value else {
        return Err(Error::internal("expected a scalar default for a primitive type"));
    };
    let overflow = || Error::invalid(format!("the default does not fit the type {to}"));
    let scalar = match (scalar, to) {
        (Scalar::Int32(value), P::Long) => Scalar::Int64(i64::from(*value)),
        (Scalar::Float32(value), P::Double) => Scalar::Float64(f64::from(*value)),
        (Scalar::Decimal { unscaled, scale, .. }, P::Decimal { precision, .. }) => {
            Scalar::Decimal { unscaled: *unscaled, precision: *precision, scale: *scale }
        }
        (Scalar::Date(days), P::Timestamp | P::TimestampNs) => {
            let micros = i64::from(*days).checked_mul(MICROS_PER_DAY).ok_or_else(overflow)?;
            let (value, unit) = match to {
                P::Timestamp => (micros, TimeUnit::Microsecond),
                _ => (micros.checked_mul(1000).ok_or_else(overflow)?, TimeUnit::Nanosecond),
            };
            Scalar::Timestamp { value, unit, utc: false }
        }
        _ => return Err(Error::internal(format!("a default cannot be converted to {to}"))),
    };
    Ok(Value::Scalar(scalar))
}
