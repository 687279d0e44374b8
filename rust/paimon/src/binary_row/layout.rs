//! Where things stand in rows and arrays.

use crate::spec::types::{DataType, TypeRoot};

/// The most digits of decimals that stand in their place.
pub(super) const MAX_COMPACT_DECIMAL: u8 = 18;

/// The most digits after the second of timestamps that stand in their place.
pub(super) const MAX_COMPACT_TIMESTAMP: u8 = 3;

/// The longest text that stands in its place.
pub(super) const MAX_INLINE_BYTES: usize = 7;

/// How many bytes kind and null bits of a row take.
pub(super) fn row_header_bytes(arity: usize) -> usize {
    arity.saturating_add(8).div_ceil(64).saturating_mul(8)
}

/// How many bytes length and null bits of an array take.
pub(super) fn array_header_bytes(length: usize) -> usize {
    length.div_ceil(32).saturating_mul(4).saturating_add(4)
}

/// How many bytes an element of an array takes, without its part.
pub(super) fn element_bytes(data_type: &DataType) -> usize {
    match data_type.root {
        TypeRoot::Boolean | TypeRoot::TinyInt => 1,
        TypeRoot::SmallInt => 2,
        TypeRoot::Int | TypeRoot::Float | TypeRoot::Date | TypeRoot::Time(_) => 4,
        _ => 8,
    }
}

/// Whether NULL of a type keeps a part of so many bytes in a row.
pub(super) fn reserved_bytes(data_type: &DataType) -> usize {
    match data_type.root {
        TypeRoot::Decimal(digits, _) if digits > MAX_COMPACT_DECIMAL => 16,
        TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) if digits > MAX_COMPACT_TIMESTAMP => 8,
        _ => 0,
    }
}
