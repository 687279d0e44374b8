//! Reads dictionary-encoded strings and bytes. Parquet files usually encode strings in dictionaries, and a merge copies
//! only the values of the surviving rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, Int32Type, Utf8Type};
use arrow_array::{Array, ArrayRef, GenericByteArray, Int32Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::file_values::{checked_text, replaced_text};

/// Returns whether arrays of a type hold values of `plain` (strings or bytes) in a form that [`Texts`] reads: plain or
/// dictionary-encoded.
pub(crate) fn holds(data_type: &DataType, plain: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(keys, values) => {
            **keys == DataType::Int32 && **values == *plain && matches!(plain, DataType::Utf8 | DataType::Binary)
        }
        other => other == plain,
    }
}

/// Returns a schema in which columns have a dictionary type if their arrays are dictionary-encoded.
pub(crate) fn schema(schema: &SchemaRef, columns: &[ArrayRef]) -> SchemaRef {
    if schema.fields().iter().zip(columns).all(|(field, column)| field.data_type() == column.data_type()) {
        return Arc::clone(schema);
    }
    let field = |(field, column): (&FieldRef, &ArrayRef)| match column.data_type() {
        is if is != field.data_type() && holds(is, field.data_type()) => {
            Arc::new(field.as_ref().clone().with_data_type(is.clone()))
        }
        _ => Arc::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().zip(columns).map(field).collect::<Vec<_>>()))
}

/// Rejects a dictionary array with invalid keys or with entries that are not strings.
///
/// # Errors
/// `CorruptData`.
pub(crate) fn check(array: &ArrayRef) -> Result<()> {
    let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() else { return Ok(()) };
    let entries = dictionary.values();
    if entries.null_count() > 0 {
        return Err(Error::corrupt("a dictionary entry is NULL"));
    }
    check_keys(dictionary.keys(), entries.len())?;
    if *entries.data_type() == DataType::Utf8 { checked_text(entries).map(drop) } else { Ok(()) }
}

/// Returns a dictionary array with invalid UTF-8 in its entries replaced by U+FFFD; other arrays are unchanged.
///
/// # Errors
/// As for [`frazil_core::file_values::replaced_text`].
pub(crate) fn replaced(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() else { return Ok(Arc::clone(array)) };
    let entries = dictionary.values();
    if *entries.data_type() != DataType::Utf8 || checked_text(entries).is_ok() {
        return Ok(Arc::clone(array));
    }
    Ok(Arc::new(dictionary.with_values(replaced_text(entries)?)))
}

/// Returns the average length of an entry of a dictionary array, or 0 for other arrays.
pub(crate) fn mean_bytes(array: &ArrayRef) -> usize {
    let Some(dictionary) = array.as_dictionary_opt::<Int32Type>() else { return 0 };
    let texts = Texts::of::<Utf8Type>(array).or_else(|| Texts::of::<BinaryType>(array));
    texts.filter(|_| !dictionary.values().is_empty()).map_or(0, |texts| texts.mean_bytes())
}

fn check_keys(keys: &Int32Array, entries: usize) -> Result<()> {
    let entries = i32::try_from(entries).unwrap_or(i32::MAX);
    let unknown = |key: i32| !(0..entries).contains(&key);
    // The loop is branchless. Keys under NULL may be arbitrary, so NULLs are considered only if a key is out of range.
    let suspect = keys.values().iter().fold(false, |suspect, key| suspect | unknown(*key));
    if suspect && keys.iter().flatten().any(unknown) {
        return Err(Error::corrupt("a dictionary key is out of range"));
    }
    Ok(())
}

/// Returns the values of a dictionary array without the dictionary.
///
/// # Errors
/// As for [`check`]; `LimitExceeded` if the strings exceed an Arrow column.
pub(crate) fn unpacked(array: &ArrayRef) -> Result<ArrayRef> {
    let DataType::Dictionary(_, values) = array.data_type() else { return Ok(Arc::clone(array)) };
    if !holds(array.data_type(), values) {
        return Ok(cast(array, values)?);
    }
    check(array)?;
    if **values == DataType::Utf8 { copied::<Utf8Type>(array) } else { copied::<BinaryType>(array) }
}

fn copied<T: ByteArrayType<Offset = i32>>(array: &ArrayRef) -> Result<ArrayRef> {
    let texts =
        Texts::of::<T>(array).ok_or_else(|| Error::internal("a dictionary has values of an unexpected type"))?;
    let mut copy = Copy::with_capacity(array.len(), texts.mean_bytes());
    for row in 0..array.len() {
        copy.push(texts.value(row))?;
    }
    let (offsets, values) = copy.finish();
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, values.into(), array.nulls().cloned())?))
}

/// The values of an array, plain or dictionary-encoded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Texts<'a> {
    keys: Option<&'a [i32]>,
    offsets: &'a [i32],
    values: &'a [u8],
}

impl<'a> Texts<'a> {
    /// Creates the values, or returns None for arrays of other types.
    pub(crate) fn of<T: ByteArrayType<Offset = i32>>(array: &'a ArrayRef) -> Option<Self> {
        let (keys, entries) = match array.as_dictionary_opt::<Int32Type>() {
            Some(dictionary) => (Some(&**dictionary.keys().values()), dictionary.values()),
            None => (None, array),
        };
        let entries = entries.as_bytes_opt::<T>()?;
        Some(Self { keys, offsets: entries.value_offsets(), values: entries.value_data() })
    }

