//! `bucket[N]` (spec: "Partition Transforms", appendix B): `(murmur3(bytes) & 0x7fffffff) % N`.
//!
//! ```text
//! int long date time timestamp(tz)   8 bytes, little-endian; an int is widened
//! timestamp(tz)_ns                   as the microsecond at or before it
//! decimal                            shortest big-endian two's complement of the unscaled value
//! string                             UTF-8
//! uuid fixed binary                  as they are (a uuid big-endian)
//! ```

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, Date32Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampNanosecondType, Utf8Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::TimeUnit;
use frazil_core::hash::modulo::Modulo;
use frazil_core::hash::murmur3::{
    hash_byte_arrays, hash_bytes, hash_decimal, hash_decimals, hash_fixed, hash_i64, hash_longs, hash_numbers,
};
use frazil_core::scalar::Scalar;

use crate::spec::types::PrimitiveType;

const SEED: u32 = 0;
const NANOS_PER_MICRO: i64 = 1_000;

/// Returns the bucket numbers of an array with the Arrow type of `source`; None for a type that cannot be hashed.
pub(super) fn apply(array: &dyn Array, source: &PrimitiveType, buckets: u32) -> Option<ArrayRef> {
    let modulo = Modulo::by(buckets)?;
    let bucket = |hash| bucket(hash, modulo);
    Some(Arc::new(match source {
        PrimitiveType::Int => hash_longs(array.as_primitive::<Int32Type>(), SEED, bucket),
        PrimitiveType::Long => hash_longs(array.as_primitive::<Int64Type>(), SEED, bucket),
        PrimitiveType::Date => hash_longs(array.as_primitive::<Date32Type>(), SEED, bucket),
        PrimitiveType::Time => hash_longs(array.as_primitive::<Time64MicrosecondType>(), SEED, bucket),
        PrimitiveType::Timestamp | PrimitiveType::Timestamptz => {
            hash_longs(array.as_primitive::<TimestampMicrosecondType>(), SEED, bucket)
        }
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => {
            let micros = |nanos: i64| nanos.div_euclid(NANOS_PER_MICRO);
            hash_numbers(array.as_primitive::<TimestampNanosecondType>(), micros, SEED, bucket)
        }
        PrimitiveType::Decimal { .. } => hash_decimals(array.as_primitive(), SEED, bucket),
        PrimitiveType::String => hash_byte_arrays::<Utf8Type>(array.as_bytes(), SEED, bucket),
        PrimitiveType::Binary => hash_byte_arrays::<BinaryType>(array.as_bytes(), SEED, bucket),
        PrimitiveType::Uuid | PrimitiveType::Fixed(_) => hash_fixed(array.as_fixed_size_binary(), SEED, bucket),
        _ => return None,
    }))
}

/// Returns the bucket number of one value; None if its type cannot be hashed.
pub(super) fn apply_scalar(value: &Scalar, buckets: u32) -> Option<i32> {
    let hash = match value {
        Scalar::Int32(value) | Scalar::Date(value) => hash_i64(i64::from(*value), SEED),
        Scalar::Int64(value) | Scalar::Time(value) | Scalar::Timestamp { value, unit: TimeUnit::Microsecond, .. } => {
            hash_i64(*value, SEED)
        }
        Scalar::Timestamp { value, unit: TimeUnit::Nanosecond, .. } => {
            hash_i64(value.div_euclid(NANOS_PER_MICRO), SEED)
        }
        Scalar::Decimal { unscaled, .. } => hash_decimal(*unscaled, SEED),
        Scalar::String(text) => hash_bytes(text.as_bytes(), SEED),
        Scalar::Uuid(bytes) => hash_bytes(bytes, SEED),
        Scalar::Fixed(bytes) | Scalar::Binary(bytes) => hash_bytes(bytes, SEED),
        _ => return None,
    };
    Some(bucket(hash, Modulo::by(buckets)?))
}

/// Returns whether values of `source` can be hashed.
pub(super) fn takes(source: &PrimitiveType) -> bool {
    match source {
        PrimitiveType::Int
        | PrimitiveType::Long
        | PrimitiveType::Decimal { .. }
        | PrimitiveType::Date
        | PrimitiveType::Time
        | PrimitiveType::Timestamp
        | PrimitiveType::Timestamptz
        | PrimitiveType::TimestampNs
        | PrimitiveType::TimestamptzNs
        | PrimitiveType::String
        | PrimitiveType::Uuid
        | PrimitiveType::Fixed(_)
        | PrimitiveType::Binary => true,
        PrimitiveType::Unknown
        | PrimitiveType::Boolean
        | PrimitiveType::Float
        | PrimitiveType::Double
        | PrimitiveType::Variant
        | PrimitiveType::Geometry(_)
        | PrimitiveType::Geography(..) => false,
    }
}

#[expect(clippy::inline_always, reason = "the loops over columns are vectorised only if it is inlined")]
#[inline(always)]
fn bucket(hash: i32, modulo: Modulo) -> i32 {
    modulo.remainder((hash & i32::MAX).cast_unsigned()).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_the_specification_hold() {
        let micros = |value| Scalar::Timestamp { value, unit: TimeUnit::Microsecond, utc: false };
        let nanos = |value| Scalar::Timestamp { value, unit: TimeUnit::Nanosecond, utc: true };
        let decimal = |unscaled| Scalar::Decimal { unscaled, precision: 9, scale: 2 };
        let uuid = 0xf79c_3e09_677c_4bbd_a479_3f34_9cb7_85e7_u128.to_be_bytes();
        for (value, buckets, bucket) in [
            (Scalar::Int32(34), 100, 79),
            (Scalar::Int64(34), 100, 79),
            (Scalar::Date(17_486), 100, 26),
            (Scalar::Time(81_068_000_000), 100, 59),
            (micros(1_510_871_468_000_000), 100, 7),
            (nanos(1_510_871_468_000_000_999), 100, 7),
            (decimal(1420), 100, 59),
            (decimal(-128), 16, 13),
            (Scalar::String("iceberg".into()), 100, 89),
            (Scalar::Uuid(uuid), 100, 40),
            (Scalar::Binary(b"foo".to_vec()), 128, 32),
            (Scalar::Fixed(vec![0, 1, 2, 3]), 128, 57),
            (nanos(-1), 1 << 31, 1_651_860_712),
        ] {
            assert_eq!(apply_scalar(&value, buckets), Some(bucket), "{value:?}");
        }
    }

    #[test]
    fn unhashable_values_have_no_bucket() {
        for value in [Scalar::Boolean(true), Scalar::Float32(1.0), Scalar::Float64(1.0)] {
            assert_eq!(apply_scalar(&value, 4), None);
        }
        assert_eq!(apply_scalar(&Scalar::Int32(1), 0), None);
    }
}
