//! The layout of rows and arrays.

use crate::spec::types::{DataType, TypeRoot};

/// The maximum precision of decimals that are stored in their slot.
pub(super) const MAX_COMPACT_DECIMAL: u8 = 18;

/// The maximum precision of timestamps that are stored in their slot.
pub(super) const MAX_COMPACT_TIMESTAMP: u8 = 3;

/// The maximum length of strings that are stored in their slot.
pub(super) const MAX_INLINE_BYTES: usize = 7;

/// Returns the number of bytes that the kind and the null bits of a row take.
pub(super) fn row_header_bytes(arity: usize) -> usize {
    arity.saturating_add(8).div_ceil(64).saturating_mul(8)
}

/// Returns the number of bytes that the length and the null bits of an array take.
pub(super) fn array_header_bytes(length: usize) -> usize {
    length.div_ceil(32).saturating_mul(4).saturating_add(4)
}

/// Returns the number of bytes that an element of an array takes, without its part.
pub(super) fn element_bytes(data_type: &DataType) -> usize {
    match data_type.root {
        TypeRoot::Boolean | TypeRoot::TinyInt => 1,
        TypeRoot::SmallInt => 2,
        TypeRoot::Int | TypeRoot::Float | TypeRoot::Date | TypeRoot::Time(_) => 4,
        _ => 8,
    }
}

/// Returns the number of bytes of the part that a NULL of this type keeps in a row.
pub(super) fn reserved_bytes(data_type: &DataType) -> usize {
    match data_type.root {
        TypeRoot::Decimal(digits, _) if digits > MAX_COMPACT_DECIMAL => 16,
        TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) if digits > MAX_COMPACT_TIMESTAMP => 8,
        _ => 0,
    }
}
