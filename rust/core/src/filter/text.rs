//! Filters strings and binary values: each run of kept rows is one copy, and its offsets are shifted by a constant.

use std::sync::Arc;

use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrayRef, ArrowNativeTypeOp, GenericByteArray};
use arrow_buffer::{ArrowNativeType, Buffer, OffsetBuffer};

use super::{Mask, Spare};
use crate::error::{Error, Result};

/// Returns the kept values of an array with as many rows as the mask.
///
/// # Errors
/// `CorruptData` for offsets outside the value buffer, or offsets that decrease between runs.
pub(super) fn bytes<T: ByteArrayType>(array: &GenericByteArray<T>, mask: &Mask, spare: &Spare) -> Result<ArrayRef>
where
    T::Offset: ArrowNativeTypeOp,
{
    let (offsets, data) = (array.value_offsets(), array.value_data());
    let mut size = Some(0_usize);
    mask.runs(|start, end| {
        let length = run(offsets, start, end).map(|run| run.len());
        size = size.zip(length).and_then(|(size, length)| size.checked_add(length));
    });
    // Each run is inside the value buffer, and runs can overlap only if the offsets decrease. A greater total is
    // therefore corrupt.
    let size = size.filter(|size| *size <= data.len()).ok_or_else(broken)?;
    let mut kept = spare.vec::<u8>(size);
    let mut ends = spare.vec::<T::Offset>(mask.kept + 1);
    ends.push(T::Offset::default());
    let mut whole = true;
    mask.runs(|start, end| {
        let text = run(offsets, start, end).and_then(|run| data.get(run));
        let (Some(text), Some(run)) = (text, offsets.get(start..=end)) else {
            whole = false;
            return;
        };
        let shift = T::Offset::usize_as(kept.len()).sub_wrapping(run.first().copied().unwrap_or_default());
        ends.extend(run.iter().skip(1).map(|offset| offset.add_wrapping(shift)));
        kept.extend_from_slice(text);
    });
    if !whole {
        return Err(broken());
    }
    Ok(Arc::new(from_parts::<T>(spare.lend(ends), spare.lend(kept), array, mask)))
}

/// Returns the range of the value buffer for some rows.
fn run<O: ArrowNativeType>(offsets: &[O], start: usize, end: usize) -> Option<std::ops::Range<usize>> {
    let (start, end) = (offsets.get(start)?.to_usize()?, offsets.get(end)?.to_usize()?);
    (start <= end).then_some(start..end)
}

#[expect(unsafe_code, reason = "valid strings stay valid: checking them again costs more than copying them")]
fn from_parts<T: ByteArrayType>(
    ends: Buffer,
    kept: Buffer,
    array: &GenericByteArray<T>,
    mask: &Mask,
) -> GenericByteArray<T> {
    let nulls = mask.nulls(array.nulls());
    // SAFETY: the offsets of each run are those of `array` shifted by a constant, so they ascend as those do. They begin
    // at the end of the previous run and end at the end of the bytes copied for this one. Every value is a value of
    // `array`. There are as many offsets and NULL bits as the mask keeps rows.
    unsafe {
        let offsets = OffsetBuffer::new_unchecked(ends.into());
        GenericByteArray::new_unchecked(offsets, kept, nulls)
    }
}

fn broken() -> Error {
    Error::corrupt("string offsets are outside the value buffer")
}
