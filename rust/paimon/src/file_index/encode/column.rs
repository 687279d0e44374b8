//! Converts values of a batch to the form that indexes hold.
//!
//! Numbers are 64 bits wide regardless of type: integers by value, floats by their bits in Java, sign-extended, with a
//! single NaN.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_select::take::take;
use frazil_core::error::{Error, ErrorKind, Result};

use super::options::IndexedField;
use crate::spec::types::TypeRoot;

/// The values of a column.
#[derive(Debug)]
pub(super) enum HeldColumn<'a> {
    /// Numbers, and their validity.
    Numbers(Vec<i64>, Option<NullBuffer>),
    /// Strings or bytes.
    Bytes(ColumnTexts<'a>),
}

/// Strings or bytes.
#[derive(Debug)]
pub(super) enum ColumnTexts<'a> {
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
}

impl ColumnTexts<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let (texts, bytes) = match self {
            Self::Text(texts) => (Some(texts.iter().map(|text| text.map(str::as_bytes))), None),
            Self::Bytes(bytes) => (None, Some(bytes.iter())),
        };
        texts.into_iter().flatten().chain(bytes.into_iter().flatten())
    }
}

impl<'a> HeldColumn<'a> {
    /// Returns the values of a column of the field's type.
    pub(super) fn new(column: &'a ArrayRef, field: &IndexedField) -> Result<Self> {
        let root = &field.data_type.root;
        let numbers = match root {
            TypeRoot::Boolean => {
                let values = column.as_boolean_opt().map(|values| values.values().iter().map(i64::from).collect());
                values.ok_or_else(|| mismatch(column, field))?
            }
            TypeRoot::TinyInt => numbers::<Int8Type>(column, field, i64::from)?,
            TypeRoot::SmallInt => numbers::<Int16Type>(column, field, i64::from)?,
            TypeRoot::Int => numbers::<Int32Type>(column, field, i64::from)?,
            TypeRoot::BigInt => numbers::<Int64Type>(column, field, |value| value)?,
            TypeRoot::Float => numbers::<Float32Type>(column, field, |value| {
                i64::from(if value.is_nan() { f32::NAN } else { value }.to_bits().cast_signed())
            })?,
            TypeRoot::Double => numbers::<Float64Type>(column, field, |value| {
                if value.is_nan() { f64::NAN } else { value }.to_bits().cast_signed()
            })?,
            TypeRoot::Decimal(..) => unscaled(column, field)?,
            TypeRoot::Date => numbers::<Date32Type>(column, field, i64::from)?,
            TypeRoot::Time(_) => numbers::<Time32MillisecondType>(column, field, i64::from)?,
            TypeRoot::Timestamp(digits) | TypeRoot::LocalZonedTimestamp(digits) => match digits {
                0..=3 => numbers::<TimestampMillisecondType>(column, field, |value| value)?,
                4..=6 => numbers::<TimestampMicrosecondType>(column, field, |value| value)?,
                _ => numbers::<TimestampNanosecondType>(column, field, |value| value.div_euclid(1000))?,
            },
            TypeRoot::Char(_) | TypeRoot::VarChar(_) => {
                let texts = column.as_string_opt().ok_or_else(|| mismatch(column, field))?;
                return Ok(Self::Bytes(ColumnTexts::Text(texts)));
            }
            TypeRoot::Binary(_) | TypeRoot::VarBinary(_) => {
                let bytes = column.as_binary_opt().ok_or_else(|| mismatch(column, field))?;
                return Ok(Self::Bytes(ColumnTexts::Bytes(bytes)));
            }
            _ => return Err(mismatch(column, field)),
        };
        Ok(Self::Numbers(numbers, column.nulls().cloned()))
    }
}

fn numbers<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    field: &IndexedField,
    held: impl Fn(T::Native) -> i64,
) -> Result<Vec<i64>> {
    let values = column.as_primitive_opt::<T>().ok_or_else(|| mismatch(column, field))?;
    Ok(values.values().iter().map(|value| held(*value)).collect())
}

fn unscaled(column: &ArrayRef, field: &IndexedField) -> Result<Vec<i64>> {
    let values = column.as_primitive_opt::<Decimal128Type>().ok_or_else(|| mismatch(column, field))?;
    let held = |value: Option<i128>| i64::try_from(value.unwrap_or(0));
    values.iter().map(held).collect::<std::result::Result<_, _>>().map_err(|_| {
        let text =
            format!("a value of the column `{}` has more digits than its file index can hold", field.stored_name());
        Error::new(ErrorKind::LimitExceeded, text).hint("remove the index from the options of the table")
    })
}

/// Returns the values of one key of the maps of a column, with NULL if a map lacks the key.
pub(super) fn map_values(column: &ArrayRef, key: &str, field: &IndexedField) -> Result<ArrayRef> {
    let maps = column.as_map_opt().ok_or_else(|| mismatch(column, field))?;
    let keys: &StringArray = maps.keys().as_string_opt().ok_or_else(|| mismatch(column, field))?;
    let mut found = Vec::with_capacity(maps.len());
    for (row, ends) in maps.offsets().windows(2).enumerate() {
        let (&[start, end], true) = (ends, maps.is_valid(row)) else {
            found.push(None);
            continue;
        };
        let mut entries = start..end;
        let entry = entries.find(|entry| usize::try_from(*entry).is_ok_and(|entry| keys.value(entry) == key));
        found.push(entry.and_then(|entry| u32::try_from(entry).ok()));
    }
    Ok(take(maps.values(), &UInt32Array::from(found), None)?)
}

fn mismatch(column: &ArrayRef, field: &IndexedField) -> Error {
    Error::invalid(format!(
        "the column `{}`, which has a file index, has the Arrow type {}, expected {}",
        field.column,
        column.data_type(),
        field.data_type.arrow()
    ))
}
