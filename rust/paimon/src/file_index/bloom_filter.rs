//! Evaluates `bloom-filter` indexes, which exclude values that are not in the file.
//!
//! ```text
//! hash functions: i32 BE | bits, least significant of each byte first
//! ```
//!
//! Strings and bytes are hashed with XXH64, seed 0. Numbers are hashed with Thomas Wang's 64-bit mix, floats by their
//! sign-extended bits. All hash functions are derived from the two halves of the hash. NULL, BOOLEAN and DECIMAL are
//! not indexed.

use frazil_core::bytes::Cursor;
use frazil_core::error::Result;
use xxhash_rust::xxh64::xxh64;

use super::value::{Layout, Question, Value, Values, narrow};
use crate::spec::types::TypeRoot;

/// Returns whether a row that passes may be in the file, or None if the filter cannot decide.
pub(super) fn may_match(body: &[u8], question: &Question<'_>, file: &TypeRoot) -> Result<Option<bool>> {
    let layout = match (file, Layout::of(file)) {
        (TypeRoot::Boolean | TypeRoot::Decimal(..), _) | (_, None) => return Ok(None),
        (_, Some(layout)) => layout,
    };
    let (Values::In(members), false) = (&question.values, question.nulls) else { return Ok(None) };
    let filter = Filter::read(body)?;
    Ok(Some(members.iter().any(|member| match member {
        // The file may contain 0.0 and -0.0, which are both equal to the literal but have different hashes.
        Value::Float(0.0) => [0.0, -0.0].iter().any(|zero| filter.may_contain(hash(&Value::Float(*zero), layout))),
        other => filter.may_contain(hash(other, layout)),
    })))
}

struct Filter<'a> {
    hash_functions: i32,
    bits: &'a [u8],
    bit_count: i32,
}

impl<'a> Filter<'a> {
    fn read(body: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(body);
        let hash_functions = cursor.be_i32()?;
        let bits = cursor.rest();
        let bit_count = i32::try_from(bits.len()).ok().and_then(|bytes| bytes.checked_mul(8));
        match bit_count {
            Some(bit_count) if (1..=bit_count).contains(&hash_functions) => {
                Ok(Self { hash_functions, bits, bit_count })
            }
            _ => Err(cursor.error(format_args!(
                "{hash_functions} hash functions over {} bytes are not a valid Bloom filter",
                bits.len()
            ))),
        }
    }

    fn may_contain(&self, hash: u64) -> bool {
        let [low, high] = [hash, hash >> 32].map(u64::to_le_bytes).map(|[a, b, c, d, ..]| [a, b, c, d]);
        let (low, high) = (i32::from_le_bytes(low), i32::from_le_bytes(high));
        (1..=self.hash_functions).all(|i| {
            let sum = low.wrapping_add(i.wrapping_mul(high));
            let bit = (if sum < 0 { !sum } else { sum }) % self.bit_count;
            let byte = usize::try_from(bit / 8).ok().and_then(|byte| self.bits.get(byte));
            byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        })
    }
}

pub(super) fn hash(value: &Value<'_>, layout: Layout) -> u64 {
    match (value, layout) {
        (Value::Bytes(bytes), _) => xxh64(bytes, 0),
        (Value::Integer(value), _) => mixed(*value),
        (Value::Float(value), Layout::Float) => {
            let bits = if value.is_nan() { f32::NAN } else { narrow(*value) }.to_bits();
            mixed(i64::from(bits.cast_signed()))
        }
        (Value::Float(value), _) => mixed(if value.is_nan() { f64::NAN } else { *value }.to_bits().cast_signed()),
    }
}

/// Returns Thomas Wang's 64-bit hash, with arithmetic right shifts as in the Java writer.
pub(super) fn mixed(key: i64) -> u64 {
    let mut key = (!key).wrapping_add(key << 21);
    key ^= key >> 24;
    key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    key ^= key >> 14;
    key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    key ^= key >> 28;
    key.wrapping_add(key << 31).cast_unsigned()
}
