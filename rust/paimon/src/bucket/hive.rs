//! Computes Hive's hash over columns: `31 * hash + hash of the value`, with 0 for NULL.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use frazil_core::error::{Error, Result};

use crate::spec::types::{DataType, TypeRoot};

/// Returns the hash of each row.
pub(super) fn hashes(keys: &[ArrayRef], types: &[DataType]) -> Result<Vec<i32>> {
    let rows = keys.first().map_or(0, Array::len);
    if keys.len() != types.len() || keys.iter().any(|key| key.len() != rows) {
        return Err(Error::invalid(format!(
            "{} columns for {} types, or columns of different lengths",
            keys.len(),
            types.len()
        )));
    }
    let mut hashes = vec![0_i32; rows];
    for (key, data_type) in keys.iter().zip(types) {
        let column = column(key, data_type)?;
        let mut column = column
            .ok_or_else(|| Error::invalid(format!("a bucket key has the unexpected Arrow type {}", key.data_type())))?;
        if let Some(nulls) = key.nulls() {
            column.iter_mut().zip(nulls).for_each(|(hash, valid)| *hash = if valid { *hash } else { 0 });
        }
        hashes.iter_mut().zip(column).for_each(|(hash, value)| *hash = hash.wrapping_mul(31).wrapping_add(value));
    }
    Ok(hashes)
}

/// Returns the hashes of values, with arbitrary hashes for NULL, or None if the Arrow type is not that of `data_type`.
fn column(key: &ArrayRef, data_type: &DataType) -> Result<Option<Vec<i32>>> {
    Ok(match &data_type.root {
        TypeRoot::Boolean => key.as_boolean_opt().map(|key| key.values().iter().map(i32::from).collect()),
        TypeRoot::TinyInt => numbers::<Int8Type>(key, i32::from),
        TypeRoot::SmallInt => numbers::<Int16Type>(key, i32::from),
        TypeRoot::Int => numbers::<Int32Type>(key, |value| value),
        TypeRoot::Date => numbers::<Date32Type>(key, |value| value),
        TypeRoot::Time(_) => numbers::<Time32MillisecondType>(key, |value| value),
        TypeRoot::BigInt => numbers::<Int64Type>(key, |value| folded(value.cast_unsigned())),
        TypeRoot::Float => numbers::<Float32Type>(key, |value| match value {
            0.0 => 0,
            value if value.is_nan() => 0x7fc0_0000,
            value => value.to_bits().cast_signed(),
        }),
        TypeRoot::Double => numbers::<Float64Type>(key, |value| match value {
            0.0 => 0,
            value if value.is_nan() => folded(0x7ff8_0000_0000_0000),
            value => folded(value.to_bits()),
        }),
        TypeRoot::Decimal(_, scale) => numbers::<Decimal128Type>(key, |value| decimal(value, i32::from(*scale))),
        TypeRoot::Char(_) | TypeRoot::VarChar(_) => key.as_string_opt::<i32>().map(|key| {
            let text = |at| bytes(key.value(at).as_bytes());
            (0..key.len()).map(text).collect()
        }),
        TypeRoot::Binary(_) | TypeRoot::VarBinary(_) => {
            key.as_binary_opt::<i32>().map(|key| (0..key.len()).map(|at| bytes(key.value(at))).collect())
        }
        _ => {
            return Err(Error::unsupported(format!("the bucket function `hive` does not support {}", key.data_type())));
        }
    })
}

fn numbers<T: ArrowPrimitiveType>(key: &ArrayRef, hash: impl Fn(T::Native) -> i32) -> Option<Vec<i32>> {
    Some(key.as_primitive_opt::<T>()?.values().iter().map(|value| hash(*value)).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half of the number")]
fn folded(bits: u64) -> i32 {
    ((bits ^ (bits >> 32)) as u32).cast_signed()
}

fn bytes(bytes: &[u8]) -> i32 {
    bytes.iter().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed())))
}

/// Returns Java's hash of a decimal without trailing zeros.
fn decimal(unscaled: i128, scale: i32) -> i32 {
    let (mut unscaled, mut scale) = (unscaled, scale);
    while scale > 0 && unscaled % 10 == 0 {
        (unscaled, scale) = (unscaled / 10, scale - 1);
    }
    let magnitude = unscaled.unsigned_abs().to_be_bytes();
    let (words, _) = magnitude.as_chunks::<4>();
    let hash = words
        .iter()
        .fold(0_i32, |hash, word| hash.wrapping_mul(31).wrapping_add(u32::from_be_bytes(*word).cast_signed()));
    let hash = if unscaled < 0 { hash.wrapping_neg() } else { hash };
    hash.wrapping_mul(31).wrapping_add(scale)
}
