//! Encodes and decodes rows as bytes (documentation: "Row Format"). Partitions, keys and bounds in manifests have this
//! form, and bucket numbers are hashes of it.
//!
//! ```text
//! row   = kind: u8 | one bit per field, 1 = NULL, padded to 8 bytes together with the kind | 8 bytes per field | parts
//! array = length: i32 | one bit per element, 1 = NULL, padded to 4 bytes | elements of 1, 2, 4 or 8 bytes, padded | parts
//! map   = bytes of the keys: i32 | array of keys | array of values
//! variant = bytes of the value: i32 | value | metadata
//! ```
//!
//! Numbers are little-endian. A value that does not fit its slot is stored in a part, padded to 8 bytes. The slot then
//! holds `offset << 32 | length`, with the offset counted from the start of the row or array. In detail:
//!
//! | type | slot |
//! |---|---|
//! | numbers, DATE, TIME | the number |
//! | strings and bytes of at most 7 bytes | the bytes, then `0x80 \| length` in the last |
//! | DECIMAL of at most 18 digits | the unscaled number |
//! | DECIMAL of more digits | a part of 16 bytes that begins with the shortest big-endian form of `length` bytes |
//! | TIMESTAMP of at most 3 digits | milliseconds |
//! | TIMESTAMP of more digits | a part of 8 bytes, milliseconds; `length` is the nanoseconds within the millisecond |
//!
//! In manifests, rows are preceded by the number of their fields as four big-endian bytes.

mod decode;
mod encode;
mod layout;
#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::types::{DataField, DataType, TypeRoot};

use decode::Overflow;

pub use encode::encode;

/// A row without fields, with its arity: the partition of unpartitioned tables and the key of tables without a key.
pub const NO_FIELDS: [u8; 12] = [0; 12];

/// Returns the fields of rows at the positions `wanted`, one array for each. Rows carry their arity. NULL rows and rows
/// without fields become NULL in every array.
///
/// # Errors
/// `CorruptData` for rows that do not decode or whose number of fields differs from `types`; `LimitExceeded` for
/// timestamps that Arrow cannot hold; `InvalidArgument` if a wanted field is not in `types`.
pub fn decode_columns(rows: &BinaryArray, types: &[DataType], wanted: &[usize]) -> Result<Vec<ArrayRef>> {
    decode::columns(rows, types, wanted, Overflow::Fail)
}

/// Returns the fields of rows of bounds, as [`decode_columns`] does, but with NULL for timestamps that Arrow cannot
/// hold.
///
/// # Errors
/// `CorruptData` and `InvalidArgument` as for [`decode_columns`].
pub fn decode_bounds(rows: &BinaryArray, types: &[DataType], wanted: &[usize]) -> Result<Vec<ArrayRef>> {
    decode::columns(rows, types, wanted, Overflow::Null)
}

/// Returns all fields of one row that carries its arity, as arrays of length 1.
///
/// # Errors
/// As for [`decode_columns`].
pub fn decode(row: &[u8], types: &[DataType]) -> Result<Vec<ArrayRef>> {
    let wanted: Vec<usize> = (0..types.len()).collect();
    decode_columns(&BinaryArray::from_vec(vec![row]), types, &wanted)
}

/// Returns rows of `arity` fields, each preceded by that number as in manifests.
///
/// # Errors
/// `LimitExceeded` above 2 GiB.
pub fn with_arity(rows: &BinaryArray, arity: usize) -> Result<BinaryArray> {
    let prefix = u32::try_from(arity).map_err(|_| Error::invalid("a row has more than 2^32 fields"))?.to_be_bytes();
    let mut values = Vec::with_capacity(rows.value_data().len() + 4 * rows.len());
    let mut offsets = vec![0_i32];
    for row in rows {
        if let Some(row) = row {
            values.extend_from_slice(&prefix);
            values.extend_from_slice(row);
        }
        offsets.push(offset(values.len())?);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = rows.nulls().cloned();
    Ok(BinaryArray::try_new(offsets, Buffer::from(values), nulls)?)
}

/// Converts a length to an end offset of an Arrow byte array, which has 32 bits.
fn offset(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::new(ErrorKind::LimitExceeded, "the rows of one array exceed 2 GiB"))
}

/// Returns the types of the fields of a ROW, for recursion.
fn field_types(fields: &[DataField]) -> Vec<DataType> {
    fields.iter().map(|field| field.data_type.clone()).collect()
}

/// Returns the type of the counts in a MULTISET.
fn count_type() -> DataType {
    DataType::required(TypeRoot::Int)
}
