//! Hashes rows of a single number without building them: a header of eight bytes, then the number in eight bytes.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use frazil_core::hash::murmur3::{hash_after_prefix, hash_bytes};

use super::SEED;
use crate::spec::types::{DataType, TypeRoot};

/// The headers of a row without NULL and of a row whose first field is NULL.
const VALID: [u8; 8] = [0; 8];
const NULL: [u8; 8] = [0, 1, 0, 0, 0, 0, 0, 0];

/// Applies `then` to the hash of each row. Returns None for keys other than one number.
pub(super) fn hashes(keys: &[ArrayRef], types: &[DataType], then: impl Fn(i32) -> i32) -> Option<Vec<i32>> {
    let ([key], [data_type]) = (keys, types) else { return None };
    // A number narrower than eight bytes is stored in the first bytes of its slot. The rest are zero, without sign
    // extension.
    Some(match data_type.root {
        TypeRoot::TinyInt => of(key.as_primitive_opt::<Int8Type>()?, |n| i64::from(n.cast_unsigned()), then),
        TypeRoot::SmallInt => of(key.as_primitive_opt::<Int16Type>()?, |n| i64::from(n.cast_unsigned()), then),
        TypeRoot::Int => of(key.as_primitive_opt::<Int32Type>()?, |n| i64::from(n.cast_unsigned()), then),
        TypeRoot::Date => of(key.as_primitive_opt::<Date32Type>()?, |n| i64::from(n.cast_unsigned()), then),
        TypeRoot::Time(_) => {
            of(key.as_primitive_opt::<Time32MillisecondType>()?, |n| i64::from(n.cast_unsigned()), then)
        }
        TypeRoot::BigInt => of(key.as_primitive_opt::<Int64Type>()?, |n| n, then),
        _ => return None,
    })
}

fn of<T: ArrowPrimitiveType>(
    key: &PrimitiveArray<T>,
    number: impl Fn(T::Native) -> i64,
    then: impl Fn(i32) -> i32,
) -> Vec<i32> {
    let mut hashes = hash_after_prefix(VALID, key.values(), number, SEED, &then);
    if let Some(nulls) = key.nulls().filter(|nulls| nulls.null_count() > 0) {
        let null = then(hash_bytes([NULL, [0; 8]].as_flattened(), SEED));
        hashes.iter_mut().zip(nulls).filter(|(_, valid)| !valid).for_each(|(hash, _)| *hash = null);
    }
    hashes
}