    /// Returns the value of a row: an arbitrary value for NULL, and an empty value if the row does not exist.
    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "neither Arrow's offsets nor checked keys are negative")]
    pub(crate) fn value(&self, row: usize) -> &'a [u8] {
        let entry = match self.keys {
            None => row,
            Some(keys) => keys.get(row).map_or(usize::MAX, |key| *key as usize),
        };
        match self.offsets.get(entry..) {
            Some([start, end, ..]) => self.values.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns the offsets and the values of rows, or None if they are not contiguous.
    #[expect(clippy::cast_sign_loss, reason = "Arrow's offsets are never negative")]
    pub(crate) fn range(&self, start: usize, end: usize) -> Option<(&'a [i32], &'a [u8])> {
        let offsets = self.offsets.get(start..=end).filter(|_| self.keys.is_none())?;
        let [first, .., last] = offsets else { return None };
        Some((offsets, self.values.get(*first as usize..*last as usize)?))
    }

    /// Returns the average length of an entry.
    pub(crate) fn mean_bytes(&self) -> usize {
        let bounds = self.offsets.first().zip(self.offsets.last());
        let bytes = bounds.and_then(|(first, last)| usize::try_from(last - first).ok()).unwrap_or(0);
        bytes.div_ceil(self.offsets.len().saturating_sub(1).max(1))
    }
}

/// Values that are copied one after another.
#[derive(Debug)]
pub(crate) struct Copy {
    offsets: Vec<i32>,
    values: Vec<u8>,
}

impl Copy {
    /// The maximum number of bytes that are reserved in advance.
    const MAX_CAPACITY_BYTES: usize = 32 << 20;

    /// Creates a copy with capacity for this many values of this many bytes.
    pub(crate) fn with_capacity(rows: usize, mean_bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let bytes = rows.saturating_mul(mean_bytes).min(Self::MAX_CAPACITY_BYTES);
        Self { offsets, values: Vec::with_capacity(bytes) }
    }

    /// Appends a value.
    ///
    /// # Errors
    /// `LimitExceeded` if the values exceed an Arrow column.
    #[inline]
    pub(crate) fn push(&mut self, value: &[u8]) -> Result<()> {
        let end = i32::try_from(self.values.len() + value.len()).map_err(|_| too_long())?;
        self.values.extend_from_slice(value);
        self.offsets.push(end);
        Ok(())
    }

    /// Appends contiguous values, as returned by [`Texts::range`].
    ///
    /// # Errors
    /// As for [`Copy::push`].
    pub(crate) fn extend(&mut self, offsets: &[i32], values: &[u8]) -> Result<()> {
        let [first, rest @ ..] = offsets else { return Ok(()) };
        let start = i32::try_from(self.values.len()).map_err(|_| too_long())?;
        i32::try_from(self.values.len() + values.len()).map_err(|_| too_long())?;
        self.values.extend_from_slice(values);
        self.offsets.extend(rest.iter().map(|offset| offset - first + start));
        Ok(())
    }

    pub(crate) fn finish(self) -> (OffsetBuffer<i32>, Vec<u8>) {
        (OffsetBuffer::new(ScalarBuffer::from(self.offsets)), self.values)
    }
}

#[cold]
fn too_long() -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("one batch has more than {} bytes of strings", i32::MAX))
}

#[cfg(test)]
mod tests {
    use arrow_array::{DictionaryArray, StringArray};

    use super::*;

    fn dictionary(keys: Vec<Option<i32>>, entries: ArrayRef) -> ArrayRef {
        Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(keys), entries))
    }

    #[test]
    fn unpacked_dictionaries_match_arrow_casts() {
        let entries: ArrayRef = Arc::new(StringArray::from(vec!["x", "", "h\u{e9}", "y"]).slice(1, 3));
        let array = dictionary(vec![Some(2), None, Some(0), Some(1), Some(2)], entries);
        let expected = cast(&array, &DataType::Utf8).unwrap();
        assert_eq!(&unpacked(&array).unwrap(), &expected);
        assert_eq!(&unpacked(&array.slice(1, 3)).unwrap(), &expected.slice(1, 3));
        let bytes: ArrayRef = Arc::new(arrow_array::BinaryArray::from_vec(vec![&[255, 0][..], &[]]));
        let array = dictionary(vec![Some(1), Some(0), None], bytes);
        assert_eq!(&unpacked(&array).unwrap(), &cast(&array, &DataType::Binary).unwrap());
    }

    #[test]
    fn numbers_without_entry_are_refused() {
        for bad in [2, -1, i32::MIN, i32::MAX] {
            assert!(check_keys(&Int32Array::from(vec![Some(0), Some(bad), None]), 2).is_err());
        }
        check_keys(&Int32Array::from(vec![Some(0), None, Some(1)]), 2).unwrap();
        let nothing = Int32Array::new(vec![7, 1].into(), Some(vec![false, true].into()));
        check_keys(&nothing, 2).unwrap();
        let nulls: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        assert!(unpacked(&dictionary(vec![Some(0)], nulls)).is_err());
    }
}
