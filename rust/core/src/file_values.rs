//! Checks the values of data files, as returned by Arrow readers, before they are used.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;

use crate::error::{Error, ErrorKind, Result};

/// Returns the values in another Arrow type.
///
/// # Errors
/// `CorruptData` for a value that the other type cannot represent: values never become NULL.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })?)
}

/// Returns the position of the first value that a cast changed to NULL, which is how a non-strict cast reports failure.
pub fn lost_row(before: &dyn Array, after: &dyn Array) -> Option<usize> {
    if before.logical_null_count() == after.logical_null_count() {
        return None;
    }
    let (before, after) = (before.logical_nulls(), after.logical_nulls()?);
    (0..after.len()).find(|row| after.is_null(*row) && before.as_ref().is_none_or(|before| before.is_valid(*row)))
}

/// Validates strings from the C data interface, which declares them to be UTF-8 but does not guarantee it. Invalid
/// UTF-8 would be undefined behavior in Rust. `array` is Utf8.
///
/// # Errors
/// `CorruptData` for invalid UTF-8 and for offsets outside the value buffer.
pub fn checked_text(array: &ArrayRef) -> Result<ArrayRef> {
    let text: &StringArray = array.as_string();
    let offsets = text.value_offsets();
    let range = offsets.first().zip(offsets.last()).and_then(|(first, last)| {
        let (first, last) = (usize::try_from(*first).ok()?, usize::try_from(*last).ok()?);
        text.value_data().get(first..last).map(|bytes| (first, bytes))
    });
    let Some((first, bytes)) = range else { return Err(Error::corrupt("string offsets are outside the value buffer")) };
    if bytes.is_ascii() {
        return Ok(Arc::clone(array));
    }
    let Ok(whole) = std::str::from_utf8(bytes) else { return Err(Error::corrupt("a string is not valid UTF-8")) };
    let starts =
        |offset: &i32| usize::try_from(*offset).is_ok_and(|at| at >= first && whole.is_char_boundary(at - first));
    if offsets.iter().all(starts) { Ok(Arc::clone(array)) } else { Err(Error::corrupt("a string is not valid UTF-8")) }
}

/// Returns strings from string or binary values, with U+FFFD in place of invalid UTF-8. `array` is Utf8 or Binary.
///
/// # Errors
/// `CorruptData` for offsets outside the value buffer; `LimitExceeded` if the strings exceed 2 GiB.
pub fn replaced_text(array: &ArrayRef) -> Result<ArrayRef> {
    if *array.data_type() == DataType::Utf8
        && let Ok(text) = checked_text(array)
    {
        return Ok(text);
    }
    let (offsets, values) = match (array.as_string_opt::<i32>(), array.as_binary_opt::<i32>()) {
        (Some(text), _) => (text.offsets().clone(), text.values().clone()),
        (_, Some(bytes)) => (bytes.offsets().clone(), bytes.values().clone()),
        _ => return Err(Error::internal("the array is neither string nor binary")),
    };
    if array.data_type() == &DataType::Binary
        && let Ok(text) = StringArray::try_new(offsets.clone(), values.clone(), array.nulls().cloned())
    {
        return Ok(Arc::new(text));
    }
    let mut text = String::new();
    let mut ends = Vec::with_capacity(offsets.len());
    ends.push(0);
    for (row, window) in offsets.windows(2).enumerate() {
        if array.is_valid(row) {
            let [start, end] = [window.first(), window.last()].map(|at| at.and_then(|at| usize::try_from(*at).ok()));
            let value = start.zip(end).and_then(|(start, end)| values.get(start..end));
            let value = value.ok_or_else(|| Error::corrupt("string offsets are outside the value buffer"))?;
            text.push_str(&String::from_utf8_lossy(value));
        }
        let end = i32::try_from(text.len());
        ends.push(end.map_err(|_| Error::new(ErrorKind::LimitExceeded, "the strings of one batch exceed 2 GiB"))?);
    }
    let offsets = OffsetBuffer::new(ends.into());
    Ok(Arc::new(StringArray::try_new(offsets, text.into_bytes().into(), array.nulls().cloned())?))
}

/// Returns decimals of the same scale; the source may have a higher precision if no value exceeds `precision` digits.
///
/// # Errors
/// `CorruptData` for another scale and for values with too many digits; `Internal` for an array that is not decimal.
pub fn decimal(array: &ArrayRef, precision: u8, scale: u8) -> Result<ArrayRef> {
    let (DataType::Decimal32(file_precision, file_scale)
    | DataType::Decimal64(file_precision, file_scale)
    | DataType::Decimal128(file_precision, file_scale)
    | DataType::Decimal256(file_precision, file_scale)) = *array.data_type()
    else {
        return Err(Error::internal("a decimal array has no precision and scale"));
    };
    let scale = scale.cast_signed();
    if file_scale != scale {
        return Err(Error::corrupt(format!(
            "the data file column has the type decimal({file_precision}, {file_scale}), which cannot be read as \
                decimal({precision}, {scale})"
        )));
    }
    let wide = cast(array, &DataType::Decimal128(file_precision.min(38), scale))?;
    let wide = wide.as_primitive::<Decimal128Type>();
    if file_precision > precision {
        wide.validate_decimal_precision(precision)?;
    }
    Ok(Arc::new(wide.clone().with_precision_and_scale(precision, scale)?))
}
